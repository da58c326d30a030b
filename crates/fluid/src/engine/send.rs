//! What sources send during a step: at their own rate, by a profile and what they have seen, or
//! by a profile within the solution of their first link's queue.

use netflow_network::Limit;
use netflow_profile::{Profile, ProfileUse};

use super::feedback::LOOKS;
use super::plan::{NO_RAMP, Plan};
use super::queue::{Solution, Step};
use super::shares::Arrivals;
use super::sources::{self, BATCH, Condition, look};
use super::{Engine, Span};
use crate::state::{BranchState, Seen, State};

/// Sources that one thread evaluates at least.
const FORK_SOURCES: usize = 2048;

impl Engine {
    /// What every source sends during the step, but for those evaluated within it.
    pub(crate) fn send(&mut self, state: &mut State, span: Span, fork: bool) {
        self.look_at_links(state);
        for branches in self.plan.limited_classes() {
            let left = sources::may_send(&self.plan, branches, state, span.end_s);
            branches
                .iter()
                .for_each(|&b| self.scratch.may_send[b as usize] = left);
        }
        self.send_at_rates(state, span);
        self.send_by_profiles(state, span, fork);
        self.look_within_step(state, span);
        self.send_marked(state, span);
    }

    /// What each link does to a packet that arrives now.
    pub(crate) fn look_at_links(&mut self, state: &State) {
        for (c, link) in self.scratch.conditions.iter_mut().zip(&state.links) {
            *c = Condition::of(link);
        }
        self.look_at_rio_queues(state);
    }

    fn send_at_rates(&self, state: &mut State, span: Span) {
        for &b in &self.active.rates {
            let b = b as usize;
            let branch = &self.plan.branches[b];
            let active_s = match self.plan.ramps.get(branch.ramp as usize) {
                Some(ramp) => ramp.active_s(span.start_s, span.end_s),
                None => sources::active_s(branch, span.start_s, span.end_s),
            };
            let [ln_pass, rtt_s] = look(
                &self.plan,
                branch,
                &self.scratch.conditions,
                self.fixed_s[b],
            );
            let wanted = branch.rate_pps * branch.weight * active_s;
            let sent = wanted.min(self.scratch.may_send[b]);
            state.handed[b] = sent;
            let rate_pps = match branch.ramp {
                NO_RAMP => branch.rate_pps,
                _ => sent / (branch.weight * span.length_s),
            };
            let rests_on = ProfileUse::Measured;
            state.branches[b].account(sent, rate_pps, [ln_pass, rtt_s], active_s, rests_on);
            let (short, seen) = (sent < wanted, [-ln_pass.exp_m1(), rtt_s]);
            let applied = branch.applied(Limit::Own, short, seen, None, span.end_s);
            state.branches[b].applied = Some(applied);
        }
    }

    fn send_by_profiles(&mut self, state: &mut State, span: Span, fork: bool) {
        let (by_branch, by_hop) = state.handed.split_at_mut(self.plan.branches.len());
        let shared = SharedView {
            engine: self,
            span,
            step: state.steps,
            before_s: state.last_step_s,
            handed: by_hop,
        };
        for (profile, members) in &self.active.lagged {
            let work = SourceWork {
                members,
                first: 0,
                handed: &mut *by_branch,
                branches: &mut state.branches,
                looks: &mut state.seen,
            };
            shared.send(&*self.plan.profiles[*profile as usize], work, fork);
        }
    }

    /// Sources evaluated within the step: what they see at its start.
    fn look_within_step(&mut self, state: &mut State, span: Span) {
        for &b in &self.active.implicit {
            let b = b as usize;
            let branch = &self.plan.branches[b];
            let seen = look(
                &self.plan,
                branch,
                &self.scratch.conditions,
                self.fixed_s[b],
            );
            self.scratch.seen[b] = seen;
            state.handed[b] = 0.0; // until its first link's queue is solved
            let active_s = sources::active_s(branch, span.start_s, span.end_s);
            let rests_on = self.rests_on(branch.profile, seen);
            state.branches[b].account(0.0, 0.0, seen, active_s, rests_on);
        }
    }

    /// What the profile's rate rests on where this is seen.
    pub(super) fn rests_on(&self, profile: u32, [ln_pass, rtt_s]: [f64; 2]) -> ProfileUse {
        self.plan.profiles[profile as usize].rests_on(-ln_pass.exp_m1(), rtt_s)
    }

