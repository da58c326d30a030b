//! Packet delays in the fluid model, from the mean queue lengths.
//!
//! The equations give the mean of each queue. The model assumes at every time:
//!
//! - An accepted packet finds the queue length distribution of an M/M/1/K queue with this mean. Each packet
//!   found takes the transmission time of the mean packet.
//! - If [bursts](crate::slow_start_bursts) of transfers fill a queue, those packets also wait for each other. Their
//!   mean wait follows from Little's law for all packets. It is uniformly distributed between 0 and twice its
//!   mean.
//! - The queues of a path are independent. Their sum is Beta-distributed between 0 and all buffers full,
//!   with its mean, variance and, if possible, skewness.
//! - The autocorrelation of a queue length after a time t is 1/(1 + rt), with the relaxation rate r of an
//!   M/M/1/K queue. It determines the difference between consecutive packets (jitter).
//!
//! Mixtures are weighted by the packets that are delivered.

mod delay_law;
mod mixture;
mod queue_on_arrival;

pub use delay_law::{
    AtomDerivatives, DelayDistribution, DelayLaw, RELATIVE_STEP, Tolerances, finite_differences,
    quantile_of,
};
use mixture::DelayMixture;
use netflow_network::engine::mean;
use netflow_network::{ACK_BYTES, Percentiles};
use netflow_units::math::exp;
pub use queue_on_arrival::QueueOnArrival;
use serde::{Deserialize, Serialize};

use crate::engine::Scratch;
use crate::engine::components::Component;
use crate::engine::parallel::for_cells;
use crate::engine::plan::{BranchPlan, LinkPlan, Plan};
use crate::engine::sources::{FixedDelays, LinkCondition};
use crate::slow_start_bursts::own_burst_wait_s;
use crate::state::{BranchState, LinkState, State};
use crate::tcp_drop_tail::DropTailTcpLaw;

/// Maximum sampling interval in steps; steps are shorter than a round trip.
const MAX_SAMPLING_STEPS: u64 = 8;
/// Growth of the sampling interval: n steps after 16 n steps.
const SAMPLING_GROWTH_STEPS: u64 = 16;

/// Minimum number of branches per thread.
const MIN_BRANCHES_PER_THREAD: usize = 512;

/// Queue length in packets below which the packet size is rounding error and nothing waits.
const EMPTY_QUEUE_PKTS: f64 = 1e-9;

/// Delays of the packets of one branch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BranchDelays {
    one_way: DelayMixture,
    round_trip: DelayMixture,
    /// Sum over packets of the expected delay difference to the next packet, in seconds.
    difference: f64,
    pkts: f64,
    /// Packets sent until the last sample.
    sent_pkts: f64,
}

impl BranchDelays {
    /// Memory of a branch in bytes, with a typical number of cells.
    pub const BYTES: usize = std::mem::size_of::<Self>() + 8 * mixture::CELL_BYTES;

    /// Returns the delays since the snapshot `before`.
    pub fn since(&self, before: &BranchDelays) -> BranchDelays {
        BranchDelays {
            one_way: self.one_way.since(&before.one_way),
            round_trip: self.round_trip.since(&before.round_trip),
            difference: self.difference - before.difference,
            pkts: self.pkts - before.pkts,
            sent_pkts: self.sent_pkts,
        }
    }

    /// Adds another branch of the connection.
    pub fn merge(&mut self, other: &BranchDelays) {
        self.one_way.merge(&other.one_way);
        self.round_trip.merge(&other.round_trip);
        self.difference += other.difference;
        self.pkts += other.pkts;
    }

    /// Returns the percentiles of the one-way delay; `None` if nothing was delivered.
    pub fn one_way(&self) -> Option<Percentiles> {
        self.one_way.percentiles()
    }

    /// Returns the mean one-way delay of the sampled packets, in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        self.one_way.mean_s()
    }

    /// Returns the percentiles of the round-trip time; `None` if there is none.
    pub fn round_trip(&self) -> Option<Percentiles> {
        self.round_trip.percentiles()
    }

    /// Returns the mean difference between the delays of consecutive packets, in seconds.
    pub fn jitter_s(&self) -> Option<f64> {
        mean(self.difference, self.pkts)
    }
}

