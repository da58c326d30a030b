//! Hand-made conversations with known losses, retransmissions and round-trip times.

use std::net::Ipv4Addr;

use netflow_profile::fit::Sample;
use netflow_trace::sender::{Flow, MAX_IN_FLIGHT, Options, RttMethod, Samplers, Senders, Totals};
use netflow_trace::{Endpoint, Event, EventKind, Link, Packet, Segment, Transport};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// Endpoints of an ns-2 trace: node 0 sends to node 1.
const NS2_ENDPOINTS: (Endpoint, Endpoint) = (
    Endpoint::Node { node: 0, port: 0 },
    Endpoint::Node { node: 1, port: 0 },
);

/// Endpoints of a capture at 10.0.0.1.
const CAPTURE_ENDPOINTS: (Endpoint, Endpoint) = (
    Endpoint::V4(Ipv4Addr::new(10, 0, 0, 1), 40_000),
    Endpoint::V4(Ipv4Addr::new(10, 0, 0, 2), 80),
);

fn event(
    time_ms: i64,
    what: EventKind,
    link: Option<(u32, u32)>,
    (from, to): (Endpoint, Endpoint),
    segment: Segment,
) -> Event {
    Event {
        time_ns: time_ms * MS,
        kind: what,
        link: link.map(|(from, to)| Link { from, to }),
        packet: Packet {
            id: 0,
            bytes: segment.len + 40,
            from,
            to,
            flow: 0,
            transport: Transport::Tcp,
            segment: Some(segment),
        },
    }
}

fn reversed((from, to): (Endpoint, Endpoint)) -> (Endpoint, Endpoint) {
    (to, from)
}

/// Returns the event of ns-2's data packet `seq` leaving its sender.
fn data(time_ms: i64, seq: u32) -> Event {
    let segment = Segment {
        seq,
        len: 1,
        ..Segment::default()
    };
    event(
        time_ms,
        EventKind::Enqueued,
        Some((0, 1)),
        NS2_ENDPOINTS,
        segment,
    )
}

/// Returns the arrival of ns-2's acknowledgement of everything before packet `next`.
fn ack(time_ms: i64, next: u32) -> Event {
    let segment = Segment {
        ack: Some(next),
        ..Segment::default()
    };
    event(
        time_ms,
        EventKind::Received,
        Some((1, 0)),
        reversed(NS2_ENDPOINTS),
        segment,
    )
}

/// Returns a captured segment to the server.
fn captured_data(time_ms: i64, seq: u32, len: u32) -> Event {
    let segment = Segment {
        seq,
        len,
        ack: Some(1),
        ..Segment::default()
    };
    event(
        time_ms,
        EventKind::Captured,
        None,
        CAPTURE_ENDPOINTS,
        segment,
    )
}

/// Returns a captured acknowledgement of the server, with SACK blocks.
fn captured_ack(time_ms: i64, next: u32, blocks: &[(u32, u32)]) -> Event {
    let mut segment = Segment {
        seq: 1,
        ack: Some(next),
        sack_blocks: blocks.len() as u8,
        ..Segment::default()
    };
    segment.sack[..blocks.len()].copy_from_slice(blocks);
    event(
        time_ms,
        EventKind::Captured,
        None,
        reversed(CAPTURE_ENDPOINTS),
        segment,
    )
}

fn with_timestamps(mut event: Event, value: u32, echo: u32) -> Event {
    if let Some(segment) = &mut event.packet.segment {
        segment.timestamps = Some((value, echo));
    }
    event
}

/// Returns the totals of the only sender, its method of round-trip times, and these in ms.
fn track_sender(events: &[Event], method: Option<RttMethod>) -> (Totals, RttMethod, Vec<i64>) {
    let mut senders = Senders::new(Options { rtt_method: method });
    let mut rtts_ms = Vec::new();
    for event in events {
        senders.on_event(event, |_, seen| {
            rtts_ms.extend(seen.rtt_s.map(|rtt_s| (1e3 * rtt_s).round() as i64));
        });
    }
    let (_, tracker) = senders.flows().next().expect("somebody sent");
    (*tracker.totals(), tracker.rtt_method(), rtts_ms)
}

