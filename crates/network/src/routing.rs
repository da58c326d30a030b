//! Shortest paths by delay, or by metric where links have one.

use std::ops::Add;

use petgraph::Direction;
use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef, Reversed};
use rayon::prelude::*;

use crate::{FlowHash, LinkSpec};

/// To look at so many links takes far longer than to wake threads.
const MUCH: usize = 1 << 17;

/// Delay in whole picoseconds, or metrics in millionths, then hops: equal sums are then equal whatever the order
/// of summation, and the path with fewer links wins among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(u64, u32);

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0), self.1 + other.1)
    }
}

/// The links as a graph in which paths are looked for.
#[derive(Debug)]
pub struct Router {
    graph: DiGraph<(), u32, u32>,
    cost: Vec<Cost>,
    /// Among paths of one cost, the smaller of the last link decides: the greater bandwidth, then the names of
    /// its ends, then its circuit.
    preference: Vec<Preference>,
    /// All links with their ends; of those between the same nodes the preferred first.
    by_ends: Vec<(u32, u32, u32)>,
}

/// The bandwidth, and places of the ends and of the circuit among all names.
type Preference = (std::cmp::Reverse<u64>, usize, usize, usize);

/// The links of a path; `None` where there is no way.
type Path = Option<Vec<u32>>;

/// A path that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub from: u32,
    pub to: u32,
    /// Which of those of equal cost; `None`: the preferred.
    pub flow: Option<FlowHash>,
}

/// Of every node the links that begin a path of least cost to one node, the preferred first.
#[derive(Clone, Debug, Default)]
pub struct NextLinks {
    /// Where those of each node begin.
    first: Vec<u32>,
    links: Vec<u32>,
}

impl NextLinks {
    /// Those of one node.
    pub fn of(&self, node: u32) -> &[u32] {
        let ends = self.first.get(node as usize..).and_then(|it| it.get(..2));
        ends.map_or(&[], |ends| &self.links[ends[0] as usize..ends[1] as usize])
    }

    /// How many numbers they are.
    pub fn size(&self) -> usize {
        self.first.len() + self.links.len()
    }
}

