//! Tables for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, presets};
use netflow::number::plural;
use netflow::report::Rows;
use netflow::results::ESTIMATE;

use super::visible::visible;

/// A number with the sign of estimates, if it is one.
pub fn sign(is_estimate: bool, number: String) -> String {
    match is_estimate {
        true => ESTIMATE.to_owned() + &number,
        false => number,
    }
}

/// Rows, and columns that say what of a row they show.
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
    /// A table without columns yet.
    pub fn of(rows: impl IntoIterator<Item = T>) -> Table<'a, T> {
        Table {
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
        }
    }

    /// One more column, to the left.
    pub fn text<S: ToString>(
        self,
        title: impl Into<String>,
        cell: impl Fn(&T) -> S + 'a,
    ) -> Table<'a, T> {
        self.column(title, false, cell)
    }

    /// One more column, to the right.
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

    /// Prints it, without blanks at the ends of lines.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_first(self.rows.len(), out)
    }

    /// Prints its first rows, and says how many there are besides.
    pub fn print_top(&self, top: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
        self.print_first(top, out)?;
        rest(self.rows.len(), top, noun, out)
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
            writeln!(out, "{}", visible(line.trim_end()))?;
        }
        Ok(())
    }
}

/// Prints cells that were made elsewhere, and says how many rows there are besides.
pub fn print_cells(cells: &Rows, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    let columns = cells.columns.iter().enumerate();
    let mut table = Table::of(&cells.rows);
    for (place, (title, is_number)) in columns {
        table = table.column(title, *is_number, move |row| row[place].clone());
    }
    table.print(out)?;
    rest(
        cells.rows.len() + cells.left_out,
        cells.rows.len(),
        noun,
        out,
    )
}

/// A number as `text` writes it; `otherwise`, if it is not known.
pub fn known<T>(value: Option<T>, text: impl Fn(T) -> String, otherwise: &str) -> String {
    value.map_or_else(|| otherwise.to_owned(), text)
}

/// Says how many rows are not shown.
pub fn rest(all: usize, shown: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => {
            let noun = plural(more, noun);
            writeln!(out, " … and {more} more {noun}; --top {all} shows all")
        }
    }
}

/// Something over loss and round-trip time: a row for every loss, a column for every time as it is
/// called; `cell` gets the places of both.
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
