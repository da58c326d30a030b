//! Failures solved from the intact state, compared with networks solved as a whole.

use std::sync::Arc;

use netflow_network::{Application, EcmpShare, LinkId, LinkSpec, NetworkBuilder, NodeId, Source};
use netflow_problems::{connection, link, one_way, population_seed};
use netflow_profile::builtin;
use netflow_workload::{Distribution, TransferSizes};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use netflow_network::ConnectionSpec;

/// Traffic of a test network.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Traffic {
    Fixed,
    Transfers,
    BulkTcp,
    LimitedTcp,
    All,
}

/// Network of a ring with chords and parallel links. Metrics are asymmetric and often equal, some links are one-way,
/// and there are risk groups. A third of the fixed-rate traffic is divided among paths of equal cost.
fn network(seed: u64, traffic: Traffic) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(population_seed(seed));
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..10).map(|i| builder.node(&format!("n{i}"))).collect();
    let links = add_links(&mut builder, &nodes, &mut rng);
    for name in ["conduit", "supply"] {
        for _ in 0..3 {
            builder.risk_group(name, links[rng.random_range(0..links.len())]);
        }
    }
    let mut equal = builder.equal_paths();
    for i in 0..24 {
        let from = rng.random_range(0..nodes.len());
        let to = (from + rng.random_range(1..nodes.len())) % nodes.len();
        let (from, to) = (nodes[from], nodes[to]);
        let name = format!("c{i}");
        let kind = match traffic {
            Traffic::All => rng.random_range(0..4),
            one => one as u32,
        };
        if kind >= Traffic::BulkTcp as u32 {
            let profile = ["ns-reno", "linux-cubic"][i % 2];
            let spec = connection(&name, from, to, Source::Profile(builtin(profile).unwrap()));
            let rate_pps = rng.random_range(100.0..3000.0);
            builder.connection(ConnectionSpec {
                application: match kind {
                    2 => Application::Bulk,
                    _ => Application::Poisson { rate_pps },
                },
                max_window_pkts: rng.random_bool(0.5).then_some(64.0),
                count: rng.random_range(1..3),
                ..spec
            });
            continue;
        }
        let rate_pps = rng.random_range(50.0..1500.0);
        let (mean, most) = (rng.random_range(20e3..2e6), f64::INFINITY);
        let size = Distribution::Exponential { mean, most };
        let transfers = (kind == 1).then(|| Arc::new(TransferSizes::new(size, 1460.0, 10.0)));
        let paths = equal.shares(from, to);
        let divided = rng.random_bool(0.3);
        let portions = EcmpShare::of_each(paths.iter().map(|path| path.share));
        for (part, (path, portion)) in paths.iter().zip(portions).enumerate() {
            let share = if divided { path.share } else { 1.0 };
            let rate_pps = rate_pps * share;
            let spec = one_way(
                &format!("{name}/{part}"),
                from,
                to,
                Source::Poisson { rate_pps },
            );
            builder.connection(ConnectionSpec {
                flow: divided.then_some(path.flow),
                ecmp_share: divided.then_some(portion),
                transfers: transfers.clone(),
                ..spec
            });
            if !divided {
                break;
            }
        }
    }
    builder.build().unwrap()
}

fn add_links(builder: &mut NetworkBuilder, nodes: &[NodeId], rng: &mut impl Rng) -> Vec<LinkId> {
    let mut links = Vec::new();
    let ring = (0..nodes.len()).map(|i| (i, (i + 1) % nodes.len()));
    let chords: Vec<_> = (0..8)
        .map(|_| (rng.random_range(0..nodes.len()), rng.random_range(2..6)))
        .map(|(a, aside)| (a, (a + aside) % nodes.len()))
        .collect();
    for (i, (a, b)) in ring.chain(chords).enumerate() {
        let mut add = |builder: &mut NetworkBuilder, from: usize, to: usize, circuit: String| {
            let bps = [20e6, 30e6, 60e6][rng.random_range(0..3)];
            let room = [4.0, 30.0, 100.0][rng.random_range(0..3)];
            let id = builder.link(LinkSpec {
                metric: Some([1.0, 1.0, 2.0][rng.random_range(0..3)]),
                circuit: Some(circuit.into()),
                ..link(
                    nodes[from],
                    nodes[to],
                    bps,
                    rng.random_range(1e-3..9e-3),
                    room,
                )
            });
            links.push(id);
            id
        };
        for parallel in 0..=usize::from(i % 5 == 0) {
            let circuit = format!("{i}.{parallel}");
            let there = add(builder, a, b, circuit.clone());
            if i % 7 != 6 {
                let back = add(builder, b, a, circuit);
                builder.duplex(there, back);
            }
        }
    }
    links
}

/// Counts of compared cases.
#[derive(Debug, Default)]
struct Compared {
    cases: usize,
    near: usize,
    blocked: usize,
    restless: usize,
    error: f64,
}

