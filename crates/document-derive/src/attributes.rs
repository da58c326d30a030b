//! What stands in the attributes.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Comma;
use syn::{
    Attribute, Data, DeriveInput, Expr, Generics, Ident, Lit, LitStr, Path, Token, Type, Variant,
};

/// `#[table(name = "link", check = Self::check)]`
#[derive(Default)]
pub(crate) struct OfTable {
    /// The name of the table in a document: it is an element.
    pub(crate) name: Option<LitStr>,
    /// What messages call the table; its name otherwise.
    pub(crate) title: Option<LitStr>,
    /// What `--set` calls an element: a function of its section.
    pub(crate) called: Option<Path>,
    /// Looks at the whole when every key has been read.
    pub(crate) check: Option<Path>,
    /// The trait that a type parameter has to have.
    pub(crate) bound: Option<Path>,
    /// Whether it is written and has a schema.
    pub(crate) plain: bool,
}

impl Parse for OfTable {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut found = OfTable::default();
        each(input, |name, input| {
            match name.to_string().as_str() {
                "name" => found.name = Some(value(input)?),
                "title" => found.title = Some(value(input)?),
                "called" => found.called = Some(value(input)?),
                "check" => found.check = Some(value(input)?),
                "bound" => found.bound = Some(value(input)?),
                "plain" => found.plain = true,
                _ => return Err(unknown(name)),
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// `#[one_of(what = "source", bound = Variable)]`
pub(crate) struct OfOneOf {
    /// What it is one kind of, for messages.
    pub(crate) what: LitStr,
    /// The trait that a type parameter has to have.
    pub(crate) bound: Option<Path>,
    /// What the help for a value that is no table says.
    pub(crate) instead: Option<Path>,
}

impl Parse for OfOneOf {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut what, mut bound, mut instead) = (None, None, None);
        each(input, |name, input| {
            match name.to_string().as_str() {
                "what" => what = Some(value(input)?),
                "bound" => bound = Some(value(input)?),
                "instead" => instead = Some(value(input)?),
                _ => return Err(unknown(name)),
            }
            Ok(())
        })?;
        let what = what.ok_or_else(|| syn::Error::new(Span::call_site(), "`what` is missing"))?;
        Ok(OfOneOf {
            what,
            bound,
            instead,
        })
    }
}

/// `#[words(rename_all = "lowercase", plain)]`
pub(crate) struct OfWords {
    /// Whether words are the variants' names in lower case, rather than in kebab-case.
    pub(crate) lowercase: bool,
    /// Whether it is written and has a schema.
    pub(crate) plain: bool,
}

impl Parse for OfWords {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut lowercase, mut plain) = (false, false);
        each(input, |name, _| {
            match name.to_string().as_str() {
                "lowercase" => lowercase = true,
                "plain" => plain = true,
                _ => return Err(unknown(name)),
            }
            Ok(())
        })?;
        Ok(OfWords { lowercase, plain })
    }
}

/// `#[key(name = "class", allowed = allowed::RATE, example = "8 Mbit/s")]`
#[derive(Default)]
pub(crate) struct OfKey {
    /// The key where it is not the field's name in kebab-case.
    pub(crate) name: Option<LitStr>,
    /// Which values it may have.
    pub(crate) allowed: Option<Expr>,
    /// A value as a document has it.
    pub(crate) example: Option<Expr>,
    /// What takes its place where it cannot be read, if that is not the type's.
    pub(crate) fallback: Option<Expr>,
    /// Keys of the table inside are columns without its name.
    pub(crate) flat: bool,
    /// An element of the document, of which there is one.
    pub(crate) element: bool,
    /// Stays as it is where the rest is overridden.
    pub(crate) fixed: bool,
    /// No key at all.
    pub(crate) skip: bool,
    /// For a variant: its keys stand beside those of the others.
    pub(crate) beside: bool,
    /// For a variant: another word for it.
    pub(crate) also: Option<LitStr>,
}

impl OfKey {
    /// Takes `#[key(…)]` out of the attributes.
    pub(crate) fn take(attributes: &mut Vec<Attribute>) -> syn::Result<OfKey> {
        let mut found = OfKey::default();
        let at = attributes.iter().position(|it| it.path().is_ident("key"));
        let Some(at) = at else { return Ok(found) };
        let attribute = attributes.remove(at);
        attribute.parse_args_with(|input: ParseStream<'_>| {
            each(input, |name, input| {
                match name.to_string().as_str() {
                    "name" => found.name = Some(value(input)?),
                    "allowed" => found.allowed = Some(value(input)?),
                    "example" => found.example = Some(value(input)?),
                    "fallback" => found.fallback = Some(value(input)?),
                    "also" => found.also = Some(value(input)?),
                    "flat" => found.flat = true,
                    "element" => found.element = true,
                    "fixed" => found.fixed = true,
                    "skip" => found.skip = true,
                    "beside" => found.beside = true,
                    _ => return Err(unknown(name)),
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// The example as TOML: a text in quotes, unless it is a table or an array.
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

/// A key as the generated code declares and reads it.
pub(crate) struct Declared {
    /// The `Key`.
    pub(crate) key: TokenStream,
    /// A reference to what is `Allowed`.
    pub(crate) allowed: TokenStream,
    /// The example as TOML.
    pub(crate) toml: TokenStream,
    /// The type of the value, without its place.
    pub(crate) value: TokenStream,
    /// Makes what holds it of the value.
    pub(crate) setting: TokenStream,
}

impl OfKey {
    /// The key for what is held as a `ty`.
    pub(crate) fn declare(
        &self,
        name: &str,
        ty: &Type,
        attributes: &[Attribute],
        [required, many]: [bool; 2],
    ) -> Declared {
        let doc = doc(attributes);
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
        Declared {
            key,
            allowed,
            toml,
            value,
            setting: quote!(<#ty as ::netflow_document::Setting>::of),
        }
    }
}

/// The variants of an enumeration.
pub(crate) fn variants(item: &mut DeriveInput) -> syn::Result<&mut Punctuated<Variant, Comma>> {
    let wrong = syn::Error::new_spanned(&item.ident, "an enumeration is wanted here");
    match &mut item.data {
        Data::Enum(data) => Ok(&mut data.variants),
        _ => Err(wrong),
    }
}

/// The implementation of `Setting` for what is read without its place.
pub(crate) fn setting(name: &Ident, generics: &Generics) -> TokenStream {
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

/// The texts of the doc comments, put together.
pub(crate) fn doc(attributes: &[Attribute]) -> String {
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

/// `name`, `name = value`, separated by commas.
fn each(
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

fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn unknown(name: &Ident) -> syn::Error {
    syn::Error::new(name.span(), format!("`{name}` is not known here"))
}

/// `max_p` and `DropTail` as documents write them: `max-p`, `drop-tail`.
pub(crate) fn kebab(name: &Ident) -> String {
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
