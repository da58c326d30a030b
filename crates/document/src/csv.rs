//! CSV tables: rows of elements, for networks too large for TOML.
//!
//! The first row names the columns after the keys of the element. A key of a nested table is written with
//! a point, as in `queue.min`. Columns are separated by commas, and a text with a comma is enclosed in
//! double quotes. An empty cell is an absent key. Empty lines and lines that begin with `#` are ignored.

use std::borrow::Cow;

use crate::{
    Column, Element, FileId, Findings, FormerNames, Key, ProblemKind, SourceSpan, Value, ValueKind,
    columns,
};

/// A cell: its text and its place in the file.
#[derive(Clone, Debug)]
struct Cell<'t> {
    text: Cow<'t, str>,
    place: SourceSpan,
}

/// A tree that maps the keys of nested tables to columns.
#[derive(Clone, Debug, Default)]
pub struct ColumnTree {
    key: &'static str,
    /// Column of this key.
    column: Option<usize>,
    /// Keys of the table, if the key can be a table.
    inner: Vec<ColumnTree>,
    /// Path of the enclosing tables for messages, for example `source.`.
    prefix: String,
}

impl ColumnTree {
    fn insert(&mut self, path: &[&'static str], column: usize) {
        let Some((first, rest)) = path.split_first() else {
            self.column = Some(column);
            return;
        };
        let known = self.inner.iter().position(|node| node.key == *first);
        let i = known.unwrap_or_else(|| {
            self.inner.push(ColumnTree {
                key: first,
                prefix: format!("{}{first}.", self.prefix),
                ..ColumnTree::default()
            });
            self.inner.len() - 1
        });
        if let Some(node) = self.inner.get_mut(i) {
            node.insert(rest, column);
        }
    }
}

/// A row with the mapping of keys to its cells.
#[derive(Clone, Debug, Default)]
pub struct CsvRow<'t> {
    root: ColumnTree,
    cells: Vec<Cell<'t>>,
    place: Option<SourceSpan>,
}

impl CsvRow<'_> {
    /// Returns all fields of the row.
    pub fn fields(&self) -> crate::Fields<'_> {
        crate::Fields::Row {
            row: self,
            node: &self.root,
        }
    }

    /// Returns the place of the row, once it is read.
    pub fn place(&self) -> Option<SourceSpan> {
        self.place
    }

    /// Returns the cell of a key, or the table of that name if any of its cells is filled.
    pub fn get<'a>(&'a self, node: &'a ColumnTree, key: &str) -> Option<Value<'a>> {
        let node = node.inner.iter().find(|node| is_equal(node.key, key))?;
        let cell = node.column.and_then(|column| self.non_empty_cell(column));
        if let Some(cell) = cell {
            return Some(Value::from_cell(&cell.text, cell.place));
        }
        Some(Value {
            kind: ValueKind::Table(crate::Fields::Row { row: self, node }),
            place: self.first_cell_in(node)?,
            scope: None,
        })
    }

    /// Returns the first filled cell of a nested table, if the cell of the table itself is also filled.
    pub fn conflicting_cell(&self, node: &ColumnTree, key: &str) -> Option<SourceSpan> {
        let node = node.inner.iter().find(|node| is_equal(node.key, key))?;
        self.non_empty_cell(node.column?)?;
        self.first_cell_in(node)
    }

    fn non_empty_cell(&self, column: usize) -> Option<&Cell<'_>> {
        self.cells.get(column).filter(|cell| !cell.text.is_empty())
    }

    fn first_cell_in(&self, node: &ColumnTree) -> Option<SourceSpan> {
        node.inner.iter().find_map(|inner| {
            let cell = inner.column.and_then(|column| self.non_empty_cell(column));
            cell.map(|cell| cell.place)
                .or_else(|| self.first_cell_in(inner))
        })
    }

    /// Returns help that names the columns of a missing key.
    pub fn missing_key_help(&self, node: &ColumnTree, key: Option<&'static Key>) -> String {
        let Some(key) = key else {
            return String::new();
        };
        let prefix = &node.prefix;
        if key.is_cell {
            return format!("fill the column `{prefix}{}`", key.name);
        }
        let first = key.tables.first().copied().unwrap_or_default();
        let prefix = if key.flat {
            prefix.clone()
        } else {
            format!("{prefix}{}.", key.name)
        };
        let names: Vec<String> = crate::key::distinct_keys(key.tables)
            .filter(|inner| first.iter().any(|it| it.name == inner.name) || inner.required)
            .map(|inner| format!("{prefix}{}", inner.name))
            .collect();
        format!("fill one of the columns {}", names.join(", "))
    }
}

