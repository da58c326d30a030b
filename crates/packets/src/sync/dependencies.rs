//! Who feeds whom: how far each link may go, and in which order links are looked at.

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::sessions::events::NO_SLOT;
use crate::sync::event_list::EventList;
use crate::sync::merge::Batch;
use crate::sync::sweep_order::SweepOrder;
use crate::topology::{NO_WIRE, Sizes, Target, Topology};

/// What is due, and how far each part of the network has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependencies {
    /// By link.
    pub places: Vec<LinkDependencies>,
    /// By link: before this, nothing arrives behind it but what is on its wires already.
    pub earliest_output_ns: Vec<u64>,
    /// The order in which links have their turns that anything arrives at.
    pub order: SweepOrder,
    /// By slot: the links that feed its ends.
    pub slot_feeders: Vec<Vec<u32>>,
    /// Transfers whose senders hear of nothing, and slots at which nothing arrives.
    pub self_driven: Vec<u32>,
    pub self_driven_slots: Vec<u32>,
    /// By transfer: when its receiver and its sender have something to do by themselves; of a slot, the
    /// sender of its first transfer stands for all.
    pub receiver_due_ns: Vec<u64>,
    pub sender_due_ns: Vec<u64>,
    /// Whether moment has to follow moment in any case, and whether it does.
    pub in_order: bool,
    pub event_by_event: bool,
    /// Then: when to look at wires, at transfers, and at links whose queues are managed.
    pub wire_events: EventList,
    pub transfer_events: EventList,
    pub link_events: EventList,
    /// Wires on which packets arrive at a link, and those packets: scratch.
    pub arriving: Vec<u32>,
    pub batch: Batch,
}

/// What surrounds a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkDependencies {
    /// Wires that end there.
    pub inputs: Vec<u32>,
    /// Links whose horizons bound how far it may go: those before it, and those that feed the ends that
    /// send to it.
    pub after: Vec<u32>,
    /// Ends that it feeds.
    pub receivers: Vec<Endpoint>,
    pub senders: Vec<Endpoint>,
    pub slots: Vec<u32>,
    /// Whether it alone feeds all of them, and none is of a slot.
    pub is_only_feeder: bool,
    /// The shortest transmission of what goes over it.
    pub least_service_ns: u64,
    /// Whether of all packets nothing but their hop has to be known.
    pub alike: bool,
    /// Until when all that arrives has been seen to.
    pub until_ns: u64,
    /// Until then no end has anything to do, if nothing more arrives at the link; 0 where that is not known.
    pub ends_ns: u64,
    /// Which comes first of links at which something arrives at the same moment.
    pub rank: u32,
}

impl LinkDependencies {
    /// How many ends it feeds.
    pub fn ends(&self) -> usize {
        self.receivers.len() + self.senders.len() + self.slots.len()
    }

    /// Whether another place is the same in all that an order of links follows from, delays aside.
    fn is_alike(&self, other: &LinkDependencies) -> bool {
        let counts = |it: &LinkDependencies| (it.inputs.is_empty(), it.is_only_feeder, it.ends());
        self.after == other.after && counts(self) == counts(other)
    }

    /// It feeds this end, too.
    fn feed(&mut self, end: Endpoint, receives: bool) {
        self.is_only_feeder &= end.alone;
        match receives {
            true => self.receivers.push(end),
            false => self.senders.push(end),
        }
    }
}

/// An end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub transfer: u32,
    /// The wire on which packets come to it, and that which begins at the links that feed it: another
    /// one where a sender sees what arrives at its receiver.
    pub wire: u32,
    pub feeder_wire: u32,
    /// Whether only one link feeds it.
    pub alone: bool,
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

impl Dependencies {
    /// Before this, nothing more arrives at the end of any of these links.
    #[inline]
    pub fn earliest_input_ns(&self, links: &[u32]) -> u64 {
        let each = links.iter().map(|&l| self.earliest_output_ns[l as usize]);
        each.min().unwrap_or(NEVER)
    }

    /// The ends of one more slot, whose first transfer has this number.
    fn add_slot(&mut self, plan: &Topology, slot: u32, first: u32) {
        let feeders = feeders_of_slot(plan, first);
        for t in [first, first + 1] {
            let ends = &plan.ends[t as usize];
            for way in [ends.data, ends.acks] {
                self.bound(plan, way.wire, &feeders);
            }
        }
        for &l in &feeders {
            self.places[l as usize].slots.push(slot);
            self.places[l as usize].is_only_feeder = false;
        }
        if feeders.is_empty() {
            self.self_driven_slots.push(slot);
        }
        self.slot_feeders.push(feeders);
    }

    /// The ends of a transfer that goes by itself.
    fn add_transfer(&mut self, plan: &Topology, t: u32, sees_arrivals: bool) {
        let ends = &plan.ends[t as usize];
        let heard_of = match sees_arrivals {
            true => ends.data_in,
            false => ends.acks_in,
        };
        let (receiver, sender) = (plan.links_before(ends.data_in), plan.links_before(heard_of));
        let fed = |wire, feeder_wire, feeders: &[u32]| Endpoint {
            transfer: t,
            wire,
            feeder_wire,
            alone: feeders.len() == 1,
        };
        self.bound(plan, ends.acks.wire, receiver);
        self.bound(plan, ends.data.wire, sender);
        for &l in receiver {
            let fed = fed(ends.data_in, ends.data_in, receiver);
            self.places[l as usize].feed(fed, true);
        }
        for &l in sender {
            let fed = fed(ends.acks_in, heard_of, sender);
            self.places[l as usize].feed(fed, false);
        }
        if sender.is_empty() {
            self.self_driven.push(t);
        }
    }

