//! Where a network of fluids comes to rest, found without stepping.
//!
//! A run of netflow-fluid that settles ends where nothing changes any more: every queue takes in what it
//! sends, every source sends what its profile gives for the loss and the round-trip time of its path. Here
//! these equations are solved as they stand, by Newton's method, with the laws of
//! [`netflow_fluid::queue_fixed_point`] that a step of the engine has too. Lengths of steps do not come in: the queue at
//! the end of a step that changes nothing is the same for any length.
//!
//! What is found is an equilibrium. Whether a run stays there is another question: where delays are long
//! beside the queues' room, and sources steep, a run may sawtooth_amplitude around it for ever.
//!
//! - [`solve()`] and [`Solver`] find the steady state,
//! - [`Solver::sensitivities`] tells what a little more of anything anywhere changes,
//! - [`Solver::transfer_times`] how long transfers take that come and go,
//! - [`Solver::headroom`] how much more the network carries,
//! - [`failures()`] what happens if a link, a node or a risk group fails,
//! - [`beside_run()`] whether a run comes to rest there.
//!
//! Not covered, and refused: congestion windows, managed queues, transfers that end, aggregates and drop
//! precedences, links with several queues. Users send their mean traffic.
#![warn(missing_docs)]

mod beside;
mod error;
mod estimates;
mod failures;
mod filling;
mod gmres;
mod headroom;
mod linear;
mod newton;
mod options;
mod percentile;
mod point;
mod problem;
pub mod rows;
mod sensitivity;
mod sharing;
mod solver;
mod steady;
mod transfers;

use netflow_network::Network;

pub use beside::{BesideRun, LinkMeasurement, beside_run};
pub use error::SteadyError;
pub use failures::{
    AfterFailure, BUSY, Failing, FailureCase, FailureKind, FailureOptions, Failures, Harm, Hurt,
    LinkUnderFailure, SLOWER, Worst, failures,
};
pub use headroom::{Binding, BindingKind, Bounds, Headroom};
pub use options::SteadyOptions;
pub use point::Held;
pub use sensitivity::{Measure, Sensitivities};
pub use solver::{Solver, Which};
pub use steady::{ConnectionSteady, LinkSteady, Steady, TotalsSteady};
pub use transfers::TransferTimes;

/// The steady state of a network as it is just before `at_s`; infinity is after all its events.
///
/// # Errors
/// As [`Solver::new`] and [`Solver::solve`].
pub fn solve(network: &Network, at_s: f64, options: &SteadyOptions) -> Result<Steady, SteadyError> {
    Solver::new(network, at_s)?.solve(options)
}

/// The same from the steady state of another network with as many links, near which it may be.
///
/// # Errors
/// As [`solve()`].
pub fn solve_from(
    network: &Network,
    at_s: f64,
    before: &Steady,
    options: &SteadyOptions,
) -> Result<Steady, SteadyError> {
    Solver::new(network, at_s)?.solve_from(before, options)
}
