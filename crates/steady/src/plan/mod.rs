//! Capacity planning: the cheapest modules and new links with which all demands fit, intact and after each failure.
//!
//! While routes do not depend on bandwidths, limits of load separate the links: each gets the cheapest set of modules for
//! its largest load over all cases, which is optimal. Limits of delay and loss couple links; a greedy solution is
//! improved by best-first search over the sets that cost less ([`tighten`]). Up to [`MAX_EXHAUSTIVE`] candidates for new
//! links are evaluated in all combinations, more by local search, with a lower bound from a Lagrangian relaxation of
//! multicommodity flow ([`flow_bound`]).

mod candidates;
mod flow_bound;
mod modules;
mod tighten;

use std::collections::BTreeMap;

use netflow_network::{ConnectionId, LinkId, Network};

use crate::headroom::check_bounds;
use crate::rows::failure_name;
use crate::{Bounds, ConnectionSelection, FailureOptions, Failures, Solver, SteadyError, failures};
pub use candidates::MAX_EXHAUSTIVE;
pub use modules::{Module, ModuleSet};

/// Largest number of evaluations until loads and bandwidths agree.
const MAX_ROUNDS: usize = 20;
/// Excess over a limit, as a fraction, that is due to the tolerances of solutions.
const EXCESS_TOLERANCE: f64 = 1e-6;

/// Limits and options of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// Limits in the intact network and after each failure.
    pub bounds: Bounds,
    /// Limit for the load of every link in the intact network; infinity means only that of `bounds`.
    pub intact_utilization: f64,
    /// Failures that the plan must survive, and the growth of demands; `None` for the intact network only.
    pub failures: Option<FailureOptions>,
    /// Factor of all demands.
    pub demand_factor: f64,
}

/// New link that a plan can open. It exists only with at least one module.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateLink {
    /// Name of the physical link, `A<->B`.
    pub name: String,
    /// Cost of the link without its modules.
    pub cost: f64,
}

/// Network in its variants: with some of the candidates, and with more bandwidth at some links.
pub trait PlanVariants: Sync {
    /// Error of a network that cannot be built.
    type Error: From<PlanError>;

    /// Returns the candidates for new links.
    fn candidates(&self) -> &[CandidateLink];

    /// Returns the modules that can be added to a physical link; empty if it cannot be upgraded.
    fn modules(&self, link: &str) -> &[Module];

    /// Builds the network with the candidates for which `opened` is true, and with the given bandwidths in bit/s added in
    /// each direction of physical links. An opened candidate has only the bandwidth that is added.
    ///
    /// # Errors
    /// If the network is not valid.
    fn network(
        &self,
        opened: &[bool],
        added_bps: &BTreeMap<String, f64>,
    ) -> Result<Network, Self::Error>;
}

/// Reason why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A steady state was not found.
    #[error("{}{error}", of_case(.case))]
    Steady {
        /// Failed elements; empty for the intact network.
        case: String,
        /// The reason.
        error: SteadyError,
    },
    /// A link needs more bandwidth and has no modules.
    #[error("link {link} needs {} and has no modules", netflow_units::BitsPerSecond(*needed_bps))]
    NoModules {
        /// Name of the physical link.
        link: String,
        /// Bandwidth that it needs in bit/s.
        needed_bps: f64,
    },
    /// No bandwidth keeps a limit.
    #[error("{}more bandwidth does not bring the {limit} of {connection} within its limit", of_case(.case))]
    Unreachable {
        /// `delay` or `loss`.
        limit: &'static str,
        /// Name of the connection.
        connection: String,
        /// Failed elements; empty for the intact network.
        case: String,
    },
    /// The demand of a connection is unlimited.
    #[error(
        "{connection} is bulk TCP, which fills any link; planning needs demands, or applications with a rate"
    )]
    UnlimitedDemand {
        /// Name of the connection.
        connection: String,
    },
    /// Loads and bandwidths did not agree after the largest number of rounds.
    #[error(
        "loads still change after {MAX_ROUNDS} changes of bandwidths, because routes or events depend on them; give links different metrics, or use `ecmp`"
    )]
    NotSettled,
}