fn counts(totals: &Totals) -> (u64, u64, u64, u64) {
    (
        totals.sent_pkts,
        totals.resent_pkts,
        totals.spurious_pkts,
        totals.acked_pkts,
    )
}

#[test]
fn lossless_transfer_has_constant_rtt() {
    let mut events = Vec::new();
    for i in 0..10 {
        events.push(data(i64::from(10 * i), i));
        events.push(ack(i64::from(10 * i) + 7, i + 1));
    }
    let (totals, method, rtts_ms) = track_sender(&events, None);
    assert_eq!(counts(&totals), (10, 0, 0, 10));
    assert_eq!((method, rtts_ms), (RttMethod::Karn, vec![7; 10]));
}

/// The clock is set back by 7 s before the third acknowledgement, which yields no round-trip time.
#[test]
fn rtt_is_not_negative_after_clock_reset() {
    let mut events = Vec::new();
    for i in 0..5 {
        let set_back = if i >= 2 { -7000 } else { 0 };
        events.push(data(10 * i + if i > 2 { -7000 } else { 0 }, i as u32));
        events.push(ack(10 * i + 7 + set_back, i as u32 + 1));
    }
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!((totals.sent_pkts, rtts_ms), (5, vec![7; 4]));
}

/// The clock is set back by half a second between a packet and its acknowledgement 600 ms later, which
/// must not measure 100 ms.
#[test]
fn rtt_is_not_measured_across_clock_reset() {
    let events = [
        data(0, 0),
        ack(600, 1),
        data(1000, 1),
        ack(1100, 2),
        data(1110, 2),
        ack(1210, 3),
    ];
    let (_, _, rtts_ms) = track_sender(&events, None);
    assert_eq!(rtts_ms, [600, 100, 100]);
    let events = [
        data(0, 0),
        ack(600, 1),
        data(1000, 1),
        ack(800, 1),
        ack(1100, 2),
        data(1110, 2),
        ack(1210, 3),
    ];
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!((totals.acked_pkts, rtts_ms), (3, vec![600, 100]));
}

/// Packet 2 of 0…6 is lost; after three duplicate acknowledgements it is retransmitted.
#[test]
fn fast_retransmit_counts_as_one_loss() {
    let mut events: Vec<Event> = (0..7).map(|seq| data(i64::from(seq), seq)).collect();
    events.extend([ack(100, 1), ack(101, 2)]);
    events.extend([103, 104, 105, 106].map(|time| ack(time, 2)));
    events.extend([data(105, 2), ack(205, 7), data(206, 7), ack(306, 8)]);
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!(counts(&totals), (9, 1, 0, 8));
    // Packet 6, which waited for packet 2, does not measure 199 ms.
    assert_eq!(rtts_ms, [100, 100, 100]);
}

/// Packets 1 and 4 of 0…5 are lost. After a timeout, go-back-N sends 1, whose acknowledgement reaches 4.
/// Then it sends 4, which is needed, and 5, which had arrived.
#[test]
fn go_back_n_retransmissions_are_spurious() {
    let mut events: Vec<Event> = (0..6).map(|seq| data(0, seq)).collect();
    // 2, 3 and 5 arrive beyond the hole.
    events.extend([ack(100, 1), ack(100, 1), ack(100, 1), ack(100, 1)]);
    events.extend([data(1000, 1), ack(1100, 4)]);
    events.extend([data(1100, 4), data(1100, 5)]);
    // 4 fills the hole; 5 arrives a second time.
    events.extend([ack(1200, 6), ack(1200, 6), data(1200, 6), ack(1300, 7)]);
    let (totals, ..) = track_sender(&events, None);
    assert_eq!(counts(&totals), (10, 3, 1, 7));
    assert_eq!(totals.lost_pkts(), 2);
}

/// An acknowledgement may cover several packets: it was delayed, or earlier ones were lost.
#[test]
fn lost_acknowledgements_are_not_losses() {
    let mut events = Vec::new();
    for i in 0..30 {
        events.push(data(i64::from(10 * i), i));
        if i % 3 == 2 {
            events.push(ack(i64::from(10 * i) + 9, i + 1));
        }
    }
    assert_eq!(counts(&track_sender(&events, None).0), (30, 0, 0, 30));
}

