//! How long packets take in a fluid, by the law of its queues.
//!
//! Of each queue the equations know the mean. Assumed is, at every moment:
//!
//! - a packet that is accepted finds as many in a queue as it does in an M/M/1/K queue with this mean,
//!   and each of them takes as long to send as the mean packet there;
//! - where [bursts](crate::bursts) of transfers fill a queue, those packets wait for each other besides: for as long as makes
//!   the mean over all packets what it is by Little's law, and uniformly distributed from nothing to twice that;
//! - the queues of a way are independent of each other, and their sum, between nothing and all buffers
//!   full, is distributed as Beta with its mean, its variance and, where one has it, its skewness;
//! - of how many there are in a queue 1/(1 + rt) is still known after a time t, with the rate r at which
//!   an M/M/1/K queue comes to equilibrium: that tells how much consecutive packets differ.
//!
//! Moments are mixed by the packets that get through.

mod found;
mod law;
mod mixture;

pub use found::Found;
pub use law::{ByLaw, Distribution, Exactness, Law, STEP, quantile_of, slopes};
use mixture::Mixture;
use netflow_network::readout::mean;
use netflow_network::{ACK_BYTES, Percentiles};
use netflow_units::math::exp;
use serde::{Deserialize, Serialize};

use crate::bursts::wait_for_own_s;
use crate::engine::Scratch;
use crate::engine::parallel::for_cells;
use crate::engine::plan::{BranchPlan, LinkPlan, Plan};
use crate::engine::sources::{Condition, Fixed};
use crate::filling::Filling;
use crate::state::{BranchState, LinkState, State};

/// Of so many steps one is looked at, since they are shorter than a round trip; at first of fewer.
const EVERY: u64 = 8;
/// It becomes rarer as steps add up: one of n after 16 n of them.
const RARER: u64 = 16;

/// One thread looks at so many branches at least.
const FEWEST: usize = 512;

/// Of fewer packets in a queue their size is rounding, and who finds them does not wait.
const NOTHING_PKTS: f64 = 1e-9;

/// What packets of one branch took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BranchDelays {
    one_way: Mixture,
    round_trip: Mixture,
    /// Sum over packets of how much each differs from the next, in seconds.
    difference: f64,
    pkts: f64,
    /// What had been sent when it was looked at last.
    sent_pkts: f64,
}

impl BranchDelays {
    /// Bytes of a branch, with a few moments that differ.
    pub const BYTES: usize = std::mem::size_of::<Self>() + 8 * mixture::CELL_BYTES;

    /// What it met with since this was `before`.
    pub fn since(&self, before: &BranchDelays) -> BranchDelays {
        BranchDelays {
            one_way: self.one_way.since(&before.one_way),
            round_trip: self.round_trip.since(&before.round_trip),
            difference: self.difference - before.difference,
            pkts: self.pkts - before.pkts,
            sent_pkts: self.sent_pkts,
        }
    }

    /// Adds what another branch of the connection met with.
    pub fn merge(&mut self, other: &BranchDelays) {
        self.one_way.merge(&other.one_way);
        self.round_trip.merge(&other.round_trip);
        self.difference += other.difference;
        self.pkts += other.pkts;
    }

    /// Times from sending to delivery; `None` if nothing was delivered.
    pub fn one_way(&self) -> Option<Percentiles> {
        self.one_way.percentiles()
    }

    /// The mean of what packets took from sending to delivery, of those that were looked at.
    pub fn mean_s(&self) -> Option<f64> {
        self.one_way.mean_s()
    }

    /// Round-trip times, likewise.
    pub fn round_trip(&self) -> Option<Percentiles> {
        self.round_trip.percentiles()
    }

    /// How much the times of packets that follow each other differ, on average, in seconds.
    pub fn jitter_s(&self) -> Option<f64> {
        mean(self.difference, self.pkts)
    }
}

/// What one queue makes a packet wait that is accepted now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    mean_s: f64,
    variance: f64,
    third: f64,
    most_s: f64,
    /// One over the time in which it forgets how long it was, in 1/s.
    forgets_per_s: f64,
    ln_pass: f64,
    /// What packets of transfers wait for others of their own burst, in the mean.
    own_s: f64,
    /// How fast the link sends.
    bandwidth_bps: f64,
}

