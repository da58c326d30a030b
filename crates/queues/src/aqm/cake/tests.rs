//! Tests of CAKE: rules with values worked out from Linux 6.18 (`sch_cake`), and shares worked out by hand.

use std::collections::BTreeMap;

use super::cobalt::{BLUE_DECREASE, BLUE_INCREASE, Cobalt, CobaltSettings};
use super::flow_table::{QUEUES, WAYS};
use super::*;
use crate::aqm::AqmQueue;
use crate::{Aqm, Dscp, EcnCodepoint, PacketInfo};

const MS: u64 = 1_000_000;
const MBIT: f64 = 1e6;

fn shaped(bandwidth_bps: f64) -> Cake {
    Cake {
        bandwidth_bps: Some(bandwidth_bps),
        ..Cake::default()
    }
}

fn packet(arrived_ns: u64, bytes: u32, ecn: EcnCodepoint) -> WaitingPacket<()> {
    WaitingPacket {
        packet: (),
        arrived_ns,
        bytes,
        ecn,
        marked: false,
    }
}

fn dscp(name: &str) -> Dscp {
    Dscp::named(name).unwrap()
}

/// Targets, intervals and quanta of the tins. At 831 kbit/s, `tc` shows a target of 21.7 ms and an interval of 116.7
/// ms for packets of 1504 B instead of 1514 B (dtaht/sch_cake, issue 142).
#[test]
fn targets_follow_rtt_and_bandwidth() {
    let times = |cake: Cake| -> Vec<(u64, u64, u16)> {
        let tins = cake.tins.settings(&cake).into_iter();
        tins.map(|tin| {
            let CobaltSettings {
                target_ns,
                interval_ns,
                ..
            } = tin.cobalt;
            (target_ns / 1000, interval_ns / 1000, tin.flow_quantum)
        })
        .collect()
    };
    let best_effort = |bandwidth_bps, rtt_ns| {
        let tins = Tins::BestEffort;
        times(Cake {
            bandwidth_bps,
            rtt_ns,
            tins,
            ..Cake::default()
        })
    };
    for (bandwidth_bps, rtt_ns, expected) in [
        (None, 100 * MS, (5000, 100_000, 1514)),
        (Some(100.0 * MBIT), 100 * MS, (5000, 100_000, 1514)),
        (Some(1.0 * MBIT), 100 * MS, (18_168, 113_168, 300)),
        (Some(0.831 * MBIT), 100 * MS, (21_862, 116_862, 300)),
        (Some(10.0 * MBIT), 100 * MS, (5000, 100_000, 305)),
        (Some(100.0 * MBIT), 10 * MS, (500, 10_000, 1514)),
        // The target is 1.5 packets, and the interval twice the target.
        (Some(100.0 * MBIT), MS / 10, (181, 363, 1514)),
    ] {
        assert_eq!(best_effort(bandwidth_bps, rtt_ns), [expected]);
    }
    // 10 Mbit/s: the bulk tin has 625 kbit/s, and the voice tin 2.5 Mbit/s.
    let expected = [
        (5000, 100_000, 305),
        (29_068, 124_068, 300),
        (7267, 102_267, 300),
    ];
    assert_eq!(times(shaped(10.0 * MBIT)), expected);
}