/// Returns whether two short texts are equal. The lengths are compared first because most of them differ.
fn is_equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a == b
}

/// A splitter of a text into rows of cells.
#[derive(Debug)]
pub struct CsvReader<'t> {
    text: &'t str,
    file: FileId,
    /// Byte offset of the next row.
    offset: usize,
    columns: usize,
}

/// Reads the header of a table of `T`s. Returns `None` if its columns are invalid.
pub fn read_header<'t, T: Element>(
    file: FileId,
    text: &'t str,
    former: FormerNames,
    findings: &mut Findings,
) -> Option<(CsvReader<'t>, CsvRow<'t>)> {
    let mut csv = CsvReader {
        text,
        file,
        offset: if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        columns: 0,
    };
    let mut header = CsvRow::default();
    let known = columns(T::KEYS);
    let names = || known.iter().map(|column| column.name.as_str());
    let find = |name: &str| {
        // The full path of a column is also accepted if its short name suffices.
        known
            .iter()
            .find(|column| column.name == name)
            .or_else(|| known.iter().find(|column| column.path.join(".") == name))
    };
    let start = SourceSpan::new(file, csv.offset..csv.offset);
    if !csv.split_row(&mut header.cells, findings)? {
        let message = "the table is empty: its first row must contain the column names";
        let names: Vec<&str> = names().collect();
        findings
            .error(ProblemKind::Missing, start, message)
            .set_help(format!("columns: {}", names.join(", ")));
        return None;
    }
    let mut good = true;
    let mut paths: Vec<&Column> = Vec::new();
    for (i, cell) in header.cells.iter().enumerate() {
        let name = cell.text.as_ref();
        let present = || former.column_names(name).find_map(|name| find(&name));
        let Some(column) = find(name).or_else(present) else {
            let message = match name {
                "" => format!("column {} has no name", i + 1),
                _ => format!("unknown column `{name}` in a table of {}s", T::NAME),
            };
            let help = if name.contains([';', '\t']) {
                "separate columns by commas".to_owned()
            } else {
                findings.allowed_names_help(name, "columns", names())
            };
            findings
                .error(ProblemKind::UnknownKey, cell.place, message)
                .set_help(help);
            good = false;
            continue;
        };
        if paths.contains(&column) {
            let message = format!("column `{name}` exists twice");
            findings.error(ProblemKind::Duplicate, cell.place, message);
            good = false;
        }
        paths.push(column);
    }
    let required: Vec<&str> = T::KEYS
        .iter()
        .filter(|key| key.required && key.is_cell)
        .map(|key| key.name)
        .collect();
    for name in &required {
        if good && !paths.iter().any(|column| column.path == [*name]) {
            let first = header.cells.first().map_or(start, |cell| cell.place);
            let message = format!("column `{name}` is missing");
            let needs = required.join(", ");
            let help = format!("required columns of a table of {}s: {needs}", T::NAME);
            findings
                .error(ProblemKind::Missing, first, message)
                .set_help(help);
            good = false;
        }
    }
    csv.columns = header.cells.len();
    for (i, column) in paths.into_iter().enumerate() {
        header.root.insert(&column.path, i);
    }
    good.then_some((csv, header))
}