impl From<SteadyError> for PlanError {
    fn from(error: SteadyError) -> PlanError {
        PlanError::Steady {
            case: String::new(),
            error,
        }
    }
}

fn of_case(case: &str) -> String {
    if case.is_empty() {
        String::new()
    } else {
        format!("after the failure of {case}: ")
    }
}

/// Cheapest changes that were found.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The network with its changes.
    pub network: Network,
    /// Candidates that are opened.
    pub opened: Vec<bool>,
    /// Modules that are added, by physical link.
    pub added: BTreeMap<String, ModuleSet>,
    /// Cost of the candidates and modules.
    pub cost: f64,
    /// No plan costs less while routes are the shortest paths and do not depend on bandwidths. Equal to the cost for an
    /// optimal plan.
    pub lower_bound: f64,
    /// Failure analysis of the network with its changes. Without failures it has no cases.
    pub failures: Failures,
    /// Number of networks that were evaluated.
    pub evaluations: usize,
}

impl Plan {
    /// Returns the bandwidths that are added, by physical link.
    pub fn added_bps(&self) -> BTreeMap<String, f64> {
        added_bps(&self.added)
    }

    /// Returns whether no cheaper plan exists.
    pub fn is_optimal(&self) -> bool {
        self.cost - self.lower_bound <= 1e-9 * self.cost
    }
}

fn added_bps(added: &BTreeMap<String, ModuleSet>) -> BTreeMap<String, f64> {
    let bps = |(link, set): (&String, &ModuleSet)| (link.clone(), set.capacity_bps);
    added.iter().map(bps).collect()
}

