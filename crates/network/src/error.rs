//! What can go wrong when a network is built or run.

/// Why a network cannot be built. The scenario's author is told more precisely by the scenario
/// crate; these are for those who build networks in code.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two links lead from the same node to the same node.
    #[error("link {link} exists twice")]
    DuplicateLink {
        /// `FROM->TO`.
        link: String,
    },
    /// A link leads from a node to itself.
    #[error("a link leads from {node} to itself")]
    SelfLoop {
        /// The node's name.
        node: String,
    },
    /// Two connections have the same name.
    #[error("connection `{connection}` exists twice")]
    DuplicateConnection {
        /// Its name.
        connection: String,
    },
    /// An id is of another network's builder.
    #[error("{subject}: `{field}` is an id of another network")]
    Foreign {
        /// `link 3`, `connection c1`, `event at 2 s` …
        subject: String,
        /// The field's name in its spec.
        field: &'static str,
    },
    /// A link's classes, or the class of a connection, cannot be as they are.
    #[error("{subject}: {reason}")]
    Class {
        /// `link A->B`, `connection c1` …
        subject: String,
        /// What is wrong, in words.
        reason: String,
    },
    /// A number is out of its range.
    #[error("{subject}: {field} is {value}, but must be {allowed}")]
    OutOfRange {
        /// `link A->B`, `connection c1` …
        subject: String,
        /// The field's name in its spec.
        field: &'static str,
        /// What it is.
        value: f64,
        /// What it may be, in words.
        allowed: &'static str,
    },
    /// There is no way from a connection's sender to its receiver, or back.
    #[error("connection `{connection}`: no path from {from} to {to}")]
    Unreachable {
        /// The connection's name.
        connection: String,
        /// Where the path should start.
        from: String,
        /// Where it should end.
        to: String,
    },
    /// A conditioner or a queue's drop curves cannot be as they are.
    #[error("{subject}: {reason}")]
    DiffServ {
        /// `aggregate A1`, `link A->B` …
        subject: String,
        /// What is wrong.
        reason: netflow_diffserv::Error,
    },
    /// A workload cannot be as it is.
    #[error("workload `{workload}`: {reason}")]
    Workload {
        /// Its name.
        workload: String,
        /// What is wrong, in words.
        reason: String,
    },
    /// An aggregate has no connections.
    #[error("aggregate `{aggregate}` has no members")]
    EmptyAggregate {
        /// Its name.
        aggregate: String,
    },
    /// Two aggregates have the same name.
    #[error("aggregate `{aggregate}` exists twice")]
    DuplicateAggregate {
        /// Its name.
        aggregate: String,
    },
    /// A connection is in two aggregates.
    #[error("connection `{connection}` is in two aggregates")]
    TwoAggregates {
        /// The connection's name.
        connection: String,
    },
    /// What was announced to be set of a connection cannot be set.
    #[error("connection `{connection}`: {reason}")]
    NotSettable {
        /// The connection's name.
        connection: String,
        /// What is wrong, in words.
        reason: String,
    },
    /// A given path is not a path from sender to receiver over existing links.
    #[error("connection `{connection}`: {reason}")]
    BadPath {
        /// The connection's name.
        connection: String,
        /// What is wrong, in words.
        reason: String,
    },
}

/// Why a run cannot start or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E = std::convert::Infallible> {
    /// A number in [`crate::Options`] is out of range, or two options exclude each other.
    #[error("option {option}: {reason}")]
    BadOption {
        /// The option's name.
        option: &'static str,
        /// What is wrong, in words.
        reason: String,
    },
    /// The run would not fit into the memory that the network's builder allowed.
    #[error(
        "the run needs about {} MB of memory, {} MB are allowed; fluids need the least with transport \"well-mixed\"",
        megabytes(needed_bytes),
        megabytes(allowed_bytes)
    )]
    TooLarge {
        /// Estimated need in bytes.
        needed_bytes: u64,
        /// Limit in bytes.
        allowed_bytes: u64,
    },
    /// A queue's length is no number any more.
    #[error("the queue of link {link} became {value} at {time_s} s (step {step})")]
    NotFinite {
        /// `FROM->TO`.
        link: String,
        /// Simulated time in seconds.
        time_s: f64,
        /// Number of the step.
        step: u64,
        /// What it became.
        value: f64,
    },
    /// The recorder could not keep what happened.
    #[error("recording failed: {0}")]
    Record(E),
}

impl RunError {
    /// The same error for a recorder with errors of its own.
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