impl<'t> CsvReader<'t> {
    /// Reads the next row into `row`. Returns false at the end of the table. Ragged rows are reported and
    /// skipped.
    pub fn next(&mut self, row: &mut CsvRow<'t>, findings: &mut Findings) -> bool {
        loop {
            match self.split_row(&mut row.cells, findings) {
                Some(true) => {}
                // After an unclosed quote, no further row can be found.
                Some(false) | None => return false,
            }
            let (Some(first), Some(last)) = (row.cells.first(), row.cells.last()) else {
                continue;
            };
            let place = first.place.extend_to(last.place);
            if row.cells.len() == 1 && first.text.is_empty() {
                continue; // white space only
            }
            if row.cells.len() == self.columns {
                row.place = Some(place);
                return true;
            }
            let cells = row.cells.len();
            let message = format!(
                "this row has {cells} cell{}, but the header has {}",
                if cells == 1 { "" } else { "s" },
                self.columns
            );
            let help = "write a cell for every column; leave cells empty (`a,,b`), and put texts with commas \
                 in double quotes";
            findings
                .error(ProblemKind::Syntax, place, message)
                .set_help(help);
        }
    }

    /// Splits the next row that is not empty or a comment. Returns false if there is none, `None` after
    /// an error.
    fn split_row(&mut self, cells: &mut Vec<Cell<'t>>, findings: &mut Findings) -> Option<bool> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.offset) {
                None => return Some(false),
                Some(b'\n') => self.offset += 1,
                Some(b'\r') if bytes.get(self.offset + 1) == Some(&b'\n') => self.offset += 2,
                Some(b'#') => self.offset = end_of_line(bytes, self.offset),
                Some(_) => break,
            }
        }
        cells.clear();
        loop {
            let (cell, more) = self.cell(findings)?;
            cells.push(cell);
            if !more {
                return Some(true);
            }
        }
    }

    /// Returns the next cell, and whether the row continues.
    fn cell(&mut self, findings: &mut Findings) -> Option<(Cell<'t>, bool)> {
        let bytes = self.text.as_bytes();
        let from = self.offset;
        let start = from
            + bytes[from..]
                .iter()
                .take_while(|&&b| b == b' ' || b == b'\t')
                .count();
        if bytes.get(start) != Some(&b'"') {
            let rest = &bytes[from..];
            let length = rest
                .iter()
                .position(|&b| b == b',' || b == b'\n')
                .unwrap_or(rest.len());
            let end = from + length;
            let text = self.text.get(from..end)?.trim();
            let start = if text.is_empty() { from } else { start };
            self.offset = (end + 1).min(bytes.len());
            let cell = Cell {
                text: Cow::Borrowed(text),
                place: SourceSpan::new(self.file, start..start + text.len()),
            };
            return Some((cell, bytes.get(end) == Some(&b',')));
        }
        let (text, after) = self.quoted(start, findings)?;
        let blanks = bytes[after..]
            .iter()
            .take_while(|&&b| matches!(b, b' ' | b'\t' | b'\r'))
            .count();
        let end = after + blanks;
        let place = SourceSpan::new(self.file, start..after);
        match bytes.get(end) {
            None | Some(b'\n' | b',') => {}
            Some(_) => {
                let line = end_of_line(bytes, end);
                let message = "text after the closing quote of a cell";
                let finding = findings.error(
                    ProblemKind::Syntax,
                    SourceSpan::new(self.file, end..line),
                    message,
                );
                finding.set_help("write a double quote inside a quoted cell twice: \"\"");
                return None;
            }
        }
        self.offset = (end + 1).min(bytes.len());
        Some((Cell { text, place }, bytes.get(end) == Some(&b',')))
    }

    /// Returns the text of a quoted cell and its end.
    fn quoted(&self, start: usize, findings: &mut Findings) -> Option<(Cow<'t, str>, usize)> {
        let bytes = self.text.as_bytes();
        let mut text = Cow::Borrowed("");
        let mut from = start + 1;
        loop {
            let Some(length) = bytes.get(from..)?.iter().position(|&b| b == b'"') else {
                let message = "the quote that begins here is never closed";
                let place = SourceSpan::new(self.file, start..start + 1);
                findings.error(ProblemKind::Syntax, place, message);
                return None;
            };
            let end = from + length;
            let part = self.text.get(from..end)?;
            let is_escaped = bytes.get(end + 1) == Some(&b'"');
            if text.is_empty() && !is_escaped {
                text = Cow::Borrowed(part);
            } else {
                let text = text.to_mut();
                text.push_str(part);
                if is_escaped {
                    text.push('"');
                }
            }
            if !is_escaped {
                return Some((text, end + 1));
            }
            from = end + 2;
        }
    }
}

fn end_of_line(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |length| from + length)
}
