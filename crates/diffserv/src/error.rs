//! Errors in settings and missing inputs of conditioners.

use crate::{DropPrecedence, Kind};

/// Error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number out of its range, or NaN.
    #[error("{what} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// Name of the number, with its unit.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Allowed range, in words.
        allowed: &'static str,
    },
    /// A peak rate below the committed rate.
    #[error("the peak rate, {peak_bps} bit/s, is below the committed rate, {committed_bps} bit/s")]
    PeakBelowCommitted {
        /// Peak rate in bit/s.
        peak_bps: f64,
        /// Committed rate in bit/s.
        committed_bps: f64,
    },
    /// A conditioner without an input that its kind needs.
    #[error("conditioner `{conditioner}` needs {what}")]
    Missing {
        /// Kind of the conditioner.
        conditioner: Kind,
        /// Missing input.
        what: &'static str,
    },
    /// An unknown name of a conditioner.
    #[error("unknown conditioner `{name}`")]
    UnknownConditioner {
        /// The unknown name.
        name: String,
        /// Most similar known name.
        nearest: Option<Kind>,
    },
    /// An upper threshold of a precedence that is not above the lower one.
    #[error(
        "thresholds of {precedence}: the upper one, {max_pkts} packets, must be above the lower one, {min_pkts}"
    )]
    Thresholds {
        /// Precedence of the thresholds.
        precedence: DropPrecedence,
        /// Lower threshold in packets.
        min_pkts: f64,
        /// Upper threshold in packets.
        max_pkts: f64,
    },
    /// A higher precedence that would be dropped less than a lower one (RFC 2597 §2).
    #[error(
        "{higher} must have at least the drop probability of {lower}: {what} of {higher} is {found}, allowed is {allowed} {limit} as for {lower}"
    )]
    PrecedenceOrder {
        /// Higher precedence, which must be dropped first.
        higher: DropPrecedence,
        /// Lower precedence.
        lower: DropPrecedence,
        /// Name of the number of its curve.
        what: &'static str,
        /// Its value.
        found: f64,
        /// `at most` or `at least`.
        allowed: &'static str,
        /// The same number for the lower precedence.
        limit: f64,
    },
    /// An unknown assured forwarding class.
    #[error("unknown forwarding class `{name}`; allowed: AF11 to AF43")]
    UnknownClass {
        /// The unknown name.
        name: String,
    },
}

impl Error {
    /// Returns the allowed names and a suggestion, if there are any.
    pub fn help(&self) -> Option<String> {
        let Error::UnknownConditioner { nearest, .. } = self else {
            return None;
        };
        let names = Kind::ALL.map(Kind::name).join(", ");
        Some(match nearest {
            Some(nearest) => format!("did you mean `{nearest}`? allowed: {names}"),
            None => format!("allowed: {names}"),
        })
    }
}

/// Returns `Ok` if `good`, otherwise an error with the value and its range.
pub(crate) fn ensure(
    good: bool,
    what: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), Error> {
    if good {
        Ok(())
    } else {
        Err(Error::OutOfRange {
            what,
            value,
            allowed,
        })
    }
}

/// Largest rate in bit/s: far above any link, and far below numeric overflow.
pub(crate) const MAX_BPS: f64 = 1e18;

/// Checks a rate.
pub(crate) fn ensure_rate(what: &'static str, rate_bps: f64) -> Result<(), Error> {
    let good = (0.0..=MAX_BPS).contains(&rate_bps);
    ensure(good, what, rate_bps, "0 to 1e18")
}
