//! The path between two ends, with the packets in flight.

use std::collections::VecDeque;

use netflow_queues::{Buffer, DropTail};

use super::Direction;
use crate::tcp::{Ack, NEVER};
use netflow_units::ns;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    /// A SYN.
    Syn,
    /// A SYN-ACK.
    SynAck,
    /// An acknowledgement without data.
    Ack,
    /// A segment of data, and an acknowledgement.
    Data {
        /// The number of the segment, counted from 0.
        segment: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub kind: PacketKind,
    pub ack: Ack,
    /// The send time.
    pub sent_ns: u64,
}

/// One direction of the path.
#[derive(Clone, Debug)]
pub(super) struct LinkDirection {
    in_flight: VecDeque<(u64, Packet)>,
    link: DropTail<u64>,
    buffer: Buffer,
    delay_ns: u64,
    ns_per_byte: f64,
}

impl LinkDirection {
    pub(super) fn new(delay_s: f64, bandwidth_bps: Option<f64>) -> Self {
        Self {
            in_flight: VecDeque::new(),
            link: DropTail::default(),
            buffer: Buffer::Unbounded,
            delay_ns: ns(delay_s),
            ns_per_byte: bandwidth_bps.map_or(0.0, |bps| 8e9 / bps),
        }
    }

    /// Sends a packet. A packet lost in transit occupies the link, too; a packet dropped by a full buffer
    /// does not.
    pub(super) fn send(&mut self, now_ns: u64, packet: Packet, bytes: f64, lost: bool) {
        let takes_ns = (bytes * self.ns_per_byte).round() as u64;
        let link = &mut self.link;
        let Some(left_ns) = link.arrive(now_ns, takes_ns, bytes as u32, self.buffer) else {
            return;
        };
        if !lost {
            let last_ns = self.in_flight.back().map_or(0, |last| last.0);
            let at_ns = (left_ns + self.delay_ns).max(last_ns);
            self.in_flight.push_back((at_ns, packet));
        }
    }

    /// Changes the parameters of the link. Later packets do not overtake earlier ones.
    pub(super) fn set_parameters(&mut self, direction: &Direction) {
        self.delay_ns = ns(direction.delay_s);
        self.ns_per_byte = direction.bandwidth_bps.map_or(0.0, |bps| 8e9 / bps);
        self.buffer = match (direction.bandwidth_bps, direction.buffer) {
            (Some(_), Some(size)) => size.into(),
            _ => Buffer::Unbounded,
        };
    }

    /// Returns the arrival time of the next packet.
    pub(super) fn next_ns(&self) -> u64 {
        self.in_flight.front().map_or(NEVER, |next| next.0)
    }

    /// Removes and returns the next packet.
    pub(super) fn receive(&mut self) -> Option<Packet> {
        self.in_flight.pop_front().map(|next| next.1)
    }
}
