//! CoDel against its control law, and against a direct version of the pseudo-code of RFC 8289, section 5.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::*;

/// Packets of 1000 B with a service time of 1 ms each; two arrive each ms.
const BYTES: u32 = 1000;
const NS_PER_BYTE: u64 = 1000;

fn default_queue(ecn: bool) -> AqmQueue<usize> {
    let rules = CoDel {
        ecn,
        ..CoDel::default()
    };
    AqmQueue::new(Aqm::CoDel(rules), Buffer::Unbounded, 0)
}

fn drops(fates: &[Fate]) -> Vec<u64> {
    let mut drops: Vec<u64> = fates.iter().filter_map(|fate| fate.drop_ns()).collect();
    drops.sort_unstable();
    drops
}

/// Returns the drop times: the first at `first_ms`, the next 100/√count ms later, and so on. The link
/// dequeues each ms, so a drop occurs at the first whole ms after it is due.
fn control_law_times(first_ms: u64, mut count: u32, to_ms: u64) -> Vec<u64> {
    let mut due = first_ms as f64;
    let mut times = vec![first_ms * MS];
    loop {
        due += 100.0 / f64::from(count).sqrt();
        let looks = due.ceil() as u64;
        if looks >= to_ms {
            return times;
        }
        times.push(looks * MS);
        count += 1;
    }
}

/// Two packets arrive each ms and one departs; the departure at k ms has waited k/2 ms. The sojourn time
/// reaches 5 ms at 10 ms. The first drop follows an interval later, and the others by the control law.
#[test]
fn overload_drops_follow_the_control_law() {
    let packets: Vec<_> = steady(0, 6000 * MS, MS / 2, BYTES, false).collect();
    let mut dropped = drops(&run_packets(
        &mut default_queue(false),
        &packets,
        NS_PER_BYTE,
    ));
    dropped.retain(|at| *at < 5000 * MS);
    assert_eq!(dropped, control_law_times(110, 1, 5000));
    assert!(dropped.len() > 500);
}

/// An ECN-capable packet is marked when another would be dropped.
#[test]
fn marks_replace_drops() {
    let packets: Vec<_> = steady(0, 6000 * MS, MS / 2, BYTES, true).collect();
    let fates = run_packets(&mut default_queue(true), &packets, NS_PER_BYTE);
    assert!(drops(&fates).is_empty());
    let mut marks: Vec<u64> = fates.iter().filter_map(|fate| fate.mark_ns()).collect();
    marks.retain(|at| *at < 5000 * MS);
    assert_eq!(marks, control_law_times(110, 1, 5000));
    // Nothing is marked without ECN at the queue or at the packets.
    let unable: Vec<_> = steady(0, 6000 * MS, MS / 2, BYTES, false).collect();
    let reference = run_packets(&mut default_queue(false), &unable, NS_PER_BYTE);
    assert_eq!(
        run_packets(&mut default_queue(true), &unable, NS_PER_BYTE),
        reference
    );
    assert_eq!(
        run_packets(&mut default_queue(false), &packets, NS_PER_BYTE),
        reference
    );
    assert!(reference.iter().all(|fate| fate.mark_ns().is_none()));
}

/// CoDel never drops below the target. Above it, CoDel does not drop if one packet per interval is below, or
/// if the queue has only one packet.
#[test]
fn short_delays_cause_no_drops() {
    let burst = |at_ms: u64, pkts: usize| {
        let one = steady(at_ms * MS, at_ms * MS + 1, MS, BYTES, false);
        one.flat_map(move |packet| vec![packet; pkts])
    };
    let mut below: Vec<_> = burst(0, 5).collect();
    below.extend(steady(MS, 10_000 * MS, MS, BYTES, false));
    let fates = run_packets(&mut default_queue(false), &below, NS_PER_BYTE);
    assert!(drops(&fates).is_empty());
    // One packet more keeps the sojourn time at the target.
    below.insert(0, below[0]);
    let fates = run_packets(&mut default_queue(false), &below, NS_PER_BYTE);
    assert!(!drops(&fates).is_empty());

    let each: Vec<_> = (0..100).flat_map(|k| burst(100 * k, 99)).collect();
    let fates = run_packets(&mut default_queue(false), &each, NS_PER_BYTE);
    assert!(drops(&fates).is_empty());

    // Each takes 10 ms, and one more waits for the same time.
    let pair = burst(0, 2).chain(steady(10 * MS, 10_000 * MS, 10 * MS, BYTES, false));
    let pair: Vec<_> = pair.collect();
    let fates = run_packets(&mut default_queue(false), &pair, 10 * NS_PER_BYTE);
    assert!(drops(&fates).is_empty());
}

