//! How packets are moved through time.
//!
//! Nothing that arrives at a link after some moment leaves it before the queue that is there, its own
//! transmission and the link's delay are over. So each link has a *horizon*: before it, nothing arrives
//! behind the link but what is on its wires already. A link may go on to the earliest horizon of those
//! before it, and sees to all that arrives there until then, in order, at once. The ends that it feeds
//! act right after it, as far as its horizon. Links have their turns in an order in which what they wait
//! for has had its own, or is far away, again and again until all have come to the end.
//!
//! Where too few packets arrive while that brings them forward, moment follows moment. Both come to the same, and
//! so does a run that is stopped on the way and goes on: what happens depends on times alone, and of
//! what happens at one moment on [`Packet::order`](crate::link::wire::Packet::order).

use std::time::Instant;

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::sessions::events::NO_SLOT;
use crate::sessions::session::SESSION_LOOKAHEAD_NS;
use crate::sync::dependencies::Endpoint;
use crate::sync::sweep_order::run_steps;
use crate::topology::Target;

/// At the end of so much time all have come equally far: what senders that hear of nothing send until
/// then is kept.
const WINDOW_NS: u64 = 1_000_000_000;
/// The first time is short: how many packets there are is not known.
const FIRST_NS: u64 = 10_000_000;
/// Until it is known whether several threads are faster than one, so many packets at links are followed from one such time to
/// the next, or for each link and transfer so many: these change hands then.
const PKTS_PER_STRETCH: f64 = 1e6;
const PKTS_PER_MOVED_ITEM: f64 = 30.0;
/// Until it is, sweeps are taken to pay that look at each link once in so long.
const LONG_NS: u64 = 500_000;
/// To follow one packet in the order of all costs as much as to look at so many links and ends: in stars of 60 and 200
/// hosts, and in a network of 1000 nodes with little traffic, both ways took as long at 15 to 40.
const VISITS_PER_PACKET: f64 = 25.0;

