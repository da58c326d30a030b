//! Lower bound of the largest link load over all routings: maximum concurrent flow by the flow deviation method on a
//! smoothed maximum (Fratta, Gerla, Kleinrock 1973; Bienstock, *Potential Function Methods*, 2002).
//!
//! For lengths l of the arcs the largest load is at least (Σ demands · distance(l) + Σ fixed load · l) / Σ capacity · l.
//! The lengths are the gradient of the smoothed maximum at the present flow, and each step moves the flow of one source
//! toward its shortest paths.

use super::routing_problem::{Case, RoutingProblem};
use crate::arc_graph::ArcGraph;

/// Gap between the largest load of the flow and the bound at which a flow is good enough.
const GAP: f64 = 0.002;
/// Steps of the line search.
const BISECTIONS: usize = 24;

/// Flow problem of one case.
pub(super) struct ConcurrentFlow<'a> {
    problem: &'a RoutingProblem,
    graph: &'a ArcGraph,
    case: &'a Case,
    /// Demands in bit/s by source, then destination; only those with a path.
    demands: Vec<(usize, Vec<(usize, f64)>)>,
    /// Arcs that are up.
    up: Vec<usize>,
    /// Flow of each arc in bit/s from each source.
    flows_bps: Vec<Vec<f64>>,
    /// Load of each arc that is up, with the fixed flow.
    loads: Vec<f64>,
    lengths: Vec<f64>,
    bound: f64,
}