    /// The queue of a link whose own sources are evaluated within the step; what they send is
    /// added to `arriving`, and to what their first hops received.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn solve_with_sources(
        &mut self,
        plan: &Plan,
        state: &mut State,
        place: usize,
        step: &Step,
        arriving: &mut Arrivals,
        span: Span,
    ) -> Solution {
        let here = self.scratch.conditions[place];
        let others = arriving.pkts;
        let sources_at = |tried: &Solution, each: &mut dyn FnMut(SentWithin)| {
            let ln_pass = sources::ln_pass(tried.refused) - here.ln_pass;
            let waiting_s = tried.queue_pkts * span.length_s / step.service_pkts - here.waiting_s;
            let (mut loss, mut rtt) = ([0.0; BATCH], [0.0; BATCH]);
            let mut from_profile = [0.0; BATCH];
            for (_, profile, range) in self.active.runs_at(place) {
                for batch in self.active.by_link[range.clone()].chunks(BATCH) {
                    let n = batch.len();
                    for (i, &b) in batch.iter().enumerate() {
                        let seen = self.scratch.seen[b as usize];
                        loss[i] = -(seen[0] + ln_pass).exp_m1();
                        rtt[i] = seen[1] + waiting_s;
                    }
                    let profile = &*plan.profiles[*profile as usize];
                    profile.throughputs(&loss[..n], &rtt[..n], &mut from_profile[..n]);
                    for (i, &b) in batch.iter().enumerate() {
                        let b = b as usize;
                        let branch = &plan.branches[b];
                        let active_s = sources::active_s(branch, span.start_s, span.end_s);
                        let rate_pps = branch.within_window(from_profile[i], rtt[i]);
                        let wanted = rate_pps * branch.weight * active_s;
                        each(SentWithin {
                            branch: b,
                            rate_pps,
                            wanted,
                            sent: wanted.min(self.scratch.may_send[b]),
                            seen: [loss[i], rtt[i]],
                            profile_pps: from_profile[i],
                        });
                    }
                }
            }
        };
        let solution = step.solve_by(|tried| {
            let mut sum = others;
            sources_at(tried, &mut |it| sum += it.sent);
            sum
        });
        let mut sent_by = std::mem::take(&mut self.sent_by);
        sent_by.clear();
        sources_at(&solution, &mut |it| sent_by.push(it));
        for it in &sent_by {
            let (b, sent) = (it.branch, it.sent);
            let branch = &plan.branches[b];
            let limit = branch.limit(it.seen[1], it.profile_pps, it.rate_pps, it.rate_pps);
            let (short, from_profile) = (sent < it.wanted, Some(it.profile_pps));
            let applied = branch.applied(limit, short, it.seen, from_profile, span.end_s);
            state.handed[b] = sent;
            state.branches[b].rate_pps = it.rate_pps;
            state.branches[b].applied = Some(applied);
            state.branches[b].sent_pkts += sent;
            let hop = plan.branches[b].first_hop as usize;
            state.inflow[hop] = sent;
            arriving.pkts += sent;
            arriving.bits += sent * plan.branches[b].data_bits;
        }
        self.sent_by = sent_by;
        solution
    }
}

/// What a source evaluated within the step sends, and what it sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentWithin {
    branch: usize,
    rate_pps: f64,
    wanted: f64,
    sent: f64,
    /// Loss probability, and round-trip time in seconds.
    seen: [f64; 2],
    profile_pps: f64,
}

impl BranchState {
    pub(super) fn account(
        &mut self,
        sent: f64,
        rate_pps: f64,
        [ln_pass, rtt_s]: [f64; 2],
        active_s: f64,
        rests_on: ProfileUse,
    ) {
        self.rate_pps = rate_pps;
        self.sent_pkts += sent;
        self.rtt_time += rtt_s * active_s;
        self.loss_time -= if ln_pass == 0.0 {
            0.0
        } else {
            ln_pass.exp_m1() * active_s
        };
        self.active_s += active_s;
        self.rest(rests_on, active_s);
    }

    /// What the rate of this time rested on.
    fn rest(&mut self, on: ProfileUse, active_s: f64) {
        if on > ProfileUse::Measured {
            self.outside_s += active_s;
        }
        if on == ProfileUse::NotUsable {
            self.unusable_s += active_s;
        }
    }
}

/// What all threads that evaluate sources read.
struct SharedView<'a> {
    engine: &'a Engine,
    span: Span,
    step: u64,
    /// Length of the step before, and what hops handed on in it.
    before_s: f64,
    handed: &'a [f64],
}

