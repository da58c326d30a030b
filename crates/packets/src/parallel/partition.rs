//! Partitions of a network, each of which runs in one thread.
//!
//! A partition has links, the wires that end there, the endpoints that it feeds, and their measurements. It
//! is an [`Engine`] with placeholders for all items of other partitions. For each interval, its items are
//! swapped in from the whole network, and back at the end. The rounds between are in
//! [`sync_round`](crate::parallel::sync_round).

use std::thread;

use netflow_network::ChangeCursor;
use netflow_units::NonMaxU32;

use crate::endpoint::delay_histograms::Delays;
use crate::endpoint::transfer::Transfer;
use crate::engine::{Engine, LossCounts};
use crate::link::queue::Link;
use crate::parallel::partitioning::{Partitioning, partition_links};
use crate::parallel::spin_barrier::SpinBarrier;
use crate::parallel::sync_round::SyncRound;
use crate::parallel::tuner::Tuner;
use crate::sessions::events::Sessions;
use crate::sync::sweep_order;
use crate::tie_break::TieBreak;
use crate::topology::Target;

/// Minimum number of packets that a partition must process in a round. With fewer, waiting for the others
/// takes longer than their work.
const PKTS_PER_ROUND: f64 = 30.0;
/// Maximum load of a partition relative to the mean. It is checked after `MIN_PKTS` packets, and
/// `PKTS_PER_HOP` for each hop.
const MAX_IMBALANCE: f64 = 1.25;
const MIN_PKTS: u64 = 30_000;
const PKTS_PER_HOP: u64 = 50;

/// Partitions of a network, and their settings.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    partitions: Vec<Partition>,
    /// Maximum number of threads.
    pub threads: usize,
    /// Minimum number of packets that a partition must process in a round.
    pub pkts_per_round: f64,
    /// Packets per ns when this network was partitioned, or that was not worth it; 0 before that.
    partitioned_at_rate: f64,
    cut_lookahead_ns: u64,
    /// Number of packets that had arrived at the last comparison of loads, by link.
    arrived_at_comparison: Vec<u64>,
    /// Choice of one thread or several, where both are possible.
    pub tuner: Tuner,
}

#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub engine: Engine,
    /// Items of the partition: links, wires that end there, hops over its links, transfers whose senders and
    /// whose receivers are there, and the connections of these.
    pub links: Vec<u32>,
    wires: Vec<u32>,
    hops: Vec<u32>,
    senders: Vec<u32>,
    receivers: Vec<u32>,
    sending: Vec<u32>,
    receiving: Vec<u32>,
    /// Wires to other partitions, each with the number of the partition.
    pub output_wires: Vec<(u32, u32)>,
    /// True if the items are in memory that the partition's thread allocated.
    pub is_own: bool,
    /// Links of other partitions that feed links here, and links here that feed those of others.
    pub remote_inputs: Vec<u32>,
    pub border_links: Vec<u32>,
}

/// Partition of each link, and of the sender and receiver of each transfer, if they belong to one.
struct PartitionMap {
    links: Vec<u32>,
    senders: Vec<Option<NonMaxU32>>,
    receivers: Vec<Option<NonMaxU32>>,
}

impl PartitionMap {
    fn partition_of_target(&self, target: Target) -> Option<u32> {
        let endpoint = match target {
            Target::Link(l) => return Some(self.links[l as usize]),
            Target::Receiver(t) => self.receivers[t as usize],
            Target::Sender(t) => self.senders[t as usize],
        };
        endpoint.map(NonMaxU32::get)
    }
}

/// Returns the items in order, without duplicates.
fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Default for Partitions {
    fn default() -> Partitions {
        Partitions {
            partitions: Vec::new(),
            threads: 1,
            pkts_per_round: PKTS_PER_ROUND,
            partitioned_at_rate: 0.0,
            cut_lookahead_ns: 0,
            arrived_at_comparison: Vec::new(),
            tuner: Tuner::default(),
        }
    }
}

impl Partitions {
    /// Returns true if the network is partitioned.
    #[cfg(test)]
    pub fn is_partitioned(&self) -> bool {
        !self.partitions.is_empty()
    }
}

impl Engine {
    /// Discards all partitions, for example after a change of the network.
    pub fn discard_partitions(&mut self) {
        for part in self.partitions.partitions.drain(..) {
            for h in part.hops {
                let h = h as usize;
                self.topology.hops[h].arrived += part.engine.topology.hops[h].arrived;
            }
        }
        self.partitions.partitioned_at_rate = 0.0;
    }