    /// What is put on this wire follows from what these links hand on.
    fn bound(&mut self, plan: &Topology, wire: u32, feeders: &[u32]) {
        if let Some(Target::Link(l)) = plan.targets.get(wire as usize) {
            let place = &mut self.places[*l as usize];
            add(&mut place.inputs, wire);
            feeders.iter().for_each(|&l| add(&mut place.after, l));
        }
    }

    /// A transfer has something to do at this time.
    #[inline]
    pub fn set_due(&mut self, t: u32, receiver_ns: u64, sender_ns: u64) {
        self.receiver_due_ns[t as usize] = receiver_ns;
        self.sender_due_ns[t as usize] = sender_ns;
        if self.event_by_event {
            self.transfer_events.schedule(t, receiver_ns.min(sender_ns));
        }
    }
}

/// The links that feed any end of a slot's two transfers.
fn feeders_of_slot(plan: &Topology, first: u32) -> Vec<u32> {
    let mut feeders = Vec::new();
    for t in [first, first + 1] {
        let ends = &plan.ends[t as usize];
        for wire in [ends.data_in, ends.acks_in] {
            let links = plan.links_before(wire);
            links.iter().for_each(|&l| add(&mut feeders, l));
        }
    }
    feeders
}

impl Engine {
    /// Whether moment has to follow moment in any case: an edge marks at several links, which do not see
    /// each other.
    fn has_wide_edges(&self) -> bool {
        let mut edge_at = vec![None; self.edges.len()];
        let mut entries = self.plan.ends.iter().zip(&self.accounts);
        entries.any(|(ends, account)| match account.aggregate {
            Some(a) if ends.data.wire != NO_WIRE => {
                let at = edge_at[a as usize].get_or_insert(ends.data.wire);
                *at != ends.data.wire
            }
            _ => false,
        })
    }

    /// Finds out who feeds whom along the routes of now, and what to look at in which order.
    pub fn make_dependencies(&mut self) {
        let plan = &self.plan;
        let mut schedule = Dependencies {
            places: vec![LinkDependencies::default(); self.links.len()],
            earliest_output_ns: vec![0; self.links.len()],
            receiver_due_ns: vec![NEVER; self.transfers.len()],
            sender_due_ns: vec![NEVER; self.transfers.len()],
            ..Dependencies::default()
        };
        for place in &mut schedule.places {
            (place.rank, place.least_service_ns, place.alike) = (u32::MAX, NEVER, true);
            place.is_only_feeder = true;
        }
        for (w, target) in (0..).zip(&plan.targets) {
            if let Target::Link(l) = *target {
                let place = &mut schedule.places[l as usize];
                place.rank = place.rank.min(w);
                schedule.bound(plan, w, plan.links_before(w));
            }
        }
        for (hop, spec) in plan.hops.iter().zip(&plan.specs) {
            let place = &mut schedule.places[plan.sender(spec.link) as usize];
            place.least_service_ns = place.least_service_ns.min(spec.least_ns);
            place.alike &= hop.edge == 0 && spec.sizes != Sizes::Messages;
        }
        for (t, transfer) in (0..).zip(&self.transfers) {
            let slot = self.visits.slot_of[t as usize];
            if slot == NO_SLOT {
                schedule.add_transfer(plan, t, transfer.sees_arrivals());
                schedule.set_due(t, transfer.receiving.due_ns(), transfer.sender_due_ns());
            }
        }
        for (s, slot) in (0..).zip(&self.visits.slots) {
            schedule.add_slot(plan, s, slot.first);
            schedule.set_due(slot.first, NEVER, self.slot_due_ns(s as usize));
        }
        let places = schedule.places.iter().zip(&self.links);
        let lookahead_ns =
            places.map(|(place, link)| link.delay_ns.saturating_add(place.least_service_ns));
        let lookahead_ns: Vec<u64> = lookahead_ns.collect();
        let before = &self.schedule.places;
        let is_same = before.len() == schedule.places.len()
            && (before.iter().zip(&schedule.places)).all(|(a, b)| a.is_alike(b));
        schedule.order = match is_same && self.schedule.order.fits(&lookahead_ns) {
            true => std::mem::take(&mut self.schedule.order),
            false => SweepOrder::new(&schedule.places, &lookahead_ns, self.now_ns == 0),
        };
        schedule.in_order = self.has_wide_edges();
        self.schedule = schedule;
        self.discard_partitions();
    }

    /// A slot that has come since: its links have wires between them already.
    pub fn schedule_slot(&mut self, slot: u32, first: u32) {
        self.schedule
            .receiver_due_ns
            .resize(self.transfers.len(), NEVER);
        self.schedule
            .sender_due_ns
            .resize(self.transfers.len(), NEVER);
        self.schedule.add_slot(&self.plan, slot, first);
    }
}
