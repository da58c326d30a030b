//! Availability compared with closed forms, and with the enumeration of all states.

use std::collections::BTreeSet;

use netflow_network::{
    Change, ConnectionId, ConnectionSpec, EcmpShare, EventSpec, LinkId, LinkSpec, Network,
    NetworkBuilder, NodeId, Source,
};
use netflow_problems::{RandomNetwork, link, one_way, random_network};
use netflow_steady::{
    Availability, AvailabilityOptions, Demand, ProbabilityRange, SteadyError, availability, rows,
    solve,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Options for all states.
const ALL: AvailabilityOptions = AvailabilityOptions {
    served: 0.99,
    rest: 0.0,
    max_states: usize::MAX,
    sample: 0,
    seed: 1,
    steady: netflow_steady::SteadyOptions {
        tolerance: 1e-12,
        starts: 0,
        seed: 1,
    },
};

fn each_connection(network: &Network) -> Vec<Demand> {
    let ids = network.connections();
    ids.map(|id| Demand {
        name: network.connection_name(id).to_owned(),
        connections: vec![id],
    })
    .collect()
}

fn compute(network: &Network, options: &AvailabilityOptions) -> Availability {
    let demands = each_connection(network);
    let found = availability(network, f64::INFINITY, &demands, options, &|| false);
    found.unwrap().expect("it was not stopped")
}

fn assert_equal(found: ProbabilityRange, expected: f64, error: f64, what: &str) {
    for limit in [found.low, found.high] {
        assert!(
            (limit - expected).abs() <= error,
            "{what}: {found:?} instead of {expected}"
        );
    }
}

/// Adds a duplex link of 10 Mbit/s with this unavailability.
fn duplex(builder: &mut NetworkBuilder, from: NodeId, to: NodeId, p: f64) -> LinkId {
    let there = builder.link(link(from, to, 10e6, 1e-3, 100.0));
    let back = builder.link(link(to, from, 10e6, 1e-3, 100.0));
    builder.duplex(there, back);
    if p > 0.0 {
        // Either direction represents both.
        builder.link_unavailability(back, p);
    }
    there
}

/// Adds a demand of 100 packets/s of 1000 B.
fn demand(builder: &mut NetworkBuilder, name: &str, from: NodeId, to: NodeId) -> ConnectionId {
    builder.connection(one_way(name, from, to, Source::Poisson { rate_pps: 100.0 }))
}

/// Two disjoint paths of two links: one path of two works with probability (1 − p)² if nodes never fail.
#[test]
fn two_parallel_paths_have_the_availability_of_the_closed_form() {
    let p = 0.01;
    let mut builder = NetworkBuilder::new();
    let [s, a, b, t] = ["s", "a", "b", "t"].map(|name| builder.node(name));
    for (from, to) in [(s, a), (a, t), (s, b), (b, t)] {
        duplex(&mut builder, from, to, p);
    }
    demand(&mut builder, "s-t", s, t);
    let network = builder.build().unwrap();
    let found = compute(&network, &ALL);
    let path = (1.0 - p) * (1.0 - p);
    let unavailable = (1.0 - path) * (1.0 - path);
    assert_eq!((found.elements, found.states.most_probable), (4, 16));
    assert_equal(found.demands[0].unserved, unavailable, 1e-15, "unserved");
    assert_equal(found.demands[0].lost, unavailable, 1e-15, "lost");
    assert_equal(found.network.any_unserved, unavailable, 1e-15, "any");
    // The intact state alone bounds the result.
    let options = AvailabilityOptions {
        max_states: 1,
        ..ALL
    };
    let one = compute(&network, &options).demands[0].unserved;
    assert!((one.low - 0.0).abs() < 1e-15);
    assert!((one.high - (1.0 - path * path)).abs() < 1e-15);
}

/// A bundle of three members, of which two must work: it fails with two or three members. Traffic is divided again
/// among the members that work.
#[test]
fn bundle_has_the_availability_of_the_closed_form() {
    let p = 0.01;
    let mut builder = NetworkBuilder::new();
    let [s, t] = ["s", "t"].map(|name| builder.node(name));
    let members = [1, 2, 3].map(|i| {
        builder.link(LinkSpec {
            circuit: Some(i.to_string().into()),
            ..link(s, t, 10e6, 1e-3, 100.0)
        })
    });
    for member in members {
        builder.link_unavailability(member, p);
    }
    builder.bundle(&members, 2);
    let parts = builder.equal_paths().shares(s, t);
    let portions = EcmpShare::of_each(parts.iter().map(|part| part.share));
    for (i, (part, portion)) in parts.iter().zip(portions).enumerate() {
        let rate_pps = 100.0 * part.share;
        builder.connection(ConnectionSpec {
            flow: Some(part.flow),
            ecmp_share: Some(portion),
            ..one_way(&i.to_string(), s, t, Source::Constant { rate_pps })
        });
    }
    let network = builder.build().unwrap();
    let demand = Demand {
        name: "s-t".to_owned(),
        connections: network.connections().collect(),
    };
    let found = availability(&network, f64::INFINITY, &[demand], &ALL, &|| false);
    let found = found.unwrap().expect("it was not stopped");
    let unavailable = 3.0 * p * p * (1.0 - p) + p * p * p;
    assert_equal(found.demands[0].unserved, unavailable, 1e-15, "unserved");
    assert_equal(found.demands[0].lost, unavailable, 1e-9, "lost");
}

/// Two disjoint paths with nodes and a risk group of one link of each path.
#[test]
fn nodes_and_groups_have_the_availability_of_the_closed_form() {
    let (p, node, group) = (0.01, [0.001, 0.002, 0.003, 0.004], 0.005);
    let mut builder = NetworkBuilder::new();
    let [s, a, b, t] = ["s", "a", "b", "t"].map(|name| builder.node(name));
    let links = [(s, a), (a, t), (s, b), (b, t)];
    let links = links.map(|(from, to)| duplex(&mut builder, from, to, p));
    for (id, p) in [s, a, b, t].into_iter().zip(node) {
        builder.node_unavailability(id, p);
    }
    builder.risk_group("conduit", links[0]);
    builder.risk_group("conduit", links[3]);
    builder.group_unavailability("conduit", group);
    demand(&mut builder, "s-t", s, t);
    let found = compute(&builder.build().unwrap(), &ALL);
    let up = |i: usize| (1.0 - p) * (1.0 - p) * (1.0 - node[i]);
    let ends = (1.0 - node[0]) * (1.0 - node[3]);
    let network = (1.0 - group) * (1.0 - (1.0 - up(1)) * (1.0 - up(2)));
    let it = found.demands[0];
    assert_equal(it.unserved, 1.0 - ends * network, 1e-14, "unserved");
    let in_transit = ends * (1.0 - network);
    assert_equal(it.unserved_in_transit, in_transit, 1e-14, "in transit");
    assert!((it.end_failed - (1.0 - ends)).abs() < 1e-15);
    let all = found.network;
    assert_equal(all.lost_in_transit, in_transit, 1e-14, "lost in transit");
    assert!((all.lost_at_ends - (1.0 - ends)).abs() < 1e-15);
    assert_equal(all.lost, 1.0 - ends * network, 1e-14, "lost");
}

/// A demand that overloads the remaining path is partly delivered.
#[test]
fn overload_counts_as_loss() {
    let mut builder = NetworkBuilder::new();
    let [s, a, t] = ["s", "a", "t"].map(|name| builder.node(name));
    let direct = builder.link(link(s, t, 10e6, 1e-3, 100.0));
    builder.link_unavailability(direct, 0.1);
    builder.link(link(s, a, 2e6, 1e-3, 1000.0));
    builder.link(link(a, t, 10e6, 1e-3, 1000.0));
    let rate_pps = 1000.0; // 8 Mbit/s, of which 2 Mbit/s pass
    builder.connection(one_way("s-t", s, t, Source::Poisson { rate_pps }));
    let network = builder.build().unwrap();
    let found = compute(&network, &ALL);
    assert_equal(found.demands[0].unserved, 0.1, 1e-15, "unserved");
    assert_equal(found.demands[0].lost, 0.1 * 0.75, 1e-9, "lost");
    let lenient = AvailabilityOptions { served: 0.2, ..ALL };
    assert_equal(
        compute(&network, &lenient).demands[0].unserved,
        0.0,
        1e-15,
        "unserved",
    );
}

#[test]
fn impossible_requests_are_rejected() {
    let mut builder = NetworkBuilder::new();
    let [s, t] = ["s", "t"].map(|name| builder.node(name));
    let id = duplex(&mut builder, s, t, 0.0);
    demand(&mut builder, "s-t", s, t);
    let network = builder.build().unwrap();
    let compute = |network: &Network, options: &AvailabilityOptions| {
        availability(
            network,
            f64::INFINITY,
            &each_connection(network),
            options,
            &|| false,
        )
    };
    assert_eq!(compute(&network, &ALL), Err(SteadyError::NoUnavailability));
    for options in [
        AvailabilityOptions { served: 0.0, ..ALL },
        AvailabilityOptions { rest: 1.0, ..ALL },
        AvailabilityOptions {
            max_states: 0,
            ..ALL
        },
    ] {
        let refused = compute(&network, &options);
        assert!(matches!(refused, Err(SteadyError::BadOption { .. })));
    }
    let mut builder = network.to_builder();
    builder.link_unavailability(id, 1.0);
    let errors = builder.build().unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "link s->t: unavailability is 1, but must be at least 0 and below 1"
    );
    let mut builder = network.to_builder();
    builder.link_unavailability(id, 0.1);
    let network = builder.build().unwrap();
    let stopped = availability(
        &network,
        f64::INFINITY,
        &each_connection(&network),
        &ALL,
        &|| true,
    );
    assert_eq!(stopped, Ok(None));
}

