//! Packet schedulers for several queues of one link: strict priority, weighted fair queueing (WFQ) and HTB.

use std::collections::VecDeque;

use crate::htb::{Htb, HtbTree};

/// Scheduling discipline of the queues of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Strict priority without preemption: a queue is served when all queues before it are empty.
    Priority,
    /// Weighted fair queueing: each backlogged queue receives bandwidth in proportion to its weight, and
    /// shares the bandwidth that others do not use in the same proportion.
    Wfq,
    /// Hierarchical token bucket: each class has a guaranteed rate and a ceiling.
    Htb(HtbTree),
}

impl Scheduler {
    /// Returns the number of bits sent until the waiting packets of `queue` have been sent, if no more
    /// arrive. For [`Scheduler::Wfq`] the queues are served simultaneously (GPS). `None` for [`Scheduler::Htb`], whose
    /// order depends on its tokens.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn bits_until_sent(
        &self,
        queue: usize,
        waiting_bits: &[f64],
        weights: &[f64],
    ) -> Option<f64> {
        let bits = match self {
            Scheduler::Priority => waiting_bits[..=queue].iter().sum(),
            Scheduler::Wfq => {
                let of_weight_1 = waiting_bits[queue] / weights[queue];
                let each = waiting_bits.iter().zip(weights);
                each.map(|(bits, weight)| bits.min(weight * of_weight_1))
                    .sum()
            }
            Scheduler::Htb(_) => return None,
        };
        Some(bits)
    }
}

/// Packet scheduler of several queues.
///
/// WFQ is packet-by-packet generalized processor sharing (PGPS; Parekh and Gallager 1993, section 3). It
/// sends the packet that would finish first if all backlogged queues were served simultaneously, bit by bit,
/// by weight (GPS). A packet departs later than under GPS by at most the service time of the largest packet
/// (their Theorem 1).
///
/// ```
/// use netflow_queues::{Scheduler, PacketScheduler};
///
/// // Two queues; the second has twice the weight. Four packets of 1000 bits wait in each.
/// let mut scheduler = PacketScheduler::new(&Scheduler::Wfq, &[1.0, 2.0], 1e6);
/// for _ in 0..4 {
///     scheduler.enqueue(0, 0, 1000.0);
///     scheduler.enqueue(0, 1, 1000.0);
/// }
/// let sent: Vec<usize> = std::iter::from_fn(|| scheduler.dequeue(0)).collect();
/// assert_eq!(sent, [1, 0, 1, 1, 0, 1, 0, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct PacketScheduler {
    /// Number of waiting packets of each queue.
    waiting: Vec<usize>,
    order: Order,
}

/// Order in which the queues are served.
#[derive(Clone, Debug)]
enum Order {
    Priority,
    Wfq(GpsReference),
    Htb(Box<Htb>),
}

impl PacketScheduler {
    /// Returns a scheduler with empty queues, one per weight (positive; only [`Scheduler::Wfq`] uses it), for a link of
    /// `bandwidth_bps` bit/s.
    ///
    /// # Panics
    /// If a class of HTB [is invalid](HtbTree::first_invalid).
    pub fn new(scheduler: &Scheduler, weights: &[f64], bandwidth_bps: f64) -> PacketScheduler {
        PacketScheduler {
            waiting: vec![0; weights.len()],
            order: match scheduler {
                Scheduler::Priority => Order::Priority,
                Scheduler::Wfq => Order::Wfq(GpsReference::new(weights, bandwidth_bps)),
                Scheduler::Htb(tree) => Order::Htb(Box::new(Htb::new(tree))),
            },
        }
    }

