//! The marking rule shared by [`Marker`](super::Marker) and the expected fractions.

use super::{ConditionerSpec, Dp2Ratio, GreenShare, Inputs, missing};
use crate::error::ensure;
use crate::{DropPrecedence, Error, Fractions};

/// Marking rule with all inputs except the measured rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkingRule {
    committed_bps: f64,
    dp2_rule: Dp2Rule,
}

/// Rule for DP2.
#[derive(Clone, Copy, Debug)]
enum Dp2Rule {
    /// The excess over the peak rate (RFC 2859 §4).
    Peak(f64),
    /// Fraction q of the excess over the committed rate (\[Cond\] Fig. 1).
    ExcessFraction { q: f64, squared: bool },
}

/// Amounts above the committed rate and of DP2, out of `denominator`. They are not divided, because a
/// packet then needs only a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnnormalizedFractions {
    denominator: f64,
    exceeding: f64,
    dp2: f64,
}

impl MarkingRule {
    pub fn of(
        spec: &ConditionerSpec,
        inputs: &(impl Inputs + ?Sized),
    ) -> Result<MarkingRule, Error> {
        let dp2_rule = if spec.kind.follows_rtt() {
            Dp2Rule::ExcessFraction {
                q: dp2_fraction(spec, inputs)?,
                squared: spec.in_profile == GreenShare::Squared,
            }
        } else {
            let peak = spec.peak_bps;
            Dp2Rule::Peak(peak.ok_or_else(|| missing(spec.kind, "a peak rate"))?)
        };
        Ok(MarkingRule {
            committed_bps: spec.committed_bps,
            dp2_rule,
        })
    }

    #[inline]
    pub fn apply(&self, rate_bps: f64) -> UnnormalizedFractions {
        let exceeding = (rate_bps - self.committed_bps).max(0.0);
        match self.dp2_rule {
            Dp2Rule::Peak(peak_bps) => UnnormalizedFractions {
                denominator: rate_bps,
                exceeding,
                dp2: (rate_bps - peak_bps).max(0.0),
            },
            Dp2Rule::ExcessFraction { q, squared: false } => UnnormalizedFractions {
                denominator: rate_bps,
                exceeding,
                dp2: q * exceeding,
            },
            Dp2Rule::ExcessFraction { q, squared: true } => {
                // 1 − (c/r)² = (r − c)(r + c)/r²
                let exceeding = exceeding * (rate_bps + self.committed_bps);
                UnnormalizedFractions {
                    denominator: rate_bps * rate_bps,
                    exceeding,
                    dp2: q * exceeding,
                }
            }
        }
    }
}

impl UnnormalizedFractions {
    pub fn fractions(&self) -> Fractions {
        if self.denominator <= 0.0 {
            return Fractions::GREEN;
        }
        let exceeding = self.exceeding / self.denominator;
        let dp2 = self.dp2 / self.denominator;
        Fractions {
            dp0: 1.0 - exceeding,
            dp1: exceeding - dp2,
            dp2,
        }
    }

    /// Returns DP2 for u below its fraction, then DP1, then DP0, with u in [0, 1).
    #[inline]
    pub fn sample(&self, u: f64) -> DropPrecedence {
        let at = u * self.denominator;
        // Computes both comparisons, because branches on random values are unpredictable.
        match (at < self.exceeding, at < self.dp2) {
            (false, _) => DropPrecedence::Dp0,
            (true, false) => DropPrecedence::Dp1,
            (true, true) => DropPrecedence::Dp2,
        }
    }
}

/// Returns the fraction of the excess over the committed rate that becomes DP2.
fn dp2_fraction(spec: &ConditionerSpec, inputs: &(impl Inputs + ?Sized)) -> Result<f64, Error> {
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
        Dp2Ratio::Printed => ratio,
        Dp2Ratio::Root => ratio.sqrt(),
    };
    Ok(q.min(1.0))
}
