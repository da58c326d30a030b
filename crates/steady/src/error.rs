//! Errors of the steady-state solver.

use netflow_network::LinkElement;

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
    /// An element of a link needs the packet model.
    #[error(
        "the {element} of link {link} needs {}, or {}",
        simulation_of(*element),
        element.alternative()
    )]
    LinkElement {
        /// Name of the link.
        link: String,
        /// The element.
        element: LinkElement,
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
        "no steady state was found from {starts} starting points: smallest residual {residual:.1e}, at link {link}; \
         use `netflow run` to see if the network oscillates"
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
    #[error("none of the selected links, nodes or groups exist, or all are already down")]
    NothingToFail,
    /// There are more failure cases than the maximum.
    #[error("there are more than {most} cases; select a random sample of them")]
    TooManyCases {
        /// Largest number of cases.
        most: usize,
    },
    /// No element has an unavailability.
    #[error(
        "no link, node or shared-risk group has an unavailability; give them `mtbf` and `mttr`, or `unavailability`"
    )]
    NoUnavailability,
    /// Demands should be scaled, but there are none.
    #[error(
        "none of the selected connections has a fixed rate or an application with a rate; other TCP has no demand to scale"
    )]
    NothingToScale,
    /// Results of connections were requested, but none of them is active.
    #[error("no traffic from {who} at the selected time: {because}")]
    NoTraffic {
        /// Name of the network or connections, in words.
        who: String,
        /// Reason.
        because: &'static str,
    },
    /// The derivatives have no finite value or were not found, because the state is discontinuous.
    #[error(
        "the derivatives were not found: the relative residual of their equations is {left:.1e}"
    )]
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

/// Returns how a run simulates an element that has no steady state.
fn simulation_of(element: LinkElement) -> &'static str {
    match element {
        LinkElement::Series => "a run over time; use `netflow run`",
        _ => "the packet model; use `netflow run --model packet`",
    }
}
