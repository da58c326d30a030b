//! Simulation of a network of queues over time.
//!
//! Every link is a finite queue. In the fluid model, differential equations advance the queues,
//! M/M/1/K blocking gives the losses, and every source sends at the rate of its profile at its
//! current loss and round-trip time. The packet model simulates individual packets.
//!
//! Data flow: a [`NetworkBuilder`] collects [`LinkSpec`]s, [`ConnectionSpec`]s and [`EventSpec`]s
//! and builds an immutable [`Network`]. A [`Simulation`] consists of a network, [`Options`] and a
//! [`State`]. [`Simulation::step`] advances it by one step. [`Simulation::run`] runs it to its end
//! and passes every recording interval to a [`Recorder`].
//!
//! ```
//! use netflow_simulation::{
//!     Acks, Application, Buffer, ConnectionSpec, LinkSpec, NetworkBuilder, Options, Simulation, Source,
//! };
//!
//! let mut network = NetworkBuilder::new();
//! let (a, b) = (network.node("a"), network.node("b"));
//! let link = network.link(LinkSpec {
//!     delay_s: 0.02,
//!     buffer: Buffer::Packets(10.0),
//!     ..LinkSpec::new(a, b, 8e6) // 1000 packets/s of 1000 bytes
//! });
//! network.connection(ConnectionSpec {
//!     name: "stream".to_owned(),
//!     from: a,
//!     to: b,
//!     source: Source::Poisson { rate_pps: 1000.0 },
//!     application: Application::Bulk,
//!     start_s: 0.0,
//!     stop_s: None,
//!     size_pkts: None,
//!     count: 1,
//!     max_window_pkts: None,
//!     packet_size_bytes: 1000.0,
//!     path: None,
//!     return_path: None,
//!     flow: None,
//!     ecmp_share: None,
//!     transfers: None,
//!     acks: Acks::None,
//! });
//! let network = network.build().expect("a good network");
//!
//! let mut simulation = Simulation::new(network, Options::default())?;
//! while !simulation.is_done() {
//!     simulation.step()?;
//! }
//! // M/M/1/K at ρ = 1: every length is equally probable.
//! assert!((simulation.queue_pkts(link) - 5.0).abs() < 1e-9);
//! assert!((simulation.blocking(link) - 1.0 / 11.0).abs() < 1e-9);
//! # Ok::<(), netflow_simulation::RunError>(())
//! ```
//!
//! Internal units are always seconds, packets, packets per second, bits per second and bytes.

mod interval;
mod packet_calibration;
mod period_summary;
mod runtime_control;
mod simulation;

pub use netflow_fluid::{State, mm1k};
pub use netflow_network::*;
pub use packet_calibration::{calibrated, uncalibrated};
pub use runtime_control::{with_bandwidths, with_delays, with_paths, with_rates};
pub use simulation::{Outcome, Simulation, check_interval};
