//! Packets sent by sources during a step. A source sends at a fixed rate, by its
//! [congestion window](super::tcp_window), or by its profile directly.

use netflow_profile::Provenance;

use super::plan::{NO_RAMP, Plan};
use super::source_law::{AllowedRate, LossAndRtt};
use super::sources::{self, LinkCondition, PathCondition, path_condition};
use super::step_control::StepDemand;
use super::tcp_window::{self, TcpWindow, WindowConditions, WindowSample};
use super::{Scratch, Setup, Span, StepContext, has_adaptive_steps};
use crate::state::{BranchState, LinkState};

/// Minimum number of sources per thread.
const FORK_SOURCES: usize = 2048;

impl StepContext<'_> {
    /// Computes the packets of every source in the step.
    pub(crate) fn send(&mut self, fork: bool) {
        self.look_at_links();
        let plan = &self.setup.plan;
        for branches in plan.limited_classes(self.component) {
            let left = sources::sendable_pkts(plan, branches, self.state, self.span.end_s);
            for &b in branches {
                self.scratch.may_send[b as usize] = left;
            }
        }
        self.send_at_rates();
        if self.send_by_profiles(fork) == Overshoot::Some {
            self.lose_overshoot();
        }
        self.send_marked();
    }

    /// Sends the overshoot of slow start and loses it at the link of the path that loses most. These packets find
    /// the queue full, so they never occupy it. Sources of aggregates lose no overshoot.
    fn lose_overshoot(&mut self) {
        let plan = &self.setup.plan;
        let mut lost = std::mem::take(&mut self.scratch.overshoot);
        for b in self.scratch.active[self.c].with_profiles() {
            let b = b as usize;
            let branch = &plan.branches[b];
            let pkts = std::mem::take(&mut self.state.windows[b].overshoot_pkts) * branch.weight;
            let pkts = pkts.min(self.scratch.may_send[b] - self.state.forwarded[b]);
            if pkts <= 0.0 {
                continue;
            }
            let path = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
            let ln_pass = |rank: u32| self.scratch.conditions[rank as usize].ln_pass;
            let narrowest = self.scratch.fixed[b].narrowest.0;
            let full = (path.iter().zip(plan.hops_of_branch(b))).min_by(|a, b| {
                let by_loss = ln_pass(*a.0).total_cmp(&ln_pass(*b.0));
                by_loss.then((*a.0 != narrowest).cmp(&(*b.0 != narrowest)))
            });
            let Some((&rank, &hop)) = full else { continue };
            lost.push((hop, rank, pkts));
            self.state.branches[b].sent_pkts += pkts;
        }
        // Sums of a link are in the order of its hops, which does not depend on rows.
        lost.sort_unstable_by_key(|&(hop, ..)| hop);
        for (hop, rank, pkts) in lost.drain(..) {
            let link = &mut self.state.links[rank as usize];
            link.offered_pkts += pkts;
            link.lost_pkts += pkts;
            self.state.lost[hop as usize] += pkts;
        }
        self.scratch.overshoot = lost;
    }

    /// Computes loss and wait at each link for a packet that arrives now.
    fn look_at_links(&mut self) {
        let Scratch {
            conditions,
            reported,
            fillings,
            ..
        } = &mut *self.scratch;
        for rank in self.component.links.clone() {
            conditions[rank] = LinkCondition::of(&self.state.links[rank], &fillings[rank]);
        }
        if !reported.is_empty() {
            for rank in self.component.links.clone() {
                let link = &mut self.state.links[rank];
                let id = self.setup.plan.links[rank].link as usize;
                let series = self.setup.network.tables().links[id].bandwidth_series();
                let bits = link.queue_bits / link.share;
                link.drain_s = series.map(|it| it.drain_s(self.span.start_s, bits));
                reported[rank] = LinkCondition {
                    waiting_s: link.drain_s.unwrap_or(conditions[rank].waiting_s),
                    ..conditions[rank]
                };
            }
        }
        self.update_rio_conditions();
    }

    /// Returns the path conditions of a source.
    pub(super) fn path_condition(&self, b: usize) -> PathCondition {
        self.scratch.path_condition(&self.setup.plan, b)
    }

    fn send_at_rates(&mut self) {
        let (plan, span) = (&self.setup.plan, self.span);
        for i in 0..self.scratch.active[self.c].rates.len() {
            let b = self.scratch.active[self.c].rates[i] as usize;
            let branch = &plan.branches[b];
            let active_s = match plan.ramps.get(branch.ramp as usize) {
                Some(ramp) => ramp.active_s(span.start_s, span.end_s),
                None => sources::active_s(branch, span.start_s, span.end_s),
            };
            let path = self.path_condition(b);
            let wanted = AllowedRate::own(self.state.own_pps(branch), [path.loss(), path.rtt_s]);
            let sent = wanted.sent_packets(branch, active_s, self.scratch.may_send[b]);
            self.state.forwarded[b] = sent.pkts;
            let state = &mut self.state.branches[b];
            state.record_sent(branch, &wanted, sent, active_s, span.end_s);
            if branch.ramp != NO_RAMP {
                state.rate_pps = sent.pkts / (branch.weight * span.length_s);
            }
            state.sent_pkts += sent.pkts;
            let reported = self.scratch.reported(plan, b, wanted.seen);
            state.record_feedback(reported, active_s, Provenance::Measured);
        }
    }

    /// Sends the packets of sources with a profile.
    fn send_by_profiles(&mut self, fork: bool) -> Overshoot {
        let (by_branch, by_hop) = self
            .state
            .forwarded
            .split_at_mut(self.setup.plan.branches.len());
        let shared = SharedView {
            setup: self.setup,
            scratch: self.scratch,
            span: self.span,
            step: self.state.clocks[self.c].steps,
            holds_rates: has_adaptive_steps(self.setup.options),
            before_s: self.state.clocks[self.c].last_step_s,
            forwarded: by_hop,
            inflow: &self.state.inflow,
            links: &self.state.links,
        };
        let mut sums = SourceSums::new();
        for (profile, members) in &self.scratch.active[self.c].by_profile {
            let work = SourceWork {
                members,
                first: 0,
                forwarded: &mut *by_branch,
                branches: &mut self.state.branches,
                windows: &mut self.state.windows,
                samples: &mut self.state.window_samples,
            };
            sums.merge(&shared.send(*profile as usize, work, fork));
        }
        self.scratch.active[self.c].demand = Some(sums.demand);
        sums.overshoot
    }
}

