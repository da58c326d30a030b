//! Policers and shapers of links, compared with closed forms.

use netflow_diffserv::{Curve, Discipline};
use netflow_problems::{connection, link, one_way};
use netflow_simulation::*;
use netflow_tcpmodel::Stack;

use crate::running::run_packets;

const PACKET_BYTES: f64 = 1000.0;

/// One link of 100 Mbit/s and its return path, with 10 ms of delay in each direction and this bucket.
fn network(
    sources: &[Source],
    buffer_pkts: f64,
    set: impl FnOnce(&mut LinkSpec),
) -> (Network, LinkId) {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let mut spec = link(from, to, 1e8, 0.01, buffer_pkts);
    set(&mut spec);
    b.link(spec);
    b.link(link(to, from, 1e8, 0.01, buffer_pkts));
    for (i, source) in sources.iter().enumerate() {
        let spec = match source {
            Source::Constant { .. } => one_way(&format!("c{i}"), from, to, source.clone()),
            _ => connection(&format!("c{i}"), from, to, source.clone()),
        };
        b.connection(ConnectionSpec {
            packet_size_bytes: PACKET_BYTES,
            ..spec
        });
    }
    let network = b.build().unwrap();
    let link = network.links().next().unwrap();
    (network, link)
}

fn bucket(rate_bps: f64, burst_bytes: f64) -> Option<TokenBucketSpec> {
    Some(TokenBucketSpec {
        rate_bps,
        burst_bytes,
    })
}

/// A policer passes its burst, and then its rate: (b + r t)/L packets of L bytes.
#[test]
fn policer_passes_its_rate_and_one_burst() {
    for (rate_bps, burst_bytes) in [(8e6, 1000.0), (8e6, 50_000.0), (2e6, 10_000.0)] {
        let stream = Source::Constant { rate_pps: 4000.0 };
        let (network, link) = network(&[stream], 100.0, |link| {
            link.policer = bucket(rate_bps, burst_bytes);
        });
        let totals = run_packets(network, 10.0).link_totals(link);
        let passed_pkts = totals.offered_pkts - totals.lost_pkts;
        let expected_pkts = (burst_bytes + rate_bps / 8.0 * 10.0) / PACKET_BYTES;
        assert!(
            (passed_pkts - expected_pkts).abs() <= 3.0,
            "{passed_pkts} {expected_pkts}"
        );
        // They leave at the bandwidth of the link and never queue.
        assert_eq!(totals.max_queue_pkts, 1.0);
    }
}

/// A shaper sends its rate, too, but packets wait, and only a full buffer loses them.
#[test]
fn shaper_delays_packets_up_to_its_buffer() {
    let stream = Source::Constant { rate_pps: 4000.0 };
    let (network, link) = network(&[stream], 100.0, |link| link.shaper = bucket(8e6, 5000.0));
    let simulation = run_packets(network, 10.0);
    let totals = simulation.link_totals(link);
    let sent_pkts = totals.offered_pkts - totals.lost_pkts - totals.mean_queue_pkts;
    assert!((sent_pkts - 10_005.0).abs() <= 2.0, "{sent_pkts}");
    assert_eq!(totals.max_queue_pkts, 100.0);
    // Utilization is relative to the bandwidth of the link.
    assert!(
        (totals.utilization - 0.08).abs() < 1e-3,
        "{}",
        totals.utilization
    );
    // A packet finds 99 others, each of which takes 1 ms.
    assert!(
        (totals.sojourn_time_s.unwrap() - 0.1).abs() < 2e-3,
        "{:?}",
        totals.sojourn_time_s
    );
}

