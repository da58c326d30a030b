//! Traffic conditioners. The measured rate of an aggregate and the properties of its connections determine
//! the colour of its packets.
//!
//! \[Cond\] = Habib, Bhargava & Fahmy, *A Round Trip Time and Time-out Aware Traffic Conditioner for
//! Differentiated Services Networks*, ICC 2002.

mod inputs;
mod kind;
mod marker;
mod marking_rule;

pub use inputs::{Aggregate, GivenInputs, Inputs, Minima};
pub use kind::Kind;
pub use marker::Marker;

use crate::error::{ensure, ensure_rate};
use crate::meter::ensure_interval;
use crate::{Error, Fractions};
use marking_rule::MarkingRule;

/// Fraction of an aggregate above its committed rate that stays DP0; p = (measured − committed)/measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GreenShare {
    /// 1 − p: exactly the committed rate, as the text of \[Cond\] states.
    #[default]
    Plain,
    /// (1 − p)²: an alternative reading of Fig. 1 of \[Cond\], where the ² is probably a footnote mark.
    Squared,
}

/// Fraction of the excess over the committed rate that becomes DP2, for the kinds that use RTTs. The rest
/// becomes DP1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dp2Ratio {
    /// q = (minRTT/RTT)²·(minRTO/RTO), as printed in Fig. 1 of \[Cond\]; only the first factor without RTOs.
    #[default]
    Printed,
    /// Square root of that, as eq. 9 of \[Cond\] would give.
    Root,
}

/// Settings of a conditioner.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerSpec {
    /// Marking criterion.
    pub kind: Kind,
    /// Committed rate (CIR, CTR, target) in bit/s.
    pub committed_bps: f64,
    /// Peak rate (PIR, PTR) in bit/s, above which [`Kind::Standard`] and [`Kind::SmallWindow`] mark DP2.
    /// Other kinds ignore it.
    pub peak_bps: Option<f64>,
    /// Averaging interval of the rate estimator in seconds.
    pub interval_s: f64,
    /// Fraction that stays DP0 for the kinds that use RTTs. Other kinds ignore it.
    pub in_profile: GreenShare,
    /// Fraction that becomes DP2 for the kinds that use RTTs. Other kinds ignore it.
    pub ratio: Dp2Ratio,
    /// Value of q for the aggregate with the smallest RTT, 0–1. \[Cond\] gives it "its own ratio" without a
    /// formula. `None` uses the formula, which gives 1 without RTOs.
    pub minimum_q: Option<f64>,
    /// Window in packets below which [`Kind::SmallWindow`] and [`Kind::RttSmallWindow`] protect a packet.
    /// Other kinds ignore it.
    pub small_window_pkts: f64,
}

impl ConditionerSpec {
    /// Returns the settings of \[Cond\], which protect windows below 3 packets, with an averaging interval of
    /// 1 s as in ns-2.
    pub fn new(kind: Kind, committed_bps: f64, peak_bps: Option<f64>) -> ConditionerSpec {
        ConditionerSpec {
            kind,
            committed_bps,
            peak_bps,
            interval_s: 1.0,
            in_profile: GreenShare::default(),
            ratio: Dp2Ratio::default(),
            minimum_q: None,
            small_window_pkts: 3.0,
        }
    }
}

/// A traffic conditioner of one aggregate: the definition of [`Marker`] and of its expected fractions.
///
/// ```
/// use netflow_diffserv::{Aggregate, Conditioner, ConditionerSpec, Kind, GivenInputs, Minima};
///
/// let conditioner = Conditioner::new(ConditionerSpec::new(Kind::RttRto, 2e6, None))?;
/// let (near, far) = (Aggregate::new(0.02, 0.2), Aggregate::new(0.04, 0.4));
/// let minima = Minima::over([&near, &far]);
///
/// // At twice its target, half of an aggregate is out of profile; q = (20/40)²·(200/400) of
/// // that becomes DP2 for the aggregate with the longer RTT.
/// let far = conditioner.fractions(4e6, &GivenInputs { aggregate: far, minima })?;
/// assert_eq!(far.to_array(), [0.5, 0.4375, 0.0625]);
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conditioner {
    spec: ConditionerSpec,
}

impl Conditioner {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`]; [`Error::Missing`] if the kind needs a peak rate and there is none;
    /// [`Error::PeakBelowCommitted`].
    pub fn new(spec: ConditionerSpec) -> Result<Conditioner, Error> {
        ensure_rate("committed rate in bit/s", spec.committed_bps)?;
        match spec.peak_bps {
            Some(peak_bps) => {
                ensure_rate("peak rate in bit/s", peak_bps)?;
                if peak_bps < spec.committed_bps {
                    return Err(Error::PeakBelowCommitted {
                        peak_bps,
                        committed_bps: spec.committed_bps,
                    });
                }
            }
            None if spec.kind.follows_rtt() => {}
            None => return Err(missing(spec.kind, "a peak rate")),
        }
        ensure_interval(spec.interval_s)?;
        if let Some(q) = spec.minimum_q {
            let good = (0.0..=1.0).contains(&q);
            ensure(good, "q of the smallest RTT", q, "0 to 1")?;
        }
        let window = spec.small_window_pkts;
        let good = (0.0..=1e9).contains(&window);
        ensure(good, "small window in packets", window, "0 to 1e9")?;
        Ok(Conditioner { spec })
    }

    /// Returns the settings.
    pub fn spec(&self) -> &ConditionerSpec {
        &self.spec
    }

    /// Returns the expected colours of an aggregate with a measured rate of `measured_bps` bit/s.
    ///
    /// Protected packets are DP0 but count in the measured rate. They therefore worsen the colours of the
    /// other packets.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if `inputs` lacks a value that the kind needs, for example the RTT of the
    /// aggregate; [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s, a time that is not positive, or a
    /// fraction outside 0 to 1.
    pub fn fractions(
        &self,
        measured_bps: f64,
        inputs: &(impl Inputs + ?Sized),
    ) -> Result<Fractions, Error> {
        ensure_rate("measured rate in bit/s", measured_bps)?;
        let rule = MarkingRule::of(&self.spec, inputs)?;
        let protected = self.protected_fraction(inputs)?;
        let rest = rule.apply(measured_bps).fractions();
        let unprotected = 1.0 - protected;
        Ok(Fractions {
            dp0: protected + unprotected * rest.dp0,
            dp1: unprotected * rest.dp1,
            dp2: unprotected * rest.dp2,
        })
    }

    /// Returns the estimated rate after `step_s` seconds at a constant rate, all in bit/s. It is the limit of
    /// RFC 2859 §3 for many packets in an interval W: avg' = (rate − avg)/W.
    pub fn measured_after(&self, measured_bps: f64, rate_bps: f64, step_s: f64) -> f64 {
        rate_bps + (measured_bps - rate_bps) * libm::exp(-step_s / self.spec.interval_s)
    }

    /// Returns the fraction of protected packets.
    fn protected_fraction(&self, inputs: &(impl Inputs + ?Sized)) -> Result<f64, Error> {
        if !self.spec.kind.protects_small_windows() {
            return Ok(0.0);
        }
        let fraction = inputs
            .below_window(self.spec.small_window_pkts)
            .ok_or_else(|| missing(self.spec.kind, "the windows of the aggregate's connections"))?;
        let good = (0.0..=1.0).contains(&fraction);
        ensure(good, "fraction of small windows", fraction, "0 to 1")?;
        Ok(fraction)
    }
}

fn missing(conditioner: Kind, what: &'static str) -> Error {
    Error::Missing { conditioner, what }
}
