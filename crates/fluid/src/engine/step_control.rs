//! Step size control from the round-trip times of sources.

use netflow_network::Step;
use netflow_network::compiled::{CompiledNetwork, NO_CLASS_PATH};

use super::Setup;
use super::feedback::initial_rate_pps;
use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::sources::{ActiveSources, FixedDelays};
use crate::state::State;

/// Lower bound of the step size in seconds.
const MIN_STEP_S: f64 = 1e-6;

/// Multipliers on the steps per RTT: for a source in slow start (its rate doubles every RTT), and for one in
/// steady state.
const STEP_FACTOR_SLOW_START: f64 = 2.0;
const STEP_FACTOR_STEADY: f64 = 1.0 / 3.0;

/// The same for windows as state: 6 steps per RTT in slow start and 2 in steady state with the default of 12.
const WINDOW_STEP_FACTORS: (f64, f64) = (0.5, 1.0 / 6.0);

/// Minimum number of steps per RTT of any source, however little it sends.
const MIN_STEPS_PER_RTT: f64 = 1.0;

/// Step sizes `longest_s`/2ⁿ and `longest_s`/(3/4 · 2ⁿ), so that steps of all sizes meet at the multiples of the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepControl {
    pub longest_s: f64,
    /// Steps per RTT of a source that changes by half in each RTT.
    pub per_round_trip: f64,
    /// Shortest permitted step, in seconds.
    pub shortest_s: f64,
    /// Multipliers in slow start and in steady state.
    pub factors: (f64, f64),
}

impl StepControl {
    /// Creates the step control for a network with empty queues; `None` if all steps have the same length.
    pub fn new(step: Step, plan: &Plan, inner: &CompiledNetwork) -> Option<StepControl> {
        let Step::Auto {
            longest_s,
            per_round_trip,
        } = step
        else {
            return None;
        };
        let mut pace = StepControl {
            longest_s,
            per_round_trip,
            shortest_s: MIN_STEP_S.min(longest_s),
            factors: if plan.windows > 0 {
                WINDOW_STEP_FACTORS
            } else {
                (STEP_FACTOR_SLOW_START, STEP_FACTOR_STEADY)
            },
        };
        let most = pace.factors.0 * per_round_trip;
        pace.shortest_s = pace.halved_s(shortest_round_trip_s(plan, inner) / most);
        Some(pace)
    }

    /// Returns the longest step divided by the smallest power of two, or three quarters of one, that makes it at most
    /// `wanted_s`.
    fn halved_s(&self, wanted_s: f64) -> f64 {
        let wanted_s = wanted_s.max(self.shortest_s);
        if wanted_s >= self.longest_s {
            return self.longest_s;
        }
        // Rounding errors must not halve the step.
        let parts = self.longest_s / wanted_s * (1.0 - 1e-9);
        let halved = libm::exp2(libm::log2(parts).ceil());
        self.longest_s
            / if parts <= 0.75 * halved {
                0.75 * halved
            } else {
                halved
            }
    }
}

/// Returns the time scale of a source: its RTT if it has a profile. For a fixed-rate source it is a quarter
/// of the time in which it sends its size.
fn quickness_s(branch: &BranchPlan, own_pps: f64, round_trip_s: impl Fn() -> f64) -> f64 {
    match branch.profile {
        NO_PROFILE => 0.25 * branch.size_pkts / (own_pps * branch.weight),
        _ => round_trip_s(),
    }
}

