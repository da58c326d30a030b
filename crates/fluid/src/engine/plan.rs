//! Compiled network: processing order of links and layout of all arrays, made once per network.
//!
//! A *hop* is one branch at one link. Hops are stored link by link in processing order, so the data of a link
//! is contiguous. Links are processed in levels. Packets forwarded by one level reach links of later levels
//! within the same step, and other links in the next step.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use netflow_network::compiled::{CompiledNetwork, PathPair};
use netflow_network::{
    ACK_BYTES, AggregateId, BufferLimit, Calibration, ConnectionSpec, LinkSpec, Overhead, Source,
    WorkloadSpec,
};
use netflow_profile::Profile;
use netflow_workload::TransferSizes;

use super::aqm_law::EarlyDropPolicy;
use super::class_scheduler::Schedule;
use super::components::{Component, component_of_links};
use super::link_order::LinkOrder;
use super::queue::light_rho;
use super::rio::RioQueue;
use super::sources::FixedDelays;
use super::tcp_window::{self, TcpWindow, WindowSample};
use crate::delays::BranchDelays;
use crate::load_ramp::Ramp;
use crate::state::{LinkState, State};

/// Hops per block, the unit of parallel work. Sums are formed block by block, so this value affects the last
/// bits of results.
const BLOCK_HOPS: usize = 4096;

/// Number of hops from which a step uses several threads.
pub(super) const FORK_HOPS: usize = 20_000;

/// Maximum number of parts into which a link delay is divided. Packets within one part are stored together,
/// over any number of steps.
const MAX_PARTS: f64 = 60.0;

pub(crate) struct Plan {
    /// Position of each hop's input in `forwarded`: branches (sources) first, then hops.
    pub up: Vec<u32>,
    /// Runs of hops with packets of one kind, block by block.
    pub runs: Vec<HopRun>,
    /// All links: those with traffic in processing order, then the others.
    pub links: Vec<LinkPlan>,
    /// Connected components, at least one; only one if all steps have the same length.
    pub components: Vec<Component>,
    /// Ranges of `links`, one per level of each component.
    pub levels: Vec<(usize, usize)>,
    /// Levels whose links feed each other and therefore take their arrivals at once.
    pub at_once: Vec<bool>,
    pub blocks: Vec<Block>,
    /// Rank in `links` of each link of the network.
    pub rank: Vec<u32>,
    /// Rank of each branch in the order of sums.
    pub branch_rank: Vec<u32>,
    /// Hash that is equal for networks with the same links and connections, row by row, and the same options.
    pub fingerprint: u64,
    /// Paths of all branches as ranks in `links`, parallel to the network's `path_links`.
    pub path: Vec<u32>,
    /// Profiles of all sources, each once.
    pub profiles: Vec<Arc<dyn Profile>>,
    /// Transfers of which a class's rate is the mean, by class.
    pub transfers: Vec<Option<Arc<TransferSizes>>>,
    /// Load ramps of workloads.
    pub ramps: Vec<Ramp>,
    /// Hops of each branch, data first, then the return path: `hops[hops_of[b]..hops_of[b + 1]]`.
    pub hops_of: Vec<u32>,
    pub hops: Vec<u32>,
    /// Branch of each hop.
    pub branch_of: Vec<u32>,
    pub branches: Vec<BranchPlan>,
    /// Hops from which packets leave the network, in increasing order, so that a step reads them
    /// sequentially.
    pub ends: Vec<u32>,
    /// Branches with a limited amount of data, by component and class.
    pub limited: Vec<u32>,
    /// Queues with drop precedences.
    pub rio: Vec<RioQueue>,
    /// Links with several queues.
    pub schedules: Vec<Schedule>,
    /// True if packets have more bits on the wire of some link than those of IP.
    pub has_overhead: bool,
    /// True if the routes are free of cycles, so that everything is forwarded within the step.
    pub all_same_step: bool,
    /// Size of the flight rings.
    pub flight_cells: usize,
    pub flight_batches: usize,
    /// Number of congestion windows kept as state: one per branch, or none.
    pub windows: usize,
}

