//! Sweep order of links: nested loops, as in a weak topological order (Bourdoncle, *Efficient chaotic
//! iteration strategies with widenings*, 1993).
//!
//! A sweep visits all links. It advances them far if each link follows the links that feed it, or if those
//! have a long lookahead. Links feed each other in cycles, for example those in both directions between two
//! neighbours. In any order, a sweep advances all links at most by the length of the shortest cycle, which is
//! the sum of its lookaheads. Therefore links on short cycles form an inner loop. It repeats within one sweep
//! over the other links, whose cycles are longer. Loops are nested in longer loops.
//!
//! The order within a loop is found by a greedy search with random restarts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_tcpmodel::tcp::NEVER;
use netflow_units::NonMaxU32;
use petgraph::unionfind::UnionFind;
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::sync::dependencies::LinkDependencies;

/// Minimum and maximum number of orders that are tried, and number of edges that all tries visit in total.
/// After the first order of a run, only the minimum is tried because routes may change often.
const MIN_TRIES: usize = 4;
const MAX_TRIES: usize = 16;
const SEARCH_EDGES: usize = 60_000;
/// Number of sweeps over which the advance of one sweep is measured.
const SWEEPS: u64 = 16;
/// Length below which cycles form an inner loop, in advances of a sweep without that loop.
const SHORT_CYCLE_ADVANCES: u64 = 2;
/// Minimum fraction of visits that further inner loops must save.
const MIN_SAVING: f64 = 0.2;
/// Number of failed attempts with longer cycles after which the search ends.
const MAX_FAILED_TRIES: u32 = 3;
/// Maximum number of steps in the search for short cycles, per edge.
const STEPS_PER_EDGE: usize = 40;
/// Advance of a sweep in ns that needs no improvement.
const SUFFICIENT_ADVANCE_NS: u64 = 1_000_000_000;

/// Step of a sweep.
#[derive(Clone, Debug)]
pub(crate) enum SweepStep {
    Link(u32),
    /// Inner loop: the steps repeat as long as one of their links advances.
    Loop(Vec<SweepStep>),
}

/// Nested order of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct SweepOrder {
    pub steps: Vec<SweepStep>,
    /// Number of links.
    pub links: usize,
    /// Advance of all links in one sweep, in ns, with empty queues.
    pub advance_ns: u64,
    /// Number of visits per ns of simulated time without arrivals.
    idle_visits_per_ns: f64,
    /// Number of endpoints that only one link feeds. They are visited only after arrivals.
    sole_feeder_endpoints: usize,
    /// Lookaheads in ns for which the order was computed, by link.
    lookahead_ns: Vec<u64>,
}

/// Runs all steps in order. `act` advances a link, and returns whether it advanced and its local time.
/// Returns whether any link advanced, and the minimum of the local times.
pub(crate) fn run_steps(
    steps: &[SweepStep],
    act: &mut impl FnMut(u32) -> (bool, u64),
) -> (bool, u64) {
    let (mut came, mut least_ns) = (false, NEVER);
    for step in steps {
        let (it_came, until_ns) = match step {
            SweepStep::Link(l) => act(*l),
            SweepStep::Loop(inner) => {
                let first = run_steps(inner, act);
                let mut last = first;
                // Each pass advances the links by the length of a cycle, as far as other links allow.
                while last.0 {
                    last = run_steps(inner, act);
                }
                (first.0, last.1)
            }
        };
        came |= it_came;
        least_ns = least_ns.min(until_ns);
    }
    (came, least_ns)
}

/// Keeps only the steps of links for which `which` is true.
pub(crate) fn retain(steps: &mut Vec<SweepStep>, which: &impl Fn(u32) -> bool) {
    steps.retain_mut(|step| match step {
        SweepStep::Link(l) => which(*l),
        SweepStep::Loop(inner) => {
            retain(inner, which);
            !inner.is_empty()
        }
    });
}

impl SweepStep {
    fn each_link(&self, each: &mut impl FnMut(u32)) {
        match self {
            SweepStep::Link(l) => each(*l),
            SweepStep::Loop(inner) => inner.iter().for_each(|step| step.each_link(each)),
        }
    }
}

