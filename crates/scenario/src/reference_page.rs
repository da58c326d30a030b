//! Generator of the reference page of the file format.

use std::fmt::Write;

use netflow_document::{Element, Key, Table, columns, kind_of};

use crate::file::{Connection, Demand, Event, Link, Node, Scenario};

const HEAD: &str = "\
# The scenario file

All keys of scenario files. `netflow schema` prints the same as a JSON schema for editors, and
`netflow check FILE` reports all errors of a file. This page is generated from the code that reads the
files; `cargo test -p netflow-scenario --test all reference` fails if it is out of date.

A value with a dimension is a string with its unit: time `s ms us min h d`; rate `bit/s kbit/s Mbit/s
Gbit/s`, `B/s KB/s MB/s GB/s`, `pkt/s`; size `B KB MB GB KiB MiB GiB`; packets `pkt`. Numbers without
dimension may be written in percent as a string. Keys in **bold** are required. Where a table has several
kinds, the page lists the keys of each kind under the key or value that selects it.
";

/// Returns the reference of scenario files in Markdown: every key with its unit, range, example and
/// default, and the columns of CSV tables.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for key in Scenario::KEYS {
        let title = if key.many {
            format!("[[{}]]", key.name)
        } else {
            format!("[{}]", key.name)
        };
        let _ = write!(page, "\n## `{title}`\n\n{}\n", key.doc);
        keys(key.tables, "###", &mut page);
    }
    page.push_str("\n## Columns of CSV tables\n\n");
    page.push_str(
        "The keys of `[include]` name tables. Their first row contains any of these columns:\n\n",
    );
    for (file, columns) in [
        ("nodes", names::<Node>()),
        ("links", names::<Link>()),
        ("connections", names::<Connection>()),
        ("demands", names::<Demand>()),
        ("events", names::<Event>()),
    ] {
        let _ = writeln!(page, "- `{file}`: {}", columns.join(", "));
    }
    page
}

fn names<T: Element>() -> Vec<String> {
    let columns = columns(T::KEYS);
    columns
        .into_iter()
        .map(|it| format!("`{}`", it.name))
        .collect()
}

/// Writes a table of keys, or one table per kind of a tagged table; then the tables of nested keys,
/// each once.
fn keys(tables: &'static [&'static [Key]], level: &str, page: &mut String) {
    let mut inner: Vec<(Vec<&str>, &Key)> = Vec::new();
    let several = tables.len() > 1;
    for &table in tables.iter().filter(|table| !table.is_empty()) {
        match kind_of(tables, table).filter(|_| several) {
            Some(kind) => {
                let _ = write!(page, "\nWith {kind}:\n");
            }
            None if several => page.push_str("\nOne of:\n"),
            None => {}
        }
        table_of(table, &mut inner, page);
    }
    for (names, key) in inner {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, "\n{level} {}\n", names.join(", "));
        keys(key.tables, &format!("{level}#"), page);
    }
}

fn table_of(
    table: &'static [Key],
    inner: &mut Vec<(Vec<&'static str>, &'static Key)>,
    page: &mut String,
) {
    page.push_str("\n| key | value | |\n|---|---|---|\n");
    for key in table {
        let name = if key.required {
            format!("**`{}`**", key.name)
        } else {
            format!("`{}`", key.name)
        };
        let doc = key.doc.replace('|', "\\|").replace("\n\n", " ");
        let _ = writeln!(page, "| {name} | {} | {doc} |", value(key));
        if !key.tables.is_empty() {
            match inner.iter_mut().find(|(_, other)| is_same_key(other, key)) {
                Some((names, _)) if names.contains(&key.name) => {}
                Some((names, _)) => names.push(key.name),
                None => inner.push((vec![key.name], key)),
            }
        }
    }
}

/// Returns whether two keys have the same tables.
fn is_same_key(a: &Key, b: &Key) -> bool {
    let told = |key: &Key| -> Vec<(&str, &str)> {
        let keys = key.tables.iter().copied().flatten();
        keys.map(|key| (key.name, key.kind)).collect()
    };
    told(a) == told(b)
}

/// Returns the type of a key, its allowed values, and an example.
fn value(key: &Key) -> String {
    let mut text = if key.many {
        format!("tables `[[{}]]`", key.name)
    } else {
        key.kind.to_owned()
    };
    if !key.allowed.is_empty() {
        let _ = write!(text, ", {}", key.allowed);
    }
    if !key.example.is_empty() {
        let _ = write!(text, ": `{}`", key.example);
    }
    text.replace('|', "\\|")
}
