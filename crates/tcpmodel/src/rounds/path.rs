//! The path between two ends: packets on their way.

use std::collections::VecDeque;

use netflow_queues::{Buffer, DropTail};

use super::Direction;

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Open, please.
    Syn,
    /// Opened.
    SynAck,
    /// An acknowledgement without data.
    Ack,
    /// A segment of data, and an acknowledgement.
    Data {
        /// Which, counted from 0.
        segment: u32,
    },
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub kind: Kind,
    /// All segments before this one have arrived.
    pub ack: u32,
    /// How many different segments had arrived: what a selective acknowledgement tells.
    pub arrivals: u32,
    /// Tells of a segment that came twice.
    pub duplicate: bool,
    /// When it was sent, in seconds.
    pub sent_s: f64,
    /// When the packet was sent that moved `ack`, in seconds.
    pub echo_s: f64,
}

/// One direction of the path.
#[derive(Clone, Debug)]
pub(super) struct Way {
    on_the_way: VecDeque<(f64, Packet)>,
    link: DropTail<f64>,
    buffer: Buffer,
    delay_s: f64,
    seconds_per_byte: f64,
}

impl Way {
    pub(super) fn new(delay_s: f64, bandwidth_bps: Option<f64>) -> Self {
        Self {
            on_the_way: VecDeque::new(),
            link: DropTail::default(),
            buffer: Buffer::Unbounded,
            delay_s,
            seconds_per_byte: bandwidth_bps.map_or(0.0, |bps| 8.0 / bps),
        }
    }

    /// Sends a packet; one that gets lost takes its time on the link, too, but for one that finds no
    /// room.
    pub(super) fn send(&mut self, now_s: f64, packet: Packet, bytes: f64, lost: bool) {
        let takes_s = bytes * self.seconds_per_byte;
        let link = &mut self.link;
        let Some(left_s) = link.arrive(now_s, takes_s, bytes as u32, self.buffer) else {
            return;
        };
        if !lost {
            let last_s = self.on_the_way.back().map_or(0.0, |last| last.0);
            let at_s = (left_s + self.delay_s).max(last_s);
            self.on_the_way.push_back((at_s, packet));
        }
    }

    /// From now on packets go by this direction of a path; none overtakes another.
    pub(super) fn become_like(&mut self, direction: &Direction) {
        self.delay_s = direction.delay_s;
        self.seconds_per_byte = direction.bandwidth_bps.map_or(0.0, |bps| 8.0 / bps);
        self.buffer = match (direction.bandwidth_bps, direction.buffer) {
            (Some(_), Some(size)) => size.into(),
            _ => Buffer::Unbounded,
        };
    }

    /// When the next packet arrives, in seconds.
    pub(super) fn next_s(&self) -> f64 {
        self.on_the_way.front().map_or(f64::INFINITY, |next| next.0)
    }

    /// The next packet.
    pub(super) fn receive(&mut self) -> Option<Packet> {
        self.on_the_way.pop_front().map(|next| next.1)
    }
}
