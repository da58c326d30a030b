//! Shortest-path routing by delay or by metric, with equal-cost next links.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use netflow_units::Csr;
use rayon::prelude::*;

use crate::compiled::Bundle;
use crate::shortest_path::{
    Direction, Graph, Landmarks, LowerBounds, Search, TieBreak, UNREACHABLE,
};
use crate::{EcmpWeights, FlowHash, LinkSpec};

/// Work above which multithreading pays, in groups of requests times links.
const PARALLEL_WORK: usize = 1 << 17;

/// Number of requests with the same start, or end, from which one search finds all their paths.
const SHARED_SEARCH: usize = 8;

/// The same if the distances to each end are known, which makes single searches short.
const SHARED_SEARCH_WITH_DISTANCES: usize = 32;

/// Largest number of nodes for which the distances between all of them are stored.
const MAX_DISTANCE_NODES: usize = 3000;

/// Number of searches, and of nodes, from which landmarks pay.
const LANDMARK_SEARCHES: usize = 200;
const LANDMARK_NODES: usize = 200;

/// Graph of the links, on which paths are computed.
#[derive(Debug)]
pub struct Router {
    graph: Graph,
    /// Landmarks, and the number of searches that could have used them. They do not change paths.
    landmarks: OnceLock<Landmarks>,
    searches: AtomicUsize,
    /// Distances of all nodes to each node while no link is down, computed at its first use; empty if they are not
    /// used.
    distances_to: Vec<OnceLock<Vec<u64>>>,
    /// Rank of each link: among paths of equal cost, the last link of the lowest rank wins. The rank is by
    /// higher bandwidth, then the names of its ends, then its circuit.
    preference: Vec<Preference>,
    /// All links with their ends; parallel links in order of preference.
    by_ends: Vec<(u32, u32, u32)>,
    weights: Weights,
}

/// Weights of next links.
#[derive(Debug)]
enum Weights {
    /// All are equal.
    Equal,
    /// Bundles are equal: the bundle of each link in one.
    OfBundles(HashMap<u32, u32>),
    /// [By capacity](EcmpWeights::Capacity): bandwidth of each link in millibit/s.
    Capacity(Vec<u64>),
}

/// Bandwidth in descending order, and the ranks of the ends and the circuit among all names.
type Preference = (std::cmp::Reverse<u64>, usize, usize, usize);

/// Links of a path; `None` if the nodes are not connected.
type Path = Option<Vec<u32>>;

/// Request for a path.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub from: u32,
    pub to: u32,
    /// ECMP hash that selects among paths of equal cost; `None`: the preferred path.
    pub flow: Option<FlowHash>,
}

/// Next links of every node on paths of least cost to one node, in order of preference.
pub type NextLinks = Csr<NextLink>;

/// Next link of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextLink {
    pub link: u32,
    /// Weight among the next links of the node, at least 1; 1 for all if they are equal.
    pub weight: u32,
}

/// Largest weight. Weights of a node are rounded to this many steps, a relative error of at most 1e-9.
const MAX_WEIGHT: f64 = (1_u32 << 31) as f64;

/// Distances over one link.
#[derive(Debug)]
pub struct DistancesOver {
    /// The nodes at its start and end.
    pub ends: (u32, u32),
    length: u64,
    /// Distance of each node to its start, and of its end to each node.
    to_start: Vec<Option<u64>>,
    from_end: Vec<Option<u64>>,
}

impl DistancesOver {
    /// Returns the length of the shortest path from one node to another over the link; `None` without a path.
    pub fn length(&self, from: u32, to: u32) -> Option<u64> {
        let rest = self.to_start[from as usize]?.saturating_add(self.from_end[to as usize]?);
        Some(rest.saturating_add(self.length))
    }
}

/// Returns the length of a link: its delay in whole picoseconds, or its metric in millionths.
pub fn length(link: &LinkSpec) -> u64 {
    let length = match link.metric {
        Some(metric) => metric * 1e6,
        None => link.delay_s * 1e12,
    };
    length.round() as u64
}