impl SweepOrder {
    /// Returns an order of all links with input wires. `lookahead_ns` has the lookahead of each link. The
    /// search is longer for the `first` order of a run.
    pub fn new(links_of: &[LinkDependencies], lookahead_ns: &[u64], first: bool) -> SweepOrder {
        let most_tries = if first { MAX_TRIES } else { MIN_TRIES };
        let mut search = Search::new(links_of, lookahead_ns, most_tries);
        let mut best = search.arrange(search.links());
        let (mut last, mut short_ns, mut in_vain) = (best.clone(), 0, 0);
        while last.advance_ns.max(short_ns) < SUFFICIENT_ADVANCE_NS && in_vain < MAX_FAILED_TRIES {
            short_ns = SHORT_CYCLE_ADVANCES * last.advance_ns.max(short_ns);
            let Some(next) = search.with_inner_loops(last, short_ns) else {
                break;
            };
            in_vain += 1;
            if next.visits_per_ns < (1.0 - MIN_SAVING) * best.visits_per_ns {
                (best, in_vain) = (next.clone(), 0);
            }
            last = next;
        }
        let feed_alone = links_of
            .iter()
            .filter(|link_dependencies| link_dependencies.is_only_feeder);
        SweepOrder {
            links: search.links().len(),
            steps: best.items.into_iter().map(|item| item.step).collect(),
            advance_ns: best.advance_ns,
            idle_visits_per_ns: best.visits_per_ns,
            sole_feeder_endpoints: feed_alone.map(LinkDependencies::endpoint_visits).sum(),
            lookahead_ns: lookahead_ns.to_vec(),
        }
    }

    /// Returns the number of visits of links and endpoints per ns of simulated time, if `pkts_per_ns` packets
    /// arrive at links.
    pub fn visits_per_ns(&self, pkts_per_ns: f64) -> f64 {
        let ends = self.sole_feeder_endpoints as f64;
        let at_packets = pkts_per_ns * ends / self.links.max(1) as f64;
        let at_all = ends / self.advance_ns.max(1) as f64;
        self.idle_visits_per_ns + at_packets.min(at_all)
    }

    /// Returns true if all lookaheads are within a factor of two of those at the computation.
    pub fn fits(&self, lookahead_ns: &[u64]) -> bool {
        let mut both = self.lookahead_ns.iter().zip(lookahead_ns);
        let are_near = |(a, b): (&u64, &u64)| a.max(b) / 2 <= *a.min(b);
        self.lookahead_ns.len() == lookahead_ns.len() && both.all(are_near)
    }
}

/// Item of an order: a link or an inner loop.
#[derive(Clone, Debug)]
struct Item {
    step: SweepStep,
    /// Number of visits in one pass over the item: links, and endpoints that are visited without arrivals.
    /// Its inner loops add `visits_per_ns`.
    visits: usize,
    visits_per_ns: f64,
}

/// Items in order, the advance of a sweep over them, and its cost in visits per ns.
#[derive(Clone, Debug)]
struct Ordering {
    items: Vec<Item>,
    advance_ns: u64,
    visits_per_ns: f64,
}

struct Search<'a> {
    links_of: &'a [LinkDependencies],
    lookahead_ns: &'a [u64],
    max_tries: usize,
    /// Item of each link.
    item_of: Vec<Option<NonMaxU32>>,
    random: Pcg32,
}

/// Graph of items: predecessors and successors of each, with the lookahead in ns.
struct LinkGraph {
    predecessors: Vec<Vec<(u32, u64)>>,
    successors: Vec<Vec<(u32, u64)>>,
    /// Number of edges.
    edge_count: usize,
}

