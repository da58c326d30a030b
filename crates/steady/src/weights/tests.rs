//! Weight searches on small networks, compared with all metrics and with the routes of the network.

use netflow_network::{LinkSpec, NetworkBuilder, PathChoice, Source};
use netflow_problems::{link, one_way, population_seed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::concurrent_flow::ConcurrentFlow;
use super::*;
use crate::arc_graph::ArcGraph;

/// Duplex links with their bandwidth in Mbit/s, and demands in packets/s of 1000 B.
#[derive(Clone)]
struct Example {
    nodes: usize,
    links: Vec<((usize, usize), f64)>,
    demands: Vec<((usize, usize), f64)>,
}

impl Example {
    /// Ring with chords and random demands.
    fn random(seed: u64, nodes: usize, chords: usize, demands: usize) -> Example {
        let mut rng = ChaCha8Rng::seed_from_u64(population_seed(seed));
        let mut ends: Vec<(usize, usize)> = (0..nodes).map(|i| (i, (i + 1) % nodes)).collect();
        while ends.len() < nodes + chords {
            let (a, b) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
            let is_known = |it: &(usize, usize)| *it == (a, b) || *it == (b, a);
            if a != b && !ends.iter().any(is_known) {
                ends.push((a, b));
            }
        }
        let mbps = [10.0, 20.0, 40.0];
        let links = ends
            .into_iter()
            .map(|it| (it, mbps[rng.random_range(0..3)]))
            .collect();
        let demand = |_| {
            let from = rng.random_range(0..nodes);
            let to = (from + rng.random_range(1..nodes)) % nodes;
            ((from, to), rng.random_range(50.0..500.0))
        };
        Example {
            nodes,
            links,
            demands: (0..demands).map(demand).collect(),
        }
    }

    /// Builds the network with these metrics, without one of the links.
    fn network(&self, metrics: &[u32], without: Option<usize>) -> Network {
        let mut builder = NetworkBuilder::new();
        let nodes: Vec<_> = (0..self.nodes)
            .map(|i| builder.node(&format!("n{i}")))
            .collect();
        for (i, (&((a, b), mbps), &metric)) in self.links.iter().zip(metrics).enumerate() {
            if without == Some(i) {
                continue;
            }
            let mut direction = |from, to| {
                builder.link(LinkSpec {
                    metric: Some(f64::from(metric)),
                    ..link(from, to, mbps * 1e6, 1e-3, 100.0)
                })
            };
            let (there, back) = (direction(nodes[a], nodes[b]), direction(nodes[b], nodes[a]));
            builder.duplex(there, back);
        }
        for (i, &((from, to), rate_pps)) in self.demands.iter().enumerate() {
            let source = Source::Poisson { rate_pps };
            builder.connection(one_way(&format!("c{i}"), nodes[from], nodes[to], source));
        }
        builder.build().expect("a valid network")
    }

    /// Returns the largest load by ECMP with these metrics, by the routes of the network.
    fn max_load(&self, metrics: &[u32], without: Option<usize>) -> f64 {
        let network = self.network(metrics, without);
        let demands: Vec<_> = network
            .connections()
            .map(|id| network.connection_spec(id))
            .collect();
        let pairs: Vec<_> = demands.iter().map(|it| (it.from, it.to)).collect();
        let shares = network.link_shares(0.0, PathChoice::EqualShares, &pairs);
        let mut loads = vec![0.0; network.link_count()];
        for (spec, shares) in demands.iter().zip(shares) {
            let bps = spec.source.own_pps().unwrap() * 8.0 * spec.packet_size_bytes;
            for (link, share) in shares {
                loads[link.index()] += share * bps / network.link_spec(link).bandwidth_bps;
            }
        }
        loads.into_iter().fold(0.0, f64::max)
    }

    /// Returns the largest load without failures and after each failure of a link.
    fn max_load_under_failures(&self, metrics: &[u32]) -> f64 {
        let failures = (0..self.links.len()).map(|link| self.max_load(metrics, Some(link)));
        failures.fold(self.max_load(metrics, None), f64::max)
    }

    fn options(&self, metrics: Vec<u32>) -> WeightOptions {
        let network = self.network(&metrics, None);
        let groups = network.physical_links();
        WeightOptions {
            groups: groups
                .map(|(id, other)| [Some(id), other].into_iter().flatten().collect())
                .collect(),
            metrics,
            failures: None,
            max_changes: None,
            iterations: 1000,
            seed: 1,
        }
    }

    fn optimize(&self, options: &WeightOptions) -> Weights {
        let network = self.network(&options.metrics, None);
        optimize_weights(&network, 1.0, options, &|| false, &mut |_| ()).unwrap()
    }
}

fn single_links() -> Option<FailureOptions> {
    Some(FailureOptions {
        nodes: false,
        ..FailureOptions::default()
    })
}

/// All metrics from 1 to `most`, the first of them fixed by nothing.
fn all_metrics(links: usize, most: u32) -> impl Iterator<Item = Vec<u32>> {
    (0..most.pow(links as u32)).map(move |mut code| {
        let digit = |_| {
            let metric = 1 + code % most;
            code /= most;
            metric
        };
        (0..links).map(digit).collect()
    })
}

fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} for {b}");
}