/// Layout of one link: its ranges in the arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPlan {
    /// Index of the link in the network.
    pub link: u32,
    pub first_hop: u32,
    /// First hop whose next link is in the same or an earlier level.
    pub next_step_hop: u32,
    pub end_hop: u32,
    pub first_block: u32,
    pub end_block: u32,
    /// Bits of packets on the wire beyond those of IP.
    pub overhead: Overhead,
    /// Mean bits per packet on the wire if the mix is unknown.
    pub nominal_bits: f64,
    pub pkts_per_bit: f64,
    /// True if all packets have that size.
    pub one_kind: bool,
    pub room: BufferLimit,
    /// Calibration of its queue by the packet model.
    pub calibration: Calibration,
    /// ρ below which the buffer limit has no effect.
    pub light_rho: f64,
    /// Active queue management: drops before the buffer is full.
    pub early: Option<EarlyDropPolicy>,
    /// Index among the queues with drop precedences.
    pub rio: Option<u32>,
    /// Propagation delay of the link.
    pub delay_s: f64,
    /// Number of batches in flight on the link (a power of two), and the position of their weights.
    pub flight_slots: u32,
    pub first_flight: u32,
    /// Shortest and longest step for which they are sized, in seconds.
    pub step_range_s: (f64, f64),
}

/// Part of one link's hops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Rank in `links`.
    pub rank: u32,
    pub first_hop: u32,
    pub end_hop: u32,
    pub first_run: u32,
    pub end_run: u32,
    /// First cell of its flight ring.
    pub first_flight_cell: usize,
}

/// Hops with packets of the same kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopRun {
    pub first_hop: u32,
    pub end_hop: u32,
    /// Packets on this link per data packet (0.5 if two data packets share an acknowledgement).
    pub packets: f64,
    /// Bits on the wire of this link per data packet.
    pub bits: f64,
    /// Drop precedence of its packets.
    pub precedence: u32,
}

impl Block {
    pub fn range(&self) -> Range<usize> {
        self.first_hop as usize..self.end_hop as usize
    }

    pub fn hops(&self) -> usize {
        (self.end_hop - self.first_hop) as usize
    }
}

/// Constants of a branch used in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchPlan {
    pub class: u32,
    pub weight: f64,
    /// Paths of data and acknowledgements in `path`.
    pub path: (u32, u32),
    pub way_back: (u32, u32),
    /// Index in `profiles`, or [`NO_PROFILE`].
    pub profile: u32,
    /// Rate of one connection without a profile, in packets/s.
    pub rate_pps: f64,
    pub start_s: f64,
    /// Stop time in seconds; infinite if it continues to the end.
    pub stop_s: f64,
    /// Largest window in packets; infinite if unlimited.
    pub window_pkts: f64,
    /// Whole packets to deliver for the whole class; infinite if unlimited.
    pub size_pkts: f64,
    /// Packets/s that the application of one connection makes; infinite for bulk data.
    pub application_pps: f64,
    /// Hop where its data leaves the network.
    pub last_data_hop: u32,
    /// Position of that hop in [`Plan::ends`].
    pub delivered: u32,
    /// Position of the hop where its acknowledgements leave; `u32::MAX` without.
    pub acknowledged: u32,
    /// IP bits of a data packet; see [`Plan::wire_bits`].
    pub data_bits: f64,
    /// Acknowledgements per data packet.
    pub packets_per_data: f64,
    pub aggregate: Option<AggregateId>,
    /// Index in `ramps`, or [`NO_RAMP`].
    pub ramp: u32,
    /// Index of its connection among the controllable ones, or [`NOT_CONTROLLABLE`].
    pub settable: u32,
}

/// Marker of a connection that is not controllable.
pub(crate) const NOT_CONTROLLABLE: u32 = u32::MAX;

/// Marker of a source without a load ramp.
pub(crate) const NO_RAMP: u32 = u32::MAX;

impl BranchPlan {
    /// Returns the return path if acknowledgements are traffic and wait; empty with `acks = false`.
    pub fn ack_path(&self) -> (u32, u32) {
        match self.acknowledged {
            u32::MAX => (self.way_back.1, self.way_back.1),
            _ => self.way_back,
        }
    }

    /// Returns true if it may run out of data.
    pub fn is_limited(&self) -> bool {
        self.size_pkts < f64::INFINITY || self.application_pps < f64::INFINITY
    }
}

/// Marker of a source without a profile, which sends at a fixed rate.
pub(crate) const NO_PROFILE: u32 = u32::MAX;

