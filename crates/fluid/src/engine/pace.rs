//! How long a step may be.

use netflow_network::Step;
use netflow_network::tables::Tables;

use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::sources::{self, ActiveSources};
use crate::state::State;

/// No step is shorter than this, in seconds, whatever the round-trip times.
const SHORTEST_S: f64 = 1e-6;

/// Steps of `longest_s` halved again and again: whatever their lengths, they meet again at the
/// multiples of the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub longest_s: f64,
    /// Steps in a round trip.
    pub per_round_trip: f64,
    /// The shortest step that there is room for.
    pub shortest_s: f64,
}

impl Pace {
    /// For a network whose queues are all empty; `None` if every step has the same length.
    pub fn new(step: Step, plan: &Plan, inner: &Tables) -> Option<Pace> {
        let Step::Auto {
            longest_s,
            per_round_trip,
        } = step
        else {
            return None;
        };
        let mut pace = Pace {
            longest_s,
            per_round_trip,
            shortest_s: SHORTEST_S.min(longest_s),
        };
        pace.shortest_s = pace.step_s(shortest_round_trip_s(plan, inner));
        Some(pace)
    }

    /// The length of a step where this is the shortest round-trip time.
    pub fn step_s(&self, round_trip_s: f64) -> f64 {
        let wanted_s = (round_trip_s / self.per_round_trip).max(self.shortest_s);
        if wanted_s >= self.longest_s {
            return self.longest_s;
        }
        // A rounding error may not halve it.
        let halvings = (self.longest_s / wanted_s * (1.0 - 1e-9)).log2().ceil();
        self.longest_s / halvings.exp2()
    }
}

/// What is fast about a source: its round-trip time if it has a profile; the time in which it sends
/// its size, if it has one and sends at its own rate, of which four parts are as fast.
fn quickness_s(branch: &BranchPlan, round_trip_s: impl Fn() -> f64) -> f64 {
    match branch.profile {
        NO_PROFILE => 0.25 * branch.size_pkts / (branch.rate_pps * branch.weight),
        _ => round_trip_s(),
    }
}

/// The shortest round-trip time of all sources with profiles while nobody queues.
fn shortest_round_trip_s(plan: &Plan, inner: &Tables) -> f64 {
    let bandwidth_bps = |place: u32| {
        let link = plan.links[place as usize].link;
        inner.links[link as usize].bandwidth_bps
    };
    let branches = plan.branches.iter();
    let quickness =
        branches.map(|b| quickness_s(b, || sources::fixed_round_trip_s(plan, b, bandwidth_bps)));
    quickness.fold(f64::INFINITY, f64::min)
}

/// The shortest round-trip time that a source sees who may send in the next step.
pub(crate) fn shortest_seen_s(
    plan: &Plan,
    active: &ActiveSources,
    state: &State,
    fixed_s: &[f64],
) -> f64 {
    let lagged = active.lagged.iter().flat_map(|(_, members)| members);
    let others = active.marked.iter().chain(&active.rates);
    let quickness = lagged.chain(others).map(|&b| {
        let b = b as usize;
        quickness_s(&plan.branches[b], || match state.branches[b].learnt {
            learnt if learnt.since_s.is_some() && learnt.last_step + 1 == state.steps => {
                learnt.rtt_s
            }
            _ => fixed_s[b],
        })
    });
    quickness.fold(f64::INFINITY, f64::min)
}
