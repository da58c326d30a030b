//! Loads of links by ECMP routing, updated for a changed metric: only destinations whose shortest paths can change are
//! computed again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::routing_problem::{Case, DemandsTo, RoutingProblem, Traffic};

const UNREACHABLE: u64 = u64::MAX;

/// Loads in one case for the metrics of all groups.
#[derive(Clone, Debug)]
pub(super) struct EcmpLoads<'a> {
    problem: &'a RoutingProblem,
    case: &'a Case,
    metrics: Vec<u32>,
    toward: Vec<Toward>,
    loads_bps: Vec<f64>,
}

/// Shortest paths to one node, with the traffic on them.
#[derive(Clone, Debug, Default)]
struct Toward {
    /// Distance of each node.
    distances: Vec<u64>,
    /// Load in bit/s of each arc.
    loads_bps: Vec<f64>,
}

/// Metric of one group that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MetricChange {
    pub group: usize,
    pub metric: u32,
}

/// Working memory for a tried change.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    loads_bps: Vec<f64>,
    search: Search,
}

/// Working memory of a shortest-path search.
#[derive(Clone, Debug, Default)]
struct Search {
    toward: Toward,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes by ascending distance.
    order: Vec<u32>,
    /// Traffic through each node.
    through: Vec<Traffic>,
    /// Next arcs of a node.
    next: Vec<u32>,
}

impl<'a> EcmpLoads<'a> {
    pub fn new(problem: &'a RoutingProblem, case: &'a Case, metrics: &[u32]) -> EcmpLoads<'a> {
        let mut search = Search::default();
        let metric = |arc: u32| metrics[problem.arcs[arc as usize].group as usize];
        let toward = case.demands.iter().map(|demands| {
            search.run(problem, case, demands, metric);
            search.toward.clone()
        });
        let mut loads = EcmpLoads {
            problem,
            case,
            metrics: metrics.to_vec(),
            toward: toward.collect(),
            loads_bps: Vec::new(),
        };
        loads.add_up();
        loads
    }

    /// Returns the load of each arc in bit/s.
    pub fn loads_bps(&self) -> &[f64] {
        &self.loads_bps
    }

    /// Returns the load of each arc in bit/s with one changed metric.
    pub fn try_change<'s>(&self, change: MetricChange, scratch: &'s mut Scratch) -> &'s [f64] {
        scratch.loads_bps.clear();
        scratch.loads_bps.extend_from_slice(&self.loads_bps);
        for (before, demands) in self.toward.iter().zip(&self.case.demands) {
            if !self.affects(change, before) {
                continue;
            }
            let metric = |arc| self.metric_with(change, arc);
            scratch.search.run(self.problem, self.case, demands, metric);
            let after = &scratch.search.toward.loads_bps;
            let both = before.loads_bps.iter().zip(after);
            for (load, (before, after)) in scratch.loads_bps.iter_mut().zip(both) {
                *load += after - before;
            }
        }
        &scratch.loads_bps
    }

    /// Changes one metric.
    pub fn apply(&mut self, change: MetricChange, scratch: &mut Scratch) {
        let mut toward = std::mem::take(&mut self.toward);
        for (known, demands) in toward.iter_mut().zip(&self.case.demands) {
            if self.affects(change, known) {
                let metric = |arc| self.metric_with(change, arc);
                scratch.search.run(self.problem, self.case, demands, metric);
                known.clone_from(&scratch.search.toward);
            }
        }
        self.toward = toward;
        self.metrics[change.group] = change.metric;
        self.add_up();
    }

    /// Computes the loads from those of all destinations, so that rounding errors do not accumulate.
    fn add_up(&mut self) {
        self.loads_bps.clone_from(&self.case.fixed_bps);
        for toward in &self.toward {
            for (load, part) in self.loads_bps.iter_mut().zip(&toward.loads_bps) {
                *load += part;
            }
        }
    }

    fn metric_with(&self, change: MetricChange, arc: u32) -> u32 {
        let group = self.problem.arcs[arc as usize].group as usize;
        if group == change.group {
            change.metric
        } else {
            self.metrics[group]
        }
    }

    /// Returns whether a change can alter these shortest paths.
    fn affects(&self, change: MetricChange, toward: &Toward) -> bool {
        let before = self.metrics[change.group];
        let mut arcs = self.problem.groups.row(change.group).iter();
        arcs.any(|&arc| match self.reduced_cost(toward, arc) {
            None => false,
            Some(reduced) if change.metric > before => reduced == 0,
            Some(reduced) => reduced <= u64::from(before - change.metric),
        })
    }

    /// Returns by how much the path over an arc is longer than the shortest path of its start; `None` without a path.
    fn reduced_cost(&self, toward: &Toward, arc: u32) -> Option<u64> {
        if self.case.down[arc as usize] {
            return None;
        }
        let of = self.problem.arcs[arc as usize];
        let [from, to] = [of.from, of.to].map(|it| toward.distances[it as usize]);
        let metric = u64::from(self.metrics[of.group as usize]);
        (to != UNREACHABLE).then(|| to + metric - from)
    }

    /// Returns the destinations of the traffic on an arc, as indices, with their load in bit/s.
    pub fn destinations_over(&self, arc: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let all = self.toward.iter().enumerate();
        all.map(move |(i, it)| (i, it.loads_bps[arc]))
            .filter(|it| it.1 > 0.0)
    }

    /// Returns the number of destinations.
    pub fn destinations(&self) -> usize {
        self.toward.len()
    }

    /// Returns the change of an arc's metric at which its use for a destination changes: to make it equal to the best other
    /// next arc, or to the present shortest path. `None` if there is no such change.
    pub fn breakpoint(&self, arc: u32, destination: usize) -> Option<i64> {
        let toward = &self.toward[destination];
        let reduced = self.reduced_cost(toward, arc)?;
        if reduced > 0 {
            return Some(-(reduced as i64));
        }
        let from = self.problem.arcs[arc as usize].from;
        let others = self.problem.outgoing.row(from as usize).iter();
        let others = others.filter(|&&other| other != arc);
        let gap = others.filter_map(|&other| self.reduced_cost(toward, other));
        gap.min().map(|gap| gap as i64)
    }
}

