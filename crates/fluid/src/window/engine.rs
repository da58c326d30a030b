//! The network of packets, and its way through steps.

use netflow_diffserv::{ActiveQueue, Aggregate, Known, Minima};
use rand::RngExt;

use super::calendar::Calendar;
use super::edge::{self, Marking};
use super::ends::Transfer;
use super::plan::{Ends, HopSpec, Plan, Target, VARIED};
use super::queue::{LinkCounts, Queue};
use super::users::{self, Crowd, Visit};
use super::wire::{Packet, Wire};
use super::{Purpose, random};
use crate::network::Network;
use crate::workload::empty_rtt_s;
use crate::{LinkSpec, Queue as Discipline};

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub queue: Queue,
    pub delay_ns: u64,
    /// Wires that end here and hold packets.
    pending: Vec<u32>,
}

/// Steps, counted from the last time at which all had come equally far.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    begin_ns: u64,
    /// Steps since then.
    since: u64,
    step_ns: u64,
    /// 2^64 / `step_ns`, rounded down: to multiply with instead of dividing.
    per_step: u64,
}

impl Clock {
    /// The end of the chunk of 2^log steps that it is in now. One that began earlier ends where it
    /// was to end.
    #[inline]
    fn chunk_end_ns(self, log: u8, end_ns: u64) -> u64 {
        let after = (self.since >> log) + 1;
        (self.begin_ns + (after << log) * self.step_ns).min(end_ns)
    }

    /// The step at which the chunk begins in which something arrives at `time_ns`; at the very
    /// beginning of a chunk perhaps the one before, where it is found to be too early.
    #[inline]
    fn step_of(self, time_ns: u64, log: u8) -> u64 {
        let after_ns = time_ns.saturating_sub(self.begin_ns);
        let step = (u128::from(after_ns) * u128::from(self.per_step)) >> 64;
        (step as u64) >> log << log
    }
}

/// A network of packets.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub network: Network,
    pub plan: Plan,
    pub links: Vec<Link>,
    pub bandwidths_bps: Vec<f64>,
    pub transfers: Vec<Transfer>,
    /// Events carried out, and which routes are in use.
    pub next_event: usize,
    pub epoch: usize,
    /// When each transfer has something to do by itself.
    due_ns: Vec<u64>,
    /// Transfers at which packets arrive, and links.
    awake: Vec<u32>,
    is_awake: Vec<bool>,
    active_links: Vec<u32>,
    calendar: Calendar,
    clock: Clock,
    /// Links and transfers by how many steps they take at a time: a power of two each.
    link_log: Vec<u8>,
    transfer_log: Vec<u8>,
    /// By wire: that of its end.
    wire_log: Vec<u8>,
    pub now_ns: u64,
    pub steps: u64,
    batch: Vec<Packet>,
    /// The edges of aggregates.
    pub edges: Vec<Marking>,
    /// By transfer.
    pub aggregate_of: Vec<Option<u32>>,
    /// Data packets of each transfer that were lost.
    pub lost: Vec<u64>,
    pub lost_acks: Vec<u64>,
    seed: u64,
    /// The users of each workload, and where visits take place.
    pub crowds: Vec<Crowd>,
    slots: Vec<Slot>,
    /// By transfer, or [`NO_SLOT`].
    slot_of: Vec<u32>,
    /// By connection: transfers beside those it had at first.
    pub more_of: Vec<Vec<u32>>,
}

/// Two transfers, the first of which has this number: for one visit after the other.
#[derive(Clone, Debug)]
struct Slot {
    first: u32,
    crowd: u32,
    pair: u32,
    visit: Option<Visit>,
}

const NO_SLOT: u32 = u32::MAX;

/// Bounds of a step, and of the steps that a link or a transfer takes at once.
const SHORTEST_NS: u64 = 500_000;
const LONGEST_NS: u64 = 50_000_000;
const MOST_STEPS_LOG: u32 = 6;

