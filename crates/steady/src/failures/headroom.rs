//! Headroom under failures: the factor by which all demands can grow within bounds, in the intact network and after each
//! failure.
//!
//! A case is first evaluated at the smallest headroom found so far, from the intact state at that factor. Only a case
//! that breaks a bound there is searched for its own headroom. Cases are evaluated in groups that do not depend on the
//! number of threads.

use netflow_network::{Network, Rerouted, Rerouter};
use rayon::prelude::*;

use super::cases::Cases;
use super::{CASES_TOGETHER, Failing, FailureOptions};
use crate::changed_state::{ChangedState, Intact};
use crate::headroom::bound_usage;
use crate::{Bounds, ConnectionSelection, Headroom, Solver, Steady, SteadyError, SteadyOptions};

/// Number of cases of the first group; each group has twice as many as the one before.
const FIRST_GROUP: usize = 16;
/// Excess over a bound, as a fraction, that is due to the tolerances of solutions.
const EXCESS_TOLERANCE: f64 = 1e-6;

/// Result of [`headroom_under_failures`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeadroomUnderFailures {
    /// Headroom of the intact network.
    pub intact: Headroom,
    /// Smallest headroom of the intact network and all cases. Its accuracy is 10⁻⁶.
    pub least: Headroom,
    /// Elements that failed there; empty for the intact network.
    pub failing: Vec<Failing>,
    /// Number of evaluated cases.
    pub cases: usize,
    /// Number of possible cases, of which the evaluated ones may be a sample.
    pub possible: usize,
    /// Number of cases in which connections lose their route. Bounds do not apply to these connections.
    pub disconnecting: usize,
    /// Number of cases without a steady state, which are left out.
    pub without_steady_state: usize,
    /// Number of cases in which flows move to one of several equal-cost paths as a whole, although routers would split
    /// them.
    pub moved_whole: usize,
    /// Elements that are down already, by events.
    pub down_already: Vec<Failing>,
}

/// Computes the largest factor of all demands up to which all bounds hold, in the intact network and after each failure.
/// The network is in its state just before `at_s`. Returns `None` if it was stopped. The threads of the current rayon
/// pool share the cases. The result is bit-identical for any number of threads.
///
/// # Errors
/// As [`Solver::headroom`] for the intact network; [`SteadyError::NothingToFail`], [`SteadyError::TooManyCases`].
pub fn headroom_under_failures(
    network: &Network,
    at_s: f64,
    bounds: &Bounds,
    options: &FailureOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<HeadroomUnderFailures>, SteadyError> {
    let mut solver = Solver::new(network, at_s)?;
    let rerouter = Rerouter::new(network, at_s);
    let cases = Cases::enumerate(network, options, rerouter.down_before())?;
    let intact = solver.headroom(bounds, ConnectionSelection::All, &options.steady)?;
    let mut found = HeadroomUnderFailures {
        least: intact.clone(),
        failing: Vec::new(),
        cases: cases.all.len(),
        possible: cases.possible,
        disconnecting: 0,
        without_steady_state: 0,
        moved_whole: 0,
        down_already: cases.down_already.clone(),
        intact,
    };
    let mut at = found.intact.steady.clone();
    let (mut rest, mut group) = (&cases.all[..], FIRST_GROUP);
    while !rest.is_empty() {
        let some;
        (some, rest) = rest.split_at(group.min(rest.len()));
        group = (2 * group).min(CASES_TOGETHER);
        // Without headroom, cases are still counted.
        let factor = found.least.factor;
        if let Some(factor) = factor {
            solver.scale(ConnectionSelection::All, factor)?;
            at = solver.solve_from(&at, &options.steady)?;
        }
        let search = Search {
            network,
            at_s,
            bounds,
            options: &options.steady,
            intact: &at,
            is_searched: factor.is_some(),
        };
        let state = Intact::new(&solver, &at);
        let results: Option<Vec<CaseResult>> = some
            .par_iter()
            .map_init(
                || ChangedState::new(&state),
                |state, &case| {
                    let routes = rerouter.reroute_around(&cases.links(network, case));
                    (!stop()).then(|| search.evaluate(&routes, state))
                },
            )
            .collect();
        let Some(results) = results else {
            return Ok(None);
        };
        for (&case, result) in some.iter().zip(results) {
            found.disconnecting += usize::from(result.disconnects);
            found.moved_whole += usize::from(result.moves_whole);
            match result.headroom {
                Ok(None) => {}
                Ok(Some(headroom)) if headroom.factor < found.least.factor => {
                    (found.least, found.failing) = (headroom, cases.failing(case));
                }
                Ok(Some(_)) => {}
                Err(_) => found.without_steady_state += 1,
            }
        }
    }
    Ok(Some(found))
}

/// Evaluation of a case.
struct CaseResult {
    /// Headroom of a case that breaks a bound at the smallest headroom so far; `None` for others.
    headroom: Result<Option<Headroom>, SteadyError>,
    disconnects: bool,
    moves_whole: bool,
}

/// Data common to the cases of a group.
struct Search<'a> {
    network: &'a Network,
    at_s: f64,
    bounds: &'a Bounds,
    options: &'a SteadyOptions,
    /// State of the intact network at the factor.
    intact: &'a Steady,
    /// False if the smallest headroom is known to be none.
    is_searched: bool,
}

impl Search<'_> {
    fn evaluate(&self, routes: &Rerouted, state: &mut ChangedState<'_>) -> CaseResult {
        let near = state.with_routes(routes, self.options.tolerance, |after| {
            let usage = bound_usage(self.network, after.links, after.connections, self.bounds);
            (usage.fraction, !after.blocked.is_empty())
        });
        let result = |headroom, disconnects| CaseResult {
            headroom,
            disconnects,
            moves_whole: routes.moved_whole > 0,
        };
        match near {
            Some((fraction, disconnects))
                if fraction <= 1.0 + EXCESS_TOLERANCE || !self.is_searched =>
            {
                result(Ok(None), disconnects)
            }
            _ => match Solver::rerouted(self.network, self.at_s, routes) {
                Err(error) => result(Err(error), false),
                Ok(solver) => {
                    let mut without_route = solver.problem.without_route.iter();
                    let disconnects = without_route.any(|&id| self.intact.connection(id).sending);
                    result(self.search(solver), disconnects)
                }
            },
        }
    }

    /// Returns the headroom of a case; `None` if no demand is left.
    fn search(&self, mut solver: Solver) -> Result<Option<Headroom>, SteadyError> {
        if !self.is_searched {
            return Ok(None);
        }
        match solver.headroom(self.bounds, ConnectionSelection::All, self.options) {
            Ok(headroom) => Ok(Some(headroom)),
            Err(SteadyError::NothingToScale) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
