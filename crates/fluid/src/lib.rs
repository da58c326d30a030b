//! A network of queues stepped through time.
//!
//! Every link is a finite queue. Fluid equations move the queues, M/M/1/K blocking gives the
//! losses, and every source sends at the rate that its profile gives for the loss and the
//! round-trip time it currently sees.
//!
//! The way of the data: a [`NetworkBuilder`] takes [`LinkSpec`]s, [`ConnectionSpec`]s and
//! [`EventSpec`]s and makes an immutable [`Network`]; a [`Simulation`] is a network, [`Options`]
//! and a [`State`]; it is stepped by [`Simulation::step`] or run to its end by
//! [`Simulation::run`], which hands every recording interval to a [`Recorder`].
//!
//! Inside, always seconds, packets, packets per second, bits per second and bytes.

mod engine;
mod error;
mod explain;
mod ids;
pub mod mm1k;
mod network;
mod options;
mod record;
mod simulation;
mod spec;
mod state;
mod totals;

pub use error::{BuildError, RunError};
pub use explain::{ExplainedHop, Explanation};
pub use ids::{ConnectionId, LinkId, NodeId};
pub use network::{Network, NetworkBuilder};
pub use options::{Coupling, Model, Options, Step, Transport};
pub use record::{ClassInterval, ConnectionInterval, Interval, LinkInterval, Recorder};
pub use simulation::{Outcome, Simulation};
pub use spec::{Acks, Buffer, Change, ConnectionSpec, EventSpec, LinkSpec, Queue, Red, Source};
pub use state::State;
pub use totals::{ConnectionTotals, LinkTotals, Totals};
