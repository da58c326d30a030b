//! In which order links have their turns.
//!
//! What a link waits for should have had its turn before, or be far away: then a sweep over all links brings all of them
//! far. Links wait for each other in cycles (there and back between two neighbours, say), and no order brings them farther
//! in a sweep than the shortest cycle is long. So links of short cycles have turns in a loop of their own, again and
//! again within one sweep over the others, whose cycles are longer; and loops are parts of longer loops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_pcg::Pcg32;

use crate::schedule::Place;
use crate::tcp::NEVER;

/// So many orders are tried, the more the fewer inputs there are: all tries together look at about so many.
const FEWEST_TRIES: usize = 8;
const MOST_TRIES: usize = 40;
const LOOKED_AT: usize = 60_000;
/// So many sweeps tell how far one goes.
const SWEEPS: u64 = 16;
/// Cycles that are shorter than so many sweeps without them make a loop of their own.
const SHORT: u64 = 2;
/// Loops have to spare so much of the looks, or they are not worth it.
const SPARED: f64 = 0.2;
/// A loop goes round at most so often before others have their turns: it may have come as far as they let it in ever
/// shorter steps.
const MOST_ROUNDS: u32 = 64;
/// Sweeps that go so far need not go farther.
const FAR_NS: u64 = 1_000_000_000;

/// Who has a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    Link(u32),
    /// These, again and again, as long as that brings one of them forward.
    Loop(Vec<Turn>),
}

/// Links in an order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub turns: Vec<Turn>,
    /// All of them, each once.
    pub links: Vec<u32>,
    /// How far a sweep brings all of them, if none has a queue.
    pub advance_ns: u64,
    /// To how many looks at links and ends one nanosecond comes then.
    pub looks_per_ns: f64,
}

/// Has all links of these turns act, in their order, by a function that says whether a link came forward, and how far
/// it has come. Whether any came forward, and how far the last of them is.
pub(crate) fn take_turns(turns: &[Turn], act: &mut impl FnMut(u32) -> (bool, u64)) -> (bool, u64) {
    let (mut came, mut least_ns) = (false, NEVER);
    for turn in turns {
        let (it_came, until_ns) = match turn {
            Turn::Link(l) => act(*l),
            Turn::Loop(inner) => {
                let first = take_turns(inner, act);
                let mut last = first;
                let mut rounds = 1;
                while last.0 && rounds < MOST_ROUNDS {
                    last = take_turns(inner, act);
                    rounds += 1;
                }
                (first.0, last.1)
            }
        };
        came |= it_came;
        least_ns = least_ns.min(until_ns);
    }
    (came, least_ns)
}

/// Only the turns of some links.
pub(crate) fn retain(turns: &mut Vec<Turn>, which: &impl Fn(u32) -> bool) {
    turns.retain_mut(|turn| match turn {
        Turn::Link(l) => which(*l),
        Turn::Loop(inner) => {
            retain(inner, which);
            !inner.is_empty()
        }
    });
}

impl Turn {
    fn each_link(&self, each: &mut impl FnMut(u32)) {
        match self {
            Turn::Link(l) => each(*l),
            Turn::Loop(inner) => inner.iter().for_each(|turn| turn.each_link(each)),
        }
    }
}

impl Order {
    /// An order of the links that anything arrives at, `ahead_ns` telling how much later what arrives at a link arrives
    /// behind it, at least.
    pub fn new(places: &[Place], ahead_ns: &[u64]) -> Order {
        let mut search = Search {
            places,
            ahead_ns,
            item_of: vec![NONE; places.len()],
            at_ns: vec![0; places.len()],
            random: Pcg32::new(0, 0),
        };
        let used = |l: &u32| !places[*l as usize].inputs.is_empty();
        let links = (0..places.len() as u32).filter(used);
        let mut order = search.arrange(links.map(Turn::Link).collect());
        while order.advance_ns < FAR_NS {
            let Some(next) = search.with_loops(&order) else {
                break;
            };
            if next.looks_per_ns > (1.0 - SPARED) * order.looks_per_ns {
                break;
            }
            order = next;
        }
        let links = &mut order.links;
        let mut note = |l| links.push(l);
        order
            .turns
            .iter()
            .for_each(|turn| turn.each_link(&mut note));
        order
    }
}

/// In none.
const NONE: u32 = u32::MAX;

