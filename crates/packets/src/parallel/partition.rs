//! A network in parts that are followed at the same time, by one thread each.
//!
//! Every link belongs to a part, and with it the wires that end there, the ends that it feeds and what
//! these know. A part is an [`Engine`] in which nothing stands where other parts have something. In
//! rounds, each part has one turn of all its links, as far as horizons allow; then parts tell each other their
//! horizons and hand over what they have sent each other. So a link waits for horizons as it always does,
//! those of other parts as they were after the last round, and what happens is the same as in one piece.
//! After a stretch of time all that belongs to parts is taken back, for whoever asks.

use std::thread;

use crate::endpoint::delays::Delays;
use crate::endpoint::transfer::Transfer;
use crate::engine::{Account, Engine};
use crate::link::queue::Link;
use crate::parallel::partitioning::{Partitioning, partition_links};
use crate::parallel::spin_barrier::SpinBarrier;
use crate::parallel::sync_round::SyncRound;
use crate::parallel::tuner::Tuner;
use crate::sessions::events::Sessions;
use crate::sync::sweep_order;
use crate::tie_break::TieBreak;
use crate::topology::Target;

/// In each round a part has to serve so many packets, or it takes longer to wait for the others than to
/// do their work.
const PKTS_PER_ROUND: f64 = 30.0;
/// A part that has served so many times its share is too large: which is found out after so many packets,
/// and so many for each hop.
const MAX_IMBALANCE: f64 = 1.25;
const MIN_PKTS: u64 = 30_000;
const PKTS_PER_HOP: u64 = 50;

/// A network in parts.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    each: Vec<Partition>,
    /// How many threads there are for them.
    pub threads: usize,
    /// What a part has to serve in a round at least.
    pub pkts_per_round: f64,
    /// Packets in a nanosecond when the network, as it is now, was divided or was not worth it; 0 before that.
    partitioned_at_rate: f64,
    cut_lookahead_ns: u64,
    /// By link: packets that had arrived when parts were last compared.
    compared: Vec<u64>,
    /// Whether to use them, where that may be worth it.
    pub tuner: Tuner,
}

#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub engine: Engine,
    /// What it has: links, wires that end there, hops over its links, transfers whose senders and whose
    /// receivers are there, and the connections of these.
    pub links: Vec<u32>,
    wires: Vec<u32>,
    hops: Vec<u32>,
    senders: Vec<u32>,
    receivers: Vec<u32>,
    sending: Vec<u32>,
    receiving: Vec<u32>,
    /// Wires on which it sends something to another part, and to which.
    pub out: Vec<(u32, u32)>,
    /// Whether what it has lies where nothing of other parts does.
    pub is_own: bool,
    /// Links of other parts that its own wait for, and its own that those of others wait for.
    pub remote_inputs: Vec<u32>,
    pub border: Vec<u32>,
}

/// In which parts links are, and the two ends of transfers.
struct PartitionOf {
    links: Vec<u32>,
    senders: Vec<u32>,
    receivers: Vec<u32>,
}

impl PartitionOf {
    fn of(&self, target: Target) -> u32 {
        match target {
            Target::Link(l) => self.links[l as usize],
            Target::Receiver(t) => self.receivers[t as usize],
            Target::Sender(t) => self.senders[t as usize],
        }
    }
}

/// All of them in order, each once.
fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// No part.
const NONE: u32 = u32::MAX;

impl Default for Partitions {
    fn default() -> Partitions {
        Partitions {
            each: Vec::new(),
            threads: 1,
            pkts_per_round: PKTS_PER_ROUND,
            partitioned_at_rate: 0.0,
            cut_lookahead_ns: 0,
            compared: Vec::new(),
            tuner: Tuner::default(),
        }
    }
}

impl Partitions {
    /// Whether the network is followed in parts.
    #[cfg(test)]
    pub fn are_there(&self) -> bool {
        !self.each.is_empty()
    }
}

impl Engine {
    /// The network is another one from now on.
    pub fn discard_partitions(&mut self) {
        for part in self.parts.each.drain(..) {
            for h in part.hops {
                let h = h as usize;
                self.plan.hops[h].arrived += part.engine.plan.hops[h].arrived;
            }
        }
        self.parts.partitioned_at_rate = 0.0;
    }

    /// Packets that have arrived at the link of a hop: those that parts have counted are left there.
    pub fn arrived_at(&self, hop: usize) -> u64 {
        let parts = self.parts.each.iter();
        let in_parts = parts.filter_map(|part| Some(part.engine.plan.hops.get(hop)?.arrived));
        self.plan.hops[hop].arrived + in_parts.sum::<u64>()
    }

