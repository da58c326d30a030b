//! Graph, demands and failure cases of a weight search.

use std::collections::{BTreeMap, BTreeSet};

use netflow_fluid::queue_fixed_point::acks_per_data;
use netflow_network::{ACK_BYTES, EcmpWeights, LinkId, Network, NodeId, Rerouter};
use netflow_units::Csr;
use rayon::prelude::*;

use super::concurrent_flow::ConcurrentFlow;
use super::{WeightOptions, WeightsError};
use crate::Failing;
use crate::arc_graph::ArcGraph;
use crate::failures::cases::Cases;
use crate::plan::unlimited_demand;

/// Maximum number of cases whose lower bound is computed: those with the highest first bounds.
const MAX_BOUND_CASES: usize = 64;
/// Number of times that open bounds are improved, and number of rounds over all sources in each.
const BOUND_IMPROVEMENTS: usize = 20;
const BOUND_ROUNDS: usize = 5;

/// Arc of the graph: one direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub from: u32,
    pub to: u32,
    /// Capacity in bit/s of IP packets of the mean size.
    pub capacity_bps: f64,
    /// Capacity for the packets with the least overhead.
    pub max_capacity_bps: f64,
    /// Arc of the opposite direction, which acknowledgements take.
    pub opposite: Option<u32>,
    /// Overhead factor of acknowledgements over that of data.
    pub ack_factor: f64,
    /// Index of its group, whose metric it has.
    pub group: u32,
}

/// Demands to one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DemandsTo {
    pub node: u32,
    /// Sources with their demands.
    pub from: Vec<(u32, Traffic)>,
}

/// Traffic in IP bit/s: data, and its acknowledgements on the return path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traffic {
    pub bps: f64,
    pub ack_bps: f64,
}

impl Traffic {
    pub fn add(&mut self, other: Traffic) {
        self.bps += other.bps;
        self.ack_bps += other.ack_bps;
    }
}

/// Network with some links down.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Failed elements; empty for the intact network.
    pub failing: Vec<Failing>,
    /// For each arc: whether it is down.
    pub down: Vec<bool>,
    /// Load in bit/s of each arc by explicit paths.
    pub fixed_bps: Vec<f64>,
    /// Demands on shortest paths, by destination.
    pub demands: Vec<DemandsTo>,
}

/// Problem of a weight search.
#[derive(Clone, Debug)]
pub(super) struct RoutingProblem {
    pub nodes: usize,
    pub arcs: Vec<Arc>,
    /// Arcs into each node.
    pub incoming: Csr<u32>,
    /// Arcs out of each node.
    pub outgoing: Csr<u32>,
    /// Arcs of each group.
    pub groups: Csr<u32>,
    /// The intact network, then the failures.
    pub cases: Vec<Case>,
}

/// Demand of a connection.
struct Demand {
    ends: (NodeId, NodeId),
    traffic: Traffic,
    packet_bits: f64,
    ack_bits: f64,
    /// Its links, and those back, if it has an explicit path.
    path: Option<[Vec<LinkId>; 2]>,
}

impl RoutingProblem {
    pub fn new(
        network: &Network,
        at_s: f64,
        options: &WeightOptions,
    ) -> Result<RoutingProblem, WeightsError> {
        if let Some(connection) = unlimited_demand(network, at_s) {
            return Err(WeightsError::UnlimitedDemand { connection });
        }
        if let Some(element) = unsupported(network) {
            return Err(WeightsError::Unsupported { element });
        }
        let rerouter = Rerouter::new(network, at_s);
        let down_before = rerouter.down_before();
        let mut group_of = vec![None; network.link_count()];
        for (group, links) in (0_u32..).zip(&options.groups) {
            for link in links {
                group_of[link.index()] = Some(group);
            }
        }
        let bandwidths_bps = network.bandwidths_at_bps(at_s);
        let demands = demands(network, at_s);
        if demands.is_empty() {
            return Err(WeightsError::NoTraffic);
        }
        let data = demands.iter().map(|it| (it.traffic.bps, it.packet_bits));
        let acks = demands.iter().map(|it| (it.traffic.ack_bps, it.ack_bits));
        let (mean_bits, ack_bits) = (mean_bits(data), mean_bits(acks));
        let sizes: BTreeSet<u64> = demands.iter().map(|it| it.packet_bits.to_bits()).collect();
        let arcs = network.links().map(|id| {
            let spec = network.link_spec(id);
            let capacity_bps =
                |ip_bits: f64| bandwidths_bps[id.index()] / spec.overhead.factor(ip_bits);
            Arc {
                from: spec.from.index() as u32,
                to: spec.to.index() as u32,
                capacity_bps: capacity_bps(mean_bits),
                max_capacity_bps: (sizes.iter())
                    .map(|&bits| capacity_bps(f64::from_bits(bits)))
                    .fold(0.0, f64::max),
                opposite: network.opposite_direction(id).map(|it| it.index() as u32),
                ack_factor: spec.overhead.factor(ack_bits) / spec.overhead.factor(mean_bits),
                group: group_of[id.index()].expect("every link is in a group"),
            }
        });
        let arcs: Vec<Arc> = arcs.collect();
        let case = |failing: Vec<Failing>, failed: &[LinkId]| {
            let mut down = down_before.to_vec();
            for link in failed {
                down[link.index()] = true;
            }
            Case::new(failing, down, &demands, &arcs)
        };
        let mut cases = vec![case(Vec::new(), &[])];
        if let Some(failures) = &options.failures {
            let all = Cases::enumerate(network, failures, down_before)?;
            cases
                .extend((all.all.iter()).map(|&it| case(all.failing(it), &all.links(network, it))));
        }
        let mut paused = network.links().zip(&arcs).zip(&cases[0].down);
        if let Some(((link, _), _)) =
            paused.find(|((_, arc), down)| arc.capacity_bps == 0.0 && !**down)
        {
            return Err(WeightsError::NoBandwidth {
                link: network.link_name(link).to_owned(),
            });
        }
        let nodes = network.node_count();
        Ok(RoutingProblem {
            nodes,
            incoming: Csr::grouped(nodes, arcs.iter().map(|it| it.to)),
            outgoing: Csr::grouped(nodes, arcs.iter().map(|it| it.from)),
            groups: Csr::grouped(options.groups.len(), arcs.iter().map(|it| it.group)),
            arcs,
            cases,
        })
    }