#[test]
fn loads_of_all_settings_are_those_of_the_network() {
    for seed in 0..20 {
        let example = Example::random(seed, 7, 4, 12);
        let metrics: Vec<u32> = (0..11).map(|i| 1 + (i * 7 + seed as u32) % 3).collect();
        let found = example.optimize(&example.options(metrics));
        for setting in &found.settings {
            let load = example.max_load(&setting.metrics, None);
            assert_close(setting.max_load, load);
            assert_close(setting.intact_load, load);
            assert!(found.lower_bound <= load);
        }
        let loads = found.settings.windows(2);
        assert!(loads.clone().all(|it| it[1].max_load < it[0].max_load));
        assert!(loads.clone().all(|it| it[1].changes > it[0].changes));
    }
}

#[test]
fn loads_after_failures_are_those_of_networks_without_the_link() {
    let mut improved = 0;
    for seed in 0..20 {
        let example = Example::random(100 + seed, 6, 4, 10);
        let options = WeightOptions {
            failures: single_links(),
            ..example.options(vec![1; 10])
        };
        let found = example.optimize(&options);
        for setting in &found.settings {
            let load = example.max_load_under_failures(&setting.metrics);
            assert_close(setting.max_load, load);
            assert_close(
                setting.intact_load,
                example.max_load(&setting.metrics, None),
            );
            assert!(found.lower_bound <= load * (1.0 + 1e-12));
        }
        improved += usize::from(found.settings.len() > 1);
    }
    assert!(improved >= 10, "{improved}");
}

#[test]
fn search_is_as_good_as_all_metrics_up_to_three() {
    for seed in 0..30 {
        let example = Example::random(200 + seed, 5, 2, 8);
        let failures = if seed % 3 == 0 { single_links() } else { None };
        let best = all_metrics(7, 3)
            .map(|metrics| match failures {
                Some(_) => example.max_load_under_failures(&metrics),
                None => example.max_load(&metrics, None),
            })
            .fold(f64::INFINITY, f64::min);
        let options = WeightOptions {
            failures,
            ..example.options(vec![1; 7])
        };
        let found = example.optimize(&options);
        let load = found.settings.last().unwrap().max_load;
        assert!(
            load <= best * (1.0 + 1e-9),
            "seed {seed}: {load}, {best} by all metrics"
        );
        assert!(found.lower_bound <= best);
    }
}

