//! Lower bound of the cost of a plan: Lagrangian dual of fractional multicommodity flow with continuous capacities, by
//! subgradient ascent (Held, Wolfe, Crowder 1974).
//!
//! Every demand may take any paths, and capacity costs as much per bit/s as the best module. With prices π of the arcs
//! for which the prices of both directions of a link stay below its cost per bit/s, the cost is at least Σ demands · distance(π) −
//! Σ π · usable bandwidth. Each failure gives a bound; the largest counts.

use std::collections::BTreeMap;

use netflow_network::{LinkId, Network};

use super::{Design, Halt, PlanVariants, Planner, added_bps};
use crate::Failing;
use crate::arc_graph::ArcGraph;
use crate::failures::links_of;

/// Iterations of the ascent.
const ITERATIONS: usize = 300;
/// Largest number of failures for which a bound is computed.
const MAX_CASES: usize = 16;

/// Capacity of an arc.
struct Arc {
    /// Bandwidth in bit/s that exists already, times the limit of load.
    usable_bps: f64,
    /// Index of its physical link.
    link: usize,
}

/// Flow problem in one case.
struct FlowProblem {
    graph: ArcGraph,
    arcs: Vec<Arc>,
    /// Cost of 1 bit/s of usable bandwidth in both directions, by physical link; infinite without modules.
    unit_cost: Vec<f64>,
    /// Demands in bit/s, by source, then destination.
    demands: Vec<Vec<(usize, f64)>>,
}

impl<V: PlanVariants> Planner<'_, V> {
    /// Returns a lower bound of the cost over all combinations of candidates.
    pub(super) fn flow_bound(&self, design: &Design) -> Result<f64, Halt<V::Error>> {
        if !self.options.bounds.utilization.is_finite() {
            // Without a limit of load, flows of any size fit.
            return Ok(0.0);
        }
        let all = vec![true; self.variants.candidates().len()];
        let smallest = added_bps(&self.one_module_each(&all)?);
        let network = self.variants.network(&all, &smallest);
        let network = network.map_err(Halt::Failed)?;
        let mut binding: Vec<usize> = (design.added.keys())
            .filter_map(|name| {
                let mut links = design.network.physical_links();
                let (id, other) =
                    links.find(|it| design.network.physical_link_name(it.0) == *name)?;
                let worst = |id: LinkId| design.failures.links[id.index()];
                let worst = other
                    .map(worst)
                    .filter(|it| it.max_load > worst(id).max_load);
                worst
                    .unwrap_or(design.failures.links[id.index()])
                    .worst_case
            })
            .collect();
        binding.sort_unstable();
        binding.dedup();
        binding.truncate(MAX_CASES);
        let mut bound = 0.0_f64;
        for case in [None].into_iter().chain(binding.into_iter().map(Some)) {
            let mut down = vec![false; network.link_count()];
            if let Some(case) = case {
                for &failing in &design.failures.cases[case].failing {
                    // Elements have other identifiers in a network with other links.
                    let name = failing.name(&design.network);
                    let links = links_of(&design.network, failing);
                    for link in links {
                        let name = design.network.link_name(link);
                        if let Some(same) = network.link_by_name(name) {
                            down[same.index()] = true;
                        }
                    }
                    let node = network.nodes().find(|&id| network.node_name(id) == name);
                    if let (Failing::Node(_), Some(node)) = (failing, node) {
                        for link in network.links_at(node) {
                            down[link.index()] = true;
                        }
                    }
                }
            }
            let is_intact = case.is_none();
            let problem = self.flow_problem(&network, &smallest, &down, is_intact);
            bound = bound.max(problem.bound(design.cost));
        }
        Ok(bound)
    }

    fn flow_problem(
        &self,
        network: &Network,
        candidates: &BTreeMap<String, f64>,
        down: &[bool],
        is_intact: bool,
    ) -> FlowProblem {
        let options = self.options;
        let limit = if is_intact {
            options.bounds.utilization.min(options.intact_utilization)
        } else {
            options.bounds.utilization
        };
        let bandwidths_bps = network.bandwidths_at_bps(self.at_s);
        let mut arcs = Vec::new();
        let mut ends = Vec::new();
        let mut unit_cost = Vec::new();
        for (link, (id, other)) in network.physical_links().enumerate() {
            let name = network.physical_link_name(id);
            let modules = self.variants.modules(&name).iter();
            let unit = modules.map(|it| it.cost / it.capacity_bps);
            unit_cost.push(unit.fold(f64::INFINITY, f64::min) / limit);
            for id in [Some(id), other].into_iter().flatten() {
                if down[id.index()] {
                    continue;
                }
                let spec = network.link_spec(id);
                let is_candidate = candidates.contains_key(&name);
                let bandwidth_bps = bandwidths_bps[id.index()];
                ends.push((spec.from.index(), spec.to.index()));
                arcs.push(Arc {
                    usable_bps: if is_candidate {
                        0.0
                    } else {
                        limit * bandwidth_bps
                    },
                    link,
                });
            }
        }
        let mut demands = vec![Vec::new(); network.node_count()];
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let (start_s, end_s) = network.active_interval(id, self.at_s);
            let own_pps = spec.source.own_pps();
            let pps = own_pps.unwrap_or_else(|| spec.application.mean_pps());
            if end_s > start_s && pps.is_finite() {
                let bps = pps * f64::from(spec.count) * 8.0 * spec.packet_size_bytes;
                demands[spec.from.index()].push((spec.to.index(), bps * options.demand_factor));
            }
        }
        FlowProblem {
            graph: ArcGraph::new(network.node_count(), ends),
            arcs,
            unit_cost,
            demands,
        }
    }
}

