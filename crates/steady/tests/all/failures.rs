//! Failures, compared with networks built without the failed elements, and with runs in which they
//! fail.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use netflow_network::{
    Acks, Change, ConnectionId, ConnectionSpec, EcmpShare, EcmpWeights, EventSpec, LinkId,
    LinkSpec, Network, NetworkBuilder, NodeId, Rerouter, Source,
};
use netflow_problems::{
    RandomNetwork, connection, link, one_way, random_network, with_parallel_links,
};
use netflow_steady::{
    AffectedConnection, Failing, FailureCase, FailureKind, FailureOptions, Failures, ImpactKind,
    SLOWDOWN_THRESHOLD, Solver, Steady, SteadyError, SteadyOptions, TransferTimes, failures, solve,
};
use netflow_workload::{Distribution, TransferSizes};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::networks::{random_bulk_network, with_buffers_in_bytes, with_tcps};
use crate::settled_runs::{FIRST_S, RATES, TCPS, loses_acks, settle};

fn analyse(network: &Network, options: &FailureOptions) -> Failures {
    let found = failures(network, f64::INFINITY, options, &|| false);
    found.unwrap().expect("it was not stopped")
}

/// Random network with permanently active connections, half of its links declared duplex, and three
/// risk groups.
fn random_network_with_risk_groups(seed: u64) -> Network {
    let network = random_network(RandomNetwork {
        nodes: 8,
        links: 13,
        connections: 25,
        events: 0,
        duration_s: 10.0,
        seed,
        plain: false,
        windows: false,
    });
    let links: Vec<LinkId> = network.links().collect();
    let mut builder = network.to_builder();
    builder.each_connection(|it| {
        (it.start_s, it.stop_s, it.size_pkts) = (0.0, None, None);
    });
    // Links are added in pairs.
    for pair in links.chunks(4) {
        builder.duplex(pair[0], pair[1]);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
    for name in ["conduit", "bridge", "supply"] {
        for _ in 0..3 {
            builder.risk_group(name, links[rng.random_range(0..links.len())]);
        }
    }
    builder.build().unwrap()
}

/// Returns the links that a case takes down, derived from the failed elements alone.
fn failed_links(network: &Network, case: &FailureCase) -> HashSet<LinkId> {
    let of = |failing: &Failing| -> Vec<LinkId> {
        match *failing {
            Failing::Link(id) => network
                .opposite_direction(id)
                .into_iter()
                .chain([id])
                .collect(),
            Failing::Node(node) => {
                let at = |spec: &LinkSpec| spec.from == node || spec.to == node;
                let all = network.links();
                all.filter(|&id| at(network.link_spec(id))).collect()
            }
            Failing::Group(place) => network.risk_groups().nth(place).unwrap().1,
        }
    };
    case.failing.iter().flat_map(of).collect()
}

/// Network built without the given links, and without the connections that lose their route, or
/// their required return path.
struct ReducedNetwork {
    network: Network,
    blocked: HashSet<String>,
}

fn remove_links(network: &Network, down: &HashSet<LinkId>) -> ReducedNetwork {
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<NodeId> = network
        .nodes()
        .map(|id| builder.node(network.node_name(id)))
        .collect();
    let here = |id: NodeId| nodes[id.index()];
    let mut leads: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for id in network.links().filter(|id| !down.contains(id)) {
        let spec = network.link_spec(id);
        leads.entry(spec.from).or_default().push(spec.to);
        builder.link(LinkSpec {
            from: here(spec.from),
            to: here(spec.to),
            ..spec.clone()
        });
    }
    let reaches = |from: NodeId, to: NodeId| {
        let (mut seen, mut next) = (HashSet::from([from]), vec![from]);
        while let Some(at) = next.pop() {
            let further = leads.get(&at).into_iter().flatten().copied();
            next.extend(further.filter(|&node| seen.insert(node)));
        }
        seen.contains(&to)
    };
    let mut blocked = HashSet::new();
    for id in network.connections() {
        let spec = network.connection_spec(id);
        let answered = matches!(spec.source, Source::Profile(_)) || spec.acks != Acks::None;
        if !reaches(spec.from, spec.to) || (answered && !reaches(spec.to, spec.from)) {
            blocked.insert(spec.name.clone());
            continue;
        }
        builder.connection(ConnectionSpec {
            from: here(spec.from),
            to: here(spec.to),
            ..spec.clone()
        });
    }
    ReducedNetwork {
        network: builder.build().unwrap(),
        blocked,
    }
}

/// Loads, losses and demanded bit/s by link; delays and goodputs by connection.
struct SteadyValues {
    load: HashMap<String, f64>,
    loss: HashMap<String, f64>,
    load_bps: HashMap<String, f64>,
    delay_s: HashMap<String, f64>,
    goodput_bps: HashMap<String, f64>,
}

fn steady_values(network: &Network, steady: &Steady) -> SteadyValues {
    let links = |value: fn(&netflow_steady::LinkSteady) -> f64| {
        let all = network.links();
        all.map(|id| (network.link_name(id).to_owned(), value(steady.link(id))))
            .collect()
    };
    let connections = |value: fn(&ConnectionSpec, &netflow_steady::ConnectionSteady) -> f64| {
        let all = network.connections();
        all.map(|id| {
            let spec = network.connection_spec(id);
            (spec.name.clone(), value(spec, steady.connection(id)))
        })
        .collect()
    };
    SteadyValues {
        load: links(|it| it.load),
        loss: links(|it| it.loss_probability),
        load_bps: links(|it| it.load_bps),
        delay_s: connections(|_, it| it.delay_s),
        goodput_bps: connections(|spec, it| 8.0 * spec.packet_size_bytes * it.goodput_pps),
    }
}

fn max_value(of: &HashMap<String, f64>) -> f64 {
    of.values().copied().fold(0.0, f64::max)
}

#[track_caller]
fn assert_near(is: f64, should: f64, what: &str) {
    let error = (is - should).abs() / (1e-9 + should.abs());
    assert!(error < 1e-6, "{what}: {is} instead of {should}");
}

/// Counts of compared cases.
#[derive(Debug, Default)]
struct ComparisonCounts {
    cases: usize,
    /// Cases in which connections lose their route, and other cases.
    blocked: usize,
    rerouted: usize,
    /// Networks and failures without a steady state.
    restless: usize,
    /// Links with a load above 1 in some case.
    overloaded: usize,
}

/// Compares every failure of a network with the network built without the failed elements, whose
/// routes, classes and steady state are computed from the start.
fn compare_with_networks_without_failed_links(
    name: &str,
    network: &Network,
    compared: &mut ComparisonCounts,
) {
    let found = failures(network, 1e9, &FailureOptions::default(), &|| false);
    let Ok(Some(found)) = found else {
        compared.restless += 1;
        return;
    };
    let intact = steady_values(network, &found.intact);
    let mut busiest = intact.load.clone();
    let mut busiest_bps = intact.load_bps.clone();
    let what = |case: &FailureCase, of: &str| format!("{name}, {:?}: {of}", case.failing);
    for case in &found.cases {
        let without = remove_links(network, &failed_links(network, case));
        let options = SteadyOptions::default();
        let (after, steady) = match (&case.outcome, solve(&without.network, 1e9, &options)) {
            (Ok(after), Ok(steady)) => (after, steady),
            // If one start does not converge, neither does the other.
            (Err(_), Err(_)) => {
                compared.restless += 1;
                continue;
            }
            (a, b) => panic!("{name}: {a:?} instead of {b:?}"),
        };
        assert!(after.residual <= options.tolerance);
        let should = steady_values(&without.network, &steady);
        assert_near(
            after.worst.load.map_or(0.0, |it| it.1),
            max_value(&should.load),
            &what(case, "load"),
        );
        assert_near(
            after.worst.loss.map_or(0.0, |it| it.1),
            max_value(&should.loss),
            &what(case, "loss"),
        );
        assert_near(
            after.worst.delay_s.map_or(0.0, |it| it.1),
            max_value(&should.delay_s),
            &what(case, "delay"),
        );
        assert_near(
            after.goodput_bps,
            should.goodput_bps.values().sum(),
            &what(case, "goodput"),
        );
        assert_near(
            after.lost_bps + after.goodput_bps,
            found.intact.totals.goodput_bps,
            &what(case, "lost"),
        );
        let busy = should.load.values().filter(|it| **it > 0.90005).count();
        assert_eq!(after.worst.busy_links, busy);
        for (all, of_case) in [
            (&mut busiest, &should.load),
            (&mut busiest_bps, &should.load_bps),
        ] {
            for (link, at) in of_case {
                let most = all.get_mut(link).unwrap();
                *most = most.max(*at);
            }
        }
        let ids = network.connections();
        let gone = ids.filter(|&id| without.blocked.contains(network.connection_name(id)));
        let gone: Vec<_> = gone.collect();
        let count = |id| u64::from(network.connection_spec(id).count);
        assert_eq!(case.blocked, gone.iter().map(|&id| count(id)).sum::<u64>());
        let bps = gone
            .iter()
            .map(|&id| intact.goodput_bps[network.connection_name(id)]);
        assert_near(case.blocked_bps, bps.sum(), &what(case, "blocked"));
        let lost = |(name, before): (&String, &f64)| match before {
            0.0 => 0.0,
            before => 1.0 - should.goodput_bps.get(name).unwrap_or(&0.0) / before,
        };
        let hardest = intact.goodput_bps.iter().map(lost).fold(0.0, f64::max);
        let is = after.worst_affected.map_or(0.0, |it| it.1);
        assert!((is - hardest).abs() < 1e-6, "{}", what(case, "hit"));
        compared.cases += 1;
        compared.blocked += usize::from(case.blocked > 0);
        compared.rerouted += usize::from(case.blocked == 0);
    }
    for (id, link) in network.links().zip(&found.links) {
        let (of, name) = (name, network.link_name(id));
        // Smaller increases of the load do not count.
        let error = (link.max_load - busiest[name]).abs();
        assert!(error < 1.1e-6, "{of}, {name}: {error}");
        assert_near(link.intact_load, intact.load[name], name);
        if busiest[name] > 1.0 {
            compared.overloaded += 1;
            assert_near(link.load_bps, busiest_bps[name], name);
        }
    }
}

/// Seeds with a failure after which there are three steady states; the starting point selects one.
const SEVERAL: [u64; 2] = [19, 49];

/// On 50 random networks.
#[test]
fn failure_equals_network_without_failed_elements() {
    let mut compared = ComparisonCounts::default();
    for seed in (0..52).filter(|seed| !SEVERAL.contains(seed)) {
        compare_with_networks_without_failed_links(
            &format!("seed {seed}"),
            &random_network_with_risk_groups(seed),
            &mut compared,
        );
    }
    println!("{compared:?}");
    assert!(compared.overloaded > 30);
    assert!(compared.cases > 1400 && compared.blocked > 300 && compared.rerouted > 300);
}

/// Grid of 4 × 4 nodes with links of equal cost, some with a parallel link, without the given
/// links. Each of twelve demands is split among all equal-cost paths, for odd seeds by capacity.
fn grid(seed: u64, without: &[usize]) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
    let mut builder = NetworkBuilder::new();
    if seed % 2 == 1 {
        builder.ecmp_weights(EcmpWeights::Capacity);
    }
    let nodes: Vec<NodeId> = (0..16).map(|i| builder.node(&format!("n{i}"))).collect();
    let beside = |&(a, b): &(usize, usize)| b == a + 4 || (b == a + 1 && b % 4 != 0);
    let pairs = (0..16).flat_map(|a| (a + 1..16).map(move |b| (a, b)));
    let mut number = 0;
    for (a, b) in pairs.filter(beside) {
        let circuits = [None, rng.random_bool(0.2).then_some("2")];
        for circuit in circuits
            .into_iter()
            .take(if circuits[1].is_some() { 2 } else { 1 })
        {
            for (from, to) in [(a, b), (b, a)] {
                let bps = rng.random_range(30e6..90e6);
                if !without.contains(&number) {
                    builder.link(LinkSpec {
                        metric: Some(1.0),
                        circuit: circuit.map(Into::into),
                        ..link(nodes[from], nodes[to], bps, 1e-3, 100.0)
                    });
                }
                number += 1;
            }
        }
    }
    let mut equal = builder.equal_paths();
    for demand in 0..12 {
        let from = rng.random_range(0..16);
        let to = (from + rng.random_range(1..16)) % 16;
        let pps = rng.random_range(100.0..2000.0);
        // Half of them are transfers.
        let (mean, most) = (rng.random_range(20e3..2e6), f64::INFINITY);
        let size = Distribution::Exponential { mean, most };
        let transfers = Arc::new(TransferSizes::new(size, 1460.0, 10.0));
        let transfers = rng.random_bool(0.5).then_some(transfers);
        let paths = equal.shares(nodes[from], nodes[to]);
        let portions = EcmpShare::of_each(paths.iter().map(|path| path.share));
        for (part, (path, portion)) in paths.iter().zip(portions).enumerate() {
            let rate_pps = pps * path.share;
            let name = format!("d{demand}/{part}");
            let spec = one_way(&name, nodes[from], nodes[to], Source::Poisson { rate_pps });
            builder.connection(ConnectionSpec {
                flow: Some(path.flow),
                ecmp_share: Some(portion),
                transfers: transfers.clone(),
                ..spec
            });
        }
    }
    builder.build().unwrap()
}

