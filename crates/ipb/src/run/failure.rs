//! How a user can fail.

use std::io::{self, ErrorKind};

use serde::Serialize;

/// Why a user could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// Nobody listens there.
    Refused,
    /// There is no way there.
    Unreachable,
    /// The connection was not there in time.
    ConnectTimeout,
    /// A reply was not complete in time, since the one before or since it was asked for.
    Timeout,
    /// The connection was reset.
    Reset,
    /// The connection was closed before all replies were complete.
    CutShort,
    /// What came was no reply.
    Malformed,
    /// A reply of another length than asked for.
    WrongLength,
    /// More came than was asked for.
    Surplus,
    /// The system failed in another way; it may have run out of ports or descriptors.
    System,
}

impl Failure {
    /// All of them.
    pub const ALL: [Failure; 10] = [
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::Timeout,
        Self::Reset,
        Self::CutShort,
        Self::Malformed,
        Self::WrongLength,
        Self::Surplus,
        Self::System,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "connection refused",
            Self::Unreachable => "server unreachable",
            Self::ConnectTimeout => "no connection in time",
            Self::Timeout => "no reply in time",
            Self::Reset => "connection reset",
            Self::CutShort => "connection closed before the reply was complete",
            Self::Malformed => "malformed reply",
            Self::WrongLength => "reply of another length",
            Self::Surplus => "more than was asked for",
            Self::System => "system error",
        }
    }

    pub(crate) fn of_connecting(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            ErrorKind::TimedOut => Self::ConnectTimeout,
            _ => Self::of_io(error),
        }
    }

    pub(crate) fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected => Self::Reset,
            ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            _ => Self::System,
        }
    }
}
