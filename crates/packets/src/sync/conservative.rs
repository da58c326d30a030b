//! Conservative synchronization by sweeps (Chandy and Misra 1979), and event-by-event execution.
//!
//! The algorithm is described in [`sync`](crate::sync). Both modes give the same result, also if a run is
//! interrupted and continued. Events depend on times alone, and simultaneous events on
//! [`Packet::order`](crate::link::wire::Packet::order).

use std::time::Instant;

use netflow_tcpmodel::tcp::NEVER;

use crate::engine::Engine;
use crate::sessions::session::SESSION_LOOKAHEAD_NS;
use crate::sync::dependencies::Endpoint;
use crate::sync::endpoint_index::Fed;
use crate::sync::sweep_order::run_steps;
use crate::topology::Target;

/// Maximum length of an interval in ns, without sessions and self-driven senders. At its end, all links and
/// endpoints have reached the same time.
const MAX_INTERVAL_NS: u64 = 1_000_000_000;
/// Length of the first interval in ns. It is short because the packet rate is unknown.
const FIRST_NS: u64 = 10_000_000;
/// Maximum number of packets in an interval until the tuner has compared one thread with several. It is
/// `PKTS_PER_MOVED_ITEM` for each link and transfer if that is more, because these move between threads at
/// the end of an interval.
const PKTS_PER_INTERVAL: f64 = 1e6;
const PKTS_PER_MOVED_ITEM: f64 = 30.0;
/// Minimum time in ns between two visits of a link, on average, for sweeps to be used while the packet rate
/// is unknown.
const MIN_VISIT_INTERVAL_NS: u64 = 500_000;
/// Cost of one packet in event-by-event execution, in visits of links and endpoints. In stars of 60 and 200
/// hosts, and in a network of 1000 nodes with little traffic, both modes took the same time at 15 to 40.
const VISITS_PER_PACKET: f64 = 25.0;

