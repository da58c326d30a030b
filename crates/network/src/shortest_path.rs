//! Shortest paths in the graph of links: Dijkstra's algorithm, and A* with landmarks (ALT; Goldberg and Harrelson,
//! *Computing the Shortest Path: A\* Search Meets Graph Theory*, SODA 2005).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_units::Csr;

/// Number of landmarks of a graph, and number that one search uses.
const LANDMARKS: usize = 12;
const ACTIVE_LANDMARKS: usize = 4;

pub(crate) const UNREACHABLE: u64 = u64::MAX;

/// Cost of a path: its length, then the number of links that count ([`TieBreak`]).
///
/// Lengths are delays in whole picoseconds, or metrics in millionths. Integer sums do not depend on the order of
/// summation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    pub length: u64,
    pub links: u32,
}

/// Choice among paths of equal length. Under both rules paths have no loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TieBreak {
    /// The path with fewer links costs less.
    FewestLinks,
    /// Both cost the same, except for links of length 0.
    EqualCost,
}

impl TieBreak {
    fn add(self, cost: Cost, length: u64) -> Cost {
        let counts = match self {
            TieBreak::FewestLinks => true,
            TieBreak::EqualCost => length == 0,
        };
        Cost {
            length: cost.length.saturating_add(length),
            links: cost.links + u32::from(counts),
        }
    }
}

/// Link, seen from one of its ends.
#[derive(Clone, Copy, Debug, Default)]
struct Arc {
    /// Node at the other end.
    node: u32,
    link: u32,
    length: u64,
}

/// Links of every node in one direction.
#[derive(Debug)]
struct Arcs {
    /// Arcs of each node: first those to nodes that are not leaves.
    arcs: Csr<Arc>,
    /// Number of the arcs of each node to nodes that are not leaves.
    inner: Vec<u32>,
}

impl Arcs {
    fn new(is_leaf: &[bool], arcs: impl Iterator<Item = (u32, Arc)> + Clone) -> Arcs {
        let to_leaf = |(_, arc): &(u32, Arc)| is_leaf[arc.node as usize];
        let to_inner = arcs.clone().filter(|it| !to_leaf(it));
        let mut inner = vec![0; is_leaf.len()];
        for (node, _) in to_inner.clone() {
            inner[node as usize] += 1;
        }
        Arcs {
            arcs: Csr::of_pairs(is_leaf.len(), to_inner.chain(arcs.filter(to_leaf))),
            inner,
        }
    }

    fn all(&self, node: u32) -> &[Arc] {
        self.arcs.row(node as usize)
    }

    /// Returns the arcs to nodes that are not leaves.
    fn inner(&self, node: u32) -> &[Arc] {
        &self.all(node)[..self.inner[node as usize] as usize]
    }
}

/// Graph of links.
///
/// A leaf has links with one other node only. Searches for one path enter no leaf except their ends, so the hosts of a
/// router cost nothing.
#[derive(Debug)]
pub(crate) struct Graph {
    outgoing: Arcs,
    incoming: Arcs,
    ends: Vec<(u32, u32)>,
    is_leaf: Vec<bool>,
}

/// Direction of a search from its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Along the links.
    Forward,
    /// Against the links.
    Backward,
}

impl Graph {
    /// Returns the graph of links between `nodes` nodes, each with its ends and its length.
    pub fn new(nodes: usize, links: impl Iterator<Item = ((u32, u32), u64)>) -> Graph {
        let (ends, lengths): (Vec<(u32, u32)>, Vec<u64>) = links.unzip();
        let mut neighbour: Vec<Option<u32>> = vec![None; nodes];
        let mut is_leaf = vec![true; nodes];
        for &(from, to) in &ends {
            for (node, other) in [(from, to), (to, from)] {
                let first = neighbour[node as usize].get_or_insert(other);
                is_leaf[node as usize] &= *first == other;
            }
        }
        let links = (0..).zip(&ends).zip(&lengths);
        let outgoing = links.clone().map(|((link, &(from, node)), &length)| {
            let arc = Arc { node, link, length };
            (from, arc)
        });
        let incoming = links.map(|((link, &(node, to)), &length)| {
            let arc = Arc { node, link, length };
            (to, arc)
        });
        Graph {
            outgoing: Arcs::new(&is_leaf, outgoing),
            incoming: Arcs::new(&is_leaf, incoming),
            ends,
            is_leaf,
        }
    }

    pub fn nodes(&self) -> usize {
        self.is_leaf.len()
    }

    pub fn links(&self) -> usize {
        self.ends.len()
    }

    /// Returns the start and the end of a link.
    pub fn ends(&self, link: u32) -> (u32, u32) {
        self.ends[link as usize]
    }

    fn arcs(&self, direction: Direction) -> &Arcs {
        match direction {
            Direction::Forward => &self.outgoing,
            Direction::Backward => &self.incoming,
        }
    }
}

