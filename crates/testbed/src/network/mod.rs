//! Emulation of a whole network between real hosts. Every link of a [`Network`](netflow_network::Network)
//! has its queue, every host its network namespace, and one thread carries all packets.
//!
//! - [`LinkSimulation`] simulates the links, without clocks or rights.
//! - [`Plan`] lists the hosts and the paths between them.
//! - [`EmulatedNetwork`] contains the hosts; it runs from [`EmulatedNetwork::start`] on.

mod link;
mod network_simulation;
mod packet;
mod plan;
mod report;

#[cfg(target_os = "linux")]
mod emulated_network;
#[cfg(target_os = "linux")]
mod emulator;

#[cfg(target_os = "linux")]
pub use emulated_network::{EmulatedNetwork, NetworkOptions};
pub use link::LinkCounts;
pub use network_simulation::{EnteringPacket, LeavingPacket, LinkSimulation, PathSchedule};
pub use plan::{Host, Pair, Plan, TcpRoute};
pub use report::{NetworkReport, OneWayDelay, PairCounts, Snapshot};

/// Reason for not emulating a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Queue that only the fluid model supports.
    #[error("queues with {0} are not emulated")]
    FluidOnlyQueue(&'static str),
    /// More hosts or connections than addresses.
    #[error("more {0} than the maximum of {1} addresses")]
    TooFewAddresses(&'static str, u32),
    /// No paths between hosts.
    #[error("no paths between hosts: {0}")]
    NoPaths(String),
}