    /// Returns the number of packets that have arrived at the link of a hop, including those counted in
    /// partitions.
    pub fn arrived_at(&self, hop: usize) -> u64 {
        let parts = self.partitions.partitions.iter();
        let in_parts = parts.filter_map(|part| Some(part.engine.topology.hops.get(hop)?.arrived));
        self.topology.hops[hop].arrived + in_parts.sum::<u64>()
    }

    /// Returns true if there are several threads and the network can be partitioned: it has no sessions, no
    /// aggregates, and does not require event-by-event execution.
    pub fn may_be_partitioned(&self) -> bool {
        let is_whole = !self.sessions.classes.is_empty()
            || !self.edge_markers.is_empty()
            || self.dependencies.requires_event_by_event;
        self.partitions.threads >= 2 && !is_whole
    }

    /// Returns true if several threads may be faster. Partitions the network if they are selected and the
    /// number of partitions is too small.
    pub fn may_run_in_parallel(&mut self) -> bool {
        let Some(pkts_per_ns) = self.pkts_per_ns.filter(|_| self.may_be_partitioned()) else {
            return false;
        };
        let pkts_in = |ns: u64| pkts_per_ns * ns as f64;
        let most = pkts_in(self.dependencies.order.advance_ns) / self.partitions.pkts_per_round;
        let wanted = self.partitions.threads.min(most as usize);
        if wanted < 2 {
            return false;
        }
        // More traffic may justify more partitions.
        let is_more = pkts_per_ns >= 2.0 * self.partitions.partitioned_at_rate;
        if !self.partitions.tuner.use_threads {
            return is_more || !self.partitions.partitions.is_empty();
        }
        if is_more && self.partitions.partitions.len() < wanted {
            self.make_partitions(wanted, pkts_per_ns);
        }
        let advance_ns = self
            .dependencies
            .order
            .advance_ns
            .min(self.partitions.cut_lookahead_ns);
        let parts = self.partitions.partitions.len();
        parts > 0 && pkts_in(advance_ns) >= self.partitions.pkts_per_round * parts as f64
    }

    /// Runs all events before `end_ns` as [`Engine::sweep`], in one thread for each partition.
    pub fn sweep_in_parallel(&mut self, end_ns: u64) {
        self.run_self_driven(end_ns);
        let mut parts = std::mem::take(&mut self.partitions.partitions);
        for part in &mut parts {
            self.swap(part);
            part.engine.now_ns = self.now_ns;
            let (mine, theirs) = (&self.dependencies, &mut part.engine.dependencies);
            theirs
                .earliest_output_ns
                .clone_from(&mine.earliest_output_ns);
            theirs.sender_due_ns.clone_from(&mine.sender_due_ns);
            theirs.receiver_due_ns.clone_from(&mine.receiver_due_ns);
        }
        let rounds = [(); 2].map(|()| SyncRound::new(self.links.len(), parts.len()));
        let barrier = SpinBarrier::new(parts.len());
        let run_rounds_of = |number: usize, part: &mut Partition| {
            let _attendance = barrier.poison_on_panic();
            part.run_rounds(number, end_ns, &rounds, &barrier);
        };
        thread::scope(|scope| {
            let mut each = parts.iter_mut().enumerate();
            let mine = each.next();
            for (number, part) in each {
                let thread = thread::Builder::new();
                let spawned = thread.spawn_scoped(scope, move || run_rounds_of(number, part));
                if spawned.is_err() {
                    return barrier.poison();
                }
            }
            if let Some((number, part)) = mine {
                run_rounds_of(number, part);
            }
        });
        for part in &mut parts {
            self.merge_back(part);
        }
        self.partitions.partitions = parts;
        if barrier.is_poisoned() {
            // A thread could not be started. No event has run yet.
            self.partitions.threads = 1;
            self.discard_partitions();
            return self.sweep(end_ns);
        }
        self.rebalance_partitions();
    }

    /// Moves frequently written data to memory that this thread allocates. Two threads that write to the same
    /// cache line slow each other down (false sharing).
    pub fn reallocate_locally(&mut self) {
        self.links = self.links.clone();
        self.transfers = self.transfers.clone();
        self.delays = self.delays.clone();
        self.topology.wires = self.topology.wires.clone();
    }

