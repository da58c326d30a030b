//! The window stepper: every packet is followed, in batches rather than one by one.
//!
//! Time advances in steps no longer than the shortest delay of a link, so that what leaves a link
//! within a step arrives elsewhere in a later one: within a step, links and ends do not see each
//! other, and each goes through all that arrives at it, in order, at once. A link whose inputs are
//! far away does so only every few steps. The result is that of an event-driven simulation.

mod ends;
mod plan;
mod queue;
mod receiver;
mod stepper;
mod tcp;
mod vegas;
mod wire;

use rand_pcg::Pcg32;

use ends::Transfer;
use plan::{Plan, Target};
use queue::{LinkCounts, Queue};
use wire::Packet;

pub(crate) use stepper::Window;

use crate::Queue as Discipline;
use crate::network::Network;

/// The streams of random numbers: one for each purpose and place.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Queue = 1,
    Sender = 2,
    Application = 3,
}

pub(super) fn random(seed: u64, purpose: Purpose, index: u32) -> Pcg32 {
    Pcg32::new(seed, (purpose as u64) << 32 | u64::from(index))
}

#[derive(Clone, Debug)]
struct Link {
    queue: Queue,
    delay_ns: u64,
    /// Wires that end here and hold packets.
    pending: Vec<u32>,
}

/// A network of packets.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    network: Network,
    plan: Plan,
    links: Vec<Link>,
    transfers: Vec<Transfer>,
    /// When each transfer has something to do by itself.
    due_ns: Vec<u64>,
    /// Transfers at which packets arrive, and links.
    awake: Vec<u32>,
    active_links: Vec<u32>,
    calendar: Calendar,
    is_awake: Vec<bool>,
    step_ns: u64,
    /// Links and transfers by how many steps they take at a time: a power of two each.
    link_log: Vec<u8>,
    transfer_log: Vec<u8>,
    /// By wire: that of its end.
    wire_log: Vec<u8>,
    /// Where steps are counted from.
    begin_ns: u64,
    now_ns: u64,
    /// Steps since the last time at which all had come equally far.
    since: u64,
    pub steps: u64,
    batch: Vec<Packet>,
    lost: Vec<u64>,
    lost_acks: u64,
}

impl Engine {
    pub fn new(network: Network, seed: u64) -> Engine {
        let plan = Plan::new(&network);
        let inner = &network.inner;
        let links: Vec<Link> = inner
            .links
            .iter()
            .enumerate()
            .map(|(i, spec)| {
                let room = inner.room_pkts[i].floor().clamp(1.0, 1e9) as usize;
                let packet_ns = 8000.0 / spec.bandwidth_bps * 1e9;
                Link {
                    queue: match spec.queue {
                        Discipline::DropTail => Queue::new(room),
                        Discipline::Red(red) => Queue::with_red(
                            room,
                            red,
                            packet_ns,
                            random(seed, Purpose::Queue, i as u32),
                        ),
                    },
                    delay_ns: (spec.delay_s * 1e9).round() as u64,
                    pending: Vec::new(),
                }
            })
            .collect();
        let transfers: Vec<Transfer> = plan
            .ends
            .iter()
            .enumerate()
            .map(|(i, ends)| {
                let spec = &inner.connections[ends.connection as usize];
                Transfer::new(spec, *ends, seed, i as u32)
            })
            .collect();
        let due_ns = transfers.iter().map(Transfer::due_ns).collect();
        let mut engine = Engine {
            lost: vec![0; transfers.len()],
            lost_acks: 0,
            is_awake: vec![false; transfers.len()],
            awake: Vec::new(),
            due_ns,
            links,
            transfers,
            step_ns: 1_000_000,
            active_links: Vec::new(),
            calendar: Calendar::default(),
            link_log: Vec::new(),
            transfer_log: Vec::new(),
            wire_log: Vec::new(),
            begin_ns: 0,
            now_ns: 0,
            since: 0,
            steps: 0,
            batch: Vec::new(),
            plan,
            network,
        };
        engine.choose_steps();
        engine
    }

