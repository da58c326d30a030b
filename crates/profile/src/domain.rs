//! Where a profile is known.

use netflow_units::math::within;
/// The losses and round-trip times for which a profile was measured or is defined.
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

/// What a rate at some loss and round-trip time rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileUse {
    /// On what was measured, or on a formula where it is defined.
    #[default]
    Measured,
    /// On what is known of every TCP beyond that: a good guess.
    Extended,
    /// On the same, so far away that the rate may be several times too high or too low.
    NotUsable,
}

impl ProfileUse {
    /// In tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Extended => "extended",
            Self::NotUsable => "not usable",
        }
    }
}

impl Domain {
    /// Whether the profile is known at this loss and this round-trip time (s). The bounds belong
    /// to the domain; NaN never does.
    pub fn contains(&self, loss: f64, rtt_s: f64) -> bool {
        (self.loss_min..=self.loss_max).contains(&loss)
            && (self.rtt_min_s..=self.rtt_max_s).contains(&rtt_s)
    }

    /// The nearest point of the domain; NaN goes to the lower bound.
    #[inline(always)]
    pub fn clamp(&self, loss: f64, rtt_s: f64) -> (f64, f64) {
        (
            within(loss, self.loss_min, self.loss_max),
            within(rtt_s, self.rtt_min_s, self.rtt_max_s),
        )
    }
}

/// The last guard of every surface: a rate is never zero, infinite or NaN.
#[inline(always)]
pub(crate) fn positive(rate: f64) -> f64 {
    within(rate, f64::MIN_POSITIVE, f64::MAX)
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
    fn everything_is_clamped_into_the_domain() {
        assert_eq!(DOMAIN.clamp(1.0, 1e9), (0.3, 5.0));
        assert_eq!(DOMAIN.clamp(-1e-18, 0.0), (0.0, 0.06));
        assert_eq!(DOMAIN.clamp(f64::NAN, f64::NAN), (0.0, 0.06));
        assert_eq!(DOMAIN.clamp(f64::INFINITY, f64::NEG_INFINITY), (0.3, 0.06));
    }
}
