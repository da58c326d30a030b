//! Failures of a user.

use std::io::{self, ErrorKind};

use serde::Serialize;

/// Reason for a user that could not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The server's port is closed.
    Refused,
    /// No route leads to the server.
    Unreachable,
    /// The connection was not established in time.
    ConnectTimeout,
    /// A reply was not complete in time, measured from the previous reply or from the request.
    Timeout,
    /// The connection was reset.
    Reset,
    /// The connection was closed before all replies were complete.
    CutShort,
    /// Bytes that are not a reply.
    Malformed,
    /// A reply with another length than requested.
    WrongLength,
    /// More bytes than requested.
    Surplus,
    /// Another failure of the system, for example no free ports or descriptors.
    System,
}

impl Failure {
    /// All failures, in the order of their discriminants.
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

    /// Returns the failure as text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "connection refused",
            Self::Unreachable => "server unreachable",
            Self::ConnectTimeout => "connection timed out",
            Self::Timeout => "reply timed out",
            Self::Reset => "connection reset",
            Self::CutShort => "connection closed before the reply was complete",
            Self::Malformed => "malformed reply",
            Self::WrongLength => "wrong reply length",
            Self::Surplus => "unrequested data after the reply",
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
