//! Random number streams, identical on every platform.

use netflow_units::{SplitMix64, hash_mix};

/// Purpose of a stream: a marker and a dropper with the same seed draw different numbers.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Marking = 1,
    Dropping = 2,
}

/// Random number stream of one purpose.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64, purpose: Purpose) -> Random {
        // Hashed, so that adjacent seeds give distant states.
        let first = SplitMix64::new(seed).bits();
        Random(SplitMix64::new(hash_mix(
            first.wrapping_add(purpose as u64),
        )))
    }

    /// Returns the next number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Random};

    /// Each tenth of n numbers contains n/10 with a standard deviation of √(0.09 n). The mean product of two
    /// streams is 1/4 with a standard deviation of √(7/144/n).
    #[test]
    fn numbers_are_even_and_streams_apart() {
        let n = 1_000_000;
        let mut tenths = [0_u32; 10];
        let mut one = Random::new(7, Purpose::Marking);
        let mut other = Random::new(7, Purpose::Dropping);
        let mut next = Random::new(8, Purpose::Marking);
        let (mut purposes, mut seeds) = (0.0, 0.0);
        for _ in 0..n {
            let u = one.uniform();
            assert!((0.0..1.0).contains(&u));
            tenths[(10.0 * u) as usize] += 1;
            purposes += u * other.uniform();
            seeds += u * next.uniform();
        }
        let n = f64::from(n);
        for count in tenths {
            assert!((f64::from(count) - n / 10.0).abs() < 5.0 * (0.09 * n).sqrt());
        }
        for mean in [purposes / n, seeds / n] {
            assert!((mean - 0.25).abs() < 5.0 * (7.0 / 144.0 / n).sqrt());
        }
    }
}
