//! Failure analysis: steady states after the failure of each link, node or risk group, or of each
//! pair of them.
//!
//! Routes are those after the same events of a run. The solution starts from the steady state of the intact
//! network. If all sources have a fixed rate, only links and connections that the failure affects are computed
//! again. A network for which this finds no steady state is solved as a whole.

pub(crate) mod cases;
mod headroom;
mod impact;
mod worst;

use netflow_network::{ConnectionId, Network, Rerouted, Rerouter};
use rayon::prelude::*;

use crate::changed_state::{ChangedState, Intact, Outcome};
use crate::{ConnectionSelection, Solver, Steady, SteadyError, SteadyOptions};
use cases::Cases;
pub(crate) use cases::links_of;
pub use cases::{Failing, FailureKind};
pub use headroom::{HeadroomUnderFailures, headroom_under_failures};
pub use impact::{AffectedConnection, ImpactKind, SLOWDOWN_THRESHOLD};
pub use worst::{BUSY_LOAD, Worst};

/// Goodput in bit/s below which a loss of goodput is ignored; the solver's error is far below.
pub(crate) const MIN_LOST_FRACTION: f64 = 1e-8;
/// Difference of loads up to which they count as equal.
const LOAD_TOLERANCE: f64 = 1e-6;
/// Step of the ranking of lost goodput, as a fraction of the intact goodput: smaller differences do
/// not count.
const LOST_FRACTION_STEP: f64 = 1e-4;
/// Number of cases evaluated before their results are collected in order.
pub(crate) const CASES_TOGETHER: usize = 4096;

/// Options of a failure analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureOptions {
    /// True if links fail; a duplex link fails as one.
    pub links: bool,
    /// True if nodes fail, with all their links.
    pub nodes: bool,
    /// True if risk groups fail.
    pub groups: bool,
    /// True if each pair of elements fails together, instead of each element alone.
    pub pairs: bool,
    /// Number of cases to sample at random; `None` for all.
    pub sample: Option<usize>,
    /// Random seed of the sample.
    pub seed: u64,
    /// Number of affected connections that are kept per case.
    pub max_affected: usize,
    /// Factor of all demands: of sources and applications with a rate.
    pub demand_factor: f64,
    /// Options of the solver.
    pub steady: SteadyOptions,
}

impl Default for FailureOptions {
    /// Returns options for all elements, each failing alone.
    fn default() -> Self {
        FailureOptions {
            links: true,
            nodes: true,
            groups: true,
            pairs: false,
            sample: None,
            seed: 1,
            max_affected: 0,
            demand_factor: 1.0,
            steady: SteadyOptions::default(),
        }
    }
}

/// Results of a failure analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    /// Steady state without failures.
    pub intact: Steady,
    /// Worst values of that state.
    pub intact_worst: Worst,
    /// Cases in order: links, nodes, groups, or pairs of these.
    pub cases: Vec<FailureCase>,
    /// Number of possible cases, of which `cases` may be a sample.
    pub possible: usize,
    /// Elements that are down already, by events.
    pub down_already: Vec<Failing>,
    /// Worst case of each link.
    pub links: Vec<LinkUnderFailure>,
}

/// Result of one failure case.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureCase {
    /// Failed elements: one or two.
    pub failing: Vec<Failing>,
    /// Number of connections that lose their route; one with `count = n` counts n times.
    pub blocked: u64,
    /// Their goodput in the intact network, in bit/s.
    pub blocked_bps: f64,
    /// Number of flow classes that take one of several equal-cost paths as a whole, although
    /// routers would split them again.
    pub moved_whole: usize,
    /// Results for the other connections; an error if no steady state was found.
    pub outcome: Result<AfterFailure, SteadyError>,
}

/// Steady state after a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct AfterFailure {
    /// Residual: see [`Steady::residual`].
    pub residual: f64,
    /// Worst values.
    pub worst: Worst,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Decrease of the goodput by the failure; negative for an increase.
    pub lost_bps: f64,
    /// Connection with the largest relative loss of goodput, and the fraction lost. Ties go to the
    /// larger demand, then to the name.
    pub worst_affected: Option<(ConnectionId, f64)>,
    /// Number of affected connections: those that lose more than 0.01 % of their goodput, or whose
    /// delay at least doubles. One with `count = n` counts n times.
    pub affected_count: u64,
    /// First affected connections: by kbit/s lost, then by delay; those with a failed end node are
    /// last.
    pub affected: Vec<AffectedConnection>,
}