#[test]
fn sequence_numbers_wrap() {
    let first = u32::MAX - 2999;
    let mut events = Vec::new();
    for i in 0..10 {
        let seq = first.wrapping_add(1000 * i);
        events.push(captured_data(i64::from(100 * i), seq, 1000));
        events.push(captured_ack(
            i64::from(100 * i) + 50,
            seq.wrapping_add(1000),
            &[],
        ));
    }
    // The last packet before the wrap is retransmitted.
    events.push(captured_data(2000, first.wrapping_add(2000), 1000));
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!(counts(&totals), (11, 1, 0, 10));
    assert_eq!(rtts_ms, [50; 10]);
    assert_eq!(totals.payload, 10_000);
}

/// A capture before segmentation offload shows segments of 2, 3 and 10 packets.
#[test]
fn super_segments_count_as_several_packets() {
    let events = [
        captured_data(0, 1, 1448),
        captured_data(0, 1449, 2 * 1448),
        captured_data(0, 4345, 3 * 1448),
        captured_data(0, 8689, 10 * 1448),
        captured_data(0, 23_169, 300),
        captured_ack(60, 4345, &[]),
        captured_ack(60, 4345, &[(5793, 8689)]),
        captured_data(90, 4345, 1448),
        captured_ack(150, 23_469, &[]),
    ];
    let (totals, ..) = track_sender(&events, None);
    assert_eq!(counts(&totals), (18, 1, 0, 17));
}

/// Returns a handshake with the maximum segment sizes of the client and the server.
fn handshake_with_mss(client: Option<u16>, server: Option<u16>) -> [Event; 2] {
    let syn = |seq, ack, mss| Segment {
        seq,
        ack,
        mss,
        syn: true,
        ..Segment::default()
    };
    let captured = |ends, segment| event(0, EventKind::Captured, None, ends, segment);
    [
        captured(CAPTURE_ENDPOINTS, syn(0, None, client)),
        captured(reversed(CAPTURE_ENDPOINTS), syn(0, Some(1), server)),
    ]
}

/// Returns the number of packets counted for consecutive segments with these payloads.
fn packets(handshake: &[Event], payloads: &[u32], stamps: bool) -> u64 {
    let mut events = handshake.to_vec();
    let mut seq = 1;
    for &payload in payloads {
        let event = captured_data(1, seq, payload);
        events.push(if stamps {
            with_timestamps(event, 1, 1)
        } else {
            event
        });
        seq += payload;
    }
    track_sender(&events, None).0.sent_pkts
}

/// Regression test: a payload of 730 bytes must not split full-sized segments in two. Ten packets in one
/// segment must count as ten even before a full-sized one arrives.
#[test]
fn handshake_mss_splits_super_segments() {
    let ethernet = handshake_with_mss(Some(1460), Some(1460));
    let full = |first: &[u32], payload: u32| {
        let mut payloads = first.to_vec();
        payloads.resize(1000, payload);
        payloads
    };
    assert_eq!(packets(&ethernet, &full(&[1460, 730], 1460), false), 1000);
    assert_eq!(packets(&ethernet, &full(&[500], 1000), false), 1000);
    assert_eq!(packets(&ethernet, &[600, 1200].repeat(500), false), 1000);
    assert_eq!(packets(&ethernet, &full(&[14_600], 1460), false), 1009);
    assert_eq!(packets(&ethernet, &[14_480, 1448, 300], true), 12);
    assert_eq!(packets(&ethernet, &[2 * 1460 + 1], false), 3);
    // The sender's link has a smaller MTU than the receiver's, and the reverse.
    for jumbo in [
        handshake_with_mss(Some(1460), Some(8960)),
        handshake_with_mss(Some(8960), Some(1460)),
    ] {
        assert_eq!(packets(&jumbo, &[2920], false), 2);
    }
    // Linux over loopback.
    let loopback = handshake_with_mss(Some(65_495), Some(65_495));
    assert_eq!(packets(&loopback, &[65_483, 32_741, 1448], true), 3);
    // Below Linux's minimum segment size.
    assert_eq!(
        packets(&handshake_with_mss(Some(0), Some(1)), &[480], false),
        10
    );
    // SYN of one side only.
    assert_eq!(packets(&ethernet[..1], &[14_600], false), 10);
}