/// Hop while the plan is made, in the order of a link's hops. Hops that forward within the step precede the
/// others. They are then sorted by kind of packets and by next hop, so that the next links read contiguous
/// data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HopDraft {
    next_step: bool,
    /// Rank and number of the kind.
    kind: (u32, u32),
    next: [u32; 2],
    /// Rank of the branch in the order of sums.
    rank: u32,
    branch: u32,
    /// Position on the branch's path, data first.
    position: u32,
}

/// Kinds of packets: packets and their IP bits per data packet, and the precedence.
#[derive(Default)]
struct PacketKinds {
    all: Vec<(f64, f64, u32)>,
    known: HashMap<(u64, u64, u32), u32>,
    /// True if precedences make a difference.
    has_precedences: bool,
}

/// Returns a lower bound of the memory of any plan for a network, in bytes.
pub(crate) fn min_memory_bytes(inner: &CompiledNetwork) -> u64 {
    let lengths = inner.class_paths.iter().flat_map(|b| [b.data, b.back]);
    let hops: usize = lengths.map(|(first, end)| (end - first) as usize).sum();
    bytes_of(hops, inner.class_paths.len())
}

/// Returns the memory of the arrays for this number of hops and branches, in bytes.
fn bytes_of(hops: usize, branches: usize) -> u64 {
    let per_hop = 4 + 4 + 4 + 8 * 4;
    let per_branch = std::mem::size_of::<BranchPlan>() + BranchDelays::BYTES + 200;
    (per_hop * hops + per_branch * branches) as u64
}

impl PacketKinds {
    fn id(&mut self, packets: f64, bits: f64, precedence: u32) -> u32 {
        let precedence = if self.has_precedences { precedence } else { 0 };
        *self
            .known
            .entry((packets.to_bits(), bits.to_bits(), precedence))
            .or_insert_with(|| {
                self.all.push((packets, bits, precedence));
                self.all.len() as u32 - 1
            })
    }
}

