//! Data and rates of sources with a congestion window.

use netflow_simulation::*;
use netflow_tcpmodel::Stack;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use std::sync::Arc;

use super::run_in_packet_model;

/// Returns a link, its return link, and one connection.
fn one(bandwidth_bps: f64, spec: impl FnOnce(NodeId, NodeId) -> ConnectionSpec) -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(netflow_problems::link(from, to, bandwidth_bps, 0.01, 100.0));
    }
    builder.connection(spec(a, b));
    builder.build().unwrap()
}

fn window(variant: TcpVariant) -> Source {
    Source::Ns2Tcp(WindowSource {
        variant,
        ..WindowSource::default()
    })
}

fn every_source() -> Vec<Source> {
    let stack = Source::Tcp(Arc::new(Stack::builtin("linux-6").unwrap()));
    let windows = TcpVariant::ALL.into_iter().map(window);
    windows.chain([stack]).collect()
}

/// The size does not include the handshake. Regression: a connection of 10 packets sent 9 and the
/// SYN.
#[test]
fn transfer_size_excludes_the_handshake() {
    for source in every_source() {
        for size in [1.0, 10.0, 200.0] {
            let told = format!("{source:?}, {size}");
            let network = one(1e7, |a, b| ConnectionSpec {
                size_pkts: Some(size),
                ..netflow_problems::connection("c", a, b, source.clone())
            });
            let id = network.connections().next().unwrap();
            let totals = run_in_packet_model(network, 20.0, 1).connection_totals(id);
            let opens = match &source {
                Source::Ns2Tcp(window) => window.variant.opens_connections(),
                _ => true,
            };
            assert!(totals.finished_s.is_some(), "{told}");
            let goodput_pkts = totals.mean_goodput_pps * 20.0;
            assert!((goodput_pkts - size).abs() < 1e-6, "{told}: {goodput_pkts}");
            let all = size + f64::from(u8::from(opens));
            assert_eq!(totals.offered_pkts - totals.lost_pkts, all, "{told}");
        }
    }
}

/// All application data arrives, whatever its amount.
#[test]
fn all_application_data_arrives() {
    for source in every_source() {
        for size_pkts in [None, Some(7.0)] {
            let network = one(1e7, |a, b| ConnectionSpec {
                application: Application::Poisson { rate_pps: 20.0 },
                stop_s: Some(5.0),
                size_pkts,
                ..netflow_problems::connection("c", a, b, source.clone())
            });
            let id = network.connections().next().unwrap();
            let totals = run_in_packet_model(network, 20.0, 1).connection_totals(id);
            let told = format!("{source:?}, {size_pkts:?}: {totals:?}");
            let made_pkts = totals.generated_pkts.unwrap();
            assert!(size_pkts.is_none_or(|size| size == made_pkts), "{told}");
            let goodput_pkts = totals.mean_goodput_pps * 20.0;
            assert!((goodput_pkts - made_pkts).abs() < 1e-6, "{told}");
        }
    }
}

/// Regression: a rarely used window was reported as a rate of 40 times the link's bandwidth.
#[test]
fn unused_window_is_not_reported_as_rate() {
    for source in every_source() {
        let application = Application::Poisson { rate_pps: 100.0 };
        let network = one(1e8, |a, b| ConnectionSpec {
            application,
            ..netflow_problems::connection("c", a, b, source.clone())
        });
        let id = network.connections().next().unwrap();
        let simulation = run_in_packet_model(network, 20.0, 1);
        let explanation = simulation.explain(id);
        let told = format!("{source:?}: {explanation:?}");
        assert_eq!(explanation.limit, Some(Limit::Application), "{told}");
        // At 100 packets/s some are in flight at any time.
        assert!(explanation.rate_pps < 1000.0, "{told}");
    }
}

/// The default send jitter is the transmission time of the slowest link of the path, at most 1 ms;
/// a given value is used unchanged.
#[test]
fn send_jitter_follows_from_the_path() {
    let jitter_s = |bandwidth_bps, send_jitter_s| {
        let network = one(bandwidth_bps, |a, b| {
            let source = WindowSource {
                send_jitter_s,
                ..WindowSource::default()
            };
            netflow_problems::connection("c", a, b, Source::Ns2Tcp(source))
        });
        network.send_jitter_s(network.connections().next().unwrap())
    };
    assert_eq!(jitter_s(1e6, None), Some(1e-3));
    assert_eq!(jitter_s(8e7, None), Some(1e-4));
    assert_eq!(jitter_s(8e7, Some(1e-3)), Some(1e-3));
    assert_eq!(jitter_s(1e6, Some(0.0)), Some(0.0));
}

