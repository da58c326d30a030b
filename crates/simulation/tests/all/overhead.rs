//! Bytes on the wire beyond those of IP: packet rates, utilizations and transmission times.

use netflow_problems::{connection, link, one_way};
use netflow_profile::builtin;
use netflow_simulation::*;

use crate::running::run;

const ETHERNET: Overhead = Overhead {
    bytes: 38.0,
    minimum_bytes: 84.0,
    cells: Cells::None,
};
const ADSL: Overhead = Overhead {
    bytes: 10.0,
    minimum_bytes: 0.0,
    cells: Cells::Atm,
};

/// A->B and back at this bandwidth, with room for 200 packets.
fn network(overhead: Overhead, bandwidth_bps: f64, connections: &[ConnectionSpec]) -> Network {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    for (from, to) in [(from, to), (to, from)] {
        b.link(LinkSpec {
            overhead,
            ..link(from, to, bandwidth_bps, 0.001, 200.0)
        });
    }
    for spec in connections {
        b.connection(ConnectionSpec {
            from,
            to,
            ..spec.clone()
        });
    }
    b.build().unwrap()
}

fn stream(name: &str, source: Source, packet_size_bytes: f64) -> ConnectionSpec {
    let mut b = NetworkBuilder::new();
    let node = b.node("A");
    ConnectionSpec {
        packet_size_bytes,
        ..one_way(name, node, node, source)
    }
}

fn totals(simulation: &Simulation, link: &str) -> LinkTotals {
    simulation.link_totals(simulation.network().link_by_name(link).unwrap())
}

/// A stream of constant rate above the capacity of the link: it carries bandwidth over wire bits.
#[test]
fn link_capacity_counts_wire_bits() {
    for (overhead, ip_bytes, wire_bytes) in [
        (Overhead::NONE, 1500.0, 1500.0),
        (Overhead::of(38.0), 1500.0, 1538.0),
        (Overhead::of(38.0), 64.0, 102.0),
        (ETHERNET, 40.0, 84.0),
        (ADSL, 1500.0, 1696.0),
        (ADSL, 39.0, 106.0),
    ] {
        let carried_pps = 100e6 / (8.0 * wire_bytes);
        let offered = Source::Constant {
            rate_pps: 1.5 * carried_pps,
        };
        let spec = stream("c", offered, ip_bytes);
        for model in [Model::PACKETS, Model::FLUID] {
            let simulation = run(
                network(overhead, 100e6, std::slice::from_ref(&spec)),
                model,
                2.0,
            );
            let link = totals(&simulation, "A->B");
            let pps = link.departed_pkts / 2.0;
            assert!(
                (pps / carried_pps - 1.0).abs() < 1e-3,
                "{overhead}, {ip_bytes} B, {model:?}: {pps} instead of {carried_pps} pkt/s"
            );
            assert!(
                (link.utilization - 1.0).abs() < 1e-3,
                "{}",
                link.utilization
            );
        }
    }
}

/// Below that, the link is busy for the wire bits over its bandwidth, and every packet takes them.
#[test]
fn utilization_and_transmission_time_count_wire_bits() {
    let rate_pps = 1000.0;
    for (overhead, wire_bytes) in [(Overhead::of(38.0), 1038.0), (ADSL, 22.0 * 53.0)] {
        let spec = stream("c", Source::Constant { rate_pps }, 1000.0);
        let simulation = run(network(overhead, 20e6, &[spec]), Model::PACKETS, 10.0);
        let busy = 8.0 * wire_bytes * rate_pps / 20e6;
        let link = totals(&simulation, "A->B");
        assert!((link.utilization / busy - 1.0).abs() < 1e-3);
        let packet_s = 8.0 * wire_bytes / 20e6;
        let delay_s = link.sojourn_time_s.unwrap();
        assert!((delay_s / packet_s - 1.0).abs() < 1e-6, "{delay_s}");
        let id = simulation.network().connection_by_name("c").unwrap();
        let hop = &simulation.explain(id).hops[0];
        assert!((hop.transmission_s - packet_s).abs() < 1e-12);
    }
}