/// Worst load of a link over all failures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkUnderFailure {
    /// Load without failures: demand over bandwidth.
    pub intact_load: f64,
    /// The highest load.
    pub max_load: f64,
    /// Demand in that case, in bit/s on the wire.
    pub load_bps: f64,
    /// The case with the highest load; `None` if no failure raises the load.
    pub worst_case: Option<usize>,
}

impl Failures {
    /// Returns an analysis of the intact network only.
    pub(crate) fn without_cases(network: &Network, intact: Steady) -> Failures {
        Failures {
            intact_worst: Worst::of(network, &intact.links, &intact.connections),
            cases: Vec::new(),
            possible: 0,
            down_already: Vec::new(),
            links: intact.links.iter().map(LinkUnderFailure::new).collect(),
            intact,
        }
    }

    /// Returns a warning if flows move as a whole in some cases, where routers would split them.
    pub fn moved_parts_warning(&self) -> Option<String> {
        let moved = self.cases.iter().filter(|case| case.moved_whole > 0);
        let (moved, all) = (moved.count(), self.cases.len());
        (moved > 0).then(|| crate::rows::moved_parts_warning(moved, all))
    }

    /// Returns the cases from the worst on. Cases without a steady state are first, then by lost
    /// goodput in steps of 0.01 % of the intact goodput, then by highest load, then in order.
    pub fn ranked(&self) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.cases.len()).collect();
        let intact_bps = self.intact.totals.goodput_bps;
        let key = |i: usize| match &self.cases[i].outcome {
            Err(_) => (i64::MAX, 0.0),
            Ok(after) => {
                let lost = after.lost_bps / intact_bps.max(f64::MIN_POSITIVE) / LOST_FRACTION_STEP;
                let busiest = after.worst.load.map_or(0.0, |(_, it)| it);
                (lost.round() as i64, (busiest / LOAD_TOLERANCE).round())
            }
        };
        ranked.sort_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        ranked
    }
}

/// Analyses failures of a network in its state just before `at_s`; returns `None` if it was
/// stopped. The threads of the current rayon pool share the cases. The result is bit-identical for
/// any number of threads.
///
/// # Errors
/// As [`Solver::new`] and [`Solver::solve`] for the intact network; [`SteadyError::NothingToFail`],
/// [`SteadyError::TooManyCases`].
pub fn failures(
    network: &Network,
    at_s: f64,
    options: &FailureOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Failures>, SteadyError> {
    let mut solver = Solver::new(network, at_s)?;
    solver.scale(ConnectionSelection::All, options.demand_factor)?;
    let detours = Rerouter::new(network, at_s);
    let cases = Cases::enumerate(network, options, detours.down_before())?;
    let intact = solver.solve(&options.steady)?;
    let analysis = Analysis {
        network,
        at_s,
        options,
        rerouter: detours,
        intact: &intact,
    };
    let state = Intact::new(&solver, &intact);
    let mut links: Vec<LinkUnderFailure> = intact.links.iter().map(LinkUnderFailure::new).collect();
    let mut found: Vec<FailureCase> = Vec::with_capacity(cases.all.len());
    for some in cases.all.chunks(CASES_TOGETHER) {
        let some: Option<Vec<_>> = some
            .par_iter()
            .map_init(
                || ChangedState::new(&state),
                |state, &case| (!stop()).then(|| analysis.analyse_case(&cases, case, state)),
            )
            .collect();
        let Some(some) = some else { return Ok(None) };
        for (case, loads) in some {
            for (link, load) in loads {
                links[link as usize].record_case(found.len(), load);
            }
            found.push(case);
        }
    }
    Ok(Some(Failures {
        intact_worst: Worst::of(network, &intact.links, &intact.connections),
        possible: cases.possible,
        down_already: cases.down_already,
        cases: found,
        links,
        intact,
    }))
}

impl LinkUnderFailure {
    fn new(intact: &crate::LinkSteady) -> LinkUnderFailure {
        LinkUnderFailure {
            intact_load: intact.load,
            max_load: intact.load,
            load_bps: intact.load_bps,
            worst_case: None,
        }
    }

    /// Updates the worst load with that of one case. For equal loads the first case counts.
    fn record_case(&mut self, case: usize, (load, load_bps): (f64, f64)) {
        if load > self.max_load + LOAD_TOLERANCE {
            (self.max_load, self.load_bps, self.worst_case) = (load, load_bps, Some(case));
        }
    }
}

/// Data common to all cases.
struct Analysis<'a> {
    network: &'a Network,
    at_s: f64,
    options: &'a FailureOptions,
    rerouter: Rerouter,
    intact: &'a Steady,
}

