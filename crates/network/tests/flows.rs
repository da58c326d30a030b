//! Tests of ECMP against per-node equal splitting.

use std::collections::HashMap;

use netflow_network::{
    Acks, ConnectionSpec, FlowHash, LinkSpec, MAX_PATHS, NetworkBuilder, NodeId, Source,
};
use netflow_problems::connection;
use proptest::prelude::*;

/// Cost of a link without length: less than any length, so that paths have no loops.
const NO_LENGTH: u64 = 1;
const LENGTH: u64 = 1 << 10;
const FAR: u64 = 1 << 40;

/// Returns the least path cost between all nodes (R. W. Floyd, CACM 5 (1962) 345).
fn min_path_costs(nodes: usize, cost: &HashMap<(usize, usize), u64>) -> Vec<Vec<u64>> {
    let mut least = vec![vec![FAR; nodes]; nodes];
    for (node, from) in least.iter_mut().enumerate() {
        from[node] = 0;
    }
    for (&(from, to), &cost) in cost {
        least[from][to] = cost;
    }
    for via in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                least[from][to] = least[from][to].min(least[from][via] + least[via][to]);
            }
        }
    }
    least
}

/// Returns the load of every link by one unit of traffic. Every node divides its load equally over all links
/// on paths of least cost.
fn link_loads(
    (from, to): (usize, usize),
    cost: &HashMap<(usize, usize), u64>,
    least: &[Vec<u64>],
) -> HashMap<(usize, usize), f64> {
    let mut at = vec![0.0; least.len()];
    at[from] = 1.0;
    let mut order: Vec<usize> = (0..least.len()).filter(|&v| least[v][to] < FAR).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(least[v][to]));
    let mut load = HashMap::new();
    for v in order {
        if v == to || at[v] == 0.0 {
            continue;
        }
        let tight = |&(&(a, b), &c): &(&(usize, usize), &u64)| {
            a == v && least[b][to] < FAR && least[v][to] == c + least[b][to]
        };
        let next: Vec<usize> = cost.iter().filter(tight).map(|((_, b), _)| *b).collect();
        for &b in &next {
            let part = at[v] / next.len() as f64;
            at[b] += part;
            *load.entry((v, b)).or_default() += part;
        }
    }
    load
}

/// Generates nodes, and links by their ends with metrics, many of them equal.
fn network() -> impl Strategy<Value = (usize, HashMap<(usize, usize), u64>)> {
    let links = prop::collection::vec((0..9_usize, 1..9_usize, 0..4_u64), 10..45);
    (4..10_usize, links).prop_map(|(nodes, links)| {
        let ends = |(from, step, metric): (usize, usize, u64)| {
            ((from % nodes, (from + step) % nodes), metric)
        };
        let links = links.into_iter().map(ends);
        (nodes, links.filter(|((from, to), _)| from != to).collect())
    })
}

fn builder(nodes: usize, metrics: &HashMap<(usize, usize), u64>) -> (NetworkBuilder, Vec<NodeId>) {
    let mut b = NetworkBuilder::new();
    let all: Vec<_> = (0..nodes).map(|i| b.node(&format!("N{i}"))).collect();
    let mut links: Vec<_> = metrics.iter().collect();
    links.sort();
    for (&(from, to), &metric) in links {
        b.link(LinkSpec {
            metric: Some(metric as f64),
            ..LinkSpec::new(all[from], all[to], 1e6)
        });
    }
    (b, all)
}

proptest! {
    /// Path shares equal per-node splitting, and each flow uses a path of least cost.
    #[test]
    fn nodes_split_equally_among_next_links((nodes, metrics) in network(), numbers in any::<[u64; 4]>()) {
        let cost = |metric: u64| if metric == 0 { NO_LENGTH } else { metric * LENGTH };
        let cost: HashMap<_, _> = metrics.iter().map(|(&ends, &m)| (ends, cost(m))).collect();
        let least = min_path_costs(nodes, &cost);
        let (mut b, all) = builder(nodes, &metrics);
        let mut paths = b.equal_paths();
        let mut parts = Vec::new();
        let mut flows = Vec::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|&to| to != from) {
                let shares = paths.shares(all[from], all[to]);
                prop_assert_eq!(shares.is_empty(), least[from][to] >= FAR);
                let mut add = |name: String, flow| {
                    let source = Source::Constant { rate_pps: 1.0 };
                    let spec = connection(&name, all[from], all[to], source);
                    b.connection(ConnectionSpec { flow: Some(flow), acks: Acks::None, ..spec })
                };
                let few = !shares.iter().any(|it| it.is_approximate);
                for (i, part) in shares.iter().enumerate() {
                    let id = add(format!("{from}-{to}/{i}"), part.flow);
                    parts.push((id, (from, to), part.share, few));
                }
                for (i, &number) in numbers.iter().enumerate().filter(|_| !shares.is_empty()) {
                    flows.push((add(format!("{from}-{to}:{i}"), FlowHash(number)), (from, to)));
                }
            }
        }
        let network = b.build().unwrap();
        let links = |id| {
            let specs = network.path(id).into_iter().map(|link| network.link_spec(link));
            specs.map(|it| (it.from.index(), it.to.index())).collect::<Vec<_>>()
        };
        let mut loads: HashMap<_, HashMap<_, f64>> = HashMap::new();
        for (id, ends, share, few) in parts {
            let of_ends = loads.entry(ends).or_default();
            for link in links(id) {
                *of_ends.entry(link).or_default() += if few { share } else { f64::NAN };
            }
        }
        for (ends, load) in loads.into_iter().filter(|(_, load)| !load.values().any(|x| x.is_nan())) {
            let expected = link_loads(ends, &cost, &least);
            prop_assert_eq!(load.len(), expected.len());
            for (link, load) in load {
                prop_assert!((load - expected[&link]).abs() < 1e-12, "{:?} {:?}", ends, link);
            }
        }
        for (id, (from, to)) in flows {
            let sum: u64 = links(id).iter().map(|link| cost[link]).sum();
            prop_assert_eq!(sum, least[from][to]);
        }
    }
}