    /// Whether the network can be followed in parts.
    pub fn may_be_partitioned(&self) -> bool {
        let is_whole =
            !self.visits.classes.is_empty() || !self.edges.is_empty() || self.schedule.in_order;
        self.parts.threads >= 2 && !is_whole
    }

    /// Whether following the network in parts may be worth it. It is divided now if it is to be followed so and has not been.
    pub fn may_run_in_parallel(&mut self) -> bool {
        let Some(pkts_per_ns) = self.pkts_per_ns.filter(|_| self.may_be_partitioned()) else {
            return false;
        };
        let pkts_in = |ns: u64| pkts_per_ns * ns as f64;
        let most = pkts_in(self.schedule.order.advance_ns) / self.parts.pkts_per_round;
        let wanted = self.parts.threads.min(most as usize);
        if wanted < 2 {
            return false;
        }
        // More traffic may be worth more parts.
        let is_more = pkts_per_ns >= 2.0 * self.parts.partitioned_at_rate;
        if !self.parts.tuner.use_threads {
            return is_more || !self.parts.each.is_empty();
        }
        if is_more && self.parts.each.len() < wanted {
            self.make_partitions(wanted, pkts_per_ns);
        }
        let advance_ns = self
            .schedule
            .order
            .advance_ns
            .min(self.parts.cut_lookahead_ns);
        let parts = self.parts.each.len();
        parts > 0 && pkts_in(advance_ns) >= self.parts.pkts_per_round * parts as f64
    }

    /// As [`Engine::sweep`], by several threads.
    pub fn sweep_in_parallel(&mut self, end_ns: u64) {
        self.start_senders(end_ns);
        let mut parts = std::mem::take(&mut self.parts.each);
        for part in &mut parts {
            self.swap(part);
            part.engine.now_ns = self.now_ns;
            let (mine, theirs) = (&self.schedule, &mut part.engine.schedule);
            theirs
                .earliest_output_ns
                .clone_from(&mine.earliest_output_ns);
            theirs.sender_due_ns.clone_from(&mine.sender_due_ns);
            theirs.receiver_due_ns.clone_from(&mine.receiver_due_ns);
        }
        let rounds = [(); 2].map(|()| SyncRound::new(self.links.len(), parts.len()));
        let barrier = SpinBarrier::new(parts.len());
        let follow = |number: usize, part: &mut Partition| {
            let _attendance = barrier.poison_on_panic();
            part.follow(number, end_ns, &rounds, &barrier);
        };
        thread::scope(|scope| {
            let mut each = parts.iter_mut().enumerate();
            let mine = each.next();
            for (number, part) in each {
                let thread = thread::Builder::new();
                let spawned = thread.spawn_scoped(scope, move || follow(number, part));
                if spawned.is_err() {
                    return barrier.poison();
                }
            }
            if let Some((number, part)) = mine {
                follow(number, part);
            }
        });
        for part in &mut parts {
            self.take_back(part);
        }
        self.parts.each = parts;
        if barrier.is_poisoned() {
            // There are no more threads: nothing has happened.
            self.parts.threads = 1;
            self.discard_partitions();
            return self.sweep(end_ns);
        }
        self.rebalance_partitions();
    }

    /// What is written again and again goes to memory that this thread gets. Where two threads write what lies side by side,
    /// each waits for the other (false sharing).
    pub fn move_in_memory(&mut self) {
        self.links = self.links.clone();
        self.transfers = self.transfers.clone();
        self.delays = self.delays.clone();
        self.plan.wires = self.plan.wires.clone();
    }

    /// What a part has, or gives back.
    fn swap(&mut self, part: &mut Partition) {
        let theirs = &mut part.engine;
        for &l in &part.links {
            let l = l as usize;
            std::mem::swap(&mut self.links[l], &mut theirs.links[l]);
            let (mine, other) = (&self.schedule.places[l], &mut theirs.schedule.places[l]);
            (other.until_ns, other.ends_ns) = (mine.until_ns, mine.ends_ns);
        }
        for &w in &part.wires {
            self.plan.wires.swap(w, &mut theirs.plan.wires);
        }
        for &t in &part.receivers {
            let (mine, other) = (
                &mut self.transfers[t as usize],
                &mut theirs.transfers[t as usize],
            );
            std::mem::swap(&mut mine.receiving, &mut other.receiving);
        }
        for &t in &part.senders {
            self.transfers[t as usize].swap_sending(&mut theirs.transfers[t as usize]);
        }
        for &c in &part.receiving {
            let (mine, other) = (&mut self.delays[c as usize], &mut theirs.delays[c as usize]);
            std::mem::swap(&mut mine.one_way, &mut other.one_way);
        }
        for &c in &part.sending {
            let (mine, other) = (&mut self.delays[c as usize], &mut theirs.delays[c as usize]);
            std::mem::swap(&mut mine.round_trip, &mut other.round_trip);
        }
    }