/// Finds the cheapest modules and new links with which all limits hold in the state just before `at_s`. Returns `None` if
/// it was stopped. `evaluated` is called with the number of evaluated networks. The result is bit-identical for any number
/// of threads.
///
/// # Errors
/// [`PlanError`], and the errors of the variants.
pub fn plan<V: PlanVariants>(
    variants: &V,
    at_s: f64,
    options: &PlanOptions,
    stop: &(dyn Fn() -> bool + Sync),
    evaluated: &mut dyn FnMut(usize),
) -> Result<Option<Plan>, V::Error> {
    check_bounds(&options.bounds).map_err(PlanError::from)?;
    let mut planner = Planner {
        variants,
        at_s,
        options,
        stop,
        evaluated,
        evaluations: 0,
    };
    match planner.best_of_candidates() {
        Ok(plan) => Ok(Some(plan)),
        Err(Halt::Stopped) => Ok(None),
        Err(Halt::Infeasible(error)) => Err(error.into()),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// Reason why a step of the search ended without a design.
enum Halt<E> {
    /// The caller stopped the search.
    Stopped,
    /// These candidates do not have a plan; others can have one.
    Infeasible(PlanError),
    /// The search has no result.
    Failed(E),
}

impl<E> From<PlanError> for Halt<E> {
    fn from(error: PlanError) -> Halt<E> {
        Halt::Infeasible(error)
    }
}

impl<E> From<SteadyError> for Halt<E> {
    fn from(error: SteadyError) -> Halt<E> {
        Halt::Infeasible(error.into())
    }
}

/// State of a search for a plan.
struct Planner<'a, V> {
    variants: &'a V,
    at_s: f64,
    options: &'a PlanOptions,
    stop: &'a (dyn Fn() -> bool + Sync),
    evaluated: &'a mut dyn FnMut(usize),
    evaluations: usize,
}

/// Network with its changes, evaluated.
struct Design {
    network: Network,
    added: BTreeMap<String, ModuleSet>,
    failures: Failures,
    /// Cost of candidates and modules.
    cost: f64,
}

impl<V: PlanVariants> Planner<'_, V> {
    /// Evaluates the network with these modules.
    fn evaluate(
        &mut self,
        opened: &[bool],
        added: BTreeMap<String, ModuleSet>,
    ) -> Result<Design, Halt<V::Error>> {
        let network = self.variants.network(opened, &added_bps(&added));
        let network = network.map_err(Halt::Failed)?;
        if let Some(connection) = unlimited_demand(&network, self.at_s) {
            // No other candidates change this.
            return Err(Halt::Failed(
                PlanError::UnlimitedDemand { connection }.into(),
            ));
        }
        let demand_factor = self.options.demand_factor;
        let failures = match self.options.failures {
            Some(options) => {
                let options = FailureOptions {
                    demand_factor,
                    ..options
                };
                failures(&network, self.at_s, &options, self.stop)?.ok_or(Halt::Stopped)?
            }
            None if (self.stop)() => return Err(Halt::Stopped),
            None => Failures::of_intact(&network, self.at_s, demand_factor)?,
        };
        self.evaluations += 1;
        (self.evaluated)(self.evaluations);
        for case in &failures.cases {
            if let Err(error) = &case.outcome {
                let (case, error) = (failure_name(&network, &case.failing), error.clone());
                return Err(PlanError::Steady { case, error }.into());
            }
        }
        let candidates = self.variants.candidates().iter().zip(opened);
        let links: f64 = candidates.filter(|it| *it.1).map(|it| it.0.cost).sum();
        Ok(Design {
            cost: links + added.values().map(|it| it.cost).sum::<f64>(),
            network,
            added,
            failures,
        })
    }

    /// Returns the cheapest modules with which the limits of load hold.
    fn fit_loads(&mut self, opened: &[bool]) -> Result<Design, Halt<V::Error>> {
        let mut added = self.one_module_each(opened)?;
        for _ in 0..MAX_ROUNDS {
            let design = self.evaluate(opened, added)?;
            added = self.needed_modules(&design, opened)?;
            if added == design.added {
                return Ok(design);
            }
        }
        Err(PlanError::NotSettled.into())
    }

    /// Returns one module, the cheapest, for each opened candidate.
    fn one_module_each(&self, opened: &[bool]) -> Result<BTreeMap<String, ModuleSet>, PlanError> {
        let candidates = self.variants.candidates().iter().zip(opened);
        candidates
            .filter(|it| *it.1)
            .map(|(it, _)| Ok((it.name.clone(), self.one_module(&it.name)?)))
            .collect()
    }

    /// Returns the cheapest module of a candidate.
    fn one_module(&self, link: &str) -> Result<ModuleSet, PlanError> {
        let set = ModuleSet::cheapest(self.variants.modules(link), f64::MIN_POSITIVE);
        set.ok_or_else(|| PlanError::NoModules {
            link: link.to_owned(),
            needed_bps: 0.0,
        })
    }

    /// Returns the cheapest modules for the loads of a design.
    fn needed_modules(
        &self,
        design: &Design,
        opened: &[bool],
    ) -> Result<BTreeMap<String, ModuleSet>, PlanError> {
        let network = &design.network;
        let bandwidths_bps = network.bandwidths_at_bps(self.at_s);
        let mut needed = BTreeMap::new();
        for (id, other) in network.physical_links() {
            let name = network.physical_link_name(id);
            let now_bps = design.added.get(&name).map_or(0.0, |it| it.capacity_bps);
            let missing = |id: LinkId| {
                let installed_bps = bandwidths_bps[id.index()] - now_bps;
                self.needed_bps(design, id) - installed_bps
            };
            let missing_bps = (other.map(missing)).map_or(missing(id), |it| it.max(missing(id)));
            let is_candidate = self.is_opened(&name, opened);
            if missing_bps <= EXCESS_TOLERANCE * bandwidths_bps[id.index()] && !is_candidate {
                continue;
            }
            let modules = self.variants.modules(&name);
            let set = ModuleSet::cheapest(modules, missing_bps.max(f64::MIN_POSITIVE));
            let set = set.ok_or_else(|| PlanError::NoModules {
                needed_bps: self.needed_bps(design, id),
                link: name.clone(),
            })?;
            needed.insert(name, set);
        }
        Ok(needed)
    }

    /// Returns the bandwidth in bit/s that a link needs for the limits of load.
    fn needed_bps(&self, design: &Design, link: LinkId) -> f64 {
        let limits = (
            self.options.bounds.utilization,
            self.options.intact_utilization,
        );
        let intact_bps = design.failures.intact.link(link).load_bps;
        let worst_bps = design.failures.links[link.index()].load_bps;
        (worst_bps / limits.0).max(intact_bps / limits.1)
    }

    fn is_opened(&self, name: &str, opened: &[bool]) -> bool {
        let mut candidates = self.variants.candidates().iter().zip(opened);
        candidates.any(|(it, &opened)| opened && it.name == name)
    }

    /// Returns the largest excess over a limit of delay or loss; `None` if these limits hold.
    fn worst_excess(&self, design: &Design) -> Option<Excess> {
        let bounds = &self.options.bounds;
        let found = &design.failures;
        let cases = found.cases.iter().enumerate().filter_map(|(i, case)| {
            let after = case.outcome.as_ref().ok()?;
            Some((Some(i), &after.worst))
        });
        let mut most: Option<Excess> = None;
        for (case, worst) in [(None, &found.intact_worst)].into_iter().chain(cases) {
            let of_limits = [
                (Limit::Delay, worst.delay_s, bounds.delay_s),
                (Limit::Loss, worst.connection_loss, bounds.loss),
            ];
            for (limit, value, bound) in of_limits {
                let Some((connection, value)) = value else {
                    continue;
                };
                let ratio = value / bound;
                let least = most.as_ref().map_or(1.0 + EXCESS_TOLERANCE, |it| it.ratio);
                if ratio > least {
                    most = Some(Excess {
                        case,
                        limit,
                        connection,
                        ratio,
                    });
                }
            }
        }
        most
    }
}

