//! Tables for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use crate::visible::visible;

/// Column titles; the first column is text, the others are numbers.
pub fn table(titles: &[&str]) -> Table {
    aligned(titles, 1)
}

/// Column titles; the first `texts` columns are text, the others are numbers.
pub fn aligned(titles: &[&str], texts: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(titles.iter().copied());
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Prints it, without blanks at the ends of lines.
pub fn print(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", visible(line.trim_end()))?;
    }
    Ok(())
}
