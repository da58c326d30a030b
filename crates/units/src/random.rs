//! Pseudo-random numbers with the same bits on every machine.

/// Increment of the counter: 2⁶⁴ divided by the golden ratio, made odd.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 generator (Steele, Lea & Flood 2014): a hash of a counter. Its state is small and its
/// quality sufficient for random packet loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    count: u64,
}

impl SplitMix64 {
    /// Creates a generator whose numbers depend on `seed` only.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { count: seed }
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.count = self.count.wrapping_add(STRIDE);
        hash_mix(self.count)
    }

    /// Returns the next number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// Returns the bijective hash finalizer of SplitMix64: every input bit affects all output bits.
#[inline]
pub fn hash_mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The first numbers of SplitMix64 for seed 1234567, as published and tested by other
    /// implementations.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let published = [
            6_457_827_717_110_365_317_u64,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut random = SplitMix64::new(1_234_567);
        for wanted in published {
            assert_eq!(random.bits(), wanted);
        }
    }
}