impl Router {
    pub fn new(
        nodes: &[String],
        links: &[LinkSpec],
        bundles: &[Bundle],
        weights: EcmpWeights,
    ) -> Router {
        let arcs = links
            .iter()
            .map(|link| ((link.from.0, link.to.0), length(link)));
        let graph = Graph::new(nodes.len(), arcs);
        let mut by_name: Vec<usize> = (0..nodes.len()).collect();
        by_name.sort_by_key(|&node| &nodes[node]);
        let mut place = vec![0; nodes.len()];
        for (i, &node) in by_name.iter().enumerate() {
            place[node] = i;
        }
        let mut circuits: Vec<&str> = links
            .iter()
            .filter_map(|it| it.circuit.as_deref())
            .collect();
        circuits.sort_unstable();
        circuits.dedup();
        let circuit = |link: &LinkSpec| {
            // A link without a circuit has the lowest rank.
            let name = link.circuit.as_deref();
            name.map_or(0, |name| 1 + circuits.partition_point(|it| *it < name))
        };
        let preference = links.iter().map(|link| {
            // Positive floating-point numbers have the same order as their bits.
            let bandwidth = std::cmp::Reverse(link.bandwidth_bps.to_bits());
            let [from, to] = [link.from, link.to].map(|node| place[node.index()]);
            (bandwidth, from, to, circuit(link))
        });
        let preference: Vec<Preference> = preference.collect();
        let ends = |(i, link): (u32, &LinkSpec)| (link.from.0, link.to.0, i);
        let mut by_ends: Vec<_> = (0..).zip(links).map(ends).collect();
        by_ends.sort_unstable_by_key(|&(from, to, link)| {
            let link = link as usize;
            (from, to, length(&links[link]), preference[link])
        });
        Router {
            graph,
            landmarks: OnceLock::new(),
            searches: AtomicUsize::new(0),
            distances_to: Vec::new(),
            preference,
            by_ends,
            weights: match weights {
                EcmpWeights::Equal if bundles.is_empty() => Weights::Equal,
                EcmpWeights::Equal => {
                    let members = (0..).zip(bundles);
                    let members =
                        members.flat_map(|(i, it)| it.members.iter().map(move |&l| (l, i)));
                    Weights::OfBundles(members.collect())
                }
                EcmpWeights::Capacity => {
                    let bandwidths = links.iter().map(|link| link.bandwidth_bps);
                    Weights::Capacity(bandwidths.map(|bps| (bps * 1e3).round() as u64).collect())
                }
            },
        }
    }

    /// Returns whether the weights of next links depend on other links, so that a failure elsewhere can change the path
    /// of a flow.
    pub fn has_weights(&self) -> bool {
        matches!(self.weights, Weights::Capacity(_))
    }

    /// Returns a router for many requests for paths to the same nodes, with different links down.
    pub fn with_distances(self) -> Router {
        let nodes = self.graph.nodes();
        let known = if nodes <= MAX_DISTANCE_NODES {
            nodes
        } else {
            0
        };
        Router {
            distances_to: (0..known).map(|_| OnceLock::new()).collect(),
            ..self
        }
    }

    /// Returns bounds of the distances to a node for its searches.
    fn bounds<'a>(&'a self, to: u32, landmarks: Option<&'a Landmarks>) -> LowerBounds<'a> {
        if let Some(distances) = self.distances_to.get(to as usize) {
            return LowerBounds::Distances(distances.get_or_init(|| {
                let mut search = Search::new(&self.graph);
                let origin = (to, Direction::Backward);
                search.run(&self.graph, origin, TieBreak::EqualCost, &[], &[]);
                let cost = |node| search.cost(node).map_or(UNREACHABLE, |it| it.length);
                (0..self.graph.nodes() as u32).map(cost).collect()
            }));
        }
        landmarks.map_or(LowerBounds::Zero, LowerBounds::Landmarks)
    }

    /// Returns the number of requests with the same start from which one search finds all their paths.
    fn shared_search(&self) -> usize {
        if self.distances_to.is_empty() {
            SHARED_SEARCH
        } else {
            SHARED_SEARCH_WITH_DISTANCES
        }
    }