impl Compared {
    fn compare(&mut self, a: f64, b: f64, what: &str) {
        let error = (a - b).abs() / (1e-9 + b.abs());
        assert!(error < 1e-9, "{what}: {a} instead of {b}");
        self.error = self.error.max(error);
    }
}

/// Compares every case, and every fourth pair of elements, of a network with the same case solved as a whole.
fn compare_with_whole_solutions(seed: u64, traffic: Traffic, compared: &mut Compared) {
    let network = network(seed, traffic);
    let Ok(mut solver) = Solver::new(&network, f64::INFINITY) else {
        panic!("{traffic:?} {seed} is not supported");
    };
    let steady = SteadyOptions {
        tolerance: 1e-12,
        ..SteadyOptions::default()
    };
    let Ok(intact) = solver.solve(&steady) else {
        compared.restless += 1;
        return;
    };
    let state = Intact::new(&solver, &intact);
    let mut worker = ChangedState::new(&state);
    let options = FailureOptions {
        max_affected: 100,
        steady,
        ..FailureOptions::default()
    };
    let analysis = Analysis {
        network: &network,
        at_s: f64::INFINITY,
        options: &options,
        rerouter: Rerouter::new(&network, f64::INFINITY),
        intact: &intact,
    };
    for pairs in [false, true] {
        let options = FailureOptions {
            pairs,
            sample: pairs.then_some(60),
            ..FailureOptions::default()
        };
        let cases = Cases::enumerate(&network, &options, &vec![false; network.link_count()]);
        let cases = cases.unwrap();
        for &case in &cases.all {
            let failing = cases.failing(case);
            let what = format!("{traffic:?} {seed} {failing:?}");
            let links = cases.links(&network, case);
            let routes = analysis.rerouter.reroute_around(&links);
            let near = worker.with_routes(&routes, steady.tolerance, |after| {
                let delays: Vec<f64> = after.connections.iter().map(|it| it.delay_s).collect();
                let goodputs = after.connections.iter().map(|it| it.goodput_pps).collect();
                let links = after.links.iter();
                let links = links
                    .map(|it| [it.load, it.load_bps, it.loss_probability])
                    .collect();
                let values: (Vec<f64>, Vec<f64>, Vec<[f64; 3]>) = (delays, goodputs, links);
                (analysis.read(&failing, &routes, after), values)
            });
            compared.cases += 1;
            let (whole, _) = analysis.analyse_alone(failing, &routes);
            let Some(((near, loads), (delays, goodputs, links))) = near else {
                continue;
            };
            let Ok(expected) = &whole.outcome else {
                compared.restless += 1;
                continue;
            };
            compared.near += 1;
            compared.blocked += usize::from(whole.blocked > 0);
            let after = near.outcome.as_ref().unwrap();
            assert!(after.residual <= steady.tolerance, "{what}");
            assert_eq!(
                (near.blocked, near.blocked_bps),
                (whole.blocked, whole.blocked_bps)
            );
            assert_eq!(near.moved_whole, whole.moved_whole);
            assert_eq!(after.worst.busy_links, expected.worst.busy_links, "{what}");
            assert_eq!(after.affected_count, expected.affected_count, "{what}");
            let names = |it: &AfterFailure| -> Vec<_> {
                it.affected
                    .iter()
                    .map(|it| (it.connection, it.impact))
                    .collect()
            };
            assert_eq!(names(after), names(expected), "{what}");
            let hit = |it: &AfterFailure| it.worst_affected.map(|it| it.0);
            assert_eq!(hit(after), hit(expected), "{what}");
            compared.compare(after.goodput_bps, expected.goodput_bps, &what);
            let mut solver = Solver::rerouted(&network, f64::INFINITY, &routes).unwrap();
            let expected = solver.solve_from(&intact, &steady).unwrap();
            for (i, it) in expected.connections.iter().enumerate() {
                compared.compare(delays[i], it.delay_s, &format!("{what}: delay"));
                compared.compare(goodputs[i], it.goodput_pps, &format!("{what}: goodput"));
            }
            for (values, it) in links.iter().zip(&expected.links) {
                compared.compare(values[0], it.load, &format!("{what}: load"));
                compared.compare(values[1], it.load_bps, &format!("{what}: load"));
                compared.compare(values[2], it.loss_probability, &format!("{what}: loss"));
            }
            // A link that is not listed has its intact load.
            for (l, it) in (0..).zip(&expected.links) {
                let listed = loads.iter().find(|(link, _)| *link == l);
                let is = listed.map_or(intact.links[l as usize].load, |it| it.1.0);
                compared.compare(is, it.load, &format!("{what}: listed load"));
            }
        }
    }
}