/// The best paths from one node.
struct Tree {
    from: NodeIndex<u32>,
    cost: Vec<Option<Cost>>,
    /// Of nodes that somebody has gone to: the last link on the way there.
    into: Vec<Option<u32>>,
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
            // One without a name comes first.
            let name = link.circuit.as_deref();
            name.map_or(0, |name| 1 + circuits.partition_point(|it| *it < name))
        };
        let preference = links.iter().map(|link| {
            // Positive numbers are in the order of their bits.
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

    /// The links from one node to another: of least cost first, then the preferred.
    pub fn between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        let ends = |it: &(u32, u32, u32)| (it.0, it.1);
        let first = self.by_ends.partition_point(|it| ends(it) < (from, to));
        let rest = self.by_ends[first..].iter();
        rest.take_while(move |it| ends(it) == (from, to))
            .map(|it| it.2)
    }

    /// A path for every request, in order; `None` where there is no way. Links that are `down`
    /// are not used. Without a flow, among paths of equal cost the shorter wins, then the one that arrives
    /// over the links of greater bandwidth, then names decide: the order in which links were added makes no
    /// difference, nor does what else is set at them.
    pub fn paths(&self, requests: &[Request], down: &[bool]) -> Vec<Path> {
        let (mut flows, mut others): (Vec<usize>, Vec<usize>) =
            (0..requests.len()).partition(|&i| requests[i].flow.is_some());
        others.sort_by_key(|&i| (requests[i].from, i));
        let same_start = others.chunk_by(|&a, &b| requests[a].from == requests[b].from);
        flows.sort_by_key(|&i| (requests[i].to, i));
        let same_end = flows.chunk_by(|&a, &b| requests[a].to == requests[b].to);
        // One tree at a time, or one for each thread: all of them would not fit for large networks.
        let from_one = |same: &&[usize]| {
            let from = requests[same[0]].from;
            let mut tree = Tree {
                from: from.into(),
                cost: self.costs(from, down),
                into: vec![None; self.graph.node_count()],
            };
            let ends = same.iter().map(|&i| requests[i].to);
            ends.map(|to| self.walk_back(&mut tree, to, down)).collect()
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

    /// What is found of each of some groups of requests, by all threads if it is much work.
    fn of_each<'a>(
        &self,
        groups: Vec<&'a [usize]>,
        find: impl Fn(&&'a [usize]) -> Vec<Path> + Send + Sync,
    ) -> Vec<Vec<Path>> {
        match groups.len() * self.graph.edge_count() < MUCH {
            true => groups.iter().map(find).collect(),
            false => groups.par_iter().map(find).collect(),
        }
    }

    /// Where all paths of least cost to a node go, however many links they have.
    pub fn next_links(&self, to: u32, down: &[bool]) -> NextLinks {
        let works = EdgeFiltered::from_fn(&self.graph, |e| !down[*e.weight() as usize]);
        let reached = dijkstra(Reversed(&works), to.into(), None, |e| {
            self.length(*e.weight())
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
                let rest = cost[e.target().index()].map(|rest| rest + self.length(link));
                !down[link as usize] && rest.is_some() && rest == cost[v.index()]
            });
            let begin = all.links.len();
            all.links.extend(tight.map(|e| *e.weight()));
            all.links[begin..].sort_by_key(|&link| self.preference[link as usize]);
            all.first.push(all.links.len() as u32);
        }
        all
    }

    /// What a link costs where paths need not have few links: those without length are counted all the same, so
    /// that no path goes round in a circle.
    fn length(&self, link: u32) -> Cost {
        let Cost(length, hops) = self.cost[link as usize];
        Cost(length, if length == 0 { hops } else { 0 })
    }

    /// The path that a flow takes.
    pub fn walk(&self, from: u32, to: u32, flow: FlowHash, next: &NextLinks) -> Option<Vec<u32>> {
        let (mut at, mut left, mut path) = (from, flow, Vec::new());
        while at != to {
            let links = next.of(at);
            let link = *links.get(left.choose(links.len()))?;
            path.push(link);
            at = self.end(link)?;
        }
        Some(path)
    }

    /// How many of these flows' paths have a node with several links to choose from.
    pub fn with_choices(&self, flows: &mut [(Request, &[u32])], down: &[bool]) -> usize {
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

    /// Where a link ends.
    pub fn end(&self, link: u32) -> Option<u32> {
        let (_, end) = self.graph.edge_endpoints(link.into())?;
        Some(end.index() as u32)
    }

    /// What the best paths from a node cost, to every node that there is one to.
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

    /// The last link of the best path to a node.
    fn best_into(&self, tree: &Tree, to: NodeIndex<u32>, down: &[bool]) -> Option<u32> {
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

    /// The best path to a node, from there on.
    fn walk_back(&self, tree: &mut Tree, to: u32, down: &[bool]) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut at = NodeIndex::from(to);
        while at != tree.from {
            let link = match tree.into[at.index()] {
                Some(link) => link,
                None => self.best_into(tree, at, down)?,
            };
            tree.into[at.index()] = Some(link);
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

    /// So many requests that all threads look for paths: each is what it is alone, and stands where it was asked for.
    #[test]
    fn all_paths_together_are_those_of_each_alone() {
        let (nodes, links) = (200_u32, 900_u32);
        let names: Vec<String> = (0..nodes).map(|i| format!("n{i}")).collect();
        let owner = Owner::new();
        let node = |i: u32| NodeId::new(i % nodes, owner);
        let link = |i: u32| LinkSpec {
            // Some cost the same, so that flows choose.
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
        assert!(2 * nodes as usize * links.len() >= MUCH);
        assert!(together.iter().flatten().count() > 2000);
        for (path, request) in together.iter().zip(&requests) {
            assert_eq!(*path, router.paths(&[*request], &down)[0]);
        }
    }
}