/// A second connection between the same ports has other SYNs.
#[test]
fn each_connection_has_its_own_mss() {
    let mut events = handshake_with_mss(Some(1460), Some(1460)).to_vec();
    events.push(captured_data(1, 1, 4000));
    events.extend(handshake_with_mss(Some(8960), Some(8960)));
    events.push(captured_data(3, 1, 4000));
    assert_eq!(track_sender(&events, None).0.sent_pkts, 3 + 1);
}

/// Without SYNs or MSS options, a payload up to Ethernet's maximum is one packet, and longer ones are
/// split by the longest of these.
#[test]
fn payloads_split_segments_without_handshake() {
    for handshake in [&[][..], &handshake_with_mss(None, None)] {
        assert_eq!(packets(handshake, &[1460, 730, 1460], false), 3);
        assert_eq!(packets(handshake, &[600, 1200, 600], false), 3);
        assert_eq!(packets(handshake, &[1400, 14_000], false), 11);
        assert_eq!(packets(handshake, &[14_800, 1448, 14_800], true), 13);
        // The last segments of an application's writes do not count.
        assert_eq!(packets(handshake, &[8948, 700, 8948], true), 3);
        assert_eq!(packets(handshake, &[17_896, 26_844, 8948], true), 1 + 3 + 1);
    }
}

/// Keystrokes: 20 short segments, the last one sent twice.
#[test]
fn short_segments_count_as_one_packet() {
    let mut events: Vec<Event> = (0..20)
        .map(|i| captured_data(i64::from(i), 1 + 36 * i, 36))
        .collect();
    events.push(captured_ack(60, 1 + 36 * 19, &[]));
    events.push(captured_data(300, 1 + 36 * 19, 36));
    events.push(captured_ack(360, 1 + 36 * 20, &[]));
    assert_eq!(counts(&track_sender(&events, None).0), (21, 1, 0, 20));
}

#[test]
fn handshakes_keep_alives_and_fins_are_not_data() {
    let flags = |event: Event, syn: bool, fin: bool| {
        let mut event = event;
        if let Some(segment) = &mut event.packet.segment {
            (segment.syn, segment.fin) = (syn, fin);
        }
        event
    };
    let events = [
        flags(captured_data(0, 999, 0), true, false),
        flags(captured_ack(50, 1000, &[]), true, false),
        captured_data(51, 1000, 0),
        captured_data(52, 1000, 1000),
        captured_ack(102, 2000, &[]),
        captured_data(60_000, 1999, 1),
        captured_ack(60_050, 2000, &[]),
        captured_data(120_000, 1999, 0),
        captured_ack(120_050, 2000, &[]),
        flags(captured_data(130_000, 2000, 0), false, true),
        flags(captured_ack(130_050, 2001, &[]), false, true),
    ];
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!(counts(&totals), (1, 0, 0, 1));
    assert_eq!(rtts_ms, [50]);
}

/// Packet 1 of 0…4 is lost. SACK shows that 2, 3 and 4 took 60 ms each, and that a second copy of 1 was
/// spurious. Karn's rule yields nothing between packets 0 and 5.
#[test]
fn sack_measures_rtts_during_recovery() {
    let at = |packet: u32| 1 + 1000 * packet;
    let mut events: Vec<Event> = (0..5)
        .map(|i| captured_data(i64::from(i), at(i), 1000))
        .collect();
    events.extend([
        captured_ack(60, at(1), &[]),
        captured_ack(62, at(1), &[(at(2), at(3))]),
        captured_ack(63, at(1), &[(at(2), at(4))]),
        captured_ack(64, at(1), &[(at(2), at(5))]),
        captured_data(65, at(1), 1000),
        captured_data(66, at(1), 1000),
        captured_ack(125, at(5), &[]),
        captured_ack(126, at(5), &[(at(1), at(2))]),
        captured_data(130, at(5), 1000),
        captured_ack(190, at(6), &[]),
    ]);
    let (totals, method, rtts_ms) = track_sender(&events, None);
    assert_eq!((method, rtts_ms), (RttMethod::Sack, vec![60; 5]));
    assert_eq!(counts(&totals), (8, 2, 1, 6));
    let (_, method, rtts_ms) = track_sender(&events, Some(RttMethod::Karn));
    assert_eq!((method, rtts_ms), (RttMethod::Karn, vec![60; 2]));
}

