//! Processing order of links and order of sums. It depends on the properties of links and connections, never
//! on their rows or names, so reordered input gives the same bits.

use std::collections::HashMap;

use netflow_network::canonical_order::canonical_keys;
use netflow_network::compiled::{CompiledNetwork, PathPair};
use netflow_network::hash::fnv_hash;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

/// Order of links, and of their traffic.
pub(crate) struct LinkOrder {
    /// Links with traffic in processing order, then the others.
    pub links: Vec<u32>,
    /// Component of every link: one of its links.
    pub component_of: Vec<u32>,
    /// Level of every link.
    pub level_of: Vec<u32>,
    /// Links with the same turn as a link that feeds them. All links of such a level must take their arrivals
    /// before any of them forwards.
    pub tied: Vec<bool>,
    /// Position of every branch in sums.
    pub branch_rank: Vec<u32>,
    /// Hash that is equal for networks with the same links and connections, row by row.
    pub fingerprint: u64,
}

/// Pair of links of which the first feeds the second. A link that is processed before its feeder sees those
/// packets one step late if the delay between them is shorter than a step. Therefore feeds that only turn
/// data into acknowledgements are ignored first, then those with long delays.
#[derive(Clone, Copy, Debug)]
struct Feed {
    from: u32,
    to: u32,
    importance: FeedPriority,
}

/// Priority of a feed: data before acknowledgements, then the shorter delay.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FeedPriority {
    data: bool,
    delay_s: f64,
}

impl FeedPriority {
    fn cmp(&self, other: &FeedPriority) -> std::cmp::Ordering {
        let by_delay = other.delay_s.total_cmp(&self.delay_s);
        self.data.cmp(&other.data).then(by_delay)
    }
}

impl LinkOrder {
    /// Computes the order from the `used` paths. Other paths only order links that are otherwise unused.
    /// Links of a component are consecutive.
    pub(super) fn new(
        inner: &CompiledNetwork,
        ways: &[PathPair<'_>],
        used: &[bool],
        component_of: Vec<u32>,
    ) -> LinkOrder {
        let n = inner.links.len();
        let crossed_by = |which: bool| -> Vec<bool> {
            let ways = ways.iter().zip(used).filter(|(_, used)| **used == which);
            let mut crossed = vec![false; n];
            for link in ways.flat_map(|(way, _)| way.links()) {
                crossed[link as usize] = true;
            }
            crossed
        };
        let (by_used, by_others) = (crossed_by(true), crossed_by(false));
        let all: Vec<u32> = (0..n as u32).filter(|&l| by_used[l as usize]).collect();
        let spare = |l: u32| by_others[l as usize] && !by_used[l as usize];
        let mut turns: Vec<Vec<u32>> = vec![Vec::new(); n];
        let used_ways = || ways.iter().zip(used).filter(|(_, used)| **used);
        let mut feeds = feeds(inner, used_ways().map(|(way, _)| way));
        take_turns(&all, feeds.clone(), &mut turns);
        let spares: Vec<u32> = (0..n as u32).filter(|&l| spare(l)).collect();
        let mut others = Vec::new();
        if by_others.contains(&true) {
            others = self::feeds(inner, ways.iter());
            // After all used links.
            spares
                .iter()
                .for_each(|&l| turns[l as usize].push(u32::MAX));
            let among = others.iter().filter(|f| spare(f.from) && spare(f.to));
            take_turns(&spares, among.copied().collect(), &mut turns);
            feeds.extend(others.iter().filter(|f| spare(f.to)));
        }

        let mut order = [all, spares].concat();
        order.sort_by(|&a, &b| turns[a as usize].cmp(&turns[b as usize]));
        let mut level_of = vec![0_u32; n];
        let mut inputs: HashMap<u32, Vec<u32>> = HashMap::new();
        for feed in &feeds {
            if turns[feed.from as usize] < turns[feed.to as usize] {
                inputs.entry(feed.to).or_default().push(feed.from);
            }
        }
        for &link in &order {
            let before = inputs.get(&link).into_iter().flatten();
            level_of[link as usize] = before
                .map(|&from| level_of[from as usize] + 1)
                .max()
                .unwrap_or(0);
        }
        let mut tied = vec![false; n];
        for feed in &feeds {
            let same = turns[feed.from as usize] == turns[feed.to as usize];
            tied[feed.to as usize] |= same && feed.from != feed.to;
        }
        for feed in others.iter().filter(|feed| feed.from != feed.to) {
            // It has the same turn, or may be later in the level.
            tied[feed.to as usize] |= level_of[feed.from as usize] == level_of[feed.to as usize];
        }
        let (link_keys, branch_keys) = canonical_keys(inner, ways, used);
        // Components are in the order of their first links.
        let mut first_of = vec![(u64::MAX, u32::MAX); n];
        for &link in &order {
            let first = &mut first_of[component_of[link as usize] as usize];
            *first = (*first).min((link_keys[link as usize], link));
        }
        // A link fed late by one of its level precedes it.
        order.sort_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            let component = |l: usize| first_of[component_of[l] as usize];
            let by_component = component(a).cmp(&component(b));
            let by_turn = (level_of[a], &turns[a]).cmp(&(level_of[b], &turns[b]));
            let by_key = (link_keys[a], a).cmp(&(link_keys[b], b));
            by_component.then(by_turn).then(by_key)
        });
        order.extend((0..n as u32).filter(|&l| !by_used[l as usize] && !spare(l)));

