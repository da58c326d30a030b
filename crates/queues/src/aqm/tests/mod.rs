//! Tests of all AQM disciplines, and helpers shared by their tests.

mod codel;
mod dualpi2;
mod fq_codel;
mod pie;

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::*;

pub const MS: u64 = 1_000_000;

/// CoDel and FQ-CoDel with a threshold mark packets, with and without `ecn`.
#[test]
fn a_threshold_marks() {
    for (ecn, ce_threshold_ns, marks) in [
        (false, None, false),
        (true, None, true),
        (false, Some(MS), true),
    ] {
        let codel = CoDel {
            ecn,
            ce_threshold_ns,
            ..CoDel::default()
        };
        let queues = FqCoDel {
            codel,
            ..FqCoDel::default()
        };
        assert_eq!(
            [Aqm::CoDel(codel), Aqm::FqCoDel(queues)].map(|it| it.marks()),
            [marks; 2]
        );
    }
}

/// Dropped packets by reason.
#[derive(Default)]
struct Reasons {
    early: usize,
    buffer_full: usize,
    ack_filter: usize,
}

impl Drops<usize> for Reasons {
    fn record(&mut self, _packet: usize, reason: DropReason) {
        *match reason {
            DropReason::Early => &mut self.early,
            DropReason::BufferFull => &mut self.buffer_full,
            DropReason::AckFilter => &mut self.ack_filter,
        } += 1;
    }
}

/// A burst overflows the buffer. A load of 200 % with a large buffer is dropped early, by every discipline.
#[test]
fn drops_have_reasons() {
    let info = PacketInfo {
        bytes: 1500,
        ..PacketInfo::default()
    };
    for discipline in Aqm::all() {
        let mut drops = Reasons::default();
        let mut queue = AqmQueue::new(discipline, Buffer::Packets(10), 1);
        for number in 0..30 {
            queue.enqueue(0, number, info, PacketDetails::default, &mut drops);
        }
        // FQ-CoDel drops several at once.
        assert_eq!(drops.buffer_full, 30 - queue.len(), "{discipline:?}");
        assert!((5..=10).contains(&queue.len()), "{discipline:?}");
        assert_eq!((drops.early, drops.ack_filter), (0, 0), "{discipline:?}");

        let mut drops = Reasons::default();
        let mut queue = AqmQueue::new(discipline, Buffer::Unbounded, 1);
        let mut sent = 0;
        for number in 0..20_000 {
            let now_ns = number as u64 * MS;
            queue.enqueue(now_ns, number, info, PacketDetails::default, &mut drops);
            if number % 2 == 0 {
                sent += usize::from(queue.dequeue(now_ns, &mut drops).is_some());
            }
        }
        assert!(drops.early > 1_000, "{discipline:?}: {}", drops.early);
        assert_eq!(
            (drops.buffer_full, drops.ack_filter),
            (0, 0),
            "{discipline:?}"
        );
        assert_eq!(drops.early + sent + queue.len(), 20_000, "{discipline:?}");
    }
}

/// A packet that will arrive. Its index is its number.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at_ns: u64,
    pub bytes: u32,
    pub flow: u64,
    pub ecn: EcnCodepoint,
}

impl Arrival {
    pub fn info(&self) -> PacketInfo {
        PacketInfo {
            bytes: self.bytes,
            flow: self.flow,
            ecn: self.ecn,
            ..PacketInfo::default()
        }
    }

    /// Returns properties that follow from its flow and its number.
    pub fn details(&self, number: usize) -> PacketDetails {
        PacketDetails {
            source: self.flow as u32 % 3,
            destination: self.flow as u32 % 5,
            dscp: Dscp::from_bits(8 * (self.flow as u8 % 8)),
            ack: (self.flow % 4 == 3).then(|| TcpAck {
                cumulative: number as u32 / 2,
                is_replaceable: true,
                ..TcpAck::default()
            }),
        }
    }
}