/// An input of one of several items (links and loops) from another: link `k` of `from` feeds link `l` of `to`.
#[derive(Clone, Copy, Debug)]
struct Input {
    from: u32,
    to: u32,
    k: u32,
    l: u32,
}

struct Search<'a> {
    places: &'a [Place],
    ahead_ns: &'a [u64],
    /// By link: the item it belongs to, and how far it has come.
    item_of: Vec<u32>,
    at_ns: Vec<u64>,
    random: Pcg32,
}

impl Search<'_> {
    /// These items in the best order that is found.
    ///
    /// Far is meant as links see it that are ahead of others by what is ahead for them anyway. So each try looks at
    /// links from where the sweeps of the try before left them; if that was no better, from where a wave is that runs
    /// out from one of them.
    fn arrange(&mut self, items: Vec<Turn>) -> Order {
        let inputs = self.number(&items);
        let tries = (LOOKED_AT / inputs.len().max(1)).clamp(FEWEST_TRIES, MOST_TRIES);
        let mut best = Order::default();
        let mut best_order = Vec::new();
        let mut last_ns = 0;
        self.each_link(&items, |it, l| it.at_ns[l] = 0);
        for _ in 0..tries {
            let order = self.order(&items, &inputs);
            let (advance_ns, looks_per_ns) = self.sweep(&items, &order);
            if advance_ns > best.advance_ns || best_order.is_empty() {
                (best.advance_ns, best.looks_per_ns) = (advance_ns, looks_per_ns);
                best_order = order;
            }
            if advance_ns > last_ns {
                last_ns = advance_ns;
            } else if !items.is_empty() {
                last_ns = 0;
                self.start_wave(&items, &inputs);
            }
        }
        self.each_link(&items, |it, l| it.item_of[l] = NONE);
        let mut items: Vec<Option<Turn>> = items.into_iter().map(Some).collect();
        let in_order = best_order.iter().filter_map(|&i| items[i as usize].take());
        best.turns = in_order.collect();
        best
    }

    fn each_link(&mut self, items: &[Turn], mut each: impl FnMut(&mut Self, usize)) {
        for item in items {
            item.each_link(&mut |l| each(self, l as usize));
        }
    }

    /// Notes which item each link belongs to; what they have from each other.
    fn number(&mut self, items: &[Turn]) -> Vec<Input> {
        for (i, item) in (0..).zip(items) {
            item.each_link(&mut |l| self.item_of[l as usize] = i);
        }
        let mut inputs = Vec::new();
        for (to, item) in (0..).zip(items) {
            item.each_link(&mut |l| {
                for &k in &self.places[l as usize].after {
                    let from = self.item_of[k as usize];
                    if from != NONE && from != to {
                        inputs.push(Input { from, to, k, l });
                    }
                }
            });
        }
        inputs
    }

    /// Next is always the one whose nearest input that has not had its turn is farthest.
    fn order(&self, items: &[Turn], inputs: &[Input]) -> Vec<u32> {
        let mut inputs_of: Vec<Vec<(u64, u32)>> = vec![Vec::new(); items.len()];
        let mut next_of = vec![Vec::new(); items.len()];
        for input in inputs {
            let (k, l) = (input.k as usize, input.l as usize);
            let far_ns = (self.at_ns[k] + self.ahead_ns[k]).saturating_sub(self.at_ns[l]);
            inputs_of[input.to as usize].push((far_ns, input.from));
            next_of[input.from as usize].push(input.to);
        }
        for inputs in &mut inputs_of {
            // The nearest last.
            inputs.sort_unstable_by_key(|&input| Reverse(input));
        }
        let mut placed = vec![false; items.len()];
        let mut nearest = |i: u32, placed: &[bool]| {
            let inputs = &mut inputs_of[i as usize];
            while inputs
                .last()
                .is_some_and(|&(_, from)| placed[from as usize])
            {
                inputs.pop();
            }
            inputs.last().map_or(NEVER, |&(far_ns, _)| far_ns)
        };
        let mut heap: BinaryHeap<_> = (0..items.len() as u32)
            .map(|i| (nearest(i, &placed), Reverse(i)))
            .collect();
        let mut order = Vec::with_capacity(items.len());
        while let Some((_, Reverse(i))) = heap.pop() {
            if std::mem::replace(&mut placed[i as usize], true) {
                continue;
            }
            order.push(i);
            for &next in &next_of[i as usize] {
                if !placed[next as usize] {
                    heap.push((nearest(next, &placed), Reverse(next)));
                }
            }
        }
        order
    }

    /// Follows sweeps in this order from the start: how far one brings all links, and to how many looks a nanosecond
    /// comes.
    fn sweep(&mut self, items: &[Turn], order: &[u32]) -> (u64, f64) {
        self.each_link(items, |it, l| it.at_ns[l] = 0);
        let (mut least_ns, mut looks) = (0, 0);
        let Search {
            places,
            ahead_ns,
            item_of,
            at_ns,
            ..
        } = self;
        let mut act = |l: u32| {
            let place = &places[l as usize];
            let inputs = place.after.iter().map(|&k| k as usize);
            let inputs = inputs.filter(|&k| item_of[k] != NONE);
            let until_ns = inputs.map(|k| at_ns[k].saturating_add(ahead_ns[k])).min();
            let until_ns = until_ns.unwrap_or(NEVER / 2);
            looks += 1 + place.ends();
            let before_ns = std::mem::replace(&mut at_ns[l as usize], until_ns);
            (until_ns > before_ns, until_ns)
        };
        for _ in 0..SWEEPS {
            least_ns = NEVER;
            for &i in order {
                let turn = std::slice::from_ref(&items[i as usize]);
                least_ns = least_ns.min(take_turns(turn, &mut act).1);
            }
        }
        (
            least_ns / SWEEPS,
            looks as f64 / least_ns.clamp(1, NEVER / 2) as f64,
        )
    }

    /// From where a wave is that runs out from one of the items.
    fn start_wave(&mut self, items: &[Turn], inputs: &[Input]) {
        let next_of = self.next_of(items.len(), inputs);
        let from = self.random.random_range(0..items.len() as u32);
        let mut wave = Wave::new(items.len());
        wave.run(from, NEVER / 4, &next_of);
        for (i, item) in items.iter().enumerate() {
            let at_ns = wave.at_ns[i].min(NEVER / 4);
            item.each_link(&mut |l| self.at_ns[l as usize] = at_ns);
        }
    }

    /// By item: the next ones, and how far they are.
    fn next_of(&self, items: usize, inputs: &[Input]) -> Vec<Vec<(u32, u64)>> {
        let mut next_of = vec![Vec::new(); items];
        for input in inputs {
            next_of[input.from as usize].push((input.to, self.ahead_ns[input.k as usize]));
        }
        next_of
    }

    /// The same order with loops for those of its items that are on short cycles, if there are others.
    fn with_loops(&mut self, order: &Order) -> Option<Order> {
        let short_ns = order.advance_ns.saturating_mul(SHORT);
        let items = &order.turns;
        let inputs = self.number(items);
        let next_of = self.next_of(items.len(), &inputs);
        self.each_link(items, |it, l| it.item_of[l] = NONE);
        // By item: one of its group.
        let mut groups: Vec<u32> = (0..items.len() as u32).collect();
        let mut wave = Wave::new(items.len());
        let mut comes_back = vec![Vec::new(); items.len()];
        for (from, next) in (0..).zip(&next_of) {
            for &(to, ahead_ns) in next {
                comes_back[to as usize].push((from, ahead_ns));
            }
        }
        for i in 0..items.len() as u32 {
            wave.run(i, short_ns, &next_of);
            for &(from, ahead_ns) in &comes_back[i as usize] {
                if wave.at_ns[from as usize].saturating_add(ahead_ns) < short_ns {
                    let (a, b) = (group_of(&mut groups, from), group_of(&mut groups, i));
                    groups[a as usize] = b;
                }
            }
        }
        let mut members: Vec<Vec<Turn>> = vec![Vec::new(); items.len()];
        for (i, item) in (0..).zip(items) {
            members[group_of(&mut groups, i) as usize].push(item.clone());
        }
        members.retain(|members| !members.is_empty());
        if members.len() == 1 || members.len() == items.len() {
            return None;
        }
        let loops = members.into_iter().map(|mut members| match members.len() {
            1 => members.swap_remove(0),
            _ => Turn::Loop(self.arrange(members).turns),
        });
        let loops = loops.collect();
        Some(self.arrange(loops))
    }
}

