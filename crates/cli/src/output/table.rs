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

/// Width of a table in characters, which is exceeded only if its names are short.
const MAX_WIDTH: usize = 120;

/// Width to which names are shortened at most.
const MIN_NAME_WIDTH: usize = 12;

/// A table of rows, and columns that map a row to a cell.
pub struct Table<'a, T> {
    rows: Vec<T>,
    columns: Vec<Column<'a, T>>,
}

struct Column<'a, T> {
    title: String,
    is_number: bool,
    cell: Box<dyn Fn(&T) -> String + 'a>,
}

impl<'a, T> Table<'a, T> {
    /// Returns a table without columns.
    pub fn of(rows: impl IntoIterator<Item = T>) -> Table<'a, T> {
        Table {
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
        }
    }

    /// Adds a left-aligned column.
    pub fn text<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, false, cell)
    }

    /// Adds a right-aligned column.
    pub fn number<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, true, cell)
    }

    fn column<S: ToString>(
        mut self,
        title: impl Into<String>,
        is_number: bool,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.columns.push(Column {
            title: title.into(),
            is_number,
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

    fn print_first(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.rows.iter().take(rows);
        let cells = |row| {
            self.columns
                .iter()
                .map(|column| (column.cell)(row))
                .collect()
        };
        let mut cells: Vec<Vec<String>> = rows.map(cells).collect();
        self.shorten_names(&mut cells);
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(self.columns.iter().map(|column| &column.title));
        let columns = table.column_iter_mut().zip(&self.columns);
        for (column, _) in columns.filter(|(_, it)| it.is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for row in cells {
            table.add_row(row);
        }
        for line in table.lines() {
            writeln!(out, "{}", escape_controls(line.trim_end()))?;
        }
        Ok(())
    }

    /// Shortens the longest texts, down to [`MIN_NAME_WIDTH`], until the table fits in [`MAX_WIDTH`].
    fn shorten_names(&self, cells: &mut [Vec<String>]) {
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(i, column)| {
                let texts = cells.iter().map(|row| width(&row[i]));
                texts.fold(width(&column.title), usize::max)
            })
            .collect();
        // Each column has a space on both sides; that at the end of a line is removed.
        let total: usize = widths.iter().map(|width| width + 2).sum();
        for _ in MAX_WIDTH + 1..total {
            let texts = self.columns.iter().enumerate().filter(|(i, it)| {
                !it.is_number && widths[*i] > MIN_NAME_WIDTH.max(width(&it.title))
            });
            let Some((longest, _)) = texts.max_by_key(|(i, _)| widths[*i]) else {
                break;
            };
            widths[longest] -= 1;
        }
        for row in cells {
            for (cell, &width) in row.iter_mut().zip(&widths) {
                *cell = shorten(cell, width);
            }
        }
    }
}

/// Shortens a text to this number of characters: its start and its end, with an ellipsis between them.
fn shorten(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
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

/// Prints the given cells, and the number of further rows.
pub fn print_cells(cells: &PageTable, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    let columns = cells.columns.iter().enumerate();
    let mut table = Table::of(&cells.rows);
    for (place, (title, is_number)) in columns {
        table = table.column(title, *is_number, move |row| row[place].clone());
    }
    table.print(out)?;
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
            lines.iter().all(|line| width(line) < MAX_WIDTH),
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
    }
}
