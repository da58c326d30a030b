//! Text tables.

use std::io::{self, Write};

use comfy_table::{CellAlignment, presets};
use netflow::number::plural;
use netflow::report::PageTable;
use netflow::results::ESTIMATE;

use super::escape_control_characters::escape_controls;

/// Adds the marker of estimates to a number that is one, unless it is zero.
pub fn mark_estimate(is_estimate: bool, number: String) -> String {
    let is_zero = number == "0" || number.starts_with("0 ");
    if is_estimate && !is_zero {
        ESTIMATE.to_owned() + &number
    } else {
        number
    }
}

/// Width of a table in characters, which is exceeded only if shortened names do not suffice.
const MAX_WIDTH: usize = 120;

/// Width to which names are shortened before columns are omitted.
const NAME_WIDTH: usize = 16;

/// Width to which names are shortened afterwards.
const MIN_NAME_WIDTH: usize = 12;

/// A table of rows, and columns that map a row to a cell.
pub struct Table<'a, T> {
    rows: Vec<T>,
    columns: Vec<Column<'a, T>>,
    omissible: &'a [&'a str],
}

struct Column<'a, T> {
    title: String,
    kind: Kind,
    cell: Box<dyn Fn(&T) -> String + 'a>,
}

/// Kind of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Left-aligned; shortened if the table is wide.
    Name,
    /// Left-aligned.
    Description,
    /// Right-aligned.
    Number,
}

impl<'a, T> Table<'a, T> {
    /// Returns a table without columns.
    pub fn of(rows: impl IntoIterator<Item = T>) -> Table<'a, T> {
        Table {
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
            omissible: &[],
        }
    }

    /// Adds a left-aligned column of names, which are shortened if the table is wide.
    pub fn text<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, Kind::Name, cell)
    }

    /// Adds a left-aligned column of texts, which are never shortened.
    pub fn description<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, Kind::Description, cell)
    }

    /// Adds a right-aligned column.
    pub fn number<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, Kind::Number, cell)
    }

    fn column<S: ToString>(
        mut self,
        title: impl Into<String>,
        kind: Kind,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.columns.push(Column {
            title: title.into(),
            kind,
            cell: Box::new(move |row| cell(row).to_string()),
        });
        self
    }

    /// Prints the table without trailing white space.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_first(self.rows.len(), out)
    }

    /// Prints the first rows, and the number of further rows.
    pub fn print_top(&self, top: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
        self.print_first(top, out)?;
        print_omitted_count(self.rows.len(), top, noun, out)
    }

    /// Omits these columns, one after another, while the table would be wider than [`MAX_WIDTH`].
    pub fn omit_if_wide(mut self, titles: &'a [&'a str]) -> Table<'a, T> {
        self.omissible = titles;
        self
    }

    fn print_first(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.rows.iter().take(rows);
        let mut columns: Vec<PrintedColumn<'_>> = (self.columns.iter())
            .map(|column| PrintedColumn::of(column, rows.clone()))
            .collect();
        let mut omissible = self.omissible.iter();
        while !shorten_names(&mut columns, NAME_WIDTH) {
            let Some(title) = omissible.next() else {
                if !shorten_names(&mut columns, MIN_NAME_WIDTH) {
                    // Full names are better than names that are short for nothing.
                    set_full_widths(&mut columns);
                }
                break;
            };
            columns.retain(|column| column.title != *title);
        }
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(columns.iter().map(|column| column.title));
        let formats = table.column_iter_mut().zip(&columns);
        for (format, _) in formats.filter(|(_, it)| it.kind == Kind::Number) {
            format.set_cell_alignment(CellAlignment::Right);
        }
        for row in 0..rows.count() {
            table.add_row(columns.iter().map(|column| column.text(row)));
        }
        for line in table.lines() {
            writeln!(out, "{}", escape_controls(line.trim_end()))?;
        }
        Ok(())
    }
}

/// A column with the texts of its cells.
struct PrintedColumn<'t> {
    title: &'t str,
    kind: Kind,
    cells: Vec<String>,
    width: usize,
}

impl<'t> PrintedColumn<'t> {
    fn of<'r, T: 'r>(column: &'t Column<'_, T>, rows: impl Iterator<Item = &'r T>) -> Self {
        let mut it = PrintedColumn {
            title: &column.title,
            kind: column.kind,
            cells: rows.map(|row| (column.cell)(row)).collect(),
            width: 0,
        };
        it.width = it.full_width();
        it
    }

    fn full_width(&self) -> usize {
        let texts = self.cells.iter().map(|text| width(text));
        texts.fold(width(self.title), usize::max)
    }