/// Returns the share of the first of two Reno sources at 20 Mbit/s, whose path delays differ by
/// fractions of a packet's transmission time. Both have this send jitter.
fn shares(send_jitter_s: Option<f64>) -> Vec<f64> {
    let packet_s = 12e3 / 20e6;
    let share = |part: f64| {
        let mut builder = NetworkBuilder::new();
        let [router, to] = ["r", "d"].map(|name| builder.node(name));
        let mut duplex = |from, to, bandwidth_bps, delay_s, room| {
            builder.link(netflow_problems::link(
                from,
                to,
                bandwidth_bps,
                delay_s,
                room,
            ));
            builder.link(netflow_problems::link(
                to,
                from,
                bandwidth_bps,
                delay_s,
                1000.0,
            ));
        };
        duplex(router, to, 20e6, 0.01, 15.0);
        for (i, more_s) in [0.0, part * packet_s].into_iter().enumerate() {
            let from = builder.node(&format!("h{i}"));
            let near = |a, b| netflow_problems::link(a, b, 200e6, 0.005 + more_s, 1000.0);
            builder.link(near(from, router));
            builder.link(near(router, from));
            let source = Source::Ns2Tcp(WindowSource {
                send_jitter_s,
                ..WindowSource::default()
            });
            builder.connection(ConnectionSpec {
                start_s: 0.3 * i as f64,
                packet_size_bytes: 1500.0,
                ..netflow_problems::connection(&format!("c{i}"), from, to, source)
            });
        }
        let network = builder.build().unwrap();
        let runs = (0..2).map(|seed| run_in_packet_model(network.clone(), 40.0, seed));
        let delivered = runs.map(|run| {
            let ids: Vec<_> = run.network().connections().collect();
            [0, 1].map(|i| run.connection_totals(ids[i]).delivered_pkts)
        });
        let [one, two] = delivered.fold([0.0, 0.0], |sum, it| [sum[0] + it[0], sum[1] + it[1]]);
        one / (one + two)
    };
    let parts = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.2, 1.5, 1.8];
    parts.into_iter().map(share).collect()
}

/// Without send jitter, phase effects make a source's share depend on its exact delay. A jitter of
/// one transmission time of the slowest link prevents this; a longer one is not better.
#[test]
fn send_jitter_prevents_phase_effects() {
    let [never, default, longer] = [Some(0.0), None, Some(1.2e-3)].map(|jitter_s| {
        let shares = shares(jitter_s);
        let n = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / n;
        let squares = shares.iter().map(|share| (share - mean).powi(2));
        let std = (squares.sum::<f64>() / n).sqrt();
        println!("{jitter_s:?}: {shares:.2?}, {std:.3}");
        std
    });
    assert!(never > 0.15, "{never}");
    assert!(default < 0.12, "{default}");
    assert!(longer > 0.8 * default, "{longer} {default}");
}

/// Regression: on short paths a jitter of 1 ms limited sources.
#[test]
fn send_jitter_does_not_limit_short_paths() {
    let utilization = |variant, bandwidth_bps, delay_s, send_jitter_s| {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let link = |from, to| LinkSpec {
            delay_s,
            buffer: Buffer::BandwidthDelay,
            ..LinkSpec::new(from, to, bandwidth_bps)
        };
        let there = builder.link(link(a, b));
        builder.link(link(b, a));
        let source = Source::Ns2Tcp(WindowSource {
            variant,
            send_jitter_s,
            ..WindowSource::default()
        });
        builder.connection(ConnectionSpec {
            packet_size_bytes: 1500.0,
            ..netflow_problems::connection("c", a, b, source)
        });
        let run = run_in_packet_model(builder.build().unwrap(), 20.0, 1);
        run.link_totals(there).utilization
    };
    for (variant, bandwidth_bps, delay_s) in [
        (TcpVariant::Vegas, 1e8, 5e-3),
        (TcpVariant::NewReno, 1e9, 1e-4),
    ] {
        let at = |jitter_s| utilization(variant, bandwidth_bps, delay_s, jitter_s);
        let (default, before) = (at(None), at(Some(1e-3)));
        println!("{variant:?}: {default} {before}");
        assert!(default > 0.95, "{variant:?}: {default}");
        assert!(before < 0.5, "{variant:?}: {before}");
    }
    // With jitter, a single Reno source with a short queue loses two packets at once.
    let at = |jitter_s| utilization(TcpVariant::Reno, 1e8, 1e-3, jitter_s);
    let (default, never) = (at(None), at(Some(0.0)));
    println!("{default} {never}");
    assert!(default < 0.5 && never > 0.95, "{default} {never}");
}