    /// Adds a packet of `bits` bits to a queue.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn enqueue(&mut self, now_ns: u64, queue: usize, bits: f64) {
        self.waiting[queue] += 1;
        match &mut self.order {
            Order::Priority => {}
            Order::Wfq(gps) => gps.enqueue(now_ns, queue, bits),
            Order::Htb(htb) => htb.set_backlogged(now_ns, queue, true),
        }
    }

    /// Returns the earliest time in ns at which a queue may send, if no more packets arrive; 0 for a scheduler that
    /// always sends, `u64::MAX` if no packet waits.
    #[inline]
    pub fn ready_ns(&self) -> u64 {
        match &self.order {
            _ if self.is_empty() => u64::MAX,
            Order::Priority | Order::Wfq(_) => 0,
            Order::Htb(htb) => htb.ready_ns(),
        }
    }

    /// Removes the next packet to send and returns its queue, or `None` if no queue may send now. Ties go to
    /// the first queue. [`PacketScheduler::record_sent`] must follow.
    pub fn dequeue(&mut self, now_ns: u64) -> Option<usize> {
        let queue = match &mut self.order {
            Order::Priority => self.waiting.iter().position(|&n| n > 0)?,
            Order::Wfq(gps) => {
                let queue = gps.first()?;
                gps.dequeue(queue);
                queue
            }
            Order::Htb(htb) => htb.choose(now_ns)?,
        };
        self.waiting[queue] -= 1;
        Some(queue)
    }

    /// Records the bytes of the packet that a queue sends in its turn; `None` if it dropped all its packets instead.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn record_sent(&mut self, now_ns: u64, queue: usize, bytes: Option<u32>) {
        if let Order::Htb(htb) = &mut self.order {
            htb.record_sent(now_ns, bytes);
            htb.set_backlogged(now_ns, queue, self.waiting[queue] > 0);
        }
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.iter().all(|&n| n == 0)
    }

    /// Removes `packets` packets that a queue has dropped. GPS removes the packets that it would serve last.
    ///
    /// # Panics
    /// If there is no such queue, or fewer packets wait in it.
    pub fn dropped(&mut self, now_ns: u64, queue: usize, packets: usize) {
        self.waiting[queue] -= packets;
        match &mut self.order {
            Order::Priority => {}
            Order::Wfq(gps) => gps.dropped(now_ns, queue, packets),
            Order::Htb(htb) => htb.set_backlogged(now_ns, queue, self.waiting[queue] > 0),
        }
    }

    /// Empties all queues, as when the link fails.
    pub fn clear(&mut self, now_ns: u64) {
        self.waiting.fill(0);
        match &mut self.order {
            Order::Priority => {}
            Order::Wfq(gps) => gps.clear(),
            Order::Htb(htb) => {
                for queue in 0..self.waiting.len() {
                    htb.set_backlogged(now_ns, queue, false);
                }
            }
        }
    }

    /// Changes the bandwidth from `now_ns` on.
    pub fn set_bandwidth(&mut self, now_ns: u64, bandwidth_bps: f64) {
        if let Order::Wfq(gps) = &mut self.order {
            gps.advance(now_ns);
            gps.bits_per_ns = bandwidth_bps * 1e-9;
        }
    }
}

/// GPS reference system. Virtual time is the service of a queue of weight 1 in bits.
#[derive(Clone, Debug)]
struct GpsReference {
    queues: Vec<GpsQueue>,
    bits_per_ns: f64,
    virtual_time: f64,
    now_ns: u64,
}

/// A queue of the GPS reference system.
#[derive(Clone, Debug)]
struct GpsQueue {
    weight: f64,
    /// Virtual finish times of the waiting packets under GPS.
    finish: VecDeque<f64>,
    /// Virtual finish times of the last packet sent and of the last packet that arrived.
    last_departed_finish: f64,
    last_arrived_finish: f64,
}

impl GpsReference {
    fn new(weights: &[f64], bandwidth_bps: f64) -> GpsReference {
        let gps_queue = |&weight: &f64| GpsQueue {
            weight,
            finish: VecDeque::new(),
            last_departed_finish: 0.0,
            last_arrived_finish: 0.0,
        };
        GpsReference {
            queues: weights.iter().map(gps_queue).collect(),
            bits_per_ns: bandwidth_bps * 1e-9,
            virtual_time: 0.0,
            now_ns: 0,
        }
    }