/// Returns the shortest RTT of all sources with profiles, with empty queues and the shortest delays.
fn shortest_round_trip_s(plan: &Plan, inner: &CompiledNetwork) -> f64 {
    let bandwidth_bps = |rank: u32| {
        let link = plan.links[rank as usize].link;
        inner.links[link as usize].bandwidth_bps
    };
    let most_pps = |b: &BranchPlan| {
        let settable = inner.controllable.get(b.settable as usize);
        let rates_pps = settable.and_then(|it| it.rates_pps);
        rates_pps.map_or(b.rate_pps, |(_, most)| most)
    };
    let branches = plan.branches.iter();
    let links = plan.links.iter();
    let delays_s: Vec<f64> = links.map(|l| inner.delays_s(l.link).0).collect();
    let delay_s = |rank: u32| delays_s[rank as usize];
    let round_trip_s = |b| FixedDelays::new(plan, b, bandwidth_bps, delay_s).round_trip_s;
    let quickness = branches.map(|b| quickness_s(b, most_pps(b), || round_trip_s(b)));
    quickness.fold(f64::INFINITY, f64::min)
}

/// Step size demand of all sources, weighted by packets sent. Sums are integers, so they do not depend on the
/// order.
struct StepDemand {
    /// Upper bound of the step from all sources, in seconds.
    most_s: f64,
    /// Sums of rates times steps per second, and of rates, in units of [`DEMAND_UNIT_PPS`].
    steps: u128,
    rates: u128,
}

const DEMAND_UNIT_PPS: f64 = 1e-6;

/// Activity of a source.
#[derive(Clone, Copy, Debug)]
struct SourceActivity {
    rtt_s: f64,
    /// Rate of all connections of the class.
    rate_pps: f64,
    /// Number of doublings or halvings per RTT.
    doublings: f64,
}

impl StepDemand {
    /// Creates an empty demand.
    fn new() -> StepDemand {
        StepDemand {
            most_s: f64::INFINITY,
            steps: 0,
            rates: 0,
        }
    }

    /// Adds a fixed-rate source.
    fn add_own(&mut self, branch: &BranchPlan, own_pps: f64, pace: &StepControl) {
        let quick_s = quickness_s(branch, own_pps, || 0.0);
        self.most_s = self.most_s.min(quick_s / pace.per_round_trip);
    }

    /// Adds a source with a profile that starts: its rate doubles every RTT.
    fn add_new(&mut self, branch: &BranchPlan, rtt_s: f64, pace: &StepControl) {
        let begins = SourceActivity {
            rtt_s,
            rate_pps: initial_rate_pps(rtt_s) * branch.weight,
            doublings: 1.0,
        };
        self.add(begins, pace);
    }

    fn add(&mut self, source: SourceActivity, pace: &StepControl) {
        let (slow_start, steady) = pace.factors;
        let times = (slow_start * source.doublings).clamp(steady, slow_start);
        let rate = source.rate_pps / DEMAND_UNIT_PPS;
        self.steps += (rate * times * pace.per_round_trip / source.rtt_s) as u128;
        self.rates += rate as u128;
        self.most_s = self.most_s.min(source.rtt_s / MIN_STEPS_PER_RTT);
    }

    /// Returns the step size in seconds; infinite without active sources.
    fn wanted_s(&self) -> f64 {
        if self.steps > 0 {
            self.most_s.min(self.rates as f64 / self.steps as f64)
        } else {
            self.most_s
        }
    }
}