impl<'a> ConcurrentFlow<'a> {
    pub fn new(
        problem: &'a RoutingProblem,
        graph: &'a ArcGraph,
        case: &'a Case,
    ) -> ConcurrentFlow<'a> {
        let mut by_source: Vec<Vec<(usize, f64)>> = vec![Vec::new(); problem.nodes];
        for demands in &case.demands {
            // The bound leaves out acknowledgements.
            for (from, traffic) in &demands.from {
                by_source[*from as usize].push((demands.node as usize, traffic.bps));
            }
        }
        let lengths = case
            .down
            .iter()
            .map(|&it| if it { f64::INFINITY } else { 0.0 });
        let lengths: Vec<f64> = lengths.collect();
        let demands = by_source
            .into_iter()
            .enumerate()
            .filter_map(|(from, mut to)| {
                if to.is_empty() {
                    return None;
                }
                let tree = graph.tree(from, &lengths);
                to.retain(|&(node, _)| tree.distances[node].is_finite());
                (!to.is_empty()).then_some((from, to))
            });
        let mut flow = ConcurrentFlow {
            problem,
            graph,
            demands: demands.collect(),
            up: (0..case.down.len()).filter(|&it| !case.down[it]).collect(),
            case,
            flows_bps: Vec::new(),
            loads: Vec::new(),
            lengths: Vec::new(),
            bound: 0.0,
        };
        let length = |(arc, &is_down): (usize, &bool)| {
            if is_down {
                f64::INFINITY
            } else {
                1.0 / problem.arcs[arc].max_capacity_bps
            }
        };
        flow.lengths = case.down.iter().enumerate().map(length).collect();
        flow.bound = flow.dual();
        flow.flows_bps = (0..flow.demands.len())
            .map(|source| flow.shortest_path_flow(source))
            .collect();
        flow.add_up();
        flow
    }

    /// Returns the lower bound of the largest load.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns the largest load of the present flow, which is an upper bound of the lowest one.
    pub fn max_load(&self) -> f64 {
        self.loads.iter().copied().fold(0.0, f64::max)
    }

    /// Computes the loads, so that rounding errors do not accumulate.
    fn add_up(&mut self) {
        let load = |&arc: &usize| {
            let flows = self.flows_bps.iter().map(|it| it[arc]);
            (self.case.fixed_bps[arc] + flows.sum::<f64>()) / self.capacity_bps(arc)
        };
        self.loads = self.up.iter().map(load).collect();
    }

    fn capacity_bps(&self, arc: usize) -> f64 {
        self.problem.arcs[arc].max_capacity_bps
    }

    /// Moves the flow of each source in turn toward its shortest paths, as long as the largest load is above the bound and
    /// above `least`.
    pub fn improve(&mut self, rounds: usize, least: f64) {
        for _ in 0..rounds {
            let largest = self.max_load();
            if largest <= self.bound.max(least) * (1.0 + GAP) {
                return;
            }
            // The smoothed maximum is above the largest load by at most ln(arcs) / sharpness: half of the present gap.
            let arcs = self.up.len() as f64;
            let sharpness = 2.0 * libm::log(1.0 + arcs) / (largest - self.bound);
            for source in 0..self.demands.len() {
                self.set_lengths(sharpness);
                let toward_bps = self.shortest_path_flow(source);
                let own_bps = &self.flows_bps[source];
                let ratio =
                    |&arc: &usize| (toward_bps[arc] - own_bps[arc]) / self.capacity_bps(arc);
                let change: Vec<f64> = self.up.iter().map(ratio).collect();
                let step = line_search(&self.loads, &change, sharpness);
                for (load, change) in self.loads.iter_mut().zip(&change) {
                    *load += step * change;
                }
                for (own, toward) in self.flows_bps[source].iter_mut().zip(&toward_bps) {
                    *own += step * (toward - *own);
                }
            }
            self.add_up();
            self.set_lengths(sharpness);
            self.bound = self.bound.max(self.dual());
        }
    }

    /// Sets the lengths to the gradient of the smoothed maximum.
    fn set_lengths(&mut self, sharpness: f64) {
        let largest = self.max_load();
        for (&arc, load) in self.up.iter().zip(&self.loads) {
            let weight = libm::exp(sharpness * (load - largest));
            self.lengths[arc] = weight / self.problem.arcs[arc].max_capacity_bps;
        }
    }

    /// Returns whether the bound could still exceed `least` noticeably.
    pub fn is_open(&self, least: f64) -> bool {
        self.max_load() > self.bound.max(least) * (1.0 + GAP)
    }

    /// Returns the flow of each arc in bit/s if all demands of a source take the shortest paths.
    fn shortest_path_flow(&self, source: usize) -> Vec<f64> {
        let mut flow_bps = vec![0.0; self.case.down.len()];
        let (from, demands) = &self.demands[source];
        let tree = self.graph.tree(*from, &self.lengths);
        for &(to, bps) in demands {
            for arc in self.graph.path_back(&tree, to) {
                flow_bps[arc] += bps;
            }
        }
        flow_bps
    }

    /// Returns the lower bound for the present lengths.
    fn dual(&self) -> f64 {
        let fixed = self
            .up
            .iter()
            .map(|&arc| self.case.fixed_bps[arc] * self.lengths[arc]);
        let mut value: f64 = fixed.sum();
        for (from, demands) in &self.demands {
            let tree = self.graph.tree(*from, &self.lengths);
            let costs = demands.iter().map(|&(to, bps)| bps * tree.distances[to]);
            value += costs.sum::<f64>();
        }
        let full = self
            .up
            .iter()
            .map(|&arc| self.capacity_bps(arc) * self.lengths[arc]);
        // Without links there is nothing to bound.
        if self.up.is_empty() {
            0.0
        } else {
            value / full.sum::<f64>()
        }
    }
}

/// Returns the step from 0 to 1 at which the smoothed maximum of loads + step · change is lowest, by bisection of its slope.
fn line_search(loads: &[f64], change: &[f64], sharpness: f64) -> f64 {
    let slope = |step: f64| {
        let at = |(load, change): (&f64, &f64)| load + step * change;
        let largest = loads
            .iter()
            .zip(change)
            .map(at)
            .fold(f64::NEG_INFINITY, f64::max);
        let terms = loads.iter().zip(change);
        terms
            .map(|(load, change)| change * libm::exp(sharpness * (load + step * change - largest)))
            .sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 1.0);
    if slope(1.0) <= 0.0 {
        return 1.0;
    }
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