    /// Advances virtual time to `now_ns`. It runs faster if fewer queues are backlogged under GPS.
    fn advance(&mut self, now_ns: u64) {
        let mut left_bits = now_ns.saturating_sub(self.now_ns) as f64 * self.bits_per_ns;
        self.now_ns = self.now_ns.max(now_ns);
        loop {
            let (mut weights, mut next) = (0.0, f64::INFINITY);
            for queue in &self.queues {
                if queue.last_arrived_finish > self.virtual_time {
                    weights += queue.weight;
                    next = queue.last_arrived_finish.min(next);
                }
            }
            if weights == 0.0 {
                return;
            }
            let bits = (next - self.virtual_time) * weights;
            if bits > left_bits {
                self.virtual_time += left_bits / weights;
                return;
            }
            left_bits -= bits;
            self.virtual_time = next;
        }
    }

    fn enqueue(&mut self, now_ns: u64, queue: usize, bits: f64) {
        self.advance(now_ns);
        if self.is_idle() {
            // Restarting at 0 limits rounding errors.
            self.virtual_time = 0.0;
            for queue in &mut self.queues {
                (queue.last_departed_finish, queue.last_arrived_finish) = (0.0, 0.0);
            }
        }
        let queue = &mut self.queues[queue];
        let begins = queue.last_arrived_finish.max(self.virtual_time);
        queue.last_arrived_finish = begins + bits / queue.weight;
        queue.finish.push_back(queue.last_arrived_finish);
    }

    fn dequeue(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        queue.last_departed_finish = queue
            .finish
            .pop_front()
            .unwrap_or(queue.last_departed_finish);
    }

    fn dropped(&mut self, now_ns: u64, queue: usize, packets: usize) {
        self.advance(now_ns);
        let queue = &mut self.queues[queue];
        queue.finish.truncate(queue.finish.len() - packets);
        queue.last_arrived_finish = queue
            .finish
            .back()
            .copied()
            .unwrap_or(queue.last_departed_finish);
    }

    fn clear(&mut self) {
        self.virtual_time = 0.0;
        for queue in &mut self.queues {
            queue.finish.clear();
            (queue.last_departed_finish, queue.last_arrived_finish) = (0.0, 0.0);
        }
    }

    fn is_idle(&self) -> bool {
        let idle = |queue: &GpsQueue| {
            queue.finish.is_empty() && queue.last_arrived_finish <= self.virtual_time
        };
        self.queues.iter().all(idle)
    }

    /// Returns the queue with the earliest virtual finish time.
    fn first(&self) -> Option<usize> {
        let heads = self.queues.iter().enumerate();
        let heads = heads.filter_map(|(i, queue)| Some((i, *queue.finish.front()?)));
        let earlier = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
        heads.reduce(earlier).map(|(i, _)| i)
    }
}

#[cfg(test)]
mod tests {
    use netflow_units::SplitMix64;

    use super::*;

    /// A packet with its arrival time, queue and size.
    #[derive(Clone, Copy, Debug)]
    struct Packet {
        arrives_ns: u64,
        queue: usize,
        bits: f64,
    }

    fn random_packets(random: &mut SplitMix64, queues: usize, n: usize) -> Vec<Packet> {
        let mut now_ns = 0;
        let mut each = || {
            let of = |random: &mut SplitMix64, most: u64| random.bits() % most;
            // Many simultaneous arrivals, and pauses.
            now_ns += match of(random, 10) {
                0 => of(random, 40_000_000),
                1..=6 => of(random, 4_000_000),
                _ => 0,
            };
            Packet {
                arrives_ns: now_ns,
                queue: of(random, queues as u64) as usize,
                bits: 8.0 * (40 + of(random, 1461)) as f64,
            }
        };
        (0..n).map(|_| each()).collect()
    }