/// Bandwidth thresholds in Mbit/s, weights, and quanta at 100 Mbit/s.
#[test]
fn tins_have_thresholds_and_weights() {
    let of = |tins| {
        let cake = Cake {
            tins,
            ..shaped(100.0 * MBIT)
        };
        let tins = tins.settings(&cake).into_iter();
        let tin = tins.map(|tin| {
            let mbps = 8.0 * 1e6 / tin.rate.duration_ns(1_000_000) as f64 * 1e3;
            (
                (100.0 * mbps).round() / 100.0,
                tin.tin_quantum,
                tin.flow_quantum,
            )
        });
        tin.collect::<Vec<_>>()
    };
    assert_eq!(of(Tins::BestEffort), [(100.0, 65_535, 1514)]);
    let three = [(100.0, 1024, 1514), (6.25, 64, 300), (25.0, 256, 762)];
    assert_eq!(of(Tins::DiffServ3), three);
    let four = [
        (100.0, 1024, 1514),
        (6.25, 64, 300),
        (50.0, 512, 1514),
        (25.0, 256, 762),
    ];
    assert_eq!(of(Tins::DiffServ4), four);
    for tins in [Tins::Precedence, Tins::DiffServ8] {
        let eight = of(tins);
        let thresholds: Vec<f64> = eight.iter().map(|it| it.0).collect();
        let expected = [100.0, 87.5, 76.56, 66.99, 58.62, 51.29, 44.88, 39.27];
        assert_eq!(thresholds, expected);
        let weights: Vec<u16> = eight.iter().map(|it| it.1).collect();
        assert_eq!(weights, [256, 224, 196, 171, 149, 130, 113, 98]);
    }
}

/// The tin of each kind of traffic, as in the manual of tc-cake.
#[test]
fn code_points_select_tins() {
    let all = [
        Tins::BestEffort,
        Tins::Precedence,
        Tins::DiffServ3,
        Tins::DiffServ4,
        Tins::DiffServ8,
    ];
    for (name, tins) in [
        ("CS0", [0, 0, 0, 0, 2]),
        ("LE", [0, 0, 1, 1, 0]),
        ("CS1", [0, 1, 1, 1, 1]),
        ("AF11", [0, 1, 0, 0, 1]),
        ("CS2", [0, 2, 0, 2, 5]),
        ("AF21", [0, 2, 0, 2, 4]),
        ("CS3", [0, 3, 0, 2, 3]),
        ("AF31", [0, 3, 0, 2, 3]),
        ("CS4", [0, 4, 0, 3, 6]),
        ("AF41", [0, 4, 0, 2, 3]),
        ("CS5", [0, 5, 0, 3, 6]),
        ("VA", [0, 5, 2, 3, 6]),
        ("EF", [0, 5, 2, 3, 6]),
        ("CS6", [0, 6, 2, 3, 7]),
        ("CS7", [0, 7, 2, 3, 7]),
    ] {
        assert_eq!(all.map(|it| it.tin_of(dscp(name))), tins, "{name}");
    }
    // A class has one tin for all drop precedences.
    for class in ["AF1", "AF2", "AF3", "AF4"] {
        for precedence in 1..=3 {
            let same = format!("{class}{precedence}");
            assert_eq!(
                all.map(|it| it.tin_of(dscp(&same))),
                all.map(|it| it.tin_of(dscp(class)))
            );
        }
    }
}

/// BLUE adds 1/256 at an overflow and subtracts 1/4096 at an empty queue, at most once per target.
#[test]
fn blue_changes_once_per_target() {
    let settings = CobaltSettings {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        mtu_ns: 0,
    };
    let mut cobalt = Cobalt::default();
    for (now_ns, steps) in [(5, 0), (6, 1), (7, 1), (11, 1), (12, 2), (100, 3)] {
        cobalt.record_overflow(&settings, now_ns * MS);
        assert_eq!(
            cobalt.drop_probability,
            steps * BLUE_INCREASE,
            "{now_ns} ms"
        );
    }
    for (now_ns, steps) in [(105, 48), (106, 47), (111, 47), (112, 46)] {
        cobalt.record_empty(&settings, now_ns * MS);
        assert_eq!(
            cobalt.drop_probability,
            steps * BLUE_DECREASE,
            "{now_ns} ms"
        );
    }
    let mut cobalt = Cobalt::default();
    cobalt.drop_probability = u32::MAX - 1;
    cobalt.record_overflow(&settings, 1000 * MS);
    assert_eq!(cobalt.drop_probability, u32::MAX);
}

