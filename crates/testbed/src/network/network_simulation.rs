//! Discrete-event simulation of a network's links, without clocks or devices: packets enter at one end of
//! a path and leave at the other, or are dropped.
//!
//! Every arrival at a link is processed with its due time, not with the time of the call. So queues are
//! exact however late the caller is; only entries and deliveries are late.
//!
//! Simultaneous events have this order: departures, link changes, arrivals; within each kind, the order
//! in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use netflow_network::{Change, Network};
use netflow_queues::{EcnCodepoint, PacketDetails, PacketInfo};
use netflow_units::ns;

use super::NetworkError;
use super::link::{Link, LinkCounts, Outcome, QueuedPacket};

/// Path of links from one host to another, as a function of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathSchedule {
    /// Links of the path from each start time (ns) on, in order of time, the first from 0. An empty list
    /// means that there is no path.
    pub epochs: Vec<(u64, Arc<[u32]>)>,
}

impl PathSchedule {
    fn at(&self, now_ns: u64) -> Option<&Arc<[u32]>> {
        let after = self
            .epochs
            .partition_point(|&(from_ns, _)| from_ns <= now_ns);
        self.epochs
            .get(after.checked_sub(1)?)
            .map(|(_, links)| links)
    }
}

/// Packet that enters the network.
#[derive(Clone, Debug)]
pub struct EnteringPacket<P> {
    /// Index of its path.
    pub path: u32,
    /// Length as an IP packet, hash of the flow, and ECN field.
    pub info: PacketInfo,
    /// Payload, returned when the packet leaves.
    pub payload: P,
}

/// Packet that leaves the network.
#[derive(Clone, Debug)]
pub struct LeavingPacket<P> {
    /// Index of its path.
    pub path: u32,
    /// Last link, if there was any.
    pub last_link: Option<u32>,
    /// Time of entry, in ns.
    pub entered_ns: u64,
    /// Due time of the delivery, in ns.
    pub due_ns: u64,
    /// True if a queue has marked it (CE).
    pub marked: bool,
    /// Payload.
    pub payload: P,
}

struct InFlightPacket<P> {
    path: u32,
    links: Arc<[u32]>,
    /// Index of the next link in `links`.
    hop: u32,
    info: PacketInfo,
    marked: bool,
    lost_on_link: bool,
    entered_ns: u64,
    payload: P,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// Departure from a link: link, its generation, and packet.
    Sent(u32, u32, u32),
    /// Time at which the shaper of a link lets the next packet pass.
    Wake(u32),
    /// Event of the network, by its index.
    Change(u32),
    /// Arrival of a packet at its next link or at its destination.
    Arrive(u32),
}

impl EventKind {
    fn rank(self) -> u8 {
        match self {
            EventKind::Sent(..) | EventKind::Wake(_) => 0,
            EventKind::Change(_) => 1,
            EventKind::Arrive(_) => 2,
        }
    }
}

/// Links of a network with their packets in flight and the event list.
pub struct LinkSimulation<P> {
    links: Vec<Link>,
    paths: Vec<PathSchedule>,
    /// Returns further properties of a packet.
    details: fn(&P) -> PacketDetails,
    changes: Vec<(u32, Change)>,
    in_flight: Vec<Option<InFlightPacket<P>>>,
    free_slots: Vec<u32>,
    events: BinaryHeap<Reverse<(u64, u8, u64, EventKind)>>,
    number: u64,
    now_ns: u64,
    outcomes: Vec<Outcome>,
    unrouted_pkts: u64,
    in_network_bytes: u64,
}

impl<P> LinkSimulation<P> {
    /// Creates the links of a network with its events and the given paths. The seed determines link
    /// losses and random queue decisions. `details` returns further properties of a packet.
    ///
    /// # Errors
    /// If a queue is supported only by the fluid model.
    pub fn new(
        network: &Network,
        paths: Vec<PathSchedule>,
        seed: u64,
        details: fn(&P) -> PacketDetails,
    ) -> Result<LinkSimulation<P>, NetworkError> {
        let link = |id: netflow_network::LinkId| {
            let spec = network.link_spec(id);
            Link::new(spec, network.packet_buffer(id), id.index() as u64, seed)
        };
        let mut simulation = LinkSimulation {
            links: network.links().map(link).collect::<Result<_, _>>()?,
            paths,
            details,
            changes: Vec::new(),
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            events: BinaryHeap::new(),
            number: 0,
            now_ns: 0,
            outcomes: Vec::new(),
            unrouted_pkts: 0,
            in_network_bytes: 0,
        };
        for event in network.events() {
            let change = EventKind::Change(simulation.changes.len() as u32);
            simulation
                .changes
                .push((event.link.index() as u32, event.change));
            simulation.schedule(ns(event.at_s), change);
        }
        Ok(simulation)
    }

    /// Returns the number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Returns the time of the next event, in ns.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Returns the number of packets in the network.
    pub fn in_network_pkts(&self) -> usize {
        self.in_flight.len() - self.free_slots.len()
    }

    /// Returns the bytes of the packets in the network.
    pub fn in_network_bytes(&self) -> u64 {
        self.in_network_bytes
    }

    /// Returns the number of packets that entered without a path.
    pub fn unrouted_pkts(&self) -> u64 {
        self.unrouted_pkts
    }

    /// Returns the counts of every link until now.
    pub fn counts(&mut self) -> Vec<LinkCounts> {
        let now_ns = self.now_ns;
        self.links
            .iter_mut()
            .map(|link| link.counts(now_ns))
            .collect()
    }

    fn schedule(&mut self, at_ns: u64, kind: EventKind) {
        self.number += 1;
        let entry = (at_ns, kind.rank(), self.number, kind);
        self.events.push(Reverse(entry));
    }

