//! FQ-CoDel: shares, sojourn times, a full buffer, and a direct version of RFC 8290.

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::*;

/// CoDel that never drops.
const NEVER: CoDel = CoDel {
    target_ns: u64::MAX,
    interval_ns: 100 * MS,
    ecn: false,
    ce_threshold_ns: None,
};

fn fair(codel: CoDel, limit: Buffer) -> AqmQueue<usize> {
    let rules = FqCoDel {
        codel,
        ..FqCoDel::default()
    };
    AqmQueue::new(Aqm::FqCoDel(rules), limit, 1)
}

fn arrival(at_ns: u64, bytes: u32, flow: u64) -> Arrival {
    Arrival {
        at_ns,
        bytes,
        flow,
        ecn: EcnCodepoint::NotEct,
    }
}

/// Backlogged flows send the same number of bytes each, for any packet sizes: at any time two flows differ by
/// at most a quantum and a packet.
#[test]
fn greedy_flows_get_the_same_bytes() {
    let sizes = [64, 100, 576, 1000, 1499, 1500];
    for codel in [NEVER, CoDel::default()] {
        let mut queue = fair(codel, Buffer::Unbounded);
        let mut dropped = Vec::new();
        let mut there = [0_usize; 6];
        let mut sent = [0_i64; 6];
        let mut now_ns = 0;
        let mut widest = 0;
        for _ in 0..50_000 {
            for (flow, bytes) in sizes.into_iter().enumerate() {
                while there[flow] < 200 {
                    let info = arrival(now_ns, bytes, flow as u64).info();
                    queue.enqueue(now_ns, flow, info, PacketDetails::default, &mut dropped);
                    there[flow] += 1;
                }
            }
            let packet = queue.dequeue(now_ns, &mut dropped).unwrap();
            there[packet.packet] -= 1;
            for flow in dropped.drain(..) {
                there[flow] -= 1;
            }
            sent[packet.packet] += i64::from(packet.bytes);
            now_ns += 800 * u64::from(packet.bytes);
            widest = widest.max(sent.iter().max().unwrap() - sent.iter().min().unwrap());
        }
        assert!(widest <= 1514 + 1500, "{widest} B");
        assert!(widest > 1000, "{widest} B");
        assert!(sent.iter().all(|bytes| *bytes > 1_600_000), "{sent:?}");
    }
}

/// Among ten backlogged flows, a sparse flow waits only for the packet in service. A flow that sends often
/// enough to stay among the old flows waits for one round of quanta at most.
#[test]
fn a_sparse_flow_has_low_delay() {
    let ns_per_byte = 800;
    for (gap_ns, most_bytes) in [(100 * MS, 1500), (5 * MS, 11 * (1514 + 1500))] {
        let mut packets: Vec<_> = (0..10)
            .flat_map(|flow| (0..400).map(move |_| arrival(0, 1500, flow)))
            .collect();
        packets.extend((1..=4000 * MS / gap_ns).map(|k| arrival(k * gap_ns + 17, 200, 99)));
        let fates = run_packets(&mut fair(NEVER, Buffer::Unbounded), &packets, ns_per_byte);
        let mut longest_ns = 0;
        for (packet, fate) in packets.iter().zip(&fates).skip(4000) {
            let Fate::Sent { at_ns, .. } = fate else {
                panic!("nothing is dropped");
            };
            longest_ns = longest_ns.max(at_ns - packet.at_ns);
        }
        assert!(
            longest_ns <= most_bytes * ns_per_byte,
            "{longest_ns} ns for one each {gap_ns} ns"
        );
        assert!(longest_ns > 0);
        // The other flows were backlogged all along. In one FIFO the sparse flow would have waited for
        // seconds.
        assert!(matches!(fates[3999], Fate::Sent { at_ns, .. } if at_ns > 4000 * MS));
    }
}

