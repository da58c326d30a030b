//! TCP state machines of both ends of a connection, without a network.
//!
//! They react to arriving packets, to timers and to writes of a program. A driver carries the packets: the
//! [simulation of single connections](crate::transfer_simulation) or a network of packets.
//!
//! Segments are counted from 0. Times are whole nanoseconds on the driver's clock. A
//! [`Stack`](crate::Stack) contains the differences between implementations. The [`ns2`] are ns-2's
//! one-way agents, which open connections differently and have windows in fractions of packets.

mod clock;
mod congestion;
mod handshake;
pub mod ns2;
mod ranges;
mod receiver;
mod rtt;
mod sender;

pub(crate) use clock::Clock;
pub(crate) use rtt::RttEstimator;

pub use congestion::RecoveryState;
pub use handshake::Handshake;
pub use receiver::{FurtherBlock, Receiver};
pub use sender::{LossRecovery, Sender, TcpState};

/// The time of an event that is not scheduled.
pub const NEVER: u64 = u64::MAX;

/// The maximum number of SACK blocks in an acknowledgement (RFC 2018 with timestamps).
const MAX_SACK_BLOCKS: usize = 3;

/// The number of values of the counter of marked packets (three bits, RFC 9768).
pub const CE_COUNTER_MODULUS: u32 = 8;

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The cumulative acknowledgement: all segments before this one have arrived.
    pub cumulative: u32,
    /// SACK blocks of segments that arrived out of order, the latest first.
    pub sacks: Sacks,
    /// A segment that arrived again (D-SACK, RFC 2883).
    pub duplicate: Option<u32>,
    /// True if it carries no data.
    pub pure: bool,
    /// True if it echoes congestion of the packets that it acknowledges (ECN-Echo, RFC 3168).
    pub congested: bool,
    /// The number of marked packets that have arrived, modulo [`CE_COUNTER_MODULUS`], with Accurate ECN (the ACE
    /// field, RFC 9768, 3.2.2, without its initial offset).
    pub ce_counter: Option<u8>,
    /// The send time of the packet that advanced `cumulative`, if packets carry timestamps (RFC 7323).
    pub echo_ns: Option<u64>,
    /// The [episode](Sender::has_odd_episode) of that packet, if packets carry it instead of its send time.
    pub echo_odd_episode: Option<bool>,
    /// The receive window in segments from `cumulative` on; `None` without a limit.
    pub window: Option<u32>,
}

/// SACK blocks: contiguous segments received out of order (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl Sacks {
    /// Adds a block from segment `first` to before `end`. A fourth block is ignored.
    pub fn push(&mut self, first: u32, end: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (first, end);
            self.count += 1;
        }
    }

    /// Returns all blocks, the latest first.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}