/// A packet of mean size in bits, to random early detection.
const MEAN_BITS: f64 = 8000.0;

impl Engine {
    pub fn new(network: Network, seed: u64) -> Engine {
        let plan = Plan::new(&network);
        let inner = network.inner.clone();
        let link = |(i, spec): (usize, &LinkSpec)| {
            let room = inner.room_pkts[i].floor().clamp(1.0, 1e9) as usize;
            Link {
                queue: match spec.queue {
                    // Precedences are refused before it comes to this.
                    // Where precedences count is made when routes are known.
                    Discipline::DropTail | Discipline::Rio(_) => Queue::new(room),
                    Discipline::Red(red) => Queue::with_red(
                        room,
                        red,
                        MEAN_BITS / spec.bandwidth_bps * 1e9,
                        random(seed, Purpose::Queue, i as u32),
                    ),
                },
                delay_ns: (spec.delay_s * 1e9).round() as u64,
                pending: Vec::new(),
            }
        };
        let transfer = |(i, ends): (usize, &Ends)| {
            let spec = &inner.connections[ends.connection as usize];
            Transfer::new(spec, *ends, seed, i as u32)
        };
        let transfers: Vec<Transfer> = plan.ends.iter().enumerate().map(transfer).collect();
        let mut engine = Engine {
            lost: vec![0; transfers.len()],
            lost_acks: vec![0; transfers.len()],
            seed,
            crowds: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![NO_SLOT; transfers.len()],
            more_of: vec![Vec::new(); inner.connections.len()],
            aggregate_of: plan
                .ends
                .iter()
                .map(|ends| inner.aggregate_of(ends.connection))
                .collect(),
            edges: (0..)
                .zip(&inner.aggregates)
                .map(|(i, spec)| Marking::new(spec, seed, i))
                .collect(),
            is_awake: vec![false; transfers.len()],
            awake: Vec::new(),
            due_ns: transfers.iter().map(Transfer::due_ns).collect(),
            links: inner.links.iter().enumerate().map(link).collect(),
            bandwidths_bps: inner.links.iter().map(|link| link.bandwidth_bps).collect(),
            transfers,
            next_event: 0,
            epoch: 0,
            clock: Clock::default(),
            active_links: Vec::new(),
            calendar: Calendar::default(),
            link_log: Vec::new(),
            transfer_log: Vec::new(),
            wire_log: Vec::new(),
            now_ns: 0,
            steps: 0,
            batch: Vec::new(),
            plan,
            network,
        };
        engine.open_workloads();
        engine.route(None);
        engine.tell_precedences_apart(seed);
        engine.choose_steps();
        engine.apply_events();
        engine
    }

    /// The first slot of each pair of nodes of each workload.
    fn open_workloads(&mut self) {
        let inner = self.network.inner.clone();
        let mut first_of = vec![u32::MAX; inner.connections.len()];
        for (t, ends) in (0..).zip(&self.plan.ends) {
            let first = &mut first_of[ends.connection as usize];
            *first = t.min(*first);
        }
        for (c, users) in inner.workloads.iter().enumerate() {
            let rtt_s = users
                .pairs
                .iter()
                .map(|pair| empty_rtt_s(&self.network, pair[0]));
            let arrivals = users.spec.arrivals(c, self.seed);
            let mut crowd = Crowd::new(arrivals, rtt_s.collect());
            for (p, pair) in users.pairs.iter().enumerate() {
                let first = first_of[pair[0].index()];
                crowd.left[p].push_back(self.slots.len() as u32);
                self.add_slot(first, c as u32, p as u32);
            }
            self.crowds.push(crowd);
        }
    }

    fn add_slot(&mut self, first: u32, crowd: u32, pair: u32) {
        for t in [first, first + 1] {
            self.slot_of[t as usize] = self.slots.len() as u32;
        }
        self.slots.push(Slot {
            first,
            crowd,
            pair,
            visit: None,
        });
    }

