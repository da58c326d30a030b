//! Errors of a comparison.

use std::io;
use std::path::{Path, PathBuf};

/// Error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// ns-2 is not installed.
    #[error("ns-2 is not installed: the command `ns` does not exist")]
    NotInstalled,
    /// A compiler or ns-3 is not installed.
    #[error("ns-3 is not installed: {0}")]
    NoNs3(String),
    /// The scenario cannot be exported to ns-3.
    #[error(transparent)]
    ExportNs3(#[from] netflow_scenario::export::Ns3Error),
    /// The scenario cannot be exported to ns-2.
    #[error(transparent)]
    Export(#[from] netflow_scenario::export::ExportError),
    /// The scenario cannot be emulated, or the emulation was stopped or failed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Emulation(netflow_emulation::Error),
    /// netflow cannot run the scenario.
    #[error("{0}")]
    Evaluation(String),
    /// A program failed.
    #[error("{program} failed ({status}){}", stderr_suffix(.stderr))]
    Failed {
        /// Name of the program.
        program: &'static str,
        /// Exit status.
        status: String,
        /// End of its standard error.
        stderr: String,
    },
    /// The output of a simulator has an unexpected format.
    #[error("{}: {reason}", path.display())]
    Output {
        /// Output file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// Action, for example `read` or `write`.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Traces and results of different networks.
    #[error("{what}")]
    Mismatch {
        /// Description of the difference.
        what: String,
        /// Suggested action.
        help: String,
    },
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] netflow_trace::Error),
    /// A results directory could not be read.
    #[error(transparent)]
    Results(#[from] netflow_results::Error),
    /// The run was stopped on request.
    #[error("stopped before all runs were complete")]
    Stopped,
}

fn stderr_suffix(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!(":\n{text}"),
    }
}

/// Adds the action and the path to an I/O error.
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
