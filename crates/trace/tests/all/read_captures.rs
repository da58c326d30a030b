//! Captures of every link layer and byte order, built byte by byte from their formats.

use std::io::Cursor;

use netflow_trace::{Endpoint, Event, Faults, Transport, from_reader};

fn read(bytes: &[u8]) -> (Vec<Event>, Faults) {
    let mut capture = from_reader("a test", Cursor::new(bytes.to_vec())).unwrap();
    let mut events = Vec::new();
    while let Some(event) = capture.next().unwrap() {
        events.push(event.clone());
    }
    (events, capture.faults().clone())
}

/// Returns a TCP header with these options (a multiple of four bytes) and no captured payload.
fn tcp(options: &[u8]) -> Vec<u8> {
    let offset = ((20 + options.len()) as u8 / 4) << 4;
    let mut header = vec![0x04, 0xd2, 0, 80, 0, 0, 0, 9, 0, 0, 0, 5, offset, 0x10];
    header.extend([0xff, 0xff, 0, 0, 0, 0]);
    header.extend(options);
    header
}

/// Returns an IPv4 packet from 10.0.0.1 to 10.0.0.2 with this length in its header.
fn ipv4(total: u16, fragment: u16, inside: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(inside);
    packet
}

/// Returns an IPv6 packet from ::1 to ::2 with this next header and payload length.
fn ipv6(next: u8, length: u16, inside: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([next, 64]);
    for last in [1, 2] {
        packet.extend([0; 15]);
        packet.push(last);
    }
    packet.extend(inside);
    packet
}

/// Returns a pcap file of one packet at 1.5 s, little-endian with microseconds.
fn pcap(link_type: u32, length: u32, frame: &[u8]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for word in [
        0,
        0,
        65535,
        link_type,
        1,
        500_000,
        frame.len() as u32,
        length,
    ] {
        file.extend(word.to_le_bytes());
    }
    file.extend(frame);
    file
}

/// Returns the only packet of a capture without faults.
fn single_event(link_type: u32, length: u32, frame: &[u8]) -> Event {
    let (events, faults) = read(&pcap(link_type, length, frame));
    assert_eq!(faults, Faults::default());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].time_ns, 1_500_000_000);
    events[0].clone()
}

/// 1000 bytes of payload that were not captured: lengths are those of the IP header.
#[test]
fn all_link_layers_are_decoded_equally() {
    let inside = ipv4(1040, 0, &tcp(&[]));
    let vlan: &[u8] = &[
        1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0,
    ];
    let heads: [(u32, &[u8]); 12] = [
        (1, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0]),
        (1, vlan),
        (12, &[]),
        (14, &[]),
        (101, &[]),
        (228, &[]),
        (113, &[0, 0, 0, 1, 0, 6, 1, 1, 1, 1, 1, 1, 0, 0, 8, 0]),
        (
            276,
            &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 1, 1, 1, 1, 1, 0, 0],
        ),
        (0, &[2, 0, 0, 0]),
        (0, &[0, 0, 0, 2]),
        (108, &[0, 0, 0, 2]),
        // The header states that checksums of four bytes follow.
        (0x5400_0001, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0]),
    ];
    for (link_type, head) in heads {
        let packet = single_event(link_type, 2000, &[head, &inside].concat()).packet;
        assert_eq!(packet.bytes, 1040, "{link_type}");
        assert_eq!(packet.from, Endpoint::V4([10, 0, 0, 1].into(), 1234));
        assert_eq!(packet.to, Endpoint::V4([10, 0, 0, 2].into(), 80));
        let segment = packet.segment.unwrap();
        assert_eq!((segment.seq, segment.len, segment.ack), (9, 1000, Some(5)));
    }
    let packet = single_event(229, 2000, &ipv6(6, 1020, &tcp(&[]))).packet;
    assert_eq!((packet.bytes, packet.segment.unwrap().len), (1060, 1000));
}

/// Packets at 8, 1 and 0.9 s: a clock that was set back, and packets out of order. Such captures once led
/// to round-trip times of -300 ms without a fault.
#[test]
fn clock_reset_is_reported() {
    let frame = ipv4(40, 0, &tcp(&[]));
    let mut file = pcap(101, 40, &frame);
    file.truncate(24);
    for (s, us) in [(8_u32, 0_u32), (1, 0), (0, 900_000)] {
        for word in [s, us, 40, 40] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&frame);
    }
    let (events, faults) = read(&file);
    assert_eq!((events.len(), faults.count), (3, 1));
    let told = format!("{}: {}", faults.first[0].position, faults.first[0].message);
    assert_eq!(
        told,
        "packet 2 (byte 80): it was captured 7000 ms before the previous packet: the clock was set back"
    );
}

