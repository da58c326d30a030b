//! Random numbers: one stream for each user, so that no user's depend on another's.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What numbers are drawn for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// When users come.
    Arrivals,
    /// What the user of this number does.
    Session(u64),
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(match purpose {
            Purpose::Arrivals => 0,
            Purpose::Session(number) => number.wrapping_add(1),
        });
        Self(rng)
    }

    /// The next number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }
}
