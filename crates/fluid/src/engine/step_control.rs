//! Step size control from the round-trip times of sources.

use netflow_network::compiled::{CompiledNetwork, NO_CLASS_PATH};
use netflow_network::{FluidOptions, Step};

use super::Setup;
use super::components::Component;
use super::plan::{BranchPlan, NO_PROFILE, Plan};
use super::source_law::initial_rate_pps;
use super::sources::{ActiveSources, FixedDelays};
use super::tcp_window::TcpWindow;
use crate::state::{Clock, State};

/// Lower bound of the step size in seconds.
const MIN_STEP_S: f64 = 1e-6;

/// Steps per RTT of a source in slow start, whose rate doubles every RTT, and of one in steady state.
const STEPS_SLOW_START: f64 = 6.0;
const STEPS_STEADY: f64 = 2.0;

/// Minimum number of steps in the time in which a fixed-rate source sends its size.
const STEPS_OF_SIZE: f64 = 48.0;

/// Minimum number of steps per RTT of any source, however little it sends.
const MIN_STEPS_PER_RTT: f64 = 1.0;

/// Step sizes `longest_s`/2ⁿ and `longest_s`/(3/4 · 2ⁿ), so that steps of all sizes meet at the multiples of twice the
/// longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepControl {
    pub longest_s: f64,
    /// Shortest permitted step, in seconds.
    pub shortest_s: f64,
}

/// Maximum number of source starts and stops of a component at which its steps end. If there are more, none is used.
const MAX_SWITCHES: usize = 10_000;

/// Steps of one component.
#[derive(Clone, Debug)]
pub(crate) struct ComponentSteps {
    control: StepControl,
    /// Start times of sources that limit the step size, with their classes, in order of time.
    starts: Vec<(f64, u32)>,
    /// Times in seconds at which sources start or stop and a step must end, in increasing order.
    switches_s: Vec<f64>,
}

impl ComponentSteps {
    /// Creates the steps of every component, for empty queues.
    pub fn of_all(
        options: FluidOptions,
        plan: &Plan,
        inner: &CompiledNetwork,
    ) -> Vec<ComponentSteps> {
        let components = plan.components.iter();
        let of = |component| ComponentSteps::new(options, plan, inner, component);
        components.map(of).collect()
    }

    fn new(
        options: FluidOptions,
        plan: &Plan,
        inner: &CompiledNetwork,
        component: &Component,
    ) -> ComponentSteps {
        let fixed = |step_s| ComponentSteps {
            control: StepControl {
                longest_s: step_s,
                shortest_s: step_s,
            },
            starts: Vec::new(),
            switches_s: Vec::new(),
        };
        match options {
            FluidOptions::Standard {
                step: Step::Fixed { step_s },
            } => fixed(step_s),
            FluidOptions::Literal { step_s } => ComponentSteps {
                switches_s: source_switches(plan, component),
                ..fixed(step_s)
            },
            FluidOptions::Standard {
                step: Step::Auto { longest_s },
            } => ComponentSteps {
                control: StepControl::new(longest_s, plan, inner, component),
                starts: starts(plan, component),
                switches_s: source_switches(plan, component),
            },
        }
    }

    /// Returns the shortest permitted step in seconds.
    pub fn shortest_s(&self) -> f64 {
        self.control.shortest_s
    }

    /// Returns the next time after `time_s` at which a step must end because a source starts or stops.
    pub fn next_switch_s(&self, time_s: f64) -> f64 {
        let next = self.switches_s.partition_point(|&s| s <= time_s);
        self.switches_s.get(next).copied().unwrap_or(f64::INFINITY)
    }
}

