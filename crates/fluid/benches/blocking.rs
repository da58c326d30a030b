//! Time per call of the inverse of M/M/1/K, in nanoseconds: mean queue to blocking, and mean queue to load.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netflow_fluid::mm1k::{blocking_of_mean, equilibrium, ln_rho_of_mean};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const CALLS: usize = 4096;

/// Returns queues (mean, K). Means are uniform on (0, K). K is given, or log-uniform from 1 to 100 000.
fn queues(k: Option<f64>) -> Vec<(f64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || {
        let k = k.unwrap_or_else(|| 10.0_f64.powf(rng.random_range(0.0..5.0)).round());
        (k * rng.random_range(0.0..1.0), k)
    };
    (0..CALLS).map(|_| draw()).collect()
}

fn each(c: &mut Criterion, name: &str, function: impl Fn(f64, f64) -> f64) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(CALLS as u64));
    for (name, k) in [
        ("random K", None),
        ("K=1", Some(1.0)),
        ("K=8", Some(8.0)),
        ("K=50", Some(50.0)),
        ("K=1000", Some(1000.0)),
        ("K=100000", Some(100_000.0)),
    ] {
        let queues = queues(k);
        let mut out = vec![0.0; CALLS];
        group.bench_function(name, |b| {
            b.iter(|| {
                for (out, &(n, k)) in out.iter_mut().zip(black_box(&queues)) {
                    *out = function(n, k);
                }
                black_box(out.as_slice());
            });
        });
        let ns = (0..50).map(|_| {
            let start = std::time::Instant::now();
            for _ in 0..20 {
                for (out, &(n, k)) in out.iter_mut().zip(black_box(&queues)) {
                    *out = function(n, k);
                }
                black_box(out.as_slice());
            }
            start.elapsed().as_secs_f64() * 1e9 / (20 * CALLS) as f64
        });
        let ns = ns.fold(f64::INFINITY, f64::min);
        println!("{:>28} {ns:.1} ns per call at best", "");
    }
    group.finish();
}

fn inverse(c: &mut Criterion) {
    each(c, "blocking_of_mean", blocking_of_mean);
    each(c, "ln_rho_of_mean", ln_rho_of_mean);
}

/// Times the forward evaluation, which each Newton step of the network solver needs.
fn forward(c: &mut Criterion) {
    each(c, "equilibrium", |n, k| {
        equilibrium(2.0 * (n / k - 0.5), k).mean_pkts
    });
}

criterion_group!(benches, inverse, forward);
criterion_main!(benches);
