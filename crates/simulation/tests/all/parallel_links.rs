//! Parallel links between two nodes.

use netflow_network::{
    Change, ConnectionSpec, EcmpWeights, EventSpec, LinkSpec, NetworkBuilder, Source,
};
use netflow_problems::{RandomNetwork, one_way, random_network, with_parallel_links};
use netflow_simulation::{Model, Network, Options, Run, Simulation};
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

/// Constant traffic of 1000 packets/s from A to D over a bundle of three members and over C. At 2 s, a second member
/// fails, and the bundle needs two: the third one goes down with it.
#[test]
fn both_models_divide_by_capacity_and_close_bundles() {
    let mut b = NetworkBuilder::new();
    b.ecmp_weights(EcmpWeights::Capacity);
    let [a, via_b, via_c, d] = ["A", "B", "C", "D"].map(|name| b.node(name));
    let members = [1, 2, 3].map(|i| {
        b.link(LinkSpec {
            circuit: Some(i.to_string().into()),
            ..LinkSpec::new(a, via_b, 20e6)
        })
    });
    b.bundle(&members, 2);
    for (from, to, bandwidth_bps) in [(via_b, d, 100e6), (a, via_c, 40e6), (via_c, d, 40e6)] {
        b.link(LinkSpec::new(from, to, bandwidth_bps));
    }
    for (at_s, member) in [(1.0, 0), (2.0, 1)] {
        let (link, change) = (members[member], Change::Down);
        b.event(EventSpec { at_s, link, change });
    }
    for (i, part) in b.equal_paths().shares(a, d).into_iter().enumerate() {
        let rate_pps = 1000.0 * part.share;
        let flow = Some(part.flow);
        let spec = one_way(&i.to_string(), a, d, Source::Constant { rate_pps });
        b.connection(ConnectionSpec { flow, ..spec });
    }
    let network = b.build().unwrap();
    let c = network.link_by_name("C->D").unwrap();
    let member = network.link_by_name("A->B#3").unwrap();
    for model in [Model::FLUID, Model::PACKETS] {
        let options = Options {
            model,
            duration_s: DURATION_S,
            ..Options::default()
        };
        let mut simulation = Simulation::new(network.clone(), options).unwrap();
        let mut sent = |until_s: f64| {
            simulation
                .run_until(until_s, &mut NullRecorder, || false)
                .unwrap();
            [c, member].map(|link| simulation.link_totals(link).offered_pkts)
        };
        let counts = [1.0, 2.0, 3.0, 4.0].map(&mut sent);
        // Of 100 Mbit/s, 40 over C; then of 80.
        let [over_c, over_member] = [0, 1].map(|i| [counts[0][i], counts[3][i] - counts[2][i]]);
        assert!((over_c[0] - 400.0).abs() < 10.0, "{model:?} {counts:?}");
        assert!((over_c[1] - 1000.0).abs() < 10.0, "{model:?} {counts:?}");
        assert!(
            (over_member[0] - 200.0).abs() < 10.0,
            "{model:?} {counts:?}"
        );
        assert!(over_member[1] < 1e-9, "{model:?} {counts:?}");
    }
}