impl FlowProblem {
    /// Returns the best dual value. `upper` is the cost of a solution, for the steps of Polyak.
    fn bound(&self, upper: f64) -> f64 {
        let mut prices = vec![0.0; self.arcs.len()];
        let (mut best, mut scale, mut since) = (0.0_f64, 1.0, 0);
        for _ in 0..ITERATIONS {
            let (value, flow) = self.dual(&prices);
            if value > best * (1.0 + 1e-6) {
                (best, since) = (value, 0);
            } else {
                since += 1;
                if since == 10 {
                    (scale, since) = (0.5 * scale, 0);
                }
            }
            // Prices have the unit cost per bit/s: the subgradient is the excess over the usable bandwidth.
            let excess = |(arc, flow): (&Arc, &f64)| flow - arc.usable_bps;
            let excess: Vec<f64> = self.arcs.iter().zip(&flow).map(excess).collect();
            let norm: f64 = excess.iter().map(|it| it * it).sum();
            if norm == 0.0 || upper <= value {
                break;
            }
            let step = scale * (upper - value) / norm;
            for (price, excess) in prices.iter_mut().zip(&excess) {
                *price = (*price + step * excess).max(0.0);
            }
            self.project(&mut prices);
        }
        best
    }

    /// Scales down the prices of links whose directions together cost more than a module.
    fn project(&self, prices: &mut [f64]) {
        let mut sums = vec![0.0; self.unit_cost.len()];
        for (arc, price) in self.arcs.iter().zip(&*prices) {
            sums[arc.link] += price;
        }
        for (arc, price) in self.arcs.iter().zip(prices) {
            let most = self.unit_cost[arc.link];
            if sums[arc.link] > most {
                *price *= most / sums[arc.link];
            }
        }
    }

    /// Returns the dual value at these prices, and the flow of each arc if all demands take the cheapest paths. Demands
    /// without a path do not count.
    fn dual(&self, prices: &[f64]) -> (f64, Vec<f64>) {
        let mut flow = vec![0.0; self.arcs.len()];
        let mut value = 0.0;
        for (source, demands) in self.demands.iter().enumerate() {
            if demands.is_empty() {
                continue;
            }
            let tree = self.graph.tree(source, prices);
            for &(to, bps) in demands {
                if tree.distances[to].is_infinite() {
                    continue;
                }
                value += bps * tree.distances[to];
                for arc in self.graph.path_back(&tree, to) {
                    flow[arc] += bps;
                }
            }
        }
        let own = self.arcs.iter().zip(prices);
        value -= own.map(|(arc, price)| price * arc.usable_bps).sum::<f64>();
        (value, flow)
    }
}
