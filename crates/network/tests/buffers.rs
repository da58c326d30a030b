//! Tests of default buffer sizes.

use netflow_network::{
    Buffer, ConnectionSpec, DropPolicy, LinkSpec, NetworkBuilder, Red, Source, WindowSource,
};
use netflow_problems::{connection, link};

/// A–B 12 Mbit/s and 20 ms, B–C 1.2 Mbit/s and 30 ms, C–D without traffic, in both directions.
fn line(queue: DropPolicy, pairs: &[(usize, usize, f64)]) -> Vec<f64> {
    let mut b = NetworkBuilder::new();
    let nodes = ["A", "B", "C", "D"].map(|name| b.node(name));
    for (i, (bps, delay_s)) in [(12e6, 0.020), (1.2e6, 0.030), (12e6, 0.0)]
        .into_iter()
        .enumerate()
    {
        for (from, to) in [(i, i + 1), (i + 1, i)] {
            b.link(LinkSpec {
                buffer: Buffer::BandwidthDelay,
                queue,
                ..link(nodes[from], nodes[to], bps, delay_s, 1.0)
            });
        }
    }
    for &(from, to, bytes) in pairs {
        let source = Source::Constant { rate_pps: 1.0 };
        let name = format!("{from}>{to}");
        b.connection(ConnectionSpec {
            packet_size_bytes: bytes,
            ..connection(&name, nodes[from], nodes[to], source)
        });
    }
    let network = b.build().unwrap();
    network.links().map(|id| network.buffer_pkts(id)).collect()
}

/// From A to C and back: 100 ms of propagation, 1500 B in 1 ms and 10 ms, 40 B in 27 us and 267 us. The sum
/// is 111.3 ms, or 111.3 packets at 12 Mbit/s and 11.13 at 1.2 Mbit/s. From A to B alone it is 41.03 ms.
#[test]
fn buffer_fits_bdp_of_longest_rtt() {
    let both = [(0, 2, 1500.0), (0, 1, 1500.0)];
    let pkts = line(DropPolicy::DropTail, &both);
    // A link without traffic uses the round-trip times of the links at its ends.
    assert_eq!(pkts, [112.0, 112.0, 12.0, 12.0, 112.0, 112.0]);
    let near = line(DropPolicy::DropTail, &both[1..]);
    // Links at C and D have no traffic, so the network's round-trip time counts: 41.03 ms.
    assert_eq!(near, [42.0, 42.0, 10.0, 10.0, 42.0, 42.0]);
    // 100 ms in a network without traffic.
    let idle = line(DropPolicy::DropTail, &[]);
    assert_eq!(idle, [100.0, 100.0, 10.0, 10.0, 100.0, 100.0]);
    // 106.2 ms, in packets of 750 B.
    let small = line(DropPolicy::DropTail, &[(0, 2, 750.0)]);
    assert_eq!(small[..4], [212.0, 212.0, 22.0, 22.0]);
}

#[test]
fn red_thresholds_are_within_the_buffer() {
    let red = DropPolicy::Red(Red {
        min_pkts: 10.0,
        max_pkts: 40.0,
        max_p: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
        hard_drop: true,
    });
    assert_eq!(
        line(red, &[(0, 2, 1500.0)])[..4],
        [112.0, 112.0, 80.0, 80.0]
    );
}

/// Bytes are converted to packets of TCP's size if there is TCP, regardless of other traffic. Otherwise they
/// are converted to the rate-weighted mean size of other sources.
#[test]
fn bytes_convert_by_main_packet_size() {
    let pkts = |streams: &[(Source, f64, u32)]| {
        let mut b = NetworkBuilder::new();
        let nodes = ["A", "B"].map(|name| b.node(name));
        let room = b.link(LinkSpec {
            buffer: Buffer::Bytes(150e3),
            ..link(nodes[0], nodes[1], 10e6, 0.01, 1.0)
        });
        b.link(link(nodes[1], nodes[0], 10e6, 0.01, 100.0));
        for (i, (source, bytes, count)) in streams.iter().enumerate() {
            b.connection(ConnectionSpec {
                packet_size_bytes: *bytes,
                count: *count,
                ..connection(&format!("c{i}"), nodes[0], nodes[1], source.clone())
            });
        }
        b.build().unwrap().buffer_pkts(room)
    };
    let tcp = Source::Ns2Tcp(WindowSource::default());
    let [slow, fast] = [1.0, 99.0].map(|rate_pps| Source::Constant { rate_pps });
    assert_eq!(pkts(&[(tcp.clone(), 1500.0, 1)]), 100.0);
    assert_eq!(
        pkts(&[(tcp.clone(), 1500.0, 1), (fast.clone(), 40.0, 9)]),
        100.0
    );
    assert_eq!(pkts(&[(tcp.clone(), 1500.0, 1), (tcp, 500.0, 1)]), 150.0);
    // 1 of 100 packets has 1000 B, the others 100 B: 109 B on average.
    let mixed = pkts(&[(slow, 1000.0, 1), (fast, 100.0, 1)]);
    assert!((mixed - 150e3 / 109.0).abs() < 1e-9, "{mixed}");
}
