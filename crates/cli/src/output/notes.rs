//! Notes on the accuracy of results, printed once after the tables.

use std::io::{self, Write};

use netflow::results::ESTIMATE;

use super::escape_control_characters::escape_controls;

/// Prints notes, if there are any.
pub fn print_notes<T: AsRef<str>>(notes: &[T], out: &mut dyn Write) -> io::Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNotes ({ESTIMATE} marks estimates)")?;
    for note in notes {
        writeln!(out, " {}", escape_controls(note.as_ref()))?;
    }
    Ok(())
}