/// Dropping that restarts soon continues at the previous rate; later it restarts from the beginning.
#[test]
fn dropping_resumes_at_the_previous_count() {
    for (silence_ms, remembers) in [(200, true), (1000, true), (1400, true), (1800, false)] {
        let mut packets: Vec<_> = steady(0, 1500 * MS, MS / 2, BYTES, false).collect();
        // The queue is empty when all packets that were not dropped have been sent.
        let mut alone = default_queue(false);
        let first = run_packets(&mut alone, &packets, NS_PER_BYTE);
        let before = drops(&first);
        let empty_ms = (packets.len() - before.len()) as u64;
        let again_ms = empty_ms + silence_ms;
        packets.extend(steady(
            again_ms * MS,
            (again_ms + 1000) * MS,
            MS / 2,
            BYTES,
            false,
        ));
        let fates = run_packets(&mut default_queue(false), &packets, NS_PER_BYTE);
        let mut after = drops(&fates[first.len()..]);
        after.retain(|at| *at < (again_ms + 1000) * MS);
        assert_eq!(drops(&fates[..first.len()]), before);
        let count = if remembers {
            before.len() as u32 - 1
        } else {
            1
        };
        let begins_ms = again_ms + 110;
        assert_eq!(
            after,
            control_law_times(begins_ms, count, again_ms + 1000),
            "{silence_ms} ms"
        );
    }
}

/// Packets above the threshold are marked, and no others.
#[test]
fn ce_threshold_marks_by_sojourn_time() {
    let mut random = Pcg32::seed_from_u64(4);
    let (mut marked, mut just) = (0, 0);
    for _ in 0..20 {
        let (mut packets, ns_per_byte) = pattern(&mut random, 1000);
        // Whole milliseconds, so that some sojourn times equal the threshold.
        for packet in &mut packets {
            packet.at_ns -= packet.at_ns % MS;
            packet.bytes = BYTES;
        }
        let ns_per_byte = ns_per_byte / NS_PER_BYTE * NS_PER_BYTE + NS_PER_BYTE;
        let most_ns = random.random_range(0..20) * MS;
        let rules = CoDel {
            target_ns: u64::MAX,
            ce_threshold_ns: Some(most_ns),
            ..CoDel::default()
        };
        let mut queue = AqmQueue::new(Aqm::CoDel(rules), Buffer::Unbounded, 0);
        for (packet, fate) in packets
            .iter()
            .zip(run_packets(&mut queue, &packets, ns_per_byte))
        {
            let Fate::Sent { at_ns, marked: is } = fate else {
                panic!("no packet is dropped");
            };
            let waited_ns = at_ns - packet.at_ns;
            assert_eq!(is, packet.ecn.is_capable() && waited_ns > most_ns);
            marked += usize::from(is);
            just += usize::from(packet.ecn.is_capable() && waited_ns == most_ns);
        }
    }
    assert!(marked > 1000 && just > 10, "{marked}, {just}");
}

/// The pseudo-code with its own names, where a time of 0 means none, plus the marking of Linux.
pub struct RfcReference {
    rules: CoDel,
    limit: Buffer,
    pub queue: VecDeque<(usize, Arrival)>,
    /// Bytes of other queues that CoDel also counts.
    pub other_bytes: u64,
    pub max_packet: u64,
    first_above_time: u64,
    drop_next: u64,
    pub count: i64,
    last_count: i64,
    dropping: bool,
}

