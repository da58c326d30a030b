//! Attribute macros for `netflow_document`, which has the documentation and examples.
//!
//! They turn the fields of a struct into the keys of a table. For an enum, they turn the variants into
//! keywords, or into the alternatives of a tagged union.
#![warn(missing_docs)]

mod attributes;
mod keyword_enum;
mod one_of;
mod table;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives a table from a struct: see `netflow_document::Table`.
#[proc_macro_attribute]
pub fn table(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::TableArguments);
    let item = parse_macro_input!(item as DeriveInput);
    finish(table::expand(&arguments, item))
}

/// Derives a tagged union from an enum. Exactly one variant is given, each by its own key: see
/// `netflow_document::Table`.
#[proc_macro_attribute]
pub fn one_of(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::UnionArguments);
    let item = parse_macro_input!(item as DeriveInput);
    finish(one_of::expand(&arguments, item))
}

/// Derives keywords from an enum: see `netflow_document::Words`.
#[proc_macro_attribute]
pub fn keyword_enum(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as attributes::KeywordArguments);
    let item = parse_macro_input!(item as DeriveInput);
    finish(keyword_enum::expand(&arguments, item))
}

fn finish(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