impl Engine {
    /// Advances the simulation to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        let max_interval_ns =
            if self.sessions.classes.is_empty() && self.dependencies.self_driven.is_empty() {
                MAX_INTERVAL_NS
            } else {
                SESSION_LOOKAHEAD_NS
            };
        while self.now_ns < end_ns {
            let mut until_ns = end_ns.min(self.now_ns.saturating_add(max_interval_ns));
            if self.pkts_per_ns.is_none() {
                until_ns = until_ns.min(self.now_ns.saturating_add(FIRST_NS));
            }
            if let Some(pkts_per_ns) = self.pkts_per_ns
                && self.may_be_partitioned()
                && !self.partitions.tuner.is_tuned
            {
                let moved_items = self.links.len() + self.transfers.len();
                let pkts = PKTS_PER_INTERVAL.max(PKTS_PER_MOVED_ITEM * moved_items as f64);
                let interval_ns = (pkts / pkts_per_ns).max(1.0) as u64;
                until_ns = until_ns.min(self.now_ns.saturating_add(interval_ns));
            }
            self.admit_sessions(until_ns);
            self.dependencies.event_by_event = !self.is_sweep_cheaper();
            let before = self.offered();
            let can_use_threads = !self.dependencies.event_by_event && self.may_run_in_parallel();
            let began = Instant::now();
            if self.dependencies.event_by_event {
                self.run_event_by_event(until_ns);
            } else if can_use_threads && self.partitions.tuner.use_threads {
                self.sweep_in_parallel(until_ns);
            } else {
                self.sweep(until_ns);
            }
            let pkts = self.offered() - before;
            if can_use_threads {
                self.partitions.tuner.record(began.elapsed(), pkts)
            } else {
                self.partitions.tuner.pause()
            }
            self.pkts_per_ns = Some(pkts as f64 / (until_ns - self.now_ns) as f64);
            self.now_ns = until_ns;
            self.count_transit_losses();
        }
    }

    /// Returns true if sweeps are allowed and cost less than event-by-event execution: enough packets arrive
    /// for each visit of a link or endpoint. The result is the same.
    fn is_sweep_cheaper(&self) -> bool {
        let dependencies = &self.dependencies;
        let pays = match self.pkts_per_ns {
            Some(rate) => VISITS_PER_PACKET * rate > dependencies.order.visits_per_ns(rate),
            None => {
                dependencies.order.visits_per_ns(0.0) * MIN_VISIT_INTERVAL_NS as f64
                    <= dependencies.order.links as f64
            }
        };
        pays && !dependencies.requires_event_by_event
    }

    /// Returns the number of packets that have arrived at links.
    pub fn offered(&self) -> u64 {
        let each = self.links.iter().map(|link| link.queue.counts.offered());
        each.sum()
    }

    /// Runs all events before `end_ns` by sweeps.
    pub fn sweep(&mut self, end_ns: u64) {
        self.begin_sweep(end_ns);
        while self.sweep_once(end_ns) < end_ns {}
    }

    /// Prepares the sweeps of an interval. Runs self-driven senders to `end_ns`, and the other endpoints to
    /// the earliest output times of their links.
    fn begin_sweep(&mut self, end_ns: u64) {
        self.run_self_driven(end_ns);
        self.index_endpoints(0..self.links.len() as u32);
        for l in 0..self.links.len() {
            self.run_endpoints(l, end_ns);
        }
    }

    /// Runs self-driven senders and session slots to `end_ns`. Sets the earliest output times of all links
    /// for the current time.
    pub fn run_self_driven(&mut self, end_ns: u64) {
        for i in 0..self.dependencies.self_driven.len() {
            self.run_sender(self.dependencies.self_driven[i], end_ns);
        }
        for i in 0..self.dependencies.self_driven_slots.len() {
            self.run_session_slot(self.dependencies.self_driven_slots[i] as usize, end_ns);
        }
        for l in 0..self.links.len() {
            self.update_earliest_output(l, self.now_ns);
        }
    }

    /// Runs one sweep: advances each link, at most to `end_ns`, and the endpoints that it feeds. Inner loops
    /// repeat as long as one of their links advances. Returns the time that all links have reached.
    pub fn sweep_once(&mut self, end_ns: u64) -> u64 {
        let steps = std::mem::take(&mut self.dependencies.order.steps);
        let (_, least_ns) = run_steps(&steps, &mut |l| self.advance_link(l as usize, end_ns));
        self.dependencies.order.steps = steps;
        least_ns.min(end_ns)
    }

    /// Advances a link to its earliest input time, at most to `end_ns`. Returns whether it advanced, and its
    /// local time.
    #[inline]
    fn advance_link(&mut self, l: usize, end_ns: u64) -> (bool, u64) {
        let link_dependencies = &self.dependencies.links_of[l];
        let until_ns = self
            .dependencies
            .earliest_input_ns(&link_dependencies.bounding_links)
            .min(end_ns);
        let advances = until_ns > link_dependencies.local_time_ns;
        if advances {
            let acts = self.run_link(l, until_ns);
            self.update_earliest_output(l, until_ns);
            let until_ns = self.dependencies.earliest_output_ns[l].min(end_ns);
            if acts || self.dependencies.links_of[l].next_endpoint_event_ns < until_ns {
                self.run_endpoints(l, end_ns);
            }
        }
        (advances, until_ns)
    }

    /// Sets the earliest output time of a link that has processed all arrivals before `until_ns`.
    #[inline]
    fn update_earliest_output(&mut self, l: usize, until_ns: u64) {
        let link_dependencies = &mut self.dependencies.links_of[l];
        link_dependencies.local_time_ns = until_ns;
        let link = &self.links[l];
        let left_ns = match &link.trace {
            None => link.free_ns().max(until_ns) + link_dependencies.min_service_ns.min(NEVER / 4),
            Some(trace) => {
                let next_ns = trace.first_after_ns(until_ns.saturating_sub(1));
                next_ns.max(link.free_ns())
            }
        };
        self.dependencies.earliest_output_ns[l] = left_ns + link.min_delay_ns;
    }

    /// Runs the endpoints that a link feeds to its earliest output time. If other links feed an endpoint too,
    /// it runs to the minimum of their earliest output times. A session slot runs to the minimum over the
    /// links that feed any of its endpoints.
    #[inline]
    pub fn run_endpoints(&mut self, l: usize, end_ns: u64) {
        self.schedule_arrivals();
        let output_ns = self.dependencies.earliest_output_ns[l].min(end_ns);
        if self.dependencies.index.has_list(l) {
            let next_ns = self.run_due_endpoints(l, output_ns, end_ns);
            self.dependencies.links_of[l].next_endpoint_event_ns = next_ns;
            return;
        }
        let mut next_ns = NEVER;
        for i in 0..self.dependencies.links_of[l].receivers.len() {
            let fed = Fed::Receiver(self.dependencies.links_of[l].receivers[i]);
            next_ns = next_ns.min(self.run_endpoint(fed, output_ns, end_ns));
        }
        for i in 0..self.dependencies.links_of[l].senders.len() {
            let fed = Fed::Sender(self.dependencies.links_of[l].senders[i]);
            next_ns = next_ns.min(self.run_endpoint(fed, output_ns, end_ns));
        }
        for i in 0..self.dependencies.links_of[l].slots.len() {
            let fed = Fed::Slot(self.dependencies.links_of[l].slots[i]);
            self.run_endpoint(fed, output_ns, end_ns);
        }
        self.schedule_arrivals();
        let link = &mut self.dependencies.links_of[l];
        link.next_endpoint_event_ns = if link.is_only_feeder { next_ns } else { 0 };
    }

    /// Runs the events of an endpoint before the earliest output times of all links that feed it. That of
    /// one of them is `output_ns`. Returns the time of the next event.
    #[inline(always)]
    pub fn run_endpoint(&mut self, fed: Fed, output_ns: u64, end_ns: u64) -> u64 {
        let next_ns = self.endpoint_event_ns(fed);
        if next_ns >= output_ns {
            return next_ns;
        }
        match fed {
            Fed::Receiver(end) => {
                let t = end.transfer as usize;
                let until_ns = self.endpoint_bound_ns(end, output_ns);
                let transfer = &mut self.transfers[t];
                let receiving = &mut transfer.receiver;
                receiving.receive(&transfer.ends, until_ns, &mut self.topology.wires);
                self.dependencies.receiver_due_ns[t] = receiving.due_ns();
                self.record_delays(t);
            }
            Fed::Sender(end) => {
                self.run_sender(end.transfer, self.endpoint_bound_ns(end, output_ns));
            }
            Fed::Slot(slot) => {
                let feeders = &self.dependencies.slot_feeders[slot as usize];
                let until_ns = self.dependencies.earliest_input_ns(feeders).min(end_ns);
                self.run_session_slot(slot as usize, until_ns);
            }
        }
        self.endpoint_event_ns(fed)
    }

    /// Returns the time of the next event of an endpoint: an arrival or a timer.
    #[inline]
    pub fn endpoint_event_ns(&self, fed: Fed) -> u64 {
        let wires = &self.topology.wires;
        let dependencies = &self.dependencies;
        match fed {
            Fed::Receiver(end) => {
                let due_ns = dependencies.receiver_due_ns[end.transfer as usize];
                wires.head_ns(end.wire).min(due_ns)
            }
            Fed::Sender(end) => {
                let due_ns = dependencies.sender_due_ns[end.transfer as usize];
                wires.head_ns(end.wire).min(due_ns)
            }
            Fed::Slot(slot) => {
                let first = self.sessions.slots[slot as usize].first as usize;
                let both = self.topology.ends[first..first + 2].iter();
                both.flat_map(|ends| [ends.data_input_wire, ends.acks_input_wire])
                    .map(|wire| wires.head_ns(wire))
                    .fold(dependencies.sender_due_ns[first], u64::min)
            }
        }
    }

    /// Returns the time to which an endpoint may run, if one of its feeding links allows `alone_ns`.
    #[inline]
    fn endpoint_bound_ns(&self, fed: Endpoint, alone_ns: u64) -> u64 {
        if fed.has_one_feeder {
            alone_ns
        } else {
            let origins = &self.topology.origins[fed.feeder_wire as usize];
            alone_ns.min(self.dependencies.earliest_input_ns(origins))
        }
    }

    fn run_sender(&mut self, t: u32, until_ns: u64) {
        let transfer = &mut self.transfers[t as usize];
        transfer.run_sender(until_ns, &mut self.topology.wires);
        self.dependencies.sender_due_ns[t as usize] = transfer.sender_due_ns();
        self.record_round_trips(t as usize);
    }

    /// Runs all events before `end_ns` in the order of their times. At each time, endpoints act before links.
    fn run_event_by_event(&mut self, end_ns: u64) {
        self.dependencies.wire_events.clear();
        self.dependencies.transfer_events.clear();
        self.dependencies.link_events.clear();
        for l in 0..self.links.len() {
            self.schedule_link(l);
        }
        self.topology.wires.are_watched = true;
        for w in 0..self.topology.wires.len() as u32 {
            self.dependencies
                .wire_events
                .schedule(w, self.topology.wires.head_ns(w));
        }
        for t in 0..self.transfers.len() {
            let due_ns =
                self.dependencies.receiver_due_ns[t].min(self.dependencies.sender_due_ns[t]);
            self.dependencies.transfer_events.schedule(t as u32, due_ns);
        }
        let (mut links, mut transfers) = (Vec::new(), Vec::new());
        loop {
            let wires_ns = self.dependencies.wire_events.next_ns();
            let event_ns = wires_ns
                .min(self.dependencies.transfer_events.next_ns())
                .min(self.dependencies.link_events.next_ns());
            if event_ns >= end_ns {
                break;
            }
            let until_ns = event_ns + 1;
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(t) = self.dependencies.transfer_events.pop_before(until_ns) {
                transfers.push(t);
            }
            transfers.sort_unstable();
            transfers.dedup();
            for t in transfers.drain(..) {
                self.run_transfer(t, until_ns);
            }
            self.schedule_changed_wires();
            self.take_wires(until_ns, &mut links, &mut transfers);
            while let Some(l) = self.dependencies.link_events.pop_before(until_ns) {
                links.push(l);
            }
            links.sort_unstable_by_key(|&l| self.dependencies.links_of[l as usize].rank);
            links.dedup();
            for l in links.drain(..) {
                self.run_link(l as usize, until_ns);
                self.schedule_link(l as usize);
            }
            self.schedule_changed_wires();
        }
        self.topology.wires.are_watched = false;
    }

    /// Adds the links and transfers at which packets arrive before `until_ns`.
    fn take_wires(&mut self, until_ns: u64, links: &mut Vec<u32>, transfers: &mut Vec<u32>) {
        while let Some(w) = self.dependencies.wire_events.pop_before(until_ns) {
            match self.topology.targets[w as usize] {
                Target::Link(l) => links.push(l),
                Target::Receiver(t) | Target::Sender(t) => transfers.push(t),
            }
        }
    }

    /// Schedules the next departure of a link whose discipline decides at departure.
    #[inline]
    fn schedule_link(&mut self, l: usize) {
        let link = &self.links[l];
        if link.queue.is_managed() {
            self.dependencies
                .link_events
                .schedule(l as u32, link.due_ns());
        }
    }

    fn schedule_changed_wires(&mut self) {
        let wires = &mut self.topology.wires;
        let mut changed = std::mem::take(&mut wires.changed);
        for w in changed.drain(..) {
            self.dependencies.wire_events.schedule(w, wires.head_ns(w));
        }
        wires.changed = changed;
    }

    /// Runs all events before `until_ns` at both endpoints of a transfer, or at those of its session slot.
    fn run_transfer(&mut self, t: u32, until_ns: u64) {
        if let Some(slot) = self.sessions.slot_of[t as usize] {
            return self.run_session_slot(slot.index(), until_ns);
        }
        let transfer = &mut self.transfers[t as usize];
        transfer.run(until_ns, &mut self.topology.wires);
        let due_ns = (transfer.receiver.due_ns(), transfer.sender_due_ns());
        self.dependencies.set_due(t, due_ns.0, due_ns.1);
        self.record_delays(t as usize);
        self.record_round_trips(t as usize);
    }
}