/// Packet 1 is lost twice; the timestamp identifies the copy that arrived.
#[test]
fn timestamps_distinguish_retransmissions() {
    let events = [
        with_timestamps(captured_data(0, 1, 1000), 100, 0),
        with_timestamps(captured_ack(60, 1001, &[]), 500, 100),
        with_timestamps(captured_data(61, 1001, 1000), 161, 500),
        with_timestamps(captured_data(400, 1001, 1000), 500, 500),
        with_timestamps(captured_data(1100, 1001, 1000), 1200, 500),
        with_timestamps(captured_ack(1160, 2001, &[]), 1600, 1200),
        // The echo of a copy other than the last one sent is ignored.
        with_timestamps(captured_data(2000, 2001, 1000), 2100, 1600),
        with_timestamps(captured_data(2300, 2001, 1000), 2400, 1600),
        with_timestamps(captured_ack(2301, 3001, &[]), 2741, 2100),
    ];
    let (_, method, rtts_ms) = track_sender(&events, None);
    assert_eq!((method, rtts_ms), (RttMethod::Timestamps, vec![60, 60]));
    let (.., rtts_ms) = track_sender(&events, Some(RttMethod::Karn));
    assert_eq!(rtts_ms, [60]);
}

/// In a whole ns-2 trace only the sender's view counts: its data entering the first link, and
/// acknowledgements leaving the last one.
#[test]
fn only_the_view_of_the_sender_counts() {
    let mut events = Vec::new();
    for i in 0..5 {
        let segment = *data(0, i).packet.segment.as_ref().unwrap();
        let time_ms = i64::from(10 * i);
        events.push(data(time_ms, i));
        for what in [EventKind::Dequeued, EventKind::Received] {
            events.push(event(
                time_ms + 1,
                what,
                Some((0, 1)),
                NS2_ENDPOINTS,
                segment,
            ));
        }
        events.push(event(
            time_ms + 2,
            EventKind::Enqueued,
            Some((5, 1)),
            NS2_ENDPOINTS,
            segment,
        ));
        let segment = *ack(0, i + 1).packet.segment.as_ref().unwrap();
        for what in [EventKind::Enqueued, EventKind::Dequeued] {
            events.push(event(
                time_ms + 3,
                what,
                Some((1, 0)),
                reversed(NS2_ENDPOINTS),
                segment,
            ));
        }
        events.push(event(
            time_ms + 3,
            EventKind::Received,
            Some((1, 5)),
            reversed(NS2_ENDPOINTS),
            segment,
        ));
        events.push(ack(time_ms + 7, i + 1));
    }
    let (totals, _, rtts_ms) = track_sender(&events, None);
    assert_eq!(counts(&totals), (5, 0, 0, 5));
    assert_eq!(rtts_ms, [7; 5]);
}

/// A request in one direction, the reply in the other.
#[test]
fn captured_sender_has_more_payload() {
    let mut events = vec![event(
        0,
        EventKind::Captured,
        None,
        reversed(CAPTURE_ENDPOINTS),
        Segment {
            seq: 1,
            len: 200,
            ..Segment::default()
        },
    )];
    events.extend((0..4).map(|i| captured_data(1, 1 + 1000 * i, 1000)));
    let mut senders = Senders::new(Options::default());
    for event in &events {
        senders.on_event(event, |_, _| ());
    }
    let flow = Flow {
        from: CAPTURE_ENDPOINTS.0,
        to: CAPTURE_ENDPOINTS.1,
    };
    assert!(senders.is_sender(&flow) && !senders.is_sender(&flow.reversed()));
    assert_eq!(flow.to_string(), "10.0.0.1:40000->10.0.0.2:80");
}