/// Returns the totals of all parts of each demand: goodput in packets/s, mean delay, and mean
/// transfer times, unloaded and with all traffic.
fn by_demand(network: &Network, solver: &Solver, steady: &Steady) -> HashMap<String, [f64; 4]> {
    let mut all: HashMap<String, ([f64; 4], f64)> = HashMap::new();
    let transfers = |id| Some((id, network.connection_spec(id).transfers.as_deref()?));
    let transfers: Vec<_> = network.connections().filter_map(transfers).collect();
    let times = solver.transfer_times(steady, &transfers).into_iter();
    let times = transfers.iter().map(|(id, _)| *id).zip(times);
    let times: HashMap<ConnectionId, Option<TransferTimes>> = times.collect();
    for id in network.connections() {
        let it = steady.connection(id);
        let (demand, _) = network.connection_name(id).split_once('/').unwrap();
        let ([goodput_pps, waited, alone, beside], rate_pps) =
            all.entry(demand.to_owned()).or_default();
        *goodput_pps += it.goodput_pps;
        *waited += it.goodput_pps * it.delay_s;
        *rate_pps += it.rate_pps;
        if let Some(Some(times)) = times.get(&id) {
            *alone += it.rate_pps * times.unloaded_s;
            *beside += it.rate_pps * times.mean_s;
        }
    }
    let means = |([goodput_pps, waited, alone, beside], rate_pps): ([f64; 4], f64)| {
        let sent = rate_pps.max(f64::MIN_POSITIVE);
        let delay_s = waited / goodput_pps.max(f64::MIN_POSITIVE);
        [goodput_pps, delay_s, alone / sent, beside / sent]
    };
    all.into_iter()
        .map(|(name, it)| (name, means(it)))
        .collect()
}

