//! The inverse where most calls are: both ends of the buffer are felt, and the mean is not small.
//!
//! With L the Langevin function coth y − 1/y and y = (K+1)a/2, r = 1/(K+1), the mean m(−a) obeys
//!
//! > L(y) − r L(ry) = (K − 2m)/(K+1),
//!
//! whose second term is small: r L(ry) ≈ r²y/3. Blocking is a matter of c(y) = coth y alone:
//! B(−a) = (c(y) − 1)/(c(ry) − 1), B(a) = (c(y) + 1)/(c(ry) + 1). So one exponential (none for
//! small y) evaluates everything, and Halley's iteration, which is exact for the L = 1 − 1/y of
//! large y, is done after one round from a start that is good to 2e-5.

use super::math::{Langevin, exp_m1_tiny, inverse_langevin};

/// Above this K·a the far end of the buffer is not felt: K²ρ^K is below rounding.
pub(super) const FAR: f64 = 40.0;

/// Below this mean, (K − 2m)/(K+1) holds too little of it.
const LEAST_MEAN: f64 = 0.1;

/// The load at which the smaller side (packets or free places) has a given mean.
pub(super) enum Few {
    Near(Near),
    /// This iteration is not for it.
    Far,
}

/// A load at which everything is known, and how far from it the solution lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Half of (K+1)a.
    y: f64,
    /// What is missing to the solution.
    step: f64,
    /// 1/(K+1)
    r: f64,
    /// At y and at ry: 1/expm1((K+1)a), and 1/expm1(a).
    at_k1: f64,
    at_one: f64,
}

impl Few {
    /// The load of the mean `m` ≤ K/2.
    #[inline(always)]
    pub fn of(m: f64, k: f64) -> Few {
        // Not where the far end is not felt (a > 1/(m + ½)), and not for NaN.
        let felt = m >= LEAST_MEAN && k <= FAR * (m + 0.5);
        if !felt {
            return Few::Far;
        }
        let r = 1.0 / (k + 1.0);
        let u = (k - 2.0 * m) * r;
        if u <= 0.0 {
            return Few::Far; // the middle
        }
        // A rough start, p/q, for what the second term takes: r·5x/(15 + x²) at x = rp/q.
        let s = u + u * r * r;
        let s2 = s * s;
        let p = r * (s * (3.0 - s2 * (1.2 + s2 * (0.2 - 0.4 * s2))));
        let q = 1.0 - s2;
        let second = 5.0 * r * p * q / (15.0 * (q * q) + p * p);
        let mut y = inverse_langevin(u + second);
        for _ in 0..8 {
            let inverse = 1.0 / y;
            let (far, near) = (
                Langevin::with_inverse(y, inverse),
                Langevin::with_inverse(r * y, (k + 1.0) * inverse),
            );
            let residual = (far.value - u) - r * near.value;
            let slope = far.slope - r * r * near.slope;
            let curvature = far.curvature - r * r * r * near.curvature;
            let step = -2.0 * residual * slope / (2.0 * slope * slope - residual * curvature);
            // The step is exact to its cube.
            if step.abs() <= 3e-5 * y {
                return Few::Near(Near {
                    y,
                    step,
                    r,
                    at_k1: far.mean,
                    at_one: near.mean,
                });
            }
            y += step;
            if !(y > 0.0 && y < 300.0) {
                break;
            }
        }
        Few::Far
    }
}

impl Near {
    /// a ≥ 0
    pub fn ln_rho(&self) -> f64 {
        2.0 * (self.y + self.step) * self.r
    }

    /// expm1 of what is missing in (K+1)a and in a.
    #[inline(always)]
    fn missing(&self) -> (f64, f64) {
        (
            exp_m1_tiny(2.0 * self.step),
            exp_m1_tiny(2.0 * self.step * self.r),
        )
    }

    /// The blocking at −a if `light`, expm1(a)/expm1((K+1)a), else that at a,
    /// expm1(−a)/expm1(−(K+1)a); moved to the solution by the theorem of addition.
    #[inline(always)]
    pub fn blocking(&self, light: bool) -> f64 {
        let (k1, one) = self.missing();
        let (full_k1, full_one) = (1.0 + self.at_k1, 1.0 + self.at_one);
        let (a, b) = (1.0 + one * full_one, 1.0 + k1 * full_k1);
        // Both are at hand: no branch for what is as likely as not.
        let above = if light {
            self.at_k1
        } else {
            full_k1 * (1.0 + k1)
        };
        let below = if light {
            self.at_one
        } else {
            full_one * (1.0 + one)
        };
        above * a / (below * b)
    }
}
