//! Path conditions of sources, and list of active sources.

use netflow_network::ACK_BYTES;
use netflow_network::compiled::NO_CLASS_PATH;
use netflow_units::math::{exp_m1, ln_1p};

use super::Setup;
use super::components::Component;
use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::step_control::StepDemand;
use crate::state::{LinkState, State};
use crate::tcp_drop_tail::DropTailTcpLaw;

/// Loss and wait at one link for a packet that arrives now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCondition {
    /// ln of the probability to pass.
    pub ln_pass: f64,
    pub waiting_s: f64,
}

impl LinkCondition {
    /// Computes the condition of a link with this queue model.
    pub fn of(link: &LinkState, filling: &DropTailTcpLaw) -> LinkCondition {
        LinkCondition {
            ln_pass: if link.refused == 0.0 {
                0.0
            } else {
                ln_pass(link.refused)
            },
            waiting_s: if filling.is_paced() {
                0.0
            } else {
                link.queue_bits / (link.bandwidth_bps * link.share)
            },
        }
    }
}

/// Returns ln(1 − B), bounded below to stay finite.
pub fn ln_pass(refused: f64) -> f64 {
    ln_1p(-refused).max(-700.0)
}

/// Sources that may send during a step, grouped by evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSources {
    /// Fixed-rate sources, in order of branches.
    pub rates: Vec<u32>,
    /// Sources with a profile: (profile, branches).
    pub by_profile: Vec<(u32, Vec<u32>)>,
    /// Members of aggregates: the first branch of each.
    pub marked: Vec<u32>,
    /// Step size demand of the sources with a profile outside aggregates after the last step; `None` if it is not known.
    pub demand: Option<StepDemand>,
    /// Time at which the list must be rebuilt.
    pub until_s: f64,
}

impl ActiveSources {
    /// Collects the sources of a component that may send from `now_s` on, until the first one starts at `end_s` or
    /// later.
    pub fn gather(
        &mut self,
        setup: &Setup,
        state: &State,
        component: &Component,
        now_s: f64,
        end_s: f64,
    ) {
        let plan = &setup.plan;
        self.demand = None;
        self.rates.clear();
        self.marked.clear();
        self.by_profile
            .resize_with(plan.profiles.len(), Default::default);
        for (p, (profile, members)) in self.by_profile.iter_mut().enumerate() {
            *profile = p as u32;
            members.clear();
        }
        self.until_s = f64::INFINITY;
        let classes = component.classes.iter();
        let branches = classes.map(|&class| setup.branch_of(state, state.epoch, class));
        for b in branches.filter(|&b| b != NO_CLASS_PATH) {
            let branch = &plan.branches[b as usize];
            if branch.start_s >= end_s {
                self.until_s = self.until_s.min(branch.start_s);
                continue;
            }
            if branch.stop_s <= now_s || state.branches[b as usize].done_s.is_some() {
                continue;
            }
            // A list with sources that have stopped is valid, but longer than necessary.
            self.until_s = self.until_s.min(branch.stop_s);
            match branch.profile {
                _ if branch.aggregate.is_some() => self.marked.push(b),
                NO_PROFILE => self.rates.push(b),
                p => self.by_profile[p as usize].1.push(b),
            }
        }
        self.rates.sort_unstable();
        // Measurements of edges are sums over their members.
        self.marked
            .sort_unstable_by_key(|&b| plan.branch_rank[b as usize]);
        for (_, members) in &mut self.by_profile {
            members.sort_unstable();
        }
    }

    /// Returns all active branches.
    pub fn all(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let others = self.rates.iter().chain(&self.marked).copied();
        self.with_profiles().chain(others)
    }

    /// Returns the active branches with a profile outside aggregates.
    pub fn with_profiles(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        (self.by_profile.iter()).flat_map(|(_, members)| members.iter().copied())
    }
}

/// Fixed part of a branch's delays, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedDelays {
    /// Propagation delay to the receiver, and back.
    pub forward_s: f64,
    pub back_s: f64,
    /// Propagation delay to the narrowest link of the data path.
    pub to_queue_s: f64,
    /// Narrowest link of the data path, by rank, and the position of its hop on the path.
    pub narrowest: (u32, u32),
    /// Both, plus the transmission of its own packet and acknowledgement.
    pub round_trip_s: f64,
}