/// A full buffer drops half of the bytes of the queue with the most bytes, from its head, or 64 packets.
#[test]
fn longest_queue_drops_on_overflow() {
    for (fat_pkts, batch) in [(50, 26), (127, 64), (400, 64)] {
        let limit = Buffer::Packets(fat_pkts + 30);
        let mut queue = fair(NEVER, limit);
        let mut dropped = Vec::new();
        let mut number = 0;
        let mut come = |queue: &mut AqmQueue<usize>, bytes, flow, dropped: &mut Vec<usize>| {
            queue.enqueue(
                0,
                number,
                arrival(0, bytes, flow).info(),
                PacketDetails::default,
                dropped,
            );
            number += 1;
        };
        for _ in 0..fat_pkts {
            come(&mut queue, 1500, 7, &mut dropped);
        }
        // More packets each, but fewer bytes.
        for k in 0..30 {
            come(&mut queue, 40, 100 + k % 3, &mut dropped);
        }
        assert!(dropped.is_empty());
        // The packet that exceeds the buffer may belong to another flow.
        let own = fat_pkts == 50;
        come(&mut queue, 1500, if own { 7 } else { 100 }, &mut dropped);
        let wanted: Vec<usize> = (0..batch).collect();
        assert_eq!(dropped, wanted);
        assert_eq!(queue.len(), fat_pkts + 31 - batch);
    }
}

/// Drops of a full buffer count for CoDel, which then drops more often.
#[test]
fn a_full_buffer_speeds_codel_up() {
    let mut queue: AqmQueue<usize> = fair(CoDel::default(), Buffer::Packets(1000));
    let mut dropped = Vec::new();
    for number in 0..1001 {
        queue.enqueue(
            0,
            number,
            arrival(0, 1500, 1).info(),
            PacketDetails::default,
            &mut dropped,
        );
    }
    assert_eq!(dropped.len(), 64);
    let State::FqCoDel(flows) = &queue.state else {
        panic!("it is FQ-CoDel");
    };
    assert_eq!(flows.counts(), [64]);
}

/// FQ-CoDel with a single queue equals CoDel.
#[test]
fn one_queue_is_codel() {
    let mut random = Pcg32::seed_from_u64(6);
    let mut dropped = 0;
    for _ in 0..100 {
        let (packets, ns_per_byte) = pattern(&mut random, 1500);
        let codel = codel(&mut random);
        let rules = FqCoDel {
            codel,
            flows: 1,
            quantum_bytes: random.random_range(0..3000),
        };
        let mut one = AqmQueue::new(Aqm::FqCoDel(rules), Buffer::Unbounded, 0);
        let mut other = AqmQueue::new(Aqm::CoDel(codel), Buffer::Unbounded, 0);
        let fates = run_packets(&mut one, &packets, ns_per_byte);
        same(&fates, &run_packets(&mut other, &packets, ns_per_byte));
        dropped += fates.iter().filter_map(|fate| fate.drop_ns()).count();
    }
    assert!(dropped > 1000);
}

/// Flows share queues about as often as at random, and other seeds give other collisions.
#[test]
fn flows_are_spread_over_queues() {
    let indices = |seed, numbers: &dyn Fn(u64) -> u64| {
        let mut queue: FqCoDelQueue<()> =
            FqCoDelQueue::new(FqCoDel::default(), netflow_units::hash_mix(seed));
        let indices: Vec<u32> = (0..1024).map(|k| queue.queue_of(numbers(k))).collect();
        let again: Vec<u32> = (0..1024).map(|k| queue.queue_of(numbers(k))).collect();
        assert_eq!(indices, again);
        indices
    };
    // Of 1024 queues, 1024 flows are expected to use 647 with a standard deviation of 10.
    for numbers in [&|k| k, &|k| k << 40, &|k| k * 1024] as [&dyn Fn(u64) -> u64; 3] {
        let used = indices(1, numbers).into_iter().max().unwrap() + 1;
        assert!((600..695).contains(&used), "{used}");
        assert_ne!(indices(1, numbers), indices(2, numbers));
    }
}

/// A direct version of RFC 8290, section 4: one queue with CoDel per flow, and batches of drops until the
/// buffer is kept.
struct RfcReference {
    rules: FqCoDel,
    limit: Buffer,
    queues: BTreeMap<u64, (codel::RfcReference, i64)>,
    max_packet: u64,
    /// Size in bytes of each packet so far.
    sizes: Vec<u32>,
    new: Vec<u64>,
    old: Vec<u64>,
}

