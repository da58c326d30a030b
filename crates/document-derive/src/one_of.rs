//! Expansion of `#[one_of]`: tagged unions.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attributes::{
    KeyArguments, KeyTokens, UnionArguments, kebab_case, setting_impl, variants,
};
use crate::table::with_trait_bound;

pub(crate) fn expand(
    arguments: &UnionArguments,
    mut item: DeriveInput,
) -> syn::Result<TokenStream> {
    let what = &arguments.what;
    let (mut keys, mut reads, mut tables, mut names) = (vec![], vec![], vec![], vec![]);
    let mut shown = vec![];
    for variant in variants(&mut item)? {
        let of_key = KeyArguments::take_from(&mut variant.attrs)?;
        let name = &variant.ident;
        let key = match &of_key.name {
            Some(name) => name.value(),
            None => kebab_case(name),
        };
        let Some(ty) = variant.fields.iter().next().map(|field| &field.ty) else {
            let wrong = "a variant needs one value";
            return Err(syn::Error::new_spanned(&*variant, wrong));
        };
        let declared = of_key.key_tokens(&key, ty, &variant.attrs, [false, false]);
        let KeyTokens {
            allowed,
            value,
            setting,
            ..
        } = &declared;
        shown.push(quote!(Self::#name(_) => #key));
        names.push(key.clone());
        if of_key.is_merged {
            variant.attrs.push(syn::parse_quote!(#[serde(untagged)]));
            tables.push(quote!(<#value as ::netflow_document::Table>::KEYS));
            reads.push(quote! {
                s.beside::<#value>(#what).map(|it| Self::#name(#setting(it)))
            });
            continue;
        }
        variant
            .attrs
            .push(syn::parse_quote!(#[serde(rename = #key)]));
        reads.push(quote! {
            s.optional(#key, #allowed).map(|it| Self::#name(#setting(it)))
        });
        keys.push(declared.key);
    }
    let name = &item.ident;
    let generics = with_trait_bound(&item.generics, arguments.bound.as_ref());
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let setting = setting_impl(name, &generics);
    let instead = match &arguments.instead {
        Some(instead) => quote!(#instead),
        None => quote!(|_, _| String::new()),
    };
    Ok(quote! {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #item

        impl #impl_generics #name #ty_generics #where_clause {
            const ALTERNATIVES: &'static [::netflow_document::Key] = &[#(#keys),*];
        }

        impl #impl_generics ::netflow_document::Read for #name #ty_generics #where_clause {
            const KIND: &'static str = "a table";
            const IS_CELL: bool = false;
            const KINDS: &'static [&'static str] = &[#(#names),*];
            const TABLES: &'static [&'static [::netflow_document::Key]] =
                &[Self::ALTERNATIVES, #(#tables),*];

            fn read(
                value: &::netflow_document::Value<'_>,
                key: &str,
                findings: &mut ::netflow_document::Findings,
            ) -> Option<Self> {
                let kinds = ::netflow_document::UnionDeclaration {
                    what: #what,
                    names: Self::KINDS,
                    tables: Self::TABLES,
                    instead: #instead,
                };
                ::netflow_document::one_of(&kinds, value, key, findings, |s| {
                    [#(#reads),*].into_iter().flatten().collect()
                })
            }

            fn shown(&self) -> String {
                match self { #(#shown),* }.to_owned()
            }

            fn fallback() -> Self {
                Self::stand_in()
            }
        }

        #setting
    })
}