/// Packets that slow start loses beyond those of the fluid.
#[derive(Clone, Copy, PartialEq)]
enum Overshoot {
    None,
    Some,
}

/// Sums over sources in a step. They do not depend on the order.
struct SourceSums {
    overshoot: Overshoot,
    /// Demand for the next step size.
    demand: StepDemand,
}

impl SourceSums {
    fn new() -> SourceSums {
        SourceSums {
            overshoot: Overshoot::None,
            demand: StepDemand::new(),
        }
    }

    fn merge(&mut self, other: &SourceSums) {
        if other.overshoot == Overshoot::Some {
            self.overshoot = Overshoot::Some;
        }
        self.demand.merge(&other.demand);
    }
}

impl Scratch {
    /// Returns the feedback that a source reports. On links that follow a series, the round-trip time is that of packets
    /// that are sent now, and not that at the present bandwidths.
    pub(super) fn reported(&self, plan: &Plan, b: usize, [loss, rtt_s]: LossAndRtt) -> LossAndRtt {
        if self.reported.is_empty() {
            return [loss, rtt_s];
        }
        let path = path_condition(plan, &plan.branches[b], &self.reported, 0.0, &self.fixed[b]);
        [loss, path.rtt_s]
    }

    fn path_condition(&self, plan: &Plan, b: usize) -> PathCondition {
        let ln_pass = self.on_the_way.ln_pass[b];
        path_condition(
            plan,
            &plan.branches[b],
            &self.conditions,
            ln_pass,
            &self.fixed[b],
        )
    }
}

/// Shared read-only data of threads that evaluate sources.
struct SharedView<'a> {
    setup: &'a Setup,
    scratch: &'a Scratch,
    span: Span,
    step: u64,
    /// True if sources with a longer RTT than others are evaluated less often.
    holds_rates: bool,
    /// Length of the step before, and packets forwarded by hops in it.
    before_s: f64,
    forwarded: &'a [f64],
    /// Packets that arrived at hops in the step before.
    inflow: &'a [f64],
    links: &'a [LinkState],
}

/// Sources of one profile in the order of branches, with their output; slices start at branch `first`.
struct SourceWork<'a> {
    members: &'a [u32],
    first: usize,
    forwarded: &'a mut [f64],
    branches: &'a mut [BranchState],
    /// Congestion windows of each branch, and their samples; empty for the published equations.
    windows: &'a mut [TcpWindow],
    samples: &'a mut [WindowSample],
}

