//! Errors of a fit.

use crate::ProfileError;

/// Reason why samples give no profile.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are no samples.
    #[error("no samples: every flow is shorter than one sample")]
    NoSamples,
    /// A setting of an experiment has no samples.
    #[error(
        "no samples at a loss of {} % and a round-trip time of {} ms: the transfers are too short \
         or missing",
        100.0 * loss,
        1e3 * rtt_s
    )]
    NoSamplesAt {
        /// Loss probability.
        loss: f64,
        /// Round-trip time in seconds.
        rtt_s: f64,
    },
    /// No sample has a loss, so there is no profile of a TCP.
    #[error("no loss in {samples} samples: a profile needs flows that lost packets")]
    NoLosses {
        /// Number of samples.
        samples: usize,
    },
    /// The paper's method has no slice for a line in the log-log plane.
    #[error(
        "no loss slice has samples at two round-trip times ({cells} cells): the fit of \
         throughput over round-trip time needs two"
    )]
    NoSlice {
        /// Number of cells with samples.
        cells: usize,
    },
    /// The fitted numbers are not a valid profile.
    #[error("the fit is not a valid profile: {0}")]
    Profile(#[from] ProfileError),
}