/// Two sizes that arrive at random: load is the sum of both on the wire, in fluids as in packets.
#[test]
fn fluid_load_matches_packets() {
    for overhead in [Overhead::of(38.0), ETHERNET, ADSL] {
        let poisson = |name, rate_pps, bytes| stream(name, Source::Poisson { rate_pps }, bytes);
        let both = [
            poisson("small", 3000.0, 60.0),
            poisson("large", 400.0, 1500.0),
        ];
        let wire_bps =
            8.0 * (3000.0 * overhead.wire_bytes(60.0) + 400.0 * overhead.wire_bytes(1500.0));
        for model in [Model::PACKETS, Model::FLUID] {
            let simulation = run(network(overhead, 12e6, &both), model, 60.0);
            let busy = totals(&simulation, "A->B").utilization;
            assert!(
                (busy * 12e6 / wire_bps - 1.0).abs() < 0.01,
                "{overhead} {model:?}: {busy}"
            );
        }
    }
}

/// Acknowledgements have their own overhead on the return path.
#[test]
fn acknowledgements_have_overhead() {
    let mut b = NetworkBuilder::new();
    let node = b.node("A");
    let tcp = |window: bool| {
        let source = if window {
            Source::Ns2Tcp(WindowSource::default())
        } else {
            Source::Profile(builtin("ns-reno").unwrap())
        };
        connection("c", node, node, source)
    };
    for (window, model) in [(true, Model::PACKETS), (false, Model::FLUID)] {
        let simulation = run(network(ADSL, 8e6, &[tcp(window)]), model, 30.0);
        let [there, back] = ["A->B", "B->A"].map(|link| totals(&simulation, link));
        let ratio = back.utilization / there.utilization;
        let pkts = back.departed_pkts / there.departed_pkts;
        // 40 + 10 B are two cells, 1000 + 10 B are 22.
        assert!(
            (ratio / pkts * 22.0 / 2.0 - 1.0).abs() < 0.01,
            "{ratio} {pkts}"
        );
    }
}

/// A buffer of bytes contains wire bytes: 10 of 1538 B, but not 10 of 1500 B.
#[test]
fn buffers_of_bytes_count_bytes_on_the_wire() {
    for (overhead, pkts) in [(Overhead::NONE, 10.0), (Overhead::of(38.0), 9.0)] {
        let rate_pps = 20_000.0;
        let spec = stream("c", Source::Constant { rate_pps }, 1500.0);
        let network = {
            let mut b = NetworkBuilder::new();
            let (from, to) = (b.node("A"), b.node("B"));
            b.link(LinkSpec {
                overhead,
                buffer: Buffer::Bytes(15_000.0),
                ..LinkSpec::new(from, to, 100e6)
            });
            b.connection(ConnectionSpec { from, to, ..spec });
            b.build().unwrap()
        };
        let id = network.link_by_name("A->B").unwrap();
        let expected = 15_000.0 / overhead.wire_bytes(1500.0);
        assert!((network.buffer_pkts(id) - expected).abs() < 1e-9);
        let simulation = run(network, Model::PACKETS, 1.0);
        assert_eq!(simulation.link_totals(id).max_queue_pkts, pkts);
    }
}

