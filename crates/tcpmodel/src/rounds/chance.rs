//! What is left to chance in a transfer.

use rand::{Rng, RngExt};

/// What is left to chance in a transfer.
pub(super) trait Chance {
    /// Where a clock is at time 0, from 0 to 1.
    fn phase(&mut self) -> f64;

    /// Is the next packet lost that the opener (0) or the listener (1) sends?
    fn is_lost(&mut self, who: usize) -> bool;
}

/// Every packet is lost independently of all others.
pub(super) struct Independent<R> {
    rng: R,
    /// A packet is lost if 32 random bits are below.
    below: [u64; 2],
}

impl<R: Rng> Independent<R> {
    /// `loss` is the probability for packets of the opener and of the listener.
    pub(super) fn new(rng: R, loss: [f64; 2]) -> Self {
        Self {
            rng,
            below: loss.map(below),
        }
    }

    /// From now on, these are the probabilities.
    pub(super) fn set_loss(&mut self, loss: [f64; 2]) {
        self.below = loss.map(below);
    }
}

/// What 32 random bits are below with a probability.
fn below(loss: f64) -> u64 {
    (loss * 4_294_967_296.0) as u64
}

impl<R: Rng> Chance for Independent<R> {
    fn phase(&mut self) -> f64 {
        self.rng.random()
    }

    fn is_lost(&mut self, who: usize) -> bool {
        let below = self.below.get(who).copied().unwrap_or(0);
        u64::from(self.rng.next_u32()) < below
    }
}
