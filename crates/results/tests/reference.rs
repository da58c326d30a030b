//! Generator and test of `docs/reference/results-files.md`: every column and every key of the results, as the code
//! declares them. `NETFLOW_BLESS=1` rewrites the page.

use std::collections::BTreeMap;
use std::fmt::Write;

use netflow_results::columns::{Column, ColumnType};
use netflow_results::{
    CLASSES, CONNECTIONS, LINKS, Manifest, NETWORK_TOTALS, Table, Topology, WAITS,
};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Field, Ident, Item, ItemStruct, Lit, LitStr, Meta, Token, Type};

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/results-files.md"
);

/// Source files that declare the columns and keys.
const SOURCES: [&str; 8] = [
    "src/row.rs",
    "src/summary.rs",
    "src/accuracy.rs",
    "src/topology.rs",
    "src/manifest.rs",
    "src/users.rs",
    "../network/src/recording.rs",
    "../workload/src/time_sample.rs",
];

const HEAD: &str = "\
# Result files

All columns and keys of the files that `netflow run -o DIR` writes. [Reading results](reading-results.md) explains the
numbers. The end of a name is its unit: `_s` seconds, `_pps` packets/s, `_bps` bit/s, `_pkts` packets. Tables of
[sweeps](../guides/sweeps.md) have the same names, after one column for each setting that varies. This page is generated
from the code (`cargo test -p netflow-results --test reference`).

## Versions