    /// Schedules the entry of a packet at `at_ns`, or now if that is past.
    pub fn enter(&mut self, at_ns: u64, entering: EnteringPacket<P>) {
        let at_ns = at_ns.max(self.now_ns);
        let path = self.paths.get(entering.path as usize);
        let links = path
            .and_then(|path| path.at(at_ns))
            .filter(|links| !links.is_empty());
        let Some(links) = links.cloned() else {
            self.unrouted_pkts += 1;
            return;
        };
        self.in_network_bytes += u64::from(entering.info.bytes);
        let packet = InFlightPacket {
            path: entering.path,
            links,
            hop: 0,
            info: entering.info,
            marked: false,
            lost_on_link: false,
            entered_ns: at_ns,
            payload: entering.payload,
        };
        let place = match self.free_slots.pop() {
            Some(place) => {
                self.in_flight[place as usize] = Some(packet);
                place
            }
            None => {
                self.in_flight.push(Some(packet));
                self.in_flight.len() as u32 - 1
            }
        };
        self.schedule(at_ns, EventKind::Arrive(place));
    }

    /// Processes all events that are due by `now_ns`. Calls `on_link` for every arrival at a link and
    /// `out` for every packet that leaves.
    pub fn advance(
        &mut self,
        now_ns: u64,
        on_link: &mut impl FnMut(u32, u64, &P),
        out: &mut impl FnMut(LeavingPacket<P>),
    ) {
        while let Some(&Reverse((at_ns, _, _, kind))) = self.events.peek()
            && at_ns <= now_ns
        {
            self.events.pop();
            self.now_ns = self.now_ns.max(at_ns);
            match kind {
                EventKind::Sent(link, generation, place) => {
                    self.finish_transmission(link, generation, place)
                }
                EventKind::Wake(link) => {
                    self.links[link as usize].wake(at_ns, &mut self.outcomes);
                    self.apply_outcomes(link);
                }
                EventKind::Change(number) => self.apply_change(number),
                EventKind::Arrive(place) => self.arrive(place, on_link, out),
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn finish_transmission(&mut self, l: u32, generation: u32, place: u32) {
        let now_ns = self.now_ns;
        let link = &mut self.links[l as usize];
        if link.generation != generation {
            return;
        }
        let lost_on_link = self.in_flight[place as usize]
            .as_ref()
            .is_some_and(|packet| packet.lost_on_link);
        link.finish_transmission(now_ns, lost_on_link, &mut self.outcomes);
        let delay_ns = link.delay_ns;
        if lost_on_link {
            drop(self.remove_packet(place));
        } else {
            self.schedule(now_ns + delay_ns, EventKind::Arrive(place));
        }
        self.apply_outcomes(l);
    }

    fn apply_change(&mut self, number: u32) {
        let (l, change) = self.changes[number as usize];
        let link = &mut self.links[l as usize];
        match change {
            Change::Bandwidth(bps) => link.set_bandwidth(self.now_ns, bps, &mut self.outcomes),
            Change::Pause => {} // rejected
            Change::Loss(loss) => {
                for packet in link.set_loss(&loss) {
                    if let Some(packet) = &mut self.in_flight[packet as usize] {
                        packet.lost_on_link = link.draw_loss(packet.info.bytes, self.now_ns);
                    }
                }
            }
            Change::Delay(delay_s) => link.set_delay(delay_s),
            Change::Down => link.fail(self.now_ns, &mut self.outcomes),
            Change::Up => link.repair(),
        }
        self.apply_outcomes(l);
    }

    fn arrive(
        &mut self,
        place: u32,
        on_link: &mut impl FnMut(u32, u64, &P),
        out: &mut impl FnMut(LeavingPacket<P>),
    ) {
        let now_ns = self.now_ns;
        let Some(packet) = &mut self.in_flight[place as usize] else {
            return;
        };
        let Some(&l) = packet.links.get(packet.hop as usize) else {
            if let Some(packet) = self.remove_packet(place) {
                out(LeavingPacket {
                    path: packet.path,
                    last_link: packet.links.last().copied(),
                    entered_ns: packet.entered_ns,
                    due_ns: now_ns,
                    marked: packet.marked,
                    payload: packet.payload,
                });
            }
            return;
        };
        packet.hop += 1;
        on_link(l, now_ns, &packet.payload);
        let queued = QueuedPacket {
            packet: place,
            info: packet.info,
        };
        let details = || (self.details)(&packet.payload);
        self.links[l as usize].arrive(now_ns, queued, details, &mut self.outcomes);
        self.apply_outcomes(l);
    }

    /// Applies the pending outcomes of a link.
    fn apply_outcomes(&mut self, l: u32) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        let generation = self.links[l as usize].generation;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Sent { packet, at_ns } => {
                    self.schedule(at_ns, EventKind::Sent(l, generation, packet));
                }
                Outcome::Waits { until_ns } => self.schedule(until_ns, EventKind::Wake(l)),
                Outcome::Dropped(packet) => drop(self.remove_packet(packet)),
                Outcome::Marked(packet) => {
                    if let Some(packet) = &mut self.in_flight[packet as usize] {
                        packet.marked = true;
                        packet.info.ecn = EcnCodepoint::Ce;
                    }
                }
                Outcome::LostOnLink(packet) => {
                    if let Some(packet) = &mut self.in_flight[packet as usize] {
                        packet.lost_on_link = true;
                    }
                }
            }
        }
        self.outcomes = outcomes;
    }

    fn remove_packet(&mut self, place: u32) -> Option<InFlightPacket<P>> {
        let packet = self.in_flight[place as usize].take()?;
        self.free_slots.push(place);
        self.in_network_bytes -= u64::from(packet.info.bytes);
        Some(packet)
    }
}
