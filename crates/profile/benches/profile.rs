//! Benchmarks in nanoseconds per evaluation of each kind of profile, over a network-like mix of
//! losses and round-trip times; and of the creation of a built-in profile.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use netflow_profile::{builtin, from_toml};

const POINTS: usize = 1024;

/// Returns losses from 0 to 20 %, 25 % of them below the first measured one, and round-trip times
/// from 20 ms to 2 s. A fixed permutation makes branches unpredictable.
fn points() -> (Vec<f64>, Vec<f64>) {
    let scramble = |i: usize, by: usize| ((i * by) % POINTS) as f64 / POINTS as f64;
    let loss = (0..POINTS)
        .map(|i| 1e-5 * 2e4_f64.powf(scramble(i, 389)))
        .collect();
    let rtt = (0..POINTS)
        .map(|i| 0.02 * 100_f64.powf(scramble(i, 757)))
        .collect();
    (loss, rtt)
}

fn evaluate(c: &mut Criterion) {
    let (loss, rtt) = points();
    let mut out = vec![0.0; POINTS];
    let mut group = c.benchmark_group("throughputs");
    group.throughput(Throughput::Elements(POINTS as u64));
    for name in [
        "windows-nt-4-sp3",
        "netbsd-1.2",
        "ns-reno",
        "linux-reno",
        "mathis",
        "pftk-approximate",
        "pftk-full",
    ] {
        let profile = builtin(name).expect("a built-in profile");
        group.bench_function(name, |b| {
            b.iter(|| profile.throughputs(black_box(&loss), black_box(&rtt), &mut out))
        });
    }
    group.finish();
    let mut group = c.benchmark_group("throughput");
    for name in ["windows-nt-4-sp3", "ns-reno"] {
        let profile = builtin(name).expect("a built-in profile");
        group.bench_function(name, |b| {
            b.iter(|| profile.throughput(black_box(0.013), black_box(0.17)))
        });
    }
    group.finish();
}

fn make(c: &mut Criterion) {
    let grid = include_str!("../data/ns-reno.toml");
    c.bench_function("from_toml/ns-reno", |b| {
        b.iter_batched(|| grid, from_toml, BatchSize::SmallInput)
    });
}

criterion_group!(benches, evaluate, make);
criterion_main!(benches);
