//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

/// Why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no ns-2.
    #[error("ns-2 is not installed: there is no command `ns`")]
    NotInstalled,
    /// There is no compiler, or no ns-3 for it.
    #[error("ns-3 is not installed: {0}")]
    NoNs3(String),
    /// The scenario cannot be written for ns-3.
    #[error(transparent)]
    ExportNs3(#[from] netflow_scenario::export::Ns3Error),
    /// The scenario cannot be written for ns-2.
    #[error(transparent)]
    Export(#[from] netflow_scenario::export::ExportError),
    /// It cannot be emulated, or was not to its end.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Emulation(netflow_emulation::Error),
    /// netflow cannot run it.
    #[error("{0}")]
    Evaluation(String),
    /// A program failed.
    #[error("{program} failed ({status}){}", said(.stderr))]
    Failed {
        /// Which.
        program: &'static str,
        /// How it ended.
        status: String,
        /// The end of what it said.
        stderr: String,
    },
    /// What ns wrote is not what was expected.
    #[error("{}: {reason}", path.display())]
    Output {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write` …
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The traces and the results are not of the same network.
    #[error("{what}")]
    Mismatch {
        /// What does not fit.
        what: String,
        /// What to do about it.
        help: String,
    },
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] netflow_trace::Error),
    /// A results directory could not be read.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
    /// It was asked to stop.
    #[error("stopped before all runs had come to their end")]
    Stopped,
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!(":\n{text}"),
    }
}

/// What became of a file.
pub(crate) fn file<T>(
    action: &'static str,
    path: &Path,
    result: io::Result<T>,
) -> Result<T, Error> {
    result.map_err(|source| Error::File {
        action,
        path: path.to_owned(),
        source,
    })
}
