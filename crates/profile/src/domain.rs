//! Domain of a profile, and provenance of its rates.

use netflow_units::math::clamp;
/// Range of losses and round-trip times in which a profile was measured or is defined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Domain {
    /// Smallest loss probability.
    pub loss_min: f64,
    /// Largest loss probability.
    pub loss_max: f64,
    /// Smallest round-trip time in seconds.
    pub rtt_min_s: f64,
    /// Largest round-trip time in seconds.
    pub rtt_max_s: f64,
}

/// Provenance of a rate at some loss and round-trip time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// Measured, or given by a formula within its domain.
    #[default]
    Measured,
    /// Extrapolated by laws common to all TCP, with moderate error.
    Extrapolated,
    /// Extrapolated so far that the rate may be several times too high or too low.
    Unreliable,
}

impl Provenance {
    /// Returns its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Extrapolated => "extrapolated",
            Self::Unreliable => "unreliable",
        }
    }
}

impl Domain {
    /// Returns whether loss and round-trip time (s) are in the domain. The bounds are included; NaN
    /// never is.
    pub fn contains(&self, loss: f64, rtt_s: f64) -> bool {
        (self.loss_min..=self.loss_max).contains(&loss)
            && (self.rtt_min_s..=self.rtt_max_s).contains(&rtt_s)
    }

    /// Returns the nearest point of the domain; NaN goes to the lower bound.
    #[inline(always)]
    pub fn clamp(&self, loss: f64, rtt_s: f64) -> (f64, f64) {
        (
            clamp(loss, self.loss_min, self.loss_max),
            clamp(rtt_s, self.rtt_min_s, self.rtt_max_s),
        )
    }
}

/// Clamps the result of every surface, so that a rate is never zero, infinite or NaN.
#[inline(always)]
pub(crate) fn clamp_to_positive(rate: f64) -> f64 {
    clamp(rate, f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: Domain = Domain {
        loss_min: 0.0,
        loss_max: 0.3,
        rtt_min_s: 0.06,
        rtt_max_s: 5.0,
    };

    #[test]
    fn bounds_belong_to_the_domain() {
        assert!(DOMAIN.contains(0.0, 0.06) && DOMAIN.contains(0.3, 5.0));
        assert!(!DOMAIN.contains(0.31, 1.0) && !DOMAIN.contains(0.1, 0.05));
        assert!(!DOMAIN.contains(f64::NAN, 1.0) && !DOMAIN.contains(0.1, f64::INFINITY));
    }

    #[test]
    fn clamp_returns_nearest_point() {
        assert_eq!(DOMAIN.clamp(1.0, 1e9), (0.3, 5.0));
        assert_eq!(DOMAIN.clamp(-1e-18, 0.0), (0.0, 0.06));
        assert_eq!(DOMAIN.clamp(f64::NAN, f64::NAN), (0.0, 0.06));
        assert_eq!(DOMAIN.clamp(f64::INFINITY, f64::NEG_INFINITY), (0.3, 0.06));
    }
}