impl FixedDelays {
    /// Computes it for the given bandwidth, bandwidth for a transmission, and delay of each link by rank.
    pub fn new(
        plan: &Plan,
        branch: &BranchPlan,
        bandwidth_bps: impl Fn(u32) -> f64,
        transmission_bps: impl Fn(u32) -> f64,
        delay_s: impl Fn(u32) -> f64,
    ) -> FixedDelays {
        let transmission = |ways: (u32, u32), bits: f64| -> f64 {
            let ranks = &plan.path[ways.0 as usize..ways.1 as usize];
            let packet_s = |&p: &u32| plan.wire_bits(p, bits) / transmission_bps(p);
            ranks.iter().map(packet_s).sum()
        };
        let data = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
        let narrowest = (0..).zip(data).map(|(position, &rank)| (rank, position));
        let narrowest = narrowest.min_by(|a, b| bandwidth_bps(a.0).total_cmp(&bandwidth_bps(b.0)));
        let narrowest = narrowest.unwrap_or_default();
        let to_queue_s = data[..narrowest.1 as usize]
            .iter()
            .map(|&rank| delay_s(rank))
            .sum();
        let [forward_s, back_s] = plan.propagation_s(branch, delay_s);
        FixedDelays {
            narrowest,
            to_queue_s,
            forward_s,
            back_s,
            round_trip_s: forward_s
                + back_s
                + transmission(branch.path, branch.data_bits)
                + transmission(branch.ack_path(), 8.0 * ACK_BYTES),
        }
    }

    /// Computes it for all branches with the present links.
    pub fn of_all(plan: &Plan, state: &State, out: &mut Vec<FixedDelays>) {
        let link = |rank: u32| &state.links[rank as usize];
        let (bandwidth_bps, transmission_bps) = (
            |rank| link(rank).bandwidth_bps,
            |rank| link(rank).transmission_bps(),
        );
        let delay_s = |rank: u32| state.delay_s(plan, rank);
        let branches = plan.branches.iter();
        out.clear();
        out.extend(branches.map(|branch| {
            FixedDelays::new(plan, branch, bandwidth_bps, transmission_bps, delay_s)
        }));
    }
}

/// Path conditions of a source at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCondition {
    /// ln of the probability that a packet is delivered.
    pub ln_pass: f64,
    pub rtt_s: f64,
    /// Propagation delay to the receiver, a part of `rtt_s`.
    pub forward_s: f64,
    /// ln of the probability that an acknowledgement passes.
    pub acks_ln_pass: f64,
}

impl PathCondition {
    /// Returns the loss probability of a packet.
    pub fn loss(&self) -> f64 {
        0.0 - exp_m1(self.ln_pass) // avoids −0
    }
}

/// Computes the path conditions of a source. `ln_pass` is that of the links' random loss, `fixed` the delay
/// without waiting.
#[inline]
pub(crate) fn path_condition(
    plan: &Plan,
    branch: &BranchPlan,
    conditions: &[LinkCondition],
    mut ln_pass: f64,
    fixed: &FixedDelays,
) -> PathCondition {
    let mut rtt_s = fixed.round_trip_s;
    for &p in &plan.path[branch.path.0 as usize..branch.path.1 as usize] {
        let c = conditions[p as usize];
        ln_pass += c.ln_pass;
        rtt_s += c.waiting_s;
    }
    let ack_path = branch.ack_path();
    let mut acks_ln_pass = 0.0;
    for &p in &plan.path[ack_path.0 as usize..ack_path.1 as usize] {
        let c = conditions[p as usize];
        rtt_s += c.waiting_s;
        acks_ln_pass += c.ln_pass;
    }
    PathCondition {
        ln_pass,
        rtt_s,
        forward_s: fixed.forward_s,
        acks_ln_pass,
    }
}

/// Returns the seconds between `t0` and `t1` during which the source sends.
#[inline]
pub(crate) fn active_s(branch: &BranchPlan, t0: f64, t1: f64) -> f64 {
    (branch.stop_s.min(t1) - branch.start_s.max(t0)).max(0.0)
}

/// Returns the packets that a limited class may send until `end_s`, over all its branches. The total is the
/// data made by its application until then, or its size. Packets delivered or in flight are subtracted. A
/// fixed-rate source sends until all is delivered.
pub(crate) fn sendable_pkts(plan: &Plan, branches: &[u32], state: &State, end_s: f64) -> f64 {
    let one = &plan.branches[branches[0] as usize];
    let mut left = one.size_pkts;
    if one.application_pps < f64::INFINITY {
        left = left.min(one.application_pps * one.weight * active_s(one, 0.0, end_s));
    }
    for &b in branches {
        let branch = &plan.branches[b as usize];
        if branch.profile == NO_PROFILE {
            left -= state.delivered_pkts(branch);
            continue;
        }
        let data = (branch.path.1 - branch.path.0) as usize;
        let hops = &plan.hops_of_branch(b as usize)[..data];
        let lost: f64 = hops.iter().map(|&h| state.lost[h as usize]).sum();
        left -= state.branches[b as usize].sent_pkts - lost;
    }
    left.max(0.0)
}