    /// Swaps the items of a partition between the whole network and the partition.
    fn swap(&mut self, part: &mut Partition) {
        let theirs = &mut part.engine;
        for &l in &part.links {
            let l = l as usize;
            std::mem::swap(&mut self.links[l], &mut theirs.links[l]);
            let (mine, other) = (
                &self.dependencies.links_of[l],
                &mut theirs.dependencies.links_of[l],
            );
            (other.local_time_ns, other.next_endpoint_event_ns) =
                (mine.local_time_ns, mine.next_endpoint_event_ns);
        }
        for &w in &part.wires {
            self.topology.wires.swap(w, &mut theirs.topology.wires);
        }
        for &t in &part.receivers {
            let (mine, other) = (
                &mut self.transfers[t as usize],
                &mut theirs.transfers[t as usize],
            );
            std::mem::swap(&mut mine.receiver, &mut other.receiver);
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

    fn merge_back(&mut self, part: &mut Partition) {
        self.swap(part);
        let theirs = &mut part.engine;
        for (mine, other) in self.loss_counts.iter_mut().zip(&mut theirs.loss_counts) {
            mine.add(&std::mem::replace(other, LossCounts::new(None)));
        }
        for &t in &part.receivers {
            let t = t as usize;
            self.dependencies.receiver_due_ns[t] = theirs.dependencies.receiver_due_ns[t];
        }
        for &t in &part.senders {
            let t = t as usize;
            self.dependencies.sender_due_ns[t] = theirs.dependencies.sender_due_ns[t];
        }
    }

    /// Discards the partitions if one of them has a far larger load than the mean.
    fn rebalance_partitions(&mut self) {
        let (links, compared) = (&self.links, &self.partitions.arrived_at_comparison);
        let since = |&l: &u32| links[l as usize].queue.counts.offered() - compared[l as usize];
        let each = self.partitions.partitions.iter();
        let served: Vec<u64> = each
            .map(|part| part.links.iter().map(since).sum())
            .collect();
        let all: u64 = served.iter().sum();
        let most = served.iter().max().copied().unwrap_or(0) as f64;
        // Fewer packets are no reliable sample, and a new partitioning costs as much as to process this
        // number.
        let few = MIN_PKTS + PKTS_PER_HOP * self.topology.hops.len() as u64;
        if all < few {
            return;
        }
        if most * self.partitions.partitions.len() as f64 > MAX_IMBALANCE * all as f64 {
            self.discard_partitions();
        } else {
            self.record_comparison();
        }
    }

    fn record_comparison(&mut self) {
        let offered = self.links.iter().map(|link| link.queue.counts.offered());
        self.partitions.arrived_at_comparison = offered.collect();
    }

    /// Partitions the network into at most `wanted` partitions, by the recent load of links.
    fn make_partitions(&mut self, wanted: usize, pkts_per_ns: f64) {
        self.discard_partitions();
        self.partitions.partitioned_at_rate = pkts_per_ns;
        let compared = &self.partitions.arrived_at_comparison;
        let of_late = |(l, link): (usize, &Link)| {
            let before = compared.get(l).copied().unwrap_or(0);
            1 + link.queue.counts.offered() - before
        };
        let weights: Vec<u64> = self.links.iter().enumerate().map(of_late).collect();
        let mut near = Vec::new();
        for (l, link_dependencies) in (0..).zip(&self.dependencies.links_of) {
            for &k in &link_dependencies.bounding_links {
                let lookahead_ns = self.links[k as usize].min_delay_ns
                    + self.dependencies.links_of[k as usize].min_service_ns;
                near.push((lookahead_ns, k, l));
            }
        }
        let together = self.must_share_partition();
        // With fewer partitions, the lookahead between them may be longer.
        let pays = |division: &Partitioning, parts: usize| {
            let cut_lookahead_ns = self
                .dependencies
                .order
                .advance_ns
                .min(division.cut_lookahead_ns);
            pkts_per_ns * cut_lookahead_ns as f64 >= self.partitions.pkts_per_round * parts as f64
        };
        let fewer = std::iter::successors(Some(wanted), |parts| Some(parts / 2));
        let best = fewer.take_while(|&parts| parts > 1).find_map(|parts| {
            let division = partition_links(&weights, &together, near.clone(), parts)?;
            pays(&division, parts).then_some((parts, division))
        });
        self.record_comparison();
        let Some((parts, division)) = best else {
            return;
        };
        self.partitions.cut_lookahead_ns = division.cut_lookahead_ns;
        let ends =
            (0..self.transfers.len()).map(|t| self.endpoint_partitions(t, &division.partition_of));
        let (senders, receivers) = ends.unzip();
        let whereabouts = PartitionMap {
            links: division.partition_of,
            senders,
            receivers,
        };
        let each = (0..parts as u32).map(|number| self.build_partition(number, &whereabouts));
        self.partitions.partitions = each.collect();
    }

    /// Returns pairs of links that must share a partition: the queues of one link, links that feed one
    /// endpoint, and links that feed both endpoints of a transfer whose sender observes arrivals.
    fn must_share_partition(&self) -> Vec<(u32, u32)> {
        let mut together: Vec<(u32, u32)> =
            (0..).zip(self.topology.senders.iter().copied()).collect();
        together.retain(|(l, sender)| l != sender);
        for (transfer, ends) in self.transfers.iter().zip(&self.topology.ends) {
            let receiver = self.topology.feeding_links(ends.data_input_wire);
            let sender = self.topology.feeding_links(ends.acks_input_wire);
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

    /// Returns the partitions of the sender and the receiver of a transfer. Self-driven senders belong to
    /// none, because they run before the rounds.
    fn endpoint_partitions(
        &self,
        t: usize,
        part_of: &[u32],
    ) -> (Option<NonMaxU32>, Option<NonMaxU32>) {
        let ends = &self.topology.ends[t];
        let fed_in = |wire: u32| {
            let l = *self.topology.feeding_links(wire).first()?;
            NonMaxU32::new(part_of[l as usize])
        };
        let receiver = fed_in(ends.data_input_wire);
        if self.transfers[t].sees_arrivals() {
            (receiver, receiver)
        } else {
            (fed_in(ends.acks_input_wire), receiver)
        }
    }

    /// Returns partition `number`.
    fn build_partition(&self, number: u32, partition_map: &PartitionMap) -> Partition {
        let mine = |l: u32| partition_map.links[l as usize] == number;
        let here = |all: &[Option<NonMaxU32>]| -> Vec<u32> {
            let each = (0..).zip(all);
            let each = each.filter(|&(_, &part)| part == NonMaxU32::new(number));
            each.map(|(i, _)| i).collect()
        };
        let links: Vec<u32> = (0..self.links.len() as u32).filter(|&l| mine(l)).collect();
        let (senders, receivers) = (here(&partition_map.senders), here(&partition_map.receivers));
        let hops = (0..).zip(&self.topology.specs);
        let hops = hops.filter(|(_, spec)| mine(spec.link));
        let hops: Vec<u32> = hops.map(|(h, _)| h).collect();
        let connections = |transfers: &[u32]| {
            let ends = transfers.iter().map(|&t| &self.topology.ends[t as usize]);
            sorted(ends.map(|ends| ends.connection))
        };
        let wires = (0..).zip(&self.topology.targets);
        let wires =
            wires.filter(|&(_, &target)| partition_map.partition_of_target(target) == Some(number));
        let wires: Vec<u32> = wires.map(|(w, _)| w).collect();
        // Wires on which hops, senders and receivers of this partition send.
        let ends = |t: &u32| &self.topology.ends[*t as usize];
        let of_hops = hops
            .iter()
            .map(|&h| self.topology.hops[h as usize].output_wire);
        let of_senders = senders.iter().map(|t| ends(t).data.wire);
        let of_receivers = receivers.iter().map(|t| ends(t).acks.wire);
        let sent_on = of_hops.chain(of_senders).chain(of_receivers);
        let out = sent_on
            .filter_map(|w| {
                let target = *self.topology.targets.get(w as usize)?;
                Some((w, partition_map.partition_of_target(target)?))
            })
            .filter(|&(_, part)| part != number);
        let bounding_links = |l: u32| {
            self.dependencies.links_of[l as usize]
                .bounding_links
                .iter()
                .copied()
        };
        let remote_inputs = links
            .iter()
            .flat_map(|&l| bounding_links(l))
            .filter(|&l| !mine(l));
        let others = (0..self.links.len() as u32).filter(|&l| !mine(l));
        let border = others.flat_map(bounding_links).filter(|&l| mine(l));
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
            output_wires: out,
            remote_inputs,
            border_links: border,
        }
    }

    /// Returns the engine of the partition with the links of `mine`, with placeholders for all items.
    fn placeholder(&self, mine: impl Fn(u32) -> bool) -> Engine {
        let mut dependencies = self.dependencies.clone();
        sweep_order::retain(&mut dependencies.order.steps, &mine);
        Engine {
            network: self.network.clone(),
            tie_break: TieBreak::default(),
            seed: self.seed,
            topology: self.topology.placeholder(),
            links: self.links.iter().map(Link::placeholder).collect(),
            transfers: self.transfers.iter().map(Transfer::placeholder).collect(),
            loss_counts: vec![LossCounts::new(None); self.loss_counts.len()],
            edge_markers: Vec::new(),
            delays: vec![Delays::default(); self.delays.len()],
            sessions: Sessions::new(self.transfers.len(), 0),
            changes: ChangeCursor::default(),
            epoch: self.epoch,
            control_states: self.control_states.clone(),
            now_ns: self.now_ns,
            pkts_per_ns: None,
            dependencies,
            partitions: Partitions::default(),
        }
    }
}
