//! Reachability and components of a network.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::visit::Bfs;

use crate::Topology;

/// The components of a network.
pub(super) struct Components {
    graph: DiGraph<(), ()>,
    /// Strongly connected component of each node (Kosaraju's algorithm).
    strong_component: Vec<usize>,
    /// Sizes of the weakly connected components in descending order, without isolated nodes.
    pub(super) sizes: Vec<usize>,
    /// Isolated nodes.
    pub(super) isolated: Vec<usize>,
}

impl Components {
    pub(super) fn of(topology: &Topology) -> Components {
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
        let mut strong_component = vec![0; count];
        for (number, part) in kosaraju_scc(&graph).into_iter().enumerate() {
            for node in part {
                strong_component[node.index()] = number;
            }
        }
        let mut size_of = vec![0_usize; count];
        for node in (0..count).filter(|&node| has_link[node]) {
            size_of[joined.find(node)] += 1;
        }
        let mut sizes: Vec<usize> = size_of.into_iter().filter(|&size| size > 0).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let isolated = (0..count).filter(|&node| !has_link[node]).collect();
        Components {
            graph,
            strong_component,
            sizes,
            isolated,
        }
    }

    /// Returns, for every pair, whether the first node reaches the second.
    pub(super) fn reachable_pairs(&self, pairs: &[(usize, usize)]) -> Vec<bool> {
        let mut reachable: Vec<bool> = pairs
            .iter()
            .map(|&(from, to)| self.strongly_connected(from, to))
            .collect();
        let mut open: Vec<usize> = (0..pairs.len()).filter(|&pair| !reachable[pair]).collect();
        open.sort_by_key(|&pair| pairs[pair].0);
        for same in open.chunk_by(|&a, &b| pairs[a].0 == pairs[b].0) {
            let mut reached = vec![false; self.strong_component.len()];
            let mut search = Bfs::new(&self.graph, NodeIndex::new(pairs[same[0]].0));
            while let Some(node) = search.next(&self.graph) {
                reached[node.index()] = true;
            }
            for &pair in same {
                reachable[pair] = reached[pairs[pair].1];
            }
        }
        reachable
    }

    /// Returns whether two nodes reach each other.
    pub(super) fn strongly_connected(&self, from: usize, to: usize) -> bool {
        self.strong_component[from] == self.strong_component[to]
    }

    /// Returns two distant nodes of the largest strongly connected component: its first node, and the
    /// last node that a breadth-first search from there finds.
    pub(super) fn distant_pair(&self) -> Option<(usize, usize)> {
        let mut size_of = vec![0_usize; self.strong_component.len()];
        for &part in &self.strong_component {
            size_of[part] += 1;
        }
        let most = size_of.iter().copied().max().filter(|&most| most > 1)?;
        let first = self
            .strong_component
            .iter()
            .position(|&part| size_of[part] == most)?;
        let mut search = Bfs::new(&self.graph, NodeIndex::new(first));
        let mut last = first;
        while let Some(node) = search.next(&self.graph) {
            if self.strongly_connected(first, node.index()) {
                last = node.index();
            }
        }
        Some((first, last))
    }
}
