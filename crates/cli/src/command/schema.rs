//! The subcommand `netflow schema`.

use std::io::Write;

use crate::failure::Failure;

pub fn schema(out: &mut dyn Write) -> Result<(), Failure> {
    Ok(writeln!(out, "{}", netflow::scenario::schema())?)
}