    /// The step: the shortest delay; and how many of them each link and each transfer takes at
    /// once: no more than it takes its nearest input to reach it.
    fn choose_steps(&mut self) {
        const SHORTEST_NS: u64 = 500_000;
        let delay = |wire: u32| {
            let origin = self.plan.origins[wire as usize];
            origin.map_or(u64::MAX, |link| self.links[link as usize].delay_ns)
        };
        let used = self.plan.origins.iter().flatten();
        let least = used.map(|&l| self.links[l as usize].delay_ns).min();
        self.step_ns = least.unwrap_or(1_000_000).clamp(SHORTEST_NS, 50_000_000);
        let log = |ns: u64| (ns / self.step_ns).max(1).ilog2().min(6) as u8;
        self.transfer_log = self
            .plan
            .ends
            .iter()
            .map(|e| log(delay(e.data_in).min(delay(e.acks_in))))
            .collect();
        let mut link_log = vec![6_u8; self.links.len()];
        for (w, target) in self.plan.targets.iter().enumerate() {
            if let Target::Link(l) = target {
                let mine = &mut link_log[*l as usize];
                *mine = (*mine).min(log(delay(w as u32)));
            }
        }
        for (ends, &log) in self.plan.ends.iter().zip(&self.transfer_log) {
            for way in [ends.data, ends.acks] {
                if let Target::Link(l) = self.plan.targets[way.wire as usize] {
                    let mine = &mut link_log[l as usize];
                    *mine = (*mine).min(log);
                }
            }
        }
        self.wire_log = self
            .plan
            .targets
            .iter()
            .map(|target| match *target {
                Target::Link(l) => link_log[l as usize],
                Target::Receiver(t) | Target::Sender(t) => self.transfer_log[t as usize],
            })
            .collect();
        self.link_log = link_log;
    }

    /// Goes on to `end_ns`.
    pub fn run_until(&mut self, end_ns: u64) {
        self.begin_ns = self.now_ns;
        self.since = 0;
        self.register_all();
        while self.now_ns < end_ns {
            self.wake();
            self.transfers_act(end_ns);
            self.links_act(end_ns);
            self.now_ns = (self.now_ns + self.step_ns).min(end_ns);
            self.since += 1;
            self.steps += 1;
        }
    }

    fn chunk_end(&self, log: u8, end_ns: u64) -> u64 {
        (self.now_ns + (self.step_ns << log)).min(end_ns)
    }

    /// All wires with packets on them.
    fn register_all(&mut self) {
        self.calendar.clear();
        for w in 0..self.plan.wires.len() as u32 {
            if let Some(packet) = self.plan.wires[w as usize].first() {
                let time_ns = packet.time_ns;
                let log = self.wire_log[w as usize];
                self.calendar
                    .add(w, self.begin_ns, time_ns, self.step_ns, log, self.since);
            }
        }
    }

    /// Tells links and transfers of the wires on which packets arrive in the chunks that begin now.
    fn wake(&mut self) {
        let mut due = self.calendar.take(self.since);
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
        let next_ns = self.now_ns + self.step_ns;
        for (i, &due_ns) in self.due_ns.iter().enumerate() {
            if due_ns < next_ns && !self.is_awake[i] {
                self.is_awake[i] = true;
                self.awake.push(i as u32);
            }
        }
        let mut awake = std::mem::take(&mut self.awake);
        for &i in &awake {
            let i = i as usize;
            let log = self.transfer_log[i];
            // A chunk that began earlier ends where it was to end.
            let begun = self.since & !((1 << log) - 1);
            let until_ns = (self.begin_ns + (begun + (1 << log)) * self.step_ns).min(end_ns);
            let transfer = &mut self.transfers[i];
            let ends = transfer.ends;
            transfer.act(until_ns, &mut self.plan.wires);
            self.due_ns[i] = transfer.due_ns();
            self.is_awake[i] = false;
            for wire in [ends.data_in, ends.acks_in] {
                self.register(wire);
            }
            for way in [ends.data, ends.acks] {
                let wire = &mut self.plan.wires[way.wire as usize];
                if wire.is_new() {
                    wire.seen();
                    let Target::Link(l) = self.plan.targets[way.wire as usize] else {
                        continue;
                    };
                    let link = &mut self.links[l as usize];
                    if link.pending.is_empty() {
                        self.active_links.push(l);
                    }
                    link.pending.push(way.wire);
                }
            }
        }
        awake.clear();
        self.awake = awake;
    }

    /// Notes when the first packet of a wire is due, if there is one.
    #[inline]
    fn register(&mut self, wire: u32) {
        if let Some(packet) = self.plan.wires[wire as usize].first() {
            self.calendar.add(
                wire,
                self.begin_ns,
                packet.time_ns,
                self.step_ns,
                self.wire_log[wire as usize],
                self.since + 1,
            );
        }
    }

    fn links_act(&mut self, end_ns: u64) {
        let mut active = std::mem::take(&mut self.active_links);
        for &l in &active {
            let log = self.link_log[l as usize];
            let begun = self.since & !((1 << log) - 1);
            let until_ns = (self.begin_ns + (begun + (1 << log)) * self.step_ns).min(end_ns);
            self.link_acts(l as usize, until_ns);
        }
        active.clear();
        self.active_links = active;
    }