/// Distances from and to some nodes. They give lower bounds of all distances, also while links are down.
#[derive(Debug)]
pub(crate) struct Landmarks {
    /// For every node: the distances from the landmarks, then those to them.
    distances: Vec<[u64; 2 * LANDMARKS]>,
}

impl Landmarks {
    /// Chooses nodes far from each other, and measures.
    pub fn new(graph: &Graph) -> Landmarks {
        let mut distances = vec![[UNREACHABLE; 2 * LANDMARKS]; graph.nodes()];
        let mut search = Search::new(graph);
        let mut measure = |origin: u32, direction, out: &mut dyn FnMut(usize, u64)| {
            search.run(graph, (origin, direction), TieBreak::EqualCost, &[], &[]);
            for node in 0..graph.nodes() as u32 {
                if let Some(cost) = search.cost(node) {
                    out(node as usize, cost.length);
                }
            }
        };
        // Distance of each node to the nearest landmark.
        let mut nearest = vec![0; graph.nodes()];
        measure(0, Direction::Forward, &mut |node, length| {
            nearest[node] = length
        });
        for landmark in 0..LANDMARKS {
            let farthest =
                (0..graph.nodes() as u32).max_by_key(|&it| (nearest[it as usize], Reverse(it)));
            let origin = farthest.unwrap_or(0);
            if landmark == 0 {
                nearest.fill(UNREACHABLE);
            }
            measure(origin, Direction::Forward, &mut |node, length| {
                distances[node][landmark] = length;
                nearest[node] = nearest[node].min(length);
            });
            measure(origin, Direction::Backward, &mut |node, length| {
                distances[node][LANDMARKS + landmark] = length;
            });
        }
        Landmarks { distances }
    }

    /// Returns the lower bound of the distance between two nodes by one column of the distances.
    fn bound(&self, column: usize, from: u32, to: u32) -> u64 {
        let [from, to] = [from, to].map(|node| self.distances[node as usize][column]);
        let (more, less) = if column < LANDMARKS {
            (to, from)
        } else {
            (from, to)
        };
        if more == UNREACHABLE || less == UNREACHABLE {
            return 0;
        }
        more.saturating_sub(less)
    }

    /// Returns the columns with the largest bounds of the distance between two nodes.
    fn active(&self, from: u32, to: u32) -> [usize; ACTIVE_LANDMARKS] {
        let mut columns: [usize; 2 * LANDMARKS] = std::array::from_fn(|i| i);
        columns.sort_by_key(|&column| Reverse(self.bound(column, from, to)));
        std::array::from_fn(|i| columns[i])
    }
}