impl Plan {
    /// Creates the plan for controllable connections with these initial paths, without the flight
    /// rings (see [`Plan::size_rings`]). Without `split`, all links are in one component.
    pub fn new(inner: &CompiledNetwork, paths: &[Option<u32>], split: bool) -> Plan {
        let used = inner.used_class_paths(paths);
        let ways: Vec<PathPair<'_>> = (0..inner.class_paths.len() as u32)
            .map(|b| PathPair::new(inner, b))
            .collect();
        let component_of = if split {
            component_of_links(inner, &ways)
        } else {
            vec![0; inner.links.len()]
        };
        let LinkOrder {
            links: order,
            component_of,
            level_of,
            tied,
            branch_rank,
            fingerprint,
        } = LinkOrder::new(inner, &ways, &used, component_of);

        let mut rank = vec![0; inner.links.len()];
        for (p, &link) in order.iter().enumerate() {
            rank[link as usize] = p as u32;
        }
        let mut kinds = PacketKinds {
            has_precedences: inner.has_precedences(),
            ..PacketKinds::default()
        };
        let kind_of_branch: Vec<[u32; 2]> = (0..ways.len())
            .map(|b| [kinds.of_data(inner, b), kinds.of_acks(inner, b)])
            .collect();
        let kind_rank = kinds.ranks();
        let mut drafts: Vec<Vec<HopDraft>> = vec![Vec::new(); order.len()];
        for (b, way) in ways.iter().enumerate() {
            let kind = kind_of_branch[b].map(|kind| (kind_rank[kind as usize], kind));
            for i in 0..way.len() {
                let Some(link) = way.link(i) else { continue };
                let level = |l: u32| level_of[l as usize];
                let at = |i| way.link(i).map_or(u32::MAX, |l| rank[l as usize]);
                drafts[rank[link as usize] as usize].push(HopDraft {
                    next_step: way
                        .link(i + 1)
                        .is_some_and(|next| level(next) <= level(link)),
                    kind: kind[usize::from(i >= way.data.len())],
                    next: [at(i + 1), at(i + 2)],
                    rank: branch_rank[b],
                    branch: b as u32,
                    position: i as u32,
                });
            }
        }

        let hops_of = offsets(ways.iter().map(PathPair::len));
        let hop_count = hops_of.last().copied().unwrap_or(0) as usize;
        let mut plan = Plan {
            up: vec![0; hop_count],
            runs: Vec::new(),
            links: Vec::with_capacity(order.len()),
            components: Vec::new(),
            levels: Vec::new(),
            at_once: Vec::new(),
            blocks: Vec::new(),
            path: inner.path_links.iter().map(|&l| rank[l as usize]).collect(),
            rank,
            branch_rank,
            fingerprint,
            profiles: Vec::new(),
            transfers: (0..inner.classes.len() as u32)
                .map(|class| inner.spec_of_class(class).transfers.clone())
                .collect(),
            ramps: Vec::new(),
            hops_of,
            hops: vec![0; hop_count],
            branch_of: vec![0; hop_count],
            branches: Vec::new(),
            ends: Vec::new(),
            limited: Vec::new(),
            rio: Vec::new(),
            schedules: Vec::new(),
            has_overhead: inner.links.iter().any(|link| !link.overhead.is_none()),
            all_same_step: true,
            flight_cells: 0,
            flight_batches: 0,
            windows: 0,
        };

        let mut kind_of = vec![0_u32; hop_count];
        for (p, mut drafts) in drafts.into_iter().enumerate() {
            drafts.sort_unstable();
            let first_hop = plan.links.last().map_or(0, |l: &LinkPlan| l.end_hop);
            for (h, d) in (first_hop..).zip(&drafts) {
                kind_of[h as usize] = d.kind.1;
                plan.branch_of[h as usize] = d.branch;
                plan.hops[(plan.hops_of[d.branch as usize] + d.position) as usize] = h;
            }
            let same_step = drafts.partition_point(|d| !d.next_step) as u32;
            // Unused hops count only if there are no others.
            let is_used = |d: &&HopDraft| used[d.branch as usize];
            let any = drafts.iter().any(|d| is_used(&d));
            let overhead = inner.links[order[p] as usize].overhead;
            let kind = |d: &HopDraft| kinds.on_wire(d.kind.1, overhead);
            let mean = |of: fn(&(f64, f64, u32)) -> f64| -> f64 {
                drafts
                    .iter()
                    .filter(|d| is_used(d) || !any)
                    .map(|d| of(&kind(d)))
                    .sum()
            };
            let nominal_bits = if drafts.is_empty() {
                1.0
            } else {
                mean(|k| k.1) / mean(|k| k.0)
            };
            let hops = [
                first_hop,
                first_hop + same_step,
                first_hop + drafts.len() as u32,
            ];
            let one_kind = drafts.iter().all(|d| d.kind == drafts[0].kind);
            let bits = drafts.iter().map(kind);
            let largest_bits = bits.map(|(pkts, bits, _)| bits / pkts).fold(1.0, f64::max);
            plan.add_link(inner, order[p], hops, nominal_bits, largest_bits, one_kind);
        }
        plan.all_same_step = plan.links.iter().all(|l| l.next_step_hop == l.end_hop);
        plan.link_inputs(&ways);
        plan.add_levels(&component_of, &level_of, &tied);
        plan.add_blocks(&kind_of, &kinds);
        plan.add_branches(inner, &ways);
        plan.add_components(&component_of);
        plan.add_rio_queues(inner);
        plan.add_schedules(inner);
        plan
    }

    /// Returns the bits of a packet on the wire of the link of this rank, given its IP bits.
    #[inline]
    pub fn wire_bits(&self, rank: u32, ip_bits: f64) -> f64 {
        if self.has_overhead {
            self.links[rank as usize].overhead.wire_bits(ip_bits)
        } else {
            ip_bits
        }
    }

    /// Returns the hop of a branch at its narrowest link.
    pub fn narrowest_hop(&self, fixed: &FixedDelays, b: usize) -> u32 {
        self.hops_of_branch(b)[fixed.narrowest.1 as usize]
    }

    pub fn hops_of_branch(&self, b: usize) -> &[u32] {
        &self.hops[self.hops_of[b] as usize..self.hops_of[b + 1] as usize]
    }

    /// Returns the branches of each class of limited size in a component.
    pub fn limited_classes(&self, component: &Component) -> impl Iterator<Item = &[u32]> {
        let class = |b: u32| self.branches[b as usize].class;
        self.limited[component.limited.clone()].chunk_by(move |&a, &b| class(a) == class(b))
    }

