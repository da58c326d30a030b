//! Why there is no sweep, or none to the end.

use std::io;
use std::path::PathBuf;

use netflow_results::Manifest;
use netflow_scenario::Problems;

use crate::{AxisError, MOST_CASES};

/// Why a sweep was refused, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting that is varied is wrong in itself.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// Two of the settings are one.
    #[error("`{key}` is {how}")]
    SameKey {
        /// Which.
        key: String,
        /// `varied twice`, `both set and varied` …
        how: &'static str,
    },
    /// What one setting varies is what a later one says.
    #[error("`{key}` is varied, and then `{by}`, which sets all of it again")]
    Replaced {
        /// The first.
        key: String,
        /// The later one.
        by: String,
    },
    /// The scenario is wrong, or one of the values for it.
    #[error("{} problem(s)", .0.iter().count())]
    Scenario(Problems),
    /// More cases than a sweep may have.
    #[error(
        "these are {cases} cases, with {rows} rows in all; a sweep has at most {MOST_CASES} cases. At {} ms a case, as \
         the first one took, they would take {years:.1} years of one processor", 1e3 * .case_s
    )]
    TooMany {
        /// How many, in words where they cannot be counted.
        cases: String,
        /// How many rows of links, connections and networks.
        rows: String,
        /// How long the first case took, in seconds, to one digit.
        case_s: f64,
        /// How long all of them would.
        years: f64,
    },
    /// The model cannot do it.
    #[error("{0}")]
    Refused(String),
    /// Several seeds of what has none.
    #[error("`--seeds` has no meaning here: {0}")]
    NotRandom(&'static str),
    /// Every link is to fail, and there is a value for which there are other links.
    #[error("with `{setting}` the scenario has other links, and it is not known which are to fail")]
    OtherLinks {
        /// The setting.
        setting: String,
    },
    /// A file or a directory could not be made or written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of a directory could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory holds results of a run.
    #[error("{} holds results of a run ({})", path.display(), Manifest::FILE)]
    HoldsResults {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something else.
    #[error("{} holds another sweep: {differs} differ", path.display())]
    Another {
        /// The directory.
        path: PathBuf,
        /// What is not the same, by the names in its `sweep.json`.
        differs: String,
    },
    /// What should describe the sweep in the directory does not.
    #[error("{} is no description of a sweep: {reason}", path.display())]
    NotASweep {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Somebody else is preparing the directory, and does not come to an end.
    #[error("another process is using {}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The build has no such format, or no tables in it.
    #[error("{0}")]
    Format(String),
    /// A file of the scenario is not what it was when the sweep began.
    #[error(
        "the scenario, or a file that it names, was changed while the sweep ran; what is finished stays, and is of before"
    )]
    Changed,
    /// It was asked to stop.
    #[error("stopped after {done} of {cases} cases; the same command goes on from there")]
    Stopped {
        /// How many cases are finished.
        done: u64,
        /// How many there are to do.
        cases: u64,
    },
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Error::Axis(error) => return Some(error.help.clone()),
            Error::SameKey { .. } => {
                "say once what a setting is; a list or a range has all its values"
            }
            Error::Replaced { key, by } => {
                return Some(format!(
                    "what is varied last counts: vary `{by}` first, and then `{key}`, or only one of them"
                ));
            }
            Error::TooMany { .. } => "vary fewer settings at a time, or with fewer values",
            Error::Another { .. } | Error::NotASweep { .. } => {
                "give another directory; or --force, which removes what that sweep wrote"
            }
            Error::HoldsResults { .. } => "give another directory",
            _ => return None,
        };
        Some(help.to_owned())
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::Write { path, source }
    }
}
