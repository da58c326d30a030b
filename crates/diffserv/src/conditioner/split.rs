//! The marking rule shared by [`Marker`](super::Marker) and the expected fractions.

use super::{ConditionerSpec, InProfile, Inputs, Ratio, missing};
use crate::error::ensure;
use crate::{DropPrecedence, Error, Fractions};

/// Marking rule with all inputs except the measured rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excess {
    committed_bps: f64,
    beyond: Beyond,
}

/// Rule for DP2.
#[derive(Clone, Copy, Debug)]
enum Beyond {
    /// The excess over the peak rate (RFC 2859 §4).
    Peak(f64),
    /// Fraction q of the excess over the committed rate (\[Cond\] Fig. 1).
    Share { q: f64, squared: bool },
}

/// Amounts above the committed rate and of DP2, out of `whole`. They are not divided by `whole`, because a
/// packet then needs only a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    whole: f64,
    exceeding: f64,
    dp2: f64,
}

impl Excess {
    pub fn of(spec: &ConditionerSpec, inputs: &(impl Inputs + ?Sized)) -> Result<Excess, Error> {
        let beyond = if spec.kind.follows_rtt() {
            Beyond::Share {
                q: q(spec, inputs)?,
                squared: spec.in_profile == InProfile::Squared,
            }
        } else {
            let peak = spec.peak_bps;
            Beyond::Peak(peak.ok_or_else(|| missing(spec.kind, "a peak rate"))?)
        };
        Ok(Excess {
            committed_bps: spec.committed_bps,
            beyond,
        })
    }

    #[inline]
    pub fn split(&self, rate_bps: f64) -> Split {
        let exceeding = (rate_bps - self.committed_bps).max(0.0);
        match self.beyond {
            Beyond::Peak(peak_bps) => Split {
                whole: rate_bps,
                exceeding,
                dp2: (rate_bps - peak_bps).max(0.0),
            },
            Beyond::Share { q, squared: false } => Split {
                whole: rate_bps,
                exceeding,
                dp2: q * exceeding,
            },
            Beyond::Share { q, squared: true } => {
                // 1 − (c/r)² = (r − c)(r + c)/r²
                let exceeding = exceeding * (rate_bps + self.committed_bps);
                Split {
                    whole: rate_bps * rate_bps,
                    exceeding,
                    dp2: q * exceeding,
                }
            }
        }
    }
}

impl Split {
    pub fn fractions(&self) -> Fractions {
        if self.whole <= 0.0 {
            return Fractions::GREEN;
        }
        let exceeding = self.exceeding / self.whole;
        let dp2 = self.dp2 / self.whole;
        Fractions {
            dp0: 1.0 - exceeding,
            dp1: exceeding - dp2,
            dp2,
        }
    }

    /// Returns DP2 for u below its fraction, then DP1, then DP0, with u in [0, 1).
    #[inline]
    pub fn pick(&self, u: f64) -> DropPrecedence {
        let at = u * self.whole;
        // Computes both comparisons, because branches on random values are unpredictable.
        match (at < self.exceeding, at < self.dp2) {
            (false, _) => DropPrecedence::Dp0,
            (true, false) => DropPrecedence::Dp1,
            (true, true) => DropPrecedence::Dp2,
        }
    }
}

/// Returns the fraction of the excess over the committed rate that becomes DP2.
fn q(spec: &ConditionerSpec, inputs: &(impl Inputs + ?Sized)) -> Result<f64, Error> {
    let time = |value: Option<f64>, what: &'static str, unit: &'static str| {
        let time_s = value.ok_or_else(|| missing(spec.kind, what))?;
        ensure(
            time_s > 0.0 && time_s <= 1e9,
            unit,
            time_s,
            "above 0 to 1e9",
        )?;
        Ok(time_s)
    };
    let rtt_s = time(inputs.rtt_s(), "the RTT of the aggregate", "RTT in s")?;
    let min_rtt_s = time(
        inputs.min_rtt_s(),
        "the smallest RTT of all aggregates",
        "smallest RTT in s",
    )?;
    if let Some(q) = spec.minimum_q
        && rtt_s <= min_rtt_s
    {
        return Ok(q);
    }
    let mut ratio = (min_rtt_s / rtt_s).powi(2);
    if spec.kind.follows_rto() {
        let rto_s = time(
            inputs.rto_s(),
            "the timeout of the aggregate",
            "timeout in s",
        )?;
        let min_rto_s = time(
            inputs.min_rto_s(),
            "the smallest timeout of all aggregates",
            "smallest timeout in s",
        )?;
        ratio *= min_rto_s / rto_s;
    }
    let q = match spec.ratio {
        Ratio::Printed => ratio,
        Ratio::Root => ratio.sqrt(),
    };
    Ok(q.min(1.0))
}
