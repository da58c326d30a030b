//! Drop probability of RED as a function of the average queue.

use crate::error::ensure;
use crate::{DropPrecedence, Error};

/// Marking probability of RED: 0 below `min_pkts`, linear to `max_p` at `max_pkts`; then 1, or (gentle)
/// linear to 1 at twice `max_pkts`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Lower threshold in packets.
    pub min_pkts: f64,
    /// Upper threshold in packets, above the lower one.
    pub max_pkts: f64,
    /// Probability at the upper threshold, in (0, 1].
    pub max_p: f64,
}

impl Curve {
    /// Returns a curve {min, max, max_p}, in the notation of papers.
    pub fn new(min_pkts: f64, max_pkts: f64, max_p: f64) -> Curve {
        Curve {
            min_pkts,
            max_pkts,
            max_p,
        }
    }

    /// Returns the marking probability p_b at this average queue.
    pub fn probability(&self, average_pkts: f64, gentle: bool) -> f64 {
        self.slopes(gentle).probability(average_pkts)
    }

    pub(super) fn check(&self, precedence: DropPrecedence) -> Result<(), Error> {
        for (what, value) in [
            ("lower threshold in packets", self.min_pkts),
            ("upper threshold in packets", self.max_pkts),
        ] {
            let good = (0.0..=1e12).contains(&value);
            ensure(good, what, value, "0 to 1e12")?;
        }
        let good = self.max_p > 0.0 && self.max_p <= 1.0;
        ensure(good, "max_p", self.max_p, "above 0 to 1")?;
        if self.max_pkts <= self.min_pkts {
            return Err(Error::Thresholds {
                precedence,
                min_pkts: self.min_pkts,
                max_pkts: self.max_pkts,
            });
        }
        Ok(())
    }

    /// Precomputes the slopes of the curve.
    pub(super) fn slopes(&self, gentle: bool) -> Slopes {
        let (gentle_slope, saturation_pkts) = if gentle {
            ((1.0 - self.max_p) / self.max_pkts, 2.0 * self.max_pkts)
        } else {
            (0.0, self.max_pkts)
        };
        Slopes {
            curve: *self,
            slope: self.max_p / (self.max_pkts - self.min_pkts),
            gentle_slope,
            saturation_pkts,
        }
    }
}

/// A [`Curve`] with its slopes in 1/packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slopes {
    curve: Curve,
    slope: f64,
    gentle_slope: f64,
    /// Average in packets from which the probability is 1.
    saturation_pkts: f64,
}

impl Slopes {
    /// Returns the marking probability p_b at this average.
    #[inline]
    pub fn probability(&self, average_pkts: f64) -> f64 {
        let Curve {
            min_pkts,
            max_pkts,
            max_p,
        } = self.curve;
        // Computes both pieces and then selects, because the branch would be unpredictable.
        let between = (self.slope * (average_pkts - min_pkts)).max(0.0);
        let above = max_p + self.gentle_slope * (average_pkts - max_pkts);
        let p = if average_pkts < max_pkts {
            between
        } else {
            above
        };
        if average_pkts < self.saturation_pkts {
            p
        } else {
            1.0
        }
    }
}