/// The one that stands for the group of an item.
fn group_of(groups: &mut [u32], mut i: u32) -> u32 {
    while groups[i as usize] != i {
        groups[i as usize] = groups[groups[i as usize] as usize];
        i = groups[i as usize];
    }
    i
}

/// When what begins at one item comes to the others.
struct Wave {
    /// By item; never if it does not, or later than was asked for.
    at_ns: Vec<u64>,
    reached: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Wave {
    fn new(items: usize) -> Wave {
        Wave {
            at_ns: vec![NEVER; items],
            reached: Vec::new(),
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
            for &(next, ahead_ns) in &next_of[i as usize] {
                let then_ns = now_ns.saturating_add(ahead_ns);
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

    /// Links that wait for each other: a ring, and chords; delays of `decades` powers of ten.
    fn random(numbers: &mut Pcg32, links: u32, decades: f64) -> (Vec<Place>, Vec<u64>) {
        let places = (0..links).map(|l| {
            let mut after = vec![(l + links - 1) % links];
            for _ in 0..numbers.random_range(0..3) {
                let k = numbers.random_range(0..links);
                if !after.contains(&k) && k != l {
                    after.push(k);
                }
            }
            Place {
                inputs: after.clone(),
                after,
                ..Place::default()
            }
        });
        let places = places.collect();
        let ahead_ns = (0..links).map(|_| {
            let part: f64 = numbers.random_range(0.0..decades);
            (1e3 * 10_f64.powf(part)) as u64
        });
        (places, ahead_ns.collect())
    }

    fn shortest_cycle_ns(places: &[Place], ahead_ns: &[u64]) -> u64 {
        let mut next_of = vec![Vec::new(); places.len()];
        for (l, place) in (0..).zip(places) {
            for &k in &place.after {
                next_of[k as usize].push((l, ahead_ns[k as usize]));
            }
        }
        let mut wave = Wave::new(places.len());
        let cycle_ns = |from: usize| {
            wave.run(from as u32, NEVER, &next_of);
            let before = places[from].after.iter().map(|&k| k as usize);
            before.map(|k| wave.at_ns[k] + ahead_ns[k]).min()
        };
        let each = (0..places.len()).filter_map(cycle_ns);
        each.min().unwrap_or(NEVER)
    }

    /// Whatever the order, a sweep without loops cannot go farther than round the shortest cycle; the order that is
    /// found comes near to that.
    #[test]
    fn sweeps_go_nearly_as_far_as_they_can() {
        let mut numbers = Pcg32::new(1, 1);
        for case in 0..60 {
            let links = numbers.random_range(3..120);
            let (places, ahead_ns) = random(&mut numbers, links, 3.0);
            let most_ns = shortest_cycle_ns(&places, &ahead_ns);
            let mut search = Search {
                places: &places,
                ahead_ns: &ahead_ns,
                item_of: vec![NONE; places.len()],
                at_ns: vec![0; places.len()],
                random: Pcg32::new(0, 0),
            };
            let order = search.arrange((0..links).map(Turn::Link).collect());
            let part = order.advance_ns as f64 / most_ns as f64;
            // The first sweeps of all have a start that later ones have not.
            assert!((0.85..1.5).contains(&part), "{case}: {part}");
        }
    }

    /// Each link has its turns in one place, and fewer looks are needed than without loops, the more the more delays
    /// differ.
    #[test]
    fn loops_spare_looks() {
        let mut numbers = Pcg32::new(2, 1);
        for (decades, spared) in [(1.0, 0.8), (3.0, 0.6), (5.0, 0.4)] {
            let mut parts = Vec::new();
            for _ in 0..20 {
                let links = numbers.random_range(30..200);
                let (places, ahead_ns) = random(&mut numbers, links, decades);
                let order = Order::new(&places, &ahead_ns);
                let mut all = order.links.clone();
                all.sort_unstable();
                assert_eq!(all, (0..links).collect::<Vec<_>>());
                let most_ns = shortest_cycle_ns(&places, &ahead_ns);
                parts.push(order.looks_per_ns * most_ns as f64 / f64::from(links));
            }
            parts.sort_by(f64::total_cmp);
            println!("{decades}: {parts:.2?}");
            assert!(parts[10] < spared, "{decades}: {parts:?}");
        }
    }
}
