//! In which order links have their steps.
//!
//! What a link waits for should have had its step before, or be far away: then a sweep over all links brings all of them
//! far. Links wait for each other in cycles (there and back between two neighbours, say), and no order brings them farther
//! in a sweep than the shortest cycle is long. So links of short cycles have steps in a loop of their own, again and
//! again within one sweep over the others, whose cycles are longer; and loops are parts of longer loops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netflow_tcpmodel::tcp::NEVER;
use petgraph::unionfind::UnionFind;
use rand::RngExt;
use rand_pcg::Pcg32;

use crate::sync::dependencies::LinkDependencies;

/// So many orders are tried, the more the fewer inputs there are: all tries together look at about so many. Where there
/// was an order before, the fewest: routes may change often.
const MIN_TRIES: usize = 4;
const MAX_TRIES: usize = 16;
const SEARCH_EDGES: usize = 60_000;
/// So many sweeps tell how far one goes.
const SWEEPS: u64 = 16;
/// Cycles that are shorter than so many sweeps without them make a loop of their own.
const SHORT: u64 = 2;
/// Loops have to spare so much of the looks, or they are not worth it.
const MIN_SAVING: f64 = 0.2;
/// After so many tries with longer cycles that were not worth it no more are made.
const MAX_FAILED_TRIES: u32 = 3;
/// Short cycles are looked for until so many steps from link to link have been taken for each input.
const STEPS_PER_EDGE: usize = 40;
/// Sweeps that go so far need not go farther.
const FAR_NS: u64 = 1_000_000_000;

/// Who has a step.
#[derive(Clone, Debug)]
pub(crate) enum SweepStep {
    Link(u32),
    /// These, again and again, as long as that brings one of them forward.
    Loop(Vec<SweepStep>),
}

/// Links in an order.
#[derive(Clone, Debug, Default)]
pub(crate) struct SweepOrder {
    pub steps: Vec<SweepStep>,
    /// How many they are.
    pub links: usize,
    /// How far a sweep brings all of them, if none has a queue.
    pub advance_ns: u64,
    /// To how many looks at links one nanosecond comes then, if nothing arrives.
    idle_visits_per_ns: f64,
    /// Ends that links feed alone: they are looked at where something arrives.
    ends: usize,
    /// By link: what was ahead of it when this was found.
    lookahead_ns: Vec<u64>,
}

/// Has all links of these steps act, in their order, by a function that says whether a link came forward, and how far
/// it has come. Whether any came forward, and how far the last of them is.
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
                // Each round brings them forward by the length of a cycle, as far as others let them.
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

/// Only the steps of some links.
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
    /// An order of the links that anything arrives at, `lookahead_ns` telling how much later what arrives at a link arrives
    /// behind it, at least; the `first` one, or one after others.
    pub fn new(places: &[LinkDependencies], lookahead_ns: &[u64], first: bool) -> SweepOrder {
        let most_tries = if first { MAX_TRIES } else { MIN_TRIES };
        let mut search = Search::new(places, lookahead_ns, most_tries);
        let mut best = search.arrange(search.links());
        let (mut last, mut short_ns, mut in_vain) = (best.clone(), 0, 0);
        while last.advance_ns.max(short_ns) < FAR_NS && in_vain < MAX_FAILED_TRIES {
            short_ns = SHORT * last.advance_ns.max(short_ns);
            let Some(next) = search.with_inner_loops(last, short_ns) else {
                break;
            };
            in_vain += 1;
            if next.visits_per_ns < (1.0 - MIN_SAVING) * best.visits_per_ns {
                (best, in_vain) = (next.clone(), 0);
            }
            last = next;
        }
        let feed_alone = places.iter().filter(|place| place.is_only_feeder);
        SweepOrder {
            links: search.links().len(),
            steps: best.items.into_iter().map(|item| item.step).collect(),
            advance_ns: best.advance_ns,
            idle_visits_per_ns: best.visits_per_ns,
            ends: feed_alone.map(LinkDependencies::ends).sum(),
            lookahead_ns: lookahead_ns.to_vec(),
        }
    }

    /// To how many looks at links and ends one nanosecond comes in which so many packets arrive at links.
    pub fn visits_per_ns(&self, pkts_per_ns: f64) -> f64 {
        let ends = self.ends as f64;
        let at_packets = pkts_per_ns * ends / self.links.max(1) as f64;
        let at_all = ends / self.advance_ns.max(1) as f64;
        self.idle_visits_per_ns + at_packets.min(at_all)
    }

    /// Whether what is ahead of links is about what it was.
    pub fn fits(&self, lookahead_ns: &[u64]) -> bool {
        let mut both = self.lookahead_ns.iter().zip(lookahead_ns);
        let are_near = |(a, b): (&u64, &u64)| a.max(b) / 2 <= *a.min(b);
        self.lookahead_ns.len() == lookahead_ns.len() && both.all(are_near)
    }
}

