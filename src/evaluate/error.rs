//! Errors of an evaluation.

use netflow_network::RunError;
use netflow_units::Seconds;

use super::MOST_ROWS;
use crate::number::short;

/// Reason why a scenario was not evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The period to be summarized is not part of the run.
    #[error(transparent)]
    Period(#[from] PeriodError),
    /// The engine does not support the network, or failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The series would have too many rows.
    #[error(
        "series with intervals of {} would have {rows:.1e} rows, about {} GB; the limit is {MOST_ROWS:e} rows",
        Seconds(*every_s), short(bytes / 1e9)
    )]
    TooManyRows {
        /// Number of rows.
        rows: f64,
        /// Approximate size as CSV in bytes.
        bytes: f64,
        /// Length of a recording interval in seconds.
        every_s: f64,
        /// An interval in seconds that is long enough.
        enough_s: f64,
    },
    /// One of several seeds failed.
    #[error("seed {seed}: {reason}")]
    Seed {
        /// The seed.
        seed: u64,
        /// Error of the engine.
        reason: String,
    },
    /// It was stopped before there were results.
    #[error("{0}")]
    Stopped(String),
    /// The threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// Error of the system.
        reason: String,
    },
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
}

/// Reason why a period cannot be summarized.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PeriodError {
    /// The period begins after the end of the run.
    #[error(
        "the summarized period begins at {from_s} s, not before the end of the run, {duration_s} s"
    )]
    AfterTheEnd {
        /// Start of the period in seconds.
        from_s: f64,
        /// Duration of the run in seconds.
        duration_s: f64,
    },
    /// The period ends after the run.
    #[error("the summarized period ends at {to_s} s, after the end of the run, {duration_s} s")]
    TooLong {
        /// End of the period in seconds.
        to_s: f64,
        /// Duration of the run in seconds.
        duration_s: f64,
    },
    /// The period ends before it begins.
    #[error("the summarized period from {from_s} s to {to_s} s is empty")]
    Empty {
        /// Start of the period in seconds.
        from_s: f64,
        /// End of the period in seconds.
        to_s: f64,
    },
}
