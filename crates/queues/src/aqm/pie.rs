//! PIE active queue management: random drops on arrival, with a PI controller for the queueing delay (RFC
//! 8033).

use netflow_units::SplitMix64;

use super::{
    Discipline, DropReason, Drops, FifoQueue, PacketDetails, PacketInfo, Settings, WaitingPacket,
};
use crate::Buffer;

/// Proportional integral controller enhanced. It drops arriving packets with a probability that grows while
/// the queueing delay is above a target or increases (RFC 8033).
///
/// The queueing delay is the sojourn time of the last departed packet, or 0 if it left an empty queue (RFC
/// 8033, section 4.3). It is measured by timestamps; the departure rate is not estimated. PIE is always
/// active, unlike in section 5.3. Three rules follow Linux. The probability rises by an additional 2 % while
/// the delay exceeds 250 ms. It decays only while the queue is empty. A packet that arrives at a full buffer
/// resets the accumulated probability of section 5.4. The largest packet so far replaces the mean packet size
/// of section 4.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pie {
    /// Target queueing delay in ns (RFC 8033, section 4.2, `QDELAY_REF`).
    pub target_ns: u64,
    /// Update interval of the probability in ns, at least 1, counted from time 0 (RFC 8033, section 4.2,
    /// `T_UPDATE`).
    pub update_ns: u64,
    /// Gain per second of delay above the target (RFC 8033, section 4.2).
    pub alpha: f64,
    /// Gain per second of delay increase (RFC 8033, section 4.2).
    pub beta: f64,
    /// Burst allowance in ns after a time without congestion (RFC 8033, section 4.4, `MAX_BURST`).
    pub max_burst_ns: u64,
    /// True to mark ECN-capable packets instead of dropping them (RFC 8033, section 5.1).
    pub ecn: bool,
    /// Probability above which ECN-capable packets are dropped anyway (RFC 8033, section 5.1, `MARK_ECNTH`).
    pub mark_ecn_threshold: f64,
}

impl Default for Pie {
    /// Values that RFC 8033 recommends in sections 4 and 5.1, without marking, as in Linux.
    fn default() -> Pie {
        Pie {
            target_ns: 15_000_000,
            update_ns: 15_000_000,
            alpha: 0.125,
            beta: 1.25,
            max_burst_ns: 150_000_000,
            ecn: false,
            mark_ecn_threshold: 0.1,
        }
    }
}

/// Auto-tuning: (upper limit of the probability, divisor of its change) (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 6] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (1e-1, 2.0),
];

/// Probability from which one update adds at most [`MAX_STEP`] (RFC 8033, section 5.5).
const HIGH_PROBABILITY: f64 = 0.1;
const MAX_STEP: f64 = 0.02;

/// Queueing delay in ns above which an update adds [`MAX_STEP`] (Linux).
const LONG_DELAY_NS: u64 = 250_000_000;

/// Factor per update on the probability of an empty queue (63/64 as in Linux; 0.98 in RFC 8033, section 4.2).
const DECAY: f64 = 1.0 - 1.0 / 64.0;

/// Probability below which a short queue has no drops (RFC 8033, section 4.1).
const SHORT_QUEUE_MAX_PROBABILITY: f64 = 0.2;

/// Accumulated probability below which no packet is dropped, and from which one certainly is (RFC 8033,
/// section 5.4).
const DERANDOMIZATION_BOUNDS: std::ops::Range<f64> = 0.85..8.5;

impl Pie {
    /// Returns the probability after `updates` updates, which may be fractional (RFC 8033, sections 4.2 and
    /// 5.5). The delay was above the target by `above_s` seconds and increased by `increase_s` seconds in
    /// total. The queue was empty at the fraction `idle` of these updates and at those before them.
    pub fn probability_after(
        &self,
        before: f64,
        updates: f64,
        [above_s, increase_s]: [f64; 2],
        idle: f64,
    ) -> f64 {
        let scale = SCALES.iter().find(|(below, _)| before < *below);
        let mut step = (self.alpha * above_s * updates + self.beta * increase_s)
            / scale.map_or(1.0, |&(_, by)| by);
        if before >= HIGH_PROBABILITY {
            step = step.min(MAX_STEP * updates);
        }
        if above_s > seconds(LONG_DELAY_NS, self.target_ns) {
            step += MAX_STEP * updates;
        }
        (before + step).clamp(0.0, 1.0) * libm::pow(DECAY, updates * idle)
    }

    /// Returns the fraction of packets dropped at this probability. Between two drops, packets first
    /// accumulate the lower limit of section 5.4; the number after that is geometrically distributed.
    pub fn drop_fraction(&self, probability: f64) -> f64 {
        if probability > 0.0 {
            probability / (DERANDOMIZATION_BOUNDS.start.max(probability) + 1.0 - probability)
        } else {
            0.0
        }
    }

    /// Returns true if the queue is too short for drops (RFC 8033, section 4.1). `wait_ns` is the delay at
    /// the last update.
    pub fn is_short(&self, wait_ns: f64, probability: f64) -> bool {
        wait_ns < 0.5 * self.target_ns as f64 && probability < SHORT_QUEUE_MAX_PROBABILITY
    }
}

/// PIE state without the queue itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PieState {
    pub probability: f64,
    /// Present queueing delay.
    pub delay_ns: u64,
    /// Queueing delay at the last update.
    old_delay_ns: u64,
    burst_ns: u64,
    /// Accumulated probability since the last drop.
    accumulated_probability: f64,
}

