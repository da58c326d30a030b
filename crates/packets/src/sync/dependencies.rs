//! Dependencies of logical processes: the links that feed each link and endpoint, and the sweep order.

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::link::queue::Link;
use crate::sync::endpoint_index::{EndpointIndex, MIN_INDEXED_ENDPOINTS};
use crate::sync::event_list::EventList;
use crate::sync::merge::Batch;
use crate::sync::sweep_order::SweepOrder;
use crate::topology::{NO_WIRE, Sizes, Target, Topology};

/// Dependencies and progress of all links and endpoints, with the event lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependencies {
    /// Dependencies, by link.
    pub links_of: Vec<LinkDependencies>,
    /// Earliest output times in ns, by link. Before this time, nothing arrives behind the link except packets
    /// that are on its wires already.
    pub earliest_output_ns: Vec<u64>,
    /// Sweep order of the links with input wires.
    pub order: SweepOrder,
    /// Links that feed any endpoint of a session slot, by slot.
    pub slot_feeders: Vec<Vec<u32>>,
    /// Self-driven transfers, whose senders no link feeds, and self-driven session slots.
    pub self_driven: Vec<u32>,
    pub self_driven_slots: Vec<u32>,
    /// Times in ns of the next timer events of receivers and senders, by transfer. For a session slot, the
    /// sender's entry of its first transfer is that of the whole slot.
    pub receiver_due_ns: Vec<u64>,
    pub sender_due_ns: Vec<u64>,
    /// True if sweeps would be wrong, because an aggregate's edge marks packets at several links.
    pub requires_event_by_event: bool,
    /// True if the present interval is executed event by event.
    pub event_by_event: bool,
    /// Event lists of event-by-event execution: of wires, transfers, and links with managed queues.
    pub wire_events: EventList,
    pub transfer_events: EventList,
    pub link_events: EventList,
    /// Event lists of the endpoints of links, for sweeps.
    pub index: EndpointIndex,
    /// Scratch memory: wires with arrivals at a link, and their packets.
    pub arriving: Vec<u32>,
    pub batch: Batch,
}

/// Dependencies and progress of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkDependencies {
    /// Wires that end at the link.
    pub inputs: Vec<u32>,
    /// Links whose earliest output times bound the earliest input time: links that feed this one, and links
    /// that feed endpoints that send to it.
    pub bounding_links: Vec<u32>,
    /// Endpoints that the link feeds: receivers, senders and session slots.
    pub receivers: Vec<Endpoint>,
    pub senders: Vec<Endpoint>,
    pub slots: Vec<u32>,
    /// True if no other link feeds these endpoints, and none of them belongs to a session slot.
    pub is_only_feeder: bool,
    /// Shortest transmission time of a packet in ns.
    pub min_service_ns: u64,
    /// True if no edge marks packets here, and none of them belongs to a message of a user.
    pub is_fast_path: bool,
    /// Local time in ns: all arrivals before it have been processed.
    pub local_time_ns: u64,
    /// Time in ns of the next event at the endpoints, if nothing more arrives behind the link; 0 if unknown.
    pub next_endpoint_event_ns: u64,
    /// Order of links with simultaneous events: the smallest number of a wire that ends at the link.
    pub rank: u32,
}

impl LinkDependencies {
    /// Returns the number of endpoints and session slots that the link feeds.
    pub fn endpoint_count(&self) -> usize {
        self.receivers.len() + self.senders.len() + self.slots.len()
    }

    /// Returns the number of endpoints that the link looks at when it advances, at most.
    pub fn endpoint_visits(&self) -> usize {
        self.endpoint_count().min(MIN_INDEXED_ENDPOINTS)
    }

    /// Returns true if `other` leads to the same sweep order, except for delays.
    fn has_same_order(&self, other: &LinkDependencies) -> bool {
        let counts = |it: &LinkDependencies| {
            (
                it.inputs.is_empty(),
                it.is_only_feeder,
                it.endpoint_visits(),
            )
        };
        self.bounding_links == other.bounding_links && counts(self) == counts(other)
    }

    /// Adds an endpoint that the link feeds.
    fn feed(&mut self, end: Endpoint, receives: bool) {
        self.is_only_feeder &= end.has_one_feeder;
        if receives {
            self.receivers.push(end)
        } else {
            self.senders.push(end)
        }
    }
}

