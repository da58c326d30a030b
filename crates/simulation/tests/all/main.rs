//! Integration tests of networks. A single binary builds much faster than one for each file.

mod application;
mod aqm;
mod bandwidth_control;
mod byte_buffers;
mod calibration;
mod classes;
mod comparison;
mod delay_events;
mod delay_line;
mod delays;
mod delivery_trace;
mod diffserv;
mod estimates;
mod explain;
mod htb;
mod invalid_operations;
mod link_events;
mod link_loss;
mod link_series;
mod loss_events;
mod measurement_periods;
mod metamorphic;
mod mm1k;
mod outages;
mod overhead;
mod packet_model;
mod parallel_links;
mod profiled_sources;
mod properties;
mod recording;
mod reference;
mod running;
mod runtime_control;
mod saturating_applications;
mod sending;
mod stacks;
mod steps;
mod table;
mod threads;
mod token_bucket;
mod users;
mod video;
mod window_state;

use netflow_simulation::{Model, Network, Options, Simulation};
use proptest::prelude::ProptestConfig;

/// Returns `most` cases, or the number in the environment variable `PROPTEST_CASES`.
fn cases(most: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(most),
    }
}

/// Runs a network in the packet model to its end.
fn run_in_packet_model(network: Network, duration_s: f64, seed: u64) -> Simulation {
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