/// Returns a − b in seconds.
fn seconds(a_ns: u64, b_ns: u64) -> f64 {
    (a_ns as f64 - b_ns as f64) / 1e9
}

impl PieState {
    pub fn new(rules: &Pie) -> PieState {
        PieState {
            probability: 0.0,
            delay_ns: 0,
            old_delay_ns: 0,
            burst_ns: rules.max_burst_ns,
            accumulated_probability: 0.0,
        }
    }

    /// Updates the probability and the burst allowance (RFC 8033, sections 4.2, 4.4 and 5.5). `idle`: the
    /// queue is empty.
    pub fn update(&mut self, rules: &Pie, idle: bool) {
        let (delay, old) = (self.delay_ns, self.old_delay_ns);
        let above_s = seconds(delay, rules.target_ns);
        let waits = [above_s, seconds(delay, old)];
        let idle = if idle && delay == 0 && old == 0 {
            1.0
        } else {
            0.0
        };
        self.probability = rules.probability_after(self.probability, 1.0, waits, idle);
        self.burst_ns = self.burst_ns.saturating_sub(rules.update_ns.max(1));
        if self.probability == 0.0 && delay.max(old) < rules.target_ns / 2 {
            self.burst_ns = rules.max_burst_ns;
            self.accumulated_probability = 0.0;
        }
        self.old_delay_ns = delay;
    }

    /// Returns true if an arriving packet is dropped before the buffer is full (RFC 8033, sections 4.1 and
    /// 5.4). `few`: the queue holds at most two maximum packets.
    pub fn drops_early(
        &mut self,
        rules: &Pie,
        is_short_queue: bool,
        random: &mut SplitMix64,
    ) -> bool {
        let short = rules.is_short(self.old_delay_ns as f64, self.probability);
        if self.burst_ns > 0 || short || is_short_queue {
            return false;
        }
        if self.probability > 0.0 {
            self.accumulated_probability += self.probability
        } else {
            self.accumulated_probability = 0.0
        }
        let drops = self.accumulated_probability >= DERANDOMIZATION_BOUNDS.end
            || self.accumulated_probability >= DERANDOMIZATION_BOUNDS.start
                && random.uniform() < self.probability;
        if drops {
            self.accumulated_probability = 0.0;
        }
        drops
    }
}

/// A queue with PIE.
#[derive(Clone, Debug)]
pub(super) struct PieQueue<P> {
    rules: Pie,
    pub state: PieState,
    fifo: FifoQueue<P>,
    random: SplitMix64,
    /// Time of the next update.
    next_update_ns: u64,
    largest: u32,
}

impl<P> PieQueue<P> {
    pub fn new(rules: Pie, seed: u64) -> PieQueue<P> {
        PieQueue {
            rules,
            state: PieState::new(&rules),
            fifo: FifoQueue::default(),
            random: SplitMix64::new(seed),
            next_update_ns: rules.update_ns.max(1),
            largest: 0,
        }
    }

    /// Performs the updates due until now. The queue has not changed since the last call.
    #[inline]
    fn run_due_updates(&mut self, now_ns: u64) {
        if now_ns >= self.next_update_ns {
            self.update_until(now_ns);
        }
    }

    fn update_until(&mut self, now_ns: u64) {
        let every_ns = self.rules.update_ns.max(1);
        let due = (now_ns - self.next_update_ns) / every_ns + 1;
        for _ in 0..due {
            let before = self.state.clone();
            self.state.update(&self.rules, self.fifo.is_empty());
            // Further updates would not change the state either.
            if self.state == before {
                break;
            }
        }
        self.next_update_ns = self
            .next_update_ns
            .saturating_add(due.saturating_mul(every_ns));
    }
}

impl Settings for Pie {
    fn marks(&self) -> bool {
        self.ecn
    }
}

impl<P> Discipline<P> for PieQueue<P> {
    fn enqueue(
        &mut self,
        mut packet: WaitingPacket<P>,
        _info: &PacketInfo,
        _details: impl FnOnce() -> PacketDetails,
        buffer: Buffer,
        dropped: &mut impl Drops<P>,
    ) {
        self.run_due_updates(packet.arrived_ns);
        if !self.fifo.fits(packet.bytes, buffer) {
            self.state.accumulated_probability = 0.0;
            dropped.record(packet.packet, DropReason::BufferFull);
            return;
        }
        self.largest = packet.bytes.max(self.largest);
        let few = self.fifo.bytes <= 2 * u64::from(self.largest);
        let (rules, state) = (&self.rules, &mut self.state);
        if state.drops_early(rules, few, &mut self.random)
            && !(rules.ecn && state.probability <= rules.mark_ecn_threshold && packet.mark())
        {
            dropped.record(packet.packet, DropReason::Early);
            return;
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut impl Drops<P>) -> Option<WaitingPacket<P>> {
        self.run_due_updates(now_ns);
        let packet = self.fifo.pop()?;
        self.state.delay_ns = if self.fifo.is_empty() {
            0
        } else {
            now_ns.saturating_sub(packet.arrived_ns)
        };
        Some(packet)
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }

    fn clear(&mut self, _now_ns: u64, dropped: &mut Vec<P>) {
        self.fifo.clear(dropped);
        self.state = PieState::new(&self.rules);
        self.largest = 0;
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &WaitingPacket<P>> + '_> {
        Box::new(self.fifo.iter())
    }

    fn drop_probability(&self) -> f64 {
        self.state.probability
    }

    #[cfg(test)]
    fn reseed(&mut self, seed: u64) {
        self.random = SplitMix64::new(seed);
    }
}
