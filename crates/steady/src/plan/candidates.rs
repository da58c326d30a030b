//! Choice among candidates for new links: all combinations, or local search with a lower bound.

use std::collections::BTreeMap;

use super::{Design, Halt, Plan, PlanError, PlanVariants, Planner};
use crate::rows::failure_name;

/// Largest number of candidates of which all combinations are evaluated.
pub const MAX_EXHAUSTIVE: usize = 8;
/// Relative difference up to which costs count as equal.
const COST_TOLERANCE: f64 = 1e-9;

/// Design that keeps the limits of load, with the candidates that it opens.
struct Choice {
    opened: Vec<bool>,
    design: Design,
}

impl<V: PlanVariants> Planner<'_, V> {
    pub(super) fn best_of_candidates(&mut self) -> Result<Plan, Halt<V::Error>> {
        let count = self.variants.candidates().len();
        let reference = self.blocked_with_all_candidates()?;
        if count <= MAX_EXHAUSTIVE {
            self.best_of_all(count, &reference)
        } else {
            self.best_by_local_search(count, &reference)
        }
    }

    /// Returns the traffic in bit/s that loses its route in each case if all candidates are opened: no plan can keep it.
    fn blocked_with_all_candidates(&mut self) -> Result<BTreeMap<String, f64>, Halt<V::Error>> {
        let all = vec![true; self.variants.candidates().len()];
        if all.is_empty() || self.options.failures.is_none() {
            return Ok(BTreeMap::new());
        }
        let added = self.one_module_each(&all)?;
        Ok(blocked(&self.evaluate(&all, added)?).collect())
    }

    /// Evaluates all combinations, from the fewest new links on. Those without a plan are left out.
    fn best_of_all(
        &mut self,
        count: usize,
        reference: &BTreeMap<String, f64>,
    ) -> Result<Plan, Halt<V::Error>> {
        let mut masks: Vec<u32> = (0..1 << count).collect();
        masks.sort_by_key(|mask| (mask.count_ones(), *mask));
        let mut choices = Vec::new();
        let mut reason = None;
        let mut least = f64::INFINITY;
        let is_exact = !self.has_coupling_limits();
        for mask in masks {
            let opened: Vec<bool> = (0..count).map(|i| mask >> i & 1 == 1).collect();
            // Without limits that couple links, a combination that costs more by itself is no better.
            if is_exact && self.opening_cost(&opened)? >= least {
                continue;
            }
            let fitted = self.fit_loads(&opened);
            let Some(design) = feasible(fitted, &mut reason)? else {
                continue;
            };
            if keeps_routes(&design, reference) {
                least = least.min(design.cost);
                choices.push(Choice { opened, design });
            }
        }
        choices.sort_by(|a, b| a.design.cost.total_cmp(&b.design.cost));
        let mut best: Option<Plan> = None;
        let mut lower_bound = f64::INFINITY;
        for Choice { opened, design } in choices {
            let dearest = best.as_ref().map_or(f64::INFINITY, |it| it.cost);
            if design.cost >= dearest * (1.0 - COST_TOLERANCE) {
                break;
            }
            let tightened = self.tighten(&opened, design);
            let Some((design, bound)) = feasible(tightened, &mut reason)? else {
                continue;
            };
            lower_bound = lower_bound.min(bound);
            if design.cost < dearest * (1.0 - COST_TOLERANCE) {
                best = Some(self.plan(opened, design, bound));
            }
        }
        let best = best.ok_or_else(|| no_plan(reason))?;
        Ok(Plan {
            lower_bound: lower_bound.min(best.cost),
            evaluations: self.evaluations,
            ..best
        })
    }

    /// Opens or closes one candidate at a time while this saves costs, starting from none and from all.
    fn best_by_local_search(
        &mut self,
        count: usize,
        reference: &BTreeMap<String, f64>,
    ) -> Result<Plan, Halt<V::Error>> {
        let mut best: Option<Choice> = None;
        let mut reason = None;
        for start in [false, true] {
            let mut opened = vec![start; count];
            let fitted = self.fit_loads(&opened);
            let mut design = feasible(fitted, &mut reason)?;
            design = design.filter(|it| keeps_routes(it, reference));
            loop {
                let mut better: Option<Choice> = None;
                for flipped in 0..count {
                    let mut other = opened.clone();
                    other[flipped] = !other[flipped];
                    let least = better.as_ref().map(|it| &it.design).or(design.as_ref());
                    let least = least.map_or(f64::INFINITY, |it| it.cost * (1.0 - COST_TOLERANCE));
                    if self.opening_cost(&other)? >= least {
                        continue;
                    }
                    let fitted = self.fit_loads(&other);
                    let near = feasible(fitted, &mut reason)?;
                    let near = near.filter(|it| keeps_routes(it, reference) && it.cost < least);
                    if let Some(design) = near {
                        let opened = other;
                        better = Some(Choice { opened, design });
                    }
                }
                let Some(found) = better else {
                    break;
                };
                (opened, design) = (found.opened, Some(found.design));
            }
            let Some(design) = design else {
                continue;
            };
            let least = best.as_ref().map_or(f64::INFINITY, |it| it.design.cost);
            if design.cost < least * (1.0 - COST_TOLERANCE) {
                best = Some(Choice { opened, design });
            }
        }
        let Choice { opened, design } = best.ok_or_else(|| no_plan(reason))?;
        let (design, _) = self.tighten(&opened, design)?;
        let bound = self.flow_bound(&design)?;
        Ok(self.plan(opened, design, bound))
    }

    /// Returns the cost of candidates with one module each.
    fn opening_cost(&self, opened: &[bool]) -> Result<f64, PlanError> {
        let mut cost = 0.0;
        let candidates = self.variants.candidates().iter().zip(opened);
        for (candidate, _) in candidates.filter(|it| *it.1) {
            cost += candidate.cost + self.one_module(&candidate.name)?.cost;
        }
        Ok(cost)
    }

    fn plan(&self, opened: Vec<bool>, design: Design, lower_bound: f64) -> Plan {
        Plan {
            network: design.network,
            opened,
            added: design.added,
            lower_bound: lower_bound.min(design.cost),
            cost: design.cost,
            failures: design.failures,
            evaluations: self.evaluations,
        }
    }
}

/// Returns a result, or `None` with its reason if these candidates have no plan. The first reason counts.
fn feasible<T, E>(
    result: Result<T, Halt<E>>,
    reason: &mut Option<PlanError>,
) -> Result<Option<T>, Halt<E>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Halt::Infeasible(error)) => {
            reason.get_or_insert(error);
            Ok(None)
        }
        Err(halt) => Err(halt),
    }
}

/// Returns the error if no candidates have a plan. Without another reason, routes changed with bandwidths.
fn no_plan<E>(reason: Option<PlanError>) -> Halt<E> {
    Halt::Infeasible(reason.unwrap_or(PlanError::NotSettled))
}

/// Returns the traffic that loses its route in each case, in bit/s.
fn blocked(design: &Design) -> impl Iterator<Item = (String, f64)> {
    let cases = design.failures.cases.iter();
    cases.map(|case| {
        (
            failure_name(&design.network, &case.failing),
            case.blocked_bps,
        )
    })
}

/// Returns whether no traffic loses its route that could keep it.
fn keeps_routes(design: &Design, reference: &BTreeMap<String, f64>) -> bool {
    let total_bps = design.failures.intact.totals.goodput_bps;
    blocked(design).all(|(case, bps)| {
        let least_bps = reference.get(&case).copied().unwrap_or(f64::INFINITY);
        bps <= least_bps + 1e-6 * total_bps
    })
}