/// Element of a random network: its links, its node, and its unavailability.
struct Element {
    links: Vec<LinkId>,
    node: Option<NodeId>,
    p: f64,
}

/// Returns a random network with `n` elements that can fail.
fn random_with_elements(seed: u64, n: usize) -> (Network, Vec<Element>) {
    let network = random_network(RandomNetwork {
        nodes: 6,
        links: 9,
        connections: 12,
        events: 0,
        duration_s: 10.0,
        seed,
        plain: true,
        windows: false,
    });
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let links: Vec<LinkId> = network.links().collect();
    let mut builder = network.to_builder();
    let mut rates = ChaCha8Rng::seed_from_u64(seed + 1000);
    builder.each_connection(|it| {
        (it.start_s, it.stop_s, it.size_pkts) = (0.0, None, None);
        let rate_pps = rates.random_range(10.0..400.0);
        it.source = Source::Poisson { rate_pps };
    });
    for pair in links.chunks(2) {
        builder.duplex(pair[0], pair[1]);
    }
    let group: BTreeSet<LinkId> = (0..3)
        .map(|_| links[rng.random_range(0..links.len())])
        .collect();
    for &id in &group {
        builder.risk_group("conduit", id);
    }
    let network = builder.build().unwrap();
    let duplexes = network.physical_links().map(|(id, other)| Element {
        links: [Some(id), other].into_iter().flatten().collect(),
        node: None,
        p: 0.0,
    });
    let nodes = network.nodes().map(|id| Element {
        links: network.links_at(id),
        node: Some(id),
        p: 0.0,
    });
    let mut all: Vec<Element> = duplexes.chain(nodes).collect();
    all.retain(|it| !it.links.is_empty());
    while all.len() > n - 1 {
        all.remove(rng.random_range(0..all.len()));
    }
    all.push(Element {
        links: group.into_iter().collect(),
        node: None,
        p: 0.0,
    });
    for it in &mut all {
        it.p = [0.001, 0.03, 0.2, 0.7][rng.random_range(0..4)] * rng.random_range(0.5..1.0);
    }
    let mut builder = network.to_builder();
    let last = all.len() - 1;
    for (i, it) in all.iter().enumerate() {
        match it.node {
            Some(id) => builder.node_unavailability(id, it.p),
            None if i == last => builder.group_unavailability("conduit", it.p),
            None => builder.link_unavailability(it.links[0], it.p),
        }
    }
    (builder.build().unwrap(), all)
}