    /// Returns a lower bound of the largest load by any routing, and the failure that gives it.
    pub fn lower_bound(&self, stop: &(dyn Fn() -> bool + Sync)) -> (f64, Option<usize>) {
        let ends = self
            .arcs
            .iter()
            .map(|it| (it.from as usize, it.to as usize));
        let graph = ArcGraph::new(self.nodes, ends.collect());
        let first = self
            .cases
            .par_iter()
            .map(|case| ConcurrentFlow::new(self, &graph, case).bound());
        let first: Vec<f64> = first.collect();
        let mut cases: Vec<usize> = (1..self.cases.len()).collect();
        cases.sort_by(|&a, &b| first[b].total_cmp(&first[a]).then(a.cmp(&b)));
        cases.truncate(MAX_BOUND_CASES);
        cases.insert(0, 0);
        let mut flows: Vec<_> = (cases.par_iter())
            .map(|&case| ConcurrentFlow::new(self, &graph, &self.cases[case]))
            .collect();
        // Only cases that can still have the largest bound are continued.
        for _ in 0..BOUND_IMPROVEMENTS {
            let least = flows.iter().map(ConcurrentFlow::bound).fold(0.0, f64::max);
            if stop() || !flows.iter().any(|it| it.is_open(least)) {
                break;
            }
            flows
                .par_iter_mut()
                .for_each(|it| it.improve(BOUND_ROUNDS, least));
        }
        let mut most = (flows[0].bound(), None);
        for (&case, flow) in cases.iter().zip(&flows).skip(1) {
            // A failure counts only if it makes a difference.
            if flow.bound() > most.0 * (1.0 + 1e-9) {
                most = (flow.bound(), Some(case));
            }
        }
        most
    }
}

impl Case {
    fn new(failing: Vec<Failing>, down: Vec<bool>, demands: &[Demand], arcs: &[Arc]) -> Case {
        let mut fixed_bps = vec![0.0; down.len()];
        let mut routed: BTreeMap<u32, BTreeMap<u32, Traffic>> = BTreeMap::new();
        for demand in demands {
            match &demand.path {
                Some([path, back]) if path.iter().all(|it| !down[it.index()]) => {
                    for link in path {
                        fixed_bps[link.index()] += demand.traffic.bps;
                    }
                    for link in back {
                        let factor = arcs[link.index()].ack_factor;
                        fixed_bps[link.index()] += factor * demand.traffic.ack_bps;
                    }
                }
                // Explicit paths are not rerouted.
                Some(_) => {}
                None => {
                    let [from, to] = [demand.ends.0, demand.ends.1].map(|it| it.index() as u32);
                    let demands_to = routed.entry(to).or_default();
                    demands_to.entry(from).or_default().add(demand.traffic);
                }
            }
        }
        let demands = routed.into_iter().map(|(node, from)| DemandsTo {
            node,
            from: from.into_iter().collect(),
        });
        Case {
            failing,
            down,
            fixed_bps,
            demands: demands.collect(),
        }
    }
}

/// Returns routing that the search does not model.
fn unsupported(network: &Network) -> Option<&'static str> {
    let inner = network.tables();
    if inner.ecmp_weights != EcmpWeights::Equal {
        Some("`ecmp = \"weighted\"`; use `ecmp = true`")
    } else if network.bundles().len() > 0 {
        Some("`members` of links; write one link with the sum of their bandwidths")
    } else if !inner.fallbacks.is_empty() {
        Some("`paths` of connections and demands; use `path`, or leave it out")
    } else {
        None
    }
}

fn demands(network: &Network, at_s: f64) -> Vec<Demand> {
    let active = network.connections().filter_map(|id| {
        let spec = network.connection_spec(id);
        let (start_s, end_s) = network.active_interval(id, at_s);
        let own_pps = spec.source.own_pps();
        let pps = own_pps.unwrap_or_else(|| spec.application.mean_pps());
        let pps = pps * f64::from(spec.count);
        // Their number depends on the path; the present one is taken.
        let ids = |links: Vec<LinkId>| links.iter().map(|it| it.index() as u32).collect::<Vec<_>>();
        let (there, back) = (ids(network.path(id)), ids(network.return_path(id)));
        let acks = acks_per_data(network.tables(), spec, &there, &back);
        let (packet_bits, ack_bits) = (8.0 * spec.packet_size_bytes, 8.0 * ACK_BYTES);
        (end_s > start_s && pps > 0.0).then(|| Demand {
            ends: (spec.from, spec.to),
            traffic: Traffic {
                bps: pps * packet_bits,
                ack_bps: pps * acks * ack_bits,
            },
            packet_bits,
            ack_bits,
            path: (spec.path.as_ref()).map(|_| [network.path(id), network.return_path(id)]),
        })
    });
    active.collect()
}

/// Returns the mean number of bits of packets, from rates in bit/s with their packet sizes in bits.
fn mean_bits(rates: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let packets: f64 = rates.clone().map(|(bps, bits)| bps / bits).sum();
    let mean = rates.map(|it| it.0).sum::<f64>() / packets;
    if mean > 0.0 { mean } else { 1.0 }
}
