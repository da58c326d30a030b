//! Emulation of scenarios with real sockets. Every connection has sockets of its own in network
//! namespaces, and one thread emulates the links between them.
//!
//! [`check_feasibility`] checks whether a scenario can be emulated before anything is created.
//! [`Emulation`] creates its hosts. [`Emulation::run`] runs its traffic in real time. Emulation
//! requires Linux, and root or unprivileged user namespaces.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = netflow_scenario::load("scenarios/topology.toml".as_ref(), &[])?;
//! let expected = netflow_emulation::check_feasibility(&scenario)?;
//! println!("{:.0} packets/s at {} hosts", expected.pps, expected.hosts);
//! let settings = netflow_emulation::Settings::default();
//! let report = netflow_emulation::Emulation::new(&scenario, &settings)?.run(&|| false)?;
//! println!("late by {} us at p99", report.all_lateness.p99_us);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod feasibility;

#[cfg(target_os = "linux")]
mod emulation;
#[cfg(target_os = "linux")]
mod open_loop;
#[cfg(target_os = "linux")]
mod tcp_transfers;

#[cfg(target_os = "linux")]
pub use emulation::{Emulation, Error, Settings};
pub use feasibility::{
    EstimatedLoad, Infeasible, MAX_CONNECTIONS, MAX_HOST_PPS, MAX_HOSTS, MAX_LINK_PPS,
    check_feasibility, payload_bytes,
};
