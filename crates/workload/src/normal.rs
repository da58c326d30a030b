//! Normal distribution, with the same bits on every platform.

use std::f64::consts::{PI, SQRT_2};

/// Returns the cumulative probability at `z` standard deviations above the mean.
pub(crate) fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// Returns the quantile at `u` in standard deviations; infinite for 0 and 1.
pub(crate) fn quantile(u: f64) -> f64 {
    // Uses the symmetry, because small tail probabilities have full precision.
    if u < 0.5 {
        return -upper_tail_quantile(u);
    }
    upper_tail_quantile(1.0 - u)
}

/// Returns the upper-tail quantile of a probability of at most 0.5.
fn upper_tail_quantile(probability: f64) -> f64 {
    if probability <= 0.0 {
        return f64::INFINITY;
    }
    // Initial value, accurate to 4.5e-4: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23.
    let t = (-2.0 * libm::log(probability)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = t - above / below;
    // Halley's method triples the number of correct digits per iteration.
    for _ in 0..2 {
        let density = libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt();
        let correction = (cdf(-z) - probability) / density;
        z += correction / (1.0 - 0.5 * z * correction);
    }
    z
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    #[test]
    fn quantiles_match_tables() {
        for (u, z) in [
            (0.5, 0.0),
            (0.841_344_746_068_542_9, 1.0),
            (0.975, 1.959_963_984_540_054),
            (1e-9, -5.997_807_015_007_687),
        ] {
            assert!(
                (quantile(u) - z).abs() < 1e-13 * (1.0 + z.abs()),
                "{u}: {}",
                quantile(u)
            );
        }
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
        // By mpmath with 30 digits; statrs has 1e-10 more.
        let value: f64 = 0.230_647_982_534_284_9;
        assert!((cdf(-0.736_714_536_286_439_7) / value - 1.0).abs() < 1e-15);
    }

    proptest! {
        /// Agreement with statrs, also far in the tails. Its own error reaches 1.01e-10.
        #[test]
        fn matches_statrs(u in f64::MIN_POSITIVE..1.0, digits in 1e-3..300.0_f64, z in -30.0..30.0_f64) {
            let normal = Normal::standard();
            for u in [u, 10_f64.powf(-digits)] {
                let (is, should) = (quantile(u), normal.inverse_cdf(u));
                prop_assert!((is - should).abs() < 1e-10 * (1.0 + should.abs()), "{u}: {is} {should}");
                prop_assert!((cdf(is) / u - 1.0).abs() < 1e-11 * (1.0 + is * is), "{u}: {is} {}", cdf(is));
            }
            let (is, should) = (cdf(z), normal.cdf(z));
            prop_assert!((is / should - 1.0).abs() < 1e-9, "{z}: {is} {should}");
        }
    }
}