#[test]
fn pcap_byte_orders_and_resolutions_are_read() {
    let frame = ipv4(40, 0, &tcp(&[]));
    for (magic, is_big, part, time_ns) in [
        (0xa1b2_c3d4_u32, true, 7, 1_000_007_000),
        (0xa1b2_c3d4, false, 7, 1_000_007_000),
        (0xa1b2_3c4d, true, 7, 1_000_000_007),
        (0xa1b2_3c4d, false, 7, 1_000_000_007),
    ] {
        let word = |value: u32| {
            if is_big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let half = |value: u16| {
            if is_big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let mut file = word(magic).to_vec();
        file.extend([half(2), half(4)].concat());
        for value in [0, 0, 65535, 101, 1, part, 40, 40] {
            file.extend(word(value));
        }
        file.extend(&frame);
        let (events, faults) = read(&file);
        assert_eq!(faults, Faults::default());
        assert_eq!(events[0].time_ns, time_ns);
    }
}

/// With segmentation offload, a large segment has no length in its IP header.
#[test]
fn zero_ip_length_means_wire_length() {
    let packet = single_event(101, 30_040, &ipv4(0, 0, &tcp(&[]))).packet;
    assert_eq!(
        (packet.bytes, packet.segment.unwrap().len),
        (30_040, 30_000)
    );
    let packet = single_event(101, 30_060, &ipv6(6, 0, &tcp(&[]))).packet;
    assert_eq!(
        (packet.bytes, packet.segment.unwrap().len),
        (30_060, 30_000)
    );
}

/// Hop-by-hop options, routing, then a fragment header: only the first fragment has a TCP header.
#[test]
fn fragments_after_extension_headers_are_recognized() {
    let extended = |offset: u8| {
        let mut inside = vec![43, 0, 0, 0, 0, 0, 0, 0];
        inside.extend([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        inside.extend([6, 0, 0, offset, 0, 0, 0, 1]);
        inside.extend(tcp(&[]));
        inside
    };
    let first = single_event(101, 92, &ipv6(0, 52, &extended(1))).packet;
    assert_eq!(first.transport, Transport::Tcp);
    assert_eq!(first.segment.unwrap().seq, 9);
    let later = single_event(101, 92, &ipv6(0, 52, &extended(8))).packet;
    assert_eq!((later.transport, later.segment), (Transport::Tcp, None));
    let one: std::net::Ipv6Addr = "::1".parse().unwrap();
    assert_eq!(later.from, Endpoint::V6(one, 0));
    let later = single_event(101, 40, &ipv4(40, 100, &tcp(&[]))).packet;
    assert_eq!((later.bytes, later.segment), (40, None));
}

#[test]
fn sack_blocks_and_timestamps_are_parsed() {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 1, 1, 5, 10];
    options.extend([0, 0, 0, 20, 0, 0, 0, 30]);
    let segment = single_event(101, 64, &ipv4(64, 0, &tcp(&options)))
        .packet
        .segment
        .unwrap();
    assert_eq!(segment.timestamps, Some((3, 4)));
    assert_eq!((segment.sack_blocks, segment.sack[0]), (1, (20, 30)));
}

/// An MSS option counts in a SYN only.
#[test]
fn mss_is_read_from_syn() {
    let mut syn = tcp(&[2, 4, 5, 0xb4]);
    let mss = |tcp: &[u8]| {
        let packet = single_event(101, 44, &ipv4(44, 0, tcp)).packet;
        packet.segment.unwrap().mss
    };
    syn[13] = 2;
    assert_eq!(mss(&syn), Some(1460));
    syn[13] = 16;
    assert_eq!(mss(&syn), None);
}

/// Options may be repeated, but four blocks are stored.
#[test]
fn sack_block_count_is_limited() {
    let block = [0, 0, 0, 20, 0, 0, 0, 30];
    let mut options = vec![5, 26];
    options.extend([block; 3].concat());
    options.extend([5, 10]);
    options.extend(block);
    options.extend([0; 4]);
    let segment = single_event(101, 80, &ipv4(80, 0, &tcp(&options)))
        .packet
        .segment
        .unwrap();
    assert!(usize::from(segment.sack_blocks) <= segment.sack.len());
    assert_eq!(segment.sack_blocks, 1);
}

/// Returns a block of a pcapng file, little-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    assert_eq!(body.len() % 4, 0);
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}

fn section() -> Vec<u8> {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body)
}

fn interface(link_type: u16, options: &[u8]) -> Vec<u8> {
    let mut body = link_type.to_le_bytes().to_vec();
    body.extend([0; 6]);
    body.extend(options);
    block(1, &body)
}

/// Returns the block of a 40-byte packet, with a time in units of the interface and these options.
fn packet(interface: u32, time: u64, options: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for word in [interface, (time >> 32) as u32, time as u32, 40, 40] {
        body.extend(word.to_le_bytes());
    }
    body.extend(ipv4(40, 0, &tcp(&[])));
    body.extend(options);
    block(6, &body)
}

/// Microseconds, nanoseconds, 2⁻¹⁰ s, and nanoseconds with an offset of 100 s.
#[test]
fn interfaces_have_separate_clocks() {
    let file = [
        section(),
        interface(101, &[]),
        interface(101, &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]),
        interface(228, &[9, 0, 1, 0, 0x8a, 0, 0, 0]),
        interface(
            101,
            &[
                9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0, 100, 0, 0, 0, 0, 0, 0, 0,
            ],
        ),
        packet(0, 5_000_001, &[]),
        packet(1, 5_000_000_001, &[]),
        packet(2, 1536, &[]),
        packet(3, 7, &[]),
        // A new section resets the interfaces.
        section(),
        interface(101, &[]),
        packet(0, 6_000_000, &[]),
        packet(1, 6_000_000, &[]),
    ];
    let (events, faults) = read(&file.concat());
    let times: Vec<i64> = events.iter().map(|event| event.time_ns).collect();
    assert_eq!(
        times,
        [
            5_000_001_000,
            5_000_000_001,
            1_500_000_000,
            100_000_000_007,
            6_000_000_000
        ]
    );
    let ids: Vec<u64> = events.iter().map(|event| event.packet.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    assert_eq!(faults.count, 1);
    assert!(
        faults.first[0]
            .message
            .starts_with("interface 1 is not defined")
    );
}

#[test]
fn unknown_link_layer_hides_no_other_interface() {
    let file = [
        section(),
        interface(220, &[]),
        interface(101, &[]),
        packet(0, 1, &[]),
        packet(1, 2, &[]),
    ];
    let (events, faults) = read(&file.concat());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].packet.id, 1);
    assert_eq!(
        faults.first[0].message,
        "interface 0 has the unsupported link layer type 220"
    );
}

