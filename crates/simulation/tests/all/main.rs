//! Networks, from outside. One binary: it builds in a fraction of the time of one for each file.

mod adaptive;
mod alike;
mod application;
mod bytes;
mod calibration;
mod circuits;
mod classes;
mod control;
mod delay_events;
mod delays;
mod diffserv;
mod estimates;
mod explain;
mod link_events;
mod link_loss;
mod loss_events;
mod managed;
mod metamorphic;
mod misuse;
mod mm1k;
mod ode;
mod outages;
mod overhead;
mod paced;
mod periods;
mod properties;
mod recording;
mod reference;
mod sending;
mod settings;
mod stacks;
mod steps;
mod table;
mod threads;
mod users;
mod video;
mod wanting;
mod window;

use netflow_simulation::{Model, Network, Options, Simulation};
use proptest::prelude::ProptestConfig;

/// So many cases, or as many as the environment's `PROPTEST_CASES` asks for.
fn cases(most: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(most),
    }
}

/// A network that was followed to its end, packet by packet.
fn as_packets(network: Network, duration_s: f64, seed: u64) -> Simulation {
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        seed,
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}
