//! Simulation of one trial.

use rand::Rng;

use super::super::RtoChain;
use super::super::ladder::Ladder;

/// A chain, prepared for simulation.
///
/// Packets that arrive at their first send cost no time. The number of packets until the next loss is
/// therefore drawn at once, and so is the number of further losses of that packet. Both are geometric, so
/// the distribution is that of the chain. A lost packet needs two random numbers, instead of one for every
/// send.
pub(super) struct Player {
    packets: u64,
    probability: f64,
    loss: f64,
    /// 1/ln(1−p) and 1/ln p.
    per_log_arrives: f64,
    per_log_lost: f64,
    initial: Climb,
    base: Climb,
}

/// The result of a trial.
pub(super) struct Played {
    pub timeouts_s: f64,
    pub sends: u64,
}

impl Player {
    pub fn new(chain: &RtoChain) -> Self {
        let ladder = Ladder::new(&chain.timers);
        let timers_s = ladder.timers_s();
        let climb = |rungs: std::ops::Range<usize>| {
            Climb::new(timers_s.get(rungs).unwrap_or(&[]), chain.timers.max_s)
        };
        Self {
            packets: chain.packets,
            probability: chain.probability,
            loss: chain.loss,
            per_log_arrives: 1.0 / libm::log1p(-chain.loss),
            per_log_lost: 1.0 / libm::log(chain.loss),
            initial: climb(0..ladder.base),
            base: climb(ladder.base..ladder.top()),
        }
    }

    pub fn play(&self, rng: &mut impl Rng) -> Played {
        let mut played = Played {
            timeouts_s: 0.0,
            sends: 0,
        };
        if self.probability < 1.0 && uniform(rng) > self.probability {
            return played;
        }
        if self.loss == 0.0 {
            played.sends = self.packets;
            return played;
        }
        let mut left = self.packets;
        let mut climb = &self.initial;
        let mut rung = 0;
        loop {
            let arrived = (libm::log(uniform(rng)) * self.per_log_arrives) as u64;
            if arrived >= left {
                played.sends += left;
                return played;
            }
            if arrived > 0 {
                (climb, rung) = (&self.base, 0);
            }
            // The next packet is lost at its first send, and possibly at some resends.
            let mut losses = 1;
            let again = uniform(rng);
            if again <= self.loss {
                losses += (libm::log(again) * self.per_log_lost) as u64;
            }
            played.timeouts_s += climb.time_s(rung, losses);
            rung = rung.saturating_add(losses);
            played.sends += arrived + losses + 1;
            left -= arrived + 1;
            if left == 0 {
                return played;
            }
        }
    }
}

/// Returns a uniform random number from 0 (excluded) to 1 (included).
fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Cumulative sums of a sequence of timers.
struct Climb {
    /// The total time of the first n timeouts, by n.
    sums_s: Vec<f64>,
    max_s: f64,
}

impl Climb {
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

    fn sum_s(&self, rung: u64) -> f64 {
        match self.sums_s.get(rung as usize) {
            Some(&sum_s) => sum_s,
            None => {
                let beyond = rung - (self.sums_s.len() as u64 - 1);
                self.sums_s.last().copied().unwrap_or(0.0) + beyond as f64 * self.max_s
            }
        }
    }
}
