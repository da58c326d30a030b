//! PIE: its probability against a direct version of RFC 8033, and its effect on a queue.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::super::pie::PieState;
use super::*;

/// The pseudo-code of RFC 8033 with its own names, in seconds. It has the rules of Linux for delays above 250
/// ms and for packets that wait while none departs.
struct RfcReference {
    rules: Pie,
    tail_drop: Buffer,
    queue: VecDeque<(usize, Arrival, bool)>,
    random: SplitMix64,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: i64,
    last_update_ns: u64,
    max_packet: u64,
    updates: usize,
    /// Drops because the accumulated probability reached its upper limit.
    ends: usize,
}

impl RfcReference {
    fn new(rules: Pie, tail_drop: Buffer, random: SplitMix64) -> RfcReference {
        RfcReference {
            rules,
            tail_drop,
            queue: VecDeque::new(),
            random,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: rules.max_burst_ns as i64,
            last_update_ns: 0,
            max_packet: 0,
            updates: 0,
            ends: 0,
        }
    }

    fn byte_length(&self) -> u64 {
        let packets = self.queue.iter();
        packets.map(|(_, packet, _)| u64::from(packet.bytes)).sum()
    }

    fn half_target(&self) -> f64 {
        (self.rules.target_ns / 2) as f64 / 1e9
    }

