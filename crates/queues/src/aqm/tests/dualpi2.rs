//! DualPI2: probabilities of both queues, the step, shares, and windows of L4S and classic senders.

use super::*;
use crate::aqm::dualpi2::DualPi2Queue;

fn queue(settings: DualPi2) -> AqmQueue<usize> {
    AqmQueue::new(Aqm::DualPi2(settings), Buffer::Unbounded, 1)
}

fn info(ecn: EcnCodepoint) -> PacketInfo {
    PacketInfo {
        bytes: 1500,
        flow: 0,
        ecn,
        ..PacketInfo::default()
    }
}

/// Settings with which p' stays as it is and the step is out of reach.
const FIXED: DualPi2 = DualPi2 {
    target_ns: 15 * MS,
    update_ns: 16 * MS,
    alpha_hz: 0.0,
    beta_hz: 0.0,
    coupling: 2.0,
    step_threshold_ns: u64::MAX,
    step_min_pkts: 0,
    classic_share: 0.5,
};

/// Returns the fractions of dropped and of marked packets with this code point at the probability p'.
fn fractions(p: f64, ecn: EcnCodepoint) -> (f64, f64) {
    let mut queue = DualPi2Queue::new(FIXED, 7);
    queue.probability = p;
    let mut dropped = Vec::new();
    let n = 40_000;
    let mut marked = 0;
    for number in 0..n + 4 {
        let packet = WaitingPacket {
            packet: number,
            arrived_ns: 0,
            bytes: 1500,
            ecn,
            marked: false,
        };
        queue.enqueue(
            packet,
            &info(ecn),
            PacketDetails::default,
            Buffer::Unbounded,
            &mut dropped,
        );
    }
    while queue.len() > 4 {
        if let Some(sent) = queue.dequeue(0, &mut dropped) {
            marked += usize::from(sent.marked);
        }
    }
    (dropped.len() as f64 / n as f64, marked as f64 / n as f64)
}

/// Classic packets are dropped or marked with p'², L4S packets marked with k·p'. Above k·p' = 1, all packets are
/// dropped with p'², and all other L4S packets marked (RFC 9332, sections 2.5 and 4.2).
#[test]
fn probabilities_are_coupled() {
    for (p, ecn, drops, marks) in [
        (0.3, EcnCodepoint::NotEct, 0.09, 0.0),
        (0.3, EcnCodepoint::Ect0, 0.0, 0.09),
        (0.3, EcnCodepoint::Ect1, 0.0, 0.6),
        (0.3, EcnCodepoint::Ce, 0.0, 0.6),
        (0.6, EcnCodepoint::NotEct, 0.36, 0.0),
        (0.6, EcnCodepoint::Ect0, 0.36, 0.0),
        (0.6, EcnCodepoint::Ect1, 0.36, 0.64),
    ] {
        let (dropped, marked) = fractions(p, ecn);
        let near = |is: f64, should: f64| (is - should).abs() < 0.01;
        assert!(
            near(dropped, drops) && near(marked, marks),
            "{p} {ecn:?}: {dropped} {marked}"
        );
    }
}

/// L4S packets that waited longer than the step threshold are marked, others are not. Classic packets never are.
#[test]
fn step_marks_by_sojourn_time() {
    for (ecn, marks) in [(EcnCodepoint::Ect1, true), (EcnCodepoint::Ect0, false)] {
        let settings = DualPi2 {
            step_threshold_ns: MS,
            ..FIXED
        };
        let mut queue = queue(settings);
        let packets: Vec<_> = (0..3000)
            .map(|k| Arrival {
                at_ns: k * 100_000,
                bytes: 1500,
                flow: 0,
                ecn,
            })
            .collect();
        // A service time of 120 µs: after 60 packets of 100 µs each, the wait exceeds 1 ms.
        let fates = run_packets(&mut queue, &packets, 80);
        for (packet, fate) in packets.iter().zip(fates) {
            let Fate::Sent { at_ns, marked } = fate else {
                panic!("{fate:?}");
            };
            assert_eq!(marked, marks && at_ns - packet.at_ns > MS);
        }
    }
}

