//! Random numbers: the same bits on every machine.

/// What the numbers are drawn for: a marker and a dropper of one seed draw different ones.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Marking = 1,
    Dropping = 2,
}

/// SplitMix64 (Steele, Lea & Flood 2014): the scrambled count of the numbers drawn.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    count: u64,
}

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    pub fn new(seed: u64, purpose: Purpose) -> Random {
        // Scrambled, so that neighbouring seeds start far from each other.
        let count = scramble(scramble(seed.wrapping_add(STRIDE)).wrapping_add(purpose as u64));
        Random { count }
    }

    /// The next number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.count = self.count.wrapping_add(STRIDE);
        (scramble(self.count) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[inline]
fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Random, STRIDE, scramble};

    /// The first numbers of SplitMix64 from 1234567, as published with it and tested by
    /// everybody who has written it since.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let published = [
            6_457_827_717_110_365_317_u64,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut count = 1_234_567_u64;
        for wanted in published {
            count = count.wrapping_add(STRIDE);
            assert_eq!(scramble(count), wanted);
        }
    }

    /// Of n numbers, each tenth holds n/10 with a standard deviation of √(0.09 n); the means of
    /// neighbouring streams' products are 1/4 with one of √(7/144/n).
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
