//! Traffic matrix estimated from link loads.
//!
//! The load of a link is the sum of the demands between all pairs of nodes, each times its share on the link. There are
//! more pairs than links. Of all matrices with the same loads, the estimate is the one closest to a gravity model
//! (`entropy.rs`). The totals of the gravity model are those of the estimate itself: starting from equal demands, both
//! are computed in turn until the totals change little. This decreases the divergence in every round (I. Csiszár, G.
//! Tusnády, Statistics & Decisions, Suppl. 1 (1984) 205). Measured totals of nodes are fitted like loads.

mod cholesky;
mod entropy;
mod gravity;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use netflow_network::{LinkId, Network, NodeId, PathChoice};
use netflow_units::Csr;

use entropy::{Measured, Precision, Unsolved};
use gravity::Totals;

/// Largest number of nodes, and of measurements. Memory grows with the square of both.
const MAX_NODES: usize = 2000;
const MAX_MEASUREMENTS: usize = 10_000;

/// Largest number of rounds in which the totals of nodes are estimated; up to 30 were seen.
const MAX_ROUNDS: usize = 100;

/// Change of the totals in a round, as a fraction of all traffic, that ends the rounds. Loads alone do not determine
/// totals, so later rounds move along solutions that are equally good: on nine networks with known matrices, a
/// tolerance of 0.03 % changed errors by at most 5 points, but that of Abilene from 55 to 81 %.
const TOTALS_TOLERANCE: f64 = 0.01;

/// Measured loads of links, and totals of nodes, in bit/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Load of links on the wire.
    pub loads: Vec<(LinkId, f64)>,
    /// Traffic that enters the network at nodes, in IP packets.
    pub entering: Vec<(NodeId, f64)>,
    /// Traffic that leaves the network at nodes, in IP packets.
    pub leaving: Vec<(NodeId, f64)>,
}

/// Routes of the demands to estimate, and size of their packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandOptions {
    /// Time in seconds of the measurement: events before it have changed the routes.
    pub at_s: f64,
    /// Choice among paths of equal cost.
    pub choice: PathChoice,
    /// Size of a packet in bytes, by which the overhead of links adds to their load.
    pub packet_size_bytes: f64,
}

/// Estimated demand from node to node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedDemand {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Rate in bit/s of IP packets, above 0.
    pub rate_bps: f64,
}

/// Load of a link by the estimated demands, or total of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<T> {
    /// The link or node.
    pub of: T,
    /// Measured rate in bit/s; `None` if it was not measured.
    pub measured_bps: Option<f64>,
    /// Rate by the estimated demands, in bit/s.
    pub estimated_bps: f64,
}

impl<T> Fit<T> {
    /// Returns the relative error of the estimate; `None` without a measurement. It is 1 if only one of both is 0.
    pub fn error(&self) -> Option<f64> {
        let measured_bps = self.measured_bps?;
        let larger_bps = if measured_bps > 0.0 {
            measured_bps
        } else {
            self.estimated_bps
        };
        let difference_bps = (self.estimated_bps - measured_bps).abs();
        Some(if difference_bps > 0.0 {
            difference_bps / larger_bps
        } else {
            0.0
        })
    }

    /// Returns whether a load was measured, but no demand causes it.
    pub fn is_unexplained(&self) -> bool {
        self.measured_bps.is_some_and(|it| it > 0.0) && self.estimated_bps == 0.0
    }
}

/// Estimated traffic matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandEstimate {
    /// Demands above 0, by the names of sender and receiver.
    pub demands: Vec<EstimatedDemand>,
    /// Loads of all links, in the order of the network; queues of classes are part of their link.
    pub links: Vec<Fit<LinkId>>,
    /// Traffic that enters the network at each node, in the order of the network.
    pub entering: Vec<Fit<NodeId>>,
    /// Traffic that leaves the network at each node, in the order of the network.
    pub leaving: Vec<Fit<NodeId>>,
    /// Number of demands that no measurement contains: their rates are those of the gravity model.
    pub unmeasured: usize,
}

impl DemandEstimate {
    /// Returns the sum of all demands in bit/s.
    pub fn total_bps(&self) -> f64 {
        self.demands.iter().map(|it| it.rate_bps).sum()
    }
}

/// Reason why demands cannot be estimated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DemandError {
    /// A measured rate is negative or not finite.
    #[error("the measured rate of {of} is {rate_bps} bit/s; it must be at least 0 and finite")]
    InvalidRate {
        /// Name of the link or node.
        of: String,
        /// The rate in bit/s.
        rate_bps: f64,
    },
    /// A link or a node has two measurements.
    #[error("{of} has two measurements")]
    Duplicate {
        /// Name of the link or node.
        of: String,
    },
    /// There is no measurement, or none above 0.
    #[error("no traffic was measured")]
    NoTraffic,
    /// No path crosses a link with a measured load, unless it also crosses a link without load.
    #[error("no path between two nodes can cause the measured loads")]
    Unexplained,
    /// The network or the measurements are too large.
    #[error("{count} {of} are too many; the largest number is {most}")]
    TooLarge {
        /// Counted elements.
        of: &'static str,
        /// Its number.
        count: usize,
        /// Largest number.
        most: usize,
    },
    /// The numerical method failed.
    #[error("the estimate did not converge; the measurements may contradict each other")]
    NotConverged,
}

