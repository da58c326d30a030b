//! Options of printed answers, which are the same in all commands about the steady state.

use clap::Args;

use super::format::{Format, HELP};

/// Number of rows, notes and format.
#[derive(Args)]
pub struct AnswerOptions {
    /// Maximum number of rows per printed table
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "N",
        default_value_t = 20
    )]
    pub top: usize,

    /// Omit the notes after the tables
    #[arg(long)]
    pub no_notes: bool,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    /// Same as --format json
    #[arg(long)]
    json: bool,
}

impl AnswerOptions {
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}
