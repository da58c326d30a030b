//! What a server counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_workload::Kind;
use serde::Serialize;

/// Counts are whole even where a thread died with them.
pub(crate) fn lock<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a connection ended other than by its user closing it between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// What came was no request.
    Malformed,
    /// A head or a script was longer than any may be.
    HeadTooLong,
    /// A request or its reply would have been longer than the server allows.
    MessageTooLong,
    /// A request was not complete in time.
    SlowRequest,
    /// A reply was not taken in time.
    NotReading,
    /// Nothing came at all.
    Silent,
    /// Nothing was asked for during too long a time.
    Idle,
    /// The connection had lasted too long.
    Lifetime,
    /// There were too many connections already.
    TooMany,
    /// There were too many connections from this address already.
    TooManyFromOne,
    /// It had been silent for longest when somebody else came, and there were no more places.
    GaveWay,
    /// The user closed the connection in the midst of a request.
    CutShort,
    /// The user reset the connection, or was gone when a reply was to be sent.
    Reset,
    /// The connection was still open when the server stopped.
    Stopped,
    /// The system failed in another way.
    System,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 15] = [
        Self::Malformed,
        Self::HeadTooLong,
        Self::MessageTooLong,
        Self::SlowRequest,
        Self::NotReading,
        Self::Silent,
        Self::Idle,
        Self::Lifetime,
        Self::TooMany,
        Self::TooManyFromOne,
        Self::GaveWay,
        Self::CutShort,
        Self::Reset,
        Self::Stopped,
        Self::System,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed request",
            Self::HeadTooLong => "head too long",
            Self::MessageTooLong => "message too long",
            Self::SlowRequest => "request too slow",
            Self::NotReading => "reply not read",
            Self::Silent => "never sent anything",
            Self::Idle => "idle too long",
            Self::Lifetime => "open too long",
            Self::TooMany => "too many connections",
            Self::TooManyFromOne => "too many connections from one address",
            Self::GaveWay => "silent while others had no place",
            Self::CutShort => "closed within a request",
            Self::Reset => "reset",
            Self::Stopped => "open at the end",
            Self::System => "system error",
        }
    }
}

/// What was served to users of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Connections on which at least one request was complete.
    pub connections: u64,
    /// Requests that were complete, with their replies handed to the system.
    pub requests: u64,
    /// Bytes of those requests.
    pub request_bytes: u64,
    /// Bytes of their replies.
    pub reply_bytes: u64,
    /// Bytes of scripts.
    pub script_bytes: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, other: Traffic) {
        self.connections += other.connections;
        self.requests += other.requests;
        self.request_bytes += other.request_bytes;
        self.reply_bytes += other.reply_bytes;
        self.script_bytes += other.script_bytes;
    }
}

/// What a server did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Connections accepted, also those that were dropped at once.
    pub accepted: u64,
    /// Users of the web.
    pub http: Traffic,
    /// Users of terminals.
    pub telnet: Traffic,
    dropped: [u64; Reason::ALL.len()],
}

impl Served {
    /// Connections that were dropped for a reason.
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.dropped.get(reason as usize).copied().unwrap_or(0)
    }

    /// Reasons for which connections were dropped, with how many.
    pub fn drops(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let all = Reason::ALL.into_iter();
        all.map(|reason| (reason, self.dropped(reason)))
            .filter(|(_, count)| *count > 0)
    }

    pub(crate) fn drop_for(&mut self, reason: Reason) {
        if let Some(count) = self.dropped.get_mut(reason as usize) {
            *count += 1;
        }
    }

    pub(crate) fn of(&mut self, kind: Kind) -> &mut Traffic {
        match kind {
            // A chunk of a video is a file to the server.
            Kind::Http | Kind::Video => &mut self.http,
            Kind::Telnet => &mut self.telnet,
        }
    }
}