`manifest.json` contains the version of netflow that wrote the directory, and `format_version`. Versions of netflow with
the same `format_version` only add columns and keys. Version 2 renamed columns and keys
([list](../../CHANGELOG.md#renamed)). netflow reads version 1, which has no `format_version`, under the new names. It
rejects later versions. A key marked *may be absent* is written only if it has a value. The first line of a
[profile](../guides/your-own-tcp.md) states the version of its format (`format = 1`); other versions are rejected.
";

/// A struct or the rows of a series.
struct Declared {
    about: String,
    fields: Vec<Field>,
}

/// A declaration by `series!`.
struct Series {
    about: String,
    time: String,
    keys: Vec<(String, String)>,
    numbers: String,
}

impl Parse for Series {
    fn parse(input: ParseStream<'_>) -> syn::Result<Series> {
        let about = docs(&input.call(Attribute::parse_outer)?);
        input.parse::<Ident>()?;
        input.parse::<Token![=]>()?;
        input.parse::<LitStr>()?;
        input.parse::<Token![;]>()?;
        input.call(Attribute::parse_outer)?;
        input.parse::<Ident>()?;
        input.parse::<Token![:]>()?;
        let time = input.parse::<LitStr>()?.value();
        let inner;
        syn::braced!(inner in input);
        let mut keys = Vec::new();
        while !inner.is_empty() {
            let about = docs(&inner.call(Attribute::parse_outer)?);
            keys.push((inner.parse::<Ident>()?.to_string(), about));
            inner.parse::<Token![,]>()?;
        }
        let numbers = input.parse::<Ident>()?.to_string();
        Ok(Series {
            about,
            time,
            keys,
            numbers,
        })
    }
}

#[derive(Default)]
struct Code {
    structures: BTreeMap<String, Declared>,
    series: BTreeMap<String, Series>,
}

impl Code {
    fn read() -> Code {
        let mut code = Code::default();
        for source in SOURCES {
            let path = format!("{}/{source}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).expect(source);
            for item in syn::parse_file(&text).expect(source).items {
                match item {
                    Item::Struct(item) => code.add(source, item),
                    Item::Macro(item) if item.mac.path.is_ident("columns") => {
                        let item = syn::parse2(without_marks(item.mac.tokens));
                        code.add(source, item.expect("the structure of columns!"));
                    }
                    Item::Macro(item) if item.mac.path.is_ident("series") => {
                        let tokens = item.mac.tokens;
                        let name = tokens.clone().into_iter().find_map(|token| match token {
                            TokenTree::Ident(name) => Some(name.to_string()),
                            _ => None,
                        });
                        let series = syn::parse2(tokens).expect("what series! declares");
                        code.series.insert(name.expect("a name"), series);
                    }
                    _ => {}
                }
            }
        }
        code
    }

    /// Adds a struct. If another crate has a struct of the same name, its name gets the crate as a
    /// prefix.
    fn add(&mut self, source: &str, item: ItemStruct) {
        let declared = Declared {
            about: docs(&item.attrs),
            fields: item.fields.into_iter().collect(),
        };
        let name = item.ident.to_string();
        let name = match source.strip_prefix("../workload/") {
            Some(_) if self.structures.contains_key(&name) => format!("netflow_workload::{name}"),
            _ => name,
        };
        self.structures.insert(name, declared);
    }

    fn structure(&self, name: &str) -> &Declared {
        let found = self.structures.get(name);
        found.unwrap_or_else(|| panic!("{name} stands in none of the sources"))
    }

    /// Writes the table of the keys of a struct, then those of nested structs, each once.
    fn keys(&self, name: &str, told: &mut Vec<String>, page: &mut String) {
        page.push_str("\n| key | value | |\n|---|---|---|\n");
        let mut inner = Vec::new();
        self.rows(name, false, told, &mut inner, page);
        for name in inner {
            if told.contains(&name) {
                continue;
            }
            told.push(name.clone());
            let about = &self.structure(&name).about;
            let _ = write!(page, "\n#### {}\n\n{about}\n", title(&name));
            self.keys(&name, told, page);
        }
    }

    /// Writes the rows of a table. `optional` is set if the struct may be absent.
    fn rows(
        &self,
        name: &str,
        optional: bool,
        told: &[String],
        inner: &mut Vec<String>,
        page: &mut String,
    ) {
        for field in &self.structure(name).fields {
            let about = docs(&field.attrs);
            let serde = serde_of(&field.attrs);
            let optional = optional || serde.contains("skip_serializing_if");
            if serde.contains("flatten") {
                match named(&field.ty) {
                    // The deviations of every number of the enclosing struct.
                    of if of == "Spread" => {
                        let _ = writeln!(
                            page,
                            "| `…_std`, `…_seeds` | numbers, *may be absent* | {about} Where not all seeds have a number, how many do. |"
                        );
                    }
                    of => self.rows(&of, optional, told, inner, page),
                }
                continue;
            }
            let name = field.ident.as_ref().expect("a name").to_string();
            let name = match serde.split_once("rename = \"") {
                Some((_, rest)) => rest.split('"').next().unwrap_or_default().to_owned(),
                None => name,
            };
            let absent = if optional { ", *may be absent*" } else { "" };
            let mut value = value(&field.ty);
            let of = named(&field.ty);
            if told.first() == Some(&of) {
                value = value.replace(&many(&of), "tables like this one");
            } else if self.structures.contains_key(&of) {
                let heading = title(&of);
                let anchor = heading.to_lowercase().replace(' ', "-");
                value = value.replace(&of, &format!("[{heading}](#{anchor})"));
                if !inner.contains(&of) {
                    inner.push(of);
                }
            }
            let _ = writeln!(page, "| `{name}` | {value}{absent} | {about} |");
        }
    }
}

/// Returns the tokens without `@later`, which only concerns readers.
fn without_marks(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '@' => {
                tokens.next();
            }
            TokenTree::Group(group) => {
                let inner = without_marks(group.stream());
                kept.push(proc_macro2::Group::new(group.delimiter(), inner).into());
            }
            token => kept.push(token),
        }
    }
    kept.into_iter().collect()
}

/// Returns doc comments as one line, without links into the code.
fn docs(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let Meta::NameValue(it) = &attribute.meta
            && it.path.is_ident("doc")
            && let Expr::Lit(line) = &it.value
            && let Lit::Str(line) = &line.lit
        {
            text += line.value().trim();
            text.push(' ');
        }
    }
    let text = text.trim().replace('|', "\\|").replace("`None`", "empty");
    let mut plain = String::new();
    for (i, part) in text.split("[`").enumerate() {
        match part.split_once("`]") {
            Some((name, rest)) if i > 0 => {
                let name = name.rsplit("::").next().unwrap_or(name);
                let rest = match rest.strip_prefix('(') {
                    Some(target) => target.split_once(')').map_or("", |(_, rest)| rest),
                    None => rest,
                };
                let _ = write!(plain, "`{name}`{rest}");
            }
            _ => plain += part,
        }
    }
    plain
}

/// Returns the serde attributes of a field.
fn serde_of(attributes: &[Attribute]) -> String {
    let of = attributes.iter().filter(|it| it.path().is_ident("serde"));
    let told = of.filter_map(|it| it.meta.require_list().ok());
    let told: Vec<String> = told.map(|it| it.tokens.to_string()).collect();
    told.join(", ")
}

