//! Answers for other programs: the one place where JSON is written.

use std::io::{self, Write};

use serde::Serialize;

/// Writes it in lines that can be read, too.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
