//! Shortest-path routing by delay or by metric (Dijkstra), with equal-cost next links.

use std::ops::Add;

use petgraph::Direction;
use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef, Reversed};
use rayon::prelude::*;

use crate::{FlowHash, LinkSpec};

/// Work above which multithreading pays, in groups of requests times links.
const PARALLEL_WORK: usize = 1 << 17;

/// Delay in whole picoseconds, or metric in millionths, then the number of links. Integer sums do not depend
/// on the order of summation; among equal lengths the path with fewer links wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(u64, u32);

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0), self.1 + other.1)
    }
}

/// Graph of the links, on which paths are computed.
#[derive(Debug)]
pub struct Router {
    graph: DiGraph<(), u32, u32>,
    cost: Vec<Cost>,
    /// Rank of each link: among paths of equal cost, the last link of the lowest rank wins. The rank is by
    /// higher bandwidth, then the names of its ends, then its circuit.
    preference: Vec<Preference>,
    /// All links with their ends; parallel links in order of preference.
    by_ends: Vec<(u32, u32, u32)>,
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

/// Next links of every node on paths of least cost to one node, in order of preference (compressed rows).
#[derive(Clone, Debug, Default)]
pub struct NextLinks {
    /// Index of each node's first link.
    first: Vec<u32>,
    links: Vec<u32>,
}

impl NextLinks {
    /// Returns the next links of one node.
    pub fn of(&self, node: u32) -> &[u32] {
        let ends = self.first.get(node as usize..).and_then(|it| it.get(..2));
        ends.map_or(&[], |ends| &self.links[ends[0] as usize..ends[1] as usize])
    }

    /// Returns the number of entries.
    pub fn size(&self) -> usize {
        self.first.len() + self.links.len()
    }
}

/// Shortest-path tree from one node, built on demand.
struct ShortestPathTree {
    from: NodeIndex<u32>,
    cost: Vec<Option<Cost>>,
    /// Last link of the path to each node that was visited.
    incoming_link: Vec<Option<u32>>,
}

impl Router {
    pub fn new(nodes: &[String], links: &[LinkSpec]) -> Router {
        let mut graph = DiGraph::with_capacity(nodes.len(), links.len());
        for _ in nodes {
            graph.add_node(());
        }
        for (i, link) in links.iter().enumerate() {
            let ends = (link.from.0.into(), link.to.0.into());
            graph.add_edge(ends.0, ends.1, i as u32);
        }
        let cost = links.iter().map(|link| {
            let length = match link.metric {
                Some(metric) => metric * 1e6,
                None => link.delay_s * 1e12,
            };
            Cost(length.round() as u64, 1)
        });
        let cost: Vec<Cost> = cost.collect();
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
            (from, to, cost[link], preference[link])
        });
        Router {
            preference,
            by_ends,
            graph,
            cost,
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
        let same_start = others.chunk_by(|&a, &b| requests[a].from == requests[b].from);
        flows.sort_by_key(|&i| (requests[i].to, i));
        let same_end = flows.chunk_by(|&a, &b| requests[a].to == requests[b].to);
        // One tree at a time per thread, because all trees would not fit into memory for large networks.
        let from_one = |same: &&[usize]| {
            let from = requests[same[0]].from;
            let mut tree = ShortestPathTree {
                from: from.into(),
                cost: self.costs(from, down),
                incoming_link: vec![None; self.graph.node_count()],
            };
            let ends = same.iter().map(|&i| requests[i].to);
            ends.map(|to| self.trace_back(&mut tree, to, down))
                .collect()
        };
        let to_one = |same: &&[usize]| {
            let to = requests[same[0]].to;
            let next = self.next_links(to, down);
            let walk = |&i: &usize| self.walk(requests[i].from, to, requests[i].flow?, &next);
            same.iter().map(walk).collect()
        };
        let found = [
            self.of_each(same_start.collect(), from_one),
            self.of_each(same_end.collect(), to_one),
        ];
        let mut answers = vec![None; requests.len()];
        let places = others.into_iter().chain(flows);
        for (i, path) in places.zip(found.into_iter().flatten().flatten()) {
            answers[i] = path;
        }
        answers
    }

    /// Returns the paths of each group of requests, computed in parallel if there is enough work.
    fn of_each<'a>(
        &self,
        groups: Vec<&'a [usize]>,
        find: impl Fn(&&'a [usize]) -> Vec<Path> + Send + Sync,
    ) -> Vec<Vec<Path>> {
        if groups.len() * self.graph.edge_count() < PARALLEL_WORK {
            groups.iter().map(find).collect()
        } else {
            groups.par_iter().map(find).collect()
        }
    }

    /// Returns the next links of all paths of least cost to a node, whatever their number of links.
    pub fn next_links(&self, to: u32, down: &[bool]) -> NextLinks {
        let works = EdgeFiltered::from_fn(&self.graph, |e| !down[*e.weight() as usize]);
        let reached = dijkstra(Reversed(&works), to.into(), None, |e| {
            self.link_cost(*e.weight())
        });
        let mut cost = vec![None; self.graph.node_count()];
        for (node, c) in reached {
            cost[node.index()] = Some(c);
        }
        let mut all = NextLinks::default();
        all.first.push(0);
        for v in self.graph.node_indices() {
            let outgoing = self.graph.edges_directed(v, Direction::Outgoing);
            let tight = outgoing.filter(|e| {
                let link = *e.weight();
                let rest = cost[e.target().index()].map(|rest| rest + self.link_cost(link));
                !down[link as usize] && rest.is_some() && rest == cost[v.index()]
            });
            let begin = all.links.len();
            all.links.extend(tight.map(|e| *e.weight()));
            all.links[begin..].sort_by_key(|&link| self.preference[link as usize]);
            all.first.push(all.links.len() as u32);
        }
        all
    }

