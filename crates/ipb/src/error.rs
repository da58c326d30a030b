//! What can keep the benchmark from starting.

use std::io;
use std::net::SocketAddr;

/// Why there is no server, or no run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A number of the workloads or options is outside of what it may be.
    #[error(transparent)]
    Workload(#[from] netflow_workload::Error),
    /// An option is outside of what it may be.
    #[error("{what} is {value}, allowed is {allowed}")]
    Option {
        /// Which option.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The range, in words.
        allowed: &'static str,
    },
    /// Nobody can listen at this address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address with its port.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system does not have this congestion control, or keeps it to root.
    #[error("cannot use the congestion control `{name}`: {source}{}", available())]
    Congestion {
        /// Its name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no sockets or timers left.
    #[error("cannot start: {0}")]
    System(#[source] io::Error),
}

/// What there is instead, if the system tells.
fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").map_or(
        String::new(),
        |names| {
            let names: Vec<&str> = names.split_whitespace().collect();
            format!("; there are {}", names.join(", "))
        },
    )
}
