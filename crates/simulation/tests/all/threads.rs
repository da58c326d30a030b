//! Reproducible bits for any number of threads.

use netflow_problems::{RandomNetwork, random_network};
use netflow_simulation::{FluidOptions, Network, Options, Simulation, State, Step};

/// Returns the state after some steps on a pool of `threads` threads.
fn run(network: &Network, options: Options, steps: usize, threads: usize) -> State {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let mut sim = Simulation::new(network.clone(), options).unwrap();
        for _ in 0..steps {
            sim.step().unwrap();
        }
        sim.state().unwrap().clone()
    })
}

fn same_bits(network: &Network, options: Options, steps: usize) {
    let one = run(network, options, steps, 1);
    for threads in [2, 8] {
        let many = run(network, options, steps, threads);
        // NaN differs from itself, so that this also excludes NaN.
        assert!(many == one, "{threads} threads, {options:?}");
    }
}

fn options() -> [Options; 2] {
    [Step::Fixed { step_s: 0.05 }, Step::default()]
        .map(|step| FluidOptions::Standard { step })
        .map(|fluid| Options {
            duration_s: 10.0,
            model: fluid.into(),
            ..Options::default()
        })
}

/// 25 000 connections over ten links, about 100 000 hops: steps use several threads (from 20 000
/// hops, and from several thousand sources).
#[test]
fn threads_do_not_change_large_networks() {
    for plain in [true, false] {
        let network = random_network(RandomNetwork {
            nodes: 8,
            links: 10,
            connections: 25_000,
            events: if plain { 0 } else { 8 },
            duration_s: 1.0,
            seed: 11,
            plain,
            windows: false,
        });
        for options in options() {
            same_bits(&network, options, 12);
        }
    }
}

#[test]
fn threads_do_not_change_small_networks() {
    for seed in 0..8 {
        let network = random_network(RandomNetwork {
            nodes: 12,
            links: 20,
            connections: 60,
            events: 6,
            duration_s: 10.0,
            seed,
            plain: false,
            windows: false,
        });
        for options in options() {
            same_bits(&network, options, 150);
        }
    }
}

/// The single-threaded model on any pool.
#[test]
fn literal_model_has_the_same_bits() {
    let network = random_network(RandomNetwork {
        nodes: 8,
        links: 10,
        connections: 5000,
        events: 0,
        duration_s: 10.0,
        seed: 5,
        plain: true,
        windows: false,
    });
    let options = Options {
        duration_s: 10.0,
        model: FluidOptions::Literal { step_s: 0.05 }.into(),
        ..Options::default()
    };
    same_bits(&network, options, 50);
}
