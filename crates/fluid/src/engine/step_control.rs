//! Step size control from the round-trip times of sources.

use netflow_network::Step;
use netflow_network::compiled::{CompiledNetwork, NO_CLASS_PATH};

use super::Setup;
use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::source_law::initial_rate_pps;
use super::sources::{ActiveSources, FixedDelays};
use crate::state::State;

/// Lower bound of the step size in seconds.
const MIN_STEP_S: f64 = 1e-6;

/// Steps per RTT of a source in slow start, whose rate doubles every RTT, and of one in steady state.
const STEPS_SLOW_START: f64 = 6.0;
const STEPS_STEADY: f64 = 2.0;

/// Minimum number of steps in the time in which a fixed-rate source sends its size.
const STEPS_OF_SIZE: f64 = 48.0;

/// Minimum number of steps per RTT of any source, however little it sends.
const MIN_STEPS_PER_RTT: f64 = 1.0;

/// Step sizes `longest_s`/2ⁿ and `longest_s`/(3/4 · 2ⁿ), so that steps of all sizes meet at the multiples of the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepControl {
    pub longest_s: f64,
    /// Shortest permitted step, in seconds.
    pub shortest_s: f64,
}

impl StepControl {
    /// Creates the step control for a network with empty queues; `None` if all steps have the same length.
    pub fn new(step: Step, plan: &Plan, inner: &CompiledNetwork) -> Option<StepControl> {
        let Step::Auto { longest_s } = step else {
            return None;
        };
        let mut pace = StepControl {
            longest_s,
            shortest_s: MIN_STEP_S.min(longest_s),
        };
        pace.shortest_s = pace.halved_s(shortest_step_s(plan, inner));
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

/// Returns the step size in seconds that suits a fixed-rate source.
fn step_of_size_s(branch: &BranchPlan, own_pps: f64) -> f64 {
    branch.size_pkts / (own_pps * branch.weight * STEPS_OF_SIZE)
}

/// Returns the shortest step size in seconds that suits all sources, with empty queues and the shortest delays.
fn shortest_step_s(plan: &Plan, inner: &CompiledNetwork) -> f64 {
    let bandwidth_bps = |rank: u32| {
        let link = plan.links[rank as usize].link;
        inner.links[link as usize].bandwidth_bps
    };
    let most_pps = |b: &BranchPlan| {
        let settable = inner.controllable.get(b.settable as usize);
        let rates_pps = settable.and_then(|it| it.rates_pps);
        rates_pps.map_or(b.rate_pps, |(_, most)| most)
    };
    let links = plan.links.iter();
    let delays_s: Vec<f64> = links.map(|l| inner.delays_s(l.link).0).collect();
    let delay_s = |rank: u32| delays_s[rank as usize];
    let steps_s = plan.branches.iter().map(|b| match b.profile {
        NO_PROFILE => step_of_size_s(b, most_pps(b)),
        _ => FixedDelays::new(plan, b, bandwidth_bps, delay_s).round_trip_s / STEPS_SLOW_START,
    });
    steps_s.fold(f64::INFINITY, f64::min)
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
    fn add_own(&mut self, branch: &BranchPlan, own_pps: f64) {
        self.most_s = self.most_s.min(step_of_size_s(branch, own_pps));
    }

    /// Adds a source with a profile that starts: its rate doubles every RTT.
    fn add_new(&mut self, branch: &BranchPlan, rtt_s: f64) {
        self.add(SourceActivity {
            rtt_s,
            rate_pps: initial_rate_pps(rtt_s) * branch.weight,
            doublings: 1.0,
        });
    }

    fn add(&mut self, source: SourceActivity) {
        let steps = (STEPS_SLOW_START * source.doublings).clamp(STEPS_STEADY, STEPS_SLOW_START);
        let rate = source.rate_pps / DEMAND_UNIT_PPS;
        self.steps += (rate * steps / source.rtt_s) as u128;
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
        let mut demand = StepDemand::new();
        for b in active.all() {
            let b = b as usize;
            let branch = &plan.branches[b];
            if branch.profile == NO_PROFILE {
                demand.add_own(branch, state.own_pps(branch));
                continue;
            }
            match state.windows.get(b) {
                Some(window) if window.is_running(state.steps) => demand.add(SourceActivity {
                    rtt_s: window.rtt_s,
                    rate_pps: state.branches[b].rate_pps * branch.weight,
                    doublings: window.doublings,
                }),
                _ => demand.add_new(branch, fixed[b].round_trip_s),
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
                NO_PROFILE => demand.add_own(branch, state.own_pps(branch)),
                _ => demand.add_new(branch, fixed[b as usize].round_trip_s),
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
            shortest_s: MIN_STEP_S,
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

    /// A single source that doubles needs 6 steps per RTT. One in steady state needs 2, together with one that
    /// sends almost nothing compared with it.
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
                demand.add(*source);
            }
            demand.wanted_s()
        };
        let near =
            |is: f64, should: f64| assert!((is / should - 1.0).abs() < 1e-3, "{is} {should}");
        near(wanted_s(&[source(0.1, 5.0, 1.0)]), 0.1 / 6.0);
        near(wanted_s(&[source(0.1, 5.0, 0.0)]), 0.1 / 2.0);
        near(
            wanted_s(&[source(0.1, 1000.0, 0.0), source(0.1, 0.01, 1.0)]),
            0.1 / 2.0,
        );
        near(
            wanted_s(&[source(0.1, 1.0, 0.0), source(0.1, 1.0, 1.0)]),
            0.1 / 4.0,
        );
        assert_eq!(wanted_s(&[]), f64::INFINITY);
    }
}