/// Lower bounds of the distances to the end of a search. They do not change its result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LowerBounds<'a> {
    /// None.
    Zero,
    /// Bounds by landmarks.
    Landmarks(&'a Landmarks),
    /// Distance of every node while no link is down, [`UNREACHABLE`] without a path.
    Distances(&'a [u64]),
}

/// State of a node in a search.
#[derive(Clone, Copy, Debug, Default)]
struct Label {
    /// Number of the search that set it.
    search: u32,
    cost: Cost,
    /// Lower bound of the length of the rest of the path.
    rest: u64,
}

/// Working memory of searches. A search costs by the nodes that it visits, not by those of the graph.
#[derive(Debug)]
pub(crate) struct Search {
    labels: Vec<Label>,
    search: u32,
    /// Length with the lower bound of the rest, number of links, node.
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
    is_target: Vec<bool>,
}

impl Search {
    pub fn new(graph: &Graph) -> Search {
        Search {
            labels: vec![Label::default(); graph.nodes()],
            search: 0,
            heap: BinaryHeap::new(),
            is_target: vec![false; graph.nodes()],
        }
    }

    /// Returns the cost of the best path to a node in the last search, if it was reached. It is exact for nodes on a
    /// best path to a target.
    pub fn cost(&self, node: u32) -> Option<Cost> {
        let label = &self.labels[node as usize];
        (label.search == self.search).then_some(label.cost)
    }

    fn begin(&mut self, origin: u32, rest: u64) {
        self.search = match self.search.checked_add(1) {
            Some(next) => next,
            None => {
                self.labels.fill(Label::default());
                1
            }
        };
        self.heap.clear();
        self.improve(origin, Cost::default(), |_| rest);
    }

    /// Sets the cost of a node if it is lower than before.
    #[inline]
    fn improve(&mut self, node: u32, cost: Cost, rest: impl Fn(u32) -> u64) {
        let label = &mut self.labels[node as usize];
        if label.search != self.search {
            *label = Label {
                search: self.search,
                cost,
                rest: rest(node),
            };
        } else if cost < label.cost {
            label.cost = cost;
        } else {
            return;
        }
        let length = cost.length.saturating_add(label.rest);
        self.heap.push(Reverse((length, cost.links, node)));
    }

    /// Returns the next node with its final cost.
    fn settle(&mut self) -> Option<(u32, Cost)> {
        while let Some(Reverse((length, links, node))) = self.heap.pop() {
            let Label { cost, rest, .. } = self.labels[node as usize];
            if (cost.length.saturating_add(rest), cost.links) == (length, links) {
                return Some((node, cost));
            }
        }
        None
    }

    /// Dijkstra's algorithm from one node over the links that are not `down`, until all `targets` are reached; without
    /// targets, over the whole graph. An empty `down` means that no link is.
    pub fn run(
        &mut self,
        graph: &Graph,
        (origin, direction): (u32, Direction),
        tie_break: TieBreak,
        down: &[bool],
        targets: &[u32],
    ) {
        let mut left = 0;
        for &target in targets {
            left += usize::from(!std::mem::replace(
                &mut self.is_target[target as usize],
                true,
            ));
        }
        let arcs = graph.arcs(direction);
        self.begin(origin, 0);
        while let Some((node, cost)) = self.settle() {
            if self.is_target[node as usize] {
                self.is_target[node as usize] = false;
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            for arc in arcs.all(node) {
                if !down.get(arc.link as usize).is_some_and(|&it| it) {
                    self.improve(arc.node, tie_break.add(cost, arc.length), |_| 0);
                }
            }
        }
        for &target in targets {
            self.is_target[target as usize] = false;
        }
    }

    /// A* from one node to another over the links that are not `down`.
    pub fn run_to(
        &mut self,
        graph: &Graph,
        bounds: LowerBounds<'_>,
        (from, to): (u32, u32),
        tie_break: TieBreak,
        down: &[bool],
    ) {
        let columns = match bounds {
            LowerBounds::Landmarks(landmarks) => landmarks.active(from, to),
            LowerBounds::Zero | LowerBounds::Distances(_) => Default::default(),
        };
        let rest = |node: u32| match bounds {
            LowerBounds::Zero => 0,
            LowerBounds::Landmarks(landmarks) => {
                let bounds = columns.iter().map(|&it| landmarks.bound(it, node, to));
                bounds.fold(0, u64::max)
            }
            LowerBounds::Distances(distances) => match distances[node as usize] {
                UNREACHABLE => 0,
                length => length,
            },
        };
        let leaf_of = match graph.incoming.all(to) {
            [arc, ..] if graph.is_leaf[to as usize] => Some(arc.node),
            _ => None,
        };
        self.begin(from, rest(from));
        let mut limit = (UNREACHABLE, u32::MAX);
        while let Some((node, cost)) = self.settle() {
            let label = self.labels[node as usize];
            let key = (cost.length.saturating_add(label.rest), cost.links);
            // Nodes on other best paths may have the same key as the end.
            if key > limit {
                return;
            }
            if node == to {
                limit = key;
            }
            for arc in graph.outgoing.inner(node) {
                if !down[arc.link as usize] {
                    self.improve(arc.node, tie_break.add(cost, arc.length), rest);
                }
            }
            if leaf_of == Some(node) {
                for arc in graph.incoming.all(to) {
                    if !down[arc.link as usize] {
                        self.improve(to, tie_break.add(cost, arc.length), rest);
                    }
                }
            }
        }
    }

    /// Returns the last links of all best paths from `origin` to a node, after a forward search.
    pub fn last_links<'a>(
        &'a self,
        graph: &'a Graph,
        origin: u32,
        node: u32,
        tie_break: TieBreak,
        down: &'a [bool],
    ) -> impl Iterator<Item = u32> + 'a {
        let best = self.cost(node);
        let of_leaf = graph.is_leaf[origin as usize].then(|| graph.outgoing.all(origin));
        let of_leaf = of_leaf
            .into_iter()
            .flatten()
            .filter(move |arc| arc.node == node);
        let of_leaf = of_leaf.map(move |arc| (origin, arc));
        let inner = graph.incoming.inner(node).iter().map(|arc| (arc.node, arc));
        let all = inner.chain(of_leaf).filter(move |(before, arc)| {
            let before = self.cost(*before);
            best.is_some()
                && !down[arc.link as usize]
                && before.map(|cost| tie_break.add(cost, arc.length)) == best
        });
        all.map(|(_, arc)| arc.link)
    }

    /// Returns the next links of all best paths from a node, after a backward search.
    pub fn next_links<'a>(
        &'a self,
        graph: &'a Graph,
        node: u32,
        tie_break: TieBreak,
        down: &'a [bool],
    ) -> impl Iterator<Item = u32> + 'a {
        let best = self.cost(node);
        let tight = graph.outgoing.all(node).iter().filter(move |arc| {
            let rest = self.cost(arc.node);
            best.is_some()
                && !down[arc.link as usize]
                && rest.map(|cost| tie_break.add(cost, arc.length)) == best
        });
        tight.map(|arc| arc.link)
    }
}
