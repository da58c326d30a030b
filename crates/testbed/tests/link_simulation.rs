//! Links of an emulated network, compared with queueing theory and with each other.

use std::sync::Arc;

use netflow_network::{
    AckFilter, Aqm, BitErrors, Buffer, Cake, Change, DropPolicy, EventSpec, FqCoDel, LinkLoss,
    LinkSpec, Overhead, Tins,
};
use netflow_network::{Network, NetworkBuilder, Red};
use netflow_problems::m_d_1_k;
use netflow_queues::{Dscp, EcnCodepoint, PacketDetails, PacketInfo, TcpAck};
use netflow_testbed::network::{EnteringPacket, LinkSimulation, PathSchedule};
use netflow_units::SplitMix64;
use proptest::prelude::*;

/// Returns a chain of nodes joined by these links, with one path over all.
fn link_chain(
    links: &[LinkSpec],
    events: &[(f64, usize, Change)],
    seed: u64,
) -> LinkSimulation<u32> {
    let network = network(links, events);
    let all: Arc<[u32]> = (0..links.len() as u32).collect();
    let path = PathSchedule {
        epochs: vec![(0, all)],
    };
    LinkSimulation::new(&network, vec![path], seed, details).unwrap()
}

/// Returns the properties of a packet with this number: hosts, code point, and acknowledgement.
fn details(number: &u32) -> PacketDetails {
    let flow = number % 7;
    PacketDetails {
        source: flow % 2,
        destination: flow % 3,
        dscp: Dscp::from_bits(8 * flow as u8),
        ack: (flow == 0).then(|| TcpAck {
            cumulative: *number,
            is_replaceable: true,
            ..TcpAck::default()
        }),
    }
}

fn network(links: &[LinkSpec], events: &[(f64, usize, Change)]) -> Network {
    let mut builder = NetworkBuilder::new();
    let mut from = builder.node("n0");
    let mut ids = Vec::new();
    for (i, link) in links.iter().enumerate() {
        let to = builder.node(&format!("n{}", i + 1));
        ids.push(builder.link(LinkSpec {
            from,
            to,
            ..link.clone()
        }));
        from = to;
    }
    for &(at_s, link, change) in events {
        builder.event(EventSpec {
            at_s,
            link: ids[link],
            change,
        });
    }
    builder.build().unwrap()
}

fn link(bandwidth_bps: f64, delay_s: f64, room: f64) -> LinkSpec {
    let mut builder = NetworkBuilder::new();
    let node = builder.node("somewhere");
    LinkSpec {
        delay_s,
        buffer: Buffer::Packets(room),
        ..LinkSpec::new(node, node, bandwidth_bps)
    }
}

fn enter(simulation: &mut LinkSimulation<u32>, at_ns: u64, number: u32, bytes: u32) {
    simulation.enter(
        at_ns,
        EnteringPacket {
            path: 0,
            info: PacketInfo {
                bytes,
                flow: u64::from(number % 7),
                ecn: EcnCodepoint::from_bits((number % 3) as u8),
                ..PacketInfo::default()
            },
            payload: number,
        },
    );
}

/// Poisson packets of one size through one link match M/D/1/K, within four standard errors from the parts
/// of the run.
#[test]
fn poisson_packets_match_m_d_1_k() {
    for (load, room) in [(0.5, 3), (0.8, 10), (0.95, 20), (1.0, 5), (1.3, 12)] {
        let (parts, pkts) = (20, 50_000);
        let mut simulation = link_chain(&[link(8e6, 0.0, room as f64)], &[], 1);
        let mut random = SplitMix64::new(3);
        let (mut at_ns, mut before) = (0.0_f64, (0, 0.0, 0.0));
        let (mut losses, mut queues) = (Vec::new(), Vec::new());
        for _ in 0..parts {
            for number in 0..pkts {
                // 1000 B take 1 ms.
                at_ns += -(1.0 - random.uniform()).ln() / load * 1e6;
                simulation.advance(at_ns as u64, &mut |_, _, _| {}, &mut |_| {});
                enter(&mut simulation, at_ns as u64, number, 1000);
            }
            let counts = simulation.counts()[0];
            losses.push((counts.lost_pkts - before.0) as f64 / f64::from(pkts));
            let passed_s = at_ns * 1e-9 - before.2;
            queues.push((counts.queue_pkt_s - before.1) / passed_s);
            before = (counts.lost_pkts, counts.queue_pkt_s, at_ns * 1e-9);
        }
        let (loss, queue) = m_d_1_k(load, room);
        for (what, values, wanted) in [("loss", losses, loss), ("queue", queues, queue)] {
            let mean = values.iter().sum::<f64>() / f64::from(parts);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let error = (squares / f64::from(parts * (parts - 1))).sqrt();
            assert!(
                (mean - wanted).abs() < 4.0 * error + 1e-9,
                "{what} at load {load}, room {room}: {mean} ± {error}, M/D/1/K has {wanted}"
            );
        }
    }
}

