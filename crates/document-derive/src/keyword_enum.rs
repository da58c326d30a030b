//! Expansion of `#[keyword_enum]`: enums of keywords.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attributes::{
    KeyArguments, KeywordArguments, doc_text, kebab_case, setting_impl, variants,
};

pub(crate) fn expand(
    arguments: &KeywordArguments,
    mut item: DeriveInput,
) -> syn::Result<TokenStream> {
    let (mut named, mut texts) = (vec![], vec![]);
    let mut first = None;
    for variant in variants(&mut item)? {
        let of_key = KeyArguments::take_from(&mut variant.attrs)?;
        let name = variant.ident.clone();
        let word = match (&of_key.name, arguments.lowercase) {
            (Some(name), _) => name.value(),
            (None, true) => name.to_string().to_lowercase(),
            (None, false) => kebab_case(&name),
        };
        if !arguments.plain {
            variant
                .attrs
                .push(syn::parse_quote!(#[serde(rename = #word)]));
        }
        let about = doc_text(&variant.attrs).trim_end_matches('.').to_owned();
        named.push(quote! {
            ::netflow_document::Word { word: #word, meaning: Self::#name, about: #about }
        });
        texts.push(format!("\"{word}\""));
        first.get_or_insert(name);
    }
    let derives = if arguments.plain {
        quote!(#[derive(Clone, Copy, Debug, PartialEq, Eq)])
    } else {
        quote! {
            #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::schemars::JsonSchema)]
        }
    };
    let name = &item.ident;
    let setting = setting_impl(name, &item.generics);
    let kind = texts.join(", ");
    Ok(quote! {
        #derives
        #item

        impl ::netflow_document::Words for #name {
            const WORDS: &'static [::netflow_document::Word<Self>] = &[#(#named),*];
        }

        impl ::netflow_document::Read for #name {
            const KIND: &'static str = #kind;

            fn read(
                value: &::netflow_document::Value<'_>,
                key: &str,
                findings: &mut ::netflow_document::Findings,
            ) -> Option<Self> {
                ::netflow_document::word(value, key, findings)
            }

            fn shown(&self) -> String {
                ::netflow_document::Words::name(self).to_owned()
            }

            fn fallback() -> Self {
                Self::#first
            }
        }

        #setting
    })
}
