//! Why there is no evaluation.

use netflow_network::RunError;
use netflow_units::Seconds;

use super::MOST_ROWS;
use crate::number::short;

/// Why a scenario was not evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is to be summarized is no part of the run.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The engine cannot run it, or not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its series would have too many rows.
    #[error(
        "series every {} would have {rows:.1e} rows, some {} GB; more than {MOST_ROWS:e} are not written",
        Seconds(*every_s), short(bytes / 1e9)
    )]
    TooManyRows {
        /// How many.
        rows: f64,
        /// About how many bytes they would take as comma-separated values.
        bytes: f64,
        /// The length of an interval in seconds.
        every_s: f64,
        /// That of intervals which would do.
        enough_s: f64,
    },
    /// One of several seeds failed.
    #[error("seed {seed}: {reason}")]
    Seed {
        /// Which.
        seed: u64,
        /// What the engine says.
        reason: String,
    },
    /// It was stopped before there was anything.
    #[error("{0}")]
    Stopped(String),
    /// So many threads are not to be had.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// What the system says.
        reason: String,
    },
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
}

/// Why there is no part of a run to be summarized.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScopeError {
    /// It begins when the run is over.
    #[error("to summarize from {from_s} s on leaves nothing of the {duration_s} s of the run")]
    AfterTheEnd {
        /// Its beginning in seconds.
        from_s: f64,
        /// How long the run is, in seconds.
        duration_s: f64,
    },
    /// It ends after the run.
    #[error("to summarize until {to_s} s is more than the {duration_s} s of the run")]
    TooLong {
        /// Its end in seconds.
        to_s: f64,
        /// How long the run is, in seconds.
        duration_s: f64,
    },
    /// It ends before it begins.
    #[error("to summarize from {from_s} s to {to_s} s leaves nothing")]
    Empty {
        /// Its beginning in seconds.
        from_s: f64,
        /// Its end in seconds.
        to_s: f64,
    },
}
