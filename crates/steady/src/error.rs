//! Why there is no answer.

/// Why a steady state was not found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SteadyError {
    /// The network holds what has no steady state, or none that this solves for.
    #[error("{what}: {reason}")]
    NotCovered {
        /// `connection c1`, `link A->B` …
        what: String,
        /// Why, in words.
        reason: &'static str,
    },
    /// The time to look at is none.
    #[error("at {at_s} s: the time must be positive")]
    BadTime {
        /// What it is, in seconds.
        at_s: f64,
    },
    /// An option is out of its range.
    #[error("{option}: {value} must be {allowed}")]
    BadOption {
        /// Its name.
        option: &'static str,
        /// What it is.
        value: f64,
        /// What it may be, in words.
        allowed: &'static str,
    },
    /// No start led to rest.
    #[error(
        "no steady state was found: the best of {starts} starts is {residual:.1e} off at link {link}; \
         a run tells whether it swings"
    )]
    NotFound {
        /// How many starts were tried.
        starts: usize,
        /// How far the best of them is from rest, relative in load.
        residual: f64,
        /// Where, `FROM->TO`.
        link: String,
    },
    /// Nothing of what was to fail is there, or it is down already.
    #[error("nothing of what was to fail is there, or it is down already")]
    NothingFails,
    /// More failures than are looked at in one go.
    #[error("there are more than {most} cases; draw some of them")]
    TooManyCases {
        /// How many are looked at.
        most: usize,
    },
    /// Demands were to be scaled, and there are none.
    #[error(
        "no connection of those to be scaled has a rate of its own, or an application with one; other TCP takes what it gets, and has no demand"
    )]
    NothingScales,
    /// What connections get was to be told, and none of them sends.
    #[error("nothing is sent at the time looked at by {who}: {because}")]
    NothingSends {
        /// The network, or these, in words.
        who: String,
        /// Why.
        because: &'static str,
    },
    /// The derivatives have no finite value, or none that is found: the state changes by a jump.
    #[error("the derivatives were not found: {left:.1e} of their equations are left")]
    Singular {
        /// What is left of the adjoint equations, relatively.
        left: f64,
    },
}

impl SteadyError {
    /// Whether a source with a profile, in the place of the one with a congestion window, would do.
    pub fn needs_profile(&self) -> bool {
        matches!(self, SteadyError::NotCovered { reason, .. } if *reason == crate::problem::NEEDS_PROFILE)
    }
}
