//! Links that follow a packet-delivery trace, and links that pause.

use std::sync::Arc;

use netflow_problems::{connection, link, one_way};
use netflow_simulation::*;
use netflow_tcpmodel::Stack;

use crate::running::run_packets;

fn linux() -> Source {
    Source::Tcp(Arc::new(Stack::builtin("linux-6").unwrap()))
}

fn trace(text: &str) -> Option<TraceSpec> {
    let trace = Arc::new(DeliveryTrace::read(text).unwrap());
    Some(TraceSpec {
        trace,
        offset_ns: 0,
    })
}

/// One link of 12 Mbit/s from A to B that `set` changes, its return path, and a source with packets of 1500 B.
fn network(
    source: &Source,
    buffer_pkts: f64,
    delay_s: f64,
    set: impl FnOnce(&mut LinkSpec, &mut Vec<(f64, Change)>),
) -> (Network, LinkId) {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let (mut spec, mut events) = (link(from, to, 12e6, delay_s, buffer_pkts), Vec::new());
    set(&mut spec, &mut events);
    let id = b.link(spec);
    b.link(link(to, from, 12e6, delay_s, buffer_pkts));
    for (at_s, change) in events {
        b.event(EventSpec {
            at_s,
            link: id,
            change,
        });
    }
    let spec = match source {
        Source::Constant { .. } => one_way("c", from, to, source.clone()),
        _ => connection("c", from, to, source.clone()),
    };
    b.connection(ConnectionSpec {
        packet_size_bytes: 1500.0,
        ..spec
    });
    (b.build().unwrap(), id)
}

fn connection_of(simulation: &Simulation) -> ConnectionTotals {
    let id = simulation.network().connections().next().unwrap();
    simulation.connection_totals(id)
}

/// An opportunity each ms is 12 Mbit/s: a saturating stream and TCP fill it, and the buffer loses the rest.
#[test]
fn trace_of_constant_rate() {
    let stream = Source::Constant { rate_pps: 1500.0 };
    let (net, id) = network(&stream, 50.0, 0.0, |link, _| link.trace = trace("1\n"));
    let simulation = run_packets(net, 10.0);
    let totals = simulation.link_totals(id);
    assert!(
        (totals.utilization - 1.0).abs() < 1e-3,
        "{}",
        totals.utilization
    );
    assert_eq!(totals.max_queue_pkts, 50.0);
    let sent_pkts = totals.offered_pkts - totals.lost_pkts;
    assert!((sent_pkts - 10_050.0).abs() < 2.0, "{sent_pkts}");
    for delay_s in [0.0, 0.02] {
        let (net, _) = network(&linux(), 100.0, delay_s, |link, _| {
            link.trace = trace("1\n")
        });
        let traced = connection_of(&run_packets(net, 20.0)).delivered_pkts;
        let (net, _) = network(&linux(), 100.0, delay_s, |_, _| {});
        let constant = connection_of(&run_packets(net, 20.0)).delivered_pkts;
        assert!(
            (traced / constant - 1.0).abs() < 0.02,
            "{traced} {constant}"
        );
    }
}

/// Packets every 10 ms wait for opportunities at 4 and 8 ms, at most 4 ms. An idle
/// link is not busy but for these waits.
#[test]
fn packets_wait_for_opportunities() {
    let stream = Source::Constant { rate_pps: 100.0 };
    let (net, id) = network(&stream, 50.0, 0.0, |link, _| {
        link.trace = trace("4\n8\n10\n")
    });
    let simulation = run_packets(net, 10.0);
    let totals = simulation.link_totals(id);
    // Arrivals have a random phase within 10 ms, the same for all.
    let wait_ms = totals.sojourn_time_s.unwrap() * 1e3;
    assert!(wait_ms > 0.0 && wait_ms <= 4.0, "{wait_ms}");
    assert!(
        (totals.utilization - wait_ms / 10.0).abs() < 2e-3,
        "{}",
        totals.utilization
    );
    assert_eq!(totals.lost_pkts, 0.0);
}

/// A gap of 3 s in a trace delays packets, and nothing is lost with a large buffer.
#[test]
fn outage_in_a_trace() {
    let times: Vec<String> = (1..=1000)
        .chain(4000..=5000)
        .map(|ms: u32| ms.to_string())
        .collect();
    let stream = Source::Constant { rate_pps: 300.0 };
    let (net, id) = network(&stream, 5000.0, 0.01, |link, _| {
        link.trace = trace(&times.join("\n"))
    });
    let simulation = run_packets(net, 15.0);
    let totals = simulation.link_totals(id);
    assert_eq!(totals.lost_pkts, 0.0);
    assert!(
        (totals.max_queue_pkts - 900.0).abs() < 5.0,
        "{}",
        totals.max_queue_pkts
    );
}