    /// Returns the departure time of each packet from a link that changes its bandwidth once, at `at_ns`.
    fn departure_times_ns(
        packets: &[Packet],
        scheduler: &mut PacketScheduler,
        bandwidths: [f64; 2],
        at_ns: u64,
    ) -> Vec<u64> {
        let queues = scheduler.waiting.len();
        let mut waiting = vec![VecDeque::new(); queues];
        let mut sent = vec![0; packets.len()];
        let (mut free_ns, mut changed, mut sending) = (0, false, None);
        let mut arriving = packets.iter().enumerate().peekable();
        loop {
            let next_ns = arriving.peek().map(|(_, packet)| packet.arrives_ns);
            let due_ns = (!scheduler.is_empty()).then_some(free_ns);
            let now_ns = match (next_ns, due_ns) {
                (None, None) => u64::MAX,
                (a, b) => a.unwrap_or(u64::MAX).min(b.unwrap_or(u64::MAX)),
            };
            if now_ns >= at_ns && !changed {
                scheduler.set_bandwidth(at_ns, bandwidths[1]);
                changed = true;
                if let Some(i) = sending.filter(|_| free_ns > at_ns) {
                    let left_ns = (free_ns - at_ns) as f64 * bandwidths[0] / bandwidths[1];
                    free_ns = at_ns + left_ns.round() as u64;
                    sent[i] = free_ns;
                }
                continue;
            }
            if now_ns == u64::MAX {
                return sent;
            }
            if due_ns.is_some_and(|due_ns| due_ns == now_ns && next_ns != Some(now_ns)) {
                let queue = scheduler.dequeue(0).unwrap();
                let i: usize = waiting[queue].pop_front().unwrap();
                let bps = bandwidths[usize::from(changed)];
                free_ns = now_ns + (packets[i].bits / bps * 1e9).round() as u64;
                sent[i] = free_ns;
                sending = Some(i);
                continue;
            }
            let (i, packet) = arriving.next().unwrap();
            free_ns = free_ns.max(now_ns);
            scheduler.enqueue(now_ns, packet.queue, packet.bits);
            waiting[packet.queue].push_back(i);
        }
    }