/// Results of the enumeration of all states by events.
struct Enumerated {
    unserved: Vec<f64>,
    lost: Vec<f64>,
    in_transit: Vec<f64>,
    any: f64,
}

fn enumerate(network: &Network, elements: &[Element]) -> Enumerated {
    let ids: Vec<ConnectionId> = network.connections().collect();
    let intact = solve(network, f64::INFINITY, &ALL.steady).unwrap();
    let none = vec![0.0; ids.len()];
    let mut sums = Enumerated {
        unserved: none.clone(),
        lost: none.clone(),
        in_transit: none,
        any: 0.0,
    };
    for state in 0..1_u32 << elements.len() {
        let is_failed = |i: usize| state >> i & 1 == 1;
        let mut builder = network.to_builder();
        let (mut probability, mut nodes) = (1.0, Vec::new());
        for (i, it) in elements.iter().enumerate() {
            probability *= if is_failed(i) { it.p } else { 1.0 - it.p };
            if is_failed(i) {
                nodes.extend(it.node);
                for &link in &it.links {
                    let change = Change::Down;
                    builder.event(EventSpec {
                        at_s: 1.0,
                        link,
                        change,
                    });
                }
            }
        }
        let failed = builder.build().unwrap();
        let after = solve(&failed, f64::INFINITY, &ALL.steady).unwrap();
        let mut any = false;
        for (i, &id) in ids.iter().enumerate() {
            let rate_pps = intact.connection(id).rate_pps;
            if rate_pps == 0.0 {
                continue;
            }
            let delivered = after.connection(id).goodput_pps / rate_pps;
            let lost = (1.0 - delivered).max(0.0);
            let spec = network.connection_spec(id);
            sums.lost[i] += probability * lost;
            if delivered < ALL.served - 1e-8 {
                any = true;
                sums.unserved[i] += probability;
                if !nodes.contains(&spec.from) && !nodes.contains(&spec.to) {
                    sums.in_transit[i] += probability;
                }
            }
        }
        if any {
            sums.any += probability;
        }
    }
    sums
}

