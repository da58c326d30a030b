//! Summary of a trace.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::sender::MAX_FLOWS;
use crate::{Endpoint, Event, EventKind, Link, Transport};

/// Counts of a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Time of the first event, in seconds.
    pub first_s: Option<f64>,
    /// Time of the last event, in seconds.
    pub last_s: Option<f64>,
    /// Number of all events.
    pub events: u64,
    /// Number of packets enqueued; the next fields count those dequeued, received, dropped and captured.
    pub enqueued: u64,
    /// See `enqueued`.
    pub dequeued: u64,
    /// See `enqueued`.
    pub received: u64,
    /// See `enqueued`.
    pub dropped: u64,
    /// See `enqueued`.
    pub captured: u64,
    /// Number of events of TCP; the next fields count those of UDP and of other packets.
    pub tcp: u64,
    /// See `tcp`.
    pub udp: u64,
    /// See `tcp`.
    pub other: u64,
    /// Bytes of the packets of all events.
    pub bytes: u64,
    /// Links with events.
    #[serde(skip)]
    pub links: BTreeMap<Link, LinkEvents>,
    #[serde(skip)]
    pairs: HashMap<(Endpoint, Endpoint, u32), Directions>,
    #[serde(skip)]
    flows: usize,
    #[serde(skip)]
    flows_left_out: u64,
}

/// Events at one link.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LinkEvents {
    /// Number of packets that arrived at its queue.
    pub enqueued: u64,
    /// Number of packets dropped.
    pub dropped: u64,
}

/// Directions in which packets were sent between two endpoints.
#[derive(Clone, Copy, Debug, Default)]
struct Directions {
    forward: bool,
    reverse: bool,
}

impl Directions {
    fn has(self, forth: bool) -> bool {
        if forth { self.forward } else { self.reverse }
    }

    fn add(&mut self, forth: bool) {
        self.forward |= forth;
        self.reverse |= !forth;
    }
}

impl Summary {
    /// Processes the next event.
    pub fn on_event(&mut self, event: &Event) {
        let time_s = event.time_ns as f64 * 1e-9;
        self.first_s = Some(self.first_s.map_or(time_s, |first| first.min(time_s)));
        self.last_s = Some(self.last_s.map_or(time_s, |last| last.max(time_s)));
        self.events += 1;
        self.bytes += u64::from(event.packet.bytes);
        match event.kind {
            EventKind::Enqueued => self.enqueued += 1,
            EventKind::Dequeued => self.dequeued += 1,
            EventKind::Received => self.received += 1,
            EventKind::Dropped => self.dropped += 1,
            EventKind::Captured => self.captured += 1,
        }
        match event.packet.transport {
            Transport::Tcp => self.tcp += 1,
            Transport::Udp => self.udp += 1,
            Transport::Other => self.other += 1,
        }
        let packet = &event.packet;
        let forth = packet.from <= packet.to;
        let (low, high) = if forth {
            (packet.from, packet.to)
        } else {
            (packet.to, packet.from)
        };
        let full = self.flows >= MAX_FLOWS;
        match self.pairs.entry((low, high, packet.flow)) {
            Entry::Occupied(known) if known.get().has(forth) => {}
            _ if full => self.flows_left_out += 1,
            entry => {
                entry.or_default().add(forth);
                self.flows += 1;
            }
        }
        if let Some(link) = event.link {
            if self.links.len() >= MAX_FLOWS && !self.links.contains_key(&link) {
                self.flows_left_out += 1;
                return;
            }
            let at = self.links.entry(link).or_default();
            at.enqueued += u64::from(event.kind == EventKind::Enqueued);
            at.dropped += u64::from(event.kind == EventKind::Dropped);
        }
    }

    /// Returns the number of flows: pairs of sender and receiver with a flow id. The two directions of a
    /// connection are two flows.
    pub fn flows(&self) -> usize {
        self.flows
    }

    /// Returns the number of events left out because they belong to flows or links beyond the first
    /// [`MAX_FLOWS`].
    pub fn events_of_omitted_flows(&self) -> u64 {
        self.flows_left_out
    }
}
