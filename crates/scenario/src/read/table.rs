//! CSV tables: rows of elements, for networks too large to be written in TOML.
//!
//! The first row names the columns like the keys of the element; a key inside a table is written
//! with a point, as in `queue.min`. Columns are separated by commas, a text with a comma stands in
//! double quotes. An empty cell is an absent key. Empty lines, and lines that begin with `#`, say
//! nothing.

use std::borrow::Cow;

use super::{Element, Fields, Kind, Value};
use crate::place::{FileId, Place};
use crate::problem::{Findings, ProblemKind};

/// One cell: its text and its bytes in the file.
#[derive(Clone, Debug)]
struct Cell<'t> {
    text: Cow<'t, str>,
    place: Place,
}

/// What a column is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// The key of the table that the column's key is in; empty for keys of the element itself.
    table: &'static str,
    key: &'static str,
}

impl Column {
    fn of<T: Element>(name: &str) -> Option<Column> {
        let name = T::COLUMNS.iter().find(|column| **column == name)?;
        Some(match name.split_once('.') {
            Some((table, key)) => Column { table, key },
            None if T::SHORT_COLUMNS.contains(name) => Column {
                table: "source",
                key: name,
            },
            None => Column {
                table: "",
                key: name,
            },
        })
    }
}

/// A row, with the columns that its cells stand in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row<'t> {
    columns: Vec<Column>,
    cells: Vec<Cell<'t>>,
    pub(crate) place: Option<Place>,
}

impl Row<'_> {
    /// The cell for a key of a table, or the table of that name if any of its cells is filled.
    pub(crate) fn get<'a>(&'a self, table: &'static str, key: &'static str) -> Option<Value<'a>> {
        let mut nested = None;
        for (column, cell) in self.columns.iter().zip(&self.cells) {
            if same(column.key, key) && same(column.table, table) {
                if !cell.text.is_empty() {
                    return Some(Value::cell(&cell.text, cell.place));
                }
            } else if table.is_empty() && same(column.table, key) && !cell.text.is_empty() {
                nested = nested.or(Some(cell.place));
            }
        }
        Some(Value {
            kind: Kind::Table(Fields::Row {
                row: self,
                table: key,
            }),
            place: nested?,
            scope: None,
        })
    }
}

/// Whether two short texts are equal: most differ in length, and there are many to compare.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a == b
}

/// Splits a text into rows of cells.
#[derive(Debug)]
pub(crate) struct Csv<'t> {
    text: &'t str,
    file: FileId,
    /// Where the next row begins.
    at: usize,
    columns: usize,
}

/// Reads the header of a table of `T`s; `None` if the rows cannot be understood with it.
pub(crate) fn open<'t, T: Element>(
    file: FileId,
    text: &'t str,
    findings: &mut Findings,
) -> Option<(Csv<'t>, Row<'t>)> {
    let mut csv = Csv {
        text,
        file,
        at: if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        columns: 0,
    };
    let mut header = Row::default();
    let keys = || T::COLUMNS.iter().copied();
    let start = Place::new(file, csv.at..csv.at);
    if !csv.split(&mut header.cells, findings)? {
        let message = "the table is empty: its first row must name the columns";
        let help = format!("columns: {}", T::COLUMNS.join(", "));
        findings
            .error(ProblemKind::Missing, start, message)
            .help(help);
        return None;
    }
    let mut good = true;
    for (i, cell) in header.cells.iter().enumerate() {
        let name = cell.text.as_ref();
        if !keys().any(|key| key == name) {
            let message = match name {
                "" => format!("column {} has no name", i + 1),
                _ => format!("unknown column `{name}` in a table of {}s", T::NAME),
            };
            let help = match name.contains([';', '\t']) {
                true => "columns are separated by commas".to_owned(),
                false => findings.allowed(name, "columns", keys()),
            };
            findings
                .error(ProblemKind::UnknownKey, cell.place, message)
                .help(help);
            good = false;
        } else if header.cells[..i]
            .iter()
            .any(|other| other.text == cell.text)
        {
            let message = format!("column `{name}` exists twice");
            findings.error(ProblemKind::Duplicate, cell.place, message);
            good = false;
        }
    }
    for required in T::REQUIRED_COLUMNS {
        if !header.cells.iter().any(|cell| cell.text == *required) && good {
            let first = header.cells.first().map_or(start, |cell| cell.place);
            let message = format!("column `{required}` is missing");
            let help = format!(
                "a table of {}s needs the columns {}",
                T::NAME,
                T::REQUIRED_COLUMNS.join(", ")
            );
            findings
                .error(ProblemKind::Missing, first, message)
                .help(help);
            good = false;
        }
    }
    csv.columns = header.cells.len();
    header.columns = header
        .cells
        .iter()
        .filter_map(|cell| Column::of::<T>(&cell.text))
        .collect();
    good.then_some((csv, header))
}

