//! Expansion of `#[table]`: structs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, Fields, Generics, Path, Type};

use crate::attributes::{KeyArguments, KeyTokens, TableArguments, kebab_case, setting_impl};

/// The multiplicity of a key.
enum Multiplicity {
    /// Exactly once.
    Required,
    /// At most once: the type inside the `Option`.
    Optional(Type),
    /// An array of tables: the type inside the `Vec`.
    Many(Type),
}

pub(crate) fn expand(
    arguments: &TableArguments,
    mut item: DeriveInput,
) -> syn::Result<TokenStream> {
    let plain = arguments.plain;
    let (mut keys, mut reads, mut overridden, mut fallbacks) = (vec![], vec![], vec![], vec![]);
    let Data::Struct(data) = &mut item.data else {
        return Err(syn::Error::new_spanned(&item, "a table is a structure"));
    };
    let Fields::Named(fields) = &mut data.fields else {
        return Err(syn::Error::new_spanned(&item, "fields need names"));
    };
    let has_name = fields.named.iter().any(is_name);
    for field in &mut fields.named {
        let of_key = KeyArguments::take_from(&mut field.attrs)?;
        let Some(name) = field.ident.clone() else {
            continue;
        };
        if of_key.skip {
            if !plain {
                field.attrs.push(syn::parse_quote!(#[serde(skip)]));
                field.attrs.push(syn::parse_quote!(#[schemars(skip)]));
            }
            reads.push(quote!(#name: Default::default()));
            overridden.push(quote!(#name: self.#name.clone()));
            fallbacks.push(quote!(#name: Default::default()));
            continue;
        }
        let key = match &of_key.name {
            Some(name) => name.value(),
            None => kebab_case(&name),
        };
        let times = multiplicity(&field.ty);
        if !plain {
            field.attrs.push(syn::parse_quote!(#[serde(rename = #key)]));
            match &times {
                Multiplicity::Required => {}
                Multiplicity::Optional(_) => field.attrs.push(
                    syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none", default)]),
                ),
                Multiplicity::Many(_) => field.attrs.push(
                    syn::parse_quote!(#[serde(skip_serializing_if = "Vec::is_empty", default)]),
                ),
            }
        }
        let ty = &field.ty;
        let (inner, required, many) = match &times {
            Multiplicity::Required => (ty, true, false),
            Multiplicity::Optional(inner) => (inner, false, false),
            Multiplicity::Many(inner) => (inner, false, true),
        };
        let KeyTokens {
            key: declared,
            allowed,
            toml,
            value,
            setting,
        } = of_key.key_tokens(&key, inner, &field.attrs, [required, many]);
        keys.push(declared);
        let fallback = match &of_key.fallback {
            Some(fallback) => quote!(#fallback),
            None => quote!(<#value as ::netflow_document::Read>::fallback()),
        };
        let kept = quote!(#name: self.#name.clone());
        match times {
            _ if of_key.element => {
                reads.push(if required {
                    quote!(#name: s.required_table())
                } else {
                    quote!(#name: s.table())
                });
                overridden.push(kept);
                fallbacks.push(quote!(#name: Default::default()));
            }
            Multiplicity::Required => {
                reads.push(quote! {
                    #name: #setting(s.required(#key, #allowed, #toml, || #fallback))
                });
                overridden.push(if of_key.fixed {
                    kept
                } else {
                    quote! {
                        #name: s.set(#key, #allowed).map_or_else(|| self.#name.clone(), #setting)
                    }
                });
                fallbacks.push(quote!(#name: #setting((#fallback).into())));
            }
            Multiplicity::Optional(_) => {
                reads.push(quote!(#name: s.optional(#key, #allowed).map(#setting)));
                overridden.push(if of_key.fixed {
                    kept
                } else {
                    quote! {
                        #name: s.set(#key, #allowed).map(#setting).or_else(|| self.#name.clone())
                    }
                });
                fallbacks.push(quote!(#name: None));
            }
            Multiplicity::Many(_) => {
                reads.push(quote!(#name: s.list()));
                overridden.push(quote!(#name: s.override_list(&self.#name)));
                fallbacks.push(quote!(#name: Vec::new()));
            }
        }
    }
    let derives = if plain {
        quote!(#[derive(Clone, Debug, PartialEq)])
    } else {
        quote! {
            #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
            #[serde(deny_unknown_fields)]
        }
    };
    let read = match &arguments.check {
        None => quote!(Self { #(#reads),* }),
        Some(check) => quote! {
            let mut it = Self { #(#reads),* };
            #check(&mut it, s);
            it
        },
    };
    let name = &item.ident;
    let generics = with_trait_bound(&item.generics, arguments.bound.as_ref());
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let setting = setting_impl(name, &generics);
    let element = arguments.name.as_ref().map(|element| {
        let title = arguments.title.as_ref().unwrap_or(element);
        let called = arguments.called.as_ref().map(|called| {
            quote! {
                fn called(section: &::netflow_document::Section<'_, '_>) -> Option<String> {
                    #called(section)
                }
            }
        });
        let own_name = has_name.then(|| {
            quote! {
                fn own_name(&self) -> Option<&str> {
                    Some(self.name.as_str())
                }
            }
        });
        quote! {
            impl ::netflow_document::Element for #name {
                const NAME: &'static str = #element;
                const TITLE: &'static str = #title;
                #called
                #own_name
            }
        }
    });
    Ok(quote! {
        #derives
        #item

        impl #impl_generics ::netflow_document::Table for #name #ty_generics #where_clause {
            const KEYS: &'static [::netflow_document::Key] = &[#(#keys),*];

            fn fields(s: &mut ::netflow_document::Section<'_, '_>) -> Self {
                #read
            }

            fn overridden(&self, s: &mut ::netflow_document::Section<'_, '_>) -> Self {
                Self { #(#overridden),* }
            }

            fn stand_in() -> Self {
                Self { #(#fallbacks),* }
            }
        }

        impl #impl_generics ::netflow_document::Read for #name #ty_generics #where_clause {
            const KIND: &'static str = "a table";
            const IS_CELL: bool = false;
            const TABLES: &'static [&'static [::netflow_document::Key]] =
                &[<Self as ::netflow_document::Table>::KEYS];

            fn read(
                value: &::netflow_document::Value<'_>,
                key: &str,
                findings: &mut ::netflow_document::Findings,
            ) -> Option<Self> {
                ::netflow_document::read_table(value, key, findings)
            }

            fn fallback() -> Self {
                <Self as ::netflow_document::Table>::stand_in()
            }
        }

        #setting

        #element
    })
}

/// Returns the generics with a bound on each type parameter.
pub(crate) fn with_trait_bound(generics: &Generics, bound: Option<&Path>) -> Generics {
    let mut generics = generics.clone();
    if let Some(bound) = bound {
        for parameter in generics.type_params_mut() {
            parameter.bounds.push(syn::parse_quote!(#bound));
        }
    }
    generics
}

/// Returns whether a field is `name: Spanned<String>`.
fn is_name(field: &Field) -> bool {
    let ty = &field.ty;
    let is_text = quote!(#ty).to_string() == quote!(Spanned<String>).to_string();
    is_text && field.ident.as_ref().is_some_and(|ident| ident == "name")
}

fn multiplicity(ty: &Type) -> Multiplicity {
    let Type::Path(path) = ty else {
        return Multiplicity::Required;
    };
    let Some(last) = path.path.segments.last() else {
        return Multiplicity::Required;
    };
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Multiplicity::Required;
    };
    let Some(syn::GenericArgument::Type(inner)) = arguments.args.first() else {
        return Multiplicity::Required;
    };
    match last.ident.to_string().as_str() {
        "Option" => Multiplicity::Optional(inner.clone()),
        "Vec" => Multiplicity::Many(inner.clone()),
        _ => Multiplicity::Required,
    }
}
