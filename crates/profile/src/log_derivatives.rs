//! Derivatives of a profile's rate by loss and round-trip time.

use crate::Profile;

/// Derivatives of ln F at a point; at a kink, those of the region to its right.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LogDerivatives {
    /// d ln F / d loss.
    pub by_loss: f64,
    /// d ln F / d rtt, in 1/s.
    pub by_rtt: f64,
}

/// Relative step sizes tried for differences, largest first.
const RELATIVE_STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
/// Difference of two derivatives up to which they are in one region.
const MAX_DISAGREEMENT: f64 = 1e-6;
/// Smallest loss step at loss 0.
const MIN_LOSS_STEP: f64 = 1e-9;

/// Computes fourth-order differences to the right, for profiles without derivatives of their own.
/// It takes the widest step that agrees with the next one, so that a kink further away does not
/// count.
pub(crate) fn finite_differences(
    profile: &(impl Profile + ?Sized),
    loss: f64,
    rtt_s: f64,
) -> LogDerivatives {
    let by = |scale: f64, at: &dyn Fn(f64) -> f64| {
        let f0 = at(0.0);
        let slope = |step: f64| {
            let h = step * scale;
            let f = |n: f64| at(n * h) - f0;
            (48.0 * f(1.0) - 36.0 * f(2.0) + 16.0 * f(3.0) - 3.0 * f(4.0)) / (12.0 * h)
        };
        let mut wide = slope(RELATIVE_STEPS[0]);
        for step in &RELATIVE_STEPS[1..] {
            let narrow = slope(*step);
            if (wide - narrow).abs() <= MAX_DISAGREEMENT * wide.abs() {
                return wide;
            }
            wide = narrow;
        }
        wide
    };
    let ln_rate = |loss: f64, rtt_s: f64| libm::log(profile.throughput(loss, rtt_s));
    LogDerivatives {
        by_loss: by(loss.max(MIN_LOSS_STEP), &|more| ln_rate(loss + more, rtt_s)),
        by_rtt: by(rtt_s, &|more| ln_rate(loss, rtt_s + more)),
    }
}
