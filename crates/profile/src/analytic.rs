//! Steady-state formulas as profiles: Mathis and \[PFTK\].

use netflow_tcpmodel::steady::{Path, mathis, pftk_approximate, pftk_send_rate};
use netflow_units::math::clamp;

use crate::domain::clamp_to_positive;
use crate::error::{ProfileError, ensure, ensure_window};
use crate::extrapolation::{ExtrapolationLimit, MIN_LOSS, constant_window_factor};
use crate::file::Definition;
use crate::{Domain, NumberLocation, Profile, Provenance};

/// Domain of the formulas. They diverge at loss 0, so it begins just above 0, unless a window limit
/// bounds the rate there. They have no meaning above 50 %.
const DOMAIN: Domain = Domain {
    loss_min: MIN_LOSS,
    loss_max: 0.5,
    rtt_min_s: 1e-5,
    rtt_max_s: 100.0,
};

/// Formula of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// √(3/(2bp)) / rtt (Mathis, Semke, Mahdavi & Ott 1997).
    Mathis,
    /// \[PFTK\] eq. 30: 1/(rtt·√(2bp/3) + T0·min(1, 3√(3bp/8))·p·(1 + 32p²)).
    PftkApproximate,
    /// \[PFTK\] eq. 29 (eq. 31 where the window limit holds): the full model's send rate.
    PftkFull,
}

impl Formula {
    /// Returns its name, which is also the kind in a profile file and the name of the built-in
    /// profile.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mathis => "mathis",
            Self::PftkApproximate => "pftk-approximate",
            Self::PftkFull => "pftk-full",
        }
    }
}

/// Parameters of a formula besides loss and round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FormulaParameters {
    /// Segments per acknowledgement, b.
    pub segments_per_ack: f64,
    /// Retransmission timeout T0 in seconds (not used by Mathis).
    pub timeout_s: f64,
    /// Maximum window in packets.
    pub window_pkts: Option<f64>,
}

impl Default for FormulaParameters {
    /// Returns b = 2 (delayed acknowledgements), T0 = 1 s and no window limit.
    fn default() -> Self {
        Self {
            segments_per_ack: 2.0,
            timeout_s: 1.0,
            window_pkts: None,
        }
    }
}

/// A steady-state formula with its parameters.
///
/// The domain is loss 1e-8 (0 with a window limit) to 0.5, and round-trip times from 10 µs to 100
/// s. Outside it, the formula is evaluated at the nearest loss, so that it is finite at loss 0.
/// Beyond the round-trip times, the window is that of the nearest one.
#[derive(Debug, Clone, PartialEq)]
pub struct Analytic {
    name: String,
    description: String,
    formula: Formula,
    parameters: FormulaParameters,
}

impl Analytic {
    /// Creates a profile of a formula under the given name.
    ///
    /// # Errors
    /// The segments per acknowledgement are outside 1 to 100, the timeout is outside 0 to 1e6 s, or
    /// the window limit is below 1.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        formula: Formula,
        parameters: FormulaParameters,
    ) -> Result<Self, ProfileError> {
        let FormulaParameters {
            segments_per_ack: b,
            timeout_s,
            window_pkts,
        } = parameters;
        ensure(
            (1.0..=100.0).contains(&b),
            NumberLocation::SegmentsPerAck,
            "segments per acknowledgement",
            b,
            "1 to 100",
        )?;
        ensure(
            (0.0..=1e6).contains(&timeout_s),
            NumberLocation::Timeout,
            "timeout (s)",
            timeout_s,
            "0 to 1e6 s",
        )?;
        ensure_window(window_pkts)?;
        Ok(Self {
            name: name.into(),
            description: description.into(),
            formula,
            parameters,
        })
    }

    /// Returns the formula.
    pub fn formula(&self) -> Formula {
        self.formula
    }

    /// Returns its parameters.
    pub fn parameters(&self) -> FormulaParameters {
        self.parameters
    }
}

impl Profile for Analytic {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn domain(&self) -> Domain {
        let loss_min = if self.parameters.window_pkts.is_some() {
            0.0
        } else {
            DOMAIN.loss_min
        };
        Domain { loss_min, ..DOMAIN }
    }

    fn throughput(&self, loss: f64, rtt_s: f64) -> f64 {
        let FormulaParameters {
            segments_per_ack,
            timeout_s,
            window_pkts,
        } = self.parameters;
        let clamped = DOMAIN.clamp(loss, rtt_s);
        let path = Path {
            loss: clamped.0,
            rtt_s: clamped.1,
            timeout_s,
            segments_per_ack,
        };
        let rate = match self.formula {
            Formula::Mathis => mathis(&path),
            Formula::PftkApproximate => pftk_approximate(&path),
            Formula::PftkFull => pftk_send_rate(&path, window_pkts.unwrap_or(f64::INFINITY)),
        };
        let rate = rate * constant_window_factor(DOMAIN, rtt_s);
        match window_pkts {
            Some(window) => {
                clamp_to_positive(rate.min(window / clamp(rtt_s, f64::MIN_POSITIVE, f64::MAX)))
            }
            None => clamp_to_positive(rate),
        }
    }

    fn provenance(&self, loss: f64, rtt_s: f64) -> Provenance {
        ExtrapolationLimit::FORMULA.provenance(self.domain(), loss, rtt_s)
    }

    fn window_limit_pkts(&self) -> Option<f64> {
        self.parameters.window_pkts
    }

    fn definition(&self) -> Option<Definition<'_>> {
        Some(Definition::Analytic(self))
    }
}
