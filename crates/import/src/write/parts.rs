//! Reachability and components of a network.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::visit::Bfs;

use crate::Topology;

/// The components of a network.
pub(super) struct Parts {
    graph: DiGraph<(), ()>,
    /// Strongly connected component of each node (Kosaraju's algorithm).
    both_ways: Vec<usize>,
    /// Sizes of the weakly connected components in descending order, without isolated nodes.
    pub(super) sizes: Vec<usize>,
    /// Isolated nodes.
    pub(super) alone: Vec<usize>,
}

impl Parts {
    pub(super) fn of(topology: &Topology) -> Parts {
        let count = topology.nodes.len();
        let mut graph = DiGraph::with_capacity(count, 2 * topology.links.len());
        let nodes: Vec<NodeIndex> = (0..count).map(|_| graph.add_node(())).collect();
        let mut joined = UnionFind::new(count);
        let mut has_link = vec![false; count];
        for link in &topology.links {
            graph.add_edge(nodes[link.from], nodes[link.to], ());
            if !link.directed {
                graph.add_edge(nodes[link.to], nodes[link.from], ());
            }
            joined.union(link.from, link.to);
            has_link[link.from] = true;
            has_link[link.to] = true;
        }
        let mut both_ways = vec![0; count];
        for (number, part) in kosaraju_scc(&graph).into_iter().enumerate() {
            for node in part {
                both_ways[node.index()] = number;
            }
        }
        let mut size_of = vec![0_usize; count];
        for node in (0..count).filter(|&node| has_link[node]) {
            size_of[joined.find(node)] += 1;
        }
        let mut sizes: Vec<usize> = size_of.into_iter().filter(|&size| size > 0).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let alone = (0..count).filter(|&node| !has_link[node]).collect();
        Parts {
            graph,
            both_ways,
            sizes,
            alone,
        }
    }

    /// Returns, for every pair, whether the first node reaches the second.
    pub(super) fn lead(&self, pairs: &[(usize, usize)]) -> Vec<bool> {
        let mut lead: Vec<bool> = pairs
            .iter()
            .map(|&(from, to)| self.reach(from, to))
            .collect();
        let mut open: Vec<usize> = (0..pairs.len()).filter(|&pair| !lead[pair]).collect();
        open.sort_by_key(|&pair| pairs[pair].0);
        for same in open.chunk_by(|&a, &b| pairs[a].0 == pairs[b].0) {
            let mut reached = vec![false; self.both_ways.len()];
            let mut search = Bfs::new(&self.graph, NodeIndex::new(pairs[same[0]].0));
            while let Some(node) = search.next(&self.graph) {
                reached[node.index()] = true;
            }
            for &pair in same {
                lead[pair] = reached[pairs[pair].1];
            }
        }
        lead
    }

    /// Returns whether two nodes reach each other.
    pub(super) fn reach(&self, from: usize, to: usize) -> bool {
        self.both_ways[from] == self.both_ways[to]
    }

    /// Returns two distant nodes of the largest strongly connected component: its first node, and the
    /// last node that a breadth-first search from there finds.
    pub(super) fn far_pair(&self) -> Option<(usize, usize)> {
        let mut size_of = vec![0_usize; self.both_ways.len()];
        for &part in &self.both_ways {
            size_of[part] += 1;
        }
        let most = size_of.iter().copied().max().filter(|&most| most > 1)?;
        let first = self
            .both_ways
            .iter()
            .position(|&part| size_of[part] == most)?;
        let mut search = Bfs::new(&self.graph, NodeIndex::new(first));
        let mut last = first;
        while let Some(node) = search.next(&self.graph) {
            if self.reach(first, node.index()) {
                last = node.index();
            }
        }
        Some((first, last))
    }
}
