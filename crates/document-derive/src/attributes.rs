//! Parser of the attributes `table`, `one_of`, `keyword_enum` and `key`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Comma;
use syn::{
    Attribute, Data, DeriveInput, Expr, Generics, Ident, Lit, LitStr, Path, Token, Type, Variant,
};

/// The arguments of `#[table(name = "link", check = Self::check)]`.
#[derive(Default)]
pub(crate) struct TableArguments {
    /// Name of the table in a document, which makes it an element.
    pub(crate) name: Option<LitStr>,
    /// Name in messages, if it differs from `name`.
    pub(crate) title: Option<LitStr>,
    /// Function that returns the name of an element in `--set` options, from its section.
    pub(crate) called: Option<Path>,
    /// Function that checks the whole table after every key has been read.
    pub(crate) check: Option<Path>,
    /// Trait bound of a type parameter.
    pub(crate) bound: Option<Path>,
    /// True to derive a writer and a schema.
    pub(crate) plain: bool,
}

impl Parse for TableArguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut found = TableArguments::default();
        parse_arguments(input, |name, input| {
            match name.to_string().as_str() {
                "name" => found.name = Some(parse_value(input)?),
                "title" => found.title = Some(parse_value(input)?),
                "called" => found.called = Some(parse_value(input)?),
                "check" => found.check = Some(parse_value(input)?),
                "bound" => found.bound = Some(parse_value(input)?),
                "plain" => found.plain = true,
                _ => return Err(unknown_argument(name)),
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The arguments of `#[one_of(what = "source", bound = Variable)]`.
pub(crate) struct UnionArguments {
    /// Name of the union in messages.
    pub(crate) what: LitStr,
    /// Trait bound of a type parameter.
    pub(crate) bound: Option<Path>,
    /// Function that returns the help for a value that is not a table.
    pub(crate) instead: Option<Path>,
}

impl Parse for UnionArguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut what, mut bound, mut instead) = (None, None, None);
        parse_arguments(input, |name, input| {
            match name.to_string().as_str() {
                "what" => what = Some(parse_value(input)?),
                "bound" => bound = Some(parse_value(input)?),
                "instead" => instead = Some(parse_value(input)?),
                _ => return Err(unknown_argument(name)),
            }
            Ok(())
        })?;
        let what = what.ok_or_else(|| syn::Error::new(Span::call_site(), "`what` is missing"))?;
        Ok(UnionArguments {
            what,
            bound,
            instead,
        })
    }
}

/// The arguments of `#[keyword_enum(lowercase, plain)]`.
pub(crate) struct KeywordArguments {
    /// True for words in lower case instead of kebab-case.
    pub(crate) lowercase: bool,
    /// True to derive a writer and a schema.
    pub(crate) plain: bool,
}

impl Parse for KeywordArguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut lowercase, mut plain) = (false, false);
        parse_arguments(input, |name, _| {
            match name.to_string().as_str() {
                "lowercase" => lowercase = true,
                "plain" => plain = true,
                _ => return Err(unknown_argument(name)),
            }
            Ok(())
        })?;
        Ok(KeywordArguments { lowercase, plain })
    }
}

/// The arguments of `#[key(name = "class", allowed = allowed::RATE, example = "8 Mbit/s")]`.
#[derive(Default)]
pub(crate) struct KeyArguments {
    /// Key, if it differs from the name of the field in kebab-case.
    pub(crate) name: Option<LitStr>,
    /// Allowed values.
    pub(crate) allowed: Option<Expr>,
    /// Example value in the notation of documents.
    pub(crate) example: Option<Expr>,
    /// Placeholder for an invalid value, if it differs from that of the type.
    pub(crate) fallback: Option<Expr>,
    /// True if columns of the keys of the nested table omit its name.
    pub(crate) flat: bool,
    /// True for a single element of the document.
    pub(crate) element: bool,
    /// True if overrides do not change the field.
    pub(crate) fixed: bool,
    /// True if the field is not a key.
    pub(crate) skip: bool,
    /// For a variant: true if its keys are merged with those of other variants.
    pub(crate) is_merged: bool,
}