/// A link with an overhead of 38 B treats packets as one without treats packets that are 38 B larger.
#[test]
fn overhead_is_the_same_as_larger_packets() {
    for queue in [
        DropPolicy::DropTail,
        DropPolicy::Managed(Aqm::FqCoDel(FqCoDel::default())),
    ] {
        let of = |overhead: f64, more: u32| {
            let link = LinkSpec {
                overhead: Overhead::of(overhead),
                buffer: Buffer::Bytes(20_000.0),
                loss: LinkLoss {
                    bit_errors: BitErrors::independent(1e-5).ok(),
                    ..LinkLoss::NONE
                },
                queue,
                ..link(8e6, 0.01, 1.0)
            };
            let mut random = SplitMix64::new(7);
            let packets: Vec<(u64, u32)> = (0..1000)
                .map(|i| (i * 500_000, 40 + (random.bits() % 1460) as u32 + more))
                .collect();
            run(link_chain(&[link], &[], 5), &packets, &[])
        };
        assert_eq!(of(38.0, 0), of(0.0, 38));
    }
}

fn discipline() -> impl Strategy<Value = DropPolicy> {
    let red = Red {
        min_pkts: 2.0,
        max_pkts: 6.0,
        max_p: 0.2,
        weight: 0.1,
        gentle: true,
        ecn: true,
        hard_drop: true,
    };
    let managed = Aqm::all().map(DropPolicy::Managed);
    let all = [DropPolicy::DropTail, DropPolicy::Red(red)]
        .into_iter()
        .chain(managed);
    proptest::sample::select(all.collect::<Vec<_>>())
}

/// Returns a discipline with a shaper that may be slower than the link.
fn shaped_discipline() -> impl Strategy<Value = DropPolicy> {
    let shaped = [(5e6, AckFilter::Aggressive), (2e5, AckFilter::On)];
    let shaped = shaped.map(|(bandwidth_bps, ack_filter)| {
        DropPolicy::Managed(Aqm::Cake(Cake {
            bandwidth_bps: Some(bandwidth_bps),
            tins: Tins::Precedence,
            ack_filter,
            ..Cake::default()
        }))
    });
    proptest::sample::select(shaped.to_vec())
}

fn any_link() -> impl Strategy<Value = LinkSpec> {
    let numbers = (1e6..1e8_f64, 0.0..0.02_f64, 1.0..40.0_f64, 0.0..0.05_f64);
    let queue = prop_oneof![3 => discipline(), 1 => shaped_discipline()];
    (numbers, queue, any::<bool>()).prop_map(|((bps, delay_s, room, loss), queue, bytes)| {
        // A managed queue has a buffer of at least two packets.
        let least = if matches!(queue, DropPolicy::Managed(_)) {
            2.0
        } else {
            1.0
        };
        let room = room.max(least);
        let mut link = link(bps, delay_s, room.floor());
        link.queue = queue;
        link.loss = LinkLoss::from(loss);
        if bytes {
            link.buffer = Buffer::Bytes(1500.0 * room);
        }
        link
    })
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (1e5..1e8).prop_map(Change::Bandwidth),
        (0.0..0.5).prop_map(|loss| Change::Loss(LinkLoss::from(loss))),
        (0.0..0.05).prop_map(Change::Delay),
        Just(Change::Down),
        Just(Change::Up),
    ]
}

