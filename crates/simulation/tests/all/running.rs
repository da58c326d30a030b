//! Simulations that run to their end.

use netflow_simulation::*;

/// Returns the simulation of a network in a model, after `duration_s` seconds.
pub fn run(network: Network, model: Model, duration_s: f64) -> Simulation {
    let options = Options {
        duration_s,
        model,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}

/// Returns the packet simulation of a network after `duration_s` seconds.
pub fn run_packets(network: Network, duration_s: f64) -> Simulation {
    run(network, Model::PACKETS, duration_s)
}