impl KeyArguments {
    /// Removes `#[key(…)]` from the attributes and parses it.
    pub(crate) fn take_from(attributes: &mut Vec<Attribute>) -> syn::Result<KeyArguments> {
        let mut found = KeyArguments::default();
        let at = attributes.iter().position(|it| it.path().is_ident("key"));
        let Some(at) = at else { return Ok(found) };
        let attribute = attributes.remove(at);
        attribute.parse_args_with(|input: ParseStream<'_>| {
            parse_arguments(input, |name, input| {
                match name.to_string().as_str() {
                    "name" => found.name = Some(parse_value(input)?),
                    "allowed" => found.allowed = Some(parse_value(input)?),
                    "example" => found.example = Some(parse_value(input)?),
                    "fallback" => found.fallback = Some(parse_value(input)?),
                    "flat" => found.flat = true,
                    "element" => found.element = true,
                    "fixed" => found.fixed = true,
                    "skip" => found.skip = true,
                    "beside" => found.is_merged = true,
                    _ => return Err(unknown_argument(name)),
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// Returns the example as TOML. A text is quoted unless it is a table or an array.
    fn toml(&self) -> TokenStream {
        let text = match &self.example {
            None => String::new(),
            Some(Expr::Lit(literal)) => match &literal.lit {
                Lit::Str(text) if text.value().starts_with(['{', '[']) => text.value(),
                Lit::Str(text) => format!("{:?}", text.value()),
                other => quote!(#other).to_string(),
            },
            Some(Expr::Unary(number)) => quote!(#number).to_string().replace(' ', ""),
            Some(other) => return quote!(#other),
        };
        quote!(#text)
    }
}

/// The generated code fragments of a key.
pub(crate) struct KeyTokens {
    /// Expression of the `Key`.
    pub(crate) key: TokenStream,
    /// Reference to the `Allowed`.
    pub(crate) allowed: TokenStream,
    /// Example as TOML.
    pub(crate) toml: TokenStream,
    /// Type of the value, without its place.
    pub(crate) value: TokenStream,
    /// Conversion of the value to the type of the field.
    pub(crate) setting: TokenStream,
}

impl KeyArguments {
    /// Returns the code for a key whose field has the type `ty`.
    pub(crate) fn key_tokens(
        &self,
        name: &str,
        ty: &Type,
        attributes: &[Attribute],
        [required, many]: [bool; 2],
    ) -> KeyTokens {
        let doc = doc_text(attributes);
        let (toml, flat) = (self.toml(), self.flat);
        let value = quote!(<#ty as ::netflow_document::Setting>::Value);
        let (range, allowed) = match &self.allowed {
            Some(allowed) => (quote!((#allowed).text), quote!(&(#allowed))),
            None => (quote!(""), quote!(&::netflow_document::any())),
        };
        let key = quote! {
            ::netflow_document::Key {
                name: #name,
                doc: #doc,
                kind: <#value as ::netflow_document::Read>::KIND,
                allowed: #range,
                example: #toml,
                required: #required,
                many: #many,
                flat: #flat,
                is_cell: !#many && <#value as ::netflow_document::Read>::IS_CELL,
                tables: <#value as ::netflow_document::Read>::TABLES,
                kinds: <#value as ::netflow_document::Read>::KINDS,
            }
        };
        KeyTokens {
            key,
            allowed,
            toml,
            value,
            setting: quote!(<#ty as ::netflow_document::Setting>::of),
        }
    }
}

/// Returns the variants of an enum.
pub(crate) fn variants(item: &mut DeriveInput) -> syn::Result<&mut Punctuated<Variant, Comma>> {
    let wrong = syn::Error::new_spanned(&item.ident, "an enumeration is wanted here");
    match &mut item.data {
        Data::Enum(data) => Ok(&mut data.variants),
        _ => Err(wrong),
    }
}

/// Returns the implementation of `Setting` for a type that is read without its place.
pub(crate) fn setting_impl(name: &Ident, generics: &Generics) -> TokenStream {
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote! {
        impl #impl_generics ::netflow_document::Setting for #name #ty_generics #where_clause {
            type Value = Self;

            fn of(value: ::netflow_document::Spanned<Self>) -> Self {
                value.into_inner()
            }
        }
    }
}

/// Returns the joined texts of the doc comments.
pub(crate) fn doc_text(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("doc")) {
        if let syn::Meta::NameValue(it) = &attribute.meta
            && let Expr::Lit(literal) = &it.value
            && let Lit::Str(line) = &literal.lit
        {
            let line = line.value();
            let line = line.trim();
            match line {
                "" => text.push_str("\n\n"),
                _ if text.is_empty() || text.ends_with('\n') => text.push_str(line),
                _ => {
                    text.push(' ');
                    text.push_str(line);
                }
            }
        }
    }
    text
}

/// Parses a comma-separated list of `name` or `name = value`.
fn parse_arguments(
    input: ParseStream<'_>,
    mut take: impl FnMut(&Ident, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    while !input.is_empty() {
        let name: Ident = input.parse()?;
        take(&name, input)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

fn parse_value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn unknown_argument(name: &Ident) -> syn::Error {
    syn::Error::new(name.span(), format!("`{name}` is not known here"))
}

/// Converts a name to kebab-case: `max_p` to `max-p`, `DropTail` to `drop-tail`.
pub(crate) fn kebab_case(name: &Ident) -> String {
    let name = name.to_string();
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '_' => text.push('-'),
            c if c.is_uppercase() => {
                if !text.is_empty() {
                    text.push('-');
                }
                text.extend(c.to_lowercase());
            }
            c => text.push(c),
        }
    }
    text
}
