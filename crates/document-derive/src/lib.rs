//! Attributes that make a structure's fields the keys of a table, and an enumeration's variants the
//! words or the alternatives of a value. `netflow_document` says what they mean and has examples.
#![warn(missing_docs)]

mod attributes;
mod one_of;
mod table;
mod words;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// A structure whose fields are the keys of a table: see `netflow_document::Table`.
#[proc_macro_attribute]
pub fn table(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::OfTable);
    let item = parse_macro_input!(item as DeriveInput);
    finish(table::expand(&arguments, item))
}

/// An enumeration of which exactly one variant is given, each by a key of its own: see
/// `netflow_document::Table`.
#[proc_macro_attribute]
pub fn one_of(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::OfOneOf);
    let item = parse_macro_input!(item as DeriveInput);
    finish(one_of::expand(&arguments, item))
}

/// An enumeration whose variants are words: see `netflow_document::Words`.
#[proc_macro_attribute]
pub fn words(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::OfWords);
    let item = parse_macro_input!(item as DeriveInput);
    finish(words::expand(&arguments, item))
}

fn finish(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
