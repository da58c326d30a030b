//! PIE: packets are dropped as they come, with a probability that holds the wait near a target (RFC 8033).

use netflow_units::SplitMix64;

use super::{Line, Waiting};
use crate::Buffer;

/// A proportional integral controller, enhanced: packets are dropped as they arrive with a probability
/// that grows while waits are above a target or get longer (RFC 8033).
///
/// How long the queue is in time is what the packet that left last had waited, and 0 if it left none
/// behind (RFC 8033, section 4.3, by timestamps; the rate of departures is not estimated). It is always
/// active, other than in section 5.3. As in Linux, the probability rises by 2% more while waits are
/// above 250 ms, it decays only while nobody waits, and a packet that finds the buffer full starts the sum of
/// section 5.4 anew. The mean packet size of section 4.1 is the largest packet so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pie {
    /// The wait that it aims at, in ns (RFC 8033, section 4.2, `QDELAY_REF`).
    pub target_ns: u64,
    /// Every so many ns, counted from 0, the probability is computed (RFC 8033, section 4.2,
    /// `T_UPDATE`); one at least.
    pub update_ns: u64,
    /// Change of probability for each second above the target (RFC 8033, section 4.2).
    pub alpha: f64,
    /// Change of probability for each second that waits have grown (RFC 8033, section 4.2).
    pub beta: f64,
    /// A burst after a time without congestion is let through for so many ns (RFC 8033, section 4.4,
    /// `MAX_BURST`).
    pub max_burst_ns: u64,
    /// Whether packets that can be marked are, instead of being dropped (RFC 8033, section 5.1).
    pub ecn: bool,
    /// Above this probability they are dropped all the same (RFC 8033, section 5.1, `MARK_ECNTH`).
    pub mark_ecn_threshold: f64,
}

impl Default for Pie {
    /// What RFC 8033 recommends in sections 4 and 5.1; nothing is marked, as in Linux.
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

/// Below which probability its changes are divided by what (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 6] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (1e-1, 2.0),
];

/// From this probability on it rises by [`MOST_RISE`] at once at most (RFC 8033, section 5.5).
const HIGH: f64 = 0.1;
const MOST_RISE: f64 = 0.02;

/// Longer waits make the probability rise by [`MOST_RISE`] more (Linux).
const LONG_NS: u64 = 250_000_000;

/// What an update leaves of the probability when nobody waits (RFC 8033, section 4.2: 0.98, or this).
const DECAY: f64 = 1.0 - 1.0 / 64.0;

/// Below this probability a short queue is left alone (RFC 8033, section 4.1).
const CALM: f64 = 0.2;

/// The sum of probabilities below which no packet is dropped, and from which one is (RFC 8033,
/// section 5.4).
const SUM: std::ops::Range<f64> = 0.85..8.5;

impl Pie {
    /// The probability `updates` later (RFC 8033, sections 4.2 and 5.5), which may be a part of one: waits were above
    /// the target by `above_s` seconds meanwhile, and became longer by `longer_s` in all; nobody waited at the part `idle` of
    /// the updates, nor at those before them.
    pub fn probability_after(
        &self,
        before: f64,
        updates: f64,
        [above_s, longer_s]: [f64; 2],
        idle: f64,
    ) -> f64 {
        let scale = SCALES.iter().find(|(below, _)| before < *below);
        let mut step = (self.alpha * above_s * updates + self.beta * longer_s)
            / scale.map_or(1.0, |&(_, by)| by);
        if before >= HIGH {
            step = step.min(MOST_RISE * updates);
        }
        if above_s > seconds(LONG_NS, self.target_ns) {
            step += MOST_RISE * updates;
        }
        (before + step).clamp(0.0, 1.0) * libm::pow(DECAY, updates * idle)
    }

    /// The part of packets that is dropped at this probability: between two drops are as many as bring the sum of
    /// section 5.4 to its lower bound, and then as many as chance has it.
    pub fn dropped_at(&self, probability: f64) -> f64 {
        match probability > 0.0 {
            true => probability / (SUM.start.max(probability) + 1.0 - probability),
            false => 0.0,
        }
    }

    /// Whether a queue is so short that none are dropped: the wait at the last update, in ns, and the probability
    /// (RFC 8033, section 4.1).
    pub fn is_calm(&self, wait_ns: f64, probability: f64) -> bool {
        wait_ns < 0.5 * self.target_ns as f64 && probability < CALM
    }
}