    /// A slot whose last visit is over without a trace, or a new one.
    fn free_slot(&mut self, crowd: usize, pair: usize) -> usize {
        /// How many are looked at: the first have been left longest.
        const LOOKED_AT: usize = 4;
        let left = self.crowds[crowd].left[pair].len();
        for _ in 0..left.min(LOOKED_AT) {
            let Some(slot) = self.crowds[crowd].left[pair].pop_front() else {
                break;
            };
            if self.is_drained(slot as usize) {
                return slot as usize;
            }
            self.crowds[crowd].left[pair].push_back(slot);
        }
        let inner = self.network.inner.clone();
        let first = self.transfers.len() as u32;
        for id in inner.workloads[crowd].pairs[pair] {
            self.add_transfer(id.0);
        }
        self.add_slot(first, crowd as u32, pair as u32);
        self.slots.len() - 1
    }

    /// Visits that there were at the same time, at most.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing of its transfers is on the way, or will be.
    fn is_drained(&self, slot: usize) -> bool {
        let first = self.slots[slot].first as usize;
        (first..first + 2).all(|t| {
            let it = &self.transfers[t];
            it.is_at_rest()
                && it.sent() == it.arrived + self.lost(t)
                && it.acks_sent == it.acks_arrived + self.lost_acks[t] + it.acks_stranded
        })
    }

    /// One more transfer of a connection that has others already.
    fn add_transfer(&mut self, connection: u32) {
        let t = self.transfers.len() as u32;
        self.plan.add(connection);
        let inner = self.network.inner.clone();
        let spec = &inner.connections[connection as usize];
        self.transfers.push(Transfer::new(
            spec,
            self.plan.ends[t as usize],
            self.seed,
            t,
        ));
        self.lost.push(0);
        self.lost_acks.push(0);
        self.aggregate_of.push(inner.aggregate_of(connection));
        self.is_awake.push(false);
        self.due_ns.push(u64::MAX);
        self.slot_of.push(NO_SLOT);
        self.more_of[connection as usize].push(t);
        self.route_transfer(
            t,
            inner.epochs[self.epoch].branch_of[inner.class_of[connection as usize] as usize],
        );
        // Its links have wires between them already; those to its ends are new.
        self.transfer_log.push(0);
        self.wire_log.resize(self.plan.wires.len(), 0);
    }

    /// Sends a transfer over a branch from now on.
    pub fn route_transfer(&mut self, t: u32, branch: u32) {
        self.plan
            .route(&self.network, t, branch, &self.bandwidths_bps);
        self.transfers[t as usize].ends = self.plan.ends[t as usize];
    }

    /// Those who come before `end_ns`.
    fn users_come(&mut self, end_ns: u64) {
        for c in 0..self.crowds.len() {
            while let Some((session, pair)) = self.crowds[c].come(end_ns) {
                let s = self.free_slot(c, pair);
                let visit = Visit::new(session, pair);
                let (first, came_ns) = (self.slots[s].first as usize, visit.came_ns());
                for (t, server) in [(first, false), (first + 1, true)] {
                    self.transfers[t].visit(came_ns, server);
                }
                self.due_ns[first] = came_ns;
                self.slots[s].visit = Some(visit);
            }
        }
    }

    /// All that happens at the ends of a slot's transfers before `until_ns`.
    fn slot_acts(&mut self, s: usize, until_ns: u64) {
        let slot = &mut self.slots[s];
        let first = slot.first as usize;
        let crowd = &mut self.crowds[slot.crowd as usize];
        let ends = self.transfers.get_mut(first..first + 2);
        let Some(ends) = ends.and_then(|ends| <&mut [Transfer; 2]>::try_from(ends).ok()) else {
            return;
        };
        if users::act(&mut slot.visit, ends, until_ns, &mut self.plan.wires, crowd) {
            ends.iter_mut().for_each(Transfer::leave);
            crowd.left[slot.pair as usize].push_back(s as u32);
        }
        let own_ns = slot.visit.as_ref().map_or(u64::MAX, Visit::due_ns);
        let [a, b] = &*ends;
        self.due_ns[first] = a.due_ns().min(b.due_ns()).min(own_ns);
    }