/// Waiting time in one queue of a packet accepted now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueWait {
    mean_s: f64,
    variance: f64,
    third: f64,
    max_s: f64,
    /// Relaxation rate of the queue, in 1/s.
    relaxation_rate_per_s: f64,
    ln_pass: f64,
    /// Mean wait of packets of transfers for packets of their own burst, in seconds.
    own_burst_s: f64,
    /// Bandwidth of the link.
    bandwidth_bps: f64,
}

impl QueueWait {
    /// Computes the waiting time at a link, given its queue model and the packets/s of transfers.
    fn of(
        link: &LinkState,
        plan: &LinkPlan,
        filling: &DropTailTcpLaw,
        transfers_pps: f64,
    ) -> QueueWait {
        let here = LinkCondition::of(link, filling);
        let waiting_s = link.drain_s.unwrap_or(here.waiting_s);
        let nothing = QueueWait {
            ln_pass: here.ln_pass,
            bandwidth_bps: link.transmission_bps(),
            ..QueueWait::default()
        };
        if link.queue_pkts <= EMPTY_QUEUE_PKTS
            && let Some(pause_s) = link.drain_s
        {
            return QueueWait {
                mean_s: pause_s,
                max_s: pause_s,
                ..nothing
            };
        }
        if link.queue_pkts <= EMPTY_QUEUE_PKTS || link.down || filling.is_paced() {
            return nothing;
        }
        let (mean_pkts, buffer_pkts) = (link.queue_pkts, plan.buffer_now_pkts(link));
        let packet_s = waiting_s / mean_pkts;
        let rho = mean_pkts / (1.0 + mean_pkts);
        let found = if rho < plan.light_rho {
            QueueOnArrival::light(mean_pkts, buffer_pkts)
        } else {
            QueueOnArrival::of(mean_pkts, buffer_pkts)
        };
        // Windows in small buffers keep the link busier than M/M/1/K with the same mean. By Little's law, arrivals then
        // find N/U − 1 packets.
        let scale_s = if filling.waiting < 1.0 {
            let found_pkts = mean_pkts / link.utilization.max(1e-9) - 1.0;
            packet_s * (found_pkts / found.mean_pkts.max(1e-9)).clamp(0.25, 1.0)
        } else {
            packet_s
        };
        QueueWait {
            mean_s: found.mean_pkts * scale_s,
            variance: found.variance * scale_s.powi(2),
            third: found.third * scale_s.powi(3),
            max_s: found.max_pkts * packet_s,
            relaxation_rate_per_s: found.relaxation_rate() / packet_s,
            own_burst_s: {
                let more_pkts = filling.added_by_bursts_pkts(link.ln_rho, buffer_pkts);
                let own_s = own_burst_wait_s(more_pkts, link.utilization, transfers_pps);
                own_s.min(((found.max_pkts - found.mean_pkts) * packet_s).max(0.0))
            },
            ..nothing
        }
    }
}

/// Sum over the queues of a path.
#[derive(Clone, Copy, Debug, Default)]
struct PathDelay {
    law: DelayLaw,
    /// Variance of the difference between consecutive packets.
    step_variance: f64,
    ln_pass: f64,
}

impl PathDelay {
    /// Adds a queue. `in_bursts` is set for packets of transfers, which wait for their own burst.
    #[inline]
    fn add(&mut self, wait: &QueueWait, bits: f64, gap_s: f64, in_bursts: bool) {
        let own_s = if in_bursts { wait.own_burst_s } else { 0.0 };
        self.law.fixed_s += bits / wait.bandwidth_bps;
        self.law.mean_s += wait.mean_s + own_s;
        self.law.variance += wait.variance + own_s * own_s / 3.0;
        self.law.third += wait.third;
        self.law.max_s += wait.max_s;
        if wait.variance > 0.0 {
            let forgotten = gap_s * wait.relaxation_rate_per_s;
            self.step_variance += 2.0 * wait.variance * forgotten / (1.0 + forgotten);
        }
        self.ln_pass += wait.ln_pass;
    }
}