    fn calculate_drop_prob(&mut self, empty: bool) {
        let target = self.rules.target_ns as f64 / 1e9;
        let mut p = self.rules.alpha * (self.current_qdelay - target)
            + self.rules.beta * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        } else if p > 0.02 {
            p = 0.02;
        }
        if self.current_qdelay > 0.25 {
            p += 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 && empty {
            self.drop_prob *= 1.0 - 1.0 / 64.0;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        if self.burst_allowance < self.rules.update_ns as i64 {
            self.burst_allowance = 0;
        } else {
            self.burst_allowance -= self.rules.update_ns as i64;
        }
        if self.drop_prob == 0.0
            && self.current_qdelay < self.half_target()
            && self.qdelay_old < self.half_target()
        {
            self.burst_allowance = self.rules.max_burst_ns as i64;
            self.accu_prob = 0.0;
        }
        self.qdelay_old = self.current_qdelay;
    }

    /// Performs every update one by one.
    fn run_to(&mut self, now_ns: u64) {
        while self.last_update_ns + self.rules.update_ns <= now_ns {
            self.last_update_ns += self.rules.update_ns;
            self.calculate_drop_prob(self.queue.is_empty());
            self.updates += 1;
        }
    }

    fn drop_early(&mut self) -> bool {
        if self.burst_allowance > 0
            || self.qdelay_old < self.half_target() && self.drop_prob < 0.2
            || self.byte_length() <= 2 * self.max_packet
        {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        self.ends += usize::from(self.accu_prob >= 8.5);
        if self.accu_prob >= 8.5 || self.random.uniform() < self.drop_prob {
            self.accu_prob = 0.0;
            return true;
        }
        false
    }
}

impl Queue for RfcReference {
    fn enqueue(&mut self, number: usize, packet: Arrival, dropped: &mut Vec<usize>) {
        self.run_to(packet.at_ns);
        let fits = match self.tail_drop {
            Buffer::Packets(most) => self.queue.len() < most,
            Buffer::Bytes(most) => (self.byte_length() + u64::from(packet.bytes)) as f64 <= most,
            Buffer::Unbounded => true,
        };
        if !fits && !self.queue.is_empty() {
            self.accu_prob = 0.0;
            dropped.push(number);
            return;
        }
        self.max_packet = self.max_packet.max(u64::from(packet.bytes));
        if !self.drop_early() {
            self.queue.push_back((number, packet, false));
        } else if self.rules.ecn
            && packet.ecn.is_capable()
            && self.drop_prob <= self.rules.mark_ecn_threshold
        {
            self.queue.push_back((number, packet, true));
        } else {
            dropped.push(number);
        }
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<usize>) -> Option<(usize, bool)> {
        self.run_to(now_ns);
        let (number, packet, marked) = self.queue.pop_front()?;
        self.current_qdelay = (now_ns - packet.at_ns) as f64 / 1e9;
        if self.queue.is_empty() {
            self.current_qdelay = 0.0;
        }
        Some((number, marked))
    }

    fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// The probability equals that of the pseudo-code for given delays, in every range.
#[test]
fn probability_matches_the_pseudo_code() {
    let mut random = Pcg32::seed_from_u64(8);
    let mut ranges = [0; 9];
    for number in 0..300 {
        let rules = match number % 2 {
            0 => Pie::default(),
            _ => pie(&mut random),
        };
        let mut ours = PieState::new(&rules);
        let mut reference = RfcReference::new(rules, Buffer::Unbounded, SplitMix64::new(0));
        let (mut around, mut empty) = (0, false);
        for _ in 0..1000 {
            if random.random_bool(0.03) {
                around = [0, 1, 10, 16, 20, 40, 100, 400][random.random_range(0..8)] * MS;
                empty = random.random();
            }
            ours.delay_ns = around + random.random_range(0..=around / 4);
            reference.current_qdelay = ours.delay_ns as f64 / 1e9;
            ours.update(&rules, empty);
            reference.calculate_drop_prob(empty);
            let p = reference.drop_prob;
            assert!((ours.probability - p).abs() <= 1e-12, "{ours:?}, {p}");
            ranges[match p {
                0.0 => 7,
                1.0 => 8,
                _ => (-p.log10()).ceil().min(7.0) as usize - 1,
            }] += 1;
        }
    }
    assert!(ranges.iter().all(|n| *n > 100), "{ranges:?}");
}

/// Drops and marks the same packets over random patterns, with every update on time, even after a long pause.
#[test]
fn matches_the_rfc_pseudo_code() {
    let mut random = Pcg32::seed_from_u64(9);
    let (mut dropped, mut marked, mut updates) = (0, 0, 0);
    for seed in 0..200 {
        let (mut packets, ns_per_byte) = pattern(&mut random, 2000);
        // A long pause.
        for packet in &mut packets[1000..] {
            packet.at_ns += 100_000 * MS;
        }
        let rules = pie(&mut random);
        let limit = buffer(&mut random);
        let mut ours = AqmQueue::new(Aqm::Pie(rules), limit, seed);
        let State::Pie(early) = &mut ours.state else {
            panic!("it is PIE");
        };
        early.reseed(seed);
        let mut reference = RfcReference::new(rules, limit, SplitMix64::new(seed));
        let fates = run_packets(&mut ours, &packets, ns_per_byte);
        same(&fates, &run_packets(&mut reference, &packets, ns_per_byte));
        if limit == Buffer::Unbounded {
            dropped += fates.iter().filter_map(|fate| fate.drop_ns()).count();
            marked += fates.iter().filter_map(|fate| fate.mark_ns()).count();
        }
        updates += reference.updates;
    }
    assert!(dropped > 1000 && marked > 100, "{dropped}, {marked}");
    assert!(updates > 500_000, "{updates}");
}

/// Also for a long overload whose events coincide with updates. The accumulated probability sometimes reaches
/// its upper limit.
#[test]
fn a_long_overload_matches_the_pseudo_code() {
    let packets: Vec<_> = steady(0, 160_000 * MS, MS / 2, 600, false).collect();
    let rules = Pie::default();
    let mut ours = AqmQueue::new(Aqm::Pie(rules), Buffer::Unbounded, 1);
    if let State::Pie(early) = &mut ours.state {
        early.reseed(5);
    }
    let mut reference = RfcReference::new(rules, Buffer::Unbounded, SplitMix64::new(5));
    let fates = run_packets(&mut ours, &packets, 1000);
    same(&fates, &run_packets(&mut reference, &packets, 1000));
    assert!(reference.ends > 3, "{}", reference.ends);
}

/// An update without effect ends the catch-up, for a pause of any length.
#[test]
fn a_long_idle_time_is_cheap() {
    for target_ns in [0, 15 * MS] {
        let rules = Pie {
            target_ns,
            update_ns: 1000,
            ..Pie::default()
        };
        let mut queue = AqmQueue::new(Aqm::Pie(rules), Buffer::Unbounded, 1);
        let packets: Vec<_> = steady(0, 1000 * MS, MS / 2, 1000, false).collect();
        run_packets(&mut queue, &packets, 1000);
        assert!(queue.drop_probability() >= 0.0);
        let mut dropped = Vec::new();
        let year_ns = 365 * 86_400 * 1000 * MS;
        Queue::enqueue(&mut queue, 0, packets[0], &mut dropped);
        for k in 1..100 {
            assert_eq!(queue.dequeue(k * year_ns, &mut dropped).is_some(), k == 1);
        }
        assert!(queue.drop_probability() < 1e-300);
    }
}

/// Returns the mean sojourn time in ms and the fraction of packets dropped, from 20 s on.
fn settled(packets: &[Arrival], fates: &[Fate]) -> (f64, f64) {
    let (mut waits_ns, mut sent, mut dropped) = (0, 0, 0);
    for (packet, fate) in packets.iter().zip(fates) {
        if packet.at_ns >= 20_000 * MS {
            match fate {
                Fate::Sent { at_ns, .. } => {
                    waits_ns += at_ns - packet.at_ns;
                    sent += 1;
                }
                Fate::Dropped { .. } => dropped += 1,
            }
        }
    }
    let wait_ms = waits_ns as f64 / f64::from(sent) / MS as f64;
    (wait_ms, f64::from(dropped) / f64::from(sent + dropped))
}

/// With unresponsive overload, PIE drops the excess and the queueing delay equals the target.
#[test]
fn overload_delay_converges_to_the_target() {
    for target_ms in [5, 15, 40] {
        for load in [1.05, 1.2, 1.5, 2.0] {
            let rules = Pie {
                target_ns: target_ms * MS,
                ..Pie::default()
            };
            let mut queue = AqmQueue::new(Aqm::Pie(rules), Buffer::Unbounded, 1);
            // 10 Mbit/s.
            let gap_ns = (800_000.0 / load) as u64;
            let packets: Vec<_> = steady(0, 60_000 * MS, gap_ns, 1000, false).collect();
            let fates = run_packets(&mut queue, &packets, 800);
            let (wait_ms, share) = settled(&packets, &fates);
            let wanted = 1.0 - 1.0 / load;
            assert!((share / wanted - 1.0).abs() < 0.02, "{share} at {load}");
            let target = target_ms as f64;
            assert!(
                (wait_ms / target - 1.0).abs() < 0.1,
                "{wait_ms} ms of {target_ms} ms at {load}"
            );
        }
    }
}

/// A source that adds a packet to its window per round trip, and halves it after a loss or mark.
struct Source {
    window: f64,
    flying: f64,
    /// Time until which further losses belong to the same round trip.
    deaf_ns: u64,
}

/// Returns the mean sojourn time in ms, the utilization and the losses from 20 s on. The sources share a link
/// of 20 Mbit/s with a base round-trip time of 50 ms.
fn closed_loop(discipline: Aqm, sources: usize, ecn: bool) -> (f64, f64, usize) {
    let (round_ns, service_ns) = (50 * MS, 400_000);
    let mut queue = AqmQueue::new(discipline, Buffer::Packets(1000), 1);
    let mut all: Vec<Source> = (0..sources)
        .map(|_| Source {
            window: 2.0,
            flying: 0.0,
            deaf_ns: 0,
        })
        .collect();
    // Feedback by arrival time: source, true if its packet was lost, true if it was marked.
    let mut back: BTreeMap<(u64, u64), (usize, bool, bool)> = BTreeMap::new();
    let (mut order, mut free_ns, mut dropped) = (0, 0, Vec::new());
    let (mut waits_ns, mut sent, mut losses) = (0, 0_u64, 0);
    for (k, source) in all.iter_mut().enumerate() {
        back.insert((k as u64 * MS, k as u64), (k, false, false));
        source.flying = 1.0;
    }
    while let Some(((now_ns, _), (k, lost, marked))) = back.pop_first() {
        if now_ns >= 60_000 * MS {
            break;
        }
        let mut leave = |order: &mut u64, at_ns, what| {
            *order += 1;
            back.insert((at_ns, 1000 + *order), what);
        };
        // The link sends all packets due until now.
        loop {
            let sends = (free_ns <= now_ns).then(|| queue.dequeue(free_ns, &mut dropped));
            for k in dropped.drain(..) {
                leave(&mut order, free_ns.max(now_ns) + round_ns, (k, true, false));
            }
            let Some(Some(packet)) = sends else { break };
            if free_ns >= 20_000 * MS {
                waits_ns += free_ns - packet.arrived_ns;
                sent += 1;
            }
            free_ns += service_ns;
            let at_ns = (free_ns + round_ns).max(now_ns);
            leave(&mut order, at_ns, (packet.packet, false, packet.marked));
        }
        let source = &mut all[k];
        source.flying -= 1.0;
        losses += usize::from(lost && now_ns >= 20_000 * MS);
        if lost || marked {
            if now_ns >= source.deaf_ns {
                source.window = (source.window / 2.0).max(1.0);
                source.deaf_ns = now_ns + round_ns;
            }
        } else {
            source.window += 1.0 / source.window;
        }
        while source.flying + 1.0 <= source.window.floor() {
            source.flying += 1.0;
            if queue.is_empty() {
                free_ns = free_ns.max(now_ns);
            }
            let info = PacketInfo {
                bytes: 1000,
                flow: k as u64,
                ecn: ect(ecn),
                ..PacketInfo::default()
            };
            queue.enqueue(now_ns, k, info, PacketDetails::default, &mut dropped);
        }
        for k in dropped.drain(..) {
            leave(&mut order, now_ns + round_ns, (k, true, false));
        }
        // An idle link starts service immediately.
        if free_ns <= now_ns
            && let Some(packet) = queue.dequeue(now_ns, &mut dropped)
        {
            if now_ns >= 20_000 * MS {
                waits_ns += now_ns - packet.arrived_ns;
                sent += 1;
            }
            free_ns = now_ns + service_ns;
            let at_ns = free_ns + round_ns;
            leave(&mut order, at_ns, (packet.packet, false, packet.marked));
        }
    }
    let busy = (sent * service_ns) as f64 / (40_000 * MS) as f64;
    (waits_ns as f64 / sent as f64 / MS as f64, busy, losses)
}

/// Responsive sources wait for about the target and fill the link; without PIE they fill the whole buffer.
#[test]
fn responsive_sources_reach_the_target_delay() {
    for sources in [5, 10, 20] {
        for ecn in [false, true] {
            let rules = Pie {
                ecn,
                ..Pie::default()
            };
            let (wait_ms, busy, losses) = closed_loop(Aqm::Pie(rules), sources, ecn);
            let what = format!("{sources} sources, ECN {ecn}: {wait_ms} ms, {busy}, {losses}");
            println!("{what}");
            assert!((10.0..20.0).contains(&wait_ms), "{what}");
            assert!(busy > 0.95, "{what}");
            assert_eq!(losses == 0, ecn, "{what}");
        }
        let never = CoDel {
            target_ns: u64::MAX,
            ..CoDel::default()
        };
        let (wait_ms, ..) = closed_loop(Aqm::CoDel(never), sources, false);
        assert!(wait_ms > 200.0, "{wait_ms} ms");
    }
}

/// A burst after a pause passes without drops for 150 ms; without an allowance, drops start at once.
#[test]
fn a_burst_is_let_through() {
    let first_drop_ms = |max_burst_ns| {
        let rules = Pie {
            max_burst_ns,
            ..Pie::default()
        };
        let mut queue = AqmQueue::new(Aqm::Pie(rules), Buffer::Unbounded, 1);
        let packets: Vec<_> = steady(5000 * MS, 7000 * MS, 200_000, 1000, false).collect();
        let fates = run_packets(&mut queue, &packets, 800);
        let first = fates.iter().filter_map(|fate| fate.drop_ns()).min();
        first.unwrap() / MS - 5000
    };
    // Four times the link rate: the first update sees a delay of 11 ms, and the allowance is used up at the
    // tenth.
    let (with, without) = (first_drop_ms(150 * MS), first_drop_ms(0));
    assert!((150..170).contains(&with), "{with} ms");
    assert!(without < 150, "{without} ms");
}

/// A queue of at most two packets has no drops, at any delay.
#[test]
fn a_short_queue_has_no_drops() {
    // A packet takes 40 ms. Three are present at any time: one in service and two waiting.
    let packets: Vec<_> = (0..2000)
        .map(|k: u64| Arrival {
            at_ns: k.saturating_sub(2) * 40 * MS,
            bytes: 1000,
            flow: 0,
            ecn: EcnCodepoint::NotEct,
        })
        .collect();
    let run = |packets: &[Arrival]| {
        let rules = Aqm::Pie(Pie::default());
        let mut queue = AqmQueue::new(rules, Buffer::Unbounded, 1);
        let fates = run_packets(&mut queue, packets, 40_000);
        fates.iter().filter_map(|fate| fate.drop_ns()).count()
    };
    assert_eq!(run(&packets), 0);
    // With one more, packets are dropped.
    let more: Vec<_> = [packets[0], packets[0]]
        .into_iter()
        .chain(packets)
        .collect();
    assert!(run(&more) > 0);
}

/// ECN-capable packets are marked up to a probability of 0.1, and dropped above.
#[test]
fn a_high_probability_drops_all() {
    let rules = Pie {
        ecn: true,
        ..Pie::default()
    };
    for (load, marks) in [(1.05, true), (2.0, false)] {
        let mut queue = AqmQueue::new(Aqm::Pie(rules), Buffer::Packets(500), 1);
        let gap_ns = (800_000.0 / load) as u64;
        let packets: Vec<_> = steady(0, 60_000 * MS, gap_ns, 1000, true).collect();
        let fates = run_packets(&mut queue, &packets, 800);
        let late = || {
            let late = packets.iter().zip(&fates);
            late.filter(|(packet, _)| packet.at_ns > 40_000 * MS)
        };
        let marked = late().filter(|(_, fate)| fate.mark_ns().is_some()).count();
        let dropped = late().filter(|(_, fate)| fate.drop_ns().is_some()).count();
        assert!(
            dropped > 0,
            "marks alone move no packet that does not yield"
        );
        assert_eq!(marked > 0, marks, "{marked} at {load}");
    }
}

/// At a constant probability, the fraction dropped equals the formula.
#[test]
fn drop_fraction_matches_simulated_pie() {
    let rules = Pie::default();
    for probability in [0.003, 0.02, 0.1, 0.3, 0.6, 0.84, 0.95, 1.0] {
        let mut control = PieState::new(&rules);
        let mut random = SplitMix64::new(7);
        // Uses up the burst allowance at a delay above the target.
        for _ in 0..20 {
            control.delay_ns = 20_000_000;
            control.update(&rules, false);
        }
        control.probability = probability;
        let packets = 400_000;
        let dropped = (0..packets).filter(|_| control.drops_early(&rules, false, &mut random));
        let part = dropped.count() as f64 / f64::from(packets);
        let law = rules.drop_fraction(probability);
        // The limit is reached after a whole number of packets, which is more than the formula gives if that
        // number is small.
        let fewer = 1.0 / (1.0 / law + 1.0);
        assert!(
            part < 1.03 * law && part > 0.97 * fewer,
            "{probability}: {part} {law}"
        );
    }
    assert_eq!(rules.drop_fraction(0.0), 0.0);
    assert_eq!(rules.drop_fraction(1.0), 1.0);
}