impl<'a> Search<'a> {
    fn new(
        links_of: &'a [LinkDependencies],
        lookahead_ns: &'a [u64],
        most_tries: usize,
    ) -> Search<'a> {
        Search {
            links_of,
            lookahead_ns,
            max_tries: most_tries,
            item_of: vec![None; links_of.len()],
            random: Pcg32::new(0, 0),
        }
    }

    /// Returns all links with input wires, as items.
    fn links(&self) -> Vec<Item> {
        let links_of = (0..).zip(self.links_of);
        let used = links_of.filter(|(_, link_dependencies)| !link_dependencies.inputs.is_empty());
        let item = |(l, link_dependencies): (u32, &LinkDependencies)| Item {
            step: SweepStep::Link(l),
            // Endpoints that only this link feeds are visited only after arrivals.
            visits: 1 + if link_dependencies.is_only_feeder {
                0
            } else {
                link_dependencies.endpoint_visits()
            },
            visits_per_ns: 0.0,
        };
        used.map(item).collect()
    }

    /// Returns the items in the best order found.
    ///
    /// The length of an edge is relative: a predecessor that is ahead anyway constrains less. Therefore each
    /// try uses the times that items have after the sweeps of the last try. If that try was no improvement,
    /// it uses the distances from a random item.
    fn arrange(&mut self, items: Vec<Item>) -> Ordering {
        let graph = self.graph(&items);
        let tries = (SEARCH_EDGES / graph.edge_count.max(1)).clamp(MIN_TRIES, self.max_tries);
        let (mut best, mut advance_ns) = (Vec::new(), 0);
        let (mut at_ns, mut last_ns) = (vec![0; items.len()], 0);
        let mut wave = ShortestPaths::new(items.len());
        for _ in 0..tries {
            let order = graph.order(&at_ns);
            let tried_ns = graph.sweep(&order, &mut at_ns);
            if tried_ns > advance_ns || best.is_empty() {
                (best, advance_ns) = (order, tried_ns);
            }
            if tried_ns > last_ns {
                last_ns = tried_ns;
            } else if !items.is_empty() {
                last_ns = 0;
                let from = self.random.random_range(0..items.len() as u32);
                wave.run(from, END_NS, &graph.successors);
                at_ns.clear();
                at_ns.extend(wave.at_ns.iter().map(|&at_ns| at_ns.min(END_NS)));
            }
        }
        let each_sweep: usize = items.iter().map(|item| item.visits).sum();
        let in_loops: f64 = items.iter().map(|item| item.visits_per_ns).sum();
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let ordered_items = best.iter().filter_map(|&i| items[i as usize].take());
        Ordering {
            items: ordered_items.collect(),
            advance_ns,
            visits_per_ns: each_sweep as f64 / advance_ns.max(1) as f64 + in_loops,
        }
    }

    /// Returns the graph of these items. Of parallel edges, the shortest counts.
    fn graph(&mut self, items: &[Item]) -> LinkGraph {
        for (i, item) in (0..).zip(items) {
            let i = NonMaxU32::new(i);
            item.step.each_link(&mut |l| self.item_of[l as usize] = i);
        }
        let mut inputs = Vec::new();
        for (to, item) in (0..).zip(items) {
            item.step.each_link(&mut |l| {
                for &k in &self.links_of[l as usize].bounding_links {
                    let Some(from) = self.item_of[k as usize].map(NonMaxU32::get) else {
                        continue;
                    };
                    // A link that feeds itself must be visited again. A loop repeats anyway.
                    let again = from == to && matches!(item.step, SweepStep::Link(_));
                    if from != to || again {
                        let lookahead_ns = self.lookahead_ns[k as usize];
                        inputs.push((from, to, lookahead_ns));
                    }
                }
            });
        }
        for item in items {
            item.step
                .each_link(&mut |l| self.item_of[l as usize] = None);
        }
        inputs.sort_unstable();
        inputs.dedup_by_key(|&mut (from, to, _)| (from, to));
        let mut graph = LinkGraph {
            predecessors: vec![Vec::new(); items.len()],
            successors: vec![Vec::new(); items.len()],
            edge_count: inputs.len(),
        };
        for (from, to, lookahead_ns) in inputs {
            graph.predecessors[to as usize].push((from, lookahead_ns));
            graph.successors[from as usize].push((to, lookahead_ns));
        }
        graph
    }

    /// Groups the items on cycles shorter than `short_ns` into inner loops. Returns `None` if all items form
    /// one loop, or if the search takes too long.
    fn with_inner_loops(&mut self, arranged: Ordering, short_ns: u64) -> Option<Ordering> {
        let items = arranged.items;
        let graph = self.graph(&items);
        let mut groups = UnionFind::<u32>::new(items.len());
        let mut is_short = vec![false; items.len()];
        let mut wave = ShortestPaths::new(items.len());
        for (i, before) in (0..).zip(&graph.predecessors) {
            wave.run(i, short_ns, &graph.successors);
            if wave.steps > STEPS_PER_EDGE * graph.edge_count {
                return None;
            }
            for &(from, lookahead_ns) in before {
                if wave.at_ns[from as usize].saturating_add(lookahead_ns) < short_ns {
                    groups.union(from, i);
                    is_short[i as usize] = true;
                }
            }
        }
        let mut members: Vec<Vec<Item>> = vec![Vec::new(); items.len()];
        let mut loops = Vec::new();
        for (i, item) in items.into_iter().enumerate() {
            if is_short[i] {
                members[groups.find(i as u32) as usize].push(item)
            } else {
                loops.push(item)
            }
        }
        members.retain(|members| !members.is_empty());
        if loops.is_empty() && members.len() == 1 {
            return None;
        }
        loops.extend(members.into_iter().map(|members| self.inner_loop(members)));
        Some(self.arrange(loops))
    }

    /// Returns a loop of these items.
    fn inner_loop(&mut self, items: Vec<Item>) -> Item {
        let arranged = self.arrange(items);
        Item {
            visits: arranged.items.iter().map(|item| item.visits).sum(),
            visits_per_ns: arranged.visits_per_ns,
            step: SweepStep::Loop(arranged.items.into_iter().map(|item| item.step).collect()),
        }
    }
}