/// Pair of nodes, by their ranks among all names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    from: usize,
    to: usize,
}

/// Estimates the demands between all nodes from measurements. Returns `None` if `stop` returns true.
///
/// # Errors
/// The measurements are invalid or contain no traffic.
///
/// # Panics
/// If a link or node is of another network.
pub fn estimate_demands(
    network: &Network,
    measurements: &Measurements,
    options: &DemandOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<DemandEstimate>, DemandError> {
    check(network, measurements)?;
    let problem = Problem::new(network, measurements, options);
    let pairs: Vec<Pair> = problem.active.iter().map(|&i| problem.pairs[i]).collect();
    let nodes = network.node_count();
    if pairs.is_empty() || problem.measured.values.is_empty() {
        return Err(DemandError::Unexplained);
    }
    match demands(&problem.measured, &pairs, nodes, stop) {
        Ok(demands) => Ok(Some(problem.estimate(network, measurements, &demands))),
        Err(Unsolved::Stopped) => Ok(None),
        Err(Unsolved::NotConverged) => Err(DemandError::NotConverged),
    }
}

/// Returns the estimated demands of the pairs.
fn demands(
    measured: &Measured,
    pairs: &[Pair],
    nodes: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<f64>, Unsolved> {
    let equal = vec![1.0; pairs.len()];
    let mut prior = vec![measured.best_scale(&equal); pairs.len()];
    let mut demands = prior.clone();
    let mut before: Option<Totals> = None;
    for _ in 0..MAX_ROUNDS {
        demands = measured.closest_to(&prior, &demands, Precision::Coarse, stop)?;
        let totals = Totals::of(nodes, pairs, &demands);
        let is_final = before.is_some_and(|it| totals.relative_change(&it) < TOTALS_TOLERANCE);
        if is_final {
            break;
        }
        prior = totals.gravity(pairs);
        // A demand of 0 could not grow.
        for (demand, prior) in demands.iter_mut().zip(&prior) {
            *demand = demand.max(1e-6 * prior);
        }
        before = Some(totals);
    }
    measured.closest_to(&prior, &demands, Precision::Exact, stop)
}

/// Rejects invalid measurements.
fn check(network: &Network, measurements: &Measurements) -> Result<(), DemandError> {
    let link = |&(id, bps): &(LinkId, f64)| (format!("link {}", network.link_name(id)), bps);
    let node = |kind: &'static str| {
        move |&(id, bps): &(NodeId, f64)| {
            let name = network.node_name(id);
            (format!("traffic {kind} at node {name}"), bps)
        }
    };
    let loads = measurements.loads.iter().map(link);
    let entering = measurements.entering.iter().map(node("entering"));
    let leaving = measurements.leaving.iter().map(node("leaving"));
    let mut seen = HashSet::new();
    let mut is_idle = true;
    for (of, rate_bps) in loads.chain(entering).chain(leaving) {
        if !(0.0..f64::INFINITY).contains(&rate_bps) {
            return Err(DemandError::InvalidRate { of, rate_bps });
        }
        is_idle &= rate_bps == 0.0;
        if !seen.insert(of.clone()) {
            return Err(DemandError::Duplicate { of });
        }
    }
    if is_idle {
        return Err(DemandError::NoTraffic);
    }
    for (of, count, most) in [
        ("nodes", network.node_count(), MAX_NODES),
        ("measurements", seen.len(), MAX_MEASUREMENTS),
    ] {
        if count > most {
            return Err(DemandError::TooLarge { of, count, most });
        }
    }
    Ok(())
}

/// Measurements as sums of demands. Nodes, pairs and measurements are ordered by name, so that results do not depend on
/// the order of rows.
struct Problem {
    /// All nodes by name.
    nodes: Vec<NodeId>,
    /// All pairs of different nodes.
    pairs: Vec<Pair>,
    /// For each pair the links of its traffic, with the load per unit of its rate.
    routes: Vec<Vec<(LinkId, f64)>>,
    /// Pairs that can have a demand: they have a path, and no measurement without traffic.
    active: Vec<usize>,
    measured: Measured,
}

impl Problem {
    fn new(network: &Network, measurements: &Measurements, options: &DemandOptions) -> Problem {
        let mut nodes: Vec<NodeId> = network.nodes().collect();
        nodes.sort_by_key(|&node| network.node_name(node));
        let ranks = 0..nodes.len();
        let pairs = ranks.clone().flat_map(|from| {
            let others = ranks.clone().filter(move |&to| to != from);
            others.map(move |to| Pair { from, to })
        });
        let pairs: Vec<Pair> = pairs.collect();
        let ends: Vec<_> = pairs
            .iter()
            .map(|it| (nodes[it.from], nodes[it.to]))
            .collect();
        let mut routes = network.link_shares(options.at_s, options.choice, &ends);
        let ip_bits = 8.0 * options.packet_size_bytes;
        for (link, share) in routes.iter_mut().flatten() {
            *share *= network.link_spec(*link).overhead.factor(ip_bits);
        }
        // Rows: links by name, then traffic entering and leaving at nodes by name.
        let mut loads = measurements.loads.clone();
        loads.sort_by_key(|&(link, _)| network.link_name(link));
        let mut values: Vec<f64> = loads.iter().map(|&(_, bps)| bps).collect();
        let mut row_of_link = vec![None; network.link_count()];
        for (row, &(link, _)) in loads.iter().enumerate() {
            row_of_link[link.index()] = Some(row);
        }
        let mut row_of_node = |totals: &[(NodeId, f64)]| {
            let mut rates = vec![None; network.node_count()];
            for &(node, bps) in totals {
                rates[node.index()] = Some(bps);
            }
            let row = |node: &NodeId| {
                rates[node.index()].map(|bps| {
                    values.push(bps);
                    values.len() - 1
                })
            };
            nodes.iter().map(row).collect::<Vec<Option<usize>>>()
        };
        let row_of_sender = row_of_node(&measurements.entering);
        let row_of_receiver = row_of_node(&measurements.leaving);
        let rows_of = |i: usize| {
            let links = routes[i].iter();
            let links = links.filter_map(|&(link, load)| Some((row_of_link[link.index()]?, load)));
            let mut rows: Vec<(usize, f64)> = links.collect();
            rows.extend(row_of_sender[pairs[i].from].map(|row| (row, 1.0)));
            rows.extend(row_of_receiver[pairs[i].to].map(|row| (row, 1.0)));
            rows.sort_by_key(|&(row, _)| row);
            rows
        };
        let is_active = |&i: &usize| {
            let rows = rows_of(i);
            !routes[i].is_empty() && rows.iter().all(|&(row, _)| values[row] > 0.0)
        };
        let active: Vec<usize> = (0..pairs.len()).filter(is_active).collect();
        // Measurements to which no demand contributes are left out.
        let mut is_used = vec![false; values.len()];
        for (row, _) in active.iter().flat_map(|&i| rows_of(i)) {
            is_used[row] = true;
        }
        let mut new_row = vec![0; values.len()];
        let mut used = Vec::new();
        for (row, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
            new_row[row] = used.len() as u32;
            used.push(values[row]);
        }
        let mut shares = Csr::default();
        for &i in &active {
            let rows = rows_of(i).into_iter();
            shares.push_row(rows.map(|(row, share)| (new_row[row], share)));
        }
        Problem {
            nodes,
            active,
            measured: Measured {
                shares,
                values: used,
            },
            pairs,
            routes,
        }
    }

    /// Returns the estimate with these rates of the active pairs.
    fn estimate(
        &self,
        network: &Network,
        measurements: &Measurements,
        rates_bps: &[f64],
    ) -> DemandEstimate {
        let mut demands = Vec::with_capacity(self.active.len());
        let mut loads_bps = vec![0.0; network.link_count()];
        let mut entering_bps = vec![0.0; network.node_count()];
        let mut leaving_bps = vec![0.0; network.node_count()];
        for (&i, &rate_bps) in self.active.iter().zip(rates_bps) {
            let Pair { from, to } = self.pairs[i];
            let (from, to) = (self.nodes[from], self.nodes[to]);
            for &(link, load) in &self.routes[i] {
                loads_bps[link.index()] += load * rate_bps;
            }
            entering_bps[from.index()] += rate_bps;
            leaving_bps[to.index()] += rate_bps;
            if rate_bps > 0.0 {
                demands.push(EstimatedDemand { from, to, rate_bps });
            }
        }
        let unmeasured = (0..self.active.len()).filter(|&i| self.measured.shares.row(i).is_empty());
        DemandEstimate {
            demands,
            links: fits(
                network.links_without_class_queues(),
                &measurements.loads,
                LinkId::index,
                &loads_bps,
            ),
            entering: fits(
                network.nodes(),
                &measurements.entering,
                NodeId::index,
                &entering_bps,
            ),
            leaving: fits(
                network.nodes(),
                &measurements.leaving,
                NodeId::index,
                &leaving_bps,
            ),
            unmeasured: unmeasured.count(),
        }
    }
}

/// Returns for each element its measured and its estimated rate.
fn fits<T: Copy>(
    all: impl Iterator<Item = T>,
    measured: &[(T, f64)],
    index: impl Fn(T) -> usize,
    estimated_bps: &[f64],
) -> Vec<Fit<T>> {
    let mut measured_bps = vec![None; estimated_bps.len()];
    for &(of, bps) in measured {
        measured_bps[index(of)] = Some(bps);
    }
    let fit = |of| Fit {
        of,
        measured_bps: measured_bps[index(of)],
        estimated_bps: estimated_bps[index(of)],
    };
    all.map(fit).collect()
}