/// More bandwidth at each link, compared with the network solved as a whole.
#[test]
fn upgrades_equal_networks_solved_as_a_whole() {
    use Traffic::{All, BulkTcp, Fixed, LimitedTcp, Transfers};
    let steady = SteadyOptions {
        tolerance: 1e-12,
        ..SteadyOptions::default()
    };
    let mut compared = Compared::default();
    for traffic in [Fixed, Transfers, BulkTcp, LimitedTcp, All] {
        for seed in 0..3 {
            let network = network(seed, traffic);
            let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
            let intact = solver.solve(&steady).unwrap();
            let mut state_of = Solver::new(&network, f64::INFINITY).unwrap();
            state_of.evaluate_at(&intact.z);
            let state = Intact::new(&state_of, &intact);
            let mut worker = ChangedState::new(&state);
            for it in solver
                .upgrades(7e6, &intact, &steady, &|| false)
                .unwrap()
                .unwrap()
            {
                let what = format!("{traffic:?} {seed} {:?}", it.link);
                let bps = network.link_spec(it.link).bandwidth_bps + 7e6;
                let near = worker.with_bandwidth(it.link.index() as u32, bps, steady.tolerance);
                assert_eq!(near, Some((it.totals, it.load)), "{what}");
                let whole = solver
                    .solve_with_upgrade(it.link, 7e6, &intact, &steady)
                    .unwrap();
                let (is, should) = (it.totals, whole.totals);
                compared.compare(is.goodput_bps, should.goodput_bps, &what);
                compared.compare(is.delay_s, should.delay_s, &what);
                compared.compare(is.loss_probability, should.loss_probability, &what);
                compared.compare(it.load, whole.link(it.link).load, &what);
                compared.cases += 1;
            }
        }
    }
    println!("{compared:?}");
    assert!(compared.cases > 300, "{compared:?}");
}

#[test]
fn failures_equal_networks_solved_as_a_whole() {
    use Traffic::{All, BulkTcp, Fixed, LimitedTcp, Transfers};
    for traffic in [Fixed, Transfers, BulkTcp, LimitedTcp, All] {
        let mut compared = Compared::default();
        for seed in 0..6 {
            compare_with_whole_solutions(seed, traffic, &mut compared);
        }
        println!("{traffic:?}: {compared:?}");
        assert!(compared.near * 10 > compared.cases * 9, "{compared:?}");
        assert!(compared.blocked > 20, "{compared:?}");
    }
}

/// The headroom under failures is the smallest of the headrooms of all cases, each found alone.
#[test]
fn headroom_under_failures_is_that_of_the_worst_case() {
    use Traffic::{All, BulkTcp, Fixed, LimitedTcp, Transfers};
    let options = FailureOptions::default();
    let all = crate::ConnectionSelection::All;
    let (mut limited_by_failures, mut disconnecting) = (0, 0);
    for (i, traffic) in (0..50).zip([Fixed, Transfers, BulkTcp, LimitedTcp, All].iter().cycle()) {
        let network = network(100 + i, *traffic);
        let what = format!("{traffic:?} {i}");
        let bounds = crate::Bounds {
            utilization: if i % 2 == 0 { 0.9 } else { f64::INFINITY },
            delay_s: if i % 3 == 0 { f64::INFINITY } else { 0.05 },
            loss: if i % 2 == 0 { f64::INFINITY } else { 0.02 },
        };
        let found = headroom_under_failures(&network, f64::INFINITY, &bounds, &options, &|| false);
        let intact = Solver::new(&network, f64::INFINITY)
            .and_then(|mut solver| solver.headroom(&bounds, all, &options.steady));
        let (found, intact) = match (found, intact) {
            (Ok(found), Ok(intact)) => (found.unwrap(), intact),
            (Err(error), Err(alone)) => {
                assert_eq!(error, alone, "{what}");
                continue;
            }
            other => panic!("{what}: {other:?}"),
        };
        let rerouter = Rerouter::new(&network, f64::INFINITY);
        let cases = Cases::enumerate(&network, &options, rerouter.down_before()).unwrap();
        let (mut least, mut without_steady_state) = (intact.factor, 0);
        for &case in &cases.all {
            let routes = rerouter.reroute_around(&cases.links(&network, case));
            let solver = Solver::rerouted(&network, f64::INFINITY, &routes);
            match solver.and_then(|mut it| it.headroom(&bounds, all, &options.steady)) {
                // `None` is no headroom at all, the least.
                Ok(headroom) if headroom.factor < least => least = headroom.factor,
                Ok(_) => {}
                Err(SteadyError::NothingToScale) => {}
                Err(_) => without_steady_state += 1,
            }
        }
        assert_eq!(found.intact, intact, "{what}");
        assert_eq!(found.least.factor.is_some(), least.is_some(), "{what}");
        let (is, should) = (found.least.factor.unwrap_or(0.0), least.unwrap_or(0.0));
        assert!(
            (is - should).abs() <= 1e-5 * should,
            "{what}: {is} instead of {should}"
        );
        assert!(found.without_steady_state <= without_steady_state, "{what}");
        assert_eq!(found.cases, cases.all.len());
        limited_by_failures += usize::from(!found.failing.is_empty());
        disconnecting += found.disconnecting;
    }
    assert!(limited_by_failures > 20, "{limited_by_failures}");
    assert!(disconnecting > 100, "{disconnecting}");
}