/// Times of marks in ms, for packets that leave every millisecond after 20 ms in the queue.
fn mark_times(cobalt: &mut Cobalt, from_ms: u64, until_ms: u64) -> Vec<u64> {
    let settings = CobaltSettings {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        mtu_ns: 0,
    };
    let mut random = SplitMix64::new(1);
    let marked = |at: &u64| {
        let mut waits = packet((at - 20) * MS, 1500, EcnCodepoint::Ect0);
        assert!(!cobalt.decide(&settings, at * MS, &mut waits, &mut random));
        waits.marked
    };
    (from_ms..until_ms).filter(marked).collect()
}

/// Marks follow each other after 100 ms/√count. The first mark of a queue that has never been used comes at once,
/// because its root starts from 0; later ones come after an interval.
#[test]
fn marks_follow_the_control_law() {
    let mut cobalt = Cobalt::default();
    let marks = mark_times(&mut cobalt, 1000, 2000);
    let (mut expected, mut at_ms) = (vec![1001], 1000.0);
    for count in 2.. {
        at_ms += 100.0 / f64::from(count).sqrt();
        if at_ms >= 1999.0 {
            break;
        }
        expected.push(at_ms.ceil() as u64);
    }
    // The approximation of the root may move a mark across a millisecond.
    assert_eq!(marks.len(), expected.len());
    let is_near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 1;
    assert!(marks.iter().zip(&expected).all(is_near), "{marks:?}");
    assert_eq!(cobalt.count as usize, marks.len() + 1);
    // Without delay the count decays, and then an interval passes before a mark.
    let settings = CobaltSettings {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        mtu_ns: 0,
    };
    let mut random = SplitMix64::new(1);
    for at in 2000..6000 {
        let mut waits = packet(at * MS, 1500, EcnCodepoint::Ect0);
        assert!(!cobalt.decide(&settings, at * MS, &mut waits, &mut random));
        assert!(!waits.marked);
    }
    assert_eq!(cobalt.count, 0);
    assert_eq!(mark_times(&mut cobalt, 6000, 6150), [6100]);
}

/// Packets without ECN are dropped instead of marked, but never below four transmission times of a packet.
#[test]
fn slow_links_have_a_larger_target() {
    for (mtu_ns, drops) in [(4 * MS, true), (5 * MS, false)] {
        let settings = CobaltSettings {
            target_ns: 5 * MS,
            interval_ns: 100 * MS,
            mtu_ns,
        };
        let (mut cobalt, mut random) = (Cobalt::default(), SplitMix64::new(1));
        let dropped = (100..400).any(|at| {
            let mut waits = packet((at - 20) * MS, 1500, EcnCodepoint::NotEct);
            cobalt.decide(&settings, at * MS, &mut waits, &mut random)
        });
        assert_eq!(dropped, drops);
    }
}

/// A queue of CAKE whose flows always have packets.
struct Saturated {
    queue: AqmQueue<u64>,
    flows: BTreeMap<u64, PacketDetails>,
    sent_bytes: BTreeMap<u64, u64>,
}

impl Saturated {
    fn new(cake: Cake, flows: &[PacketDetails]) -> Saturated {
        let mut all = Saturated {
            queue: AqmQueue::new(Aqm::Cake(cake), Buffer::Unbounded, 1),
            flows: (0..).zip(flows.iter().copied()).collect(),
            sent_bytes: BTreeMap::new(),
        };
        for flow in 0..flows.len() as u64 {
            all.enqueue(0, flow);
            all.enqueue(0, flow);
        }
        all
    }

    fn enqueue(&mut self, now_ns: u64, flow: u64) {
        let info = PacketInfo {
            bytes: 1500,
            flow,
            // Marks keep the packets.
            ecn: EcnCodepoint::Ect0,
            ..PacketInfo::default()
        };
        let mut dropped = Vec::new();
        let details = self.flows[&flow];
        self.queue
            .enqueue(now_ns, flow, info, || details, &mut dropped);
        assert!(dropped.is_empty());
    }