/// Some sources of one profile, in order of branches, and what is written for them; the slices
/// start at branch `first`.
struct SourceWork<'a> {
    members: &'a [u32],
    first: usize,
    handed: &'a mut [f64],
    branches: &'a mut [BranchState],
    /// [`LOOKS`] of every branch; empty if they do not learn.
    looks: &'a mut [Seen],
}

impl SharedView<'_> {
    fn send(&self, profile: &dyn Profile, work: SourceWork<'_>, fork: bool) {
        let n = work.members.len();
        if !fork || n < 2 * FORK_SOURCES {
            return self.send_serially(profile, work);
        }
        // Whole batches on each side: the same batches for any number of threads.
        let middle = n / 2 / BATCH * BATCH;
        let (left, right) = work.members.split_at(middle);
        let cut = right[0] as usize - work.first;
        let (handed_l, handed_r) = work.handed.split_at_mut(cut);
        let (branches_l, branches_r) = work.branches.split_at_mut(cut);
        let looks_cut = (cut * LOOKS).min(work.looks.len());
        let (looks_l, looks_r) = work.looks.split_at_mut(looks_cut);
        let left = SourceWork {
            members: left,
            first: work.first,
            handed: handed_l,
            branches: branches_l,
            looks: looks_l,
        };
        let right = SourceWork {
            members: right,
            first: work.first + cut,
            handed: handed_r,
            branches: branches_r,
            looks: looks_r,
        };
        rayon::join(
            || self.send(profile, left, fork),
            || self.send(profile, right, fork),
        );
    }

    fn send_serially(&self, profile: &dyn Profile, work: SourceWork<'_>) {
        let Engine {
            plan,
            scratch,
            fixed_s,
            ..
        } = self.engine;
        let learns = !work.looks.is_empty();
        let (mut loss, mut rtt) = ([0.0; BATCH], [0.0; BATCH]);
        let mut from_profile = [0.0; BATCH];
        for batch in work.members.chunks(BATCH) {
            for (i, &b) in batch.iter().enumerate() {
                let b = b as usize;
                let [ln_pass, rtt_s] =
                    look(plan, &plan.branches[b], &scratch.conditions, fixed_s[b]);
                if learns {
                    let mine = b - work.first;
                    let looks = &mut work.looks[mine * LOOKS..(mine + 1) * LOOKS];
                    [loss[i], rtt[i]] = work.branches[mine].learn_from(
                        looks,
                        &plan.branches[b],
                        [ln_pass, rtt_s],
                        self.step,
                        self.span,
                    );
                } else {
                    (loss[i], rtt[i]) = (-ln_pass.exp_m1(), rtt_s);
                }
            }
            let n = batch.len();
            profile.throughputs(&loss[..n], &rtt[..n], &mut from_profile[..n]);
            for (i, &b) in batch.iter().enumerate() {
                let b = b as usize;
                let branch = &plan.branches[b];
                let may_pps = branch.within_window(from_profile[i], rtt[i]);
                let state = &mut work.branches[b - work.first];
                let mut mean_pps = may_pps;
                if learns {
                    let delivered = self.handed[branch.last_data_hop as usize];
                    let delivered_pps = delivered / (branch.weight * self.before_s);
                    mean_pps = state.grow(may_pps, delivered_pps, branch, self.span);
                } else {
                    state.rate_pps = mean_pps;
                }
                let active_s = sources::active_s(branch, self.span.start_s, self.span.end_s);
                let wanted = mean_pps * branch.weight * active_s;
                let sent = wanted.min(scratch.may_send[b]);
                let limit = branch.limit(rtt[i], from_profile[i], may_pps, state.rate_pps);
                let (short, seen) = (sent < wanted, [loss[i], rtt[i]]);
                let end_s = self.span.end_s;
                state.applied =
                    Some(branch.applied(limit, short, seen, Some(from_profile[i]), end_s));
                if sent < wanted && branch.application_pps < f64::INFINITY {
                    // It neither grows nor loses with what it does not send.
                    state.rate_pps = sent / (branch.weight * active_s);
                }
                state.learnt.step_pkts = sent / branch.weight;
                work.handed[b - work.first] = sent;
                state.sent_pkts += sent;
                state.rtt_time += rtt[i] * active_s;
                state.loss_time += loss[i] * active_s;
                state.active_s += active_s;
                state.rest(profile.rests_on(loss[i], rtt[i]), active_s);
            }
        }
    }
}