/// Endpoint of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub transfer: u32,
    /// Wire on which packets arrive at the endpoint, and wire that begins at the links that feed it. They
    /// differ if a sender observes the arrivals at its receiver.
    pub wire: u32,
    pub feeder_wire: u32,
    /// True if only one link feeds the endpoint.
    pub has_one_feeder: bool,
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

impl Dependencies {
    /// Returns the earliest input time in ns of a process that these links feed: the minimum of their
    /// earliest output times.
    #[inline]
    pub fn earliest_input_ns(&self, links: &[u32]) -> u64 {
        let each = links.iter().map(|&l| self.earliest_output_ns[l as usize]);
        each.min().unwrap_or(NEVER)
    }

    /// Adds the endpoints of a new session slot. `first` is its first transfer.
    fn add_slot(&mut self, topology: &Topology, slot: u32, first: u32) {
        let feeders = feeders_of_slot(topology, first);
        for t in [first, first + 1] {
            let ends = &topology.ends[t as usize];
            for way in [ends.data, ends.acks] {
                self.add_input(topology, way.wire, &feeders);
            }
        }
        for &l in &feeders {
            self.links_of[l as usize].slots.push(slot);
            self.links_of[l as usize].is_only_feeder = false;
        }
        if feeders.is_empty() {
            self.self_driven_slots.push(slot);
        }
        self.slot_feeders.push(feeders);
    }

    /// Adds the endpoints of a transfer outside session slots.
    fn add_transfer(&mut self, topology: &Topology, t: u32, sees_arrivals: bool) {
        let ends = &topology.ends[t as usize];
        let sender_feeder_wire = if sees_arrivals {
            ends.data_input_wire
        } else {
            ends.acks_input_wire
        };
        let (receiver, sender) = (
            topology.feeding_links(ends.data_input_wire),
            topology.feeding_links(sender_feeder_wire),
        );
        let fed = |wire, feeder_wire, feeders: &[u32]| Endpoint {
            transfer: t,
            wire,
            feeder_wire,
            has_one_feeder: feeders.len() == 1,
        };
        self.add_input(topology, ends.acks.wire, receiver);
        self.add_input(topology, ends.data.wire, sender);
        for &l in receiver {
            let fed = fed(ends.data_input_wire, ends.data_input_wire, receiver);
            self.links_of[l as usize].feed(fed, true);
        }
        for &l in sender {
            let fed = fed(ends.acks_input_wire, sender_feeder_wire, sender);
            self.links_of[l as usize].feed(fed, false);
        }
        if sender.is_empty() {
            self.self_driven.push(t);
        }
    }

    /// Adds a wire to the inputs of its link, and `feeders` to the links that bound the link's earliest input
    /// time.
    fn add_input(&mut self, topology: &Topology, wire: u32, feeders: &[u32]) {
        if let Some(Target::Link(l)) = topology.targets.get(wire as usize) {
            let link_dependencies = &mut self.links_of[*l as usize];
            add(&mut link_dependencies.inputs, wire);
            feeders
                .iter()
                .for_each(|&l| add(&mut link_dependencies.bounding_links, l));
        }
    }

    /// Sets the times of the next timer events of a transfer.
    #[inline]
    pub fn set_due(&mut self, t: u32, receiver_ns: u64, sender_ns: u64) {
        self.receiver_due_ns[t as usize] = receiver_ns;
        self.sender_due_ns[t as usize] = sender_ns;
        if self.event_by_event {
            self.transfer_events.schedule(t, receiver_ns.min(sender_ns));
        }
    }
}

/// Returns the links that feed any endpoint of a slot's two transfers.
fn feeders_of_slot(topology: &Topology, first: u32) -> Vec<u32> {
    let mut feeders = Vec::new();
    for t in [first, first + 1] {
        let ends = &topology.ends[t as usize];
        for wire in [ends.data_input_wire, ends.acks_input_wire] {
            let links = topology.feeding_links(wire);
            links.iter().for_each(|&l| add(&mut feeders, l));
        }
    }
    feeders
}

