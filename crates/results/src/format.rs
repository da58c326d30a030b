//! The file formats of the series.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A file format of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180, lines ended by `\n`).
    #[default]
    Csv,
    /// One JSON object per line. Its keys are the column names.
    Jsonl,
    /// Parquet, with names as dictionaries. Requires a build with the feature `parquet`.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 3] = [Format::Csv, Format::Jsonl, Format::Parquet];

    /// Returns its name, which is also the file extension.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
            Format::Parquet => "parquet",
        }
    }

    /// Returns whether this build can write and read it.
    pub fn is_available(self) -> bool {
        self != Format::Parquet || cfg!(feature = "parquet")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error of a format name that is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`; use csv, jsonl or parquet")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