/// What PIE computes: everything but the queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Controller {
    pub probability: f64,
    /// How long the queue is in time.
    pub delay_ns: u64,
    /// How long it was at the last update.
    old_delay_ns: u64,
    burst_ns: u64,
    /// Probabilities since the last drop.
    sum: f64,
}

/// a − b in seconds.
fn seconds(a_ns: u64, b_ns: u64) -> f64 {
    (a_ns as f64 - b_ns as f64) / 1e9
}

impl Controller {
    pub fn new(rules: &Pie) -> Controller {
        Controller {
            probability: 0.0,
            delay_ns: 0,
            old_delay_ns: 0,
            burst_ns: rules.max_burst_ns,
            sum: 0.0,
        }
    }

    /// RFC 8033, sections 4.2, 4.4 and 5.5. `idle`: nobody waits.
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
            self.sum = 0.0;
        }
        self.old_delay_ns = delay;
    }

    /// Whether an arriving packet is to be dropped before the buffer is full (RFC 8033, sections 4.1
    /// and 5.4). `few`: there are but two packets or fewer.
    pub fn drops_early(&mut self, rules: &Pie, few: bool, random: &mut SplitMix64) -> bool {
        let calm = rules.is_calm(self.old_delay_ns as f64, self.probability);
        if self.burst_ns > 0 || calm || few {
            return false;
        }
        match self.probability > 0.0 {
            true => self.sum += self.probability,
            false => self.sum = 0.0,
        }
        let drops =
            self.sum >= SUM.end || self.sum >= SUM.start && random.uniform() < self.probability;
        if drops {
            self.sum = 0.0;
        }
        drops
    }
}

/// A queue under PIE.
#[derive(Clone, Debug)]
pub(super) struct Early<P> {
    rules: Pie,
    pub control: Controller,
    pub line: Line<P>,
    random: SplitMix64,
    /// When the probability is computed next.
    next_ns: u64,
    largest: u32,
}

impl<P> Early<P> {
    pub fn new(rules: Pie, random: SplitMix64) -> Early<P> {
        Early {
            rules,
            control: Controller::new(&rules),
            line: Line::default(),
            random,
            next_ns: rules.update_ns.max(1),
            largest: 0,
        }
    }

    /// Makes up for the updates until now: nothing has happened in between.
    #[inline]
    fn catch_up(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns {
            self.update_until(now_ns);
        }
    }

    fn update_until(&mut self, now_ns: u64) {
        let every_ns = self.rules.update_ns.max(1);
        let due = (now_ns - self.next_ns) / every_ns + 1;
        for _ in 0..due {
            let before = self.control.clone();
            self.control.update(&self.rules, self.line.is_empty());
            // The others would change nothing either.
            if self.control == before {
                break;
            }
        }
        self.next_ns = self.next_ns.saturating_add(due.saturating_mul(every_ns));
    }

    pub fn enqueue(&mut self, mut packet: Waiting<P>, room: Buffer, dropped: &mut Vec<P>) {
        self.catch_up(packet.arrived_ns);
        if !self.line.fits(packet.bytes, room) {
            self.control.sum = 0.0;
            dropped.push(packet.packet);
            return;
        }
        self.largest = packet.bytes.max(self.largest);
        let few = self.line.bytes <= 2 * u64::from(self.largest);
        let (rules, control) = (&self.rules, &mut self.control);
        if control.drops_early(rules, few, &mut self.random) {
            if !(rules.ecn && packet.ecn && control.probability <= rules.mark_ecn_threshold) {
                dropped.push(packet.packet);
                return;
            }
            packet.marked = true;
        }
        self.line.push(packet);
    }

    pub fn dequeue(&mut self, now_ns: u64) -> Option<Waiting<P>> {
        self.catch_up(now_ns);
        let packet = self.line.pop()?;
        self.control.delay_ns = match self.line.is_empty() {
            true => 0,
            false => now_ns.saturating_sub(packet.arrived_ns),
        };
        Some(packet)
    }

    pub fn clear(&mut self, dropped: &mut Vec<P>) {
        self.line.clear(dropped);
        self.control = Controller::new(&self.rules);
        self.largest = 0;
    }

    #[cfg(test)]
    pub fn reseed(&mut self, seed: u64) {
        self.random = SplitMix64::new(seed);
    }
}