/// Returns the code point of a packet with or without ECN.
pub fn ect(ecn: bool) -> EcnCodepoint {
    if ecn {
        EcnCodepoint::Ect0
    } else {
        EcnCodepoint::NotEct
    }
}

/// Fate of a packet and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Sent { at_ns: u64, marked: bool },
    Dropped { at_ns: u64 },
}

impl Fate {
    pub fn drop_ns(self) -> Option<u64> {
        match self {
            Fate::Dropped { at_ns } => Some(at_ns),
            Fate::Sent { .. } => None,
        }
    }

    pub fn mark_ns(self) -> Option<u64> {
        match self {
            Fate::Sent {
                at_ns,
                marked: true,
            } => Some(at_ns),
            _ => None,
        }
    }
}

/// A queue under test.
pub trait Queue {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>);
    /// Returns the number of the packet sent, and true if it is marked.
    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<(usize, bool)>;
    fn waiting(&self) -> usize;
    /// Returns the time from which on the next packet may be sent.
    fn ready_ns(&self) -> u64 {
        0
    }
}

impl Queue for AqmQueue<usize> {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>) {
        let details = || packet.details(number);
        self.enqueue(packet.at_ns, number, packet.info(), details, dropped);
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        let sent = self.dequeue(now_ns, dropped)?;
        Some((sent.packet, sent.marked))
    }

    fn waiting(&self) -> usize {
        self.len()
    }

    fn ready_ns(&self) -> u64 {
        self.ready_ns()
    }
}

/// Sends the packets through a queue to a link with a service time of `ns_per_byte` ns per byte. Each packet
/// leaves exactly once.
pub fn run_packets(queue: &mut impl Queue, packets: &[Arrival], ns_per_byte: u64) -> Vec<Fate> {
    let mut fates = vec![None; packets.len()];
    let mut dropped = Vec::new();
    let mut next = 0;
    let mut free_ns: Option<u64> = None;
    while next < packets.len() || free_ns.is_some() || queue.waiting() > 0 {
        let arrives_ns = packets.get(next).map(|packet| packet.at_ns);
        // A shaper sends later than when the link is free.
        if free_ns.is_none() && queue.waiting() > 0 {
            free_ns = Some(queue.ready_ns());
        }
        // A departure precedes an arrival at the same time.
        let now_ns = match (free_ns, arrives_ns) {
            (Some(free), Some(arrives)) => free.min(arrives),
            (free, arrives) => free.or(arrives).unwrap(),
        };
        let mut record = |number: usize, fate: Fate| {
            assert_eq!(fates[number].replace(fate), None, "{number} leaves twice");
        };
        if free_ns == Some(now_ns) {
            free_ns = None;
        } else {
            queue.enqueue(next, packets[next], &mut dropped);
            next += 1;
        }
        if free_ns.is_none()
            && queue.ready_ns() <= now_ns
            && let Some((number, marked)) = queue.dequeue(now_ns, &mut dropped)
        {
            let at_ns = now_ns;
            record(number, Fate::Sent { at_ns, marked });
            free_ns = Some(now_ns + (u64::from(packets[number].bytes) * ns_per_byte).max(1));
        }
        for number in dropped.drain(..) {
            record(number, Fate::Dropped { at_ns: now_ns });
        }
    }
    assert_eq!(queue.waiting(), 0);
    let all: Option<Vec<Fate>> = fates.into_iter().collect();
    all.expect("no packet is lost from the accounts")
}

/// Fails at the first packet with a different fate.
pub fn same(ours: &[Fate], theirs: &[Fate]) {
    assert_eq!(ours.len(), theirs.len());
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "packet {number}");
    }
}

/// Returns one packet every `gap_ns`.
pub fn steady(
    from_ns: u64,
    to_ns: u64,
    gap_ns: u64,
    bytes: u32,
    ecn: bool,
) -> impl Iterator<Item = Arrival> {
    (from_ns..to_ns)
        .step_by(gap_ns as usize)
        .map(move |at_ns| Arrival {
            at_ns,
            bytes,
            flow: 0,
            ecn: ect(ecn),
        })
}