/// A bandwidth of 0 for 2 s: the queue stays, and the link then goes on where it was.
#[test]
fn pause_keeps_the_queue() {
    let stream = Source::Constant { rate_pps: 500.0 };
    for has_classes in [false, true] {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        let id = b.link(link(from, to, 12e6, 0.01, 5000.0));
        for (at_s, change) in [(2.0003, Change::Pause), (4.0, Change::Bandwidth(12e6))] {
            b.event(EventSpec {
                at_s,
                link: id,
                change,
            });
        }
        let c = b.connection(ConnectionSpec {
            packet_size_bytes: 1500.0,
            ..one_way("c", from, to, stream.clone())
        });
        if has_classes {
            b.schedule(MultiQueueLink {
                link: id,
                scheduler: Scheduler::Wfq,
                classes: vec![QueueClass {
                    policer: None,
                    name: "bulk".to_owned(),
                    weight: 1.0,
                    buffer: Buffer::Packets(5000.0),
                    queue: DropPolicy::DropTail,
                }],
            });
            b.classify(c, "bulk");
        }
        let simulation = run_packets(b.build().unwrap(), 10.0);
        let totals = simulation.connection_totals(c);
        assert_eq!(totals.lost_pkts, 0.0);
        // All have arrived but those of the last 11 ms.
        assert!(
            (totals.offered_pkts - totals.delivered_pkts) < 8.0,
            "{totals:?}"
        );
        let max_queue_pkts: f64 = simulation
            .network()
            .links()
            .map(|id| simulation.link_totals(id).max_queue_pkts)
            .fold(0.0, f64::max);
        assert!(
            (max_queue_pkts - 1000.0).abs() < 5.0,
            "{has_classes}: {max_queue_pkts}"
        );
        // The stream waits 1 s on average in the 4 s until the queue of 1000 packets is gone.
        let mean_s = totals.mean_delay_s.unwrap();
        let wait_s = (mean_s - 0.011) * 10.0 / 4.0;
        assert!((wait_s - 1.0).abs() < 0.03, "{has_classes}: {wait_s}");
    }
}

/// In a pause, `explain` has no bandwidth and an infinite delay, and nothing departs.
#[test]
fn paused_link_transmits_nothing() {
    let stream = Source::Constant { rate_pps: 500.0 };
    let (net, id) = network(&stream, 5000.0, 0.01, |_, events| {
        events.push((2.0, Change::Pause));
    });
    let simulation = run_packets(net, 10.0);
    let c = simulation.network().connections().next().unwrap();
    let explanation = simulation.explain(c);
    let hop = &explanation.hops[0];
    assert_eq!(
        (hop.bandwidth_bps, hop.transmission_s),
        (0.0, f64::INFINITY)
    );
    assert_eq!(simulation.network().bandwidths_at_bps(5.0)[id.index()], 0.0);
    let delivered_pkts = connection_of(&simulation).delivered_pkts;
    assert!((delivered_pkts - 1000.0).abs() < 10.0, "{delivered_pkts}");
}

/// TCP outlives a pause of 3 s.
#[test]
fn tcp_outlives_a_pause() {
    let (net, _) = network(&linux(), 100.0, 0.02, |_, events| {
        events.push((5.0, Change::Pause));
        events.push((8.0, Change::Bandwidth(12e6)));
    });
    let paused = connection_of(&run_packets(net, 20.0)).delivered_pkts;
    let (net, _) = network(&linux(), 100.0, 0.02, |_, _| {});
    let plain = connection_of(&run_packets(net, 20.0)).delivered_pkts;
    assert!((0.75..0.87).contains(&(paused / plain)), "{paused} {plain}");
}

#[test]
fn traces_exclude_other_bandwidths() {
    let stream = Source::Constant { rate_pps: 10.0 };
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let id = b.link(LinkSpec {
        trace: trace("1\n"),
        ..link(from, to, 12e6, 0.0, 10.0)
    });
    b.event(EventSpec {
        at_s: 1.0,
        link: id,
        change: Change::Bandwidth(1e6),
    });
    b.connection(one_way("c", from, to, stream.clone()));
    let errors = b.build().unwrap_err();
    let wanted = "event on link A->B: the bandwidth of the link follows its trace";
    assert!(
        errors.iter().any(|it| it.to_string() == wanted),
        "{errors:?}"
    );
    let (net, _) = network(&stream, 50.0, 0.0, |link, _| link.trace = trace("1\n"));
    let options = Options {
        model: Model::FLUID,
        ..Options::default()
    };
    let error = Simulation::new(net, options).err().unwrap().to_string();
    assert!(
        error.contains("the delivery trace of link A->B needs the packet model"),
        "{error}"
    );
}
