//! The path between two ends: packets on their way.

use std::collections::VecDeque;

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
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    on_the_way: VecDeque<(f64, Packet)>,
    free_s: f64,
    delay_s: f64,
    seconds_per_byte: f64,
    /// So many bytes may wait to be sent; 0 for any number.
    buffer_bytes: f64,
}

impl Way {
    pub(super) fn new(delay_s: f64, bandwidth_bps: Option<f64>) -> Self {
        Self {
            delay_s,
            seconds_per_byte: bandwidth_bps.map_or(0.0, |bps| 8.0 / bps),
            ..Self::default()
        }
    }

    /// Sends a packet; one that gets lost takes its time on the link, too, but for one that finds no
    /// room to wait.
    pub(super) fn send(&mut self, now_s: f64, packet: Packet, bytes: f64, lost: bool) {
        let waiting_s = (self.free_s - now_s).max(0.0);
        if self.buffer_bytes > 0.0
            && waiting_s + bytes * self.seconds_per_byte > self.buffer_bytes * self.seconds_per_byte
            && waiting_s > 0.0
        {
            return;
        }
        self.free_s = self.free_s.max(now_s) + bytes * self.seconds_per_byte;
        if !lost {
            let last_s = self.on_the_way.back().map_or(0.0, |last| last.0);
            let at_s = (self.free_s + self.delay_s).max(last_s);
            self.on_the_way.push_back((at_s, packet));
        }
    }

    /// From now on packets take this long, in seconds, at this bandwidth with this much room, in bytes,
    /// to wait; none overtakes another.
    pub(super) fn become_like(
        &mut self,
        delay_s: f64,
        bandwidth_bps: Option<f64>,
        buffer_bytes: Option<f64>,
    ) {
        self.delay_s = delay_s;
        self.buffer_bytes = buffer_bytes.unwrap_or(0.0);
        self.seconds_per_byte = bandwidth_bps.map_or(0.0, |bps| 8.0 / bps);
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