/// Load of a link as a fraction and in bit/s.
type Load = (f64, f64);

impl Analysis<'_> {
    /// Solves one case. Returns it with the links whose load it changes; empty without a steady state.
    fn analyse_case(
        &self,
        cases: &Cases,
        case: cases::Case,
        state: &mut ChangedState<'_>,
    ) -> (FailureCase, Vec<(u32, Load)>) {
        let failing = cases.failing(case);
        let routes = self
            .rerouter
            .reroute_around(&cases.links(self.network, case));
        let near = state.with_routes(&routes, self.options.steady.tolerance, |after| {
            self.read(&failing, &routes, after)
        });
        near.unwrap_or_else(|| self.analyse_alone(failing, &routes))
    }

    /// Solves one case as a network of its own.
    fn analyse_alone(
        &self,
        failing: Vec<Failing>,
        routes: &Rerouted,
    ) -> (FailureCase, Vec<(u32, Load)>) {
        let mut blocked = Vec::new();
        let rest = Solver::rerouted(self.network, self.at_s, routes).and_then(|mut solver| {
            let without_route = solver.problem.without_route.iter().copied();
            blocked.extend(without_route.filter(|&id| self.intact.connection(id).sending));
            solver.scale(ConnectionSelection::All, self.options.demand_factor)?;
            solver.solve_from(self.intact, &self.options.steady)
        });
        match rest {
            Ok(steady) => {
                let links: Vec<u32> = (0..steady.links.len() as u32).collect();
                let after = Outcome {
                    residual: steady.residual,
                    goodput_bps: steady.totals.goodput_bps,
                    links: &steady.links,
                    connections: &steady.connections,
                    changed_connections: self.network.connections().collect(),
                    changed_links: &links,
                    blocked,
                };
                self.read(&failing, routes, after)
            }
            Err(error) => (
                self.case(&failing, routes, &blocked, Err(error)),
                Vec::new(),
            ),
        }
    }

    fn read(
        &self,
        failing: &[Failing],
        routes: &Rerouted,
        after: Outcome<'_>,
    ) -> (FailureCase, Vec<(u32, Load)>) {
        let load = |&link: &u32| {
            let at = &after.links[link as usize];
            (link, (at.load, at.load_bps))
        };
        let loads = after.changed_links.iter().map(load).collect();
        let outcome = Ok(self.after_failure(failing, &after));
        (self.case(failing, routes, &after.blocked, outcome), loads)
    }

    fn case(
        &self,
        failing: &[Failing],
        routes: &Rerouted,
        blocked: &[ConnectionId],
        outcome: Result<AfterFailure, SteadyError>,
    ) -> FailureCase {
        let count = |&id: &ConnectionId| u64::from(self.network.connection_spec(id).count);
        let goodput_bps = |&id: &ConnectionId| {
            let bits = 8.0 * self.network.connection_spec(id).packet_size_bytes;
            bits * self.intact.connection(id).goodput_pps
        };
        FailureCase {
            failing: failing.to_vec(),
            blocked: blocked.iter().map(count).sum(),
            blocked_bps: blocked
                .iter()
                .map(goodput_bps)
                .fold(0.0, |sum, it| sum + it),
            moved_whole: routes.moved_whole,
            outcome,
        }
    }

    fn after_failure(&self, failing: &[Failing], after: &Outcome<'_>) -> AfterFailure {
        let changed = after.changed_connections.iter().copied();
        let all = impact::impacts(
            self.network,
            failing,
            changed,
            self.intact,
            after.connections,
        );
        let losing = all.iter().filter(|it| it.lost_fraction > MIN_LOST_FRACTION);
        let hit = losing.min_by(|a, b| impact::by_loss(self.network, a, b));
        let (suffering, hurt) =
            impact::most_affected(self.network, &all, self.options.max_affected);
        AfterFailure {
            residual: after.residual,
            worst: Worst::of(self.network, after.links, after.connections),
            goodput_bps: after.goodput_bps,
            lost_bps: self.intact.totals.goodput_bps - after.goodput_bps,
            worst_affected: hit.map(|it| (it.connection, it.lost_fraction)),
            affected_count: suffering,
            affected: hurt,
        }
    }
}

#[cfg(test)]
mod tests;