/// Limit of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Delay,
    Loss,
}

impl Limit {
    fn name(self) -> &'static str {
        match self {
            Limit::Delay => "delay",
            Limit::Loss => "loss",
        }
    }
}

/// Connection beyond a limit.
#[derive(Clone, Copy, Debug)]
struct Excess {
    /// Index of the failure case; `None` for the intact network.
    case: Option<usize>,
    limit: Limit,
    connection: ConnectionId,
    /// Value over its limit.
    ratio: f64,
}

/// Returns the name of an active source that fills any link.
pub(crate) fn unlimited_demand(network: &Network, at_s: f64) -> Option<String> {
    let mut all = network.connections();
    let unlimited = all.find(|&id| {
        let spec = network.connection_spec(id);
        let (start_s, end_s) = network.active_interval(id, at_s);
        end_s > start_s
            && spec.source.own_pps().is_none()
            && !spec.application.mean_pps().is_finite()
    })?;
    Some(network.connection_name(unlimited).to_owned())
}

impl Failures {
    /// Returns the state of the intact network as an analysis without cases.
    ///
    /// # Errors
    /// As [`Solver::new`] and [`Solver::solve`].
    pub fn of_intact(
        network: &Network,
        at_s: f64,
        demand_factor: f64,
    ) -> Result<Failures, SteadyError> {
        let options = FailureOptions::default();
        let mut solver = Solver::new(network, at_s)?;
        solver.scale(ConnectionSelection::All, demand_factor)?;
        let intact = solver.solve(&options.steady)?;
        Ok(Failures::without_cases(network, intact))
    }
}

#[cfg(test)]
mod tests;
