//! Why there is no testbed.

use std::io;

use crate::options::OptionError;

/// Why a testbed could not be built, or what failed in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user's rights do not allow it: a check is skipped, not failed.
    #[error("{what} not available here: {source}")]
    Unavailable {
        /// What is missing, as the beginning of a sentence: `network namespaces are`.
        what: String,
        /// What the system said, with its number.
        source: io::Error,
    },
    /// The kernel has no such congestion control.
    #[error("there is no congestion control `{name}` here")]
    UnknownCongestionControl {
        /// What was asked for.
        name: String,
        /// The nearest that there is.
        nearest: Option<String>,
        /// All that there are.
        available: Vec<String>,
    },
    /// An option has a value that it cannot have.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A network that cannot be emulated.
    #[error(transparent)]
    Network(#[from] crate::network::NetworkError),
    /// A file that was asked for cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something that should work did not.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried: `write the capture`.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// What to do about it, if that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::UnknownCongestionControl {
                nearest, available, ..
            } => {
                let all = available.join(", ");
                Some(match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`? available here: {all}"),
                    None => format!("available here: {all}"),
                })
            }
            Error::Unavailable { .. } => Some(
                "it takes root, or unprivileged user namespaces, and the device /dev/net/tun"
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