    fn text(&self, row: usize) -> String {
        shorten(&self.cells[row], self.width)
    }
}

fn set_full_widths(columns: &mut [PrintedColumn<'_>]) {
    for column in columns {
        column.width = column.full_width();
    }
}

/// Sets the widths of the columns: shortens the longest names, down to `min` characters, until the table fits in
/// [`MAX_WIDTH`]. Returns whether it fits.
fn shorten_names(columns: &mut [PrintedColumn<'_>], min: usize) -> bool {
    set_full_widths(columns);
    // Each column has a space on both sides; that at the end of a line is removed.
    let total: usize = columns.iter().map(|column| column.width + 2).sum();
    for _ in MAX_WIDTH + 1..total {
        let names = columns
            .iter_mut()
            .filter(|it| it.kind == Kind::Name && it.width > min.max(width(it.title)));
        let Some(longest) = names.max_by_key(|column| column.width) else {
            return false;
        };
        longest.width -= 1;
    }
    true
}

/// Shortens a text to this number of characters: its start and its end, with an ellipsis between them. A value
/// after the name, as in `name: 100 %`, remains if it is short.
fn shorten(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    if let Some(at) = text.rfind(": ") {
        let (name, value) = text.split_at(at);
        if width(value) + 4 < max {
            return shorten(name, max - width(value)) + value;
        }
    }
    let chars: Vec<char> = text.chars().collect();
    let start = max / 2;
    let end = chars.len() - (max - 1 - start);
    let start: String = chars[..start].iter().collect();
    let end: String = chars[end..].iter().collect();
    start + "…" + &end
}

/// Returns the number of characters.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Prints the given cells, and the number of further rows. Columns with the titles `omissible` are omitted if
/// the table is wide.
pub fn print_cells(
    cells: &PageTable,
    noun: &str,
    omissible: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = cells.columns.iter().enumerate();
    let mut table = Table::of(&cells.rows);
    for (place, (title, is_number)) in columns {
        let cell = move |row: &&Vec<String>| row[place].clone();
        table = if *is_number {
            table.number(title, cell)
        } else {
            table.text(title, cell)
        };
    }
    table.omit_if_wide(omissible).print(out)?;
    print_omitted_count(
        cells.rows.len() + cells.omitted_rows,
        cells.rows.len(),
        noun,
        out,
    )
}

/// Formats a number with `text`, or returns `otherwise` if it is unknown.
pub fn format_or<T>(value: Option<T>, text: impl Fn(T) -> String, otherwise: &str) -> String {
    value.map_or_else(|| otherwise.to_owned(), text)
}

/// Prints the number of rows that are not shown.
pub fn print_omitted_count(
    all: usize,
    shown: usize,
    noun: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => {
            let noun = plural(more, noun);
            writeln!(out, " … and {more} more {noun}; --top {all} shows all")
        }
    }
}

/// Prints a table over loss and round-trip time: a row for every loss, a column for every time. `cell`
/// maps the indices of both to a text.
pub fn by_loss_and_rtt(
    losses: Vec<String>,
    rtts: Vec<String>,
    cell: impl Fn(usize, usize) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = losses.iter().enumerate();
    let mut table = Table::of(rows).text("loss \\ rtt", |(_, loss)| *loss);
    let cell = &cell;
    for (column, rtt) in rtts.into_iter().enumerate() {
        table = table.number(rtt, move |(row, _)| cell(*row, column));
    }
    table.print(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(names: &[&str]) -> Vec<String> {
        let mut table = Table::of(names.iter().copied()).text("name", |it| *it);
        for _ in 0..8 {
            table = table.number("a number", |_| "1");
        }
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn long_names_are_shortened_in_the_middle() {
        let long = "Frankfurt".repeat(9);
        let lines = printed(&[&long, "A->B"]);
        assert!(
            lines.iter().all(|line| width(line) <= MAX_WIDTH),
            "{lines:#?}"
        );
        assert!(lines[1].starts_with(" FrankfurtFrank"), "{lines:#?}");
        assert!(lines[1].contains('…'), "{lines:#?}");
        assert!(lines[2].starts_with(" A->B  "), "{lines:#?}");
        let short = printed(&["Frankfurt->Hannover"]);
        assert!(!short[1].contains('…'), "{short:#?}");
    }

    #[test]
    fn shortened_texts_keep_start_and_end() {
        assert_eq!(shorten("abcdefgh", 8), "abcdefgh");
        assert_eq!(shorten("abcdefgh", 7), "abc…fgh");
        assert_eq!(shorten("abcdefgh", 6), "abc…gh");
        assert_eq!(shorten("abcdefghijklmnop: 1 %", 12), "abc…nop: 1 %");
    }
}