    /// Sends packets for ten seconds at 120 Mbit/s, or slower with a shaper. Returns the share of each flow.
    fn shares(mut self) -> Vec<f64> {
        let mut now_ns = 0;
        while now_ns < 10_000 * MS {
            now_ns = now_ns.max(self.queue.ready_ns());
            let sent = self.queue.dequeue(now_ns, &mut Vec::new()).unwrap();
            *self.sent_bytes.entry(sent.packet).or_default() += u64::from(sent.bytes);
            self.enqueue(now_ns, sent.packet);
            now_ns += 100_000;
        }
        let all: u64 = self.sent_bytes.values().sum();
        let share = |flow| *self.sent_bytes.get(flow).unwrap_or(&0) as f64 / all as f64;
        self.flows.keys().map(share).collect()
    }
}

/// One flow of a host and ten flows of another: the share of the first in every mode. The flows go to hosts of their
/// own; or those of the second host go to one host; or all go to one host.
#[test]
fn isolation_modes_share_by_host_or_flow() {
    let [equal, one_of_eleven] = [0.5, 1.0 / 11.0];
    let expected = [
        (Isolation::FlowBlind, [one_of_eleven; 3]),
        (Isolation::Flows, [one_of_eleven; 3]),
        (Isolation::SrcHost, [equal; 3]),
        (Isolation::DualSrcHost, [equal; 3]),
        (Isolation::DstHost, [one_of_eleven, equal, one_of_eleven]),
        (
            Isolation::DualDstHost,
            [one_of_eleven, equal, one_of_eleven],
        ),
        (Isolation::Hosts, [one_of_eleven, equal, equal]),
        (Isolation::TripleIsolate, [equal, equal, one_of_eleven]),
    ];
    for (isolation, shares) in expected {
        for (layout, share) in shares.into_iter().enumerate() {
            let flow = |k: u32| PacketDetails {
                source: 1 + u32::from(k > 0),
                destination: [100 + k, 100 + u32::from(k > 0), 100][layout],
                ..PacketDetails::default()
            };
            let flows: Vec<PacketDetails> = (0..11).map(flow).collect();
            for bandwidth_bps in [None, Some(20.0 * MBIT)] {
                let cake = Cake {
                    bandwidth_bps,
                    isolation,
                    ..Cake::default()
                };
                let all = Saturated::new(cake, &flows).shares();
                let case = format!("{isolation:?}, layout {layout}: {all:?}");
                assert!((all[0] - share).abs() < 0.01, "{case}");
                if isolation != Isolation::DstHost || layout != 0 {
                    let others = &all[1..];
                    let rest = (1.0 - share) / 10.0;
                    assert!(others.iter().all(|it| (it - rest).abs() < 0.01), "{case}");
                }
            }
        }
    }
}

/// If all tins always have packets, bulk and voice get their thresholds of 6.25 % and 25 %, and best effort the rest.
/// Without a shaper, the weights are 100 : 6.25 : 25.
#[test]
fn saturated_tins_share_by_threshold() {
    let flows = ["CS0", "CS1", "EF"].map(|name| PacketDetails {
        dscp: dscp(name),
        ..PacketDetails::default()
    });
    let weighted = [100.0, 6.25, 25.0].map(|weight| weight / 131.25);
    for (cake, expected) in [
        (Cake::default(), weighted),
        (shaped(20.0 * MBIT), [0.6875, 0.0625, 0.25]),
    ] {
        let shares = Saturated::new(cake, &flows).shares();
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share / expected - 1.0).abs() < 0.01, "{shares:?}");
        }
    }
    // Bulk alone has the whole bandwidth.
    let shares = Saturated::new(shaped(20.0 * MBIT), &flows[1..2]).shares();
    assert_eq!(shares, [1.0]);
}

