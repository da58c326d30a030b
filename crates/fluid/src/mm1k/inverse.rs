//! Fast path of the M/M/1/K inverse, where both ends of the buffer matter and the mean is not small.
//!
//! With L the Langevin function coth y − 1/y and y = (K+1)a/2, r = 1/(K+1), the mean m(−a) obeys
//!
//! > L(y) − r L(ry) = (K − 2m)/(K+1),
//!
//! whose second term is small: r L(ry) ≈ r²y/3. Blocking depends only on c(y) = coth y: B(−a) = (c(y) −
//! 1)/(c(ry) − 1), B(a) = (c(y) + 1)/(c(ry) + 1). One exponential (none for small y) is therefore enough.
//! Halley's method is exact for L = 1 − 1/y of large y, so one iteration from a start accurate to 2e-5
//! suffices.

use super::math::{Langevin, exp_m1_tiny, inverse_langevin};

/// Value of K·a above which the far end of the buffer has no effect: K²ρ^K is below rounding.
pub(super) const FAR_END_THRESHOLD: f64 = 40.0;

/// Smallest mean for which (K − 2m)/(K+1) keeps enough digits of it.
const MIN_MEAN: f64 = 0.1;

/// Solution for the load at which the smaller side (packets or free places) has a given mean.
pub(super) enum FastInverse {
    Converged(Iterate),
    /// This iteration does not apply.
    NotApplicable,
}

/// Iterate with its function values, and the remaining step to the solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iterate {
    /// Half of (K+1)a.
    y: f64,
    /// Remaining step to the solution.
    step: f64,
    /// 1/(K+1)
    r: f64,
    /// 1/expm1((K+1)a) at y, and 1/expm1(a) at ry.
    at_k1: f64,
    at_one: f64,
}

impl FastInverse {
    /// Solves for the load of the mean `m` ≤ K/2.
    #[inline(always)]
    pub fn of(m: f64, k: f64) -> FastInverse {
        // Excludes NaN and means for which the far end has no effect (a > 1/(m + ½)).
        let felt = m >= MIN_MEAN && k <= FAR_END_THRESHOLD * (m + 0.5);
        if !felt {
            return FastInverse::NotApplicable;
        }
        let r = 1.0 / (k + 1.0);
        let u = (k - 2.0 * m) * r;
        if u <= 0.0 {
            return FastInverse::NotApplicable; // symmetric point, load 1
        }
        // Rough start p/q, for the effect of the second term: r·5x/(15 + x²) at x = rp/q.
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
            // The error of the step is of third order.
            if step.abs() <= 3e-5 * y {
                return FastInverse::Converged(Iterate {
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
        FastInverse::NotApplicable
    }
}

impl Iterate {
    /// Returns a ≥ 0.
    pub fn ln_rho(&self) -> f64 {
        2.0 * (self.y + self.step) * self.r
    }

    /// Returns expm1 of the remaining steps in (K+1)a and in a.
    #[inline(always)]
    fn remaining_expm1(&self) -> (f64, f64) {
        (
            exp_m1_tiny(2.0 * self.step),
            exp_m1_tiny(2.0 * self.step * self.r),
        )
    }

    /// Returns the blocking at −a if `light`, expm1(a)/expm1((K+1)a), else that at a,
    /// expm1(−a)/expm1(−(K+1)a). The addition theorem moves it to the solution.
    #[inline(always)]
    pub fn blocking(&self, light: bool) -> f64 {
        let (k1, one) = self.remaining_expm1();
        let (full_k1, full_one) = (1.0 + self.at_k1, 1.0 + self.at_one);
        let (a, b) = (1.0 + one * full_one, 1.0 + k1 * full_k1);
        // Selects without a branch, because both cases are equally likely.
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
