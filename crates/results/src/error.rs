//! What can go wrong with a results directory.

use std::io;
use std::path::PathBuf;

use crate::{Format, SWEEP_FILE, Summary};

/// Why results could not be written or read; every one names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory could not be made.
    #[error("cannot make the results directory {}: {source}", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run is writing to the directory.
    #[error("another run is writing to {}: give each a directory of its own", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is that of a sweep.
    #[error("{} holds a sweep ({SWEEP_FILE}): give results a directory of their own", path.display())]
    HoldsSweep {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is that of a sweep, and no run's.
    #[error(
        "{} holds a sweep and no results of a run: draw it by `netflow report --figure sweep`, read its tables links/*, connections/* and network/*, or evaluate one of its cases by `netflow run --set KEY=VALUE -o DIR`",
        path.display()
    )]
    IsSweep {
        /// The directory.
        path: PathBuf,
    },
    /// There is no sweep in the directory.
    #[error("{} holds no sweep: there is no {SWEEP_FILE}; `netflow sweep -o DIR` writes one", path.display())]
    NoSweep {
        /// The directory.
        path: PathBuf,
    },
    /// The sweep in the directory has not come to its end.
    #[error(
        "the sweep in {} is not complete: {missing} of its {chunks} chunks are missing; the same `netflow sweep` goes on",
        path.display()
    )]
    SweepIncomplete {
        /// The directory.
        path: PathBuf,
        /// How many chunks there are not.
        missing: u64,
        /// How many there should be.
        chunks: u64,
    },
    /// There is such a directory, and no results in it.
    #[error(
        "{} holds no results: there is no {}; `netflow run -o DIR` writes them",
        path.display(), Summary::FILE
    )]
    NoResults {
        /// The directory.
        path: PathBuf,
    },
    /// There is no such directory.
    #[error("there is no directory {}; `netflow run -o DIR` writes one with results", path.display())]
    NoDirectory {
        /// What was asked for.
        path: PathBuf,
    },
    /// It is a file, perhaps a scenario.
    #[error(
        "{} is a file, and not a directory with results; of a scenario `netflow run -o DIR` writes one",
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
        /// What the system said.
        source: io::Error,
    },
    /// A finished file could not get its final name, or an old one could not be removed.
    #[error("cannot replace {}: {source}", path.display())]
    Replace {
        /// The file, under its final name.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory that should hold results has no series of this name in any format.
    #[error("{} holds no {table}.csv, {table}.jsonl or {table}.parquet", path.display())]
    NoSeries {
        /// The directory.
        path: PathBuf,
        /// `links`, `connections` or `classes`.
        table: &'static str,
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
    /// This build cannot write or read the format.
    #[error(
        "this build has no {format} support: build it with `cargo build --release -p netflow-cli --features {format}`"
    )]
    FormatMissing {
        /// The format.
        format: Format,
    },
}
