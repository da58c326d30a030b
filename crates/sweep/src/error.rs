//! Errors of a sweep.

use std::io;
use std::path::PathBuf;

use netflow_results::Manifest;
use netflow_scenario::Problems;

use crate::{AxisError, MAX_CASES};

/// Error of a sweep that was rejected or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid axis.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// A key that is given twice.
    #[error("`{key}` is {how}")]
    SameKey {
        /// The key.
        key: String,
        /// Description, for example `varied twice` or `both set and varied`.
        how: &'static str,
    },
    /// A varied setting that a later axis replaces.
    #[error("`{key}` is varied before `{by}`, which replaces it")]
    Replaced {
        /// Key of the first axis.
        key: String,
        /// Key of the later axis.
        by: String,
    },
    /// An invalid scenario, or an invalid value.
    #[error("{} problem(s)", .0.iter().count())]
    Scenario(Problems),
    /// Too many cases.
    #[error(
        "the sweep has {cases} cases with {rows} rows; the limit is {MAX_CASES} cases. At {} ms per case, as \
         measured for the first, they would take {years:.1} years of CPU time", 1e3 * .case_s
    )]
    TooMany {
        /// Number of cases, or words if it overflows.
        cases: String,
        /// Number of rows of links, connections and networks.
        rows: String,
        /// Run time of the first case in seconds, to one digit.
        case_s: f64,
        /// Estimated run time of all cases in years.
        years: f64,
    },
    /// Too many loads of links for statistics in memory.
    #[error("the sweep has {loads} loads of links; the limit without a directory is {most}")]
    TooManyLoads {
        /// Number of links times number of cases.
        loads: u64,
        /// Maximum number.
        most: u64,
    },
    /// A scenario that the model does not support.
    #[error("{0}")]
    Unsupported(String),
    /// Several seeds of a deterministic model.
    #[error("`--seeds` has no effect: {0}")]
    NotRandom(&'static str),
    /// A value that changes the set of links, although every link is to fail.
    #[error("`{setting}` changes the set of links, so the links to fail are undefined")]
    OtherLinks {
        /// The setting.
        setting: String,
    },
    /// A file or a directory could not be created or written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file of the directory could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The directory contains results of a run.
    #[error("{} contains results of a run ({})", path.display(), Manifest::FILE)]
    ContainsResults {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains another sweep.
    #[error("{} contains another sweep: {differs} differ", path.display())]
    OtherSweep {
        /// The directory.
        path: PathBuf,
        /// Names of the different entries of `sweep.json`.
        differs: String,
    },
    /// An invalid description of the sweep in the directory.
    #[error("{} is not a description of a sweep: {reason}", path.display())]
    InvalidDescription {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// Another process holds the lock of the directory.
    #[error("another process is using {}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The format is not available in this build, or not supported for tables.
    #[error("{0}")]
    Format(String),
    /// A file of the scenario changed after the start of the sweep.
    #[error(
        "the scenario or one of its files changed during the sweep; finished cases are kept and belong to the old version"
    )]
    Changed,
    /// The sweep was stopped on request.
    #[error("stopped after {done} of {cases} cases; run the same command again to continue")]
    Stopped {
        /// Number of finished cases.
        done: u64,
        /// Number of all cases.
        cases: u64,
    },
}

impl Error {
    /// Returns the suggested action, if there is one.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Error::Axis(error) => return Some(error.help.clone()),
            Error::SameKey { .. } => {
                "give every setting once, with all its values in a list or a range"
            }
            Error::Replaced { key, by } => {
                return Some(format!(
                    "later settings take precedence: vary `{by}` first and then `{key}`, or only one of them"
                ));
            }
            Error::TooManyLoads { .. } => "write tables with `-o DIR`, or vary fewer settings",
            Error::TooMany { .. } => "vary fewer settings at a time, or with fewer values",
            Error::OtherSweep { .. } | Error::InvalidDescription { .. } => {
                "use another directory, or remove the files of that sweep with --force"
            }
            Error::ContainsResults { .. } => "use another directory",
            _ => return None,
        };
        Some(help.to_owned())
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::Write { path, source }
    }
}