        let mut branches: Vec<u32> = (0..ways.len() as u32).collect();
        branches.sort_by_key(|&b| (branch_keys[b as usize], b));
        let mut branch_rank = vec![0; ways.len()];
        for (rank, &b) in branches.iter().enumerate() {
            branch_rank[b as usize] = rank as u32;
        }
        let fingerprint = fnv_hash((
            (&link_keys, &branch_keys),
            (&inner.class_of, &inner.path_links),
            format!("{:?}", inner.shared_links),
        ));
        LinkOrder {
            fingerprint,
            links: order,
            component_of,
            level_of,
            tied,
            branch_rank,
        }
    }
}

/// Returns the feeds between links, each pair once.
fn feeds<'a>(inner: &CompiledNetwork, ways: impl Iterator<Item = &'a PathPair<'a>>) -> Vec<Feed> {
    let mut known: HashMap<(u32, u32), bool> = HashMap::new();
    for way in ways {
        let links: Vec<u32> = way.links().collect();
        for (i, pair) in links.windows(2).enumerate() {
            let data = i + 1 < way.data.len();
            *known.entry((pair[0], pair[1])).or_insert(false) |= data;
        }
    }
    let delays_s = inner.delays_at_s(0.0);
    let feed = |((from, to), data)| Feed {
        from,
        to,
        importance: FeedPriority {
            data,
            delay_s: delays_s[from as usize],
        },
    };
    let mut feeds: Vec<Feed> = known.into_iter().map(feed).collect();
    feeds.sort_by(|a, b| {
        a.importance
            .cmp(&b.importance)
            .then((a.from, a.to).cmp(&(b.from, b.to)))
    });
    feeds
}

/// Assigns a turn to every link of `links`, compared lexicographically. `feeds` are those between them, the
/// least important first. Without cycles this is a topological order. In a cycle (strongly connected
/// component) the less important half of the feeds is ignored, repeatedly. If all are equally important, all
/// links have the same turn.
fn take_turns(links: &[u32], feeds: Vec<Feed>, turns: &mut [Vec<u32>]) {
    if links.len() < 2 {
        return;
    }
    let rank: HashMap<u32, u32> = links.iter().copied().zip(0..).collect();
    let mut graph: DiGraph<(), (), u32> = DiGraph::with_capacity(links.len(), feeds.len());
    links.iter().for_each(|_| {
        graph.add_node(());
    });
    graph.extend_with_edges(feeds.iter().map(|f| (rank[&f.from], rank[&f.to])));
    let components = kosaraju_scc(&graph);
    let mut component_of = vec![0_u32; links.len()];
    for (c, component) in components.iter().enumerate() {
        for node in component {
            component_of[node.index()] = c as u32;
        }
    }
    let of = |link: u32| component_of[rank[&link] as usize];
    // Components are in reverse topological order.
    let mut inputs: Vec<Vec<u32>> = vec![Vec::new(); components.len()];
    for feed in &feeds {
        if of(feed.from) != of(feed.to) {
            inputs[of(feed.to) as usize].push(of(feed.from));
        }
    }
    let mut level = vec![0_u32; components.len()];
    for c in (0..components.len()).rev() {
        let before = inputs[c].iter().map(|&from| level[from as usize] + 1);
        level[c] = before.max().unwrap_or(0);
    }
    let mut within: Vec<Vec<Feed>> = vec![Vec::new(); components.len()];
    for feed in feeds {
        if of(feed.from) == of(feed.to) {
            within[of(feed.from) as usize].push(feed);
        }
    }
    for ((component, feeds), level) in components.iter().zip(within).zip(level) {
        let members: Vec<u32> = component.iter().map(|node| links[node.index()]).collect();
        for &link in &members {
            turns[link as usize].push(level);
        }
        take_turns(&members, without_the_least(feeds), turns);
    }
}

/// Removes the less important half of the feeds, and those of equal importance.
fn without_the_least(feeds: Vec<Feed>) -> Vec<Feed> {
    let Some(most) = feeds.len().checked_sub(1) else {
        return feeds;
    };
    let middle = feeds[most / 2].importance;
    let end = feeds.partition_point(|f| f.importance.cmp(&middle).is_le());
    feeds[end..].to_vec()
}