/// Returns a random pattern of bursts, loads and pauses, with packets of one or many sizes and several flows,
/// and the service time in ns per byte.
pub fn pattern(random: &mut Pcg32, pkts: usize) -> (Vec<Arrival>, u64) {
    let ns_per_byte = 1 << random.random_range(2..14);
    let sizes = [40, 1500][random.random_range(0..2)]..=1500;
    let flows = 1 << random.random_range(0..6);
    let ecn_share = [0.0, 0.5, 1.0][random.random_range(0..3)];
    let mut at_ns = random.random_range(1..1000 * MS);
    let (mut load, mut left) = (1.0, 0);
    let mut packets = Vec::with_capacity(pkts);
    for _ in 0..pkts {
        if left == 0 {
            left = random.random_range(1..400);
            load = [0.3, 0.9, 1.0, 1.1, 1.5, 3.0, 1e9][random.random_range(0..7)];
            if random.random_bool(0.2) {
                at_ns += random.random_range(0..3000 * MS);
            }
        }
        left -= 1;
        let bytes = random.random_range(sizes.clone());
        let mean_ns = f64::from(bytes) * ns_per_byte as f64 / load;
        at_ns += (mean_ns * -(1.0 - random.random::<f64>()).ln()) as u64;
        // The code points of a flow keep it in one queue of a dual queue.
        let flow = random.random_range(0..flows);
        let ecn = match flow % 2 {
            1 if ecn_share > 0.0 => {
                [EcnCodepoint::Ect1, EcnCodepoint::Ce][random.random_range(0..2)]
            }
            _ => ect(random.random_bool(ecn_share)),
        };
        packets.push(Arrival {
            at_ns,
            bytes,
            flow,
            ecn,
        });
    }
    (packets, ns_per_byte)
}

pub fn buffer(random: &mut Pcg32) -> Buffer {
    match random.random_range(0..3) {
        0 => Buffer::Packets(random.random_range(0..300)),
        1 => Buffer::Bytes(10_f64.powf(random.random_range(2.0..5.5))),
        _ => Buffer::Unbounded,
    }
}

pub fn codel(random: &mut Pcg32) -> CoDel {
    CoDel {
        target_ns: random.random_range(0..20 * MS),
        interval_ns: random.random_range(0..200 * MS),
        ecn: random.random(),
        ce_threshold_ns: random
            .random_bool(0.3)
            .then(|| random.random_range(0..30 * MS)),
    }
}

fn fq_codel(random: &mut Pcg32) -> FqCoDel {
    FqCoDel {
        codel: codel(random),
        flows: [0, 1, 4, 1024][random.random_range(0..4)],
        quantum_bytes: [100, 300, 1514, 9000][random.random_range(0..4)],
    }
}

pub fn pie(random: &mut Pcg32) -> Pie {
    Pie {
        target_ns: random.random_range(0..40 * MS),
        update_ns: random.random_range(MS..40 * MS),
        alpha: random.random_range(0.0..1.0),
        beta: random.random_range(0.0..3.0),
        max_burst_ns: [0, 150 * MS][random.random_range(0..2)],
        ecn: random.random(),
        mark_ecn_threshold: [random.random(), 1.0][random.random_range(0..2)],
    }
}

fn dualpi2(random: &mut Pcg32) -> DualPi2 {
    DualPi2 {
        target_ns: random.random_range(0..40 * MS),
        update_ns: random.random_range(MS..40 * MS),
        alpha_hz: random.random_range(0.0..1.0),
        beta_hz: random.random_range(0.0..6.0),
        coupling: random.random_range(1.0..4.0),
        step_threshold_ns: random.random_range(0..10 * MS),
        step_min_pkts: random.random_range(0..4),
        classic_share: random.random_range(0.0..0.5),
    }
}