/// Sends packets of these flows, given as arrival time, flow, bytes and code point, at the bandwidth of a link. Returns
/// flow and start of transmission in ns.
fn run(cake: Cake, link_bps: f64, packets: &[(u64, u64, u32, Dscp)]) -> Vec<(u64, u64)> {
    let mut queue = AqmQueue::new(Aqm::Cake(cake), Buffer::Unbounded, 1);
    let (mut packets, mut sent, mut free_ns) = (packets.iter().peekable(), Vec::new(), 0);
    loop {
        let ready_ns = if queue.is_empty() {
            u64::MAX
        } else {
            free_ns.max(queue.ready_ns())
        };
        match packets.peek() {
            Some(&&(at_ns, flow, bytes, dscp)) if at_ns < ready_ns => {
                free_ns = free_ns.max(at_ns);
                let info = PacketInfo {
                    bytes,
                    flow,
                    ecn: EcnCodepoint::Ect0,
                    ..PacketInfo::default()
                };
                let details = || PacketDetails {
                    dscp,
                    source: flow as u32,
                    ..PacketDetails::default()
                };
                queue.enqueue(at_ns, flow, info, details, &mut Vec::new());
                packets.next();
            }
            None if queue.is_empty() => return sent,
            _ => {
                let next = queue.dequeue(ready_ns, &mut Vec::new()).unwrap();
                sent.push((next.packet, ready_ns));
                free_ns = ready_ns + (8e9 * f64::from(next.bytes) / link_bps) as u64;
            }
        }
    }
}

/// The shaper sends 1500 B every millisecond at 12 Mbit/s, on a link of 1 Gbit/s. After an idle time there is no burst.
#[test]
fn the_shaper_spaces_packets() {
    let be = Dscp::default();
    let burst = |from_ns: u64| (0..5).map(move |_| (from_ns, 0, 1500, be));
    let packets: Vec<_> = burst(MS).chain(burst(1000 * MS)).collect();
    let starts: Vec<u64> = run(shaped(12.0 * MBIT), 1e9, &packets)
        .iter()
        .map(|it| it.1)
        .collect();
    let expected = [1, 2, 3, 4, 5, 1000, 1001, 1002, 1003, 1004].map(|at| at * MS);
    // The time per byte is rounded down to 2⁻³⁴ of its size.
    let is_near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 10;
    assert!(starts.iter().zip(&expected).all(is_near), "{starts:?}");
    // 84 B of Ethernet: 56 us.
    let small: Vec<_> = (0..3).map(|_| (MS, 0, 84, be)).collect();
    let starts = run(shaped(12.0 * MBIT), 1e9, &small);
    assert!(starts[2].1.abs_diff(MS + 112_000) <= 2, "{starts:?}");
}

/// A flow that sends one small packet at a time is served before flows with a queue.
#[test]
fn sparse_flows_come_first() {
    let be = Dscp::default();
    let bulk = (0..2000).map(|k| (0, k % 10, 1500, be));
    let mut packets: Vec<_> = bulk.collect();
    packets.extend((1..50).map(|k| (20 * k * MS + 137, 99, 200, be)));
    let sent = run(shaped(12.0 * MBIT), 1e9, &packets);
    let waits = sent
        .iter()
        .filter(|it| it.0 == 99)
        .zip(1..)
        .map(|(it, k)| it.1 - (20 * k * MS + 137));
    let waits: Vec<u64> = waits.collect();
    assert_eq!(waits.len(), 49);
    // At most the packet in service.
    assert!(waits.iter().all(|wait| *wait <= MS), "{waits:?}");
}

