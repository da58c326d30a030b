//! How long steady states, their derivatives and failures take: 100 nodes, and 10⁴ links with 10⁵
//! connections.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use netflow_network::Network;
use netflow_problems::{RandomNetwork, random_network};
use netflow_steady::{FailureOptions, Measure, Solver, SteadyOptions, failures, solve};

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

fn each(c: &mut Criterion, name: &str, network: &Network) {
    let options = SteadyOptions::default();
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    group.bench_function("solve", |b| {
        b.iter(|| black_box(solve(black_box(network), f64::INFINITY, &options)));
    });
    let Ok(mut solver) = Solver::new(network, f64::INFINITY) else {
        return;
    };
    let Ok(at) = solver.solve(&options) else {
        return;
    };
    group.bench_function("solve again, warm", |b| {
        b.iter(|| black_box(solver.solve_from(black_box(&at), &options)));
    });
    group.bench_function("sensitivities", |b| {
        b.iter(|| black_box(solver.sensitivities(black_box(&at), Measure::Goodput)));
    });
}

fn small(c: &mut Criterion) {
    each(
        c,
        "100 nodes, 400 links, 200 connections",
        &network(100, 200, 200),
    );
}

fn large(c: &mut Criterion) {
    each(
        c,
        "3000 nodes, 10000 links, 100000 connections",
        &network(3000, 5000, 100_000),
    );
}

/// Every duplex link of 50 nodes by itself.
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