impl SharedView<'_> {
    fn send(&self, profile: usize, work: SourceWork<'_>, fork: bool) -> SourceSums {
        let n = work.members.len();
        if !fork || n < 2 * FORK_SOURCES {
            return self.send_serially(profile, work);
        }
        let (left, right) = work.members.split_at(n / 2);
        let cut = right[0] as usize - work.first;
        let (forwarded_l, forwarded_r) = work.forwarded.split_at_mut(cut);
        let (branches_l, branches_r) = work.branches.split_at_mut(cut);
        let (windows_l, windows_r) = work.windows.split_at_mut(cut.min(work.windows.len()));
        let samples_cut = (cut * tcp_window::SAMPLES).min(work.samples.len());
        let (samples_l, samples_r) = work.samples.split_at_mut(samples_cut);
        let left = SourceWork {
            members: left,
            first: work.first,
            forwarded: forwarded_l,
            branches: branches_l,
            windows: windows_l,
            samples: samples_l,
        };
        let right = SourceWork {
            members: right,
            first: work.first + cut,
            forwarded: forwarded_r,
            branches: branches_r,
            windows: windows_r,
            samples: samples_r,
        };
        let (mut sums, others) = rayon::join(
            || self.send(profile, left, fork),
            || self.send(profile, right, fork),
        );
        sums.merge(&others);
        sums
    }

    fn send_serially(&self, profile_index: usize, work: SourceWork<'_>) -> SourceSums {
        let mut sums = SourceSums::new();
        let profile = &*self.setup.plan.profiles[profile_index];
        let law = self.setup.window_laws.get(profile_index);
        for &b in work.members {
            let (b, mine) = (b as usize, b as usize - work.first);
            let branch = &self.setup.plan.branches[b];
            let windows = (work.windows.get_mut(mine)).filter(|_| self.holds_rates);
            let held = windows.and_then(|window| window.held(self.step, self.span));
            let (wanted, profile_loss) = match (held, law) {
                (Some((seen, rate)), _) => (AllowedRate::by_window(seen, rate), rate.profile_loss),
                (None, Some(law)) => {
                    let path = self.scratch.path_condition(&self.setup.plan, b);
                    let met = self.window_conditions(b, path);
                    let rate = work.windows[mine].advance(
                        &mut work.samples[tcp_window::samples_of(mine)],
                        law,
                        branch,
                        &met,
                        self.step,
                        self.span,
                    );
                    let seen = [met.loss, met.rtt_s];
                    (AllowedRate::by_window(seen, rate), rate.profile_loss)
                }
                (None, None) => {
                    let path = self.scratch.path_condition(&self.setup.plan, b);
                    let seen = [path.loss(), path.rtt_s];
                    let profile_pps = profile.throughput(seen[0], seen[1]);
                    let wanted = AllowedRate::by_profile(branch, seen, profile_pps);
                    (wanted, Some(seen[0]))
                }
            };
            let seen = self.scratch.reported(&self.setup.plan, b, wanted.seen);
            let active_s = sources::active_s(branch, self.span.start_s, self.span.end_s);
            let sent = wanted.sent_packets(branch, active_s, self.scratch.may_send[b]);
            let state = &mut work.branches[mine];
            state.record_sent(branch, &wanted, sent, active_s, self.span.end_s);
            if let Some(window) = work.windows.get_mut(mine) {
                window.record_sent(sent.pkts / branch.weight, wanted.mean_pps * active_s);
                if window.overshoot_pkts != 0.0 {
                    sums.overshoot = Overshoot::Some;
                }
            }
            sums.demand.add_with_profile(
                branch,
                state.rate_pps,
                work.windows.get(mine),
                &self.scratch.fixed[b],
                self.step + 1,
            );
            work.forwarded[mine] = sent.pkts;
            state.sent_pkts += sent.pkts;
            let rests_on = profile_loss.map_or(Provenance::Measured, |loss| {
                profile.provenance(loss, seen[1])
            });
            state.record_feedback(seen, active_s, rests_on);
        }
        sums
    }

    /// Returns the conditions of the congestion windows of a branch.
    fn window_conditions(&self, b: usize, path: PathCondition) -> WindowConditions {
        let (plan, fixed) = (&self.setup.plan, &self.scratch.fixed[b]);
        let delivered_pkts = self.forwarded[plan.branches[b].last_data_hop as usize];
        let own_pkts = self.inflow[plan.narrowest_hop(fixed, b) as usize];
        let last_pps = [delivered_pkts, own_pkts].map(|pkts| pkts / self.before_s);
        let narrowest = &self.links[fixed.narrowest.0 as usize];
        window_conditions(self.setup, self.scratch, narrowest, b, path, last_pps)
    }
}

/// Returns the conditions of the congestion windows of a branch. The last argument is the rate of the class in
/// the last step where its data leaves the network, and at its narrowest link.
pub(super) fn window_conditions(
    setup: &Setup,
    scratch: &Scratch,
    narrowest: &LinkState,
    b: usize,
    path: PathCondition,
    [delivered_pps, own_pps]: [f64; 2],
) -> WindowConditions {
    let (branch, fixed) = (&setup.plan.branches[b], &scratch.fixed[b]);
    let rank = fixed.narrowest.0;
    let wire_bits = setup.plan.wire_bits(rank, branch.data_bits);
    let bandwidth_pps = narrowest.bandwidth_bps * narrowest.share / wire_bits;
    let own = (own_pps / narrowest.arriving_pps.max(1e-300)).min(1.0);
    let windows = scratch.fillings[rank as usize].windows;
    let fair_pps = bandwidth_pps / (windows + 1.0).max(branch.weight);
    let free_pps = bandwidth_pps * (1.0 - narrowest.utilization * (1.0 - own));
    let l = &setup.plan.links[rank as usize];
    let others_pkts = narrowest.queue_pkts * (1.0 - own);
    WindowConditions {
        loss: path.loss(),
        burst_space_pkts: l.buffer_now_pkts(narrowest) - others_pkts,
        acks_ln_pass: path.acks_ln_pass,
        rtt_s: path.rtt_s,
        forward_s: path.forward_s,
        to_queue_s: fixed.to_queue_s,
        empty_rtt_s: fixed.round_trip_s,
        delivered_pps: delivered_pps / branch.weight,
        free_pps: free_pps.max(fair_pps).min(bandwidth_pps),
    }
}