/// Voice below a quarter of the bandwidth waits for one packet at most, bulk waits for best effort.
#[test]
fn voice_comes_before_bulk() {
    let best_effort = (0..3000).map(|k| (0, k % 30, 1500, Dscp::default()));
    let mut packets: Vec<_> = best_effort.collect();
    // Ten calls of 200 B every 20 ms: 0.8 Mbit/s of 3 Mbit/s.
    packets.extend((0..1000).map(|k| (MS + 2 * MS * k, 100 + k % 10, 200, dscp("EF"))));
    packets.extend((0..100).map(|k| (2 * MS, 200 + k % 2, 1500, dscp("CS1"))));
    packets.sort_by_key(|it| it.0);
    let sent = run(shaped(12.0 * MBIT), 1e9, &packets);
    let mut arrivals: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    packets
        .iter()
        .rev()
        .for_each(|it| arrivals.entry(it.1).or_default().push(it.0));
    let mut waits = [0_u64; 2];
    for (flow, at_ns) in sent {
        let wait = at_ns - arrivals.get_mut(&flow).unwrap().pop().unwrap();
        match flow {
            100..200 => waits[0] = waits[0].max(wait),
            200.. => waits[1] = waits[1].max(wait),
            _ => {}
        }
    }
    let [voice, bulk] = waits;
    assert!(voice <= MS + 140_000, "{voice}");
    // 100 packets at 6.25 % of 1000 packets/s, while best effort has packets.
    assert!((1_500 * MS..2_000 * MS).contains(&bulk), "{bulk}");
}

/// Flows that share a queue: none of 100 flows on average, where a plain hash puts 4.7 into used queues. The
/// numbers follow from binomial distributions over 128 sets of 8 queues, and over 1024 queues.
#[test]
fn collisions_are_rare() {
    // Expected number of flows beyond `places` in each of `sets` equally likely sets.
    let expected = |flows: i32, sets: f64, places: i32| {
        let (mut probability, mut beyond) = ((1.0 - 1.0 / sets).powi(flows), 0.0);
        for k in 0..=flows {
            beyond += probability * f64::from((k - places).max(0));
            probability *= f64::from(flows - k) / f64::from(k + 1) / (sets - 1.0);
        }
        beyond * sets
    };
    let sets = (QUEUES / WAYS) as f64;
    assert!((expected(100, QUEUES as f64, 1) - 4.68).abs() < 0.01);
    assert!(expected(100, sets, WAYS as i32) < 1e-4);
    for flows in [100, 512, 1024] {
        let (mut collisions, mut plain) = (0.0, 0.0);
        const RUNS: u64 = 100;
        for run in 0..RUNS {
            let mut table: FlowTable<()> = FlowTable::new(Isolation::Flows);
            let mut used = [false; QUEUES];
            for flow in 0..flows as u64 {
                let hash = (hash_mix(run << 32 | flow) >> 32) as u32;
                let hashes = Hashes {
                    flow: hash,
                    hosts: [0; 2],
                };
                let queue = table.queue_of(&hashes);
                if table.flows[queue].activity == Activity::Idle {
                    table.set_activity(queue, Activity::Bulk);
                } else {
                    collisions += 1.0 / RUNS as f64;
                }
                plain += f64::from(u8::from(used[hash as usize % QUEUES])) / RUNS as f64;
                used[hash as usize % QUEUES] = true;
            }
        }
        let wanted = [
            expected(flows, sets, WAYS as i32),
            expected(flows, QUEUES as f64, 1),
        ];
        for (found, wanted) in [collisions, plain].into_iter().zip(wanted) {
            assert!(
                (found - wanted).abs() < 0.05 * wanted + 0.1,
                "{flows}: {found}, {wanted}"
            );
        }
    }
}

/// A full buffer drops from the head of the longest queue, whose BLUE then drops packets at random; other flows lose
/// nothing.
#[test]
fn a_full_buffer_drops_from_the_longest_queue() {
    let mut queue = AqmQueue::new(Aqm::Cake(shaped(12.0 * MBIT)), Buffer::Packets(100), 1);
    let (mut dropped, mut sent) = (Vec::new(), [0, 0]);
    for at in 0..20_000_u64 {
        let now_ns = at * MS / 2;
        // An unresponsive flow of 24 Mbit/s, and one of 0.6 Mbit/s.
        for flow in 0..1 + u64::from(at % 40 == 0) {
            let info = PacketInfo {
                bytes: 1500,
                flow,
                ecn: EcnCodepoint::NotEct,
                ..PacketInfo::default()
            };
            queue.enqueue(now_ns, flow, info, PacketDetails::default, &mut dropped);
        }
        while queue.ready_ns() <= now_ns
            && let Some(packet) = queue.dequeue(now_ns, &mut dropped)
        {
            sent[packet.packet as usize] += 1;
        }
    }
    assert!(dropped.iter().all(|&flow| flow == 0));
    assert!(
        sent[1] >= 499 && (9_400..9_600).contains(&sent[0]),
        "{sent:?}"
    );
    assert!(queue.len() < 100, "BLUE keeps the buffer from being full");
}