impl StepControl {
    /// Creates the step control of a component with empty queues.
    fn new(
        longest_s: f64,
        plan: &Plan,
        inner: &CompiledNetwork,
        component: &Component,
    ) -> StepControl {
        let mut control = StepControl {
            longest_s,
            shortest_s: MIN_STEP_S.min(longest_s),
        };
        control.shortest_s = control.halved_s(shortest_step_s(plan, inner, component));
        control
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
fn shortest_step_s(plan: &Plan, inner: &CompiledNetwork, component: &Component) -> f64 {
    let bandwidth_bps = |rank: u32| {
        let link = plan.links[rank as usize].link;
        inner.links[link as usize].bandwidth_bps
    };
    let most_pps = |b: &BranchPlan| {
        let settable = inner.controllable.get(b.settable as usize);
        let rates_pps = settable.and_then(|it| it.rates_pps);
        rates_pps.map_or(b.rate_pps, |(_, most)| most)
    };
    let delay_s = |rank: u32| inner.delays_s(plan.links[rank as usize].link).0;
    let branches = (component.branches.iter()).map(|&b| &plan.branches[b as usize]);
    let steps_s = branches.map(|b| match b.profile {
        NO_PROFILE => step_of_size_s(b, most_pps(b)),
        _ => {
            let fixed = FixedDelays::new(plan, b, bandwidth_bps, bandwidth_bps, delay_s);
            fixed.round_trip_s / STEPS_SLOW_START
        }
    });
    steps_s.fold(f64::INFINITY, f64::min)
}

/// Step size demand of sources, weighted by packets sent. Sums are integers, so they do not depend on the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepDemand {
    /// Upper bound of the step from all sources, in seconds.
    most_s: f64,
    /// Sums of rates times steps per second, and of rates, in units of [`DEMAND_UNIT_PPS`].
    steps: u128,
    rates: u128,
}

const DEMAND_UNIT_PPS: f64 = 1e-6;

/// Returns the number of steps per RTT of a source with this number of doublings or halvings per RTT.
fn steps_per_rtt(doublings: f64) -> f64 {
    (STEPS_SLOW_START * doublings).clamp(STEPS_STEADY, STEPS_SLOW_START)
}

/// Returns the step size in seconds that suits a source in steady state; 0 for one that changes faster.
pub(crate) fn steady_step_s(rtt_s: f64, doublings: f64) -> f64 {
    let steps = steps_per_rtt(doublings);
    if steps > STEPS_STEADY {
        0.0
    } else {
        rtt_s / steps
    }
}

/// Returns the integer part of a number that is not negative. Conversions to 64 bits are much faster.
fn integer_part(x: f64) -> u128 {
    if x < u64::MAX as f64 {
        u128::from(x as u64)
    } else {
        x as u128
    }
}

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
    pub fn new() -> StepDemand {
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

    /// Adds the demand of other sources.
    pub fn merge(&mut self, other: &StepDemand) {
        self.most_s = self.most_s.min(other.most_s);
        self.steps += other.steps;
        self.rates += other.rates;
    }

    /// Adds a source with a profile before the given step.
    pub fn add_with_profile(
        &mut self,
        branch: &BranchPlan,
        rate_pps: f64,
        window: Option<&TcpWindow>,
        fixed: &FixedDelays,
        step: u64,
    ) {
        match window {
            Some(window) if window.is_running(step) => self.add(SourceActivity {
                rtt_s: window.rtt_s,
                rate_pps: rate_pps * branch.weight,
                doublings: window.doublings,
            }),
            _ => self.add_new(branch, fixed.round_trip_s),
        }
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
        let steps = steps_per_rtt(source.doublings);
        let rate = source.rate_pps / DEMAND_UNIT_PPS;
        self.steps += integer_part(rate * steps / source.rtt_s);
        self.rates += integer_part(rate);
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

impl ComponentSteps {
    /// Returns the length of the next step in seconds from the sources that may send in it.
    ///
    /// A source needs more steps per RTT the faster it changes. Its contribution to the error is proportional
    /// to its share of the packets and to the ratio of the step to its own step size. The common step is
    /// therefore the mean of the wanted step sizes, weighted by rate.
    pub fn next_step_length_s(
        &self,
        setup: &Setup,
        active: &ActiveSources,
        state: &State,
        clock: Clock,
        fixed: &[FixedDelays],
    ) -> f64 {
        let control = self.control;
        if control.shortest_s >= control.longest_s {
            return control.longest_s; // fixed, or always the longest
        }
        let plan = &setup.plan;
        let add_with_profile = |demand: &mut StepDemand, b: u32| {
            let b = b as usize;
            demand.add_with_profile(
                &plan.branches[b],
                state.branches[b].rate_pps,
                state.windows.get(b),
                &fixed[b],
                clock.steps,
            );
        };
        let sum = || {
            let mut demand = StepDemand::new();
            (active.with_profiles()).for_each(|b| add_with_profile(&mut demand, b));
            demand
        };
        debug_assert!(active.demand.is_none_or(|it| it == sum()), "out of date");
        let mut demand = active.demand.unwrap_or_else(sum);
        for &b in active.rates.iter().chain(&active.marked) {
            let branch = &plan.branches[b as usize];
            if branch.profile == NO_PROFILE {
                demand.add_own(branch, state.own_pps(branch));
            } else {
                add_with_profile(&mut demand, b);
            }
        }
        let mut step_s = control.halved_s(demand.wanted_s());
        // If a source starts within the step, the step ends before that, or suits that source, too.
        let now_s = clock.time_s;
        let next = (self.starts).partition_point(|&(start_s, _)| start_s <= now_s);
        for &(start_s, class) in &self.starts[next..] {
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
            step_s = step_s.min(control.halved_s(ahead_s.max(demand.wanted_s())));
        }
        step_s
    }
}

/// Returns the start times of sources that limit the step size, with their classes, in order of time.
fn starts(plan: &Plan, component: &Component) -> Vec<(f64, u32)> {
    let branches = (component.branches.iter()).map(|&b| &plan.branches[b as usize]);
    let quick = branches.filter(|b| b.profile != NO_PROFILE || b.size_pkts.is_finite());
    let mut all: Vec<(f64, u32)> = quick.map(|b| (b.start_s, b.class)).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.dedup();
    all
}

/// Returns the times of source starts and stops at which a step must end: those of fixed-rate sources, because
/// other sources start slowly.
fn source_switches(plan: &Plan, component: &Component) -> Vec<f64> {
    let branches = (component.branches.iter()).map(|&b| &plan.branches[b as usize]);
    let mut all: Vec<f64> = branches
        .filter(|b| b.profile == NO_PROFILE)
        .flat_map(|b| [b.start_s, b.stop_s])
        .filter(|s| s.is_finite())
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.len() > MAX_SWITCHES {
        all.clear();
    }
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

    #[test]
    fn integer_parts_match_conversion() {
        for x in [0.0, 0.999, 1.5, 1e15, 9.3e18, 1.8e19, u64::MAX as f64, 1e25] {
            assert_eq!(integer_part(x), x as u128, "{x}");
        }
    }
}
