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
use netflow_units::ns;

use super::NetworkError;
use super::link::{Link, LinkCounts, Outcome, Told};

/// Path of links from one host to another, as a function of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Links of the path from each start time (ns) on, in order of time, the first from 0. An empty list
    /// means that there is no path.
    pub epochs: Vec<(u64, Arc<[u32]>)>,
}

impl Way {
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
pub struct Entering<P> {
    /// Index of its path.
    pub way: u32,
    /// Length as an IP packet, in bytes.
    pub bytes: u32,
    /// Hash of the flow.
    pub flow: u64,
    /// True if a queue may mark it instead of dropping it (ECT, RFC 3168).
    pub ecn: bool,
    /// Payload, returned when the packet leaves.
    pub payload: P,
}

/// Packet that leaves the network.
#[derive(Clone, Debug)]
pub struct Leaving<P> {
    /// Index of its path.
    pub way: u32,
    /// Last link, if there was any.
    pub last: Option<u32>,
    /// Time of entry, in ns.
    pub entered_ns: u64,
    /// Due time of the delivery, in ns.
    pub due_ns: u64,
    /// True if a queue has marked it (CE).
    pub marked: bool,
    /// Payload.
    pub payload: P,
}

struct Parcel<P> {
    way: u32,
    links: Arc<[u32]>,
    /// Index of the next link in `links`.
    hop: u32,
    bytes: u32,
    flow: u64,
    ecn: bool,
    marked: bool,
    doomed: bool,
    entered_ns: u64,
    payload: P,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// Departure from a link: link, its generation, and packet.
    Sent(u32, u32, u32),
    /// Event of the network, by its index.
    Change(u32),
    /// Arrival of a packet at its next link or at its destination.
    Arrive(u32),
}

impl Happens {
    fn rank(self) -> u8 {
        match self {
            Happens::Sent(..) => 0,
            Happens::Change(_) => 1,
            Happens::Arrive(_) => 2,
        }
    }
}

/// Links of a network with their packets in flight and the event list.
pub struct Fabric<P> {
    links: Vec<Link>,
    ways: Vec<Way>,
    changes: Vec<(u32, Change)>,
    parcels: Vec<Option<Parcel<P>>>,
    free: Vec<u32>,
    schedule: BinaryHeap<Reverse<(u64, u8, u64, Happens)>>,
    number: u64,
    now_ns: u64,
    outcomes: Vec<Outcome>,
    unrouted_pkts: u64,
    under_way_bytes: u64,
}

impl<P> Fabric<P> {
    /// Creates the links of a network with its events and the given paths. The seed determines link
    /// losses and random queue decisions.
    ///
    /// # Errors
    /// If a queue is supported only by the fluid model.
    pub fn new(network: &Network, ways: Vec<Way>, seed: u64) -> Result<Fabric<P>, NetworkError> {
        let link = |id: netflow_network::LinkId| {
            let spec = network.link_spec(id);
            Link::new(spec, network.packet_buffer(id), id.index() as u64, seed)
        };
        let mut fabric = Fabric {
            links: network.links().map(link).collect::<Result<_, _>>()?,
            ways,
            changes: Vec::new(),
            parcels: Vec::new(),
            free: Vec::new(),
            schedule: BinaryHeap::new(),
            number: 0,
            now_ns: 0,
            outcomes: Vec::new(),
            unrouted_pkts: 0,
            under_way_bytes: 0,
        };
        for event in network.events() {
            let change = Happens::Change(fabric.changes.len() as u32);
            fabric
                .changes
                .push((event.link.index() as u32, event.change));
            fabric.plan(ns(event.at_s), change);
        }
        Ok(fabric)
    }

