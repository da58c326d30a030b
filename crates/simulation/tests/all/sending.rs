//! How much sources with a window send, and how fast they are said to.

use netflow_simulation::*;
use netflow_tcpmodel::Stack;
use std::sync::Arc;

use super::as_packets;

/// A link and its way back, and one connection.
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
    Source::Window(WindowSource {
        variant,
        ..WindowSource::default()
    })
}

fn every_source() -> Vec<Source> {
    let stack = Source::Stack(Arc::new(Stack::builtin("linux-6").unwrap()));
    let windows = TcpVariant::ALL.into_iter().map(window);
    windows.chain([stack]).collect()
}

/// What opens a connection is none of it. One of 10 packets sent 9 and that.
#[test]
fn a_size_is_data() {
    for source in every_source() {
        for size in [1.0, 10.0, 200.0] {
            let told = format!("{source:?}, {size}");
            let network = one(1e7, |a, b| ConnectionSpec {
                size_pkts: Some(size),
                ..netflow_problems::connection("c", a, b, source.clone())
            });
            let id = network.connections().next().unwrap();
            let totals = as_packets(network, 20.0, 1).connection_totals(id);
            let opens = match &source {
                Source::Window(window) => window.variant.opens_connections(),
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

/// All that an application makes arrives, however much it is to make.
#[test]
fn what_applications_make_is_data() {
    for source in every_source() {
        for size_pkts in [None, Some(7.0)] {
            let network = one(1e7, |a, b| ConnectionSpec {
                application: Application::Poisson { rate_pps: 20.0 },
                stop_s: Some(5.0),
                size_pkts,
                ..netflow_problems::connection("c", a, b, source.clone())
            });
            let id = network.connections().next().unwrap();
            let totals = as_packets(network, 20.0, 1).connection_totals(id);
            let told = format!("{source:?}, {size_pkts:?}: {totals:?}");
            let made_pkts = totals.made_pkts.unwrap();
            assert!(size_pkts.is_none_or(|size| size == made_pkts), "{told}");
            let goodput_pkts = totals.mean_goodput_pps * 20.0;
            assert!((goodput_pkts - made_pkts).abs() < 1e-6, "{told}");
        }
    }
}

/// A window that is hardly used says nothing of the rate: it was told as 40 times the link's bandwidth.
#[test]
fn who_has_no_more_to_send_is_not_said_to_be_faster() {
    for source in every_source() {
        let application = Application::Poisson { rate_pps: 100.0 };
        let network = one(1e8, |a, b| ConnectionSpec {
            application,
            ..netflow_problems::connection("c", a, b, source.clone())
        });
        let id = network.connections().next().unwrap();
        let simulation = as_packets(network, 20.0, 1);
        let explanation = simulation.explain(id);
        let told = format!("{source:?}: {explanation:?}");
        assert_eq!(explanation.limit, Some(Limit::Application), "{told}");
        // Of a hundred a second some are on their way at any time.
        assert!(explanation.rate_pps < 1000.0, "{told}");
    }
}

/// As long as the slowest link of the way takes to send a packet, and 1 ms at most; what is said holds.
#[test]
fn the_wait_before_sending_follows_from_the_way() {
    let jitter_s = |bandwidth_bps, send_jitter_s| {
        let network = one(bandwidth_bps, |a, b| {
            let source = WindowSource {
                send_jitter_s,
                ..WindowSource::default()
            };
            netflow_problems::connection("c", a, b, Source::Window(source))
        });
        network.send_jitter_s(network.connections().next().unwrap())
    };
    assert_eq!(jitter_s(1e6, None), Some(1e-3));
    assert_eq!(jitter_s(8e7, None), Some(1e-4));
    assert_eq!(jitter_s(8e7, Some(1e-3)), Some(1e-3));
    assert_eq!(jitter_s(1e6, Some(0.0)), Some(0.0));
}
