//! Cost and accuracy of adaptive steps.

use std::path::PathBuf;

use netflow_problems::{Case, a4};
use netflow_simulation::{Adaptive, Coupling, FluidOptions, Options, Run, Simulation, Step};

fn simulation(case: &Case, steps: FluidOptions) -> Simulation {
    let options = Options {
        duration_s: case.duration_s,
        model: steps.into(),
        ..Options::default()
    };
    Simulation::new(case.network.clone(), options).unwrap()
}

/// Fine trajectory: the queue at every multiple of a step.
struct FineRun {
    step_s: f64,
    queue_pkts: Vec<f64>,
}

impl FineRun {
    fn new(case: &Case, step_s: f64) -> FineRun {
        let mut sim = simulation(case, fixed(step_s));
        let mut queue_pkts = vec![0.0];
        while !sim.is_done() {
            sim.step().unwrap();
            queue_pkts.push(sim.queue_pkts(case.links[0]));
        }
        FineRun { step_s, queue_pkts }
    }

    fn at(&self, time_s: f64) -> f64 {
        let place = time_s / self.step_s;
        let i = (place.floor() as usize).min(self.queue_pkts.len() - 2);
        let (a, b) = (self.queue_pkts[i], self.queue_pkts[i + 1]);
        a + (b - a) * (place - i as f64)
    }
}

/// Error of a run in packets, and its cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Maximum error at the end of any step.
    at_ends: f64,
    /// Maximum error at any time, with linear interpolation between ends.
    between: f64,
    evaluations: u64,
}

fn cost(case: &Case, fine: &FineRun, steps: FluidOptions) -> Cost {
    let mut sim = simulation(case, steps);
    let (mut at_ends, mut between) = (0.0_f64, 0.0_f64);
    let (mut time_s, mut queue) = (0.0, 0.0);
    while !sim.is_done() {
        sim.step().unwrap();
        let (end_s, end) = (sim.time_s(), sim.queue_pkts(case.links[0]));
        at_ends = at_ends.max((end - fine.at(end_s)).abs());
        for i in 0..=32 {
            let part = f64::from(i) / 32.0;
            let line = queue + part * (end - queue);
            between = between.max((line - fine.at(time_s + part * (end_s - time_s))).abs());
        }
        (time_s, queue) = (end_s, end);
    }
    Cost {
        at_ends,
        between,
        evaluations: sim.evaluations(),
    }
}

fn fixed(step_s: f64) -> FluidOptions {
    FluidOptions::WellMixed {
        step: Step::Fixed { step_s },
        coupling: Coupling::Implicit,
    }
}

fn adaptive(tolerance: f64) -> FluidOptions {
    FluidOptions::Adaptive {
        step: Adaptive {
            tolerance,
            min_s: 1e-4,
            max_s: 5.0,
        },
        coupling: Coupling::Implicit,
    }
}

/// Compares the fine trajectory with that of an independent program, every 500 ms.
fn check(case: &Case, fine: &FineRun) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/reference/math/fluid_A4_ps_ref.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|l| !l.starts_with('#')).skip(1);
    let mut n = 0;
    for row in rows {
        let values: Vec<f64> = row.split(',').take(2).map(|v| v.parse().unwrap()).collect();
        let d = (fine.at(values[0] / 1000.0) - values[1]).abs();
        assert!(d < 2e-3, "{} at {} ms: {d}", case.name, values[0]);
        n += 1;
    }
    assert_eq!(n, 81);
}

/// Case A4: four sources start and stop on one link; four switches in 40 s.
#[test]
fn case_a4_needs_200_evaluations() {
    let case = a4();
    let fine = FineRun::new(&case, 1e-4);
    check(&case, &fine);

    let c = cost(&case, &fine, adaptive(0.1));
    println!("tolerance 0.1: {c:?}");
    assert!(c.at_ends <= 0.11 && c.evaluations <= 200, "{c:?}");
    // Linear interpolation is as accurate with a few more evaluations.
    let c = cost(&case, &fine, adaptive(0.01));
    println!("tolerance 0.01: {c:?}");
    assert!(c.between <= 0.11 && c.evaluations <= 300, "{c:?}");
}

/// Fixed steps need many times the evaluations for the same error, including linear interpolation:
/// 5 times at a coarse tolerance, 20 times at a fine one.
#[test]
fn fixed_steps_need_many_times_the_evaluations() {
    let case = a4();
    let fine = FineRun::new(&case, 1e-4);
    let fixed: Vec<Cost> = [0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3]
        .into_iter()
        .map(|step_s| cost(&case, &fine, fixed(step_s)))
        .collect();
    for (tolerance, at_least) in [(0.1, 3.0), (0.05, 5.0), (0.03, 5.0), (0.01, 20.0)] {
        let c = cost(&case, &fine, adaptive(tolerance));
        // Logarithmic interpolation between the two fixed steps closest to this error.
        let pair = fixed
            .windows(2)
            .find(|w| w[0].between >= c.between && w[1].between < c.between)
            .unwrap();
        let part = (pair[0].between / c.between).ln() / (pair[0].between / pair[1].between).ln();
        let (a, b) = (pair[0].evaluations as f64, pair[1].evaluations as f64);
        let ratio = a * (b / a).powf(part) / c.evaluations as f64;
        println!("tolerance {tolerance}: {c:?}; fixed steps take {ratio:.1} times the evaluations");
        assert!(ratio > at_least, "{tolerance}: {ratio}");
    }
}

/// Regression: two trial steps of a long interval can reach the same equilibrium and miss the
/// transient. A step once covered all 5 s after a switch, with an estimated error of 0.
#[test]
fn adaptive_steps_do_not_skip_transients() {
    let case = a4();
    let fine = FineRun::new(&case, 1e-3);
    for tolerance in [0.1, 0.03, 0.01] {
        let mut sim = simulation(&case, adaptive(tolerance));
        let (mut time_s, mut queue) = (0.0, 0.0);
        while !sim.is_done() {
            sim.step().unwrap();
            let end = sim.queue_pkts(case.links[0]);
            let middle = fine.at(0.5 * (time_s + sim.time_s()));
            // The changes of the queue before and after the middle are similar.
            let bend = ((middle - queue) - (end - middle)).abs() / end.max(1.0);
            assert!(
                bend < 3.0 * tolerance + 0.02,
                "from {time_s} s to {} s: {bend}",
                sim.time_s()
            );
            (time_s, queue) = (sim.time_s(), end);
        }
    }
}