struct Dequeued {
    packet: Option<(usize, Arrival)>,
    ok_to_drop: bool,
}

impl RfcReference {
    pub fn new(rules: CoDel, limit: Buffer) -> RfcReference {
        RfcReference {
            rules,
            limit,
            queue: VecDeque::new(),
            other_bytes: 0,
            max_packet: 0,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.queue.iter().map(|(_, it)| u64::from(it.bytes)).sum()
    }

    /// ⌊interval/√count⌋ in integers.
    fn control_law(&self, time: u64) -> u64 {
        let interval = u128::from(self.rules.interval_ns);
        time + (interval * interval / self.count as u128).isqrt() as u64
    }

    fn do_dequeue(&mut self, now: u64) -> Dequeued {
        let mut result = Dequeued {
            packet: self.queue.pop_front(),
            ok_to_drop: false,
        };
        let Some((_, packet)) = result.packet else {
            self.first_above_time = 0;
            return result;
        };
        let sojourn = now - packet.at_ns;
        if u64::from(packet.bytes) > self.max_packet {
            self.max_packet = u64::from(packet.bytes);
        }
        if sojourn < self.rules.target_ns || self.bytes() + self.other_bytes <= self.max_packet {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.rules.interval_ns;
        } else if now >= self.first_above_time {
            result.ok_to_drop = true;
        }
        result
    }

    fn can_mark(&self, it: &Dequeued) -> bool {
        self.rules.ecn && it.packet.unwrap().1.ecn.is_capable()
    }
}

impl Queue for RfcReference {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>) {
        let fits = match self.limit {
            Buffer::Packets(most) => self.queue.len() < most,
            Buffer::Bytes(most) => (self.bytes() + u64::from(packet.bytes)) as f64 <= most,
            Buffer::Unbounded => true,
        };
        if fits || self.queue.is_empty() {
            self.queue.push_back((number, packet))
        } else {
            dropped.push(number)
        }
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        let mut r = self.do_dequeue(now);
        let mut marked = false;
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next && !marked {
                if self.can_mark(&r) {
                    marked = true;
                    self.count += 1;
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    dropped.push(r.packet.unwrap().0);
                    self.count += 1;
                    r = self.do_dequeue(now);
                    if !r.ok_to_drop {
                        self.dropping = false;
                    } else {
                        self.drop_next = self.control_law(self.drop_next);
                    }
                }
            }
        } else if r.ok_to_drop {
            if self.can_mark(&r) {
                marked = true;
            } else {
                dropped.push(r.packet.unwrap().0);
                r = self.do_dequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.last_count;
            self.count = 1;
            let since = now as i64 - self.drop_next as i64;
            if delta > 1 && since < 16 * self.rules.interval_ns as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        let (number, packet) = r.packet?;
        if let Some(threshold) = self.rules.ce_threshold_ns
            && now - packet.at_ns > threshold
            && packet.ecn.is_capable()
        {
            marked = true;
        }
        Some((number, marked))
    }

    fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// Drops and marks the same packets at the same times, over random patterns, settings and buffers.
#[test]
fn matches_the_rfc_pseudo_code() {
    let mut random = Pcg32::seed_from_u64(5);
    let (mut dropped, mut marked) = (0, 0);
    for number in 0..200 {
        let (packets, ns_per_byte) = pattern(&mut random, 2000);
        let rules = match number % 4 {
            0 => CoDel::default(),
            _ => codel(&mut random),
        };
        let limit = buffer(&mut random);
        let mut ours = AqmQueue::new(Aqm::CoDel(rules), limit, 0);
        let mut reference = RfcReference::new(rules, limit);
        let fates = run_packets(&mut ours, &packets, ns_per_byte);
        same(&fates, &run_packets(&mut reference, &packets, ns_per_byte));
        if limit == Buffer::Unbounded {
            dropped += drops(&fates).len();
            marked += fates.iter().filter_map(|fate| fate.mark_ns()).count();
        }
    }
    assert!(dropped > 1000 && marked > 1000, "{dropped}, {marked}");
}
