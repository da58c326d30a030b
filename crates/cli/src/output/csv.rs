//! CSV output of tables.

use std::io::{self, Write};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

/// Writes a table with a column for every number, text and flag that a row has in JSON, under the same
/// name.
///
/// Nested fields are named `outer.inner`. Lists are left out. There must be at least one row, because the
/// columns are derived from rows.
pub fn write<R: Serialize>(
    rows: impl IntoIterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = rows.into_iter().map(|row| fields(&row));
    table(&rows.collect::<io::Result<Vec<_>>>()?, None, out)
}

/// Writes a table that may be empty. It has its columns even without rows.
pub fn write_with_header<R: Serialize + Default>(
    rows: &[R],
    out: &mut dyn Write,
) -> io::Result<()> {
    let empty = fields(&R::default())?;
    let rows = rows.iter().map(fields);
    table(&rows.collect::<io::Result<Vec<_>>>()?, Some(&empty), out)
}

/// Writes one of several tables, below a line with its name.
pub fn write_named_with_header<R: Serialize + Default>(
    name: &str,
    rows: &[R],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# {name}")?;
    write_with_header(rows, out)
}

/// Writes one of several tables, which must have rows.
pub fn write_named<R: Serialize>(
    name: &str,
    rows: impl IntoIterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# {name}")?;
    write(rows, out)
}

/// The texts of a row by column.
type Fields = IndexMap<String, String>;

/// Writes a table. Its columns are those of all rows, or those of `empty` without rows.
fn table(rows: &[Fields], empty: Option<&Fields>, out: &mut dyn Write) -> io::Result<()> {
    let shapes = match rows {
        [] => empty.map_or(&[][..], std::slice::from_ref),
        rows => rows,
    };
    let columns: IndexMap<&String, ()> = shapes
        .iter()
        .flat_map(IndexMap::keys)
        .map(|c| (c, ()))
        .collect();
    // The table is written to memory first because the library hides the kind of write errors.
    let mut writer = csv::Writer::from_writer(Vec::new());
    if !columns.is_empty() {
        writer.write_record(columns.keys())?;
    }
    for row in rows {
        let cell = |column: &&String| row.get(*column).map_or("", String::as_str);
        writer.write_record(columns.keys().map(cell))?;
    }
    let text = writer.into_inner().map_err(|error| error.into_error())?;
    out.write_all(&text)
}

/// Flattens a row via JSON text, which keeps the order of its fields. Nested fields are in alphabetical
/// order.
fn fields(row: &impl Serialize) -> io::Result<Fields> {
    let object: IndexMap<String, Value> = serde_json::from_str(&serde_json::to_string(row)?)?;
    let mut fields = IndexMap::new();
    for (name, value) in object {
        flatten(name, value, &mut fields);
    }
    Ok(fields)
}

fn flatten(name: String, value: Value, fields: &mut Fields) {
    let text = match value {
        Value::Array(_) => return,
        Value::Object(inner) => {
            for (key, value) in inner {
                flatten(format!("{name}.{key}"), value, fields);
            }
            return;
        }
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    fields.insert(name, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Serialize)]
    struct Row {
        name: &'static str,
        a: Option<f64>,
        inner: Inner,
        list: [u8; 2],
        #[serde(skip_serializing_if = "Option::is_none")]
        later: Option<bool>,
    }

    #[derive(Default, Serialize)]
    struct Inner {
        mean: f64,
    }

    #[test]
    fn columns_are_the_union_of_all_rows() {
        let row = |name, a, later| Row {
            name,
            a,
            inner: Inner { mean: 0.1 },
            list: [1, 2],
            later,
        };
        let mut out = Vec::new();
        write(
            [row("x,y", None, None), row("z", Some(3.0), Some(true))],
            &mut out,
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "name,a,inner.mean,later\n\"x,y\",,0.1,\nz,3.0,0.1,true\n"
        );
    }

    #[test]
    fn empty_table_has_columns() {
        let mut out = Vec::new();
        write_with_header::<Row>(&[], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,a,inner.mean\n");
    }
}