/// Half of the bandwidth each, counted on the wire: small packets get fewer IP bits than large ones.
#[test]
fn classes_share_bits_on_the_wire() {
    let constant = |name, bytes| {
        stream(
            name,
            Source::Constant {
                rate_pps: 2e7 / (8.0 * bytes),
            },
            bytes,
        )
    };
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let id = b.link(LinkSpec {
        overhead: Overhead::of(38.0),
        ..link(from, to, 10e6, 0.001, 100.0)
    });
    b.schedule(MultiQueueLink {
        link: id,
        scheduler: Scheduler::Wfq,
        classes: ["small", "large"]
            .map(|name| QueueClass {
                policer: None,
                name: name.to_owned(),
                weight: 1.0,
                buffer: Buffer::Packets(100.0),
                queue: DropPolicy::DropTail,
            })
            .to_vec(),
    });
    for spec in [constant("small", 100.0), constant("large", 1462.0)] {
        let name = spec.name.clone();
        let id = b.connection(ConnectionSpec { from, to, ..spec });
        b.classify(id, &name);
    }
    let network = b.build().unwrap();
    for (model, tolerance) in [(Model::PACKETS, 0.01), (Model::FLUID, 0.03)] {
        let simulation = run(network.clone(), model, 10.0);
        for (name, wire_bytes) in [("small", 138.0), ("large", 1500.0)] {
            let id = simulation.network().connection_by_name(name).unwrap();
            let pps = simulation.connection_totals(id).delivered_pkts / 10.0;
            let bps = 8.0 * wire_bytes * pps;
            assert!(
                (bps / 5e6 - 1.0).abs() < tolerance,
                "{model:?} {name}: {bps}"
            );
        }
    }
}

/// A buffer of one bandwidth-delay product contains the packets that the link transmits in a round trip.
#[test]
fn bdp_buffers_count_wire_bits() {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    for (from, to) in [(from, to), (to, from)] {
        b.link(LinkSpec {
            overhead: Overhead::of(250.0),
            delay_s: 0.05,
            buffer: Buffer::BandwidthDelay,
            ..LinkSpec::new(from, to, 100e6)
        });
    }
    let tcp = Source::Ns2Tcp(WindowSource::default());
    b.connection(connection("c", from, to, tcp));
    let network = b.build().unwrap();
    let id = network.link_by_name("A->B").unwrap();
    // 1000 + 250 B each, with the transmission of a packet and its acknowledgement.
    let round_trip_s: f64 = 0.1 + 8.0 * (1250.0 + 290.0) / 100e6;
    assert_eq!(network.buffer_pkts(id), (round_trip_s * 10_000.0).ceil());
}

/// Without acknowledgements, 38 B on every link are the same as packets that are 38 B larger, to the last bit.
#[test]
fn uniform_overhead_equals_larger_packets() {
    let network = |overhead: f64, more: f64| {
        let mut b = NetworkBuilder::new();
        let nodes = ["A", "B", "C"].map(|name| b.node(name));
        for (from, to, mbps) in [(0, 1, 12e6), (1, 2, 8e6), (1, 0, 12e6), (2, 1, 8e6)] {
            b.link(LinkSpec {
                overhead: Overhead::of(overhead),
                buffer: Buffer::Bytes(30_000.0),
                loss: LinkLoss {
                    bit_errors: Some(BitErrors::independent(1e-7).unwrap()),
                    ..LinkLoss::NONE
                },
                ..link(nodes[from], nodes[to], mbps, 0.01, 1.0)
            });
        }
        let sources = [
            (0, Source::Poisson { rate_pps: 400.0 }, 1000.0),
            (1, Source::Constant { rate_pps: 900.0 }, 400.0),
            (0, Source::Profile(builtin("ns-reno").unwrap()), 1000.0),
        ];
        for (i, (from, source, bytes)) in sources.into_iter().enumerate() {
            b.connection(ConnectionSpec {
                acks: Acks::None,
                packet_size_bytes: bytes + more,
                max_window_pkts: Some(64.0),
                ..connection(&format!("c{i}"), nodes[from], nodes[2], source)
            });
        }
        b.build().unwrap()
    };
    for model in [Model::PACKETS, Model::FLUID] {
        let [framed, larger] = [(38.0, 0.0), (0.0, 38.0)].map(|(overhead, more)| {
            let simulation = run(network(overhead, more), model, 20.0);
            let links = simulation.network().links();
            let links: Vec<LinkTotals> = links.map(|id| simulation.link_totals(id)).collect();
            let delivered = simulation.network().connections();
            let delivered: Vec<f64> = delivered
                .map(|id| simulation.connection_totals(id).delivered_pkts)
                .collect();
            (links, delivered)
        });
        assert_eq!(framed, larger, "{model:?}");
    }
}
