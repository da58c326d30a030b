//! Limits of delay and loss: greedy upgrades along the paths beyond a limit, and best-first search for cheaper sets.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use netflow_network::{LinkId, Rerouter};

use super::{Design, Excess, Halt, Limit, ModuleSet, PlanError, PlanVariants, Planner};
use crate::failures::links_of;
use crate::rows::failure_name;
use crate::{ConnectionSelection, Solver, Steady, SteadyOptions};

/// Largest number of networks that the best-first search evaluates.
const MAX_EVALUATIONS: usize = 200;
/// Smallest step of a greedy upgrade, as a fraction of the bandwidth of the link.
const LEAST_STEP: f64 = 0.05;
/// Factor of the bandwidths of a path that shows whether any bandwidth keeps a limit.
const AMPLE_FACTOR: f64 = 1e6;

/// Sets of modules that the best-first search has not evaluated yet.
struct Pending {
    cost: f64,
    /// Number of steps above the cheapest sets, by link.
    steps: Vec<usize>,
    /// First link that may still get a step.
    first: usize,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    /// The cheapest is the greatest, as [`BinaryHeap`] needs it.
    fn cmp(&self, other: &Pending) -> Ordering {
        let by_cost = other.cost.total_cmp(&self.cost);
        by_cost.then_with(|| other.steps.cmp(&self.steps))
    }
}