    fn take_back(&mut self, part: &mut Partition) {
        self.swap(part);
        let theirs = &mut part.engine;
        for (mine, other) in self.accounts.iter_mut().zip(&mut theirs.accounts) {
            mine.add(&std::mem::replace(other, Account::new(None)));
        }
        for &t in &part.receivers {
            let t = t as usize;
            self.schedule.receiver_due_ns[t] = theirs.schedule.receiver_due_ns[t];
        }
        for &t in &part.senders {
            let t = t as usize;
            self.schedule.sender_due_ns[t] = theirs.schedule.sender_due_ns[t];
        }
    }

    /// If one part had far more to do than its share, parts are made anew.
    fn rebalance_partitions(&mut self) {
        let (links, compared) = (&self.links, &self.parts.compared);
        let since = |&l: &u32| links[l as usize].queue.counts.offered() - compared[l as usize];
        let each = self.parts.each.iter();
        let served: Vec<u64> = each
            .map(|part| part.links.iter().map(since).sum())
            .collect();
        let all: u64 = served.iter().sum();
        let most = served.iter().max().copied().unwrap_or(0) as f64;
        // Fewer say little, and to partition_links anew costs as much as to serve so many.
        let few = MIN_PKTS + PKTS_PER_HOP * self.plan.hops.len() as u64;
        if all < few {
            return;
        }
        if most * self.parts.each.len() as f64 > MAX_IMBALANCE * all as f64 {
            self.discard_partitions();
        } else {
            self.record_compared();
        }
    }

    fn record_compared(&mut self) {
        let offered = self.links.iter().map(|link| link.queue.counts.offered());
        self.parts.compared = offered.collect();
    }

    /// Divides the network by what links had to do of late.
    fn make_partitions(&mut self, wanted: usize, pkts_per_ns: f64) {
        self.discard_partitions();
        self.parts.partitioned_at_rate = pkts_per_ns;
        let compared = &self.parts.compared;
        let of_late = |(l, link): (usize, &Link)| {
            let before = compared.get(l).copied().unwrap_or(0);
            1 + link.queue.counts.offered() - before
        };
        let weights: Vec<u64> = self.links.iter().enumerate().map(of_late).collect();
        let mut near = Vec::new();
        for (l, place) in (0..).zip(&self.schedule.places) {
            for &k in &place.after {
                let lookahead_ns = self.links[k as usize].delay_ns
                    + self.schedule.places[k as usize].least_service_ns;
                near.push((lookahead_ns, k, l));
            }
        }
        let together = self.must_share_partition();
        // Fewer parts may be farther apart.
        let pays = |division: &Partitioning, parts: usize| {
            let cut_lookahead_ns = self
                .schedule
                .order
                .advance_ns
                .min(division.cut_lookahead_ns);
            pkts_per_ns * cut_lookahead_ns as f64 >= self.parts.pkts_per_round * parts as f64
        };
        let fewer = std::iter::successors(Some(wanted), |parts| Some(parts / 2));
        let best = fewer.take_while(|&parts| parts > 1).find_map(|parts| {
            let division = partition_links(&weights, &together, near.clone(), parts)?;
            pays(&division, parts).then_some((parts, division))
        });
        self.record_compared();
        let Some((parts, division)) = best else {
            return;
        };
        self.parts.cut_lookahead_ns = division.cut_lookahead_ns;
        let ends = (0..self.transfers.len()).map(|t| self.ends_in(t, &division.part_of));
        let (senders, receivers) = ends.unzip();
        let whereabouts = PartitionOf {
            links: division.part_of,
            senders,
            receivers,
        };
        let each = (0..parts as u32).map(|number| self.part(number, &whereabouts));
        self.parts.each = each.collect();
    }