/// Time in ns that is later than all times of interest.
const END_NS: u64 = NEVER / 4;

impl LinkGraph {
    /// Returns a greedy order at the times `at_ns`. The next item is the one whose nearest predecessor among
    /// the remaining items is farthest.
    fn order(&self, at_ns: &[u64]) -> Vec<u32> {
        let LinkGraph {
            predecessors: before,
            successors: next,
            ..
        } = self;
        let far_ns = |i: usize, &(from, lookahead_ns): &(u32, u64)| {
            let then_ns = at_ns[from as usize].saturating_add(lookahead_ns);
            let far_ns = then_ns.saturating_sub(at_ns[i]);
            (far_ns, from)
        };
        let nearest_last = |(i, before): (usize, &Vec<(u32, u64)>)| {
            let others = before.iter().filter(|&&(from, _)| from as usize != i);
            let mut inputs: Vec<(u64, u32)> = others.map(|it| far_ns(i, it)).collect();
            inputs.sort_unstable_by_key(|&input| Reverse(input));
            inputs
        };
        let mut inputs: Vec<_> = before.iter().enumerate().map(nearest_last).collect();
        let mut placed = vec![false; before.len()];
        let mut nearest_ns = |i: u32, placed: &[bool]| {
            let inputs = &mut inputs[i as usize];
            while inputs
                .last()
                .is_some_and(|&(_, from)| placed[from as usize])
            {
                inputs.pop();
            }
            inputs.last().map_or(NEVER, |&(far_ns, _)| far_ns)
        };
        let mut heap: BinaryHeap<_> = (0..before.len() as u32)
            .map(|i| (nearest_ns(i, &placed), Reverse(i)))
            .collect();
        let mut order = Vec::with_capacity(before.len());
        while let Some((_, Reverse(i))) = heap.pop() {
            if std::mem::replace(&mut placed[i as usize], true) {
                continue;
            }
            order.push(i);
            for &(next, _) in &next[i as usize] {
                if !placed[next as usize] {
                    heap.push((nearest_ns(next, &placed), Reverse(next)));
                }
            }
        }
        order
    }

    /// Returns the advance of one sweep in this order, in ns. Sets `at_ns` to the times of the items after
    /// [`SWEEPS`] sweeps.
    fn sweep(&self, order: &[u32], at_ns: &mut [u64]) -> u64 {
        at_ns.fill(0);
        let mut least_ns = 0;
        for _ in 0..SWEEPS {
            least_ns = END_NS;
            for &i in order {
                let of = |&(from, lookahead_ns): &(u32, u64)| {
                    at_ns[from as usize].saturating_add(lookahead_ns)
                };
                let until_ns = self.predecessors[i as usize].iter().map(of).min();
                at_ns[i as usize] = until_ns.unwrap_or(END_NS).min(END_NS);
                least_ns = least_ns.min(at_ns[i as usize]);
            }
        }
        least_ns / SWEEPS
    }
}