impl<V: PlanVariants> Planner<'_, V> {
    /// Returns whether delay or loss are limited.
    pub(super) fn has_coupling_limits(&self) -> bool {
        let bounds = &self.options.bounds;
        bounds.delay_s.is_finite() || bounds.loss.is_finite()
    }

    /// Adds modules until the limits of delay and loss hold. `cheapest` keeps the limits of load at the least cost. Returns
    /// the design and a lower bound of its cost.
    pub(super) fn tighten(
        &mut self,
        opened: &[bool],
        cheapest: Design,
    ) -> Result<(Design, f64), Halt<V::Error>> {
        let least = cheapest.cost;
        if self.worst_excess(&cheapest).is_none() {
            return Ok((cheapest, least));
        }
        let base = cheapest.added.clone();
        let found = self.upgrade_until_within(opened, cheapest)?;
        let found = self.without_superfluous(opened, &base, found)?;
        self.cheaper(opened, &base, least, found)
    }

    fn upgrade_until_within(
        &mut self,
        opened: &[bool],
        mut design: Design,
    ) -> Result<Design, Halt<V::Error>> {
        while let Some(excess) = self.worst_excess(&design) {
            let (link, set) = self.best_upgrade(&design, excess)?;
            let mut added = design.added;
            added.insert(link, set);
            design = self.evaluate(opened, added)?;
        }
        Ok(design)
    }

    /// Returns the next set of modules of the link that decreases an excess most for its cost.
    fn best_upgrade(
        &self,
        design: &Design,
        excess: Excess,
    ) -> Result<(String, ModuleSet), PlanError> {
        let network = &design.network;
        let options = SteadyOptions::default();
        let case = excess.case.map(|i| &design.failures.cases[i]);
        let failing = case.map_or(&[][..], |case| &case.failing);
        let failed: Vec<LinkId> = (failing.iter())
            .flat_map(|&it| links_of(network, it))
            .collect();
        let of_case = || case.map_or_else(String::new, |case| failure_name(network, &case.failing));
        let steady = |error| PlanError::Steady {
            case: of_case(),
            error,
        };
        let routes = Rerouter::new(network, self.at_s).reroute_around(&failed);
        let mut solver = Solver::rerouted(network, self.at_s, &routes).map_err(steady)?;
        solver
            .scale(ConnectionSelection::All, self.options.demand_factor)
            .map_err(steady)?;
        let before = solver.solve(&options).map_err(steady)?;
        let ratio_of = |steady: &Steady| {
            let it = steady.connection(excess.connection);
            match excess.limit {
                Limit::Delay => it.delay_s / self.options.bounds.delay_s,
                Limit::Loss => it.loss_probability / self.options.bounds.loss,
            }
        };
        let links = solver.links_of_connection(excess.connection);
        let ample = links.iter().filter(|&&link| {
            let name = network.physical_link_name(link);
            !self.variants.modules(&name).is_empty()
        });
        let mut with_ample = solver.clone();
        let bandwidths_bps = network.bandwidths_at_bps(self.at_s);
        for &link in ample {
            let bps = AMPLE_FACTOR * bandwidths_bps[link.index()];
            with_ample.set_bandwidth(link, bps).map_err(steady)?;
        }
        let reachable = ratio_of(&with_ample.solve(&options).map_err(steady)?);
        if reachable > 1.0 {
            return Err(PlanError::Unreachable {
                limit: excess.limit.name(),
                connection: network.connection_name(excess.connection).to_owned(),
                case: of_case(),
            });
        }
        let now = ratio_of(&before);
        let mut best: Option<(f64, String, ModuleSet)> = None;
        for link in links {
            let name = network.physical_link_name(link);
            let set = design.added.get(&name).cloned().unwrap_or_default();
            // Larger steps on larger links keep the number of steps small.
            let least_bps = set.capacity_bps + LEAST_STEP * bandwidths_bps[link.index()];
            let modules = self.variants.modules(&name);
            let Some(next) = ModuleSet::cheapest(modules, least_bps) else {
                continue;
            };
            let more_bps = next.capacity_bps - set.capacity_bps;
            let after = solver
                .solve_with_upgrade(link, more_bps, &before, &options)
                .map_err(steady)?;
            // Progress beyond the limit has no value.
            let progress = now - ratio_of(&after).max(1.0);
            let per_cost = progress / (next.cost - set.cost);
            let is_better = best.as_ref().is_none_or(|it| per_cost > it.0);
            if progress > 0.0 && is_better {
                best = Some((per_cost, name, next));
            }
        }
        let best = best.ok_or_else(|| PlanError::Unreachable {
            limit: excess.limit.name(),
            connection: network.connection_name(excess.connection).to_owned(),
            case: of_case(),
        })?;
        Ok((best.1, best.2))
    }

    /// Takes back upgrades of single links, the dearest first, as far as limits hold without them.
    fn without_superfluous(
        &mut self,
        opened: &[bool],
        base: &BTreeMap<String, ModuleSet>,
        mut design: Design,
    ) -> Result<Design, Halt<V::Error>> {
        let of_base = |link: &String| base.get(link).cloned().unwrap_or_default();
        let mut upgraded: Vec<(String, f64)> = (design.added.iter())
            .map(|(link, set)| (link.clone(), set.cost - of_base(link).cost))
            .filter(|it| it.1 > 0.0)
            .collect();
        upgraded.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (link, _) in upgraded {
            let mut sets = vec![of_base(&link)];
            let now = design.added[&link].capacity_bps;
            while let Some(next) = sets[sets.len() - 1].next(self.variants.modules(&link)) {
                if next.capacity_bps >= now {
                    break;
                }
                sets.push(next);
            }
            // The first set with which limits hold; more bandwidth does not exceed them again.
            let (mut low, mut high) = (0, sets.len());
            while low < high {
                let middle = (low + high) / 2;
                let mut added = design.added.clone();
                if sets[middle].counts.is_empty() {
                    added.remove(&link);
                } else {
                    added.insert(link.clone(), sets[middle].clone());
                }
                let near = self.evaluate(opened, added)?;
                if self.worst_excess(&near).is_none() {
                    (high, design) = (middle, near);
                } else {
                    low = middle + 1;
                }
            }
        }
        Ok(design)
    }

    /// Evaluates sets in the order of their cost until one keeps all limits. The cost of the first set that was not
    /// evaluated is a lower bound.
    fn cheaper(
        &mut self,
        opened: &[bool],
        base: &BTreeMap<String, ModuleSet>,
        least: f64,
        found: Design,
    ) -> Result<(Design, f64), Halt<V::Error>> {
        let network = &found.network;
        let links: Vec<String> = (network.physical_links())
            .map(|(id, _)| network.physical_link_name(id))
            .filter(|name| !self.variants.modules(name).is_empty())
            .collect();
        let mut sets: Vec<Vec<ModuleSet>> = (links.iter())
            .map(|link| vec![base.get(link).cloned().unwrap_or_default()])
            .collect();
        let mut pending = BinaryHeap::from([Pending {
            cost: least,
            steps: vec![0; links.len()],
            first: 0,
        }]);
        let mut evaluations = 0;
        let cost_of_best = found.cost * (1.0 - 1e-9);
        while let Some(it) = pending.pop() {
            if it.cost >= cost_of_best {
                break;
            }
            // The cheapest sets themselves exceed a limit.
            if it.steps.iter().any(|&step| step > 0) {
                if evaluations == MAX_EVALUATIONS {
                    return Ok((found, it.cost));
                }
                evaluations += 1;
                let added = links.iter().zip(&it.steps).zip(&sets);
                let added = added.map(|((link, &step), sets)| (link.clone(), sets[step].clone()));
                let added = added.filter(|(_, set)| !set.counts.is_empty()).collect();
                let near = self.evaluate(opened, added)?;
                if self.worst_excess(&near).is_none() {
                    return Ok((near, it.cost));
                }
            }
            for link in it.first..links.len() {
                let step = it.steps[link] + 1;
                if sets[link].len() == step {
                    let next = sets[link][step - 1].next(self.variants.modules(&links[link]));
                    sets[link].extend(next);
                }
                let mut steps = it.steps.clone();
                steps[link] = step;
                pending.push(Pending {
                    cost: it.cost + sets[link][step].cost - sets[link][step - 1].cost,
                    steps,
                    first: link,
                });
            }
        }
        let cost = found.cost;
        Ok((found, cost))
    }
}
