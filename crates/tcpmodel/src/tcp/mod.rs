//! One TCP: what both ends of a connection do when packets arrive, when timers fire and when a program
//! writes, and nothing else. Whoever has packets to carry drives it: the [player of single
//! connections](crate::rounds) and networks of packets.
//!
//! Segments are counted from 0; times are whole nanoseconds on a clock of the driver's. What differs
//! between implementations is a [`Stack`](crate::Stack); ns-2's one-way agents, which open no connections as others do and whose
//! windows are fractions of packets, are [`agents`].

pub mod agents;
mod clock;
mod congestion;
mod opening;
mod ranges;
mod receiver;
mod rtt;
mod sender;

pub(crate) use clock::Clock;
pub(crate) use rtt::RttEstimator;

pub use opening::Opening;
pub use receiver::{FurtherBlock, Receiver};
pub use sender::{Sender, TcpState};

/// No time at all.
pub const NEVER: u64 = u64::MAX;

/// Blocks of segments that an acknowledgement tells of at most (RFC 2018 with timestamps).
const MOST_BLOCKS: usize = 3;

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// All segments before this one have arrived.
    pub cumulative: u32,
    /// Of those behind it, what has arrived: the latest first.
    pub sacks: Sacks,
    /// It tells of a segment that came twice (RFC 2883).
    pub duplicate: bool,
    /// It comes without data.
    pub pure: bool,
    /// What it answers had met congestion (RFC 3168).
    pub congested: bool,
    /// When the packet was sent that moved `cumulative`, where packets carry that (RFC 7323).
    pub echo_ns: Option<u64>,
    /// The receive window: so many segments from `cumulative` on there is room for, where that is limited.
    pub window: Option<u32>,
}

/// Blocks of segments that have arrived behind one that has not (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    blocks: [(u32, u32); MOST_BLOCKS],
    count: u8,
}

impl Sacks {
    /// Adds a block: its first segment, and the first behind it. Without effect where three are there.
    pub fn push(&mut self, first: u32, end: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (first, end);
            self.count += 1;
        }
    }

    /// All of them, the latest first.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}