/// Rules of the filter: which of three acknowledgements, in order of arrival, is removed.
#[test]
fn acknowledgements_are_filtered_by_rule() {
    let ack = |cumulative| TcpAck {
        cumulative,
        is_replaceable: true,
        ..TcpAck::default()
    };
    let sack = |cumulative, block: (u32, u32)| TcpAck {
        sacks: [block, (0, 0), (0, 0), (0, 0)],
        ..ack(cumulative)
    };
    let ece = |cumulative| TcpAck {
        ecn_flags: 1,
        ..ack(cumulative)
    };
    let data = |cumulative| TcpAck {
        is_replaceable: false,
        ..ack(cumulative)
    };
    let stamped = |cumulative, stamp| TcpAck {
        timestamps: Some((stamp, 7)),
        ..ack(cumulative)
    };
    let cases = [
        (
            "two are kept, or one",
            [ack(1), ack(2), ack(3)],
            Some(0),
            Some(0),
        ),
        ("duplicates are kept", [ack(2), ack(2), ack(2)], None, None),
        (
            "new after duplicates",
            [ack(2), ack(2), ack(3)],
            Some(0),
            Some(0),
        ),
        ("reordered", [ack(5), ack(1), ack(3)], None, Some(1)),
        (
            "modulo 2^32",
            [ack(u32::MAX - 1), ack(u32::MAX), ack(1)],
            Some(0),
            Some(0),
        ),
        (
            "a change of ECE arrives",
            [ack(1), ece(2), ece(3)],
            None,
            Some(1),
        ),
        (
            "the first ECE arrives",
            [ack(1), ack(2), ece(3)],
            Some(0),
            Some(0),
        ),
        ("ECE in between", [ack(1), ece(2), ack(3)], None, None),
        ("data stays", [data(1), ack(2), ack(3)], None, Some(1)),
        ("data replaces", [ack(1), ack(2), data(3)], Some(0), Some(0)),
        (
            "fewer blocks",
            [sack(1, (5, 6)), sack(1, (5, 7)), sack(1, (5, 8))],
            Some(0),
            Some(0),
        ),
        (
            "lost blocks",
            [sack(1, (5, 6)), sack(1, (8, 9)), ack(1)],
            None,
            None,
        ),
        (
            "D-SACK stays",
            [sack(4, (1, 2)), sack(4, (1, 2)), sack(5, (1, 2))],
            None,
            None,
        ),
        (
            "newer timestamp",
            [stamped(1, 9), stamped(2, 9), stamped(3, 8)],
            None,
            None,
        ),
    ];
    for (what, acks, on, aggressive) in cases {
        let of = |filter: AckFilter| filter.redundant(acks.iter().map(Some));
        assert_eq!(of(AckFilter::On), on, "{what}");
        assert_eq!(of(AckFilter::Aggressive), aggressive, "{what}");
    }
    let two = [ack(1), ack(2)];
    let of = |filter: AckFilter| filter.redundant(two.iter().map(Some));
    assert_eq!(of(AckFilter::On), None);
    assert_eq!(of(AckFilter::Aggressive), Some(0));
    // Packets of other flows are skipped, but then the two are not neighbours.
    let mixed = [Some(&two[0]), None, Some(&two[1])];
    assert_eq!(AckFilter::Aggressive.redundant(mixed.into_iter()), None);
    assert_eq!(
        AckFilter::On.redundant([Some(&two[0]), None].into_iter()),
        None
    );
}