/// RIO without early drops equals drop-tail at a shaped link, which sends the rate of its bucket.
#[test]
fn rio_queue_is_shaped() {
    let rio = DropPolicy::Rio(Rio {
        discipline: Discipline::RioC,
        curves: [Curve::new(1e6, 2e6, 0.1); 3],
        weight: 0.002,
        gentle: false,
    });
    let sent = |queue| {
        let stream = Source::Constant { rate_pps: 4000.0 };
        let (network, link) = network(&[stream], 100.0, |link| {
            (link.shaper, link.queue) = (bucket(8e6, 5000.0), queue);
        });
        let totals = run_packets(network, 10.0).link_totals(link);
        (
            totals.offered_pkts,
            totals.lost_pkts,
            totals.mean_queue_pkts,
        )
    };
    let (offered_pkts, lost_pkts, mean_queue_pkts) = sent(DropPolicy::DropTail);
    assert!(lost_pkts > 20_000.0, "{lost_pkts}");
    assert_eq!(sent(rio), (offered_pkts, lost_pkts, mean_queue_pkts));
}

/// Conforming packets are not delayed: 1000 packet/s of 1000 B through 8 Mbit/s.
#[test]
fn conforming_stream_is_not_delayed() {
    for set in [
        (|link: &mut LinkSpec| link.shaper = bucket(8.01e6, 1000.0)) as fn(&mut LinkSpec),
        |link| link.policer = bucket(8.01e6, 1000.0),
    ] {
        let stream = Source::Constant { rate_pps: 1000.0 };
        let (network, link) = network(&[stream], 100.0, set);
        let totals = run_packets(network, 10.0).link_totals(link);
        assert_eq!(totals.lost_pkts, 0.0);
        assert!(
            (totals.sojourn_time_s.unwrap() - 8e-5).abs() < 1e-6,
            "{:?}",
            totals.sojourn_time_s
        );
    }
}

fn class(name: &str) -> QueueClass {
    QueueClass {
        policer: None,
        name: name.to_owned(),
        weight: 1.0,
        buffer: Buffer::Packets(50.0),
        queue: DropPolicy::DropTail,
    }
}

/// All queues of a link share its shaper.
#[test]
fn classes_share_the_shaper_of_their_link() {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let id = b.link(LinkSpec {
        shaper: bucket(8e6, 2000.0),
        ..link(from, to, 1e8, 0.01, 50.0)
    });
    b.schedule(MultiQueueLink {
        link: id,
        scheduler: Scheduler::Priority,
        classes: vec![class("voice")],
    });
    for (name, rate_pps) in [("voice", 300.0), ("bulk", 4000.0)] {
        let stream = one_way(name, from, to, Source::Constant { rate_pps });
        let connection = b.connection(ConnectionSpec {
            packet_size_bytes: PACKET_BYTES,
            ..stream
        });
        if name == "voice" {
            b.classify(connection, name);
        }
    }
    let simulation = run_packets(b.build().unwrap(), 10.0);
    let network = simulation.network();
    let delivered: Vec<f64> = network
        .connections()
        .map(|id| simulation.connection_totals(id).delivered_pkts)
        .collect();
    assert!((delivered[0] - 3000.0).abs() < 10.0, "{delivered:?}");
    assert!(
        (delivered[0] + delivered[1] - 10_000.0).abs() < 20.0,
        "{delivered:?}"
    );
}

/// A bandwidth change while a packet waits for the shaper changes its transmission only, also with several queues.
#[test]
fn bandwidth_changes_keep_the_rate_of_the_shaper() {
    for (bps, has_classes) in [(8.5e6, false), (1e9, false), (8.5e6, true), (1e9, true)] {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        let id = b.link(LinkSpec {
            shaper: bucket(8e6, 1000.0),
            ..link(from, to, 1e8, 0.01, 100.0)
        });
        for i in 1..700 {
            let bps = if i % 2 == 0 { 1e8 } else { bps };
            b.event(EventSpec {
                at_s: 0.0137 * f64::from(i),
                link: id,
                change: Change::Bandwidth(bps),
            });
        }
        let stream = one_way("c", from, to, Source::Constant { rate_pps: 4000.0 });
        let connection = b.connection(ConnectionSpec {
            packet_size_bytes: PACKET_BYTES,
            ..stream
        });
        if has_classes {
            b.schedule(MultiQueueLink {
                link: id,
                scheduler: Scheduler::Wfq,
                classes: vec![class("bulk")],
            });
            b.classify(connection, "bulk");
        }
        let simulation = run_packets(b.build().unwrap(), 10.0);
        let sent_pkts = simulation.connection_totals(connection).delivered_pkts;
        assert!(
            (sent_pkts - 10_000.0).abs() <= 15.0,
            "{bps} {has_classes}: {sent_pkts}"
        );
    }
}

