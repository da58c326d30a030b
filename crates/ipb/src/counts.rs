//! Counters of a server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use netflow_workload::UserKind;
use serde::Serialize;

/// Locks counters. A poisoned lock is used as is, because every update is atomic under the lock.
pub(crate) fn lock<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reason for a connection that the user did not close between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// Bytes that are not a request.
    Malformed,
    /// A head or a script above the maximum length.
    HeadTooLong,
    /// A request or a reply above the server's limit.
    MessageTooLong,
    /// A request that was not complete in time.
    SlowRequest,
    /// A reply that the peer did not read in time.
    NotReading,
    /// A connection on which the peer never sent anything.
    Silent,
    /// A connection without a request for too long.
    Idle,
    /// A connection that was open for too long.
    Lifetime,
    /// A connection beyond the limit on connections.
    TooMany,
    /// A connection beyond the limit for its address.
    TooManyFromOne,
    /// The longest silent connection, closed to free a slot for a new one.
    Evicted,
    /// A connection that the user closed within a request.
    ClosedEarly,
    /// A connection that the user reset, or had closed when a reply was due.
    Reset,
    /// A connection that was still open when the server stopped.
    Stopped,
    /// Another failure of the operating system.
    System,
}

impl DropReason {
    /// All reasons, in the order of their discriminants.
    pub const ALL: [DropReason; 15] = [
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
        Self::Evicted,
        Self::ClosedEarly,
        Self::Reset,
        Self::Stopped,
        Self::System,
    ];

    /// Returns the reason as text.
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
            Self::Evicted => "evicted for a new connection",
            Self::ClosedEarly => "closed within a request",
            Self::Reset => "reset",
            Self::Stopped => "open at the end of the run",
            Self::System => "system error",
        }
    }
}

/// Traffic served to users of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of connections with at least one complete request.
    pub connections: u64,
    /// Number of complete requests whose replies were handed to the kernel.
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

/// Totals of a server run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Number of accepted connections, including those dropped at once.
    pub accepted: u64,
    /// Traffic of web users.
    pub http: Traffic,
    /// Traffic of terminal users.
    pub telnet: Traffic,
    dropped: [u64; DropReason::ALL.len()],
}

impl Served {
    /// Returns the number of connections that were dropped for a reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped.get(reason as usize).copied().unwrap_or(0)
    }

    /// Returns the reasons for which connections were dropped, with their counts.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        let all = DropReason::ALL.into_iter();
        all.map(|reason| (reason, self.dropped(reason)))
            .filter(|(_, count)| *count > 0)
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        if let Some(count) = self.dropped.get_mut(reason as usize) {
            *count += 1;
        }
    }

    pub(crate) fn of(&mut self, kind: UserKind) -> &mut Traffic {
        match kind {
            // To the server, a video chunk is a file.
            UserKind::Http | UserKind::Video => &mut self.http,
            UserKind::Telnet => &mut self.telnet,
        }
    }
}