/// Packets that leave (index, time, marked) and the counts of the links.
type Results = (
    Vec<(u32, u64, bool)>,
    Vec<netflow_testbed::network::LinkCounts>,
);

/// Runs packets of the given times and sizes to the end, with additional calls of `advance` at the times
/// `sample_times`.
fn run(
    mut simulation: LinkSimulation<u32>,
    packets: &[(u64, u32)],
    sample_times: &[u64],
) -> (Results, usize) {
    let mut out = Vec::new();
    let mut sample_times = sample_times.iter().copied().peekable();
    for (number, &(at_ns, bytes)) in (0..).zip(packets) {
        while let Some(sample_ns) = sample_times.next_if(|&sample_ns| sample_ns <= at_ns) {
            simulation.advance(sample_ns, &mut |_, _, _| {}, &mut |it| {
                out.push((it.payload, it.due_ns, it.marked));
            });
        }
        simulation.advance(at_ns, &mut |_, _, _| {}, &mut |it| {
            out.push((it.payload, it.due_ns, it.marked));
        });
        enter(&mut simulation, at_ns, number, bytes);
    }
    simulation.advance(3_000_000_000, &mut |_, _, _| {}, &mut |it| {
        out.push((it.payload, it.due_ns, it.marked));
    });
    let counts = simulation.counts();
    let left = simulation.in_network_pkts();
    ((out, counts), left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The result does not depend on the times of `advance`, and every packet is accounted for.
    #[test]
    fn result_does_not_depend_on_the_times_of_advance(
        links in proptest::collection::vec(any_link(), 1..4),
        changes in proptest::collection::vec((0.0..0.5, 0_usize..4, any_change()), 0..6),
        mut packets in proptest::collection::vec((0..500_000_000_u64, 40..1500_u32), 0..400),
        mut sample_times in proptest::collection::vec(0..600_000_000_u64, 0..200),
    ) {
        let changes: Vec<_> = changes.iter().map(|&(at_s, l, it)| (at_s, l % links.len(), it)).collect();
        packets.sort_unstable();
        sample_times.sort_unstable();
        let (seldom, left) = run(link_chain(&links, &changes, 5), &packets, &[]);
        let (often, _) = run(link_chain(&links, &changes, 5), &packets, &sample_times);
        prop_assert_eq!(&seldom, &often);
        let (out, counts) = seldom;
        let lost: u64 = counts.iter().map(|link| link.lost_pkts).sum();
        prop_assert_eq!(out.len() as u64 + lost + left as u64, packets.len() as u64);
        prop_assert!(out.is_sorted_by_key(|&(_, due_ns, _)| due_ns));
        for (link, next) in counts.iter().zip(counts.iter().skip(1)) {
            prop_assert!(next.arrived_pkts <= link.sent_pkts);
            prop_assert!(link.busy_s <= link.queue_pkt_s + 1e-9);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A change at the start is equivalent to a link built with that value.
    #[test]
    fn loss_set_at_the_start_equals_a_built_in_loss(
        links in proptest::collection::vec(any_link(), 1..4),
        losses in proptest::array::uniform3(0.0..1.0_f64),
        mut packets in proptest::collection::vec((0..500_000_000_u64, 40..1500_u32), 0..400),
    ) {
        packets.sort_unstable();
        let built = links.iter().zip(losses).map(|(link, loss)| LinkSpec {
            loss: loss.into(),
            ..link.clone()
        });
        let built: Vec<LinkSpec> = built.collect();
        let changes = losses.into_iter().enumerate().take(links.len());
        let changes: Vec<_> = changes.map(|(l, loss)| (0.0, l, Change::Loss(loss.into()))).collect();
        let (built, _) = run(link_chain(&built, &[], 5), &packets, &[]);
        let (changed, _) = run(link_chain(&links, &changes, 5), &packets, &[]);
        prop_assert_eq!(built, changed);
    }

    /// With every queue, full or not, the loss probability before the change applies to packets sent
    /// before it. The new one applies to packets sent later, including waiting packets. A change to the
    /// same value has no effect.
    #[test]
    fn changed_loss_applies_to_packets_sent_later(
        queue in discipline(),
        room in 5..300_u32,
        load in 0.3..2.0_f64,
        parts in proptest::array::uniform2(0.0..1.0_f64),
        seed in any::<u64>(),
    ) {
        // 1000 B take 1 ms.
        let link = LinkSpec { queue, loss: parts[0].into(), ..link(8e6, 0.02, room.into()) };
        let change = (2.0, 0, Change::Loss(parts[1].into()));
        let same = (1.0, 0, Change::Loss(parts[0].into()));
        let packets: Vec<_> = (0..(4000.0 * load) as u32)
            .map(|number| ((f64::from(number) * 1e6 / load) as u64, number))
            .collect();
        let results = |changes: &[(f64, usize, Change)]| {
            let mut simulation = link_chain(std::slice::from_ref(&link), changes, seed);
            let mut samples = vec![(0, 0.0)];
            let mut out = 0;
            let mut entering = packets.iter().copied().peekable();
            // Packets sent until 2 s have left the network 20 ms later.
            for until_ns in [2_000_000_000, 2_020_000_000, 9_000_000_000] {
                while let Some((at_ns, number)) = entering.next_if(|&(at_ns, _)| at_ns <= until_ns) {
                    simulation.advance(at_ns, &mut |_, _, _| {}, &mut |_| out += 1);
                    enter(&mut simulation, at_ns, number, 1000);
                }
                simulation.advance(until_ns, &mut |_, _, _| {}, &mut |_| out += 1);
                samples.push((out, simulation.counts()[0].sent_pkts as f64));
            }
            (samples, simulation.in_network_pkts())
        };
        let (samples, left) = results(&[change]);
        prop_assert_eq!(left, 0);
        prop_assert_eq!(&samples, &results(&[same, change]).0);
        let before = (samples[2].0, samples[1].1);
        let after = (samples[3].0 - samples[2].0, samples[3].1 - samples[1].1);
        for ((out, sent), part) in [before, after].into_iter().zip(parts) {
            let lost = sent - f64::from(out);
            let deviation = (sent * part * (1.0 - part)).sqrt();
            prop_assert!((lost - part * sent).abs() <= 1.0 + 5.0 * deviation, "{} of {}, not {}", lost, sent, part);
        }
    }

    /// Packets transmitted before the change have the first delay and later ones the second, so they may
    /// overtake. A change at the start is equivalent to a link built with that value.
    #[test]
    fn changed_delay_applies_to_packets_sent_later(
        queue in discipline(),
        delays_ms in proptest::array::uniform2(0..300_u32),
        at_ms in 0..400_u32,
        packets in 1..300_u32,
    ) {
        // 1000 B take 1 ms, and a packet arrives every 1.25 ms.
        let delays_s = delays_ms.map(|ms| f64::from(ms) / 1e3);
        let link_of = |delay_s| LinkSpec { queue, ..link(8e6, delay_s, 100.0) };
        let change = |at_s| (at_s, 0, Change::Delay(delays_s[1]));
        let packets: Vec<_> = (0..packets).map(|number| (u64::from(number) * 1_250_000, 1000)).collect();
        let run = |delay_s, change: &[_]| run(link_chain(&[link_of(delay_s)], change, 5), &packets, &[]).0.0;
        let mut out = run(delays_s[0], &[change(f64::from(at_ms) / 1e3)]);
        out.sort_unstable();
        prop_assert_eq!(out.len(), packets.len());
        for ((number, due_ns, _), (at_ns, _)) in out.into_iter().zip(&packets) {
            let left_ns = at_ns + 1_000_000;
            // A departure at the time of the change precedes it.
            let is_later = left_ns > u64::from(at_ms) * 1_000_000;
            let delay_ns = u64::from(delays_ms[usize::from(is_later)]) * 1_000_000;
            prop_assert_eq!(due_ns, left_ns + delay_ns, "packet {}", number);
        }
        prop_assert_eq!(run(delays_s[1], &[]), run(delays_s[0], &[change(0.0)]));
    }
}