    /// Returns true if the hop is on the return path.
    pub fn is_ack(&self, hop: u32) -> bool {
        let b = self.branch_of[hop as usize] as usize;
        let data = (self.branches[b].path.1 - self.branches[b].path.0) as usize;
        !self.hops_of_branch(b)[..data].contains(&hop)
    }

    /// Returns the runs of this block.
    pub fn runs_of(&self, block: &Block) -> &[HopRun] {
        &self.runs[block.first_run as usize..block.end_run as usize]
    }

    /// Returns the blocks of one link.
    pub fn blocks_at(&self, l: &LinkPlan) -> &[Block] {
        &self.blocks[l.first_block as usize..l.end_block as usize]
    }

    /// Returns the blocks of the links of these ranks.
    pub fn blocks_of(&self, ranks: Range<usize>) -> Range<usize> {
        let first = self.links[ranks.start].first_block as usize;
        first..self.links[ranks.end - 1].end_block as usize
    }

    /// Returns the packets that a link has lost in transit: all losses of its hops minus those of the queue;
    /// `None` if it never loses any.
    pub fn link_lost_pkts(&self, state: &State, rank: usize) -> Option<f64> {
        if !state.has_loss(rank) {
            return None;
        }
        let blocks = self.blocks_at(&self.links[rank]);
        let of_run = |run: &HopRun| -> f64 {
            let hops = run.first_hop as usize..run.end_hop as usize;
            run.packets * state.lost[hops].iter().sum::<f64>()
        };
        let all: f64 = blocks
            .iter()
            .flat_map(|b| self.runs_of(b))
            .map(of_run)
            .sum();
        let queue = &state.links[rank];
        Some((all - (queue.lost_pkts - queue.cut_off_pkts)).max(0.0))
    }

    /// Returns the duration of a batch in seconds on a link with this delay.
    pub fn batch_s(&self, l: &LinkPlan, delay_s: f64) -> f64 {
        let longest_s = l.longest_flight_s(delay_s);
        let parts = parts_of(longest_s, l.step_range_s.0);
        (longest_s / parts).max(l.step_range_s.0)
    }

    /// Returns the propagation delays to the receiver and back over a branch, given the delay of each link by
    /// rank.
    pub fn propagation_s(&self, branch: &BranchPlan, delay_s: impl Fn(u32) -> f64) -> [f64; 2] {
        [branch.path, branch.way_back].map(|(from, to)| {
            let ranks = &self.path[from as usize..to as usize];
            ranks.iter().map(|&rank| delay_s(rank)).sum()
        })
    }

    /// Returns the end of the flight cells of a block.
    pub fn flight_cells_end(&self, block: &Block) -> usize {
        let slots = self.links[block.rank as usize].flight_slots as usize;
        block.first_flight_cell + slots * block.hops()
    }

    pub fn hop_count(&self) -> usize {
        self.up.len()
    }

    /// Returns true if a step uses several threads.
    pub fn is_parallel(&self) -> bool {
        self.hop_count() >= FORK_HOPS
    }

    /// Returns the memory of a run with this plan, in bytes: arrays of the engine and the plan itself.
    pub fn memory_bytes(&self) -> u64 {
        let windows = (std::mem::size_of::<TcpWindow>()
            + tcp_window::SAMPLES * std::mem::size_of::<WindowSample>())
            * self.windows;
        bytes_of(self.hop_count(), self.branches.len()) + (8 * self.flight_cells + windows) as u64
    }

    fn add_link(
        &mut self,
        inner: &CompiledNetwork,
        link: u32,
        [first_hop, next_step_hop, end_hop]: [u32; 3],
        nominal_bits: f64,
        largest_bits: f64,
        one_kind: bool,
    ) {
        let room = inner.buffer_limit(link);
        // Exhaustive, so that every new setting of a link must be simulated or rejected.
        let &LinkSpec {
            from: _,          // in the routes
            to: _,            // in the routes
            circuit: _,       // in the name
            bandwidth_bps: _, // in the state, because events change it
            delay_s,
            overhead,
            buffer: _, // in `buffer_limit`
            ref queue,
            policer: _,    // rejected
            shaper: _,     // rejected
            loss: _,       // in the state, because events change it
            trace: _,      // rejected
            series: _,     // in the state, because it changes it
            delay_line: _, // rejected
            metric: _,     // in the routes
            calibration,
        } = &inner.links[link as usize];
        self.links.push(LinkPlan {
            link,
            first_hop,
            next_step_hop,
            end_hop,
            first_block: 0,
            end_block: 0,
            overhead,
            nominal_bits,
            pkts_per_bit: 1.0 / nominal_bits,
            one_kind,
            room,
            calibration,
            light_rho: light_rho(room.pkts(largest_bits)),
            early: EarlyDropPolicy::of(queue),
            rio: None,
            delay_s,
            flight_slots: 0,
            first_flight: 0,
            step_range_s: (0.0, 0.0),
        });
    }