/// A link, or a loop.
#[derive(Clone, Debug)]
struct Item {
    step: SweepStep,
    /// Looks at links, and at ends that are looked at though nothing arrives, when it goes round once; and for each
    /// nanosecond beside, of those that go round in it.
    looks: usize,
    visits_per_ns: f64,
}

/// Items in an order, how far a sweep over them brings them, and at the price of how many looks.
#[derive(Clone, Debug)]
struct Ordering {
    items: Vec<Item>,
    advance_ns: u64,
    visits_per_ns: f64,
}

/// In none.
const NONE: u32 = u32::MAX;

struct Search<'a> {
    places: &'a [LinkDependencies],
    lookahead_ns: &'a [u64],
    most_tries: usize,
    /// By link: the item that it belongs to.
    item_of: Vec<u32>,
    random: Pcg32,
}

/// Of each item, those before it and those that come next, and how much later what arrives at the first of two arrives
/// at the second, at least.
struct LinkGraph {
    before: Vec<Vec<(u32, u64)>>,
    next: Vec<Vec<(u32, u64)>>,
    /// How many they are.
    all: usize,
}

impl<'a> Search<'a> {
    fn new(
        places: &'a [LinkDependencies],
        lookahead_ns: &'a [u64],
        most_tries: usize,
    ) -> Search<'a> {
        Search {
            places,
            lookahead_ns,
            most_tries,
            item_of: vec![NONE; places.len()],
            random: Pcg32::new(0, 0),
        }
    }

    /// All links that anything arrives at.
    fn links(&self) -> Vec<Item> {
        let places = (0..).zip(self.places);
        let used = places.filter(|(_, place)| !place.inputs.is_empty());
        let item = |(l, place): (u32, &LinkDependencies)| Item {
            step: SweepStep::Link(l),
            // Ends that it feeds alone are looked at where something arrives.
            looks: 1 + if place.is_only_feeder {
                0
            } else {
                place.ends()
            },
            visits_per_ns: 0.0,
        };
        used.map(item).collect()
    }

    /// These items in the best order that is found.
    ///
    /// Far is meant as items see it that are ahead of others by what is ahead for them anyway. So each try looks at
    /// them from where the sweeps of the try before left them; if that was no better, from where a wave is that runs out
    /// from one of them.
    fn arrange(&mut self, items: Vec<Item>) -> Ordering {
        let ways = self.ways(&items);
        let tries = (SEARCH_EDGES / ways.all.max(1)).clamp(MIN_TRIES, self.most_tries);
        let (mut best, mut advance_ns) = (Vec::new(), 0);
        let (mut at_ns, mut last_ns) = (vec![0; items.len()], 0);
        let mut wave = Wave::new(items.len());
        for _ in 0..tries {
            let order = ways.order(&at_ns);
            let tried_ns = ways.sweep(&order, &mut at_ns);
            if tried_ns > advance_ns || best.is_empty() {
                (best, advance_ns) = (order, tried_ns);
            }
            if tried_ns > last_ns {
                last_ns = tried_ns;
            } else if !items.is_empty() {
                last_ns = 0;
                let from = self.random.random_range(0..items.len() as u32);
                wave.run(from, END_NS, &ways.next);
                at_ns.clear();
                at_ns.extend(wave.at_ns.iter().map(|&at_ns| at_ns.min(END_NS)));
            }
        }
        let each_sweep: usize = items.iter().map(|item| item.looks).sum();
        let in_loops: f64 = items.iter().map(|item| item.visits_per_ns).sum();
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let in_order = best.iter().filter_map(|&i| items[i as usize].take());
        Ordering {
            items: in_order.collect(),
            advance_ns,
            visits_per_ns: each_sweep as f64 / advance_ns.max(1) as f64 + in_loops,
        }
    }

    /// The ways between these items: of several links that join two of them, the nearest counts.
    fn ways(&mut self, items: &[Item]) -> LinkGraph {
        for (i, item) in (0..).zip(items) {
            item.step.each_link(&mut |l| self.item_of[l as usize] = i);
        }
        let mut inputs = Vec::new();
        for (to, item) in (0..).zip(items) {
            item.step.each_link(&mut |l| {
                for &k in &self.places[l as usize].after {
                    let from = self.item_of[k as usize];
                    // A link that waits for itself has to be looked at again; a loop is.
                    let again = from == to && matches!(item.step, SweepStep::Link(_));
                    if from != NONE && (from != to || again) {
                        let lookahead_ns = self.lookahead_ns[k as usize];
                        inputs.push((from, to, lookahead_ns));
                    }
                }
            });
        }
        for item in items {
            item.step
                .each_link(&mut |l| self.item_of[l as usize] = NONE);
        }
        inputs.sort_unstable();
        inputs.dedup_by_key(|&mut (from, to, _)| (from, to));
        let mut ways = LinkGraph {
            before: vec![Vec::new(); items.len()],
            next: vec![Vec::new(); items.len()],
            all: inputs.len(),
        };
        for (from, to, lookahead_ns) in inputs {
            ways.before[to as usize].push((from, lookahead_ns));
            ways.next[from as usize].push((to, lookahead_ns));
        }
        ways
    }

    /// The same with loops of those of its items that are on cycles shorter than this, unless all are, or it takes too
    /// long to find out.
    fn with_inner_loops(&mut self, arranged: Ordering, short_ns: u64) -> Option<Ordering> {
        let items = arranged.items;
        let ways = self.ways(&items);
        let mut groups = UnionFind::<u32>::new(items.len());
        let mut is_short = vec![false; items.len()];
        let mut wave = Wave::new(items.len());
        for (i, before) in (0..).zip(&ways.before) {
            wave.run(i, short_ns, &ways.next);
            if wave.steps > STEPS_PER_EDGE * ways.all {
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
            match is_short[i] {
                true => members[groups.find(i as u32) as usize].push(item),
                false => loops.push(item),
            }
        }
        members.retain(|members| !members.is_empty());
        if loops.is_empty() && members.len() == 1 {
            return None;
        }
        loops.extend(members.into_iter().map(|members| self.go_round(members)));
        Some(self.arrange(loops))
    }

    /// A loop of these.
    fn go_round(&mut self, items: Vec<Item>) -> Item {
        let arranged = self.arrange(items);
        Item {
            looks: arranged.items.iter().map(|item| item.looks).sum(),
            visits_per_ns: arranged.visits_per_ns,
            step: SweepStep::Loop(arranged.items.into_iter().map(|item| item.step).collect()),
        }
    }
}

