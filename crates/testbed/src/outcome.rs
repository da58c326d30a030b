//! Outcome of a check on a testbed.

use std::fmt;

use serde::Serialize;

use crate::Error;
use crate::report::LinkReport;

/// Outcome of a check. It separates a check that held, one whose emulator was not accurate enough, and
/// one that could not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "lowercase")]
pub enum Outcome {
    /// The check held.
    Passed,
    /// The check failed.
    Failed(String),
    /// The check ran, but the emulator was not accurate enough for its result to count.
    Inconclusive(String),
    /// The check could not run here.
    Skipped(String),
}

impl Outcome {
    /// Returns the outcome for an error of a testbed: skipped if a resource is unavailable here,
    /// otherwise failed.
    pub fn of_error(error: &Error) -> Outcome {
        match error {
            Error::Unavailable { .. } => Outcome::Skipped(error.to_string()),
            _ => Outcome::Failed(error.to_string()),
        }
    }

    /// Returns this outcome if the link was accurate, otherwise inconclusive. A skip stays a skip.
    #[must_use]
    pub fn guarded(self, report: &LinkReport) -> Outcome {
        match (report.unreliable_reason(), &self) {
            (Some(doubt), Outcome::Passed | Outcome::Failed(_)) => Outcome::Inconclusive(doubt),
            _ => self,
        }
    }

    /// Returns a skip as a failure, for checks whose resources must be available.
    #[must_use]
    pub fn skip_as_failure(self) -> Outcome {
        match self {
            Outcome::Skipped(reason) => Outcome::Failed(format!("required, but {reason}")),
            other => other,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed => f.write_str("passed"),
            Outcome::Failed(reason) => write!(f, "failed: {reason}"),
            Outcome::Inconclusive(reason) => write!(f, "inconclusive: {reason}"),
            Outcome::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// Tolerance between a loss-free exchange and a whole number of round-trip times, in seconds.
pub const CONTROL_TOLERANCE_S: f64 = 2e-3;

/// Returns the fault of a loss-free control exchange, which must take whole round-trip times; `None` if
/// there is none.
pub fn control_fault(seconds: f64, rtt_s: f64) -> Option<String> {
    let whole = (seconds / rtt_s).round().max(1.0) * rtt_s;
    let off_s = (seconds - whole).abs();
    (off_s.is_nan() || off_s > CONTROL_TOLERANCE_S).then(|| {
        format!(
            "the loss-free control run took {:.2} ms, {:.2} ms from a whole number of round-trip times \
             of {:.0} ms",
            1e3 * seconds,
            1e3 * off_s,
            1e3 * rtt_s
        )
    })
}
