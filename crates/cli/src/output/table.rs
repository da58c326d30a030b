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
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(self.columns.iter().map(|column| &column.title));
        let columns = table.column_iter_mut().zip(&self.columns);
        for (column, _) in columns.filter(|(_, it)| it.is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for row in self.rows.iter().take(rows) {
            table.add_row(self.columns.iter().map(|column| (column.cell)(row)));
        }
        for line in table.lines() {
            writeln!(out, "{}", escape_controls(line.trim_end()))?;
        }
        Ok(())
    }
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