    /// Returns the links from one node to another, by cost, then by preference.
    pub fn links_between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        let ends = |it: &(u32, u32, u32)| (it.0, it.1);
        let first = self.by_ends.partition_point(|it| ends(it) < (from, to));
        let rest = self.by_ends[first..].iter();
        rest.take_while(move |it| ends(it) == (from, to))
            .map(|it| it.2)
    }

    /// Returns a path for every request, in order; `None` if the nodes are not connected. Links that are
    /// `down` are not used.
    ///
    /// Without a flow, the path with fewer links wins among paths of equal cost. The next criteria are the
    /// bandwidth, compared from the last link backwards, and the names. The result does not depend on the
    /// order of links or on their other settings.
    pub fn paths(&self, requests: &[Request], down: &[bool]) -> Vec<Path> {
        let (mut flows, mut others): (Vec<usize>, Vec<usize>) =
            (0..requests.len()).partition(|&i| requests[i].flow.is_some());
        others.sort_by_key(|&i| (requests[i].from, i));
        let same_start: Vec<&[usize]> = others
            .chunk_by(|&a, &b| requests[a].from == requests[b].from)
            .collect();
        flows.sort_by_key(|&i| (requests[i].to, i));
        let same_end = flows.chunk_by(|&a, &b| requests[a].to == requests[b].to);
        let landmarks = self.landmarks_for(&same_start);
        let from_one = |search: &mut Search, same: &[usize]| -> Vec<Path> {
            let from = requests[same[0]].from;
            let ends = same.iter().map(|&i| requests[i].to);
            if same.len() < self.shared_search() {
                let path = |to| {
                    let (ends, bounds) = ((from, to), self.bounds(to, landmarks));
                    search.run_to(&self.graph, bounds, ends, TieBreak::FewestLinks, down);
                    self.trace_back(search, ends, down)
                };
                return ends.map(path).collect();
            }
            let targets: Vec<u32> = ends.clone().collect();
            let (origin, tie_break) = ((from, Direction::Forward), TieBreak::FewestLinks);
            search.run(&self.graph, origin, tie_break, down, &targets);
            ends.map(|to| self.trace_back(search, (from, to), down))
                .collect()
        };
        let to_one = |search: &mut Search, same: &[usize]| {
            let to = requests[same[0]].to;
            let next = self.next_links(search, to, down);
            let walk = |&i: &usize| self.walk(requests[i].from, to, requests[i].flow?, &next);
            same.iter().map(walk).collect()
        };
        let found = [
            self.of_each(&same_start, from_one),
            self.of_each(&same_end.collect::<Vec<_>>(), to_one),
        ];
        let mut answers = vec![None; requests.len()];
        let places = others.iter().chain(&flows);
        for (&i, path) in places.zip(found.into_iter().flatten().flatten()) {
            answers[i] = path;
        }
        answers
    }

    /// Returns the landmarks if they pay for searches of these groups and the searches before.
    fn landmarks_for(&self, groups: &[&[usize]]) -> Option<&Landmarks> {
        if !self.distances_to.is_empty() {
            return None;
        }
        let searches = groups.iter().map(|it| it.len());
        let searches: usize = searches.filter(|&it| it < SHARED_SEARCH).sum();
        let before = self.searches.fetch_add(searches, Ordering::Relaxed);
        if before + searches < LANDMARK_SEARCHES || self.graph.nodes() < LANDMARK_NODES {
            return self.landmarks.get();
        }
        Some(self.landmarks.get_or_init(|| Landmarks::new(&self.graph)))
    }

    /// Returns the answers for each group of requests, computed in parallel if there is enough work.
    fn of_each<T: Send>(
        &self,
        groups: &[&[usize]],
        find: impl Fn(&mut Search, &[usize]) -> T + Send + Sync,
    ) -> Vec<T> {
        let search = || Search::new(&self.graph);
        if groups.len() * self.graph.links() < PARALLEL_WORK {
            let mut search = search();
            groups.iter().map(|it| find(&mut search, it)).collect()
        } else {
            let groups = groups.par_iter();
            groups
                .map_init(search, |search, it| find(search, it))
                .collect()
        }
    }

    /// Returns the next links of all paths of least cost to a node, whatever their number of links.
    pub fn next_links_to(&self, to: u32, down: &[bool]) -> NextLinks {
        self.next_links(&mut Search::new(&self.graph), to, down)
    }

    fn next_links(&self, search: &mut Search, to: u32, down: &[bool]) -> NextLinks {
        let (origin, tie_break) = ((to, Direction::Backward), TieBreak::EqualCost);
        search.run(&self.graph, origin, tie_break, down, &[]);
        let mut all = NextLinks::default();
        for node in 0..self.graph.nodes() as u32 {
            let links = search.next_links(&self.graph, node, tie_break, down);
            let mut links: Vec<u32> = links.collect();
            links.sort_by_key(|&link| self.preference[link as usize]);
            all.push_row(links.into_iter().map(|link| NextLink { link, weight: 1 }));
        }
        match &self.weights {
            Weights::Equal => all,
            Weights::OfBundles(bundle_of) => weighted(&all, |links| {
                let bundle = |it: &NextLink| bundle_of.get(&it.link);
                let members = |it: &NextLink| match bundle(it) {
                    None => 1,
                    own => links.iter().filter(|other| bundle(other) == own).count(),
                };
                links.iter().map(|it| 1.0 / members(it) as f64).collect()
            }),
            Weights::Capacity(capacities) => {
                let weights = self.capacity_weights(&all, search, to, capacities);
                weighted(&all, |links| {
                    links.iter().map(|it| weights[it.link as usize]).collect()
                })
            }
        }
    }

    /// Returns the [weight by capacity](EcmpWeights::Capacity) of each next link, in the order of links.
    fn capacity_weights(
        &self,
        next: &NextLinks,
        search: &Search,
        to: u32,
        capacities: &[u64],
    ) -> Vec<f64> {
        let nodes = self.graph.nodes();
        let capacity = |it: &NextLink| capacities[it.link as usize];
        // Integer sums do not depend on the order of nodes.
        let mut incoming = vec![0_u128; nodes];
        for it in (0..nodes).flat_map(|node| next.row(node)) {
            incoming[self.end_node(it.link) as usize] += u128::from(capacity(it));
        }
        let mut order: Vec<u32> = (0..nodes as u32).filter(|&node| node != to).collect();
        order.sort_by_key(|&node| search.cost(node));
        // Part of the incoming bandwidth that a node forwards.
        let mut forwarded = vec![1.0; nodes];
        let mut weights = vec![0.0; capacities.len()];
        for node in order {
            let mut outgoing = 0.0;
            for it in next.row(node as usize) {
                let weight = capacity(it) as f64 * forwarded[self.end_node(it.link) as usize];
                weights[it.link as usize] = weight;
                outgoing += weight;
            }
            let incoming = incoming[node as usize] as f64;
            if outgoing < incoming {
                forwarded[node as usize] = outgoing / incoming;
            }
        }
        weights
    }

    /// Returns the distances over a link of this length.
    pub fn distances_over(&self, link: u32, length: u64, down: &[bool]) -> DistancesOver {
        let mut search = Search::new(&self.graph);
        let mut distances = |origin| {
            search.run(&self.graph, origin, TieBreak::EqualCost, down, &[]);
            let nodes = 0..self.graph.nodes() as u32;
            nodes
                .map(|node| search.cost(node).map(|it| it.length))
                .collect()
        };
        let ends = self.graph.ends(link);
        DistancesOver {
            ends,
            length,
            to_start: distances((ends.0, Direction::Backward)),
            from_end: distances((ends.1, Direction::Forward)),
        }
    }

    /// Returns the path that a flow takes.
    pub fn walk(&self, from: u32, to: u32, flow: FlowHash, next: &NextLinks) -> Option<Vec<u32>> {
        let (mut at, mut left, mut path) = (from, flow, Vec::new());
        while at != to {
            let link = left.choose(next.row(at as usize))?;
            path.push(link);
            at = self.end_node(link);
        }
        Some(path)
    }

    /// Returns the number of these flows whose path contains a node with several next links.
    pub fn count_with_choices(&self, flows: &mut [(Request, &[u32])], down: &[bool]) -> usize {
        flows.sort_by_key(|(request, _)| request.to);
        let mut search = Search::new(&self.graph);
        let mut found = 0;
        for same_end in flows.chunk_by(|a, b| a.0.to == b.0.to) {
            let next = self.next_links(&mut search, same_end[0].0.to, down);
            let has_choice = |&link: &u32| next.row(self.graph.ends(link).0 as usize).len() > 1;
            let paths = same_end.iter().map(|(_, path)| path);
            found += paths.filter(|path| path.iter().any(has_choice)).count();
        }
        found
    }

    /// Returns for each pair of nodes whether there are several paths of least cost.
    pub fn have_several_paths(&self, pairs: &[(u32, u32)], down: &[bool]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by_key(|&i| (pairs[i].0, i));
        let same_start: Vec<&[usize]> = order.chunk_by(|&a, &b| pairs[a].0 == pairs[b].0).collect();
        let landmarks = self.landmarks_for(&same_start);
        let tie_break = TieBreak::EqualCost;
        let find = |search: &mut Search, same: &[usize]| -> Vec<bool> {
            let from = pairs[same[0]].0;
            let is_shared = same.len() >= self.shared_search();
            if is_shared {
                let targets: Vec<u32> = same.iter().map(|&i| pairs[i].1).collect();
                let origin = (from, Direction::Forward);
                search.run(&self.graph, origin, tie_break, down, &targets);
            }
            let has_several = |&i: &usize| {
                if !is_shared {
                    let bounds = self.bounds(pairs[i].1, landmarks);
                    search.run_to(&self.graph, bounds, pairs[i], tie_break, down);
                }
                self.has_several_last_links(search, pairs[i], down)
            };
            same.iter().map(has_several).collect()
        };
        let found = self.of_each(&same_start, find).into_iter().flatten();
        let mut answers = vec![false; pairs.len()];
        for (&i, has_several) in order.iter().zip(found) {
            answers[i] = has_several;
        }
        answers
    }

    /// Returns whether a node on the path that a search found has several last links.
    fn has_several_last_links(
        &self,
        search: &Search,
        (from, to): (u32, u32),
        down: &[bool],
    ) -> bool {
        let mut at = to;
        while at != from {
            let mut last = search.last_links(&self.graph, from, at, TieBreak::EqualCost, down);
            let Some(link) = last.next() else {
                return false;
            };
            if last.next().is_some() {
                return true;
            }
            at = self.graph.ends(link).0;
        }
        false
    }

    /// Returns the end node of a link.
    pub fn end_node(&self, link: u32) -> u32 {
        self.graph.ends(link).1
    }

    /// Returns the best path that a search found, traced back from its end.
    fn trace_back(&self, search: &Search, (from, to): (u32, u32), down: &[bool]) -> Path {
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let last = search.last_links(&self.graph, from, at, TieBreak::FewestLinks, down);
            let link = last.min_by_key(|&link| self.preference[link as usize])?;
            path.push(link);
            at = self.graph.ends(link).0;
        }
        path.reverse();
        Some(path)
    }
}