/// Traffic on equal-cost paths is split after a failure of one or two links as in the network built
/// without them. The first failure may be an event. Once a part moved as a whole, and one of two
/// links had all of it.
#[test]
fn ecmp_traffic_is_split_again_after_failure() {
    let (mut cases, mut divided, mut times) = (0, 0, 0);
    for seed in 0..12 {
        let network = grid(seed, &[]);
        let detours = Rerouter::new(&network, 1e9);
        let links: Vec<LinkId> = network.links().collect();
        for first in 0..links.len() {
            for failed in [vec![first], vec![first, (7 * first + 3) % links.len()]] {
                let ids: Vec<LinkId> = failed.iter().map(|&i| links[i]).collect();
                let routes = detours.reroute_around(&ids);
                let parts = routes.reroutes.iter().map(|it| it.paths.len());
                divided += usize::from(parts.max() > Some(1));
                // The first link fails earlier, by an event.
                let mut builder = network.to_builder();
                builder.event(EventSpec {
                    at_s: 1.0,
                    link: ids[0],
                    change: Change::Down,
                });
                let later = builder.build().unwrap();
                let rest: Vec<_> = failed[1..]
                    .iter()
                    .map(|&i| later.links().nth(i).unwrap())
                    .collect();
                let by_event = if rest.is_empty() {
                    Solver::new(&later, 1e9)
                } else {
                    Solver::rerouted(
                        &later,
                        1e9,
                        &Rerouter::new(&later, 1e9).reroute_around(&rest),
                    )
                };
                let without = grid(seed, &failed);
                let mut solver = Solver::new(&without, 1e9).unwrap();
                let should = solver.solve(&SteadyOptions::default()).unwrap();
                let should_be = by_demand(&without, &solver, &should);
                for solver in [Solver::rerouted(&network, 1e9, &routes), by_event] {
                    let mut solver = solver.unwrap();
                    let is = solver.solve(&SteadyOptions::default()).unwrap();
                    let offered = steady_values(&network, &is).load_bps;
                    for (link, bps) in &steady_values(&without, &should).load_bps {
                        assert_near(offered[link], *bps, &format!("{seed} {failed:?} {link}"));
                    }
                    let is = by_demand(&network, &solver, &is);
                    for (demand, numbers) in &should_be {
                        let all = is[demand].iter().zip(numbers);
                        for (is, should) in all.filter(|(_, should)| should.is_finite()) {
                            assert_near(*is, *should, demand);
                        }
                        let both = is[demand][3].is_finite() && numbers[3].is_finite();
                        times += usize::from(both && numbers[3] > 0.0);
                        assert_eq!(
                            is[demand][3].is_finite(),
                            numbers[3].is_finite(),
                            "{demand}"
                        );
                    }
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} cases, {divided} of them with something divided; {times} times of transfers");
    assert!(cases > 2000 && divided > 500 && times > 5000);
}

/// The same with buffers in bytes, whose size in packets depends on the traffic after the failure.
/// Links that were idle before counted as if only acknowledgements arrived.
#[test]
fn failure_changes_packet_mix_of_byte_buffers() {
    let mut compared = ComparisonCounts::default();
    for seed in (0..20).filter(|seed| !SEVERAL.contains(seed)) {
        let network = with_buffers_in_bytes(&random_network_with_risk_groups(seed));
        compare_with_networks_without_failed_links(
            &format!("seed {seed}"),
            &network,
            &mut compared,
        );
    }
    assert!(
        compared.cases > 400 && compared.rerouted > 50,
        "{compared:?}"
    );
}

/// The same with a parallel link next to half of the links, of equal or other bandwidth and delay.
#[test]
fn failed_parallel_link_leaves_the_others() {
    let mut compared = ComparisonCounts::default();
    for seed in 0..12 {
        let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
        let network = with_parallel_links(&random_network_with_risk_groups(seed), |spec| {
            let beside = LinkSpec {
                bandwidth_bps: spec.bandwidth_bps * [0.5, 1.0, 2.0][rng.random_range(0..3)],
                delay_s: spec.delay_s * [1.0, 1.5][rng.random_range(0..2)],
                ..spec.clone()
            };
            rng.random_bool(0.5).then_some(beside)
        });
        compare_with_networks_without_failed_links(
            &format!("seed {seed}"),
            &network,
            &mut compared,
        );
    }
    println!("{compared:?}");
    assert!(compared.cases > 300 && compared.rerouted > 200);
}

/// The same links are down from the start in a run that settles.
#[test]
fn run_with_the_failure_settles_at_same_state() {
    let (mut compared, mut moving) = (0, 0);
    for seed in 8..18 {
        let network = with_tcps(&random_bulk_network(seed).0, &TCPS);
        let options = FailureOptions {
            nodes: false,
            sample: Some(2),
            ..FailureOptions::default()
        };
        for case in &analyse(&network, &options).cases {
            let mut builder = network.to_builder();
            for link in failed_links(&network, case) {
                builder.event(EventSpec {
                    at_s: 1e-3,
                    link,
                    change: Change::Down,
                });
            }
            let failed = builder.build().unwrap();
            let what = format!("seed {seed}, {:?}", case.failing);
            let steady = solve(&failed, f64::INFINITY, &options.steady).unwrap();
            let after = case.outcome.as_ref().unwrap();
            assert_near(after.goodput_bps, steady.totals.goodput_bps, &what);
            if loses_acks(&failed, &steady) {
                continue;
            }
            let run = settle(&failed, FIRST_S, 30_000);
            if run.moved >= 1e-4 {
                moving += 1;
                continue;
            }
            for id in failed.connections() {
                let (is, should) = (run.simulation.send_pps(id), steady.connection(id).rate_pps);
                let error = (is - should).abs() / is.max(1e-300);
                assert!(
                    is == should || error < RATES,
                    "{what}: {is} instead of {should}"
                );
            }
            compared += 1;
        }
    }
    println!("{compared} runs settled, {moving} still moved");
    assert!(compared >= 8, "{compared} settled, {moving} moved");
}

/// Ring of four duplex links of 1 Mbit/s, with one connection over one of them, and one over two
/// with a given path.
struct Ring {
    builder: NetworkBuilder,
    links: Vec<LinkId>,
}

fn ring() -> Ring {
    let mut builder = NetworkBuilder::new();
    let nodes = ["A", "B", "C", "D"].map(|name| builder.node(name));
    let mut links = Vec::new();
    for i in 0..4 {
        let (from, to) = (nodes[i], nodes[(i + 1) % 4]);
        let there = builder.link(link(from, to, 1e6, 1e-3 * (1 + i) as f64, 50.0));
        let back = builder.link(link(to, from, 1e6, 1e-3 * (1 + i) as f64, 50.0));
        builder.duplex(there, back);
        links.push(there);
    }
    let source = Source::Constant { rate_pps: 20.0 };
    let free = one_way("free", nodes[0], nodes[1], source.clone());
    builder.connection(free);
    builder.connection(ConnectionSpec {
        path: Some(nodes[..3].to_vec()),
        count: 2,
        ..one_way("told", nodes[0], nodes[2], source)
    });
    Ring { builder, links }
}

impl Ring {
    fn build(self) -> Network {
        self.builder.build().unwrap()
    }
}

fn names(network: &Network, found: &Failures) -> Vec<String> {
    let name = |case: &FailureCase| {
        let names = case.failing.iter().map(|it| it.name(network));
        names.collect::<Vec<_>>().join(" + ")
    };
    found.cases.iter().map(name).collect()
}

#[test]
fn traffic_without_a_route_is_blocked() {
    let network = ring().build();
    let found = analyse(&network, &FailureOptions::default());
    let names = names(&network, &found);
    assert_eq!(
        names,
        ["A<->B", "B<->C", "C<->D", "D<->A", "A", "B", "C", "D"]
    );
    let blocked: Vec<u64> = found.cases.iter().map(|case| case.blocked).collect();
    // A connection with a given path is not rerouted, and one with a failed end has no route.
    assert_eq!(blocked, [2, 2, 0, 0, 3, 3, 2, 0]);
    let after = found.cases[0].outcome.as_ref().unwrap();
    // `free` is rerouted; `told` has two thirds of the goodput.
    assert_eq!(network.link_name(after.worst.load.unwrap().0), "C->B");
    assert!((after.lost_bps / found.intact.totals.goodput_bps - 2.0 / 3.0).abs() < 1e-9);
    let (id, lost) = after.worst_affected.unwrap();
    assert_eq!((network.connection_name(id), lost), ("told", 1.0));
    // The worst cases first: failed end nodes of all connections, then by lost goodput.
    let ranked: Vec<&str> = found.ranked().into_iter().map(|i| &*names[i]).collect();
    assert_eq!(ranked[..2], ["A", "B"]);
    assert_eq!(ranked[7], "D");
    // No failure raises the load of A->B above its present load. B->A has traffic only after a
    // failure of D->A, or never.
    let link = found.links[0];
    assert_eq!((link.worst_case, link.max_load), (None, link.intact_load));
}

/// Regression: connections with nine times the delay were missing, and only one of those with
/// losses was listed.
#[test]
fn affected_connections_are_listed_worst_first() {
    let network = ring().build();
    let found = analyse(
        &network,
        &FailureOptions {
            max_affected: 5,
            ..FailureOptions::default()
        },
    );
    let without_ab = found.cases[0].outcome.as_ref().unwrap();
    // `told` is two connections.
    assert_eq!(without_ab.affected_count, 3);
    let [told, free] = without_ab.affected.as_slice() else {
        panic!("{:?}", without_ab.affected);
    };
    let name = |it: &AffectedConnection| network.connection_name(it.connection).to_owned();
    assert_eq!(
        (name(told), told.lost_fraction, told.delay_s),
        ("told".to_owned(), 1.0, None)
    );
    assert_eq!(name(free), "free");
    assert!(
        free.lost_fraction.abs() < 1e-9
            && free.delay_s.unwrap() > SLOWDOWN_THRESHOLD * free.intact_delay_s
    );
    // No connection uses C->D or D->A.
    let without_cd = found.cases[2].outcome.as_ref().unwrap();
    assert_eq!(
        (without_cd.affected_count, without_cd.affected.len()),
        (0, 0)
    );
    let one = FailureOptions {
        max_affected: 1,
        ..FailureOptions::default()
    };
    let one = analyse(&network, &one).cases[0].outcome.clone().unwrap();
    assert_eq!(
        (
            one.affected_count,
            one.affected.len(),
            name(&one.affected[0])
        ),
        (3, 1, "told".to_owned())
    );
}

/// Regression: connections with a failed end were listed before connections that routing can help.
#[test]
fn affected_connections_have_impact_and_loss() {
    let network = ring().build();
    let options = FailureOptions {
        max_affected: 100,
        ..FailureOptions::default()
    };
    let found = analyse(&network, &options);
    let mut seen = Vec::new();
    for case in &found.cases {
        let after = case.outcome.as_ref().unwrap();
        for it in &after.affected {
            let spec = network.connection_spec(it.connection);
            let ends = [spec.from, spec.to].map(Failing::Node);
            let expected = match (ends.iter().any(|end| case.failing.contains(end)), it) {
                (true, _) => ImpactKind::EndpointFails,
                (false, it) if it.delay_s.is_none() => ImpactKind::NoRoute,
                (false, it) if it.lost_fraction > 1e-4 => ImpactKind::Loses,
                (false, _) => ImpactKind::Slower,
            };
            assert_eq!(it.impact, expected, "{it:?}");
            seen.push(it.impact);
        }
        for pair in after.affected.windows(2) {
            let ends = |it: &AffectedConnection| it.impact == ImpactKind::EndpointFails;
            let kbps = |it: &AffectedConnection| (it.lost_fraction * it.offered_bps / 1e3).round();
            let ordered = (ends(&pair[1]) && !ends(&pair[0])) || kbps(&pair[0]) >= kbps(&pair[1]);
            assert!(ordered && (ends(&pair[1]) || !ends(&pair[0])), "{pair:?}");
        }
    }
    for harm in [
        ImpactKind::EndpointFails,
        ImpactKind::NoRoute,
        ImpactKind::Slower,
    ] {
        assert!(seen.contains(&harm), "{harm:?} of {seen:?}");
    }
}

#[test]
fn simplex_links_fail_individually() {
    let mut pair = crate::networks::pair(10.0);
    pair.tcp("c", "ns-reno", None);
    let network = pair.build();
    let found = analyse(
        &network,
        &FailureOptions {
            nodes: false,
            ..FailureOptions::default()
        },
    );
    assert_eq!(names(&network, &found), ["A->B", "B->A"]);
    // Without acknowledgements TCP sends nothing.
    assert!(found.cases.iter().all(|case| case.blocked == 1));
    let kinds = found.cases.iter().map(|case| case.failing[0].kind());
    assert_eq!(kinds.collect::<Vec<_>>(), [FailureKind::Link; 2]);
}

/// Two elements of which one fails with the other are not a pair.
#[test]
fn pairs_contain_independent_failures_only() {
    let mut ring = ring();
    for &link in &ring.links[..2] {
        ring.builder.risk_group("south", link);
    }
    let network = ring.build();
    let pairs = FailureOptions {
        pairs: true,
        ..FailureOptions::default()
    };
    let found = analyse(&network, &pairs);
    let names = names(&network, &found);
    // Not among the 9 · 8 / 2 pairs: a node with one of its two links, and B with the group of one
    // direction of each of its links.
    assert_eq!(names.len(), 36 - 8 - 1);
    assert!(names.contains(&"A<->B + south".to_owned()));
    assert!(!names.contains(&"A<->B + A".to_owned()) && !names.contains(&"B + south".to_owned()));
    assert_eq!(found.possible, names.len());
    let both = names.iter().position(|name| name == "A<->B + C<->D");
    assert_eq!(found.cases[both.unwrap()].blocked, 3);

    let some = |seed| {
        let options = FailureOptions {
            sample: Some(5),
            seed,
            ..pairs
        };
        let found = analyse(&network, &options);
        assert_eq!((found.cases.len(), found.possible), (5, 27));
        self::names(&network, &found)
    };
    assert_eq!(some(1), some(1));
    assert_ne!(some(1), some(2));
    assert!(some(3).iter().all(|name| names.contains(name)));
}

/// An event took a link down earlier.
#[test]
fn failed_links_do_not_fail_again() {
    let mut ring = ring();
    let first = ring.links[0];
    ring.builder.event(EventSpec {
        at_s: 5.0,
        link: first,
        change: Change::Down,
    });
    let back = LinkId::new(first.index() as u32 + 1, first.owner());
    ring.builder.event(EventSpec {
        at_s: 5.0,
        link: back,
        change: Change::Down,
    });
    let network = ring.build();
    let options = FailureOptions::default();
    let at = |at_s| {
        failures(&network, at_s, &options, &|| false)
            .unwrap()
            .unwrap()
    };
    assert_eq!((at(4.0).cases.len(), at(4.0).down_already.len()), (8, 0));
    let later = at(6.0);
    assert_eq!(later.down_already, [Failing::Link(first)]);
    // `told` has no route in the intact network either, so the failure does not block it.
    assert_eq!(later.intact.without_route.len(), 1);
    let blocked: Vec<u64> = later.cases.iter().map(|case| case.blocked).collect();
    assert_eq!(blocked, [1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn results_are_identical_for_any_thread_count() {
    let network = random_network_with_risk_groups(7);
    let options = FailureOptions {
        pairs: true,
        ..FailureOptions::default()
    };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| analyse(&network, &options))
    };
    let one = with(1);
    assert!(one.cases.len() > 300);
    assert!(one == with(2) && one == with(5));
}

#[test]
fn invalid_failure_analyses_are_rejected() {
    let options = FailureOptions::default();
    let network = ring().build();
    let no = |network: &Network, options: &FailureOptions| {
        failures(network, 1.0, options, &|| false).unwrap_err()
    };
    let nothing = FailureOptions {
        links: false,
        nodes: false,
        ..options
    };
    assert_eq!(no(&network, &nothing), SteadyError::NothingToFail);
    let stopped = failures(&network, 1.0, &options, &|| true).unwrap();
    assert!(stopped.is_none());

    let mut windows = ring();
    let source = Source::Ns2Tcp(netflow_network::WindowSource::default());
    let (from, to) = (windows.builder.node("A"), windows.builder.node("B"));
    windows
        .builder
        .connection(connection("c", from, to, source));
    let said = no(&windows.build(), &options).to_string();
    assert!(
        said.starts_with("connection `c`: it has a TCP source of the packet model"),
        "{said}"
    );
}
