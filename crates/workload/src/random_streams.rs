//! Random number streams, one per user, so that users are independent of each other.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Purpose of a stream.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Arrival times of users.
    Arrivals,
    /// Behaviour of the user with this number.
    Session(u64),
}

/// A random number stream.
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

    /// Returns the next number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }
}