fn cake(random: &mut Pcg32) -> Cake {
    Cake {
        bandwidth_bps: (random.random_bool(0.7))
            .then(|| 10_f64.powf(random.random_range(5.0..8.5))),
        rtt_ns: random.random_range(MS / 10..300 * MS),
        isolation: ISOLATIONS[random.random_range(0..8)],
        tins: TINS[random.random_range(0..5)],
        ack_filter: [AckFilter::Off, AckFilter::On, AckFilter::Aggressive]
            [random.random_range(0..3)],
    }
}

pub const ISOLATIONS: [Isolation; 8] = [
    Isolation::FlowBlind,
    Isolation::SrcHost,
    Isolation::DstHost,
    Isolation::Hosts,
    Isolation::Flows,
    Isolation::DualSrcHost,
    Isolation::DualDstHost,
    Isolation::TripleIsolate,
];

pub const TINS: [Tins; 5] = [
    Tins::BestEffort,
    Tins::Precedence,
    Tins::DiffServ3,
    Tins::DiffServ4,
    Tins::DiffServ8,
];

fn disciplines(random: &mut Pcg32) -> Vec<Aqm> {
    let all = Aqm::all().map(|aqm| match aqm {
        Aqm::Cake(_) => Aqm::Cake(cake(random)),
        Aqm::CoDel(_) => Aqm::CoDel(codel(random)),
        Aqm::DualPi2(_) => Aqm::DualPi2(dualpi2(random)),
        Aqm::FqCoDel(_) => Aqm::FqCoDel(fq_codel(random)),
        Aqm::Pie(_) => Aqm::Pie(pie(random)),
    });
    all.collect()
}

/// A queue compared with a list of the packets that must be in it.
struct AuditedQueue {
    queue: AqmQueue<usize>,
    present: BTreeMap<usize, Arrival>,
    /// Last packet sent of each flow.
    last: BTreeMap<u64, usize>,
}

impl AuditedQueue {
    fn check(&self) {
        let AuditedQueue { queue, present, .. } = self;
        let bytes = present.values().map(|packet| u64::from(packet.bytes)).sum();
        assert_eq!((queue.len(), queue.bytes()), (present.len(), bytes));
        assert_eq!(queue.is_empty(), present.is_empty());
        match queue.buffer {
            Buffer::Packets(most) => assert!(present.len() <= most.max(1)),
            Buffer::Bytes(most) => assert!(present.len() <= 1 || bytes as f64 <= most),
            Buffer::Unbounded => {}
        }
    }
}

impl Queue for AuditedQueue {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>) {
        self.present.insert(number, packet);
        Queue::enqueue(&mut self.queue, number, packet, dropped);
        for number in &*dropped {
            assert!(self.present.remove(number).is_some());
        }
        self.check();
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        let before = dropped.len();
        let sent = self.queue.dequeue(now_ns, dropped);
        for number in &dropped[before..] {
            assert!(self.present.remove(number).is_some());
        }
        if let Some(sent) = sent {
            let packet = self.present.remove(&sent.packet).expect("it was there");
            assert_eq!(
                (sent.arrived_ns, sent.bytes, sent.ecn),
                (packet.at_ns, packet.bytes, packet.ecn)
            );
            assert!(
                packet.ecn.is_capable() || !sent.marked,
                "only some may be marked"
            );
            let last = self.last.insert(packet.flow, sent.packet);
            assert!(last < Some(sent.packet), "the order within a flow is kept");
        }
        if sent.is_none() {
            let is_ready = self.queue.ready_ns() <= now_ns;
            assert!(self.present.is_empty() || !is_ready, "a packet is sent");
        }
        self.check();
        Some((sent?.packet, sent?.marked))
    }

    fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn ready_ns(&self) -> u64 {
        self.queue.ready_ns()
    }
}

