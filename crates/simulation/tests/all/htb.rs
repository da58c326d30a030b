//! HTB classes of links in the packet engine, compared with closed forms.

use netflow_problems::{link, one_way};
use netflow_simulation::*;

use crate::running::run_packets;

const PACKET_BYTES: f64 = 1000.0;

fn class(name: &str, parent: Option<usize>, rate_mbps: f64, ceil_mbps: f64) -> HtbClass {
    let bps = |mbps: f64| (mbps * 1e6) as u64;
    HtbClass {
        name: name.to_owned(),
        parent,
        rate_bps: bps(rate_mbps),
        ceil_bps: bps(ceil_mbps),
        burst_bytes: 15_000,
        cburst_bytes: 15_000,
        prio: 0,
        quantum_bytes: 3000,
    }
}

/// A link of 20 Mbit/s with these classes, the given ones with queues, and a stream of constant rate for each queue.
fn network(
    classes: Vec<HtbClass>,
    class_of_queue: &[usize],
    streams_mbps: &[f64],
    policer: Option<TokenBucketSpec>,
) -> Network {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let id = b.link(link(from, to, 20e6, 0.01, 50.0));
    let queues = class_of_queue.iter().map(|&c| QueueClass {
        name: classes[c].name.clone(),
        weight: 1.0,
        buffer: Buffer::Packets(50.0),
        queue: DropPolicy::DropTail,
        policer,
    });
    let queues: Vec<QueueClass> = queues.collect();
    for (i, mbps) in streams_mbps.iter().enumerate() {
        let rate_pps = mbps * 1e6 / (8.0 * PACKET_BYTES);
        let stream = one_way(&format!("c{i}"), from, to, Source::Constant { rate_pps });
        let connection = b.connection(ConnectionSpec {
            packet_size_bytes: PACKET_BYTES,
            ..stream
        });
        // The last stream has no class.
        if let Some(queue) = queues.get(i) {
            b.classify(connection, &queue.name);
        }
    }
    b.schedule(MultiQueueLink {
        link: id,
        scheduler: Scheduler::Htb(HtbTree {
            classes,
            class_of_queue: class_of_queue.to_vec(),
        }),
        classes: queues,
    });
    b.build().unwrap()
}

/// Returns the delivered Mbit/s of each stream.
fn delivered_mbps(simulation: &Simulation, duration_s: f64) -> Vec<f64> {
    let connections = simulation.network().connections();
    let delivered = connections.map(|id| simulation.connection_totals(id).delivered_pkts);
    delivered
        .map(|pkts| pkts * 8.0 * PACKET_BYTES / 1e6 / duration_s)
        .collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let each = found.iter().zip(expected);
    let is_near = each.clone().all(|(a, b)| (a - b).abs() <= 0.01 * b + 0.01);
    assert!(is_near, "{found:?} {expected:?}");
}

/// Two customers. The first has a ceiling; the second lends its unused rate. No packet disappears.
#[test]
fn customers_share_the_link() {
    let classes = || {
        vec![
            class("first", None, 6.0, 8.0),
            class("second", None, 10.0, 20.0),
            class("a", Some(0), 1.0, 8.0),
            class("b", Some(0), 1.0, 8.0),
            class("c", Some(1), 2.0, 20.0),
        ]
    };
    for (streams_mbps, expected_mbps) in [
        // The guarantees of the customers, and 4 Mbit/s that they borrow, up to the ceiling of the first.
        ([10.0, 10.0, 30.0, 1.0], [4.0, 4.0, 12.0, 0.0]),
        ([10.0, 0.5, 30.0, 1.0], [7.5, 0.5, 12.0, 0.0]),
        ([10.0, 10.0, 3.0, 1.0], [4.0, 4.0, 3.0, 1.0]),
        ([10.0, 10.0, 0.5, 30.0], [4.0, 4.0, 0.5, 11.5]),
    ] {
        let simulation = run_packets(network(classes(), &[2, 3, 4], &streams_mbps, None), 20.0);
        near(&delivered_mbps(&simulation, 20.0), &expected_mbps);
        let totals = simulation.totals();
        let there = totals.delivered_pkts + totals.lost_pkts;
        let moving = totals.queued_pkts + totals.in_flight_pkts;
        assert_eq!(totals.offered_pkts, there + moving);
    }
}

/// A stream at its ceiling leaves the link idle between its packets, and waits for a full queue at that rate.
#[test]
fn ceiling_delays_packets_on_an_idle_link() {
    let classes = vec![class("a", None, 1.0, 4.0)];
    let simulation = run_packets(network(classes, &[0], &[5.0], None), 50.0);
    near(&delivered_mbps(&simulation, 50.0), &[4.0]);
    let network = simulation.network();
    let own = network.links().next().unwrap();
    let queue = network.queues_of(own)[1];
    let totals = simulation.link_totals(queue);
    // 50 packets at 500 packets/s.
    assert_eq!(totals.max_queue_pkts, 50.0);
    assert!((totals.sojourn_time_s.unwrap() - 0.1).abs() < 3e-3);
    // The queue drains at the ceiling: 49 packets after the one in service.
    let explanation = simulation.explain(network.connections().next().unwrap());
    let waiting_s = explanation.hops[0].waiting_s;
    assert!((0.094..0.1).contains(&waiting_s), "{waiting_s}");
}

/// The policer of a class drops before its queue, whatever the ceiling.
#[test]
fn policer_of_a_class_drops_its_packets() {
    let policer = TokenBucketSpec {
        rate_bps: 2e6,
        burst_bytes: 5000.0,
    };
    let classes = || vec![class("a", None, 5.0, 20.0), class("b", None, 5.0, 20.0)];
    let all = network(classes(), &[0, 1], &[4.0, 1.0, 3.0], Some(policer));
    near(
        &delivered_mbps(&run_packets(all, 20.0), 20.0),
        &[2.0, 1.0, 3.0],
    );
}

#[test]
fn invalid_trees_and_the_fluid_model_are_rejected() {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let id = b.link(link(from, to, 20e6, 0.01, 50.0));
    b.schedule(MultiQueueLink {
        link: id,
        scheduler: Scheduler::Htb(HtbTree {
            classes: vec![class("a", None, 0.0, 1.0)],
            class_of_queue: vec![],
        }),
        classes: Vec::new(),
    });
    let errors = b.build().unwrap_err();
    let message = "link A->B: HTB needs a class for each queue, with rates, after its parent";
    assert!(
        errors.iter().any(|error| error.to_string() == message),
        "{errors:?}"
    );

    let network = network(vec![class("a", None, 1.0, 2.0)], &[0], &[1.0], None);
    let options = Options {
        model: Model::FLUID,
        ..Options::default()
    };
    let error = Simulation::new(network, options).err().unwrap().to_string();
    let message = "the HTB scheduler of link A->B needs the packet model";
    assert!(error.contains(message), "{error}");
}