impl Plan {
    /// Computes the packets/s that transfers send over each link of a component, from their present rates.
    fn count_transfers(&self, component: &Component, branches: &[BranchState], pps: &mut [f64]) {
        pps[component.links.clone()].fill(0.0);
        if self.transfers.iter().all(Option::is_none) {
            return;
        }
        for &b in &component.branches {
            let (plan, now) = (&self.branches[b as usize], &branches[b as usize]);
            if self.transfers[plan.class as usize].is_some() {
                let (first, end) = plan.path;
                for &rank in &self.path[first as usize..end as usize] {
                    pps[rank as usize] += now.rate_pps * plan.weight;
                }
            }
        }
    }
}

impl State {
    /// Samples the delays of packets that component `c` sends now, if a sample is due or a source starts or stops.
    pub(crate) fn sample_delays(
        &mut self,
        plan: &Plan,
        scratch: &mut Scratch,
        c: usize,
        switches: bool,
    ) {
        let Scratch {
            waits,
            fixed,
            fillings,
            transfers_pps,
            has_series,
            on_the_way,
            ..
        } = scratch;
        let (state, component) = (self, &plan.components[c]);
        let steps = state.clocks[c].steps;
        let every = (steps / SAMPLING_GROWTH_STEPS)
            .next_power_of_two()
            .min(MAX_SAMPLING_STEPS);
        if !switches && !*has_series && !steps.is_multiple_of(every) {
            return;
        }
        plan.count_transfers(component, &state.branches, transfers_pps);
        for rank in component.links.clone() {
            let (link, l) = (&state.links[rank], &plan.links[rank]);
            waits[rank] = QueueWait::of(link, l, &fillings[rank], transfers_pps[rank]);
        }
        let (branches, waits) = (&state.branches, &*waits);
        let sample = |b: usize, delays: &mut BranchDelays| {
            // A constant loss in transit changes no weight.
            let transit_ln_pass = if *has_series {
                on_the_way.ln_pass[b]
            } else {
                0.0
            };
            let (branch, now) = (&plan.branches[b], &branches[b]);
            delays.add_sample(plan, branch, now, &fixed[b], waits, transit_ln_pass);
        };
        let all = &mut state.told.delays;
        if plan.components.len() == 1 {
            for_cells(all, plan.is_parallel(), MIN_BRANCHES_PER_THREAD, sample);
            return;
        }
        for &b in &component.branches {
            sample(b as usize, &mut all[b as usize]);
        }
    }
}

impl BranchDelays {
    /// Adds the delays of packets sent since the last sample.
    fn add_sample(
        &mut self,
        plan: &Plan,
        branch: &BranchPlan,
        now: &BranchState,
        fixed: &FixedDelays,
        waits: &[QueueWait],
        transit_ln_pass: f64,
    ) {
        let sent_pkts = now.sent_pkts - self.sent_pkts;
        if sent_pkts <= 0.0 {
            return;
        }
        self.sent_pkts = now.sent_pkts;
        let gap_s = 1.0 / now.rate_pps.max(1e-9);
        let (there, round) = path_delays(plan, branch, fixed, waits, gap_s);
        let pkts = sent_pkts * exp(there.ln_pass + transit_ln_pass);
        if pkts > 0.0 {
            self.one_way.add(pkts, there.law);
            self.difference += pkts * (0.5 * there.step_variance).sqrt();
            self.pkts += pkts;
        }
        if pkts > 0.0 && branch.way_back.0 < branch.way_back.1 {
            self.round_trip.add(pkts, round.law);
        }
    }
}

/// Returns the sums over the path to the receiver and over the round trip, for packets of a branch `gap_s`
/// apart.
fn path_delays(
    plan: &Plan,
    branch: &BranchPlan,
    fixed: &FixedDelays,
    waits: &[QueueWait],
    gap_s: f64,
) -> (PathDelay, PathDelay) {
    let mut way = PathDelay::default();
    let is_transfers = plan.transfers[branch.class as usize].is_some();
    let mut over = |ranks: (u32, u32), bits: f64, propagation_s: f64, in_bursts: bool| {
        way.law.fixed_s += propagation_s;
        for &rank in &plan.path[ranks.0 as usize..ranks.1 as usize] {
            let bits = plan.wire_bits(rank, bits);
            way.add(&waits[rank as usize], bits, gap_s, in_bursts);
        }
        way
    };
    let there = over(branch.path, branch.data_bits, fixed.forward_s, is_transfers);
    let round = over(branch.ack_path(), 8.0 * ACK_BYTES, fixed.back_s, false);
    (there, round)
}
