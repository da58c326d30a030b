//! `#[one_of]`

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

use crate::attributes::{OfKey, OfOneOf, doc, kebab};
use crate::table::bounded;

pub(crate) fn expand(arguments: &OfOneOf, mut item: DeriveInput) -> syn::Result<TokenStream> {
    let what = &arguments.what;
    let (mut keys, mut reads, mut tables, mut names) = (vec![], vec![], vec![], vec![]);
    let mut shown = vec![];
    let Data::Enum(data) = &mut item.data else {
        return Err(syn::Error::new_spanned(
            &item,
            "an enumeration is wanted here",
        ));
    };
    for variant in &mut data.variants {
        let of_key = OfKey::take(&mut variant.attrs)?;
        let name = &variant.ident;
        let key = match &of_key.name {
            Some(name) => name.value(),
            None => kebab(name),
        };
        let Fields::Unnamed(fields) = &variant.fields else {
            return Err(syn::Error::new_spanned(
                &*variant,
                "a variant needs one value",
            ));
        };
        let Some(ty) = fields.unnamed.first().map(|field| field.ty.clone()) else {
            return Err(syn::Error::new_spanned(
                &*variant,
                "a variant needs one value",
            ));
        };
        let value = quote!(<#ty as ::netflow_document::Setting>::Value);
        let setting = quote!(<#ty as ::netflow_document::Setting>::of);
        shown.push(quote!(Self::#name(_) => #key));
        names.push(key.clone());
        if of_key.beside {
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
        let doc = doc(&variant.attrs);
        let toml = of_key.toml();
        let (range, allowed) = match &of_key.allowed {
            Some(allowed) => (quote!((#allowed).text), quote!(&(#allowed))),
            None => (quote!(""), quote!(&::netflow_document::any())),
        };
        keys.push(quote! {
            ::netflow_document::Key {
                name: #key,
                doc: #doc,
                kind: <#value as ::netflow_document::Read>::KIND,
                allowed: #range,
                example: #toml,
                required: false,
                many: false,
                flat: false,
                is_cell: <#value as ::netflow_document::Read>::IS_CELL,
                tables: <#value as ::netflow_document::Read>::TABLES,
            }
        });
        reads.push(quote! {
            s.optional(#key, #allowed).map(|it| Self::#name(#setting(it)))
        });
    }
    let name = &item.ident;
    let generics = bounded(&item.generics, arguments.bound.as_ref());
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
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
            const TABLES: &'static [&'static [::netflow_document::Key]] =
                &[Self::ALTERNATIVES, #(#tables),*];

            fn read(
                value: &::netflow_document::Value<'_>,
                key: &str,
                findings: &mut ::netflow_document::Findings,
            ) -> Option<Self> {
                let kinds = ::netflow_document::Kinds {
                    what: #what,
                    names: &[#(#names),*],
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

        impl #impl_generics ::netflow_document::Setting for #name #ty_generics #where_clause {
            type Value = Self;

            fn of(value: ::netflow_document::Spanned<Self>) -> Self {
                value.into_inner()
            }
        }
    })
}