/// Every packet that arrived waits, was sent or was dropped; the buffer limit is kept; and flows stay in
/// order.
#[test]
fn every_packet_is_accounted_for() {
    let mut random = Pcg32::seed_from_u64(1);
    let mut dropped = [0; 10];
    for seed in 0..60 {
        let (packets, ns_per_byte) = pattern(&mut random, 2000);
        let limit = buffer(&mut random);
        for (k, discipline) in disciplines(&mut random).into_iter().enumerate() {
            let mut queue = AuditedQueue {
                queue: AqmQueue::new(discipline, limit, seed),
                present: BTreeMap::new(),
                last: BTreeMap::new(),
            };
            let fates = run_packets(&mut queue, &packets, ns_per_byte);
            let drops = fates.iter().filter(|fate| fate.drop_ns().is_some());
            dropped[k] += drops.count();
        }
    }
    let dropped = &dropped[..Aqm::all().count()];
    assert!(dropped.iter().all(|n| *n > 10_000), "{dropped:?}");
}

/// The iterator returns the waiting packets, `clear` removes them, and afterwards the queue equals a new one.
#[test]
fn cleared_queue_equals_new_queue() {
    let mut random = Pcg32::seed_from_u64(2);
    for seed in 0..30 {
        let (mut packets, ns_per_byte) = pattern(&mut random, 1500);
        // The largest packet size must be forgotten.
        packets[0].bytes = 1_000_000;
        let (before, after) = packets.split_at(500);
        for discipline in disciplines(&mut random) {
            let mut queue = AqmQueue::new(discipline, Buffer::Unbounded, seed);
            let (mut gone, mut sent) = (Vec::new(), Vec::new());
            for (number, packet) in before.iter().enumerate() {
                Queue::enqueue(&mut queue, number, *packet, &mut gone);
                if number % 3 == 0 {
                    sent.extend(Queue::dequeue(&mut queue, packet.at_ns, &mut gone));
                }
            }
            let mut listed: Vec<usize> = queue.iter().map(|waiting| waiting.packet).collect();
            for waiting in queue.iter() {
                let packet = before[waiting.packet];
                let says = (waiting.arrived_ns, waiting.bytes, waiting.ecn);
                assert_eq!(says, (packet.at_ns, packet.bytes, packet.ecn));
            }
            let mut taken = Vec::new();
            queue.clear(before[before.len() - 1].at_ns, &mut taken);
            assert_eq!((queue.len(), queue.bytes()), (0, 0));
            assert_eq!((queue.is_empty(), queue.iter().count()), (true, 0));
            listed.sort_unstable();
            taken.sort_unstable();
            assert_eq!(listed, taken);
            assert_eq!(gone.len() + sent.len() + taken.len(), before.len());
            let mut fresh = AqmQueue::new(discipline, Buffer::Unbounded, seed);
            // The random stream of PIE continues.
            for queue in [&mut queue, &mut fresh] {
                queue.state.reseed(seed);
            }
            same(
                &run_packets(&mut queue, after, ns_per_byte),
                &run_packets(&mut fresh, after, ns_per_byte),
            );
        }
    }
}

/// The same seed gives the same fates; with CAKE, PIE and DualPI2, another seed gives others.
#[test]
fn results_depend_on_the_seed() {
    let mut random = Pcg32::seed_from_u64(3);
    let packets: Vec<_> = steady(1, 3000 * MS, MS / 2, 1000, false).collect();
    for discipline in disciplines(&mut random) {
        let discipline = match discipline {
            // Random drops need a full buffer.
            Aqm::Cake(_) => Aqm::Cake(Cake::default()),
            other => other,
        };
        let run = |seed| {
            let mut queue = AqmQueue::new(discipline, Buffer::Packets(50), seed);
            run_packets(&mut queue, &packets, 1000)
        };
        assert_eq!(run(1), run(1));
        assert_eq!(
            run(1) != run(2),
            matches!(discipline, Aqm::Cake(_) | Aqm::Pie(_) | Aqm::DualPi2(_)),
            "{discipline:?}"
        );
    }
}