    /// Links that have to be in the same part: those that feed one end, and those that feed both
    /// ends where one sees the other's state.
    fn must_share_partition(&self) -> Vec<(u32, u32)> {
        let mut together: Vec<(u32, u32)> = (0..).zip(self.plan.senders.iter().copied()).collect();
        together.retain(|(l, sender)| l != sender);
        for (transfer, ends) in self.transfers.iter().zip(&self.plan.ends) {
            let receiver = self.plan.links_before(ends.data_in);
            let sender = self.plan.links_before(ends.acks_in);
            let mut all_with = |first: Option<&u32>, links: &[u32]| {
                let pairs = links.iter().filter_map(|&l| Some((*first?, l)));
                together.extend(pairs);
            };
            all_with(receiver.first(), receiver);
            all_with(sender.first(), sender);
            if transfer.sees_arrivals() {
                all_with(receiver.first(), sender);
            }
        }
        together
    }

    /// In which part the sender of a transfer is, and its receiver. A sender that hears of nothing is in
    /// none: it has acted before.
    fn ends_in(&self, t: usize, part_of: &[u32]) -> (u32, u32) {
        let ends = &self.plan.ends[t];
        let fed_in = |wire: u32| match self.plan.links_before(wire) {
            [] => NONE,
            [l, ..] => part_of[*l as usize],
        };
        let receiver = fed_in(ends.data_in);
        match self.transfers[t].sees_arrivals() {
            true => (receiver, receiver),
            false => (fed_in(ends.acks_in), receiver),
        }
    }

    /// One of the parts.
    fn part(&self, number: u32, whereabouts: &PartitionOf) -> Partition {
        let mine = |l: u32| whereabouts.links[l as usize] == number;
        let here = |all: &[u32]| -> Vec<u32> {
            let each = (0..).zip(all).filter(|&(_, &part)| part == number);
            each.map(|(i, _)| i).collect()
        };
        let links = here(&whereabouts.links);
        let (senders, receivers) = (here(&whereabouts.senders), here(&whereabouts.receivers));
        let hops = (0..).zip(&self.plan.specs);
        let hops = hops.filter(|(_, spec)| mine(spec.link));
        let hops: Vec<u32> = hops.map(|(h, _)| h).collect();
        let connections = |transfers: &[u32]| {
            let ends = transfers.iter().map(|&t| &self.plan.ends[t as usize]);
            sorted(ends.map(|ends| ends.connection))
        };
        let wires = (0..).zip(&self.plan.targets);
        let wires = wires.filter(|&(_, &target)| whereabouts.of(target) == number);
        let wires: Vec<u32> = wires.map(|(w, _)| w).collect();
        // What hops, senders and receivers send on.
        let ends = |t: &u32| &self.plan.ends[*t as usize];
        let of_hops = hops.iter().map(|&h| self.plan.hops[h as usize].out);
        let of_senders = senders.iter().map(|t| ends(t).data.wire);
        let of_receivers = receivers.iter().map(|t| ends(t).acks.wire);
        let sent_on = of_hops.chain(of_senders).chain(of_receivers);
        let out = sent_on
            .filter_map(|w| Some((w, whereabouts.of(*self.plan.targets.get(w as usize)?))))
            .filter(|&(_, part)| part != number && part != NONE);
        let after = |l: u32| self.schedule.places[l as usize].after.iter().copied();
        let remote_inputs = links.iter().flat_map(|&l| after(l)).filter(|&l| !mine(l));
        let others = (0..self.links.len() as u32).filter(|&l| !mine(l));
        let border = others.flat_map(after).filter(|&l| mine(l));
        let (out, remote_inputs, border) = (sorted(out), sorted(remote_inputs), sorted(border));
        Partition {
            engine: self.placeholder(mine),
            is_own: false,
            sending: connections(&senders),
            receiving: connections(&receivers),
            links,
            wires,
            hops,
            senders,
            receivers,
            out,
            remote_inputs,
            border,
        }
    }

    /// The engine of the part that has these links, before it has anything.
    fn placeholder(&self, mine: impl Fn(u32) -> bool) -> Engine {
        let mut schedule = self.schedule.clone();
        sweep_order::retain(&mut schedule.order.steps, &mine);
        Engine {
            network: self.network.clone(),
            numbers: TieBreak::default(),
            seed: self.seed,
            plan: self.plan.placeholder(),
            links: self.links.iter().map(Link::placeholder).collect(),
            transfers: self.transfers.iter().map(Transfer::placeholder).collect(),
            accounts: vec![Account::new(None); self.accounts.len()],
            edges: Vec::new(),
            delays: vec![Delays::default(); self.delays.len()],
            visits: Sessions::new(self.transfers.len(), 0),
            next_event: self.next_event,
            epoch: self.epoch,
            set: self.set.clone(),
            now_ns: self.now_ns,
            pkts_per_ns: None,
            schedule,
            parts: Partitions::default(),
        }
    }
}