proptest! {
    /// Dense layers of nodes have thousands of paths; a subset loads every link as all paths do.
    #[test]
    fn sampled_paths_load_links_like_all_paths(
        widths in prop::collection::vec(3..6_usize, 5..8),
        missing in prop::collection::vec(any::<bool>(), 200),
        thinned in 0.0..0.4_f64,
    ) {
        let mut firsts = vec![0, 1];
        widths.iter().for_each(|width| firsts.push(firsts[firsts.len() - 1] + width));
        let to = firsts[firsts.len() - 1];
        firsts.push(to + 1);
        let mut metrics = HashMap::new();
        let mut missing = missing.into_iter().enumerate();
        for layers in firsts.windows(3) {
            for (a, b) in (layers[0]..layers[1]).flat_map(|a| (layers[1]..layers[2]).map(move |b| (a, b))) {
                let goes = missing.next().is_some_and(|(i, missing)| missing && thinned * 10.0 > (i % 10) as f64);
                if !goes {
                    metrics.insert((a, b), 1);
                }
            }
        }
        let (mut b, all) = builder(to + 1, &metrics);
        let shares = b.equal_paths().shares(all[0], all[to]);
        for (i, part) in shares.iter().enumerate() {
            let spec = connection(&format!("{i}"), all[0], all[to], Source::Constant { rate_pps: 1.0 });
            b.connection(ConnectionSpec { flow: Some(part.flow), acks: Acks::None, ..spec });
        }
        let network = b.build().unwrap();
        let mut loads: HashMap<_, f64> = HashMap::new();
        for (id, part) in network.connections().zip(&shares) {
            prop_assert!(!part.is_approximate);
            for link in network.path(id) {
                let spec = network.link_spec(link);
                *loads.entry((spec.from.index(), spec.to.index())).or_default() += part.share;
            }
        }
        let cost: HashMap<_, _> = metrics.keys().map(|&ends| (ends, LENGTH)).collect();
        let expected = link_loads((0, to), &cost, &min_path_costs(to + 1, &cost));
        prop_assert!(shares.len() <= expected.len().max(MAX_PATHS));
        prop_assert_eq!(loads.len(), expected.len());
        for (link, load) in loads {
            prop_assert!((load - expected[&link]).abs() < 1e-10, "{:?}: {} {}", link, load, expected[&link]);
        }
    }
}

/// Returns a ladder of squares, each of which doubles the number of paths.
fn ladder(squares: usize) -> (NetworkBuilder, NodeId, NodeId) {
    let mut metrics = HashMap::new();
    for square in 0..squares {
        let [a, b, c, d] = [3 * square, 3 * square + 1, 3 * square + 2, 3 * square + 3];
        metrics.extend([(a, b), (a, c), (b, d), (c, d)].map(|ends| (ends, 1)));
    }
    let (b, all) = builder(3 * squares + 1, &metrics);
    (b, all[0], all[3 * squares])
}

#[test]
fn enough_flows_load_all_paths_equally() {
    let (b, from, to) = ladder(2);
    let flows = b.equal_paths().flows(from, to, "all", 4000);
    assert_eq!(flows.len(), 4);
    assert_eq!(flows.iter().map(|it| it.1).sum::<u32>(), 4000);
    // Binomial: 1000 with a standard deviation of 27.
    assert!(
        flows.iter().all(|it| it.1.abs_diff(1000) < 110),
        "{flows:?}"
    );
    let other = b.equal_paths().flows(from, to, "another", 4000);
    assert_ne!(flows, other);
}

#[test]
fn very_many_flows_are_split_exactly() {
    let (b, from, to) = ladder(3);
    let flows = b.equal_paths().flows(from, to, "all", 1_000_001);
    assert_eq!(flows.iter().map(|it| it.1).sum::<u32>(), 1_000_001);
    assert!(
        flows.iter().all(|it| it.1.abs_diff(125_000) <= 1),
        "{flows:?}"
    );
}

#[test]
fn very_many_paths_are_sampled() {
    // Two of a million paths give the same link loads as all.
    let (b, from, to) = ladder(20);
    let shares = b.equal_paths().shares(from, to);
    assert_eq!(
        shares.iter().map(|it| it.share).collect::<Vec<_>>(),
        [0.5, 0.5]
    );
    // More paths than hashes.
    let (b, from, to) = ladder(70);
    let shares = b.equal_paths().shares(from, to);
    assert_eq!(shares.len(), MAX_PATHS);
    assert!(shares.iter().all(|it| it.is_approximate));
    assert!((shares.iter().map(|it| it.share).sum::<f64>() - 1.0).abs() < 1e-12);
}
