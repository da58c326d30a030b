//! Bandwidths set between steps have the same effect as events.

use netflow_problems::{RandomNetwork, link, one_way, random_network};
use netflow_simulation::*;
use proptest::prelude::*;

use crate::cases;
use crate::comparison::{NullRecorder, totals_of};

fn network(seed: u64) -> Network {
    random_network(RandomNetwork {
        nodes: 6,
        links: 8,
        connections: 8,
        events: 3,
        duration_s: 4.0,
        seed,
        plain: false,
        windows: false,
    })
}

/// Simulates to the end, with a bandwidth set by an event.
fn run_with_event(
    network: &Network,
    options: Options,
    link: usize,
    at_s: f64,
    bps: f64,
) -> Simulation {
    let link = network.links().nth(link).unwrap();
    let mut builder = network.to_builder();
    builder.event(EventSpec {
        at_s,
        link,
        change: Change::Bandwidth(bps),
    });
    let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
    simulation
        .run_until(at_s, &mut NullRecorder, || false)
        .unwrap();
    simulation
        .run_until(1e9, &mut NullRecorder, || false)
        .unwrap();
    simulation
}

/// Simulates to the end, with the bandwidth set at run time.
fn run_with_setting(
    network: &Network,
    options: Options,
    link: usize,
    at_s: f64,
    bps: f64,
) -> Simulation {
    let id = network.links().nth(link).unwrap();
    let network = with_bandwidths(network, &[(id, bps)]).unwrap();
    let mut simulation = Simulation::new(network, options).unwrap();
    simulation
        .run_until(at_s, &mut NullRecorder, || false)
        .unwrap();
    let id = simulation.network().links().nth(link).unwrap();
    simulation.set_bandwidth(id, bps).unwrap();
    simulation
        .run_until(1e9, &mut NullRecorder, || false)
        .unwrap();
    simulation
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn fluid_bandwidth_set_at_run_time_equals_event(
        seed in 0..1000_u64,
        at_s in 0.5..2.5_f64,
        factor in 0.2..4.0_f64,
    ) {
        let network = network(seed);
        let at_s = (at_s * 1e3).round() / 1e3;
        let link = seed as usize % network.link_count();
        let id = network.links().nth(link).unwrap();
        let bps = network.link_spec(id).bandwidth_bps * factor;
        let options = Options { duration_s: 4.0, ..Options::default() };
        let (event, hand) = (
            run_with_event(&network, options, link, at_s, bps),
            run_with_setting(&network, options, link, at_s, bps),
        );
        for (event, hand) in totals_of(&event).into_iter().zip(totals_of(&hand)) {
            // Sums may be in another order.
            prop_assert!((event - hand).abs() <= 1e-9 * (1.0 + event.abs()), "{} {}", event, hand);
        }
    }

    /// Random numbers depend on the events of links, but a full link sends at its rate.
    #[test]
    fn packet_link_follows_bandwidth_set_at_run_time(
        at_ms in 500..2500_u32,
        mbits in 1..10_u32,
        factor in 0.2..4.0_f64,
        room in 2..50_u32,
    ) {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let own_bps = 1e6 * f64::from(mbits);
        builder.link(link(a, b, own_bps, 0.01, room.into()));
        builder.connection(one_way("c", a, b, Source::Constant { rate_pps: 6000.0 }));
        let network = builder.build().unwrap();
        let model = Model::Packets(PacketOptions::default());
        let options = Options { duration_s: 4.0, model, ..Options::default() };
        let (at_s, bps) = (f64::from(at_ms) / 1e3, own_bps * factor);
        let sent = (own_bps * at_s + bps * (4.0 - at_s)) / 8000.0;
        for run in [run_with_event, run_with_setting] {
            let simulation = run(&network, options, 0, at_s, bps);
            let id = simulation.network().links().next().unwrap();
            let departed = simulation.link_totals(id).departed_pkts;
            prop_assert!((departed - sent).abs() < 3.0, "{} {}", departed, sent);
        }
    }

    /// An announced change that does not occur has no effect.
    #[test]
    fn announced_bandwidths_do_not_change_results(seed in 0..1000_u64, factor in 0.2..4.0_f64) {
        let network = network(seed);
        let id = network.links().next().unwrap();
        let bps = network.link_spec(id).bandwidth_bps * factor;
        let model = Model::Packets(PacketOptions::default());
        let options = Options { duration_s: 2.0, model, ..Options::default() };
        let all = |network| {
            let mut simulation = Simulation::new(network, options).unwrap();
            simulation.run_until(1e9, &mut NullRecorder, || false).unwrap();
            totals_of(&simulation)
        };
        prop_assert_eq!(all(network.clone()), all(with_bandwidths(&network, &[(id, bps)]).unwrap()));
    }
}

#[test]
fn invalid_bandwidths_are_rejected() {
    let network = network(1);
    let id = network.links().next().unwrap();
    let own_bps = network.link_spec(id).bandwidth_bps;
    let network = with_bandwidths(&network, &[(id, own_bps / 2.0)]).unwrap();
    let mut simulation = Simulation::new(network, Options::default()).unwrap();
    let id = simulation.network().links().next().unwrap();
    assert!(simulation.set_bandwidth(id, own_bps / 2.0).is_ok());
    for bps in [own_bps / 4.0, own_bps * 2.0, f64::NAN, -1.0] {
        let error = simulation.set_bandwidth(id, bps).unwrap_err();
        assert!(
            error.to_string().contains("bit/s are not between"),
            "{error}"
        );
    }
    assert!(with_bandwidths(simulation.network(), &[(id, -1.0)]).is_err());
}
