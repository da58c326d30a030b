//! Benchmarks of the time in timeouts: exact solutions, packet sends per second of Monte Carlo, and the
//! cost of both for the same accuracy.
//!
//! Every simulated packet send counts: its loss was drawn, and its timer was added if it was lost. The
//! number of consecutive sends without loss is drawn at once, which has the same distribution. Each lost
//! packet therefore needs two random numbers, independently of the number of other packets.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netflow_tcpmodel::rto::{
    ExactDistribution, ExactMoments, MonteCarlo, RtoChain, Solver, Timers,
};

/// Probabilities that a packet or its acknowledgement is lost, for 1 %, 5 % and 20 % loss in each
/// direction.
const LOSSES: [(&str, f64); 3] = [("1%", 0.0199), ("5%", 0.0975), ("20%", 0.36)];

/// The timers for a path of 50 ms.
const TIMERS: Timers = Timers {
    initial_s: 3.0,
    base_s: 0.3,
    max_s: 120.0,
};

fn exact(c: &mut Criterion) {
    let mut group = c.benchmark_group("exact-moments");
    for packets in [20, 200] {
        let chain = [RtoChain::new(packets, 0.0975, TIMERS)];
        group.bench_function(format!("{packets}-packets"), |b| {
            b.iter(|| ExactMoments.solve(black_box(&chain)))
        });
    }
    group.finish();
    let mut group = c.benchmark_group("exact-distribution");
    for packets in [20, 200] {
        let chain = [RtoChain::new(packets, 0.0975, TIMERS)];
        group.bench_function(format!("{packets}-packets"), |b| {
            b.iter(|| ExactDistribution.solve(black_box(&chain)))
        });
    }
    group.finish();
}

fn monte_carlo(c: &mut Criterion) {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads can be started");
        let mut group = c.benchmark_group(format!("packet-sends/{threads}-threads"));
        for (name, loss) in LOSSES {
            for packets in [20, 200] {
                let chain = [RtoChain::new(packets, loss, TIMERS)];
                let solver = sampling(1 << 18);
                let sends = solver.solve(&chain).map_or(0, |solved| solved.sends);
                group.throughput(Throughput::Elements(sends));
                group.bench_function(format!("{packets}-packets-{name}"), |b| {
                    b.iter(|| pool.install(|| solver.solve(black_box(&chain))))
                });
            }
        }
        group.finish();
    }
}

/// Prints the cost of the paper's method for a precision of 1 %, compared with the exact solution.
fn ratio(_: &mut Criterion) {
    println!("\n95 % confidence interval of ±1 % of the mean, one thread, against exact moments:");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread can be started");
    for (name, loss) in LOSSES {
        for packets in [6, 20, 200] {
            let chain = [RtoChain::new(packets, loss, TIMERS)];
            let Ok(exact) = ExactMoments.solve(&chain) else {
                continue;
            };
            let exactly = time(1000, || ExactMoments.solve(black_box(&chain)));
            let trials = (1.96 * exact.std_s / (0.01 * exact.mean_s)).powi(2).ceil();
            let solver = sampling(trials as u64);
            let sampled = pool.install(|| time(3, || solver.solve(black_box(&chain))));
            println!(
                "loss {name:>3}, {packets:>3} packets: {trials:>8} trials, {:>9.3} ms; exact {:>6.2} us: {:>7.0} times as long",
                1e3 * sampled.as_secs_f64(),
                1e6 * exactly.as_secs_f64(),
                sampled.as_secs_f64() / exactly.as_secs_f64(),
            );
        }
    }
}

/// Prints the speed-up by a second thread. It takes the minimum of repeated times, in alternation, so that
/// other load on the machine has little effect.
fn threads(_: &mut Criterion) {
    println!("\na million trials, one thread and two in turns:");
    let pools = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads can be started")
    });
    let solver = sampling(1_000_000);
    for (name, loss) in LOSSES {
        let chain = [RtoChain::new(20, loss, TIMERS)];
        let mut shortest = [Duration::MAX; 2];
        for _ in 0..15 {
            for (pool, shortest) in pools.iter().zip(&mut shortest) {
                let start = Instant::now();
                black_box(pool.install(|| solver.solve(black_box(&chain)))).ok();
                *shortest = start.elapsed().min(*shortest);
            }
        }
        let [one, two] = shortest.map(|time| time.as_secs_f64());
        println!(
            "loss {name:>3}, 20 packets: {:.1} ms, {:.1} ms: {:.2} times as fast",
            1e3 * one,
            1e3 * two,
            one / two
        );
    }
}

fn sampling(trials: u64) -> MonteCarlo {
    MonteCarlo {
        trials,
        ..MonteCarlo::default()
    }
}

/// Returns the minimum of five times, for one repetition.
fn time<T>(repetitions: u32, mut operation: impl FnMut() -> T) -> Duration {
    let once = |_| {
        let start = Instant::now();
        for _ in 0..repetitions {
            black_box(operation());
        }
        start.elapsed() / repetitions
    };
    (0..5).map(once).min().unwrap_or_default()
}

criterion_group!(benches, exact, monte_carlo, ratio, threads);
criterion_main!(benches);
