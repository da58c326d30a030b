//! Errors that prevent a start of the benchmark.

use std::io;
use std::net::SocketAddr;

/// Reason for a server or a run that could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A number of a workload is out of its range.
    #[error(transparent)]
    Workload(#[from] netflow_workload::Error),
    /// An option is out of its range.
    #[error("{what} is {value}, allowed is {allowed}")]
    Option {
        /// Name of the option.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Its range, as text.
        allowed: &'static str,
    },
    /// The server cannot listen at this address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Address and port.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The kernel lacks this congestion control, or restricts it to root.
    #[error("cannot use the congestion control `{name}`: {source}{}", available())]
    Congestion {
        /// Name of the congestion control.
        name: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The system has no sockets or timers left.
    #[error("cannot start: {0}")]
    System(#[source] io::Error),
}

/// Returns the list of available congestion controls as text; empty if it is unknown.
fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").map_or(
        String::new(),
        |names| {
            let names: Vec<&str> = names.split_whitespace().collect();
            format!("; available: {}", names.join(", "))
        },
    )
}
