//! Simulation of one trial.

use rand::Rng;

use super::super::RtoChain;
use super::super::backoff::BackoffTimers;

/// A chain, prepared for simulation.
///
/// Packets that arrive at their first send cost no time. The number of packets until the next loss is
/// therefore drawn at once, and so is the number of further losses of that packet. Both are geometric, so
/// the distribution is that of the chain. A lost packet needs two random numbers, instead of one for every
/// send.
pub(super) struct ChainSampler {
    packets: u64,
    probability: f64,
    loss: f64,
    /// 1/ln(1−p) and 1/ln p.
    per_log_arrives: f64,
    per_log_lost: f64,
    initial: TimerSums,
    base: TimerSums,
}

/// The result of a trial.
pub(super) struct ChainSample {
    pub timeouts_s: f64,
    pub sends: u64,
}

impl ChainSampler {
    pub fn new(chain: &RtoChain) -> Self {
        let backoff = BackoffTimers::new(&chain.timers);
        let timers_s = backoff.timers_s();
        let sums = |range: std::ops::Range<usize>| {
            TimerSums::new(timers_s.get(range).unwrap_or(&[]), chain.timers.max_s)
        };
        Self {
            packets: chain.packets,
            probability: chain.probability,
            loss: chain.loss,
            per_log_arrives: 1.0 / libm::log1p(-chain.loss),
            per_log_lost: 1.0 / libm::log(chain.loss),
            initial: sums(0..backoff.base),
            base: sums(backoff.base..backoff.max_index()),
        }
    }

    pub fn sample(&self, rng: &mut impl Rng) -> ChainSample {
        let mut sample = ChainSample {
            timeouts_s: 0.0,
            sends: 0,
        };
        if self.probability < 1.0 && uniform(rng) > self.probability {
            return sample;
        }
        if self.loss == 0.0 {
            sample.sends = self.packets;
            return sample;
        }
        let mut left = self.packets;
        let mut sums = &self.initial;
        let mut index = 0;
        loop {
            let arrived = (libm::log(uniform(rng)) * self.per_log_arrives) as u64;
            if arrived >= left {
                sample.sends += left;
                return sample;
            }
            if arrived > 0 {
                (sums, index) = (&self.base, 0);
            }
            // The next packet is lost at its first send, and possibly at some resends.
            let mut losses = 1;
            let again = uniform(rng);
            if again <= self.loss {
                losses += (libm::log(again) * self.per_log_lost) as u64;
            }
            sample.timeouts_s += sums.time_s(index, losses);
            index = index.saturating_add(losses);
            sample.sends += arrived + losses + 1;
            left -= arrived + 1;
            if left == 0 {
                return sample;
            }
        }
    }
}

/// Returns a uniform random number from 0 (excluded) to 1 (included).
fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Cumulative sums of a sequence of timers.
struct TimerSums {
    /// The total time of the first n timeouts, by n.
    sums_s: Vec<f64>,
    max_s: f64,
}

impl TimerSums {
    /// Returns the sums for these timers, followed by `max_s` for all further timeouts.
    fn new(timers_s: &[f64], max_s: f64) -> Self {
        let timers_s = timers_s.iter().chain(std::iter::repeat_n(&max_s, 16));
        let mut sums_s = vec![0.0];
        sums_s.extend(timers_s.scan(0.0, |sum, timer_s| {
            *sum += timer_s;
            Some(*sum)
        }));
        Self { sums_s, max_s }
    }

    /// Returns the time of `losses` consecutive timeouts that begin at index `from`.
    fn time_s(&self, from: u64, losses: u64) -> f64 {
        self.sum_s(from.saturating_add(losses)) - self.sum_s(from)
    }

    fn sum_s(&self, index: u64) -> f64 {
        match self.sums_s.get(index as usize) {
            Some(&sum_s) => sum_s,
            None => {
                let beyond = index - (self.sums_s.len() as u64 - 1);
                self.sums_s.last().copied().unwrap_or(0.0) + beyond as f64 * self.max_s
            }
        }
    }
}