/// All states, and intervals of fewer states and of samples, compared with the enumeration by events.
#[test]
fn intervals_contain_the_result_of_all_states() {
    let (mut intervals, mut missed, mut partial) = (0, 0, 0);
    for seed in 0..12 {
        let (network, elements) = random_with_elements(seed, 7);
        let expected = enumerate(&network, &elements);
        let all = compute(&network, &ALL);
        assert_eq!(all.elements, elements.len());
        assert_eq!(all.states.most_probable, 1 << elements.len());
        assert_eq!(all.states.without_steady_state, 0);
        assert!(all.demands.len() > 5, "{}", all.demands.len());
        for it in &all.demands {
            let (i, what) = (it.demand, format!("network {seed}, demand {}", it.demand));
            assert_equal(it.unserved, expected.unserved[i], 1e-12, &what);
            assert_equal(it.unserved_in_transit, expected.in_transit[i], 1e-12, &what);
            assert_equal(it.lost, expected.lost[i], 1e-9, &what);
            partial += usize::from(it.lost.high < it.unserved.high - 1e-3);
        }
        assert_equal(all.network.any_unserved, expected.any, 1e-12, "any");
        for max_states in [1, 5, 20, 60] {
            for sample in [0, 50, 1000] {
                let options = AvailabilityOptions {
                    max_states,
                    sample,
                    seed,
                    ..ALL
                };
                let found = compute(&network, &options);
                assert_eq!(found.states.most_probable, max_states);
                assert_eq!(found.states.sampled, sample);
                let any = (found.network.any_unserved, expected.any);
                let each = found.demands.iter().flat_map(|it| {
                    let i = it.demand;
                    [
                        (it.unserved, expected.unserved[i]),
                        (it.unserved_in_transit, expected.in_transit[i]),
                        (it.lost, expected.lost[i]),
                    ]
                });
                for (range, truth) in each.chain([any]) {
                    let range = ProbabilityRange {
                        low: range.low - 1e-9,
                        high: range.high + 1e-9,
                    };
                    if sample == 0 {
                        assert!(range.contains(truth), "{range:?}: {truth}");
                    } else {
                        intervals += 1;
                        missed += usize::from(!range.contains(truth));
                    }
                }
            }
        }
    }
    assert!(partial > 5, "{partial}");
    assert!(intervals > 1000, "{intervals}");
    // At a confidence of 95 %; the intervals of one sample are correlated.
    assert!(missed * 100 < intervals * 7, "{missed} of {intervals}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let (network, _) = random_with_elements(3, 9);
    let options = AvailabilityOptions {
        max_states: 100,
        sample: 200,
        ..ALL
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| compute(&network, &options))
    };
    assert_eq!(on(1), on(4));
    let other_seed = AvailabilityOptions { seed: 2, ..options };
    assert_ne!(compute(&network, &other_seed).network, on(1).network);
}

/// Links of Google's B4 in 2013: S. Jain et al., "B4: Experience with a Globally-Deployed Software Defined WAN", ACM
/// SIGCOMM 2013, figure 1, as numbered in the data of J. Bogle et al., "TeaVaR", ACM SIGCOMM 2019, where each fails
/// with a probability of 0.004.
const B4: [(usize, usize); 19] = [
    (1, 2),
    (1, 3),
    (2, 5),
    (3, 4),
    (3, 6),
    (4, 5),
    (4, 7),
    (4, 8),
    (5, 6),
    (6, 7),
    (6, 8),
    (7, 8),
    (7, 11),
    (8, 10),
    (9, 10),
    (9, 11),
    (10, 11),
    (10, 12),
    (11, 12),
];

