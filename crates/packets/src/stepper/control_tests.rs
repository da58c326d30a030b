//! Test that settings between steps give the same results for any number of threads.

use netflow_network::engine::Engine as _;
use netflow_network::{
    Change, ConnectionId, ControlState, EventSpec, LinkId, LinkLoss, Network, NetworkBuilder,
    NodeId, PacketOptions, Source, WindowSource,
};
use netflow_problems::{connection, link};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::Packets;

const NODES: usize = 12;
const SLOWEST_BPS: f64 = 10e6;
const FASTEST_BPS: f64 = 40e6;
const FASTEST_PPS: f64 = 1500.0;

/// Returns a ring with enough traffic for several threads: half TCP, half sources with settable rates. All
/// connections may take either direction.
fn ring() -> Network {
    let mut builder = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..NODES).map(|i| builder.node(&format!("n{i}"))).collect();
    let node = |i: usize| nodes[i % NODES];
    for i in 0..NODES {
        for (from, to) in [(i, i + 1), (i + 1, i)] {
            let spec = link(node(from), node(to), 2.0 * SLOWEST_BPS, 0.01, 60.0);
            let link = builder.link(spec);
            for bps in [SLOWEST_BPS, FASTEST_BPS] {
                builder.event(EventSpec {
                    at_s: EventSpec::NEVER_S,
                    link,
                    change: Change::Bandwidth(bps),
                });
            }
        }
    }
    for i in 0..NODES {
        let source = match i % 2 {
            0 => Source::Ns2Tcp(WindowSource::default()),
            _ => Source::Poisson { rate_pps: 1000.0 },
        };
        let spec = connection(&format!("c{i}"), node(i), node(i + 3), source);
        let id = builder.connection(spec);
        let far = (0..=NODES - 3).map(|hop| node(i + NODES - hop));
        builder.allow_path(id, far.collect());
        if i % 2 == 1 {
            builder.allow_rate(id, 0.0);
            builder.allow_rate(id, FASTEST_PPS);
        }
    }
    builder.build().unwrap()
}

/// Changes a random setting.
fn change_random_setting(packets: &mut Packets, rng: &mut Pcg32) {
    let links: Vec<LinkId> = packets.network().links().collect();
    let connections: Vec<ConnectionId> = packets.network().connections().collect();
    let link = links[rng.random_range(0..links.len())];
    let place = rng.random_range(0..connections.len());
    let (id, before) = (
        connections[place],
        packets.control_state(connections[place]),
    );
    match rng.random_range(0..4) {
        0 => packets.set_bandwidth(link, rng.random_range(SLOWEST_BPS..FASTEST_BPS)),
        1 => packets.set_loss(link, &LinkLoss::from(rng.random_range(0.0..0.03))),
        2 if place % 2 == 1 => {
            let rate_pps = Some(rng.random_range(0.0..FASTEST_PPS));
            packets.set_control(id, ControlState { rate_pps, ..before });
        }
        _ => {
            let path = [None, Some(0), Some(1)][rng.random_range(0..3)];
            packets.set_control(id, ControlState { path, ..before });
        }
    }
}

/// Returns the results after each interval of a run with random settings, and the number of intervals after
/// which it was partitioned.
fn results_with_random_settings(seed: u64, prepare: fn(&mut Packets)) -> (Vec<String>, usize) {
    let mut packets = Packets::new(ring(), 10.0, seed, PacketOptions::default()).unwrap();
    let mut rng = Pcg32::seed_from_u64(seed);
    let (mut told, mut in_parts) = (Vec::new(), 0);
    for i in 1..=30 {
        prepare(&mut packets);
        change_random_setting(&mut packets, &mut rng);
        packets.reach(0.04 * f64::from(i)).unwrap();
        in_parts += usize::from(packets.engine.partitions.is_partitioned());
        told.extend(packets.engine.current_results());
    }
    (told, in_parts)
}

#[test]
fn runtime_changes_are_equal_in_partitions() {
    for seed in 0..2 {
        let (alone, never) = results_with_random_settings(seed, |packets| packets.set_threads(1));
        let (two, in_two) = results_with_random_settings(seed, |packets| {
            packets.set_threads(2);
            packets.engine.partitions.tuner.use_threads = true;
        });
        // The engine chooses the mode, which requires a trial of both.
        let (chosen, _) = results_with_random_settings(seed, |packets| packets.set_threads(2));
        let (three, in_three) =
            results_with_random_settings(seed, |packets| packets.engine.partition_links());
        assert_eq!(never, 0);
        assert!(
            in_two >= 10 && in_three >= 25,
            "{seed}: {in_two} {in_three}"
        );
        for (name, other) in [
            ("two parts", two),
            ("two threads", chosen),
            ("three parts", three),
        ] {
            let differs = alone.iter().zip(&other).find(|(a, b)| a != b);
            assert_eq!(differs, None, "{seed}: {name}");
            assert_eq!(alone.len(), other.len());
        }
    }
}