#[test]
fn best_settings_of_one_and_two_changes_are_found() {
    for seed in 0..10 {
        let example = Example::random(300 + seed, 5, 2, 8);
        let present = vec![2; 7];
        let mut best = [f64::INFINITY; 3];
        for metrics in all_metrics(7, 4) {
            let changes = metrics.iter().filter(|&&it| it != 2).count();
            if changes <= 2 {
                best[changes] = best[changes].min(example.max_load(&metrics, None));
            }
        }
        for changes in 0..3 {
            let options = WeightOptions {
                max_changes: Some(changes),
                ..example.options(present.clone())
            };
            let found = example.optimize(&options);
            let last = found.settings.last().unwrap();
            let least = best[..=changes]
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min);
            assert!(last.changes <= changes);
            assert!(
                last.max_load <= least * (1.0 + 1e-9),
                "seed {seed}, {changes} changes"
            );
        }
    }
}

/// Two paths of 10 and 20 Mbit/s for 15 Mbit/s: any routing needs at least 15 / 30, and ECMP gives 7.5 / 10.
#[test]
fn lower_bound_is_the_maximum_concurrent_flow() {
    let example = Example {
        nodes: 4,
        links: vec![
            ((0, 1), 10.0),
            ((1, 3), 10.0),
            ((0, 2), 20.0),
            ((2, 3), 20.0),
        ],
        demands: vec![((0, 3), 15e6 / 8000.0)],
    };
    let found = example.optimize(&example.options(vec![1; 4]));
    assert!(
        (0.498..=0.5).contains(&found.lower_bound),
        "{}",
        found.lower_bound
    );
    assert_close(found.present().max_load, 0.75);
    assert_eq!(found.bounding_case, None);
    let options = WeightOptions {
        failures: single_links(),
        ..example.options(vec![1; 4])
    };
    let found = example.optimize(&options);
    assert!(
        (1.49..=1.5).contains(&found.lower_bound),
        "{}",
        found.lower_bound
    );
    assert_eq!(found.bounding_case.as_deref(), Some("n0<->n2"));
}

/// A flow whose largest load is at most 4 % higher proves that the bound is close.
#[test]
fn lower_bound_is_close_on_larger_networks() {
    for seed in 0..5 {
        let example = Example::random(400 + seed, 20, 20, 120);
        let options = example.options(vec![10; 40]);
        let network = example.network(&options.metrics, None);
        let problem = RoutingProblem::new(&network, 1.0, &options).unwrap();
        let ends = problem
            .arcs
            .iter()
            .map(|it| (it.from as usize, it.to as usize));
        let graph = ArcGraph::new(problem.nodes, ends.collect());
        let mut flow = ConcurrentFlow::new(&problem, &graph, &problem.cases[0]);
        flow.improve(100, 0.0);
        assert!(flow.bound() <= flow.max_load());
        assert!(
            flow.max_load() <= 1.04 * flow.bound(),
            "seed {seed}: {}, bound {}",
            flow.max_load(),
            flow.bound()
        );
    }
}

#[test]
fn result_does_not_depend_on_threads() {
    let example = Example::random(500, 10, 6, 30);
    let options = WeightOptions {
        failures: single_links(),
        iterations: 60,
        ..example.options(vec![5; 16])
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| example.optimize(&options))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn explicit_paths_stay_where_they_are() {
    let example = Example::random(600, 5, 2, 6);
    let metrics = vec![1; 7];
    let mut builder = example.network(&metrics, None).to_builder();
    let nodes: Vec<_> = ["n0", "n1", "n2"].map(|it| builder.node(it)).into();
    let mut fixed = one_way(
        "fixed",
        nodes[0],
        nodes[2],
        Source::Poisson { rate_pps: 100.0 },
    );
    fixed.path = Some(nodes);
    builder.connection(fixed);
    let network = builder.build().unwrap();
    let options = example.options(metrics);
    let problem = RoutingProblem::new(&network, 1.0, &options).unwrap();
    let total: f64 = problem.cases[0].fixed_bps.iter().sum();
    assert_close(
        total,
        2.0 * 100.0
            * 8.0
            * network
                .connection_spec(network.connection_by_name("fixed").unwrap())
                .packet_size_bytes,
    );
}