    /// Computes the departure times under GPS. Rates are constant between arrivals, departures and the change
    /// of bandwidth, so the steps are exact.
    fn gps_departure_times_ns(
        packets: &[Packet],
        weights: &[f64],
        bandwidths: [f64; 2],
        at_ns: f64,
    ) -> Vec<f64> {
        let mut left: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); weights.len()];
        let mut done = vec![0.0; packets.len()];
        let (mut now, mut next) = (0.0, 0);
        loop {
            let busy = |q: &usize| !left[*q].is_empty();
            let sum: f64 = (0..weights.len()).filter(busy).map(|q| weights[q]).sum();
            let bps = bandwidths[usize::from(now >= at_ns)] * 1e-9;
            let arrival = packets.get(next).map(|packet| packet.arrives_ns as f64);
            if sum == 0.0 && arrival.is_none() {
                return done;
            }
            let end = |q: usize| {
                left[q]
                    .front()
                    .map(|&(_, bits)| bits / (bps * weights[q] / sum))
            };
            let first_end = (0..weights.len())
                .filter_map(end)
                .fold(f64::INFINITY, f64::min);
            let mut until = (now + first_end).min(arrival.unwrap_or(f64::INFINITY));
            if now < at_ns {
                until = until.min(at_ns);
            }
            for (queue, weight) in left.iter_mut().zip(weights) {
                if let Some((i, bits)) = queue.front_mut() {
                    *bits -= (until - now) * bps * weight / sum;
                    if *bits < 1e-6 {
                        done[*i] = until;
                        queue.pop_front();
                    }
                }
            }
            now = until;
            if arrival == Some(now) {
                left[packets[next].queue].push_back((next, packets[next].bits));
                next += 1;
            }
        }
    }

    /// Theorem 1 of Parekh and Gallager on 300 random arrival patterns at up to five queues, with and without
    /// a change of bandwidth. Some packets depart close to the bound.
    #[test]
    fn pgps_exceeds_gps_departure_by_at_most_one_packet() {
        let random = &mut SplitMix64::new(7);
        let largest_bits = 8.0 * 1500.0;
        let mut nearest: f64 = 0.0;
        for case in 0..300 {
            let queues = 1 + (random.bits() % 5) as usize;
            let weights: Vec<f64> = (0..queues)
                .map(|_| 1.0 + (random.bits() % 9) as f64)
                .collect();
            let bandwidths = match case % 2 {
                0 => [1e6, 1e6],
                _ => [1e6, 3e6],
            };
            let at_ns = 300_000_000;
            let packets = random_packets(random, queues, 400);
            let mut scheduler = PacketScheduler::new(&Scheduler::Wfq, &weights, bandwidths[0]);
            let sent = departure_times_ns(&packets, &mut scheduler, bandwidths, at_ns);
            let gps = gps_departure_times_ns(&packets, &weights, bandwidths, at_ns as f64);
            // Each transmission is rounded to a whole nanosecond.
            let allowed = largest_bits / bandwidths[0] * 1e9 + 400.0;
            for (i, (&sent, gps)) in sent.iter().zip(gps).enumerate() {
                let late = sent as f64 - gps;
                assert!(late <= allowed, "case {case}, packet {i}: {late} ns late");
                nearest = nearest.max(late / allowed);
            }
        }
        assert!(nearest > 0.8, "{nearest}");
    }

    /// Backlogged queues share the bandwidth by weight, to within one packet.
    #[test]
    fn backlogged_queues_share_by_weight() {
        let mut scheduler = PacketScheduler::new(&Scheduler::Wfq, &[2.0, 1.0, 5.0], 1e9);
        for (queue, bits) in [(0, 12_000.0), (1, 1600.0), (2, 8000.0)] {
            (0..100_000).for_each(|_| scheduler.enqueue(0, queue, bits));
        }
        let mut bits = [0.0_f64; 3];
        for _ in 0..50_000 {
            let queue = scheduler.dequeue(0).unwrap();
            bits[queue] += [12_000.0, 1600.0, 8000.0][queue];
        }
        let served = [bits[0] / 2.0, bits[1], bits[2] / 5.0];
        for work in served {
            assert!((work - served[1]).abs() <= 12_000.0, "{served:?}");
        }
    }

    #[test]
    fn higher_weight_drains_sooner() {
        let waiting = [4000.0, 1000.0, 3000.0];
        let bits = |scheduler: Scheduler, queue| {
            scheduler
                .bits_until_sent(queue, &waiting, &[1.0, 2.0, 1.0])
                .unwrap()
        };
        let priority: Vec<f64> = (0..3).map(|q| bits(Scheduler::Priority, q)).collect();
        assert_eq!(priority, [4000.0, 5000.0, 8000.0]);
        // 500 bits of weight 1 until the second queue is empty, 3000 until the third is.
        let wfq: Vec<f64> = (0..3).map(|q| bits(Scheduler::Wfq, q)).collect();
        assert_eq!(wfq, [8000.0, 2000.0, 7000.0]);
    }

    #[test]
    fn priority_serves_the_first_queue_first() {
        let mut scheduler = PacketScheduler::new(&Scheduler::Priority, &[1.0; 3], 1e6);
        for queue in [2, 0, 1, 0, 2] {
            scheduler.enqueue(0, queue, 1000.0);
        }
        scheduler.dropped(0, 2, 1);
        let sent: Vec<usize> = std::iter::from_fn(|| scheduler.dequeue(0)).collect();
        assert_eq!(sent, [0, 0, 1, 2]);
        assert!(scheduler.is_empty());
    }

    /// A dropped packet does not reduce the share of the other queue.
    #[test]
    fn dropped_packets_do_not_count() {
        let mut scheduler = PacketScheduler::new(&Scheduler::Wfq, &[1.0, 1.0], 1e6);
        (0..50).for_each(|_| scheduler.enqueue(0, 0, 1000.0));
        scheduler.dropped(0, 0, 49);
        scheduler.enqueue(0, 1, 1000.0);
        scheduler.enqueue(0, 0, 1000.0);
        scheduler.enqueue(0, 1, 1000.0);
        let sent: Vec<usize> = std::iter::from_fn(|| scheduler.dequeue(0)).collect();
        assert_eq!(sent, [0, 1, 0, 1]);
        scheduler.enqueue(0, 0, 1000.0);
        scheduler.clear(0);
        assert!(scheduler.is_empty() && scheduler.dequeue(0).is_none());
    }
}