    /// Sets the input of every hop: its source, or the previous hop.
    fn link_inputs(&mut self, ways: &[PathPair<'_>]) {
        let sources = ways.len() as u32;
        for b in 0..ways.len() {
            let mut before = b as u32;
            for i in self.hops_of[b]..self.hops_of[b + 1] {
                let hop = self.hops[i as usize];
                self.up[hop as usize] = before;
                before = sources + hop;
            }
        }
    }

    /// Returns the hops where packets leave: the last data hop and the last acknowledgement hop of each path.
    fn ends(&self, ways: &[PathPair<'_>]) -> Vec<u32> {
        let mut all_ends = Vec::new();
        for (b, way) in ways.iter().enumerate() {
            let hops = self.hops_of_branch(b);
            let (data, all) = (way.data.len(), hops.len());
            let ends = [Some(hops[data - 1]), (all > data).then(|| hops[all - 1])];
            all_ends.extend(ends.into_iter().flatten());
        }
        all_ends.sort_unstable();
        all_ends
    }

    fn add_levels(&mut self, component_of: &[u32], level_of: &[u32], tied: &[bool]) {
        let level = |l: &LinkPlan| (component_of[l.link as usize], level_of[l.link as usize]);
        let crossed = self.links.partition_point(|l| l.first_hop < l.end_hop);
        let mut start = 0;
        for same in self.links[..crossed].chunk_by(|a, b| level(a) == level(b)) {
            self.levels.push((start, start + same.len()));
            self.at_once
                .push(same.iter().any(|l| tied[l.link as usize]));
            start += same.len();
        }
    }

    fn add_blocks(&mut self, kind_of: &[u32], kinds: &PacketKinds) {
        for (rank, link) in self.links.iter_mut().enumerate() {
            link.first_block = self.blocks.len() as u32;
            for first_hop in (link.first_hop..link.end_hop).step_by(BLOCK_HOPS) {
                let end_hop = link.end_hop.min(first_hop + BLOCK_HOPS as u32);
                let first_run = self.runs.len() as u32;
                let mut start = first_hop;
                let hops = &kind_of[first_hop as usize..end_hop as usize];
                for same in hops.chunk_by(|a, b| a == b) {
                    let (packets, bits, precedence) = kinds.on_wire(same[0], link.overhead);
                    let end = start + same.len() as u32;
                    self.runs.push(HopRun {
                        first_hop: start,
                        end_hop: end,
                        packets,
                        bits,
                        precedence,
                    });
                    start = end;
                }
                self.blocks.push(Block {
                    rank: rank as u32,
                    first_hop,
                    end_hop,
                    first_run,
                    end_run: self.runs.len() as u32,
                    first_flight_cell: 0,
                });
            }
            link.end_block = self.blocks.len() as u32;
        }
    }

    fn add_branches(&mut self, inner: &CompiledNetwork, ways: &[PathPair<'_>]) {
        let mut known: HashMap<*const (), u32> = HashMap::new();
        let mut ramps: HashMap<*const (), u32> = HashMap::new();
        let ends = self.ends(ways);
        let place_of_end = |hop: u32| ends.partition_point(|&end| end < hop) as u32;
        for (b, way) in ways.iter().enumerate() {
            let class = inner.class_paths[b].class;
            let spec = inner.spec_of_class(class);
            let weight = inner.classes[class as usize].weight;
            let (profile, rate_pps) = match &spec.source {
                Source::Profile(p) => {
                    let index = *known.entry(Arc::as_ptr(p).cast()).or_insert_with(|| {
                        self.profiles.push(p.clone());
                        self.profiles.len() as u32 - 1
                    });
                    (index, 0.0)
                }
                source => (NO_PROFILE, source.own_pps().unwrap_or(0.0)),
            };
            let hops = self.hops_of_branch(b);
            let plan = BranchPlan {
                class,
                aggregate: inner.classes[class as usize]
                    .aggregate
                    .map(|a| AggregateId::new(a, inner.owner)),
                weight,
                path: inner.class_paths[b].data,
                way_back: inner.class_paths[b].back,
                profile,
                rate_pps,
                start_s: spec.start_s,
                stop_s: spec.stop_s.unwrap_or(f64::INFINITY),
                window_pkts: spec.max_window_pkts.unwrap_or(f64::INFINITY),
                size_pkts: (spec.size_pkts).map_or(f64::INFINITY, |size| size.ceil() * weight),
                application_pps: match profile {
                    NO_PROFILE => f64::INFINITY,
                    _ => spec.application.mean_pps(),
                },
                last_data_hop: hops[way.data.len() - 1],
                delivered: place_of_end(hops[way.data.len() - 1]),
                acknowledged: match way.acks.len() {
                    0 => u32::MAX,
                    _ => place_of_end(hops[hops.len() - 1]),
                },
                data_bits: 8.0 * spec.packet_size_bytes,
                packets_per_data: acks_per_data(inner, spec, way.data, way.back),
                ramp: match &spec.source {
                    Source::Users(traffic) => self.ramp(&traffic.workload, &mut ramps),
                    _ => NO_RAMP,
                },
                settable: inner
                    .control_index(inner.classes[class as usize].connection)
                    .map_or(NOT_CONTROLLABLE, |place| place as u32),
            };
            self.branches.push(plan);
        }
        self.ends = ends;
        let limited = |b: &u32| self.branches[*b as usize].is_limited();
        self.limited = (0..ways.len() as u32).filter(limited).collect();
    }

    /// Returns the index of a workload's ramp.
    fn ramp(&mut self, spec: &Arc<WorkloadSpec>, known: &mut HashMap<*const (), u32>) -> u32 {
        *known.entry(Arc::as_ptr(spec).cast()).or_insert_with(|| {
            self.ramps.push(Ramp::new(spec));
            self.ramps.len() as u32 - 1
        })
    }

    /// Sizes the flight rings for steps between the shortest one of each component and the longest one. Steps that end
    /// early (events, output times) may be shorter.
    pub fn size_rings(&mut self, inner: &CompiledNetwork, shortest_s: &[f64], longest_s: f64) {
        for l in &mut self.links {
            l.step_range_s = (longest_s, longest_s);
        }
        for (component, &shortest_s) in self.components.iter().zip(shortest_s) {
            for l in &mut self.links[component.links.clone()] {
                l.step_range_s = (shortest_s, longest_s);
            }
        }
        for l in &mut self.links {
            let longest_s = l.longest_flight_s(inner.delays_s(l.link).1);
            let parts = parts_of(longest_s, l.step_range_s.0);
            // A batch ends when the next step would make it too long, so two consecutive batches are longer
            // than the limit. A delay covers one batch per part, plus a partial one at either end.
            l.flight_slots = (2 * (parts as u32 + 1) + 4).next_power_of_two();
            l.first_flight = self.flight_batches as u32;
            self.flight_batches += l.flight_slots as usize;
        }
        for block in &mut self.blocks {
            let link = &self.links[block.rank as usize];
            let hops = block.hops();
            block.first_flight_cell = self.flight_cells;
            self.flight_cells += hops * link.flight_slots as usize;
        }
    }
}

/// Number of packets below which their size is irrelevant.
pub(crate) const NEGLIGIBLE_PKTS: f64 = 1e-9;

impl LinkPlan {
    /// Returns the longest time that packets stay in the flight ring, in seconds. Packets to links that were
    /// processed earlier wait for the next step.
    fn longest_flight_s(&self, delay_s: f64) -> f64 {
        if self.next_step_hop < self.end_hop {
            delay_s.max(self.step_range_s.1)
        } else {
            delay_s
        }
    }

    /// Returns the buffer size in packets of the present mean size.
    pub fn buffer_now_pkts(&self, link: &LinkState) -> f64 {
        let room_pkts = self.buffer_pkts(link, link.queue_pkts, link.queue_bits);
        room_pkts.max(link.queue_pkts)
    }

    /// Returns the buffer size in packets if the queue holds `pkts` packets of `bits` in total.
    pub fn buffer_pkts(&self, link: &LinkState, pkts: f64, bits: f64) -> f64 {
        self.room
            .at(link.bandwidth_bps)
            .pkts(if self.one_kind || pkts <= NEGLIGIBLE_PKTS {
                self.nominal_bits
            } else {
                bits / pkts
            })
    }
}

impl PacketKinds {
    fn of_data(&mut self, inner: &CompiledNetwork, branch: usize) -> u32 {
        let spec = inner.spec_of_class(inner.class_paths[branch].class);
        let class = inner.class_paths[branch].class as usize;
        let precedence = match inner.classes[class].aggregate {
            Some(_) => inner.class_paths[branch].precedence,
            // Outside any traffic profile.
            None => 2,
        };
        self.id(1.0, 8.0 * spec.packet_size_bytes, precedence)
    }

    /// Returns a kind with its bits on the wire of a link with this overhead.
    fn on_wire(&self, kind: u32, overhead: Overhead) -> (f64, f64, u32) {
        let (packets, bits, precedence) = self.all[kind as usize];
        if overhead.is_none() {
            (packets, bits, precedence)
        } else {
            (
                packets,
                packets * overhead.wire_bits(bits / packets),
                precedence,
            )
        }
    }

    /// Returns the rank of each kind in an order that does not depend on the order of insertion.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (self.all[a as usize], self.all[b as usize]);
            let by_size = a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
            by_size.then(a.2.cmp(&b.2))
        });
        let mut ranks = vec![0; order.len()];
        for (rank, &kind) in order.iter().enumerate() {
            ranks[kind as usize] = rank as u32;
        }
        ranks
    }

