//! Choice among candidates for new links: all combinations, or local search with a lower bound.

use std::collections::BTreeMap;

use super::{Design, Plan, PlanVariants, Planner};
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
    pub(super) fn best_of_candidates(&mut self) -> Result<Option<Plan>, V::Error> {
        let count = self.variants.candidates().len();
        let Some(reference) = self.blocked_with_all_candidates()? else {
            return Ok(None);
        };
        if count <= MAX_EXHAUSTIVE {
            return self.best_of_all(count, &reference);
        }
        self.best_by_local_search(count, &reference)
    }

    /// Returns the traffic in bit/s that loses its route in each case if all candidates are opened: no plan can keep it.
    fn blocked_with_all_candidates(&mut self) -> Result<Option<BTreeMap<String, f64>>, V::Error> {
        let all = vec![true; self.variants.candidates().len()];
        if all.is_empty() || self.options.failures.is_none() {
            return Ok(Some(BTreeMap::new()));
        }
        let candidates = self.variants.candidates();
        let mut added = BTreeMap::new();
        for candidate in candidates {
            added.insert(candidate.name.clone(), self.one_module(&candidate.name)?);
        }
        let design = self.evaluate(&all, added)?;
        Ok(design.map(|it| blocked(&it).collect()))
    }

    /// Evaluates all combinations, from the fewest new links on.
    fn best_of_all(
        &mut self,
        count: usize,
        reference: &BTreeMap<String, f64>,
    ) -> Result<Option<Plan>, V::Error> {
        let mut masks: Vec<u32> = (0..1 << count).collect();
        masks.sort_by_key(|mask| (mask.count_ones(), *mask));
        let mut choices = Vec::new();
        let mut least = f64::INFINITY;
        let is_exact = !self.has_coupling_limits();
        for mask in masks {
            let opened: Vec<bool> = (0..count).map(|i| mask >> i & 1 == 1).collect();
            // Without limits that couple links, a combination that costs more by itself is no better.
            if is_exact && self.opening_cost(&opened)? >= least {
                continue;
            }
            let Some(design) = self.fit_loads(&opened)? else {
                return Ok(None);
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
            let Some((design, bound)) = self.tighten(&opened, design)? else {
                return Ok(None);
            };
            lower_bound = lower_bound.min(bound);
            if design.cost < dearest * (1.0 - COST_TOLERANCE) {
                best = Some(self.plan(opened, design, bound));
            }
        }
        Ok(best.map(|best| Plan {
            lower_bound: lower_bound.min(best.cost),
            evaluations: self.evaluations,
            ..best
        }))
    }

    /// Opens or closes one candidate at a time while this saves costs, starting from none and from all.
    fn best_by_local_search(
        &mut self,
        count: usize,
        reference: &BTreeMap<String, f64>,
    ) -> Result<Option<Plan>, V::Error> {
        let mut best: Option<Choice> = None;
        for start in [false, true] {
            let mut opened = vec![start; count];
            let Some(mut design) = self.fit_loads(&opened)? else {
                return Ok(None);
            };
            let mut cost = cost_of(&design, reference);
            loop {
                let mut found: Option<(usize, Design)> = None;
                for flipped in 0..count {
                    let mut other = opened.clone();
                    other[flipped] = !other[flipped];
                    if self.opening_cost(&other)? >= cost {
                        continue;
                    }
                    let Some(near) = self.fit_loads(&other)? else {
                        return Ok(None);
                    };
                    let near_cost = cost_of(&near, reference);
                    if near_cost < cost * (1.0 - COST_TOLERANCE) {
                        cost = near_cost;
                        found = Some((flipped, near));
                    }
                }
                let Some((flipped, better)) = found else {
                    break;
                };
                opened[flipped] = !opened[flipped];
                design = better;
            }
            let is_better = best
                .as_ref()
                .is_none_or(|it| design.cost < it.design.cost * (1.0 - COST_TOLERANCE));
            if cost.is_finite() && is_better {
                best = Some(Choice { opened, design });
            }
        }
        // With all candidates, every route that can be kept is kept.
        let Some(Choice { opened, design }) = best else {
            return Ok(None);
        };
        let Some((design, _)) = self.tighten(&opened, design)? else {
            return Ok(None);
        };
        let bound = self.flow_bound(&design)?;
        Ok(Some(self.plan(opened, design, bound)))
    }

    /// Returns the cost of candidates with one module each.
    fn opening_cost(&self, opened: &[bool]) -> Result<f64, V::Error> {
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

fn cost_of(design: &Design, reference: &BTreeMap<String, f64>) -> f64 {
    if keeps_routes(design, reference) {
        design.cost
    } else {
        f64::INFINITY
    }
}
