//! Benchmarks of steady states, derivatives and failures, on networks of 100 nodes and of 10⁴ links
//! with 10⁵ connections. Each is run lightly loaded, and again with lower bandwidths.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use netflow_network::Network;
use netflow_problems::{RandomNetwork, random_network};
use netflow_steady::{
    ConnectionSelection, FailureOptions, Measure, Solver, SteadyError, SteadyOptions, failures,
};

fn network(nodes: usize, links: usize, connections: usize) -> Network {
    random_network(RandomNetwork {
        nodes,
        links,
        connections,
        events: 0,
        duration_s: 1.0,
        seed: 1,
        plain: true,
        windows: false,
    })
}

/// Benchmarks a network with all bandwidths divided by `narrower`.
fn each(c: &mut Criterion, name: &str, network: &Network, narrower: f64) {
    let options = SteadyOptions::default();
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    let narrowed = || {
        let mut solver = Solver::new(black_box(network), f64::INFINITY)?;
        for id in network.links() {
            let bps = network.link_spec(id).bandwidth_bps;
            solver.set_bandwidth(id, bps / narrower)?;
        }
        let at = solver.solve(&options)?;
        Ok::<_, SteadyError>((solver, at))
    };
    let (mut solver, at) = narrowed().expect("a network that comes to rest");
    let full = at.links.iter().filter(|link| link.utilization > 0.9);
    println!(
        "{name}: {} of {} links above 90 %",
        full.count(),
        at.links.len()
    );
    group.bench_function("solve", |b| b.iter(|| black_box(narrowed().is_ok())));
    group.bench_function("solve again, warm", |b| {
        b.iter(|| black_box(solver.solve_from(black_box(&at), &options)));
    });
    group.bench_function("sensitivities", |b| {
        b.iter(|| {
            black_box(solver.sensitivities(
                black_box(&at),
                Measure::Goodput,
                ConnectionSelection::All,
            ))
        });
    });
}

fn small(c: &mut Criterion) {
    let light = network(100, 200, 200);
    each(c, "100 nodes, 400 links, 200 connections", &light, 1.0);
    let full = network(100, 200, 1000);
    each(
        c,
        "the same, 1000 connections, links 20 times narrower",
        &full,
        20.0,
    );
}

fn large(c: &mut Criterion) {
    let network = network(3000, 5000, 100_000);
    each(
        c,
        "3000 nodes, 10000 links, 100000 connections",
        &network,
        1.0,
    );
    each(c, "the same, links 4 times narrower", &network, 4.0);
}

/// Benchmarks the failure of every duplex link of 50 nodes.
fn single_links(c: &mut Criterion) {
    let network = network(50, 88, 2450);
    let links: Vec<_> = network.links().collect();
    let mut builder = network.to_builder();
    for pair in links.chunks_exact(2) {
        builder.duplex(pair[0], pair[1]);
    }
    let Ok(network) = builder.build() else {
        return;
    };
    let options = FailureOptions {
        nodes: false,
        ..FailureOptions::default()
    };
    let mut group = c.benchmark_group("50 nodes, 88 duplex links, 2450 connections");
    group.sample_size(10);
    group.bench_function("every link fails", |b| {
        b.iter(|| {
            black_box(failures(
                black_box(&network),
                f64::INFINITY,
                &options,
                &|| false,
            ))
        });
    });
}

criterion_group!(benches, small, large, single_links);
criterion_main!(benches);
