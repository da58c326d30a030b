//! Parallel links between two nodes.

use netflow_network::LinkSpec;
use netflow_problems::{RandomNetwork, random_network, with_parallel_links};
use netflow_simulation::{Model, Network, Options, Simulation};
use proptest::prelude::*;

use crate::cases;
use crate::comparison::{NullRecorder, totals_of};

const DURATION_S: f64 = 4.0;

fn network(seed: u64, windows: bool) -> Network {
    random_network(RandomNetwork {
        nodes: 6,
        links: 9,
        connections: 10,
        events: 0,
        duration_s: DURATION_S,
        seed,
        plain: false,
        windows,
    })
}

/// Returns the totals of links and connections, as bits.
fn run(network: &Network, model: Model) -> Vec<u64> {
    let options = Options {
        model,
        duration_s: DURATION_S,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    simulation
        .run_until(DURATION_S, &mut NullRecorder, || false)
        .unwrap();
    totals_of(&simulation)
        .into_iter()
        .map(f64::to_bits)
        .collect()
}

/// A slower parallel link at every link carries nothing, and all other results have the same bits.
fn check_idle_parallel_links(seed: u64, model: Model) {
    let network = network(seed, model == Model::PACKETS);
    let with = with_parallel_links(&network, |spec| {
        Some(LinkSpec {
            bandwidth_bps: 0.5 * spec.bandwidth_bps,
            ..spec.clone()
        })
    });
    let (plain, told) = (run(&network, model), run(&with, model));
    // Values of links first, then of connections.
    let links = network.links().count();
    assert_eq!(with.links().count(), 2 * links);
    let of_links = (told.len() - plain.len()) / links * links;
    assert_eq!(told[..of_links], plain[..of_links], "{seed}");
    let idle = &told[of_links..2 * of_links];
    assert!(idle.iter().all(|&bits| bits == 0.0_f64.to_bits()), "{seed}");
    assert_eq!(told[2 * of_links..], plain[of_links..], "{seed}");
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn idle_parallel_links_change_no_packets(seed in 0..10_000_u64) {
        check_idle_parallel_links(seed, Model::PACKETS);
    }

    #[test]
    fn idle_parallel_links_change_no_fluid(seed in 0..10_000_u64) {
        check_idle_parallel_links(seed, Model::FLUID);
    }
}
