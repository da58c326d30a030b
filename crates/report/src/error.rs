//! What can go wrong with a report.

use std::io;
use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A results directory could not be read.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
    /// There is nothing to report on.
    #[error("no results directory was given")]
    NoResults,
    /// The results have nothing of what the figure shows.
    #[error("{0}")]
    NothingToShow(String),
    /// The figure could not be drawn.
    #[error("cannot draw the figure: {0}")]
    Drawing(String),
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{}{}: {reason}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where one is to blame.
        line: Option<u64>,
        /// What is wrong, in words.
        reason: String,
    },
}
