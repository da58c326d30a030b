//! A scenario between real hosts: every connection by sockets of its own, between network namespaces, over
//! links that one thread carries.
//!
//! [`fit`] says whether a scenario can be emulated, before anything is made; [`Emulation`] makes its hosts;
//! [`Emulation::run`] lets its traffic run by the clock of the wall. It needs Linux, and root or
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
