//! Errors of building and running a network.

/// Error in a network specification. These errors serve users of the Rust API; the scenario crate reports
/// scenario errors with their location.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two links with the same nodes and the same circuit.
    #[error("link {link} exists twice")]
    DuplicateLink {
        /// Name of the link, `FROM->TO`.
        link: String,
    },
    /// Link from a node to itself.
    #[error("link from {node} to itself")]
    SelfLoop {
        /// Name of the node.
        node: String,
    },
    /// Two connections with the same name.
    #[error("connection `{connection}` exists twice")]
    DuplicateConnection {
        /// Name of the connection.
        connection: String,
    },
    /// Id of another network's builder.
    #[error("{subject}: `{field}` is an id of another network")]
    Foreign {
        /// `link 3`, `connection c1`, `event at 2 s` …
        subject: String,
        /// Name of the field in its specification.
        field: &'static str,
    },
    /// Invalid classes of a link, or invalid class of a connection.
    #[error("{subject}: {reason}")]
    Class {
        /// `link A->B`, `connection c1` …
        subject: String,
        /// Reason, as text.
        reason: String,
    },
    /// Number out of its range.
    #[error("{subject}: {field} is {value}, but must be {allowed}")]
    OutOfRange {
        /// `link A->B`, `connection c1` …
        subject: String,
        /// Name of the field in its specification.
        field: &'static str,
        /// The number.
        value: f64,
        /// Allowed range, as text.
        allowed: &'static str,
    },
    /// Missing path from a connection's sender to its receiver, or in the reverse direction.
    #[error("connection `{connection}`: no path from {from} to {to}")]
    Unreachable {
        /// Name of the connection.
        connection: String,
        /// Start of the missing path.
        from: String,
        /// End of the missing path.
        to: String,
    },
    /// Invalid conditioner, or invalid drop curves of a queue.
    #[error("{subject}: {reason}")]
    DiffServ {
        /// `aggregate A1`, `link A->B` …
        subject: String,
        /// Reason.
        reason: netflow_diffserv::Error,
    },
    /// Invalid workload.
    #[error("workload `{workload}`: {reason}")]
    Workload {
        /// Name of the workload.
        workload: String,
        /// Reason, as text.
        reason: String,
    },
    /// Aggregate without connections.
    #[error("aggregate `{aggregate}` has no members")]
    EmptyAggregate {
        /// Name of the aggregate.
        aggregate: String,
    },
    /// Two aggregates with the same name.
    #[error("aggregate `{aggregate}` exists twice")]
    DuplicateAggregate {
        /// Name of the aggregate.
        aggregate: String,
    },
    /// Connection in two aggregates.
    #[error("connection `{connection}` is in two aggregates")]
    TwoAggregates {
        /// Name of the connection.
        connection: String,
    },
    /// Announced value of a connection that cannot be set.
    #[error("connection `{connection}`: {reason}")]
    NotSettable {
        /// Name of the connection.
        connection: String,
        /// Reason, as text.
        reason: String,
    },
    /// Explicit path that does not connect sender and receiver over existing links.
    #[error("connection `{connection}`: {reason}")]
    BadPath {
        /// Name of the connection.
        connection: String,
        /// Reason, as text.
        reason: String,
    },
}

/// Error that prevents or stops a run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E = std::convert::Infallible> {
    /// Number in [`crate::Options`] out of range, or two options that exclude each other.
    #[error("option {option}: {reason}")]
    BadOption {
        /// Name of the option.
        option: &'static str,
        /// Reason, as text.
        reason: String,
    },
    /// Memory need above the limit of the network's builder.
    #[error(
        "the run needs about {} MB of memory, but only {} MB are allowed",
        megabytes(needed_bytes),
        megabytes(allowed_bytes)
    )]
    TooLarge {
        /// Estimated need in bytes.
        needed_bytes: u64,
        /// Limit in bytes.
        allowed_bytes: u64,
    },
    /// Queue length that is not a finite number.
    #[error("the queue of link {link} became {value} at {time_s} s (step {step})")]
    NotFinite {
        /// Name of the link, `FROM->TO`.
        link: String,
        /// Simulated time in seconds.
        time_s: f64,
        /// Number of the step.
        step: u64,
        /// The queue length.
        value: f64,
    },
    /// Error of the recorder.
    #[error("recording failed: {0}")]
    Record(E),
}

impl RunError {
    /// Returns the same error with another error type of the recorder.
    pub fn retype<E>(self) -> RunError<E> {
        match self {
            RunError::BadOption { option, reason } => RunError::BadOption { option, reason },
            RunError::TooLarge {
                needed_bytes,
                allowed_bytes,
            } => RunError::TooLarge {
                needed_bytes,
                allowed_bytes,
            },
            RunError::NotFinite {
                link,
                time_s,
                step,
                value,
            } => RunError::NotFinite {
                link,
                time_s,
                step,
                value,
            },
            RunError::Record(never) => match never {},
        }
    }
}

fn megabytes(bytes: &u64) -> u64 {
    bytes / 1_000_000
}