#[test]
fn capture_ending_in_options_is_truncated() {
    let mut file = [
        section(),
        interface(101, &[]),
        packet(0, 1, &[1, 0, 4, 0, b'a', b'b', b'c', b'd']),
    ]
    .concat();
    file.truncate(file.len() - 6);
    let (events, faults) = read(&file);
    assert_eq!(events.len(), 1);
    assert!(faults.truncated, "{faults:?}");
    assert_eq!(faults.count, 1);
}

#[test]
fn inconsistent_block_lengths_end_capture() {
    let mut file = [section(), interface(101, &[]), packet(0, 1, &[])].concat();
    let last = file.len() - 4;
    file[last] += 4;
    file.extend(packet(0, 2, &[]));
    let (events, faults) = read(&file);
    assert_eq!(events.len(), 1);
    assert!(faults.truncated, "{faults:?}");
}

#[test]
fn impossible_tcp_headers_are_faults() {
    let mut short = tcp(&[]);
    short[12] = 0x40;
    let mut long = tcp(&[]);
    long[12] = 0xf0;
    for (header, message) in [
        (short, "the TCP header has a wrong length"),
        (long, "the packet is shorter than its TCP header"),
    ] {
        let (events, faults) = read(&pcap(101, 40, &ipv4(40, 0, &header)));
        assert!(events.is_empty());
        assert_eq!(faults.first[0].message, message);
    }
}

/// Differences between times before 1824 and after 2116 could overflow 64-bit nanoseconds, so such times
/// are malformed.
#[test]
fn timestamps_beyond_range_are_malformed() {
    // Seconds from 1970 on; the second interface has an offset of -10¹⁸ s.
    let far = (-1_000_000_000_000_000_000_i64).to_le_bytes();
    let file = [
        section(),
        interface(101, &[9, 0, 1, 0, 0, 0, 0, 0]),
        interface(
            101,
            &[&[9, 0, 1, 0, 0, 0, 0, 0, 14, 0, 8, 0], &far[..]].concat(),
        ),
        packet(0, 5, &[]),
        packet(0, 4_611_686_019, &[]),
        packet(1, 5, &[]),
        packet(0, 4_611_686_018, &[]),
    ]
    .concat();
    let (events, faults) = read(&file);
    let times: Vec<i64> = events.iter().map(|event| event.time_ns).collect();
    assert_eq!(times, [5_000_000_000, 4_611_686_018_000_000_000]);
    assert_eq!(faults.count, 2);
    assert!(faults.first[0].message.contains("1824"), "{faults:?}");
}
