//! Answers for other programs.

use std::io::{self, Write};

/// Writes it in lines that can be read, too.
pub fn write(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