    /// Returns the cost of a link without counting links. A link of length 0 counts as one link, so that
    /// paths have no loops.
    fn link_cost(&self, link: u32) -> Cost {
        let Cost(length, hops) = self.cost[link as usize];
        Cost(length, if length == 0 { hops } else { 0 })
    }

    /// Returns the path that a flow takes.
    pub fn walk(&self, from: u32, to: u32, flow: FlowHash, next: &NextLinks) -> Option<Vec<u32>> {
        let (mut at, mut left, mut path) = (from, flow, Vec::new());
        while at != to {
            let links = next.of(at);
            let link = *links.get(left.choose(links.len()))?;
            path.push(link);
            at = self.end_node(link)?;
        }
        Some(path)
    }

    /// Returns the number of these flows whose path contains a node with several next links.
    pub fn count_with_choices(&self, flows: &mut [(Request, &[u32])], down: &[bool]) -> usize {
        flows.sort_by_key(|(request, _)| request.to);
        let mut found = 0;
        for same_end in flows.chunk_by(|a, b| a.0.to == b.0.to) {
            let next = self.next_links(same_end[0].0.to, down);
            let has_choice = |link: &u32| {
                let ends = self.graph.edge_endpoints((*link).into());
                ends.is_some_and(|(begin, _)| next.of(begin.index() as u32).len() > 1)
            };
            let paths = same_end.iter().map(|(_, path)| path);
            found += paths.filter(|path| path.iter().any(has_choice)).count();
        }
        found
    }

    /// Returns the end node of a link.
    pub fn end_node(&self, link: u32) -> Option<u32> {
        let (_, end) = self.graph.edge_endpoints(link.into())?;
        Some(end.index() as u32)
    }

    /// Returns the cost of the best path from a node to every reachable node.
    fn costs(&self, from: u32, down: &[bool]) -> Vec<Option<Cost>> {
        let works = EdgeFiltered::from_fn(&self.graph, |e| !down[*e.weight() as usize]);
        let reached = dijkstra(&works, from.into(), None, |e| {
            self.cost[*e.weight() as usize]
        });
        let mut cost = vec![None; self.graph.node_count()];
        for (node, c) in reached {
            cost[node.index()] = Some(c);
        }
        cost
    }

    /// Returns the last link of the best path to a node.
    fn best_incoming_link(
        &self,
        tree: &ShortestPathTree,
        to: NodeIndex<u32>,
        down: &[bool],
    ) -> Option<u32> {
        let best = tree.cost[to.index()]?;
        let incoming = self.graph.edges_directed(to, Direction::Incoming);
        let tight = incoming.filter(|e| {
            let link = *e.weight() as usize;
            let before = tree.cost[e.source().index()];
            !down[link] && before.is_some_and(|before| before + self.cost[link] == best)
        });
        let links = tight.map(|e| *e.weight());
        links.min_by_key(|&link| self.preference[link as usize])
    }

    /// Returns the best path to a node, traced back from its end.
    fn trace_back(&self, tree: &mut ShortestPathTree, to: u32, down: &[bool]) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut at = NodeIndex::from(to);
        while at != tree.from {
            let link = match tree.incoming_link[at.index()] {
                Some(link) => link,
                None => self.best_incoming_link(tree, at, down)?,
            };
            tree.incoming_link[at.index()] = Some(link);
            path.push(link);
            (at, _) = self.graph.edge_endpoints(link.into())?;
        }
        path.reverse();
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::ids::Owner;

    /// With enough requests for multithreading, each result equals that of a single request, at the same
    /// index.
    #[test]
    fn all_paths_together_are_those_of_each_alone() {
        let (nodes, links) = (200_u32, 900_u32);
        let names: Vec<String> = (0..nodes).map(|i| format!("n{i}")).collect();
        let owner = Owner::new();
        let node = |i: u32| NodeId::new(i % nodes, owner);
        let link = |i: u32| LinkSpec {
            // Equal costs make flows choose.
            metric: Some(f64::from(1 + i % 3)),
            ..LinkSpec::new(node(i), node(i * 7 + i / nodes + 1), 1e6)
        };
        let links: Vec<LinkSpec> = (0..links).map(link).collect();
        let router = Router::new(&names, &links);
        let mut down = vec![false; links.len()];
        down[3] = true;
        let request = |i: u32| Request {
            from: (i * 11) % nodes,
            to: (i * 17 + 5) % nodes,
            flow: i
                .is_multiple_of(2)
                .then(|| FlowHash(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        };
        let requests: Vec<Request> = (0..3000).map(request).collect();
        let together = router.paths(&requests, &down);
        assert!(2 * nodes as usize * links.len() >= PARALLEL_WORK);
        assert!(together.iter().flatten().count() > 2000);
        for (path, request) in together.iter().zip(&requests) {
            assert_eq!(*path, router.paths(&[*request], &down)[0]);
        }
    }
}