/// Returns the name of the type within options, lists and arrays.
fn named(of: &Type) -> String {
    match of {
        Type::Array(array) => named(&array.elem),
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a name");
            match &last.arguments {
                syn::PathArguments::AngleBracketed(inner) => match inner.args.first() {
                    Some(syn::GenericArgument::Type(inner)) => named(inner),
                    _ => last.ident.to_string(),
                },
                _ => {
                    let names = path.path.segments.iter();
                    let names: Vec<String> = names.map(|it| it.ident.to_string()).collect();
                    names.join("::")
                }
            }
        }
        _ => String::new(),
    }
}

/// Returns the JSON type of a Rust type.
fn value(of: &Type) -> String {
    match of {
        Type::Array(array) => format!("list of {}", many(&value(&array.elem))),
        Type::Tuple(_) => "pair of numbers".to_owned(),
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a name");
            let inner = match &last.arguments {
                syn::PathArguments::AngleBracketed(inner) => match inner.args.first() {
                    Some(syn::GenericArgument::Type(inner)) => value(inner),
                    _ => String::new(),
                },
                _ => String::new(),
            };
            match last.ident.to_string().as_str() {
                "f64" => "number".to_owned(),
                "u32" | "u64" | "usize" => "whole number".to_owned(),
                "bool" => "true or false".to_owned(),
                "String" | "ModelName" | "Format" | "Estimate" => "text".to_owned(),
                "Option" => format!("{inner} or null"),
                "Vec" => format!("list of {}", many(&inner)),
                "Options" => "table".to_owned(),
                name => name.to_owned(),
            }
        }
        _ => String::new(),
    }
}

fn many(one: &str) -> String {
    match one.strip_prefix("pair") {
        Some(rest) => format!("pairs{rest}"),
        None => format!("{one}s"),
    }
}

/// Returns the name of a struct in words: `LinkSummary` is `link summary`.
fn title(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words[..1].to_uppercase() + &words[1..]
}

fn page() -> String {
    let code = Code::read();
    let mut page = HEAD.to_owned();
    page += "\n## Series\n\nCSV, JSON lines or Parquet (`--series`), seven significant digits, rows in order of time. What was not measured is empty. A row of the fluid model ends \
        with the first step that reaches a multiple of `interval_s` (`manifest.json`). Where steps are longer, or do not divide it, rows are of \
        different lengths. In a mean over time, each row counts by its length, the time since the row before.\n";
    for (name, table, when) in [
        ("LINKS", LINKS, ""),
        ("CONNECTIONS", CONNECTIONS, ""),
        ("CLASSES", CLASSES, " With `--classes`."),
        ("WAITS", WAITS, " With workloads."),
        ("NETWORK_TOTALS", NETWORK_TOTALS, ""),
    ] {
        series(&code, name, table, when, &mut page);
    }
    page += "\nWith several seeds these are means; `links_std`, `connections_std` have the standard deviations over the seeds \
             and `links_ci95`, `connections_ci95` half the widths of the 95 % confidence intervals of the means, in the same columns.\n";
    for (file, name) in [
        ("summary.json", "Summary"),
        (Topology::FILE, "Topology"),
        (Manifest::FILE, "Manifest"),
    ] {
        let about = &code.structure(name).about;
        let _ = write!(page, "\n## `{file}`\n\n{about}\n");
        code.keys(name, &mut vec![name.to_owned()], &mut page);
    }
    page
}

fn series(code: &Code, name: &str, table: Table, when: &str, page: &mut String) {
    let it = &code.series[name];
    let _ = write!(page, "\n### `{}`\n\n{}{when}\n", table.name, it.about);
    page.push_str("\n| column | unit | |\n|---|---|---|\n");
    let mut abouts = vec![("time_s".to_owned(), it.time.clone())];
    abouts.extend(it.keys.clone());
    for field in &code.structure(&it.numbers).fields {
        let name = field.ident.as_ref().expect("a name").to_string();
        abouts.push((name, docs(&field.attrs)));
    }
    // The declared columns are the written ones.
    let names: Vec<&str> = abouts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, table.columns().collect::<Vec<_>>());
    for (name, about) in &abouts {
        let unit = Column::new(name, ColumnType::Number)
            .unit
            .unwrap_or_default();
        let _ = writeln!(page, "| `{name}` | {unit} | {about} |");
    }
}

#[test]
fn reference_page_is_current() {
    let made = page();
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        std::fs::write(FILE, &made).expect("a written page");
    }
    let kept = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        made == kept,
        "docs/reference/results-files.md is out of date: run this test with NETFLOW_BLESS=1"
    );
}