impl StepControl {
    /// Returns the length of the next step from the sources that may send in it.
    ///
    /// A source needs more steps per RTT the faster it changes. Its contribution to the error is proportional
    /// to its share of the packets and to the ratio of the step to its own step size. The common step is
    /// therefore the mean of the wanted step sizes, weighted by rate.
    pub fn next_step_length_s(
        &self,
        setup: &Setup,
        active: &ActiveSources,
        state: &State,
        fixed: &[FixedDelays],
    ) -> f64 {
        let plan = &setup.plan;
        let lagged = active.lagged.iter().flat_map(|(_, members)| members);
        let others = active.marked.iter().chain(&active.rates);
        let mut demand = StepDemand::new();
        for &b in lagged.chain(others) {
            let b = b as usize;
            let branch = &plan.branches[b];
            if branch.profile == NO_PROFILE {
                demand.add_own(branch, state.own_pps(branch), self);
                continue;
            }
            let known = match (state.windows.get(b), state.learnt.get(b)) {
                (Some(it), _) if it.is_running(state.steps) => Some((it.rtt_s, it.doublings)),
                (_, Some(it)) if it.since_s.is_some() && it.last_step + 1 == state.steps => {
                    Some((it.rtt_s, it.doublings))
                }
                _ => None,
            };
            match known {
                Some((rtt_s, doublings)) => {
                    let rate_pps = state.branches[b].rate_pps * branch.weight;
                    demand.add(
                        SourceActivity {
                            rtt_s,
                            rate_pps,
                            doublings,
                        },
                        self,
                    );
                }
                _ => demand.add_new(branch, fixed[b].round_trip_s, self),
            }
        }
        let mut step_s = self.halved_s(demand.wanted_s());
        // If a source starts within the step, the step ends before that, or suits that source, too.
        let now_s = state.time_s;
        let next = setup
            .starts
            .partition_point(|&(start_s, _)| start_s <= now_s);
        for &(start_s, class) in &setup.starts[next..] {
            let ahead_s = start_s - now_s;
            if ahead_s >= step_s {
                break;
            }
            let b = setup.branch_of(state, state.epoch, class);
            if b == NO_CLASS_PATH {
                continue;
            }
            let branch = &plan.branches[b as usize];
            match branch.profile {
                NO_PROFILE => demand.add_own(branch, state.own_pps(branch), self),
                _ => demand.add_new(branch, fixed[b as usize].round_trip_s, self),
            }
            step_s = step_s.min(self.halved_s(ahead_s.max(demand.wanted_s())));
        }
        step_s
    }
}

/// Returns the start times of sources that limit the step size, with their classes, in order of time.
pub(crate) fn starts(plan: &Plan) -> Vec<(f64, u32)> {
    let quick =
        (plan.branches.iter()).filter(|b| b.profile != NO_PROFILE || b.size_pkts.is_finite());
    let mut all: Vec<(f64, u32)> = quick.map(|b| (b.start_s, b.class)).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> StepControl {
        StepControl {
            longest_s: 0.05,
            per_round_trip: 12.0,
            shortest_s: MIN_STEP_S,
            factors: (STEP_FACTOR_SLOW_START, STEP_FACTOR_STEADY),
        }
    }

    #[test]
    fn steps_are_power_of_two_fractions() {
        for (wanted_s, step_s) in [
            (1.0, 0.05),
            (0.025, 0.025),
            (0.0249, 0.05 / 3.0),
            (0.0166, 0.0125),
            (0.0, 0.05 / 65536.0),
        ] {
            assert_eq!(pace().halved_s(wanted_s), step_s, "{wanted_s}");
        }
    }

    /// A single source that doubles needs twice the nominal steps. One in steady state needs a third, as does
    /// one that sends almost nothing compared with it.
    #[test]
    fn active_sources_determine_step_size() {
        let source = |rtt_s, rate_pps, doublings| SourceActivity {
            rtt_s,
            rate_pps,
            doublings,
        };
        let wanted_s = |sources: &[SourceActivity]| {
            let mut demand = StepDemand::new();
            for source in sources {
                demand.add(*source, &pace());
            }
            demand.wanted_s()
        };
        let near =
            |is: f64, should: f64| assert!((is / should - 1.0).abs() < 1e-3, "{is} {should}");
        near(wanted_s(&[source(0.1, 5.0, 1.0)]), 0.1 / 24.0);
        near(wanted_s(&[source(0.1, 5.0, 0.0)]), 0.1 / 4.0);
        near(
            wanted_s(&[source(0.1, 1000.0, 0.0), source(0.1, 0.01, 1.0)]),
            0.1 / 4.0,
        );
        near(
            wanted_s(&[source(0.1, 1.0, 0.0), source(0.1, 1.0, 1.0)]),
            0.1 / 14.0,
        );
        assert_eq!(wanted_s(&[]), f64::INFINITY);
    }
}