    /// Puts RIO where it is asked for. Pauses are worth packets of the mean size of the link's data.
    fn tell_precedences_apart(&mut self, seed: u64) {
        for (l, spec) in self.network.inner.links.iter().enumerate() {
            let Discipline::Rio(rio) = &spec.queue else {
                continue;
            };
            let crossing = || {
                let specs = self.plan.specs.iter();
                specs.filter(|hop| hop.link as usize == l && !hop.is_ack)
            };
            let mean_bits = match crossing().count() {
                0 => MEAN_BITS,
                n => crossing().map(|hop| hop.bits).sum::<f64>() / n as f64,
            };
            let room = self.links[l].queue.room();
            // Without the one in service.
            let waiting = u32::try_from(room - 1).unwrap_or(u32::MAX).max(1);
            // The network's builder has checked it.
            if let Ok(dropper) = rio.dropper(spec.bandwidth_bps / mean_bits, waiting) {
                let seed = random(seed, Purpose::Queue, l as u32).random();
                let active = ActiveQueue::new(dropper, 0, seed);
                self.links[l].queue = Queue::with_rio(room, active);
            }
        }
    }

    /// Edges tell each other the round-trip times of their aggregates.
    pub fn exchange(&mut self) {
        let specs = &self.network.inner.aggregates;
        let mut rtts = vec![Mean::default(); specs.len()];
        let mut rtos = rtts.clone();
        for (transfer, aggregate) in self.transfers.iter().zip(&self.aggregate_of) {
            let rtt_s = transfer.seen_rtt_s();
            if let Some(a) = *aggregate
                && rtt_s > 0.0
                && transfer.is_sending(self.now_ns)
            {
                rtts[a as usize].add(rtt_s);
                if let Some(rto_s) = transfer.rto_s() {
                    rtos[a as usize].add(rto_s);
                }
            }
        }
        let known: Vec<Option<Aggregate>> = specs
            .iter()
            .zip(rtts.iter().zip(&rtos))
            .map(|(spec, (rtt, rto))| edge::known(spec, rtt.get(), rto.get()))
            .collect();
        let minima = Minima::over(known.iter().flatten());
        for (edge, aggregate) in self.edges.iter_mut().zip(known) {
            if let Some(aggregate) = aggregate {
                edge.learn(Known { aggregate, minima });
            }
        }
    }

    /// The step: the shortest delay of a link; and how many of them each link and each transfer
    /// takes at once: no more than it takes its nearest input to reach it.
    pub fn choose_steps(&mut self) {
        let plan = &self.plan;
        let delay_ns = |wire: u32| {
            let origins = plan.origins.get(wire as usize).into_iter().flatten();
            let delays = origins.map(|&l| self.links[l as usize].delay_ns);
            delays.min().unwrap_or(u64::MAX)
        };
        let used = plan.origins.iter().flatten();
        let least = used.map(|&l| self.links[l as usize].delay_ns).min();
        let step_ns = least.unwrap_or(u64::MAX).clamp(SHORTEST_NS, LONGEST_NS);
        self.clock.step_ns = step_ns;
        self.clock.per_step = u64::MAX / step_ns;
        let log = |ns: u64| (ns / step_ns).max(1).ilog2().min(MOST_STEPS_LOG) as u8;
        let inputs = plan.ends.iter();
        self.transfer_log = inputs
            .zip(&self.slot_of)
            .map(|(e, &slot)| match slot {
                NO_SLOT => log(delay_ns(e.data_in).min(delay_ns(e.acks_in))),
                // Users act of their own accord, at any time.
                _ => 0,
            })
            .collect();
        let mut link_log = vec![MOST_STEPS_LOG as u8; self.links.len()];
        for (w, target) in plan.targets.iter().enumerate() {
            if let Target::Link(l) = target {
                let mine = &mut link_log[*l as usize];
                *mine = (*mine).min(log(delay_ns(w as u32)));
            }
        }
        for (ends, &log) in plan.ends.iter().zip(&self.transfer_log) {
            for way in [ends.data, ends.acks] {
                if let Some(Target::Link(l)) = plan.targets.get(way.wire as usize) {
                    let mine = &mut link_log[*l as usize];
                    *mine = (*mine).min(log);
                }
            }
        }
        let log_of = |target: &Target| match *target {
            Target::Link(l) => link_log[l as usize],
            Target::Receiver(t) | Target::Sender(t) => self.transfer_log[t as usize],
        };
        self.wire_log = plan.targets.iter().map(log_of).collect();
        self.link_log = link_log;
    }