impl Engine {
    /// Returns true if an edge marks packets at several links. These share the state of the edge, so
    /// event-by-event execution is required.
    fn has_shared_edge_markers(&self) -> bool {
        let mut edge_at = vec![None; self.edge_markers.len()];
        let mut entries = self.topology.ends.iter().zip(&self.loss_counts);
        entries.any(|(ends, account)| match account.aggregate {
            Some(a) if ends.data.wire != NO_WIRE => {
                let at = edge_at[a as usize].get_or_insert(ends.data.wire);
                *at != ends.data.wire
            }
            _ => false,
        })
    }

    /// Derives all dependencies and the sweep order from the current routes. The sweep order is kept if only
    /// delays changed, by less than a factor of two.
    pub fn make_dependencies(&mut self) {
        let topology = &self.topology;
        let mut dependencies = Dependencies {
            links_of: vec![LinkDependencies::default(); self.links.len()],
            earliest_output_ns: vec![0; self.links.len()],
            receiver_due_ns: vec![NEVER; self.transfers.len()],
            sender_due_ns: vec![NEVER; self.transfers.len()],
            ..Dependencies::default()
        };
        for link_dependencies in &mut dependencies.links_of {
            (
                link_dependencies.rank,
                link_dependencies.min_service_ns,
                link_dependencies.is_fast_path,
            ) = (u32::MAX, NEVER, true);
            link_dependencies.is_only_feeder = true;
        }
        for (w, target) in (0..).zip(&topology.targets) {
            if let Target::Link(l) = *target {
                let link_dependencies = &mut dependencies.links_of[l as usize];
                link_dependencies.rank = link_dependencies.rank.min(w);
                dependencies.add_input(topology, w, topology.feeding_links(w));
            }
        }
        for (hop, spec) in topology.hops.iter().zip(&topology.specs) {
            let link_dependencies = &mut dependencies.links_of[topology.sender(spec.link) as usize];
            link_dependencies.min_service_ns =
                link_dependencies.min_service_ns.min(spec.min_service_ns);
            link_dependencies.is_fast_path &= hop.edge.is_none() && spec.sizes != Sizes::Messages;
        }
        for (t, transfer) in (0..).zip(&self.transfers) {
            if self.sessions.slot_of[t as usize].is_none() {
                dependencies.add_transfer(topology, t, transfer.sees_arrivals());
                dependencies.set_due(t, transfer.receiver.due_ns(), transfer.sender_due_ns());
            }
        }
        for (s, slot) in (0..).zip(&self.sessions.slots) {
            dependencies.add_slot(topology, s, slot.first);
            dependencies.set_due(slot.first, NEVER, self.slot_due_ns(s as usize));
        }
        // A packet may arrive just before an opportunity.
        let traced = |link: &&Link| link.trace.is_some();
        for (l, _) in self
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| traced(link))
        {
            dependencies.links_of[l].min_service_ns = 0;
        }
        let traced_ns = self
            .links
            .iter()
            .filter(traced)
            .map(|link| link.min_delay_ns);
        let has_zero_lookahead = traced_ns.min() == Some(0);
        let links_of = dependencies.links_of.iter().zip(&self.links);
        let lookahead_ns = links_of.map(|(link_dependencies, link)| {
            link.min_delay_ns
                .saturating_add(link_dependencies.min_service_ns)
        });
        let lookahead_ns: Vec<u64> = lookahead_ns.collect();
        let before = &self.dependencies.links_of;
        let is_same = before.len() == dependencies.links_of.len()
            && (before.iter().zip(&dependencies.links_of)).all(|(a, b)| a.has_same_order(b));
        dependencies.order = if is_same && self.dependencies.order.fits(&lookahead_ns) {
            std::mem::take(&mut self.dependencies.order)
        } else {
            SweepOrder::new(&dependencies.links_of, &lookahead_ns, self.now_ns == 0)
        };
        dependencies.requires_event_by_event = has_zero_lookahead || self.has_shared_edge_markers();
        self.dependencies = dependencies;
        self.discard_partitions();
    }

    /// Adds a session slot that was created during the run. The wires between its links exist already.
    pub fn schedule_slot(&mut self, slot: u32, first: u32) {
        self.dependencies
            .receiver_due_ns
            .resize(self.transfers.len(), NEVER);
        self.dependencies
            .sender_due_ns
            .resize(self.transfers.len(), NEVER);
        self.dependencies.add_slot(&self.topology, slot, first);
    }
}
