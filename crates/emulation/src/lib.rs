//! Emulation of scenarios with real sockets. Every connection has sockets of its own in network
//! namespaces, and one thread emulates the links between them.
//!
//! [`fit`] checks whether a scenario can be emulated before anything is created. [`Emulation`] creates
//! its hosts. [`Emulation::run`] runs its traffic in real time. Emulation requires Linux, and root or
//! unprivileged user namespaces.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = netflow_scenario::load("scenarios/topology.toml".as_ref(), &[])?;
//! let expected = netflow_emulation::fit(&scenario)?;
//! println!("{:.0} packets/s at {} hosts", expected.pps, expected.hosts);
//! let settings = netflow_emulation::Settings::default();
//! let report = netflow_emulation::Emulation::new(&scenario, &settings)?.run(&|| false)?;
//! println!("late by {} us at p99", report.all_lateness.p99_us);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod fit;

#[cfg(target_os = "linux")]
mod emulation;
#[cfg(target_os = "linux")]
mod open;
#[cfg(target_os = "linux")]
mod tcp;

#[cfg(target_os = "linux")]
pub use emulation::{Emulation, Error, Settings};
pub use fit::{
    Expected, MOST_CONNECTIONS, MOST_HOPS_PPS, MOST_HOSTS, MOST_PPS, Unfit, data_bytes, fit,
};