/// Later than everything that is of interest.
const END_NS: u64 = NEVER / 4;

impl LinkGraph {
    /// Next is always the one whose nearest input that has not had its step is farthest, where all have come so far.
    fn order(&self, at_ns: &[u64]) -> Vec<u32> {
        let LinkGraph { before, next, .. } = self;
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

    /// How far a sweep in this order brings all items, and how far each has come after some.
    fn sweep(&self, order: &[u32], at_ns: &mut [u64]) -> u64 {
        at_ns.fill(0);
        let mut least_ns = 0;
        for _ in 0..SWEEPS {
            least_ns = END_NS;
            for &i in order {
                let of = |&(from, lookahead_ns): &(u32, u64)| {
                    at_ns[from as usize].saturating_add(lookahead_ns)
                };
                let until_ns = self.before[i as usize].iter().map(of).min();
                at_ns[i as usize] = until_ns.unwrap_or(END_NS).min(END_NS);
                least_ns = least_ns.min(at_ns[i as usize]);
            }
        }
        least_ns / SWEEPS
    }
}

/// When what begins at one item comes to the others.
struct Wave {
    /// By item; never if it does not, or later than was asked for.
    at_ns: Vec<u64>,
    reached: Vec<u32>,
    /// Steps from item to item so far.
    steps: usize,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Wave {
    fn new(items: usize) -> Wave {
        Wave {
            at_ns: vec![NEVER; items],
            reached: Vec::new(),
            steps: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// From this item, until `end_ns`.
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

    /// Links that wait for each other, and some for themselves: a ring, and chords; delays of `decades` powers of ten.
    fn random(numbers: &mut Pcg32, links: u32, decades: f64) -> (Vec<LinkDependencies>, Vec<u64>) {
        let places = (0..links).map(|l| {
            let mut after = vec![(l + links - 1) % links];
            for _ in 0..numbers.random_range(0..3) {
                let k = numbers.random_range(0..links);
                if !after.contains(&k) {
                    after.push(k);
                }
            }
            LinkDependencies {
                inputs: after.clone(),
                after,
                ..LinkDependencies::default()
            }
        });
        let places = places.collect();
        let lookahead_ns = (0..links).map(|_| {
            let part: f64 = numbers.random_range(0.0..decades);
            (1e3 * 10_f64.powf(part)) as u64
        });
        (places, lookahead_ns.collect())
    }

    /// By Floyd's and Warshall's method.
    fn shortest_cycle_ns(places: &[LinkDependencies], lookahead_ns: &[u64]) -> u64 {
        let n = places.len();
        let mut far_ns = vec![NEVER / 4; n * n];
        for (l, place) in places.iter().enumerate() {
            for &k in &place.after {
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

    /// Whatever the order, a sweep without loops cannot go farther than round the shortest cycle; the order that is
    /// found comes near to that.
    #[test]
    fn sweeps_go_nearly_as_far_as_they_can() {
        let mut numbers = Pcg32::new(1, 1);
        for case in 0..60 {
            let links = numbers.random_range(3..120);
            let (places, lookahead_ns) = random(&mut numbers, links, 3.0);
            let most_ns = shortest_cycle_ns(&places, &lookahead_ns);
            let mut search = Search::new(&places, &lookahead_ns, MAX_TRIES);
            let order = search.arrange(search.links());
            let part = order.advance_ns as f64 / most_ns as f64;
            // The first sweeps of all have a start that later ones have not.
            assert!((0.85..1.5).contains(&part), "{case}: {part}");
        }
    }

    /// Each link has its steps in one place, and fewer looks are needed than without loops, the more the more delays
    /// differ.
    #[test]
    fn loops_spare_looks() {
        let mut numbers = Pcg32::new(2, 1);
        for (decades, spared) in [(1.0, 1.1), (3.0, 0.6), (5.0, 0.4)] {
            let mut parts = Vec::new();
            for _ in 0..20 {
                let links = numbers.random_range(30..200);
                let (places, lookahead_ns) = random(&mut numbers, links, decades);
                let order = SweepOrder::new(&places, &lookahead_ns, true);
                let mut all = Vec::new();
                let mut note = |l| all.push(l);
                order
                    .steps
                    .iter()
                    .for_each(|step| step.each_link(&mut note));
                all.sort_unstable();
                assert_eq!(all, (0..links).collect::<Vec<_>>());
                let most_ns = shortest_cycle_ns(&places, &lookahead_ns);
                parts.push(order.visits_per_ns(0.0) * most_ns as f64 / f64::from(links));
            }
            parts.sort_by(f64::total_cmp);
            assert!(parts[10] < spared, "{decades}: {parts:?}");
        }
    }
}