impl RfcReference {
    fn all_bytes(&self) -> u64 {
        self.queues.values().map(|(queue, _)| queue.bytes()).sum()
    }

    fn is_full(&self) -> bool {
        let bytes = self.all_bytes() as f64;
        match self.limit {
            Buffer::Packets(most) => self.waiting() > most.max(1),
            Buffer::Bytes(most) => bytes > most && self.waiting() > 1,
            Buffer::Unbounded => false,
        }
    }
}

impl Queue for RfcReference {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>) {
        let flow = packet.flow;
        let none = (
            codel::RfcReference::new(self.rules.codel, Buffer::Unbounded),
            0,
        );
        let (queue, credits) = self.queues.entry(flow).or_insert(none);
        queue.queue.push_back((number, packet));
        self.sizes.push(packet.bytes);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            *credits = i64::from(self.rules.quantum_bytes);
            self.new.push(flow);
        }
        while self.is_full() {
            let most = self.queues.values().map(|(queue, _)| queue.bytes()).max();
            let most = most.unwrap();
            // Ties go to the queue that is first in the lists.
            let mut listed = self.new.iter().chain(&self.old);
            let longest = listed.find(|flow| self.queues[flow].0.bytes() == most);
            let queue = &mut self.queues.get_mut(longest.unwrap()).unwrap().0;
            for _ in 0..64 {
                dropped.push(queue.queue.pop_front().unwrap().0);
                queue.count += 1;
                if 2 * queue.bytes() <= most + most % 2 {
                    break;
                }
            }
        }
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        loop {
            let from_new = !self.new.is_empty();
            let flow = *self.new.first().or(self.old.first())?;
            let spent = self.queues[&flow].1 <= 0;
            let all_bytes = if spent { 0 } else { self.all_bytes() };
            let (queue, credits) = self.queues.get_mut(&flow).unwrap();
            if spent {
                *credits += i64::from(self.rules.quantum_bytes);
            } else {
                queue.other_bytes = all_bytes - queue.bytes();
                queue.max_packet = self.max_packet;
                let sent = queue.dequeue(now_ns, dropped);
                self.max_packet = queue.max_packet;
                if let Some((number, marked)) = sent {
                    *credits -= i64::from(self.sizes[number]);
                    return Some((number, marked));
                }
            }
            if from_new {
                self.new.remove(0)
            } else {
                self.old.remove(0)
            };
            if from_new || spent {
                self.old.push(flow);
            }
        }
    }

    fn waiting(&self) -> usize {
        self.queues.values().map(|(it, _)| it.queue.len()).sum()
    }
}

/// Sends, marks and drops the same packets at the same times, over random patterns, settings and buffers.
#[test]
fn matches_the_rfc() {
    let mut random = Pcg32::seed_from_u64(7);
    let (mut dropped, mut marked) = (0, 0);
    for number in 0..150 {
        let (packets, ns_per_byte) = pattern(&mut random, 600);
        let limit = buffer(&mut random);
        let rules = FqCoDel {
            codel: match number % 3 {
                0 => NEVER,
                1 => CoDel::default(),
                _ => codel(&mut random),
            },
            // Enough queues that the few flows do not share one.
            flows: 1 << 16,
            quantum_bytes: [100, 300, 1514, 9000][random.random_range(0..4)],
        };
        let mut ours = AqmQueue::new(Aqm::FqCoDel(rules), limit, 3);
        let mut reference = RfcReference {
            rules,
            limit,
            queues: BTreeMap::new(),
            max_packet: 0,
            sizes: Vec::new(),
            new: Vec::new(),
            old: Vec::new(),
        };
        let fates = run_packets(&mut ours, &packets, ns_per_byte);
        same(&fates, &run_packets(&mut reference, &packets, ns_per_byte));
        if limit == Buffer::Unbounded {
            dropped += fates.iter().filter_map(|fate| fate.drop_ns()).count();
            marked += fates.iter().filter_map(|fate| fate.mark_ns()).count();
        }
    }
    assert!(dropped > 500 && marked > 100, "{dropped}, {marked}");
}