impl<'t> Csv<'t> {
    /// Reads the next row into `row`; false at the end of the table. Ragged rows are reported and
    /// left out.
    pub(crate) fn next(&mut self, row: &mut Row<'t>, findings: &mut Findings) -> bool {
        loop {
            match self.split(&mut row.cells, findings) {
                Some(true) => {}
                // After a quote that is never closed there are no rows to be found.
                Some(false) | None => return false,
            }
            let (Some(first), Some(last)) = (row.cells.first(), row.cells.last()) else {
                continue;
            };
            let place = Place {
                end: last.place.end,
                ..first.place
            };
            if row.cells.len() == 1 && first.text.is_empty() {
                continue; // nothing but blanks
            }
            if row.cells.len() == self.columns {
                row.place = Some(place);
                return true;
            }
            let cells = row.cells.len();
            let message = format!(
                "this row has {cells} cell{}, the header {}",
                if cells == 1 { "" } else { "s" },
                self.columns
            );
            let help = "every row needs a cell for every column; leave cells empty (`a,,b`), and put a text with a comma \
                 into double quotes";
            findings
                .error(ProblemKind::Syntax, place, message)
                .help(help);
        }
    }

    /// Splits the next row that says something: false if there is none, `None` after an error.
    fn split(&mut self, cells: &mut Vec<Cell<'t>>, findings: &mut Findings) -> Option<bool> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => return Some(false),
                Some(b'\n') => self.at += 1,
                Some(b'\r') if bytes.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                Some(b'#') => self.at = end_of_line(bytes, self.at),
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

    /// The next cell, and whether the row goes on.
    fn cell(&mut self, findings: &mut Findings) -> Option<(Cell<'t>, bool)> {
        let bytes = self.text.as_bytes();
        let from = self.at;
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
            self.at = (end + 1).min(bytes.len());
            let cell = Cell {
                text: Cow::Borrowed(text),
                place: Place::new(self.file, start..start + text.len()),
            };
            return Some((cell, bytes.get(end) == Some(&b',')));
        }
        let (text, after) = self.quoted(start, findings)?;
        let blanks = bytes[after..]
            .iter()
            .take_while(|&&b| matches!(b, b' ' | b'\t' | b'\r'))
            .count();
        let end = after + blanks;
        let place = Place::new(self.file, start..after);
        match bytes.get(end) {
            None | Some(b'\n' | b',') => {}
            Some(_) => {
                let line = end_of_line(bytes, end);
                let message = "text after the closing quote of a cell";
                let finding = findings.error(
                    ProblemKind::Syntax,
                    Place::new(self.file, end..line),
                    message,
                );
                finding.help("a double quote inside a quoted cell is written twice: \"\"");
                return None;
            }
        }
        self.at = (end + 1).min(bytes.len());
        Some((Cell { text, place }, bytes.get(end) == Some(&b',')))
    }

    /// The text of a quoted cell, and where it ends.
    fn quoted(&self, start: usize, findings: &mut Findings) -> Option<(Cow<'t, str>, usize)> {
        let bytes = self.text.as_bytes();
        let mut text = Cow::Borrowed("");
        let mut from = start + 1;
        loop {
            let Some(length) = bytes.get(from..)?.iter().position(|&b| b == b'"') else {
                let message = "the quote that begins here is never closed";
                let place = Place::new(self.file, start..start + 1);
                findings.error(ProblemKind::Syntax, place, message);
                return None;
            };
            let end = from + length;
            let part = self.text.get(from..end)?;
            let twice = bytes.get(end + 1) == Some(&b'"');
            if text.is_empty() && !twice {
                text = Cow::Borrowed(part);
            } else {
                let text = text.to_mut();
                text.push_str(part);
                if twice {
                    text.push('"');
                }
            }
            if !twice {
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