/// The step applies only to packets that find enough others in their queue.
#[test]
fn step_needs_a_queue() {
    for step_min_pkts in [0, 1, 2] {
        let settings = DualPi2 {
            step_threshold_ns: MS,
            step_min_pkts,
            ..FIXED
        };
        let mut queue = queue(settings);
        let mut dropped = Vec::new();
        for number in 0..3 {
            queue.enqueue(
                0,
                number,
                info(EcnCodepoint::Ect1),
                PacketDetails::default,
                &mut dropped,
            );
        }
        for number in 0..3 {
            let packet = queue.dequeue(2 * MS, &mut dropped).unwrap();
            assert_eq!(packet.marked, number >= step_min_pkts);
        }
    }
}

/// While both queues hold packets, the classic queue sends its share of the bytes; otherwise either queue uses the
/// whole link.
#[test]
fn classic_queue_keeps_its_share() {
    for share in [0.0, 0.1, 0.5] {
        let settings = DualPi2 {
            classic_share: share,
            ..FIXED
        };
        let mut queue = queue(settings);
        let mut dropped = Vec::new();
        let mut sent = [0_u32; 2];
        for number in 0..6000 {
            let (small, large) = (info(EcnCodepoint::Ect1), info(EcnCodepoint::Ect0));
            queue.enqueue(0, number, small, PacketDetails::default, &mut dropped);
            queue.enqueue(
                0,
                number,
                PacketInfo {
                    bytes: 500,
                    ..large
                },
                PacketDetails::default,
                &mut dropped,
            );
        }
        for _ in 0..3000 {
            let packet = queue.dequeue(0, &mut dropped).unwrap();
            sent[usize::from(packet.ecn.is_l4s())] += packet.bytes;
        }
        let is = f64::from(sent[0]) / f64::from(sent[0] + sent[1]);
        assert!((is - share).abs() < 0.01, "{is} for {share}");
        // The rest leaves, too.
        while queue.dequeue(0, &mut dropped).is_some() {}
        assert!(queue.is_empty() && dropped.is_empty());
    }
}

/// The base probability follows the PI law: with a constant delay d, it grows by α (d − target) per update, and by
/// β d at the first one. An empty queue lets it decay to zero.
#[test]
fn controller_integrates_the_delay() {
    let settings = DualPi2 {
        alpha_hz: 0.16,
        beta_hz: 3.2,
        ..FIXED
    };
    let mut queue = DualPi2Queue::new(settings, 1);
    let mut dropped: Vec<u64> = Vec::new();
    // A packet every 16 ms, which waits for 31.9 ms: at every update the head has waited for 31.9 ms.
    for k in 1..=50_u64 {
        let packet = WaitingPacket {
            packet: k,
            arrived_ns: 16 * MS * k + MS / 10,
            bytes: 1500,
            ecn: EcnCodepoint::NotEct,
            marked: false,
        };
        if k >= 3 {
            queue.dequeue(16 * MS * k + MS / 20, &mut dropped);
        }
        queue.enqueue(
            packet,
            &info(EcnCodepoint::NotEct),
            PacketDetails::default,
            Buffer::Unbounded,
            &mut dropped,
        );
    }
    // Updates at 16 ms: empty. At 32 ms: 15.9 ms. From 48 ms to 800 ms: 31.9 ms.
    let sum_ms = (15.9 - 15.0) + 48.0 * (31.9 - 15.0);
    let p = (0.16 * sum_ms + 3.2 * 31.9) * 1e-3;
    assert!(
        (queue.probability - p).abs() < 1e-9,
        "{}",
        queue.probability
    );
    while queue.dequeue(900 * MS, &mut dropped).is_some() {}
    queue.dequeue(100_000 * MS, &mut dropped);
    assert_eq!(queue.probability, 0.0);
}
