//! A network as fluids: equations move the queues, profiles tell what sources send.
//!
//! Every link is a finite queue. M/M/1/K blocking, or what [windows do to a queue](filling), gives the losses, and every source sends at the rate
//! that its profile gives for the loss and the round-trip time it currently sees. [`Fluid`] is a network
//! on its way through time by these equations; netflow-simulation runs it, and records.
//!
//! Inside, always seconds, packets, packets per second, bits per second and bytes.

pub mod bursts;
pub mod crossing;
pub mod delays;
mod engine;
pub mod filling;
mod fluid;
pub mod measured;
pub mod mm1k;
mod ramp;
mod replay;
pub mod rest;
mod state;

pub use delays::BranchDelays;
pub use fluid::{BranchCounts, Fluid};
pub use state::State;