/// Four packets per sample: 100 packets/s, then 50 packets/s with a retransmission of packet 5. The
/// round-trip time rises from 20 to 40 ms.
#[test]
fn samples_are_contiguous_and_disjoint() {
    let mut samplers = Samplers::new(Options::default(), 4);
    let mut events = Vec::new();
    for i in 0..4 {
        events.push(data(i64::from(10 * i), i));
        events.push(ack(i64::from(10 * i) + 20, i + 1));
    }
    for (time_ms, seq) in [(40, 4), (60, 5), (80, 5), (100, 6), (120, 7)] {
        events.push(data(time_ms, seq));
    }
    events.extend([ack(80, 5), ack(121, 6), ack(140, 7), ack(160, 8)]);
    events.sort_by_key(|event| event.time_ns);
    for event in &events {
        samplers.on_event(event);
    }
    let flows = samplers.finish("hand-made");
    let [flow] = &flows[..] else {
        panic!("one flow: {flows:?}")
    };
    assert_eq!(
        (
            flow.trace.as_str(),
            flow.flow.as_str(),
            flow.rtt_method.as_str()
        ),
        ("hand-made", "0.0->1.0", "karn")
    );
    let expected = [(0.04, 0.04, 0, 0.02), (0.12, 0.08, 1, 0.04)];
    assert_eq!(flow.samples.len(), expected.len());
    for (sample, (time_s, duration_s, resent_pkts, rtt_s)) in flow.samples.iter().zip(expected) {
        let Sample { pkts, .. } = sample;
        assert_eq!((*pkts, sample.resent_pkts), (4, resent_pkts));
        for (is, should) in [
            (sample.time_s, time_s),
            (sample.duration_s, duration_s),
            (sample.rtt_s, rtt_s),
        ] {
            assert!((is - should).abs() < 1e-9, "{sample:?}");
        }
    }
}

/// 50 packets/s, and the clock is set back by 3 s after the sixth: no sample spans the change.
#[test]
fn samples_do_not_span_clock_resets() {
    let mut samplers = Samplers::new(Options::default(), 4);
    for i in 0..17_u32 {
        let time_ms = 4000 + 20 * i64::from(i) - if i > 5 { 3000 } else { 0 };
        samplers.on_event(&data(time_ms, i));
        samplers.on_event(&ack(time_ms + 10, i + 1));
    }
    let flows = samplers.finish("hand-made");
    let lasted: Vec<f64> = flows[0].samples.iter().map(|it| it.duration_s).collect();
    assert_eq!(lasted.len(), 3);
    assert!(
        lasted.iter().all(|&s| (s - 0.08).abs() < 1e-9),
        "{lasted:?}"
    );
}

/// A trace of one direction has no acknowledgements, but the packets in flight are still limited.
#[test]
fn unacknowledged_packets_are_limited() {
    let mut senders = Senders::new(Options::default());
    let many = MAX_IN_FLIGHT as u32 + 1000;
    for seq in 0..many {
        senders.on_event(&data(i64::from(seq), seq), |_, _| ());
    }
    let mut acked_pkts = 0;
    senders.on_event(&ack(i64::from(many), many), |_, seen| {
        acked_pkts = seen.acked_pkts
    });
    assert_eq!(acked_pkts as usize, MAX_IN_FLIGHT);
}

proptest! {
    /// Arbitrary input causes no panic, and the counts are consistent.
    #[test]
    fn arbitrary_segments_cause_no_panic(
        steps in prop::collection::vec(
            (any::<bool>(), any::<u32>(), 0..100_000_u32, any::<(u32, u32)>(), 0..9_u8, any::<[bool; 4]>()),
            1..200,
        ),
        near in any::<bool>(),
    ) {
        let mut senders = Senders::new(Options::default());
        let mut samplers = Samplers::new(Options::default(), 3);
        for (i, (forth, number, len, (start, end), sack_blocks, [syn, fin, rst, stamps])) in
            steps.into_iter().enumerate()
        {
            let number = if near { number % 5000 } else { number };
            let segment = Segment {
                seq: number,
                len: if forth { len } else { 0 },
                ack: Some(number),
                syn: syn && fin,
                fin,
                rst: rst && fin && syn,
                sack: [(start, end); 4],
                sack_blocks,
                timestamps: stamps.then_some((start % 7, end % 7)),
                mss: (syn && fin).then_some((start % 1500) as u16),
                ecn: false,
            };
            let ends = if forth { CAPTURE_ENDPOINTS } else { reversed(CAPTURE_ENDPOINTS) };
            let event = event(i as i64, EventKind::Captured, None, ends, segment);
            senders.on_event(&event, |_, seen| {
                assert!(seen.resent_pkts <= seen.sent_pkts);
                assert!(seen.rtt_s.is_none_or(|rtt_s| rtt_s >= 0.0));
            });
            samplers.on_event(&event);
        }
        for (_, tracker) in senders.flows() {
            let totals = tracker.totals();
            prop_assert!(totals.spurious_pkts <= totals.resent_pkts);
            prop_assert!(totals.resent_pkts <= totals.sent_pkts);
        }
        for flow in samplers.finish("nonsense") {
            prop_assert!(flow.samples.iter().all(|sample| sample.pkts == 3 && sample.rtt_s >= 0.0));
        }
    }
}

