//! Langevin function and tiny exponentials for the M/M/1/K inverse. Without calls of the system library they
//! are fast and bit-identical on every machine.

use netflow_units::math::exp_unchecked;

/// Returns e^x − 1 for |x| < 1e-3.
#[inline(always)]
pub(super) fn exp_m1_tiny(x: f64) -> f64 {
    x * (1.0 + x * (1.0 / 2.0 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0)))))
}

/// Langevin function L(y) = coth y − 1/y, with its derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Langevin {
    pub value: f64,
    /// Derivative 1 − L² − 2L/y.
    pub slope: f64,
    pub curvature: f64,
    /// 1/expm1(2y) = (coth y − 1)/2.
    pub mean: f64,
}

impl Langevin {
    /// Computes it for 0 < y < ∞.
    #[inline(always)]
    pub fn new(y: f64) -> Langevin {
        Langevin::with_inverse(y, 1.0 / y)
    }

    /// Computes it with a given `inverse` = 1/y.
    #[inline(always)]
    pub fn with_inverse(y: f64, inverse: f64) -> Langevin {
        // Continued fraction y/(3 + y²/(5 + y²/(7 + …))), up to the term of 13.
        let z = y * y;
        let above = 45_045.0 + z * (2772.0 + z * 27.0);
        let below = 135_135.0 + z * (17_325.0 + z * (378.0 + z));
        let (value, mean) = if y < 0.4 {
            let value = y * (above / below);
            (value, 0.5 * (value + inverse - 1.0))
        } else {
            // Beyond this limit e^(−2y) underflows.
            let p = if y < 354.0 {
                exp_unchecked(-2.0 * y)
            } else {
                0.0
            };
            let mean = p / (1.0 - p);
            (2.0 * mean + (1.0 - inverse), mean)
        };
        let slope = 1.0 - value * (value + 2.0 * inverse);
        let curvature = 2.0 * (inverse * (value * inverse - slope) - value * slope);
        Langevin {
            value,
            slope,
            curvature,
            mean,
        }
    }
}

/// Returns the inverse of the Langevin function for 0 ≤ u < 0.96, with a relative error below 2e-5.
///
/// Polynomial fit in u² of y(1−u²)/u, which ranges from 3 to 2.
#[inline(always)]
pub(super) fn inverse_langevin(u: f64) -> f64 {
    let v = u * u;
    let v2 = v * v;
    let v4 = v2 * v2;
    let a = 3.000_029_553_590 - 1.205_153_096_631_4 * v;
    let b = 0.042_375_710_630_2 - 1.480_731_882_457_7 * v;
    let c = 8.084_217_713_645_4 - 22.018_554_042_126_3 * v;
    let d = 33.675_805_210_180_9 - 25.636_179_612_974_8 * v;
    let fit = (a + v2 * b) + v4 * ((c + v2 * d) + v4 * 7.541_740_071_180_7);
    fit * (u / (1.0 - v)) // the division runs in parallel with the fit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(found: f64, wanted: f64) -> f64 {
        ((found - wanted) / wanted).abs()
    }

    #[test]
    fn exp_m1_tiny_matches_std() {
        for i in -200_000..200_000_i32 {
            let tiny = f64::from(i) * 5e-9 + 1e-15;
            assert!(error(exp_m1_tiny(tiny), tiny.exp_m1()) < 5e-16, "{tiny}");
        }
    }

    /// Above 1 it agrees with the textbook forms, which do not cancel there; below, with the power series y/3
    /// − y³/45 + 2y⁵/945 − y⁷/4725 + …
    #[test]
    fn langevin_matches_closed_form_and_series() {
        for i in 1..100_000_u32 {
            let y = f64::from(i) * 3e-3;
            let l = Langevin::new(y);
            let mean = 1.0 / (2.0 * y).exp_m1();
            assert!(error(l.mean, mean) < 2e-14, "{y}");
            if y > 1.0 {
                assert!(error(l.value, 1.0 / y.tanh() - 1.0 / y) < 1e-15, "{y}");
                let slope = 1.0 / (y * y) - 1.0 / (y.sinh() * y.sinh());
                let curvature = 2.0 * y.cosh() / y.sinh().powi(3) - 2.0 / y.powi(3);
                assert!((l.slope - slope).abs() < 4e-15, "{y} {l:?} {slope}");
                assert!(
                    (l.curvature - curvature).abs() < 1e-14,
                    "{y} {l:?} {curvature}"
                );
            }
            let y = f64::from(i) * 3e-6;
            let z = y * y;
            let l = Langevin::new(y);
            let series = y
                * (1.0 / 3.0
                    - z * (1.0 / 45.0
                        - z * (2.0 / 945.0
                            - z * (1.0 / 4725.0
                                - z * (2.0 / 93_555.0 - z * 1_382.0 / 638_512_875.0)))));
            let slope = 1.0 / 3.0
                - z * (3.0 / 45.0
                    - z * (10.0 / 945.0
                        - z * (7.0 / 4725.0
                            - z * (18.0 / 93_555.0 - z * 15_202.0 / 638_512_875.0))));
            assert!(
                error(l.value, series) < 1e-8 * z * z * z + 5e-16,
                "{y} {l:?} {series}"
            );
            assert!(
                (l.slope - slope).abs() < 1e-7 * z * z * z + 1e-15,
                "{y} {l:?} {slope}"
            );
        }
    }

    #[test]
    fn inverse_langevin_is_accurate_to_2e_5() {
        for i in 1..96_000_u32 {
            let u = f64::from(i) * 1e-5;
            let y = inverse_langevin(u);
            let l = Langevin::new(y);
            let miss = (l.value - u) / (l.slope * y);
            assert!(miss.abs() < 2e-5, "{u} {miss}");
        }
    }
}
