//! Output formats of commands.

use std::io::{self, Write};

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use netflow::results;
use serde::Serialize;

use super::json;

/// The formats of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
    Csv,
}

/// Help of `--format`, which is the same in every command.
pub const HELP: &str = "Output format: text tables, JSON or CSV";

impl Format {
    /// Writes the answer in this format.
    pub fn print(
        self,
        out: &mut dyn Write,
        value: &(impl Serialize + ?Sized),
        csv: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Format::Text => text(out),
            Format::Json => json::write(value, out),
            Format::Csv => csv(out),
        }
    }
}

/// The value of `--format`: the format of an answer, or for compatibility that of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOrSeriesFormat {
    Answer(Format),
    Series(results::Format),
}

/// Returns a parser of the formats of answers. Formats of series are accepted but hidden.
pub fn answer_or_series_format() -> impl TypedValueParser<Value = AnswerOrSeriesFormat> {
    let answers = Format::value_variants().iter();
    let answers = answers.filter_map(Format::to_possible_value);
    let series = [results::Format::Jsonl, results::Format::Parquet];
    let hidden = series.map(|format| PossibleValue::new(format.name()).hide(true));
    PossibleValuesParser::new(answers.chain(hidden)).try_map(|name| {
        match Format::from_str(&name, false) {
            Ok(format) => Ok(AnswerOrSeriesFormat::Answer(format)),
            Err(_) => name.parse().map(AnswerOrSeriesFormat::Series),
        }
    })
}
