//! Directed graph of arcs with shortest-path trees by Dijkstra's algorithm, for bounds by multicommodity flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_units::Csr;

/// Nodes with their outgoing arcs.
#[derive(Clone, Debug)]
pub(crate) struct ArcGraph {
    /// Start and end of each arc.
    ends: Vec<(usize, usize)>,
    /// Outgoing arcs of each node.
    out: Csr<usize>,
}

/// Distances from one node, and the last arc of a shortest path to each node.
#[derive(Clone, Debug)]
pub(crate) struct ShortestPathTree {
    /// Distance of each node; infinite without a path.
    pub distances: Vec<f64>,
    last_arcs: Vec<Option<usize>>,
}

impl ArcGraph {
    pub fn new(nodes: usize, ends: Vec<(usize, usize)>) -> ArcGraph {
        let arcs = ends
            .iter()
            .enumerate()
            .map(|(arc, &(from, _))| (from as u32, arc));
        ArcGraph {
            out: Csr::of_pairs(nodes, arcs),
            ends,
        }
    }

    /// Returns the shortest-path tree from a node. Lengths are not negative.
    pub fn tree(&self, source: usize, lengths: &[f64]) -> ShortestPathTree {
        let nodes = self.out.rows();
        let mut distances = vec![f64::INFINITY; nodes];
        let mut last_arcs = vec![None; nodes];
        distances[source] = 0.0;
        // Distances are not negative, so that their bits order as they do.
        let mut queue = BinaryHeap::from([Reverse((0_u64, source))]);
        while let Some(Reverse((bits, node))) = queue.pop() {
            if f64::from_bits(bits) > distances[node] {
                continue;
            }
            for &arc in self.out.row(node) {
                let to = self.ends[arc].1;
                let distance = distances[node] + lengths[arc];
                if distance < distances[to] {
                    (distances[to], last_arcs[to]) = (distance, Some(arc));
                    queue.push(Reverse((distance.to_bits(), to)));
                }
            }
        }
        ShortestPathTree {
            distances,
            last_arcs,
        }
    }

    /// Returns the arcs of the path to a node, from the last one on.
    pub fn path_back<'a>(
        &'a self,
        tree: &'a ShortestPathTree,
        to: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let mut node = to;
        std::iter::from_fn(move || {
            let arc = tree.last_arcs[node]?;
            node = self.ends[arc].0;
            Some(arc)
        })
    }
}