    /// Goes on to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        self.clock.begin_ns = self.now_ns;
        self.clock.since = 0;
        self.register_all();
        while self.now_ns < end_ns {
            self.wake();
            self.transfers_act(end_ns);
            self.links_act(end_ns);
            self.now_ns = (self.now_ns + self.clock.step_ns).min(end_ns);
            self.clock.since += 1;
            self.steps += 1;
        }
    }

    /// All wires with packets on them.
    fn register_all(&mut self) {
        self.calendar.clear();
        for w in 0..self.plan.wires.len() as u32 {
            self.register(w, self.clock.since);
        }
    }

    /// Tells links and transfers of the wires on which packets arrive in the chunks that begin now.
    fn wake(&mut self) {
        let mut due = self.calendar.take(self.clock.since);
        for w in due.drain(..) {
            match self.plan.targets[w as usize] {
                Target::Link(l) => {
                    let link = &mut self.links[l as usize];
                    if link.pending.is_empty() {
                        self.active_links.push(l);
                    }
                    link.pending.push(w);
                }
                Target::Receiver(t) | Target::Sender(t) => {
                    let t = match self.slots.get(self.slot_of[t as usize] as usize) {
                        Some(slot) => slot.first,
                        None => t,
                    };
                    if !self.is_awake[t as usize] {
                        self.is_awake[t as usize] = true;
                        self.awake.push(t);
                    }
                }
            }
        }
        self.calendar.give_back(due);
    }

    fn transfers_act(&mut self, end_ns: u64) {
        let next_ns = self.now_ns + self.clock.step_ns;
        self.users_come(next_ns.min(end_ns));
        for (i, &due_ns) in self.due_ns.iter().enumerate() {
            if due_ns < next_ns && !self.is_awake[i] {
                self.is_awake[i] = true;
                self.awake.push(i as u32);
            }
        }
        let mut awake = std::mem::take(&mut self.awake);
        for &i in &awake {
            let i = i as usize;
            let until_ns = self.clock.chunk_end_ns(self.transfer_log[i], end_ns);
            self.is_awake[i] = false;
            if self.slot_of[i] == NO_SLOT {
                let transfer = &mut self.transfers[i];
                transfer.act(until_ns, &mut self.plan.wires);
                self.due_ns[i] = transfer.due_ns();
                self.tell_of(self.transfers[i].ends);
            } else {
                self.slot_acts(self.slot_of[i] as usize, until_ns);
                self.tell_of(self.transfers[i].ends);
                self.tell_of(self.transfers[i + 1].ends);
            }
        }
        awake.clear();
        self.awake = awake;
    }

    /// Tells links of what a transfer has sent, and the calendar of what is on the way to it.
    #[inline]
    fn tell_of(&mut self, ends: Ends) {
        for wire in [ends.data_in, ends.acks_in] {
            self.register(wire, self.clock.since + 1);
        }
        for way in [ends.data, ends.acks] {
            let Some(wire) = self.plan.wires.get_mut(way.wire as usize) else {
                continue;
            };
            if wire.is_new()
                && let Target::Link(l) = self.plan.targets[way.wire as usize]
            {
                wire.seen();
                let link = &mut self.links[l as usize];
                if link.pending.is_empty() {
                    self.active_links.push(l);
                }
                link.pending.push(way.wire);
            }
        }
    }

    /// Notes when the first packet of a wire is due, if there is one.
    #[inline]
    fn register(&mut self, wire: u32, earliest: u64) {
        let packet = self.plan.wires.get(wire as usize).and_then(Wire::first);
        if let Some(packet) = packet {
            let step = self
                .clock
                .step_of(packet.time_ns, self.wire_log[wire as usize]);
            self.calendar.add(wire, step, earliest);
        }
    }

    fn links_act(&mut self, end_ns: u64) {
        let mut active = std::mem::take(&mut self.active_links);
        for &l in &active {
            let until_ns = self.clock.chunk_end_ns(self.link_log[l as usize], end_ns);
            self.link_acts(l as usize, until_ns);
        }
        active.clear();
        self.active_links = active;
    }

    /// All that happens at a link before `until_ns`.
    fn link_acts(&mut self, l: usize, until_ns: u64) {
        let (clock, wire_log) = (self.clock, &*self.wire_log);
        let (hops, wires, calendar) = (
            &mut *self.plan.hops,
            &mut *self.plan.wires,
            &mut self.calendar,
        );
        let link = &mut self.links[l];
        let batch = &mut self.batch;
        batch.clear();
        let mut runs = 0;
        for w in link.pending.drain(..) {
            let before = batch.len();
            let wire = &mut wires[w as usize];
            wire.take_until(until_ns, batch);
            runs += usize::from(batch.len() > before);
            if let Some(next) = wire.first() {
                let step = clock.step_of(next.time_ns, wire_log[w as usize]);
                calendar.add(w, step, clock.since + 1);
            }
        }
        if runs > 1 {
            merge(batch);
        }
        for &(mut packet) in &*batch {
            let mut hop = &mut hops[packet.hop as usize];
            if hop.edge != 0 {
                let spec = &self.plan.specs[packet.hop as usize];
                let window_pkts = self.transfers[spec.transfer as usize].window_pkts();
                let edge = &mut self.edges[hop.edge as usize - 1];
                let bytes = (spec.bits / 8.0).round() as u32;
                let precedence = edge.mark(packet.time_ns, bytes, window_pkts);
                packet.hop += precedence as u32 * spec.stride;
                hop = &mut hops[packet.hop as usize];
            }
            hop.arrived += 1;
            let service_ns = match packet.seq {
                0 => self.plan.specs[packet.hop as usize].header_ns,
                seq if hop.service_ns == VARIED => {
                    let transfer = self.plan.specs[packet.hop as usize].transfer;
                    let bits = 8.0 * self.transfers[transfer as usize].wire_bytes(seq);
                    (bits / self.bandwidths_bps[l] * 1e9).round().min(1e18) as u64
                }
                _ => hop.service_ns,
            };
            let left_ns = match link.queue.has_rio() {
                false => link.queue.arrive(packet.time_ns, service_ns),
                true => {
                    let precedence = self.plan.specs[packet.hop as usize].precedence;
                    link.queue
                        .arrive_marked(packet.time_ns, service_ns, precedence)
                }
            };
            let Some(left_ns) = left_ns else {
                let spec = &self.plan.specs[packet.hop as usize];
                if let Some(aggregate) = self.aggregate_of[spec.transfer as usize]
                    && !spec.is_ack
                {
                    self.edges[aggregate as usize].lost[usize::from(spec.precedence)] += 1;
                }
                match spec.is_ack {
                    false => self.lost[spec.transfer as usize] += 1,
                    true => self.lost_acks[spec.transfer as usize] += 1,
                }
                continue;
            };
            let time_ns = left_ns + link.delay_ns;
            let out = hop.out as usize;
            let wire = &mut wires[out];
            if wire.is_empty() {
                let step = clock.step_of(time_ns, wire_log[out]);
                calendar.add(hop.out, step, clock.since + 1);
            }
            wire.push(Packet {
                time_ns,
                hop: packet.hop + 1,
                seq: packet.seq,
            });
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Packets of each precedence that arrived and were lost at a link, and the averages there.
    pub fn precedences(&self, l: usize) -> Option<([u64; 3], [u64; 3], [f64; 3])> {
        self.links[l].queue.precedences()
    }

    pub fn link_counts(&self, l: usize) -> LinkCounts {
        self.links[l].queue.counts
    }

    /// Packets × nanoseconds in the link's queue until now.
    pub fn queue_time_ns(&self, l: usize) -> f64 {
        let queue = &self.links[l].queue;
        queue.counts.sojourn_ns as f64 - queue.still_ns(self.now_ns) as f64
    }

    pub fn queue_pkts(&self, l: usize) -> usize {
        self.links[l].queue.length(self.now_ns)
    }

    /// Nanoseconds of work in the queue.
    pub fn work_ns(&self, l: usize) -> u64 {
        self.links[l].queue.work_ns(self.now_ns)
    }

    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    pub fn transfer(&self, i: usize) -> &Transfer {
        &self.transfers[i]
    }

    /// Data packets of a transfer that were lost.
    pub fn lost(&self, i: usize) -> u64 {
        self.lost[i] + self.transfers[i].stranded
    }

    pub fn lost_acks(&self) -> u64 {
        let stranded = self.transfers.iter().map(|t| t.acks_stranded);
        self.lost_acks.iter().sum::<u64>() + stranded.sum::<u64>()
    }

    /// Data packets of each transfer in queues and between them.
    pub fn data_under_way(&self) -> Vec<(u32, u32)> {
        let mut by_transfer = vec![(0, 0); self.transfers.len()];
        self.each_under_way(|hop, queued| {
            if !hop.is_ack {
                let (in_queues, flying) = &mut by_transfer[hop.transfer as usize];
                *in_queues += u32::from(queued);
                *flying += u32::from(!queued);
            }
        });
        by_transfer
    }

    /// Acknowledgements in queues and between them.
    pub fn acks_under_way(&self) -> (u64, u64) {
        let (mut in_queues, mut flying) = (0, 0);
        self.each_under_way(|hop, queued| {
            if hop.is_ack {
                in_queues += u64::from(queued);
                flying += u64::from(!queued);
            }
        });
        (in_queues, flying)
    }

    /// Every link on every way of data, and the packets that have arrived there.
    pub fn data_hops(&self) -> impl Iterator<Item = (&HopSpec, u64)> {
        let hops = self.plan.hops.iter().map(|hop| hop.arrived);
        self.plan
            .specs
            .iter()
            .zip(hops)
            .filter(|(spec, _)| !spec.is_ack)
    }

    /// Every packet: the hop it has last been accepted at, and whether it is still in that queue.
    pub fn each_under_way(&self, mut each: impl FnMut(&HopSpec, bool)) {
        for (wire, origins) in self.plan.wires.iter().zip(&self.plan.origins) {
            if origins.is_empty() {
                continue; // all that ends have sent has reached its first link
            }
            for packet in wire.waiting() {
                let hop = &self.plan.specs[packet.hop as usize - 1];
                let delay_ns = self.links[hop.link as usize].delay_ns;
                each(hop, packet.time_ns - delay_ns > self.now_ns);
            }
        }
    }
}

/// A mean, if there is anything to take it of.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// Puts packets of several wires in order of their arrival.
fn merge(batch: &mut [Packet]) {
    if batch.len() > 20 {
        return batch.sort_by_key(|p| p.time_ns);
    }
    for i in 1..batch.len() {
        let packet = batch[i];
        let mut j = i;
        while j > 0 && batch[j - 1].time_ns > packet.time_ns {
            batch[j] = batch[j - 1];
            j -= 1;
        }
        batch[j] = packet;
    }
}
