//! Logarithm and exponential functions for hot loops.
//!
//! They are within 2 units in the last place of the system's functions (`ln_1p` and `exp_m1` within
//! 4). They use only IEEE additions, multiplications and divisions, so that results have the same
//! bits on every machine. The system's library does not guarantee this. `ln` and `exp` have no
//! branches, so that loops over slices are vectorized. Outside hot loops, use `libm`, which is also
//! bit-reproducible and accepts all numbers.

/// ln 2 in two parts. The first has 32 significant bits, so that its product with an exponent is
/// exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

const MANTISSA: u64 = 0x000F_FFFF_FFFF_FFFF;
/// The bits of a number just below √½: mantissas are in [√½, √2).
const ROOT_HALF: u64 = 0x3FE6_A09E << 32;
const ONE: u64 = 0x3FF0_0000 << 32;

/// 2^52. In this binade the last mantissa bit counts ones, so that adding an integer puts it into
/// the low bits, and vice versa.
const TWO_52: f64 = 4_503_599_627_370_496.0;
/// 1.5·2^52: the same for integers of either sign.
const ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Returns ln x for a positive, finite, normal `x`.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    // x = 2^k·m with √½ ≤ m < √2.
    let shifted = x.to_bits() + (ONE - ROOT_HALF);
    let k = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let m = f64::from_bits((shifted & MANTISSA) + ROOT_HALF);
    // ln m = 2·artanh(s) = 2s·(1 + z/3 + z²/5 + …), z = s² < 0.0295: twelve terms.
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let a = 1.0 / 3.0 + z * (1.0 / 5.0);
    let b = 1.0 / 7.0 + z * (1.0 / 9.0);
    let c = 1.0 / 11.0 + z * (1.0 / 13.0);
    let d = 1.0 / 15.0 + z * (1.0 / 17.0);
    let e = 1.0 / 19.0 + z * (1.0 / 21.0);
    let series = (a + z2 * b) + z4 * ((c + z2 * d) + z4 * (e + z2 * (1.0 / 23.0)));
    let s2 = s + s;
    k * LN_2_HIGH + (s2 + (s2 * (z * series) + k * LN_2_LOW))
}

/// Threshold below which |x| allows a short series.
const SERIES_LIMIT: f64 = 1.0 / 32.0;

/// Returns ln(1 + x) for finite x ≥ −1; at −1, −708.4. Fast for x near 0.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    if x.abs() < SERIES_LIMIT {
        // 2·artanh(s), z < 0.00025: six terms.
        let s = x / (2.0 + x);
        let z = s * s;
        let series = (1.0 / 3.0 + z * (1.0 / 5.0))
            + (z * z) * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0)));
        return x - s * (x - z * (series + series));
    }
    let sum = 1.0 + x;
    let sum = if sum > f64::MIN_POSITIVE {
        sum
    } else {
        f64::MIN_POSITIVE
    };
    // The rounding error of the sum is small, so that its contribution to the logarithm is linear.
    ln(sum) + (x - (sum - 1.0)) / sum
}

/// Clamps `x` to `low..=high`; NaN becomes `low`.
#[inline(always)]
pub fn clamp(x: f64, low: f64, high: f64) -> f64 {
    // Two instructions, because unlike `f64::max` and `f64::min` this does not check both operands
    // for NaN.
    let x = if x > low { x } else { low };
    if x < high { x } else { high }
}

/// Returns e^x, with x clamped to −708 … 709.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    exp_unchecked(clamp(x, -708.0, 709.0))
}

/// Returns e^x for −708 ≤ x ≤ 709; the result is unspecified outside.
#[inline(always)]
pub fn exp_unchecked(x: f64) -> f64 {
    let (above_one, scale) = reduce_argument(x);
    (1.0 + above_one) * scale
}

/// Returns e^x − 1, with x clamped at 709. Fast for x near 0.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    if x.abs() < SERIES_LIMIT {
        let x2 = x * x;
        let a = 1.0 / 2.0 + x * (1.0 / 6.0);
        let b = 1.0 / 24.0 + x * (1.0 / 120.0);
        let c = 1.0 / 720.0 + x * (1.0 / 5040.0);
        let d = 1.0 / 40_320.0 + x * (1.0 / 362_880.0);
        return x + x2 * ((a + x2 * b) + (x2 * x2) * (c + x2 * d));
    }
    let (above_one, scale) = reduce_argument(clamp(x, -708.0, 709.0));
    above_one * scale + (scale - 1.0)
}

