//! A whole network between real hosts: every link of a [`Network`](netflow_network::Network) with its queue,
//! one network namespace for each host, and one thread that carries all packets.
//!
//! - [`Fabric`] is the links at work, without clocks or rights.
//! - [`Plan`] says which hosts there are, and which ways lead from whom to whom.
//! - [`EmulatedNetwork`] is the hosts themselves; it runs from [`EmulatedNetwork::start`] on.

mod fabric;
mod link;
mod packet;
mod plan;
mod report;

#[cfg(target_os = "linux")]
mod emulated;
#[cfg(target_os = "linux")]
mod emulator;

#[cfg(target_os = "linux")]
pub use emulated::{EmulatedNetwork, NetworkOptions};
pub use fabric::{Entering, Fabric, Leaving, Way};
pub use link::LinkCounts;
pub use plan::{Host, Pair, Plan, TcpRoute};
pub use report::{Mark, NetworkReport, OneWayDelay, PairCounts};

/// Why a network cannot be emulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Real packets do not know this queue.
    #[error("queues with {0} are not emulated")]
    QueueOfFluids(&'static str),
    /// More than there are addresses.
    #[error("there are more {0} than the {1} that have addresses")]
    TooMany(&'static str, u32),
    /// No ways could be found between hosts.
    #[error("no ways between hosts: {0}")]
    NoWays(String),
}