    fn of_acks(&mut self, inner: &CompiledNetwork, branch: usize) -> u32 {
        let b = branch as u32;
        let spec = inner.spec_of_class(inner.class_paths[branch].class);
        let packets = acks_per_data(inner, spec, inner.data_path(b), inner.back_path(b));
        self.id(packets, 8.0 * ACK_BYTES * packets, 0)
    }
}

/// Number of first packets of a connection that Linux acknowledges one by one (quick ACK).
const QUICK_ACK_PKTS: f64 = 16.0;
/// Acknowledged fraction of later packets while the window grows, measured in the packet model.
const GROWING_WINDOW_ACK_FRACTION: f64 = 0.87;
/// Quantization of the law, 1/20, so that many transfers become equal.
const ACK_QUANTIZATION: f64 = 20.0;

/// Returns the acknowledgements per data packet over this path and return path (irrelevant if there are
/// none).
///
/// Finite transfers use Linux rules. They send 2 P/ln 2 packets until their window reaches the capacity P of
/// the path; later, every second packet is acknowledged. Other connections acknowledge as specified.
pub fn acks_per_data(
    inner: &CompiledNetwork,
    spec: &ConnectionSpec,
    data: &[u32],
    back: &[u32],
) -> f64 {
    let Some(transfers) = &spec.transfers else {
        return spec.acks.per_data();
    };
    let link = |&l: &u32| &inner.links[l as usize];
    let packet_bits = 8.0 * spec.packet_size_bytes;
    let widths = data.iter().map(link).map(|l| l.carries_bps(packet_bits));
    let narrowest_bps = widths.fold(f64::INFINITY, f64::min);
    let round_trip_s: f64 = data.iter().chain(back).map(link).map(|l| l.delay_s).sum();
    let holds_pkts = narrowest_bps * round_trip_s / packet_bits;
    let grown_pkts = (2.0 * holds_pkts / std::f64::consts::LN_2).max(QUICK_ACK_PKTS);
    let beyond = |pkts| transfers.excess_moments(pkts)[0] / transfers.excess_moments(0.0)[0];
    let grows = beyond(QUICK_ACK_PKTS) - beyond(grown_pkts);
    let acks = 1.0 - (1.0 - GROWING_WINDOW_ACK_FRACTION) * grows - 0.5 * beyond(grown_pkts);
    (acks * ACK_QUANTIZATION).round() / ACK_QUANTIZATION
}

fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut all = vec![0];
    let mut end = 0;
    for length in lengths {
        end += length as u32;
        all.push(end);
    }
    all
}

/// Returns the number of batches of a delay, given the shortest step.
fn parts_of(delay_s: f64, step_s: f64) -> f64 {
    (delay_s / step_s).ceil().clamp(1.0, MAX_PARTS)
}
