//! What a check on a testbed came to.

use std::fmt;

use serde::Serialize;

use crate::Error;
use crate::report::LinkReport;

/// Passed, failed, or why neither can be said. Three different things must not be mixed up: a check that
/// held, one that ran on an emulator that was not itself, and one that could not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "lowercase")]
pub enum Outcome {
    /// It held.
    Passed,
    /// It did not.
    Failed(String),
    /// It ran, but the emulator was not good enough for its result to count.
    Inconclusive(String),
    /// It could not run here.
    Skipped(String),
}

impl Outcome {
    /// The error of a testbed: skipped if something is not to be had here, else failed.
    pub fn of_error(error: &Error) -> Outcome {
        match error {
            Error::Unavailable { .. } => Outcome::Skipped(error.to_string()),
            _ => Outcome::Failed(error.to_string()),
        }
    }

    /// This outcome if the link was itself, else inconclusive. What was skipped stays so.
    #[must_use]
    pub fn guarded(self, report: &LinkReport) -> Outcome {
        match (report.doubt(), &self) {
            (Some(doubt), Outcome::Passed | Outcome::Failed(_)) => Outcome::Inconclusive(doubt),
            _ => self,
        }
    }

    /// A skip as a failure, where what is needed has to be there.
    #[must_use]
    pub fn needed(self) -> Outcome {
        match self {
            Outcome::Skipped(reason) => Outcome::Failed(format!("needed, but {reason}")),
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

/// How far a loss-free exchange may be from a whole number of round-trip times, in seconds.
pub const CONTROL_TOLERANCE_S: f64 = 2e-3;

/// What is wrong with a loss-free control, which takes whole round-trip times; `None` if nothing.
pub fn control_doubt(seconds: f64, rtt_s: f64) -> Option<String> {
    let whole = (seconds / rtt_s).round().max(1.0) * rtt_s;
    let off_s = (seconds - whole).abs();
    (off_s.is_nan() || off_s > CONTROL_TOLERANCE_S).then(|| {
        format!(
            "the loss-free control took {:.2} ms, {:.2} ms off a whole number of round-trip times \
             of {:.0} ms",
            1e3 * seconds,
            1e3 * off_s,
            1e3 * rtt_s
        )
    })
}
