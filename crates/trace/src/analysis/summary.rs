//! What is in a trace.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::{Event, Link, Transport, What};

/// What is in a trace, counted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Time of the first event in seconds.
    pub first_s: Option<f64>,
    /// Time of the last event in seconds.
    pub last_s: Option<f64>,
    /// All events.
    pub events: u64,
    /// Packets enqueued, dequeued, received, dropped and captured.
    pub enqueued: u64,
    /// See `enqueued`.
    pub dequeued: u64,
    /// See `enqueued`.
    pub received: u64,
    /// See `enqueued`.
    pub dropped: u64,
    /// See `enqueued`.
    pub captured: u64,
    /// Events of TCP, of UDP and of other packets.
    pub tcp: u64,
    /// See `tcp`.
    pub udp: u64,
    /// See `tcp`.
    pub other: u64,
    /// Bytes of the packets of all events.
    pub bytes: u64,
    /// Links with events at them.
    #[serde(skip)]
    pub links: BTreeMap<Link, LinkEvents>,
    #[serde(skip)]
    senders: HashSet<(crate::Endpoint, crate::Endpoint, u32)>,
}

/// Events at one link.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LinkEvents {
    /// Packets that arrived at its queue.
    pub enqueued: u64,
    /// Packets dropped there.
    pub dropped: u64,
}

impl Summary {
    /// Takes the next event.
    pub fn on(&mut self, event: &Event) {
        let time_s = event.time_ns as f64 * 1e-9;
        self.first_s = Some(self.first_s.map_or(time_s, |first| first.min(time_s)));
        self.last_s = Some(self.last_s.map_or(time_s, |last| last.max(time_s)));
        self.events += 1;
        self.bytes += u64::from(event.packet.bytes);
        match event.what {
            What::Enqueued => self.enqueued += 1,
            What::Dequeued => self.dequeued += 1,
            What::Received => self.received += 1,
            What::Dropped => self.dropped += 1,
            What::Captured => self.captured += 1,
        }
        match event.packet.transport {
            Transport::Tcp => self.tcp += 1,
            Transport::Udp => self.udp += 1,
            Transport::Other => self.other += 1,
        }
        if let Some(link) = event.link {
            let at = self.links.entry(link).or_default();
            at.enqueued += u64::from(event.what == What::Enqueued);
            at.dropped += u64::from(event.what == What::Dropped);
        }
        let packet = &event.packet;
        self.senders.insert((packet.from, packet.to, packet.flow));
    }

    /// Pairs of sender and receiver (and flow id); the two directions of a connection are two.
    pub fn flows(&self) -> usize {
        self.senders.len()
    }
}
