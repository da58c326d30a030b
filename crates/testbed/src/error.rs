//! Errors of the testbed.

use std::io;

use crate::link_options::OptionError;

/// Failure to build a testbed, or failure within one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user's rights do not allow it: a check is skipped, not failed.
    #[error("{what} not available here: {source}")]
    Unavailable {
        /// Missing resource, as the beginning of a sentence: `network namespaces are`.
        what: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The kernel lacks this congestion control.
    #[error("unknown congestion control `{name}` in this kernel")]
    UnknownCongestionControl {
        /// Requested name.
        name: String,
        /// Nearest available name.
        nearest: Option<String>,
        /// All available names.
        available: Vec<String>,
    },
    /// An option is out of its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The network cannot be emulated.
    #[error(transparent)]
    Network(#[from] crate::network::NetworkError),
    /// A requested file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: std::path::PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An operation failed that should succeed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Operation, for example `write the capture`.
        doing: String,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Returns a remedy, if there is one.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::UnknownCongestionControl {
                nearest, available, ..
            } => {
                let all = available.join(", ");
                Some(match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`? available: {all}"),
                    None => format!("available: {all}"),
                })
            }
            Error::Unavailable { .. } => Some(
                "run as root or enable unprivileged user namespaces; the device /dev/net/tun is required"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    pub(crate) fn unavailable(what: impl Into<String>, source: impl Into<io::Error>) -> Error {
        Error::Unavailable {
            what: what.into(),
            source: source.into(),
        }
    }

    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Error {
        Error::System {
            doing: doing.into(),
            source: source.into(),
        }
    }
}
