//! Integrator of the fluid model compared with independent solutions of a differential equation.
//!
//! One link (μ = 100 packets/s, buffer K = 20) and two NT sources with a base round-trip time of
//! 120 ms, from an empty queue. Well-mixed and without delays, this is one equation for N(t):
//!
//! > N' = λ(N)·(1 − B(N)) − μ·U(N),  N(0) = 0,
//! > λ(N) = 2·F(B(N), 120 ms + (N+1)/μ),
//!
//! B and U are the blocking and the utilization of the M/M/1/K queue with mean N. They are computed
//! here without `mm1k`: with P_n ∝ ρⁿ, N = Σ n·P_n, B = P_K, U = 1 − P_0, and ρ by bisection. B
//! stays below 1 %, where the profile is smooth.

use netflow_profile::builtin;
use netflow_simulation::{
    Adaptive, Buffer, ConnectionSpec, Coupling, FluidOptions, LinkId, LinkSpec, Network,
    NetworkBuilder, Options, Simulation, Source, Step,
};

const MU: f64 = 100.0;
const K: i32 = 20;
const BASE_S: f64 = 0.12;
const SOURCES: u32 = 2;
const TIMES: [f64; 8] = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0];

/// Returns N, B and U at the load ρ.
fn queue_at(rho: f64) -> (f64, f64, f64) {
    let weights: Vec<f64> = (0..=K).map(|n| rho.powi(n)).collect();
    let sum: f64 = weights.iter().sum();
    let mean: f64 = weights.iter().zip(0..).map(|(w, n)| w * f64::from(n)).sum();
    (
        mean / sum,
        weights[K as usize] / sum,
        1.0 - weights[0] / sum,
    )
}

/// Returns B and U of the queue with mean `n`.
fn queue_of(n: f64) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 2.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if queue_at(middle).0 < n {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (_, b, u) = queue_at(0.5 * (low + high));
    (b, u)
}

/// N at the times, from diffsol 0.18 (`tsit45`, relative tolerance 1e-10, absolute 1e-11).
const DIFFSOL: [f64; 8] = [
    1.0201894569685093,
    1.7049738599532476,
    2.243823746206951,
    2.62242114259755,
    2.7539424921140974,
    2.765929566896541,
    2.7660185786675036,
    2.766018583494066,
];

/// Returns N at the times, from the classical Runge–Kutta method with step `h`.
fn runge_kutta(h: f64) -> Vec<f64> {
    let profile = builtin("nt").unwrap();
    let slope = |n: f64| {
        let (b, u) = queue_of(n);
        let send = profile.throughput(b, BASE_S + (n + 1.0) / MU);
        f64::from(SOURCES) * send * (1.0 - b) - MU * u
    };
    let (mut n, mut steps) = (0.0, 0);
    let reach = |t: f64| {
        while steps < (t / h).round() as u32 {
            let k1 = slope(n);
            let k2 = slope(n + 0.5 * h * k1);
            let k3 = slope(n + 0.5 * h * k2);
            let k4 = slope(n + h * k3);
            n += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
            steps += 1;
        }
        n
    };
    TIMES.into_iter().map(reach).collect()
}

/// Returns the solution after checking that two solvers and two step sizes agree.
fn oracle() -> Vec<f64> {
    let solutions = [runge_kutta(2e-3), runge_kutta(1e-3)];
    for (solution, tolerance) in solutions.iter().zip([5e-6, 5e-7]) {
        for (found, told) in solution.iter().zip(DIFFSOL) {
            assert!((found - told).abs() < tolerance, "{solution:?}");
        }
    }
    DIFFSOL.to_vec()
}

fn network() -> (Network, LinkId) {
    let mut b = NetworkBuilder::new();
    let (from, to, turn) = (b.node("from"), b.node("to"), b.node("turn"));
    let link = netflow_problems::link(from, to, MU * 8000.0, 0.0, f64::from(K));
    let id = b.link(link.clone());
    // A return path that is a pure delay.
    let fast = LinkSpec {
        bandwidth_bps: 1e30,
        buffer: Buffer::Packets(1e6),
        ..link
    };
    b.link(LinkSpec {
        from: to,
        to: turn,
        delay_s: BASE_S,
        ..fast.clone()
    });
    b.link(LinkSpec {
        from: turn,
        to: from,
        ..fast
    });
    b.connection(ConnectionSpec {
        count: SOURCES,
        path: Some(vec![from, to]),
        return_path: Some(vec![to, turn, from]),
        ..netflow_problems::one_way("tcp", from, to, Source::Profile(builtin("nt").unwrap()))
    });
    (b.build().unwrap(), id)
}

/// Returns the maximum difference from the oracle at the times, in packets, and the number of
/// steps.
fn error(fluid: FluidOptions, wanted: &[f64]) -> (f64, u64) {
    let (network, link) = network();
    let mut worst = 0.0_f64;
    let mut steps = 0;
    for (&t, &n) in TIMES.iter().zip(wanted) {
        // A separate run for each time, because adaptive steps end there.
        let options = Options {
            duration_s: t,
            model: fluid.into(),
            ..Options::default()
        };
        let mut sim = Simulation::new(network.clone(), options).unwrap();
        while !sim.is_done() {
            sim.step().unwrap();
        }
        worst = worst.max((sim.queue_pkts(link) - n).abs());
        steps = sim.steps();
    }
    (worst, steps)
}

#[test]
fn the_stepper_converges_to_independent_solutions() {
    let wanted = oracle();
    println!("N at {TIMES:?}: {wanted:?}");
    assert!(wanted.windows(2).all(|w| w[0] < w[1] + 1e-6));
    let b = queue_of(wanted[TIMES.len() - 1]).0;
    assert!((1e-4..0.01).contains(&b), "{b}");

    let fixed = |step_s, coupling| FluidOptions::WellMixed {
        step: Step::Fixed { step_s },
        coupling,
    };
    for coupling in [Coupling::Implicit, Coupling::Lagged] {
        let steps = [0.01, 0.005, 0.0025, 0.00125];
        let errors = steps.map(|step_s| error(fixed(step_s, coupling), &wanted).0);
        println!("{coupling:?}, fixed steps of {steps:?}: {errors:?}");
        assert!(errors[3] < 0.02, "{errors:?}");
        // Order 1: the error halves with the step, within 10 % for the two finest steps.
        let order = (errors[2] / errors[3]).log2();
        assert!((0.9..1.3).contains(&order), "{order}");
    }
    let finest = error(fixed(2e-5, Coupling::Implicit), &wanted).0;
    println!("steps of 20 µs: {finest}");
    assert!(finest < 5e-4, "{finest}");

    let adaptive = |tolerance| {
        let step = Adaptive {
            tolerance,
            min_s: 1e-6,
            max_s: 1.0,
        };
        let coupling = Coupling::Implicit;
        error(FluidOptions::Adaptive { step, coupling }, &wanted)
    };
    let tried = [1e-2, 1e-3, 1e-4, 1e-5].map(adaptive);
    println!("adaptive: {tried:?}");
    for (a, tolerance) in tried.iter().zip([1e-2, 1e-3, 1e-4, 1e-5]) {
        assert!(a.0 < 3.0 * tolerance, "{tolerance}: {tried:?}");
    }
    // Extrapolated steps have order 2: ten times the steps, at most 1 % of the error.
    let order = (tried[0].0 / tried[3].0).ln() / (tried[3].1 as f64 / tried[0].1 as f64).ln();
    println!("order of adaptive steps: {order}");
    assert!(order > 1.5, "{order}");
}