/// Returns the analysis of a capture of a handshake over 40 ms and ten packets. The capture point is
/// `before_ms` after the client, which sends the data.
fn capture_at_delay(before_ms: i64) -> Senders {
    let (there, back) = (CAPTURE_ENDPOINTS, reversed(CAPTURE_ENDPOINTS));
    let segment = |syn: bool, ack: Option<u32>, seq: u32, len: u32| Segment {
        syn,
        ack,
        seq,
        len,
        ..Segment::default()
    };
    let after_ms = 20 - before_ms;
    let mut events = vec![
        event(
            before_ms,
            EventKind::Captured,
            None,
            there,
            segment(true, None, 0, 0),
        ),
        event(
            20 + after_ms,
            EventKind::Captured,
            None,
            back,
            segment(true, Some(1), 0, 0),
        ),
        event(
            40 + before_ms,
            EventKind::Captured,
            None,
            there,
            segment(false, Some(1), 1, 0),
        ),
    ];
    for i in 0..10_u32 {
        let time_ms = 40 + 10 * i64::from(i);
        events.push(captured_data(time_ms + before_ms, 1 + 1000 * i, 1000));
        events.push(captured_ack(time_ms + 20 + after_ms, 1001 + 1000 * i, &[]));
    }
    events.sort_by_key(|event| event.time_ns);
    let mut senders = Senders::new(Options::default());
    for event in &events {
        senders.on_event(event, |_, _| ());
    }
    senders
}

/// Round-trip times of such a capture are nearly zero, so the capture must be recognized.
#[test]
fn capture_at_receiver_is_recognized() {
    let flow = Flow {
        from: CAPTURE_ENDPOINTS.0,
        to: CAPTURE_ENDPOINTS.1,
    };
    let at_sender = capture_at_delay(0);
    let vantage = at_sender.capture_point(&flow).unwrap();
    assert_eq!(
        (vantage.receiver_side_s, vantage.sender_side_s),
        (0.04, 0.0)
    );
    assert_eq!(at_sender.captured_near_receiver().count(), 0);
    assert_eq!(capture_at_delay(8).captured_near_receiver().count(), 0);

    let at_receiver = capture_at_delay(19);
    let (found, vantage) = at_receiver.captured_near_receiver().next().unwrap();
    assert_eq!((*found, vantage.receiver_side_s), (flow, 0.002));
    let rtt_s = at_receiver
        .get(&flow)
        .unwrap()
        .totals()
        .mean_rtt_s()
        .unwrap();
    assert!(rtt_s < 0.003, "{rtt_s}");

    // The other direction: the responder sends the data.
    let reversed = capture_at_delay(1).capture_point(&flow.reversed()).unwrap();
    assert!(reversed.is_near_receiver());
}

/// An ns-2 packet of any length is one packet, even if it would split into millions.
#[test]
fn huge_packet_counts_as_one_packet() {
    let sent = |seq: u32, len: u32| {
        let segment = Segment {
            seq,
            len,
            ..Segment::default()
        };
        event(0, EventKind::Enqueued, Some((0, 1)), NS2_ENDPOINTS, segment)
    };
    let events = [
        sent(0, 1000),
        sent(1000, 1_000_000_000),
        sent(1000, 1_000_000_000),
    ];
    let (totals, ..) = track_sender(&events, None);
    assert_eq!((totals.sent_pkts, totals.resent_pkts), (3, 1));
}