/// Shortest paths from one item (Dijkstra).
struct ShortestPaths {
    /// Distance in ns, by item; [`NEVER`] if it reaches the limit.
    at_ns: Vec<u64>,
    reached: Vec<u32>,
    /// Number of edges visited so far.
    steps: usize,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl ShortestPaths {
    fn new(items: usize) -> ShortestPaths {
        ShortestPaths {
            at_ns: vec![NEVER; items],
            reached: Vec::new(),
            steps: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// Computes the distances from item `from` that are shorter than `end_ns`.
    fn run(&mut self, from: u32, end_ns: u64, next_of: &[Vec<(u32, u64)>]) {
        for i in self.reached.drain(..) {
            self.at_ns[i as usize] = NEVER;
        }
        self.heap.push(Reverse((0, from)));
        while let Some(Reverse((now_ns, i))) = self.heap.pop() {
            let at_ns = &mut self.at_ns[i as usize];
            if now_ns >= *at_ns {
                continue;
            }
            *at_ns = now_ns;
            self.reached.push(i);
            self.steps += next_of[i as usize].len();
            for &(next, lookahead_ns) in &next_of[i as usize] {
                let then_ns = now_ns.saturating_add(lookahead_ns);
                if then_ns < end_ns {
                    self.heap.push(Reverse((then_ns, next)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns links of a ring with chords, some of which feed themselves. Lookaheads cover `decades` powers
    /// of ten.
    fn random(
        tie_break: &mut Pcg32,
        links: u32,
        decades: f64,
    ) -> (Vec<LinkDependencies>, Vec<u64>) {
        let links_of = (0..links).map(|l| {
            let mut after = vec![(l + links - 1) % links];
            for _ in 0..tie_break.random_range(0..3) {
                let k = tie_break.random_range(0..links);
                if !after.contains(&k) {
                    after.push(k);
                }
            }
            LinkDependencies {
                inputs: after.clone(),
                bounding_links: after,
                ..LinkDependencies::default()
            }
        });
        let links_of = links_of.collect();
        let lookahead_ns = (0..links).map(|_| {
            let part: f64 = tie_break.random_range(0.0..decades);
            (1e3 * 10_f64.powf(part)) as u64
        });
        (links_of, lookahead_ns.collect())
    }

    /// Returns the length of the shortest cycle in ns (Floyd–Warshall).
    fn shortest_cycle_ns(links_of: &[LinkDependencies], lookahead_ns: &[u64]) -> u64 {
        let n = links_of.len();
        let mut far_ns = vec![NEVER / 4; n * n];
        for (l, link_dependencies) in links_of.iter().enumerate() {
            for &k in &link_dependencies.bounding_links {
                far_ns[k as usize * n + l] = lookahead_ns[k as usize];
            }
        }
        for by in 0..n {
            for k in 0..n {
                for l in 0..n {
                    let through_ns = far_ns[k * n + by] + far_ns[by * n + l];
                    far_ns[k * n + l] = far_ns[k * n + l].min(through_ns);
                }
            }
        }
        (0..n).map(|l| far_ns[l * n + l]).min().unwrap_or(NEVER)
    }

    /// In any order, a sweep without loops advances at most by the length of the shortest cycle. The order
    /// found is near that limit.
    #[test]
    fn sweep_advance_nears_the_shortest_cycle() {
        let mut tie_break = Pcg32::new(1, 1);
        for case in 0..60 {
            let links = tie_break.random_range(3..120);
            let (links_of, lookahead_ns) = random(&mut tie_break, links, 3.0);
            let most_ns = shortest_cycle_ns(&links_of, &lookahead_ns);
            let mut search = Search::new(&links_of, &lookahead_ns, MAX_TRIES);
            let order = search.arrange(search.links());
            let part = order.advance_ns as f64 / most_ns as f64;
            // The first sweep has an advantage over later ones, so the ratio may exceed 1.
            assert!((0.85..1.5).contains(&part), "{case}: {part}");
        }
    }

    /// Each link has one step. Inner loops save visits, more if delays differ more.
    #[test]
    fn inner_loops_save_visits() {
        let mut tie_break = Pcg32::new(2, 1);
        for (decades, spared) in [(1.0, 1.1), (3.0, 0.6), (5.0, 0.4)] {
            let mut parts = Vec::new();
            for _ in 0..20 {
                let links = tie_break.random_range(30..200);
                let (links_of, lookahead_ns) = random(&mut tie_break, links, decades);
                let order = SweepOrder::new(&links_of, &lookahead_ns, true);
                let mut all = Vec::new();
                let mut note = |l| all.push(l);
                order
                    .steps
                    .iter()
                    .for_each(|step| step.each_link(&mut note));
                all.sort_unstable();
                assert_eq!(all, (0..links).collect::<Vec<_>>());
                let most_ns = shortest_cycle_ns(&links_of, &lookahead_ns);
                parts.push(order.visits_per_ns(0.0) * most_ns as f64 / f64::from(links));
            }
            parts.sort_by(f64::total_cmp);
            assert!(parts[10] < spared, "{decades}: {parts:?}");
        }
    }
}
