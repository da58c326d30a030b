//! Fluid model of a network: differential equations for the queues and for TCP's congestion windows.
//!
//! Every link is a finite queue. M/M/1/K blocking or a [model of TCP windows](tcp_drop_tail) gives the loss. The
//! congestion windows of a TCP source give its rate, and its profile gives their equilibrium. [`Fluid`]
//! integrates these equations in time; netflow-simulation runs it and records the results.
//!
//! Internal units are always seconds, packets, packets per second, bits per second and bytes.

pub mod delays;
mod engine;
mod fluid;
pub mod link_traffic;
mod load_ramp;
pub mod mm1k;
pub mod packet_calibration;
pub mod queue_fixed_point;
mod session_replay;
pub mod slow_start_bursts;
mod state;
pub mod tcp_drop_tail;

pub use delays::BranchDelays;
pub use fluid::{BranchCounts, Fluid};
pub use state::State;