    fn link_acts(&mut self, l: usize, until_ns: u64) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let mut pending = std::mem::take(&mut self.links[l].pending);
        let mut runs = 0;
        for &w in &pending {
            let before = batch.len();
            self.plan.wires[w as usize].take_until(until_ns, &mut batch);
            runs += usize::from(batch.len() > before);
            self.register(w);
        }
        pending.clear();
        let link = &mut self.links[l];
        link.pending = pending;
        if runs > 1 {
            merge(&mut batch);
        }
        let delay_ns = link.delay_ns;
        for packet in &batch {
            let hop = &self.plan.hops[packet.hop as usize];
            let service_ns = match packet.seq {
                0 => self.plan.header_ns[packet.hop as usize],
                _ => hop.service_ns,
            };
            let Some(left_ns) = link.queue.arrive(packet.time_ns, service_ns) else {
                match self.plan.is_ack[packet.hop as usize] {
                    false => self.lost[hop.transfer as usize] += 1,
                    true => self.lost_acks += 1,
                }
                continue;
            };
            let wire = &mut self.plan.wires[hop.out as usize];
            let time_ns = left_ns + delay_ns;
            if wire.is_empty() {
                self.calendar.add(
                    hop.out,
                    self.begin_ns,
                    time_ns,
                    self.step_ns,
                    self.wire_log[hop.out as usize],
                    self.since + 1,
                );
            }
            wire.push(Packet {
                time_ns,
                hop: packet.hop + 1,
                seq: packet.seq,
            });
        }
        self.batch = batch;
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
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
        self.lost[i]
    }

    pub fn lost_acks(&self) -> u64 {
        self.lost_acks
    }

    /// Data packets of each transfer in queues and between them.
    pub fn data_under_way(&self) -> Vec<(u32, u32)> {
        let mut by_transfer = vec![(0, 0); self.transfers.len()];
        self.each_under_way(|hop, _, queued| {
            if !self.plan.is_ack[hop] {
                let (in_queues, flying) = &mut by_transfer[self.plan.hops[hop].transfer as usize];
                *in_queues += u32::from(queued);
                *flying += u32::from(!queued);
            }
        });
        by_transfer
    }

    /// Acknowledgements in queues and between them.
    pub fn acks_under_way(&self) -> (u64, u64) {
        let (mut in_queues, mut flying) = (0, 0);
        self.each_under_way(|hop, _, queued| {
            if self.plan.is_ack[hop] {
                in_queues += u64::from(queued);
                flying += u64::from(!queued);
            }
        });
        (in_queues, flying)
    }

    /// Data packets of each transfer in the queue of a link.
    pub fn queued_at(&self, l: usize) -> Vec<u32> {
        let mut by_transfer = vec![0; self.transfers.len()];
        self.each_under_way(|hop, link, queued| {
            if queued && link == l && !self.plan.is_ack[hop] {
                by_transfer[self.plan.hops[hop].transfer as usize] += 1;
            }
        });
        by_transfer
    }

    /// Every packet: the hop it has last been accepted at, the link of that hop, and whether it
    /// is still in that queue.
    fn each_under_way(&self, mut each: impl FnMut(usize, usize, bool)) {
        for (wire, origin) in self.plan.wires.iter().zip(&self.plan.origins) {
            let Some(l) = *origin else {
                continue; // all that ends have sent has reached its first link
            };
            let delay_ns = self.links[l as usize].delay_ns;
            for packet in wire.waiting() {
                let queued = packet.time_ns - delay_ns > self.now_ns;
                each(packet.hop as usize - 1, l as usize, queued);
            }
        }
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

/// Which wires have packets that arrive in which step.
#[derive(Clone, Debug, Default)]
struct Calendar {
    /// A ring over the next steps.
    days: Vec<Vec<u32>>,
    empty: Vec<u32>,
}

const DAYS: u64 = 4096;

impl Calendar {
    fn clear(&mut self) {
        self.days.resize_with(DAYS as usize, Vec::new);
        self.days.iter_mut().for_each(Vec::clear);
    }

    /// Notes a wire at the step where the chunk begins in which its packet arrives, at `earliest`
    /// at least. What is too far off is looked at earlier, and noted again.
    #[inline]
    fn add(
        &mut self,
        wire: u32,
        begin_ns: u64,
        time_ns: u64,
        step_ns: u64,
        log: u8,
        earliest: u64,
    ) {
        let step = time_ns.saturating_sub(begin_ns) / step_ns;
        let day = (step & !((1 << log) - 1)).clamp(earliest, earliest + DAYS - 2);
        self.days[(day % DAYS) as usize].push(wire);
    }

    fn take(&mut self, step: u64) -> Vec<u32> {
        std::mem::replace(
            &mut self.days[(step % DAYS) as usize],
            std::mem::take(&mut self.empty),
        )
    }

    fn give_back(&mut self, day: Vec<u32>) {
        self.empty = day;
    }
}