/// Splits e^x into (1 + a)·2^k and returns a and 2^k.
#[inline(always)]
fn reduce_argument(x: f64) -> (f64, f64) {
    // x = k·ln 2 + r with |r| ≤ ln 2 / 2.
    let rounded = x * std::f64::consts::LOG2_E + ROUND_TO_INTEGER;
    let k = rounded - ROUND_TO_INTEGER;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    // Power series up to r^13.
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = 1.0 / 2.0 + r * (1.0 / 6.0);
    let b = 1.0 / 24.0 + r * (1.0 / 120.0);
    let c = 1.0 / 720.0 + r * (1.0 / 5040.0);
    let d = 1.0 / 40_320.0 + r * (1.0 / 362_880.0);
    let e = 1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0);
    let f = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let series = (a + r2 * b) + r4 * ((c + r2 * d) + r4 * (e + r2 * f));
    // 2^k: k is in the low bits of `rounded`, in two's complement; −1021 ≤ k ≤ 1023.
    let scale = f64::from_bits((rounded.to_bits() << 52).wrapping_add(ONE));
    (r + r2 * series, scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(found: f64, wanted: f64) -> f64 {
        if found == wanted {
            0.0
        } else {
            (found / wanted - 1.0).abs()
        }
    }

    #[test]
    fn exact_values_are_reproduced() {
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), exp(-708.0));
        assert_eq!(exp(f64::INFINITY), exp(709.0));
        assert_eq!((exp_m1(0.0), exp_m1(-1e300)), (0.0, -1.0));
        assert_eq!((ln_1p(0.0), ln_1p(-1.0)), (0.0, ln(f64::MIN_POSITIVE)));
        assert!(exp(-708.0) > f64::MIN_POSITIVE && exp(709.0).is_finite());
        for x in [
            f64::MIN_POSITIVE,
            f64::MAX,
            0.5,
            2.0,
            10.0,
            1.0 + f64::EPSILON,
            1.0 - f64::EPSILON,
        ] {
            assert!(error(ln(x), x.ln()) < 5e-16, "{x}: {} {}", ln(x), x.ln());
        }
    }

    #[test]
    fn a_sweep_agrees_with_the_system() {
        for i in 1..200_000_u32 {
            let x = f64::from(i) * 7.1e-5;
            assert!(error(ln(x), x.ln()) < 5e-16, "ln {x}");
            let y = (f64::from(i) - 1e5) * 7e-3;
            assert!(error(exp(y), y.exp()) < 5e-16, "exp {y}");
            let (near_none, some) = (y * 1e-3, x - 1.0);
            for z in [y, near_none, near_none * 1e-6, -x * 1e-9] {
                assert!(
                    error(exp_m1(z), z.exp_m1()) < 8e-16,
                    "exp_m1 {z}: {} {}",
                    exp_m1(z),
                    z.exp_m1()
                );
            }
            for z in [some, some * 1e-3, -x / 15.0, -x * 1e-12] {
                assert!(
                    error(ln_1p(z), z.ln_1p()) < 8e-16,
                    "ln_1p {z}: {} {}",
                    ln_1p(z),
                    z.ln_1p()
                );
            }
        }
    }

    proptest! {
        #[test]
        fn functions_agree_with_the_system(x in f64::MIN_POSITIVE..f64::MAX, small in 1e-12..10.0f64, y in -708.0..709.0f64, size in -300.0..0.0f64) {
            let tiny = 10_f64.powf(size);
            for z in [tiny, -tiny] {
                prop_assert!(error(exp_m1(z), z.exp_m1()) < 8e-16, "exp_m1 {} {} {}", z, exp_m1(z), z.exp_m1());
                prop_assert!(error(ln_1p(z), z.ln_1p()) < 8e-16, "ln_1p {} {} {}", z, ln_1p(z), z.ln_1p());
            }
            prop_assert!(error(exp_m1(y), y.exp_m1()) < 8e-16);
            prop_assert!(error(ln_1p(x), x.ln_1p()) < 8e-16);
            prop_assert!(error(ln(x), x.ln()) < 5e-16);
            prop_assert!(error(ln(small), small.ln()) < 5e-16);
            prop_assert!(error(exp(y), y.exp()) < 5e-16);
        }
    }
}