impl Wait {
    /// At a link that is filled so, and to which transfers bring so many packets in a second.
    fn of(link: &LinkState, plan: &LinkPlan, filling: &Filling, transfers_pps: f64) -> Wait {
        let here = Condition::of(link, filling);
        let nothing = Wait {
            ln_pass: here.ln_pass,
            bandwidth_bps: link.bandwidth_bps,
            ..Wait::default()
        };
        if link.queue_pkts <= NOTHING_PKTS || link.down || filling.is_paced() {
            return nothing;
        }
        let (mean_pkts, buffer_pkts) = (link.queue_pkts, plan.buffer_now_pkts(link));
        let packet_s = here.waiting_s / mean_pkts;
        let rho = mean_pkts / (1.0 + mean_pkts);
        let found = match rho < plan.light_rho {
            true => Found::light(mean_pkts, buffer_pkts),
            false => Found::of(mean_pkts, buffer_pkts),
        };
        Wait {
            mean_s: found.mean_pkts * packet_s,
            variance: found.variance * packet_s.powi(2),
            third: found.third * packet_s.powi(3),
            most_s: found.most_pkts * packet_s,
            forgets_per_s: found.forgets() / packet_s,
            own_s: {
                let more_pkts = filling.added_by_bursts_pkts(link.ln_rho, buffer_pkts);
                let own_s = wait_for_own_s(more_pkts, link.utilization, transfers_pps);
                own_s.min(((found.most_pkts - found.mean_pkts) * packet_s).max(0.0))
            },
            ..nothing
        }
    }
}

/// The sum over the queues of a way.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    law: Law,
    /// Of the difference between one packet and the next.
    step_variance: f64,
    ln_pass: f64,
}

impl Way {
    /// `in_bursts`: packets of transfers, which wait for their own.
    #[inline]
    fn add(&mut self, wait: &Wait, bits: f64, gap_s: f64, in_bursts: bool) {
        let own_s = if in_bursts { wait.own_s } else { 0.0 };
        self.law.fixed_s += bits / wait.bandwidth_bps;
        self.law.mean_s += wait.mean_s + own_s;
        self.law.variance += wait.variance + own_s * own_s / 3.0;
        self.law.third += wait.third;
        self.law.most_s += wait.most_s;
        if wait.variance > 0.0 {
            let forgotten = gap_s * wait.forgets_per_s;
            self.step_variance += 2.0 * wait.variance * forgotten / (1.0 + forgotten);
        }
        self.ln_pass += wait.ln_pass;
    }
}

impl Plan {
    /// Packets/s that transfers bring to each link, by what they do now.
    fn count_transfers(&self, branches: &[BranchState], pps: &mut Vec<f64>) {
        pps.clear();
        pps.resize(self.links.len(), 0.0);
        if self.transfers.iter().all(Option::is_none) {
            return;
        }
        for (plan, now) in self.branches.iter().zip(branches) {
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
    /// Looks at what packets meet that are sent now, if it is time for that, or a source starts or stops.
    pub(crate) fn look_at_delays(&mut self, plan: &Plan, scratch: &mut Scratch, switches: bool) {
        let Scratch {
            waits,
            fixed,
            fillings,
            transfers_pps,
            ..
        } = scratch;
        let state = self;
        let every = (state.steps / RARER).next_power_of_two().min(EVERY);
        if !switches && !state.steps.is_multiple_of(every) {
            return;
        }
        let links = state.links.iter().zip(&plan.links);
        waits.clear();
        plan.count_transfers(&state.branches, transfers_pps);
        let links = links.zip(fillings.iter().zip(transfers_pps.iter()));
        waits.extend(links.map(|((link, l), (filling, &pps))| Wait::of(link, l, filling, pps)));
        let all = &mut state.told.delays;
        for_cells(all, plan.forks(), FEWEST, |b, delays| {
            let (branch, now) = (&plan.branches[b], &state.branches[b]);
            delays.look(plan, branch, now, &fixed[b], waits);
        });
    }
}

impl BranchDelays {
    /// Adds what packets meet that were sent since it was looked at last.
    fn look(
        &mut self,
        plan: &Plan,
        branch: &BranchPlan,
        now: &BranchState,
        fixed: &Fixed,
        waits: &[Wait],
    ) {
        let sent_pkts = now.sent_pkts - self.sent_pkts;
        if sent_pkts <= 0.0 {
            return;
        }
        self.sent_pkts = now.sent_pkts;
        let gap_s = 1.0 / now.rate_pps.max(1e-9);
        let (there, round) = ways(plan, branch, fixed, waits, gap_s);
        let pkts = sent_pkts * exp(there.ln_pass);
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

/// From the sender to the receiver, and back again, for packets of a branch so far apart.
fn ways(plan: &Plan, branch: &BranchPlan, fixed: &Fixed, waits: &[Wait], gap_s: f64) -> (Way, Way) {
    let mut way = Way::default();
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
