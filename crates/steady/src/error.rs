//! Errors of the steady-state solver.

/// Reason why a steady state was not found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SteadyError {
    /// The network contains an element that has no steady state, or none that is implemented.
    #[error("{what}: {reason}")]
    Unsupported {
        /// Name of the element: `connection c1`, `link A->B` …
        what: String,
        /// Reason, in words.
        reason: &'static str,
    },
    /// The time is not positive.
    #[error("at {at_s} s: the time must be positive")]
    BadTime {
        /// Time in seconds.
        at_s: f64,
    },
    /// An option is out of range.
    #[error("{option}: {value} must be {allowed}")]
    BadOption {
        /// Name of the option.
        option: &'static str,
        /// Value of the option.
        value: f64,
        /// Allowed values, in words.
        allowed: &'static str,
    },
    /// No starting point converged.
    #[error(
        "no steady state was found: the best of {starts} starts is {residual:.1e} residuals at link {link}; \
         a run tells whether it swings"
    )]
    NotFound {
        /// Number of starting points tried.
        starts: usize,
        /// Smallest residual of all, relative in load.
        residual: f64,
        /// Link with the largest residual, `FROM->TO`.
        link: String,
    },
    /// The elements that should fail do not exist, or are down already.
    #[error("nothing of what was to fail is there, or it is down already")]
    NothingToFail,
    /// There are more failure cases than the maximum.
    #[error("there are more than {most} cases; draw some of them")]
    TooManyCases {
        /// Largest number of cases.
        most: usize,
    },
    /// Demands should be scaled, but there are none.
    #[error(
        "no connection of those to be scaled has a rate of its own, or an application with one; other TCP takes what it gets, and has no demand"
    )]
    NothingToScale,
    /// Results of connections were requested, but none of them is active.
    #[error("nothing is sent at the time looked at by {who}: {because}")]
    NoTraffic {
        /// Name of the network or connections, in words.
        who: String,
        /// Reason.
        because: &'static str,
    },
    /// The derivatives have no finite value or were not found, because the state is discontinuous.
    #[error("the derivatives were not found: {left:.1e} of their equations are left")]
    Singular {
        /// Relative residual of the adjoint equations.
        left: f64,
    },
}

impl SteadyError {
    /// Returns whether a profile in place of the congestion window would make the network solvable.
    pub fn needs_profile(&self) -> bool {
        matches!(self, SteadyError::Unsupported { reason, .. } if *reason == crate::problem::NEEDS_PROFILE)
    }
}