/// Without overload, the availability of a demand is the two-terminal reliability of its ends: the probability that
/// working links connect them. Here it is the sum over all 2¹⁹ states, each by reachability alone.
#[test]
fn demands_on_b4_have_its_two_terminal_reliability() {
    let p = 0.004;
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (1..=12).map(|i| builder.node(&i.to_string())).collect();
    for (from, to) in B4 {
        duplex(&mut builder, nodes[from - 1], nodes[to - 1], p);
    }
    let mut ends = Vec::new();
    for from in 0..12 {
        for to in (0..12).filter(|&to| to != from) {
            let name = format!("{}-{}", from + 1, to + 1);
            let rate_pps = 1.0;
            let it = one_way(&name, nodes[from], nodes[to], Source::Poisson { rate_pps });
            builder.connection(it);
            ends.push((from, to));
        }
    }
    let network = builder.build().unwrap();
    let mut disconnected = [[0.0; 12]; 12];
    let mut any = 0.0;
    for state in 0..1_u32 << 19 {
        let failed = state.count_ones() as i32;
        let probability = p.powi(failed) * (1.0 - p).powi(19 - failed);
        let mut of: [usize; 12] = std::array::from_fn(|i| i);
        for (i, (from, to)) in B4.into_iter().enumerate() {
            let (a, b) = (of[from - 1], of[to - 1]);
            if state >> i & 1 == 0 && a != b {
                of.iter_mut().filter(|it| **it == b).for_each(|it| *it = a);
            }
        }
        for (from, row) in disconnected.iter_mut().enumerate() {
            for (to, sum) in row.iter_mut().enumerate() {
                if of[from] != of[to] {
                    *sum += probability;
                }
            }
        }
        if of.iter().any(|it| *it != of[0]) {
            any += probability;
        }
    }
    let options = AvailabilityOptions::default();
    let found = compute(&network, &options);
    // Up to three failures, and some of four.
    assert_eq!(found.states.all_failures_up_to, 3);
    assert!(found.states.rest <= options.rest);
    assert!(found.states.most_probable < 1300);
    for (it, (from, to)) in found.demands.iter().zip(ends) {
        let expected = disconnected[from][to];
        let range = it.unserved;
        assert!(
            range.low <= expected && expected <= range.high,
            "{from}-{to}"
        );
        assert!(range.high - range.low <= 1e-6);
    }
    let found_any = found.network.any_unserved;
    assert!(found_any.low <= any && any <= found_any.high);
    // Rows are sorted by availability.
    let demands = each_connection(&network);
    let rows = rows::availability(&demands, &found, Some(0.9999));
    assert!(rows.is_sorted_by(|a, b| a.availability_min <= b.availability_min + 1e-12));
    let missed = |row: &rows::AvailabilityRow<'_>| row.slo == Some(rows::SloVerdict::Missed);
    let below = disconnected.iter().flatten().filter(|it| **it > 1e-4);
    assert_eq!(rows.iter().filter(|row| missed(row)).count(), below.count());
}

/// Elements and demands in another order give the same result.
#[test]
fn order_of_elements_does_not_change_the_result() {
    let build = |reversed: bool| {
        let mut builder = NetworkBuilder::new();
        let mut links = B4.to_vec();
        if reversed {
            links.reverse();
        }
        for (i, (from, to)) in links.into_iter().enumerate() {
            let [from, to] = [from, to].map(|it| builder.node(&it.to_string()));
            let place = if reversed { 18 - i } else { i };
            duplex(&mut builder, from, to, 0.001 * (place / 3 + 1) as f64);
        }
        let mut pairs = vec![(1, 12), (3, 9), (2, 11), (12, 1)];
        if reversed {
            pairs.reverse();
        }
        for (from, to) in pairs {
            let [from_id, to_id] = [from, to].map(|it: usize| builder.node(&it.to_string()));
            demand(&mut builder, &format!("{from}-{to}"), from_id, to_id);
        }
        builder.build().unwrap()
    };
    let options = AvailabilityOptions {
        max_states: 50,
        sample: 100,
        ..ALL
    };
    let (one, other) = (build(false), build(true));
    let (a, b) = (compute(&one, &options), compute(&other, &options));
    assert_eq!(a.states, b.states);
    for (x, y) in a.demands.iter().zip(b.demands.iter().rev()) {
        assert!((x.unserved.low - y.unserved.low).abs() < 1e-13);
        assert!((x.unserved.high - y.unserved.high).abs() < 1e-13);
    }
    assert!((a.network.lost.high - b.network.lost.high).abs() < 1e-12);
}
