//! Conditioners: which part of an aggregate's packets is marked how, given how fast the aggregate
//! is and what is known of its connections (\[Cond\] = Habib, Bhargava & Fahmy, *A Round Trip Time
//! and Time-out Aware Traffic Conditioner for Differentiated Services Networks*, ICC 2002).

mod inputs;
mod kind;
mod marker;
mod split;

pub use inputs::{Aggregate, GivenInputs, Inputs, Minima};
pub use kind::Kind;
pub use marker::Marker;

use crate::error::{ensure, ensure_rate};
use crate::meter::ensure_interval;
use crate::{Error, Fractions};
use split::Excess;

/// How much of an aggregate over its committed rate stays DP0; p = (measured − committed)/measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InProfile {
    /// 1 − p: as much as is committed, which is what the text of \[Cond\] says.
    #[default]
    Plain,
    /// (1 − p)², as Fig. 1 of \[Cond\] can be read; its ² is rather a footnote mark.
    Squared,
}

/// How much of what exceeds the committed rate becomes DP2 with the kinds that follow RTTs; the
/// rest becomes DP1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ratio {
    /// q = (minRTT/RTT)²·(minRTO/RTO), as printed in Fig. 1 of \[Cond\]; without RTOs, its first
    /// factor.
    #[default]
    Printed,
    /// The square root of that, as eq. 9 of \[Cond\] would give.
    Root,
}

/// What a conditioner is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerSpec {
    /// What it looks at.
    pub kind: Kind,
    /// Committed rate (CIR, CTR, target) in bit/s.
    pub committed_bps: f64,
    /// Peak rate (PIR, PTR) in bit/s, above which [`Kind::Standard`] and [`Kind::SmallWindow`]
    /// mark DP2; without effect on the others.
    pub peak_bps: Option<f64>,
    /// Averaging interval of the rate estimator in seconds.
    pub interval_s: f64,
    /// How much stays DP0 with the kinds that follow RTTs; without effect on the others.
    pub in_profile: InProfile,
    /// How much becomes DP2 with the kinds that follow RTTs; without effect on the others.
    pub ratio: Ratio,
    /// The q of an aggregate whose RTT is the smallest of all. \[Cond\] gives it "its own ratio"
    /// without a formula; `None`: the formula for everybody, which comes to 1 without RTOs.
    pub minimum_q: Option<f64>,
    /// The window in packets below which [`Kind::SmallWindow`] and [`Kind::RttSmallWindow`]
    /// protect a packet; without effect on the others.
    pub small_window_pkts: f64,
}

impl ConditionerSpec {
    /// The settings of \[Cond\] (windows below 3 packets are protected), and an averaging interval
    /// of 1 s, as in ns-2.
    pub fn new(kind: Kind, committed_bps: f64, peak_bps: Option<f64>) -> ConditionerSpec {
        ConditionerSpec {
            kind,
            committed_bps,
            peak_bps,
            interval_s: 1.0,
            in_profile: InProfile::default(),
            ratio: Ratio::default(),
            minimum_q: None,
            small_window_pkts: 3.0,
        }
    }
}

/// A conditioner for one aggregate: the definition behind [`Marker`] and its expectation.
///
/// ```
/// use netflow_diffserv::{Aggregate, Conditioner, ConditionerSpec, Kind, GivenInputs, Minima};
///
/// let conditioner = Conditioner::new(ConditionerSpec::new(Kind::RttRto, 2e6, None))?;
/// let (near, far) = (Aggregate::new(0.02, 0.2), Aggregate::new(0.04, 0.4));
/// let minima = Minima::over([&near, &far]);
///
/// // At twice its target, half of an aggregate is out of profile; q = (20/40)²·(200/400) of
/// // that becomes DP2 if its connections are long.
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

    /// The settings.
    pub fn spec(&self) -> &ConditionerSpec {
        &self.spec
    }

    /// The expected colours of an aggregate whose measured rate is `measured_bps` bit/s.
    ///
    /// Protected packets are DP0 and charged to the profile like all others: they count in the
    /// measured rate, and so worsen the colours of the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if the kind needs something that `inputs` does not know (the aggregate's
    /// RTT, say); [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s, a time that is not
    /// positive, or a fraction outside 0 to 1.
    pub fn fractions(
        &self,
        measured_bps: f64,
        inputs: &(impl Inputs + ?Sized),
    ) -> Result<Fractions, Error> {
        ensure_rate("measured rate in bit/s", measured_bps)?;
        let excess = Excess::of(&self.spec, inputs)?;
        let protected = self.protected(inputs)?;
        let rest = excess.split(measured_bps).fractions();
        let unprotected = 1.0 - protected;
        Ok(Fractions {
            dp0: protected + unprotected * rest.dp0,
            dp1: unprotected * rest.dp1,
            dp2: unprotected * rest.dp2,
        })
    }

    /// What the estimator's rate becomes within `step_s` seconds at a constant rate, all in bit/s:
    /// the limit of RFC 2859 §3 for many packets in an interval W, avg' = (rate − avg)/W.
    pub fn measured_after(&self, measured_bps: f64, rate_bps: f64, step_s: f64) -> f64 {
        rate_bps + (measured_bps - rate_bps) * libm::exp(-step_s / self.spec.interval_s)
    }

    /// The fraction of the packets that are protected.
    fn protected(&self, inputs: &(impl Inputs + ?Sized)) -> Result<f64, Error> {
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