/// Returns these next links with the weights that a function returns for those of a node.
fn weighted(next: &NextLinks, weights: impl Fn(&[NextLink]) -> Vec<f64>) -> NextLinks {
    let mut all = NextLinks::default();
    for row in 0..next.rows() {
        let links = next.row(row);
        let weights = weights(links);
        let most = weights.iter().copied().fold(0.0, f64::max);
        let whole = |weight: f64| (weight / most * MAX_WEIGHT).round().max(1.0) as u32;
        let whole: Vec<u32> = weights.into_iter().map(whole).collect();
        let are_equal = whole.windows(2).all(|pair| pair[0] == pair[1]);
        all.push_row(links.iter().zip(whole).map(|(it, weight)| NextLink {
            weight: if are_equal { 1 } else { weight },
            ..*it
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use petgraph::algo::dijkstra;
    use petgraph::graph::{DiGraph, NodeIndex};
    use petgraph::visit::EdgeRef;
    use proptest::prelude::*;

    use super::*;
    use crate::NodeId;
    use crate::ids::Owner;

    fn router(nodes: u32, links: &[(u32, u32, u32)]) -> (Router, Vec<LinkSpec>) {
        let names: Vec<String> = (0..nodes).map(|i| format!("n{i}")).collect();
        let owner = Owner::new();
        let node = |i: u32| NodeId::new(i % nodes, owner);
        let links = links.iter().map(|&(from, to, metric)| LinkSpec {
            metric: Some(f64::from(metric)),
            ..LinkSpec::new(node(from), node(to), 1e6 * f64::from(1 + metric % 2))
        });
        let links: Vec<LinkSpec> = links.collect();
        (Router::new(&names, &links, &[], EcmpWeights::Equal), links)
    }

    /// Best path by petgraph's Dijkstra over the working links, and whether there are several of equal length.
    fn reference(
        router: &Router,
        links: &[LinkSpec],
        down: &[bool],
        (from, to): (u32, u32),
    ) -> (Path, bool) {
        let mut graph: DiGraph<(), u32> = DiGraph::new();
        (0..router.graph.nodes()).for_each(|_| {
            graph.add_node(());
        });
        for (i, link) in (0..).zip(links).filter(|(i, _)| !down[*i as usize]) {
            graph.add_edge(link.from.0.into(), link.to.0.into(), i);
        }
        let length = |link: u32| length(&links[link as usize]);
        let least = |counts: fn(u64) -> u64| {
            // Lengths are multiples of a million, so counts of links do not reach the next one.
            let cost = |link| length(link) + counts(length(link));
            let found = dijkstra(&graph, from.into(), None, |e| cost(*e.weight()));
            let tight = |node: NodeIndex, out: &mut Vec<u32>| {
                let incoming = graph.edges_directed(node, petgraph::Direction::Incoming);
                out.extend(incoming.map(|e| (e, *e.weight())).filter_map(|(e, link)| {
                    let before = found.get(&e.source())?;
                    (before + cost(link) == found[&node]).then_some(link)
                }));
            };
            let (mut at, mut path, mut several) = (NodeIndex::from(to), Vec::new(), false);
            while at.index() as u32 != from && found.contains_key(&at) {
                let mut last = Vec::new();
                tight(at, &mut last);
                several |= last.len() > 1;
                last.sort_by_key(|&link| router.preference[link as usize]);
                path.push(last[0]);
                at = links[last[0] as usize].from.0.into();
            }
            path.reverse();
            let is_reached = found.contains_key(&NodeIndex::from(to));
            (is_reached.then_some(path), several)
        };
        (least(|_| 1).0, least(|length| u64::from(length == 0)).1)
    }

    proptest! {
        /// Paths by A*, by A* with landmarks or distances, and by one search for all targets equal those of petgraph.
        #[test]
        fn paths_equal_those_of_another_implementation(
            nodes in 2_u32..14,
            links in prop::collection::vec((0_u32..14, 0_u32..14, 0_u32..4), 1..40),
            both_ways in any::<bool>(),
            down in prop::collection::vec(prop::bool::weighted(0.1), 80),
            bounds in 0_u32..3,
        ) {
            let links = links.into_iter().map(|(a, b, metric)| (a % nodes, b % nodes, metric));
            let links = links.filter(|(a, b, _)| a != b);
            let links = links.flat_map(|(a, b, metric)| {
                let back = both_ways.then_some((b, a, metric));
                [(a, b, metric)].into_iter().chain(back)
            });
            // Parallel links of a network differ in preference.
            let links: BTreeSet<_> = links.collect();
            let links: Vec<_> = links.into_iter().collect();
            let (router, links) = router(nodes, &links);
            let down = &down[..links.len()];
            if bounds == 1 {
                router.landmarks.get_or_init(|| Landmarks::new(&router.graph));
            }
            let router = if bounds == 2 { router.with_distances() } else { router };
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
            let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
            let request = |&(from, to): &(u32, u32)| Request { from, to, flow: None };
            let requests: Vec<Request> = pairs.iter().map(request).collect();
            let together = router.paths(&requests, down);
            let several = router.have_several_paths(&pairs, down);
            for (i, &pair) in pairs.iter().enumerate() {
                let (path, has_several) = reference(&router, &links, down, pair);
                prop_assert_eq!(&together[i], &path, "{:?}", pair);
                prop_assert_eq!(&router.paths(&[requests[i]], down)[0], &path, "{:?}", pair);
                prop_assert_eq!(several[i], has_several, "{:?}", pair);
                prop_assert_eq!(router.have_several_paths(&[pair], down)[0], has_several);
            }
        }
    }

    /// With enough requests for multithreading and landmarks, each result equals that of a single request, at the same
    /// index.
    #[test]
    fn all_paths_together_are_those_of_each_alone() {
        let nodes = 300;
        // Equal costs make flows choose.
        let link = |i: u32| (i, i * 7 + i / nodes + 1, 1 + i % 3);
        let links: Vec<_> = (0..900).map(link).collect();
        let (router, links) = self::router(nodes, &links);
        let mut down = vec![false; links.len()];
        down[3] = true;
        let request = |i: u32| Request {
            from: (i * 11) % nodes,
            to: (i * 17 + 5) % nodes,
            flow: i
                .is_multiple_of(2)
                .then(|| FlowHash(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        };
        let requests: Vec<Request> = (0..1100).map(request).collect();
        let alone = |request| {
            router.searches.store(0, Ordering::Relaxed);
            router.paths(&[request], &down).remove(0)
        };
        let alone: Vec<Path> = requests.iter().copied().map(alone).collect();
        assert!(nodes as usize * links.len() >= PARALLEL_WORK && router.landmarks.get().is_none());
        let together = router.paths(&requests, &down);
        assert!(router.landmarks.get().is_some());
        assert!(together.iter().flatten().count() > 700);
        assert_eq!(together, alone);
    }
}
