//! What can be wrong with a setting, or missing from what a conditioner must know.

use crate::{DropPrecedence, Kind};

/// Why something of this crate cannot be made or asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside of what it may be, or NaN.
    #[error("{what} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// Which number, with its unit.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The range, in words.
        allowed: &'static str,
    },
    /// The peak rate must not be below the committed one.
    #[error("the peak rate, {peak_bps} bit/s, is below the committed rate, {committed_bps} bit/s")]
    PeakBelowCommitted {
        /// The peak rate in bit/s.
        peak_bps: f64,
        /// The committed rate in bit/s.
        committed_bps: f64,
    },
    /// A conditioner lacks something that its kind needs.
    #[error("conditioner `{conditioner}` needs {what}")]
    Missing {
        /// Its kind.
        conditioner: Kind,
        /// What is missing.
        what: &'static str,
    },
    /// No conditioner has this name.
    #[error("unknown conditioner `{name}`")]
    UnknownConditioner {
        /// The name.
        name: String,
        /// The one that is probably meant.
        nearest: Option<Kind>,
    },
    /// The upper threshold of a precedence must be above its lower one.
    #[error(
        "thresholds of {precedence}: the upper one, {max_pkts} packets, must be above the lower one, {min_pkts}"
    )]
    Thresholds {
        /// Whose.
        precedence: DropPrecedence,
        /// The lower threshold in packets.
        min_pkts: f64,
        /// The upper threshold in packets.
        max_pkts: f64,
    },
    /// A higher precedence must not be dropped less than a lower one (RFC 2597 §2).
    #[error(
        "{higher} must be dropped no less than {lower}: {what} of {higher} is {found}, allowed is {allowed} {limit} as for {lower}"
    )]
    PrecedenceOrder {
        /// The precedence that is to be dropped first.
        higher: DropPrecedence,
        /// The precedence that is to be dropped later.
        lower: DropPrecedence,
        /// Which number of its curve.
        what: &'static str,
        /// What it is.
        found: f64,
        /// `at most` or `at least`.
        allowed: &'static str,
        /// The same number of the lower precedence.
        limit: f64,
    },
    /// Not an assured forwarding class.
    #[error("unknown forwarding class `{name}`, allowed are AF11 to AF43")]
    UnknownClass {
        /// What was written.
        name: String,
    },
}

impl Error {
    /// What to write instead, if that can be told.
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

/// `Ok` if `good`, else the value with its range.
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

/// The largest rate in bit/s: far beyond any link, far below where numbers overflow.
pub(crate) const MAX_BPS: f64 = 1e18;

/// `Ok` for a rate that can be.
pub(crate) fn ensure_rate(what: &'static str, rate_bps: f64) -> Result<(), Error> {
    let good = (0.0..=MAX_BPS).contains(&rate_bps);
    ensure(good, what, rate_bps, "0 to 1e18")
}