impl Engine {
    /// Goes on to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        let window_ns = match self.visits.classes.is_empty() && self.schedule.self_driven.is_empty()
        {
            true => WINDOW_NS,
            // Who comes has to be known before.
            false => SESSION_LOOKAHEAD_NS,
        };
        while self.now_ns < end_ns {
            let mut until_ns = end_ns.min(self.now_ns.saturating_add(window_ns));
            if self.pkts_per_ns.is_none() {
                until_ns = until_ns.min(self.now_ns.saturating_add(FIRST_NS));
            }
            if let Some(pkts_per_ns) = self.pkts_per_ns
                && self.may_be_partitioned()
                && !self.parts.tuner.is_tuned
            {
                let change = self.links.len() + self.transfers.len();
                let pkts = PKTS_PER_STRETCH.max(PKTS_PER_MOVED_ITEM * change as f64);
                let stretch_ns = (pkts / pkts_per_ns).max(1.0) as u64;
                until_ns = until_ns.min(self.now_ns.saturating_add(stretch_ns));
            }
            self.admit_sessions(until_ns);
            self.schedule.event_by_event = !self.is_sweep_cheaper();
            let before = self.offered();
            let may_divide = !self.schedule.event_by_event && self.may_run_in_parallel();
            let began = Instant::now();
            if self.schedule.event_by_event {
                self.run_event_by_event(until_ns);
            } else if may_divide && self.parts.tuner.use_threads {
                self.sweep_in_parallel(until_ns);
            } else {
                self.sweep(until_ns);
            }
            let pkts = self.offered() - before;
            match may_divide {
                true => self.parts.tuner.record(began.elapsed(), pkts),
                false => self.parts.tuner.pause(),
            }
            self.pkts_per_ns = Some(pkts as f64 / (until_ns - self.now_ns) as f64);
            self.now_ns = until_ns;
            self.settle();
        }
    }

    /// Whether so many packets arrive while a sweep brings all links forward that to look at all links and
    /// ends costs less than to follow the order of packets. The result is the same.
    fn is_sweep_cheaper(&self) -> bool {
        let schedule = &self.schedule;
        let pays = match self.pkts_per_ns {
            Some(rate) => VISITS_PER_PACKET * rate > schedule.order.visits_per_ns(rate),
            None => {
                schedule.order.visits_per_ns(0.0) * LONG_NS as f64 <= schedule.order.links as f64
            }
        };
        pays && !schedule.in_order
    }

    /// Packets that have arrived at links.
    pub fn offered(&self) -> u64 {
        let each = self.links.iter().map(|link| link.queue.counts.offered());
        each.sum()
    }

    /// All that happens before `end_ns`.
    pub fn sweep(&mut self, end_ns: u64) {
        self.begin_sweep(end_ns);
        while self.turn(end_ns) < end_ns {}
    }

    /// What happens before links have had a turn: what senders do that hear of nothing, and what ends do
    /// that have heard all they will for now.
    fn begin_sweep(&mut self, end_ns: u64) {
        self.start_senders(end_ns);
        for l in 0..self.links.len() {
            self.run_endpoints(l, end_ns);
        }
    }

    /// The first part of that: what senders do that hear of nothing. From now on horizons are known.
    pub fn start_senders(&mut self, end_ns: u64) {
        for i in 0..self.schedule.self_driven.len() {
            self.run_sender(self.schedule.self_driven[i], end_ns);
        }
        for i in 0..self.schedule.self_driven_slots.len() {
            self.run_session_slot(self.schedule.self_driven_slots[i] as usize, end_ns);
        }
        for l in 0..self.links.len() {
            self.update_earliest_output(l, self.now_ns);
        }
    }

    /// Each link has its turn, those of loops as often as that brings them forward: it goes as far as it may, at most to
    /// `end_ns`, and the ends behind it follow. How far all have come.
    pub fn turn(&mut self, end_ns: u64) -> u64 {
        let steps = std::mem::take(&mut self.schedule.order.steps);
        let (_, least_ns) = run_steps(&steps, &mut |l| self.advance_link(l as usize, end_ns));
        self.schedule.order.steps = steps;
        least_ns.min(end_ns)
    }

    /// A link goes as far as it may: whether that is farther than before, and how far it has come.
    #[inline]
    fn advance_link(&mut self, l: usize, end_ns: u64) -> (bool, u64) {
        let place = &self.schedule.places[l];
        let until_ns = self.schedule.earliest_input_ns(&place.after).min(end_ns);
        let comes = until_ns > place.until_ns;
        if comes {
            let acts = self.run_link(l, until_ns);
            self.update_earliest_output(l, until_ns);
            let until_ns = self.schedule.earliest_output_ns[l].min(end_ns);
            if acts || self.schedule.places[l].ends_ns < until_ns {
                self.run_endpoints(l, end_ns);
            }
        }
        (comes, until_ns)
    }

    /// A link has seen to all that arrives before `until_ns`.
    #[inline]
    fn update_earliest_output(&mut self, l: usize, until_ns: u64) {
        let place = &mut self.schedule.places[l];
        place.until_ns = until_ns;
        let link = &self.links[l];
        let left_ns = link.free_ns().max(until_ns) + place.least_service_ns.min(NEVER / 4);
        self.schedule.earliest_output_ns[l] = left_ns + link.delay_ns;
    }

    /// All that happens before the link's horizon at the ends that it feeds.
    #[inline]
    pub fn run_endpoints(&mut self, l: usize, end_ns: u64) {
        let alone_ns = self.schedule.earliest_output_ns[l].min(end_ns);
        let mut ends_ns = NEVER;
        for i in 0..self.schedule.places[l].receivers.len() {
            let fed = self.schedule.places[l].receivers[i];
            let t = fed.transfer as usize;
            let next_ns = self.plan.wires.head_ns(fed.wire);
            let next_ns = next_ns.min(self.schedule.receiver_due_ns[t]);
            if next_ns >= alone_ns {
                ends_ns = ends_ns.min(next_ns);
                continue;
            }
            let until_ns = self.until_ns(fed, alone_ns);
            let transfer = &mut self.transfers[t];
            let receiving = &mut transfer.receiving;
            receiving.receive(&transfer.ends, until_ns, &mut self.plan.wires);
            self.schedule.receiver_due_ns[t] = receiving.due_ns();
            let next_ns = self.plan.wires.head_ns(fed.wire);
            ends_ns = ends_ns.min(next_ns.min(self.schedule.receiver_due_ns[t]));
            self.record_delays(t);
        }
        for i in 0..self.schedule.places[l].senders.len() {
            let fed = self.schedule.places[l].senders[i];
            if self.sender_next_ns(fed) < alone_ns {
                self.run_sender(fed.transfer, self.until_ns(fed, alone_ns));
            }
            ends_ns = ends_ns.min(self.sender_next_ns(fed));
        }
        for i in 0..self.schedule.places[l].slots.len() {
            let slot = self.schedule.places[l].slots[i] as usize;
            let feeders = &self.schedule.slot_feeders[slot];
            self.run_session_slot(slot, self.schedule.earliest_input_ns(feeders).min(end_ns));
        }
        let place = &mut self.schedule.places[l];
        place.ends_ns = if place.is_only_feeder { ends_ns } else { 0 };
    }

    /// When a sender has something to do next.
    #[inline]
    fn sender_next_ns(&self, fed: Endpoint) -> u64 {
        let next_ns = self.plan.wires.head_ns(fed.wire);
        next_ns.min(self.schedule.sender_due_ns[fed.transfer as usize])
    }

    /// How far an end may go that one link feeds that has come to `alone_ns`.
    #[inline]
    fn until_ns(&self, fed: Endpoint, alone_ns: u64) -> u64 {
        match fed.alone {
            true => alone_ns,
            false => {
                let origins = &self.plan.origins[fed.feeder_wire as usize];
                alone_ns.min(self.schedule.earliest_input_ns(origins))
            }
        }
    }

    fn run_sender(&mut self, t: u32, until_ns: u64) {
        let transfer = &mut self.transfers[t as usize];
        transfer.send(until_ns, &mut self.plan.wires);
        self.schedule.sender_due_ns[t as usize] = transfer.sender_due_ns();
        self.record_round_trips(t as usize);
    }

    /// All that happens before `end_ns`, moment by moment: at each what ends do, then links.
    fn run_event_by_event(&mut self, end_ns: u64) {
        self.schedule.wire_events.clear();
        self.schedule.transfer_events.clear();
        self.schedule.link_events.clear();
        for l in 0..self.links.len() {
            self.schedule_link(l);
        }
        self.plan.wires.is_watched = true;
        for w in 0..self.plan.wires.len() as u32 {
            self.schedule
                .wire_events
                .schedule(w, self.plan.wires.head_ns(w));
        }
        for t in 0..self.transfers.len() {
            let due_ns = self.schedule.receiver_due_ns[t].min(self.schedule.sender_due_ns[t]);
            self.schedule.transfer_events.schedule(t as u32, due_ns);
        }
        let (mut links, mut transfers) = (Vec::new(), Vec::new());
        loop {
            let wires_ns = self.schedule.wire_events.next_ns();
            let event_ns = wires_ns
                .min(self.schedule.transfer_events.next_ns())
                .min(self.schedule.link_events.next_ns());
            if event_ns >= end_ns {
                break;
            }
            let until_ns = event_ns + 1;
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(t) = self.schedule.transfer_events.pop_before(until_ns) {
                transfers.push(t);
            }
            transfers.sort_unstable();
            transfers.dedup();
            for t in transfers.drain(..) {
                self.run_transfer(t, until_ns);
            }
            self.schedule_changed_wires();
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(l) = self.schedule.link_events.pop_before(until_ns) {
                links.push(l);
            }
            links.sort_unstable_by_key(|&l| self.schedule.places[l as usize].rank);
            links.dedup();
            for l in links.drain(..) {
                self.run_link(l as usize, until_ns);
                self.schedule_link(l as usize);
            }
            self.schedule_changed_wires();
        }
        self.plan.wires.is_watched = false;
    }

    /// The links and the transfers at which something arrives before `until_ns`.
    fn take_wires(&mut self, until_ns: u64, links: &mut Vec<u32>, transfers: &mut Vec<u32>) {
        while let Some(w) = self.schedule.wire_events.pop_before(until_ns) {
            match self.plan.targets[w as usize] {
                Target::Link(l) => links.push(l),
                Target::Receiver(t) | Target::Sender(t) => transfers.push(t),
            }
        }
    }

    /// When the queue of a link has something to do by itself.
    #[inline]
    fn schedule_link(&mut self, l: usize) {
        let link = &self.links[l];
        if link.queue.managed.is_some() {
            self.schedule.link_events.schedule(l as u32, link.due_ns());
        }
    }

    fn schedule_changed_wires(&mut self) {
        let wires = &mut self.plan.wires;
        let mut changed = std::mem::take(&mut wires.changed);
        for w in changed.drain(..) {
            self.schedule.wire_events.schedule(w, wires.head_ns(w));
        }
        wires.changed = changed;
    }

    /// All that happens at both ends of a transfer, or of those of its slot, before `until_ns`.
    fn run_transfer(&mut self, t: u32, until_ns: u64) {
        let slot = self.visits.slot_of[t as usize];
        if slot != NO_SLOT {
            return self.run_session_slot(slot as usize, until_ns);
        }
        let transfer = &mut self.transfers[t as usize];
        transfer.act(until_ns, &mut self.plan.wires);
        let due_ns = (transfer.receiving.due_ns(), transfer.sender_due_ns());
        self.schedule.set_due(t, due_ns.0, due_ns.1);
        self.record_delays(t as usize);
        self.record_round_trips(t as usize);
    }
}
