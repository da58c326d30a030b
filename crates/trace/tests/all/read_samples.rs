//! Real traces are read completely: counts match those of other programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use netflow_trace::{EventKind, Format, Transport, open};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/reference")
        .join(name)
}

/// Returns the format, the events by kind and the bytes of all packets.
fn counts(name: &str) -> (Format, BTreeMap<String, u64>, u64) {
    let mut trace = open(&sample(name)).unwrap();
    let mut counts = BTreeMap::new();
    let mut bytes = 0;
    while let Some(event) = trace.next().unwrap() {
        *counts.entry(format!("{:?}", event.kind)).or_insert(0) += 1;
        bytes += u64::from(event.packet.bytes);
    }
    assert_eq!(trace.faults().count, 0, "{:?}", trace.faults());
    assert!(trace.is_compressed());
    (trace.format(), counts, bytes)
}

fn expected(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect()
}

/// `zcat FILE | awk '{n[$1]++; b+=$6} END {for (k in n) print k, n[k]; print b}'` prints `+ 31863, -
/// 31606, r 31606, d 257, 50542240`.
#[test]
fn four_transfer_trace_has_expected_counts() {
    let (format, counts, bytes) = counts("ns2/traces/ex1_w10000_first7s_seed1.tr.gz");
    assert_eq!(format, Format::Ns2);
    let awk = [
        ("Dequeued", 31606),
        ("Dropped", 257),
        ("Enqueued", 31863),
        ("Received", 31606),
    ];
    assert_eq!(counts, expected(&awk));
    assert_eq!(bytes, 50_542_240);
}

/// The same awk program prints `+ 10100, - 10100, r 10014, d 86, 15876960`.
#[test]
fn random_loss_trace_has_expected_counts() {
    let (_, counts, bytes) = counts("ns2/traces/reno_p02_rtt100.tr.gz");
    let awk = [
        ("Dequeued", 10100),
        ("Dropped", 86),
        ("Enqueued", 10100),
        ("Received", 10014),
    ];
    assert_eq!(counts, expected(&awk));
    assert_eq!(bytes, 15_876_960);
}

/// Expected counts from a parser with Python's `struct`: 24 bytes of file header, 16 of each record
/// header, then the headers of each packet. It counts 4814 packets, 4518876 bytes of IP and 4258568 of
/// payload. There are 2 SYNs, 768 packets with SACK blocks and 4813 with timestamps (a reset has none).
#[test]
fn linux_capture_has_expected_counts() {
    let mut trace = open(&sample("linux/reno_0.1_60_0.pcap.gz")).unwrap();
    let (mut packets, mut bytes, mut payload, mut syns, mut sacks) = (0, 0_u64, 0_u64, 0, 0);
    let mut stamped = 0;
    while let Some(event) = trace.next().unwrap() {
        assert_eq!(
            (event.kind, event.packet.transport),
            (EventKind::Captured, Transport::Tcp)
        );
        packets += 1;
        bytes += u64::from(event.packet.bytes);
        let segment = event.packet.segment.unwrap();
        payload += u64::from(segment.len);
        syns += u32::from(segment.syn);
        sacks += u32::from(segment.sack_blocks > 0);
        stamped += u64::from(segment.timestamps.is_some());
    }
    assert_eq!(trace.faults().count, 0, "{:?}", trace.faults());
    assert_eq!(trace.format(), Format::Pcap);
    let python = (4814, 4_518_876, 4_258_568, 2, 768);
    assert_eq!((packets, bytes, payload, syns, sacks), python);
    assert_eq!(stamped, 4813);
}