/// A fixed-rate source sends until its size has arrived. The packets then in flight are additional
/// in both models, and of no use.
#[test]
fn packets_in_flight_exceed_the_size() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(31));
    for case in 0..24 {
        let delay_s = rng.random_range(0.001..0.3);
        let rate_pps = rng.random_range(50.0..800.0);
        let size_pkts = f64::from(rng.random_range(50..1500_u32));
        let count = rng.random_range(1..4);
        let mut builder = NetworkBuilder::new();
        let [a, b] = ["a", "b"].map(|name| builder.node(name));
        builder.link(LinkSpec {
            loss: LinkLoss::from(rng.random_range(0.0..0.1)),
            ..netflow_problems::link(a, b, 5e7, delay_s, 1000.0)
        });
        let id = builder.connection(ConnectionSpec {
            size_pkts: Some(size_pkts),
            count,
            ..netflow_problems::one_way("c", a, b, Source::Constant { rate_pps })
        });
        let network = builder.build().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS].map(|model| {
            let options = Options {
                duration_s: 2.0 * size_pkts / rate_pps + 1.0,
                model,
                ..Options::default()
            };
            let mut simulation = Simulation::new(network.clone(), options).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            simulation.connection_totals(id)
        });
        let told = format!(
            "{case}: {count} × {size_pkts} at {rate_pps}, {delay_s} s: {fluid:?} {packets:?}"
        );
        let near = |a: f64, b: f64, part: f64| (a - b).abs() <= part * b + 3.0 * f64::from(count);
        // The set of lost packets is random.
        assert!(
            near(fluid.offered_pkts, packets.offered_pkts, 0.05),
            "{told}"
        );
        assert!(
            near(fluid.delivered_pkts, packets.delivered_pkts, 0.04),
            "{told}"
        );
        let useful =
            [&fluid, &packets].map(|it| it.mean_goodput_pps * (2.0 * size_pkts / rate_pps + 1.0));
        assert!(
            useful
                .iter()
                .all(|&it| near(it, size_pkts * f64::from(count), 1e-9)),
            "{told} {useful:?}"
        );
        let [finished_s, others_s] = [&fluid, &packets].map(|it| it.finished_s.unwrap());
        assert!(
            (finished_s - others_s).abs() < 0.06 * others_s + 3.0 / rate_pps,
            "{told}"
        );
    }
}

/// Regression: sizes below half a packet were never sent, small ones were cut by half a packet, and
/// a transfer could end before its start. In both models whole packets are sent, and the last one
/// arrives no earlier than possible.
#[test]
fn small_transfers_are_delivered_completely() {
    let reno = || Source::Profile(netflow_profile::builtin("ns-reno").unwrap());
    let constant = || Source::Constant {
        rate_pps: 25.0 / 3.0,
    };
    let literal = Model::Fluid(FluidOptions::Literal { step_s: 0.05 });
    let cases: [(Source, f64, u32, f64, Model); 5] = [
        (reno(), 0.42, 1, 4.0, Model::FLUID),
        (reno(), 1.0, 1, 1.74, literal),
        (reno(), 2.5, 3, 1.74, Model::FLUID),
        (constant(), 2.0, 100, 4.0, Model::FLUID),
        (constant(), 0.3, 1, 4.0, Model::FLUID),
    ];
    for (source, size_pkts, count, start_s, fluid) in cases {
        let own_gap_s = source.own_pps().map_or(0.0, |pps| 1.0 / pps);
        let network = one(1e7, |a, b| ConnectionSpec {
            size_pkts: Some(size_pkts),
            count,
            start_s,
            ..netflow_problems::connection("c", a, b, source)
        });
        let whole_pkts = size_pkts.ceil();
        for model in [fluid, Model::PACKETS] {
            let options = Options {
                duration_s: 10.0,
                model,
                ..Options::default()
            };
            let mut simulation = Simulation::new(network.clone(), options).unwrap();
            while !simulation.is_done() {
                simulation.step().unwrap();
            }
            let id = network.connections().next().unwrap();
            let totals = simulation.connection_totals(id);
            let all_pkts = whole_pkts * f64::from(count);
            let useful_pkts = totals.mean_goodput_pps * 10.0;
            assert!(
                (useful_pkts / all_pkts - 1.0).abs() < 2e-3,
                "{model:?} {totals:?}"
            );
            let spec = network.link_spec(network.links().next().unwrap());
            let packet_s = 8.0 * network.connection_spec(id).packet_size_bytes / spec.bandwidth_bps;
            let gap_s = own_gap_s.max(packet_s);
            let earliest_s = start_s + spec.delay_s + packet_s + (whole_pkts - 1.0) * gap_s;
            let [mean_s, last_s] = [totals.mean_finished_s, totals.finished_s].map(Option::unwrap);
            assert!(
                earliest_s <= mean_s + 1e-9 && mean_s <= last_s,
                "{model:?} {totals:?}"
            );
        }
    }
}