impl Search {
    /// Finds the shortest paths to a node (Dijkstra), and splits its traffic equally over the next arcs of each node.
    fn run(
        &mut self,
        problem: &RoutingProblem,
        case: &Case,
        demands: &DemandsTo,
        metric: impl Fn(u32) -> u32,
    ) {
        let distances = &mut self.toward.distances;
        distances.clear();
        distances.resize(problem.nodes, UNREACHABLE);
        distances[demands.node as usize] = 0;
        self.order.clear();
        self.heap.push(Reverse((0, demands.node)));
        while let Some(Reverse((distance, node))) = self.heap.pop() {
            if distance > distances[node as usize] {
                continue;
            }
            self.order.push(node);
            for &arc in problem.incoming.row(node as usize) {
                if case.down[arc as usize] {
                    continue;
                }
                let from = problem.arcs[arc as usize].from;
                let over = distance + u64::from(metric(arc));
                if over < distances[from as usize] {
                    distances[from as usize] = over;
                    self.heap.push(Reverse((over, from)));
                }
            }
        }
        self.through.clear();
        self.through.resize(problem.nodes, Traffic::default());
        for &(from, traffic) in &demands.from {
            self.through[from as usize] = traffic;
        }
        let loads_bps = &mut self.toward.loads_bps;
        loads_bps.clear();
        loads_bps.resize(problem.arcs.len(), 0.0);
        for &node in self.order.iter().skip(1).rev() {
            let through = self.through[node as usize];
            if through.bps == 0.0 {
                continue;
            }
            let distance = distances[node as usize];
            let is_next = |&&arc: &&u32| {
                let to = distances[problem.arcs[arc as usize].to as usize];
                !case.down[arc as usize]
                    && to != UNREACHABLE
                    && to + u64::from(metric(arc)) == distance
            };
            self.next.clear();
            let outgoing = problem.outgoing.row(node as usize).iter();
            self.next.extend(outgoing.filter(is_next));
            let share = 1.0 / self.next.len() as f64;
            let share = Traffic {
                bps: share * through.bps,
                ack_bps: share * through.ack_bps,
            };
            for &arc in &self.next {
                let of = &problem.arcs[arc as usize];
                loads_bps[arc as usize] += share.bps;
                // Acknowledgements take the reversed path.
                if let Some(back) = of.opposite {
                    let factor = problem.arcs[back as usize].ack_factor;
                    loads_bps[back as usize] += factor * share.ack_bps;
                }
                self.through[of.to as usize].add(share);
            }
        }
    }
}
