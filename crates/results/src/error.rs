//! Errors of reading and writing results directories.

use std::io;
use std::path::PathBuf;

use crate::{Format, SWEEP_FILE, Summary};

/// An error of reading or writing results. Every variant names the file or directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory could not be created.
    #[error("cannot create the results directory {}: {source}", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another run is writing to the directory.
    #[error("another run is writing to {}: choose another directory with -o", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains a sweep, so that results cannot be written to it.
    #[error("{} contains a sweep ({SWEEP_FILE}): choose another directory for results with -o", path.display())]
    HoldsSweep {
        /// The directory.
        path: PathBuf,
    },
    /// The directory contains a sweep instead of the results of a run.
    #[error(
        "{} contains a sweep, not the results of a run: draw it with `netflow report --figure sweep`, read its tables links/*, connections/* and network/*, or run one case with `netflow run --set KEY=VALUE -o DIR`",
        path.display()
    )]
    IsSweep {
        /// The directory.
        path: PathBuf,
    },
    /// The directory does not contain a sweep.
    #[error("{} does not contain a sweep: there is no {SWEEP_FILE}; `netflow sweep -o DIR` writes one", path.display())]
    NoSweep {
        /// The directory.
        path: PathBuf,
    },
    /// The sweep in the directory is incomplete.
    #[error(
        "the sweep in {} is incomplete: {missing} of its {chunks} chunks are missing; repeat the same `netflow sweep` command to continue it",
        path.display()
    )]
    SweepIncomplete {
        /// The directory.
        path: PathBuf,
        /// Number of missing chunks.
        missing: u64,
        /// Number of chunks of the complete sweep.
        chunks: u64,
    },
    /// The directory exists and contains no results.
    #[error(
        "{} does not contain results: there is no {}; `netflow run -o DIR` writes them",
        path.display(), Summary::FILE
    )]
    NoResults {
        /// The directory.
        path: PathBuf,
    },
    /// The directory does not exist.
    #[error("the directory {} does not exist; `netflow run -o DIR` writes a results directory", path.display())]
    NoDirectory {
        /// The requested directory.
        path: PathBuf,
    },
    /// The path is that of a file, perhaps of a scenario.
    #[error(
        "{} is a file, not a results directory; to create one from a scenario, use `netflow run -o DIR`",
        path.display()
    )]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be created or written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file, under its final name.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A finished file could not be renamed to its final name, or an old file could not be removed.
    #[error("cannot replace {}: {source}", path.display())]
    Replace {
        /// The file, under its final name.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory has no series of this name in any format.
    #[error("{} does not contain {table}.csv, {table}.jsonl or {table}.parquet", path.display())]
    NoSeries {
        /// The directory.
        path: PathBuf,
        /// `links`, `connections` or `classes`.
        table: &'static str,
    },
    /// The content of a file is invalid.
    #[error("{}{}: {reason}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line number from 1, if the error is in one line.
        line: Option<u64>,
        /// Description of the error.
        reason: String,
    },
    /// This build does not support the format.
    #[error(
        "this build does not support {format}: build it with `cargo build --release -p netflow-cli --features {format}`"
    )]
    FormatMissing {
        /// The format.
        format: Format,
    },
}