/// At an RTT of 150 ms, TCP fills a shaper of 100 Mbit/s with any burst, but a policer only with a large one.
#[test]
fn tcp_needs_the_burst_of_a_policer() {
    let goodput_bps = |set: fn(&mut LinkSpec, f64), burst_bytes: f64| {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        let mut there = link(from, to, 1e9, 0.075, 2000.0);
        set(&mut there, burst_bytes);
        b.link(there);
        b.link(link(to, from, 1e9, 0.075, 2000.0));
        let tcp = Source::Tcp(std::sync::Arc::new(Stack::builtin("linux-6").unwrap()));
        b.connection(ConnectionSpec {
            packet_size_bytes: 1500.0,
            ..connection("c", from, to, tcp)
        });
        let network = b.build().unwrap();
        let id = network.connections().next().unwrap();
        run_packets(network, 60.0)
            .connection_totals(id)
            .delivered_pkts
            * 1448.0
            * 8.0
            / 60.0
    };
    let police = |link: &mut LinkSpec, burst| link.policer = bucket(1e8, burst);
    let shape = |link: &mut LinkSpec, burst| link.shaper = bucket(1e8, burst);
    let [small, large] = [15e3, 5e6].map(|burst| goodput_bps(police, burst));
    assert!(small < 0.1 * large && large > 5e7, "{small:e} {large:e}");
    let [small, large] = [15e3, 5e6].map(|burst| goodput_bps(shape, burst));
    assert!(small > 8.5e7 && large > 8.5e7, "{small:e} {large:e}");
}

/// The errors name the link, the bucket and the number; the fluid model names the model to use.
#[test]
fn invalid_token_buckets_are_rejected() {
    let build = |policer: Option<TokenBucketSpec>, shaper: Option<TokenBucketSpec>| {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        b.link(LinkSpec {
            policer,
            shaper,
            ..link(from, to, 1e8, 0.01, 100.0)
        });
        b.connection(one_way("c", from, to, Source::Constant { rate_pps: 10.0 }));
        b.build()
    };
    for (policer, shaper, message) in [
        (
            bucket(0.0, 1500.0),
            None,
            "link A->B: policer rate_bps is 0, but must be at least 1",
        ),
        (
            None,
            bucket(8e6, 0.5),
            "link A->B: shaper burst_bytes is 0.5, but must be at least 1",
        ),
        (
            None,
            bucket(8e6, f64::NAN),
            "link A->B: shaper burst_bytes is NaN, but must be at least 1",
        ),
        (
            bucket(8e6, 2e9),
            None,
            "link A->B: burst in B is 2000000000, allowed is 0 to 1e9",
        ),
        (
            bucket(2e18, 1e3),
            None,
            "link A->B: rate in bit/s is 2000000000000000000, allowed is 0 to 1e18",
        ),
    ] {
        let errors = build(policer, shaper).unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(errors.iter().any(|error| error == message), "{errors:?}");
    }
    let network = build(None, bucket(8e6, 1500.0)).unwrap();
    let options = Options {
        model: Model::FLUID,
        ..Options::default()
    };
    let error = Simulation::new(network, options).err().unwrap().to_string();
    assert!(
        error.contains("the shaper of link A->B needs the packet model")
            && error.ends_with("or give the link the rate of the shaper as `bandwidth`"),
        "{error}"
    );
}