    /// Returns the number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Returns the time of the next event, in ns.
    pub fn next_ns(&self) -> Option<u64> {
        self.schedule.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Returns the number of packets in the network.
    pub fn under_way_pkts(&self) -> usize {
        self.parcels.len() - self.free.len()
    }

    /// Returns the bytes of the packets in the network.
    pub fn under_way_bytes(&self) -> u64 {
        self.under_way_bytes
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

    fn plan(&mut self, at_ns: u64, what: Happens) {
        self.number += 1;
        let entry = (at_ns, what.rank(), self.number, what);
        self.schedule.push(Reverse(entry));
    }

    /// Schedules the entry of a packet at `at_ns`, or now if that is past.
    pub fn enter(&mut self, at_ns: u64, entering: Entering<P>) {
        let at_ns = at_ns.max(self.now_ns);
        let way = self.ways.get(entering.way as usize);
        let links = way
            .and_then(|way| way.at(at_ns))
            .filter(|links| !links.is_empty());
        let Some(links) = links.cloned() else {
            self.unrouted_pkts += 1;
            return;
        };
        self.under_way_bytes += u64::from(entering.bytes);
        let parcel = Parcel {
            way: entering.way,
            links,
            hop: 0,
            bytes: entering.bytes,
            flow: entering.flow,
            ecn: entering.ecn,
            marked: false,
            doomed: false,
            entered_ns: at_ns,
            payload: entering.payload,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.parcels[place as usize] = Some(parcel);
                place
            }
            None => {
                self.parcels.push(Some(parcel));
                self.parcels.len() as u32 - 1
            }
        };
        self.plan(at_ns, Happens::Arrive(place));
    }

    /// Processes all events that are due by `now_ns`. Calls `on_link` for every arrival at a link and
    /// `out` for every packet that leaves.
    pub fn advance(
        &mut self,
        now_ns: u64,
        on_link: &mut impl FnMut(u32, u64, &P),
        out: &mut impl FnMut(Leaving<P>),
    ) {
        while let Some(&Reverse((at_ns, _, _, what))) = self.schedule.peek()
            && at_ns <= now_ns
        {
            self.schedule.pop();
            self.now_ns = self.now_ns.max(at_ns);
            match what {
                Happens::Sent(link, generation, place) => self.sent(link, generation, place),
                Happens::Change(number) => self.change(number),
                Happens::Arrive(place) => self.arrive(place, on_link, out),
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn sent(&mut self, l: u32, generation: u32, place: u32) {
        let now_ns = self.now_ns;
        let link = &mut self.links[l as usize];
        if link.generation != generation {
            return;
        }
        let doomed = self.parcels[place as usize]
            .as_ref()
            .is_some_and(|parcel| parcel.doomed);
        link.sent(now_ns, doomed, &mut self.outcomes);
        let delay_ns = link.delay_ns;
        match doomed {
            true => drop(self.take(place)),
            false => self.plan(now_ns + delay_ns, Happens::Arrive(place)),
        }
        self.settle(l);
    }

    fn change(&mut self, number: u32) {
        let (l, change) = self.changes[number as usize];
        let link = &mut self.links[l as usize];
        match change {
            Change::Bandwidth(bps) => link.set_bandwidth(self.now_ns, bps, &mut self.outcomes),
            Change::Loss(loss) => {
                for packet in link.set_loss(&loss) {
                    if let Some(parcel) = &mut self.parcels[packet as usize] {
                        parcel.doomed = link.dooms(parcel.bytes);
                    }
                }
            }
            Change::Delay(delay_s) => link.set_delay(delay_s),
            Change::Down => link.fail(self.now_ns, &mut self.outcomes),
            Change::Up => link.repair(),
        }
        self.settle(l);
    }

    fn arrive(
        &mut self,
        place: u32,
        on_link: &mut impl FnMut(u32, u64, &P),
        out: &mut impl FnMut(Leaving<P>),
    ) {
        let now_ns = self.now_ns;
        let Some(parcel) = &mut self.parcels[place as usize] else {
            return;
        };
        let Some(&l) = parcel.links.get(parcel.hop as usize) else {
            if let Some(parcel) = self.take(place) {
                out(Leaving {
                    way: parcel.way,
                    last: parcel.links.last().copied(),
                    entered_ns: parcel.entered_ns,
                    due_ns: now_ns,
                    marked: parcel.marked,
                    payload: parcel.payload,
                });
            }
            return;
        };
        parcel.hop += 1;
        on_link(l, now_ns, &parcel.payload);
        let told = Told {
            packet: place,
            bytes: parcel.bytes,
            flow: parcel.flow,
            ecn: parcel.ecn,
        };
        self.links[l as usize].arrive(now_ns, told, &mut self.outcomes);
        self.settle(l);
    }

    /// Applies the pending outcomes of a link.
    fn settle(&mut self, l: u32) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        let generation = self.links[l as usize].generation;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Sent { packet, at_ns } => {
                    self.plan(at_ns, Happens::Sent(l, generation, packet));
                }
                Outcome::Dropped(packet) => drop(self.take(packet)),
                Outcome::Marked(packet) => {
                    if let Some(parcel) = &mut self.parcels[packet as usize] {
                        parcel.marked = true;
                    }
                }
                Outcome::Doomed(packet) => {
                    if let Some(parcel) = &mut self.parcels[packet as usize] {
                        parcel.doomed = true;
                    }
                }
            }
        }
        self.outcomes = outcomes;
    }

    fn take(&mut self, place: u32) -> Option<Parcel<P>> {
        let parcel = self.parcels[place as usize].take()?;
        self.free.push(place);
        self.under_way_bytes -= u64::from(parcel.bytes);
        Some(parcel)
    }
}
