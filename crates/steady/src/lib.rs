//! Steady state of a network in the fluid model, computed without a time-domain simulation.
//!
//! A `netflow-fluid` run that settles reaches a state in which nothing changes. Every queue sends
//! what it accepts. Every source sends the rate that its profile gives for the loss and the
//! round-trip time of its path. This crate solves these equations directly by Newton's method. The
//! queue equations are those of [`netflow_fluid::queue_fixed_point`], which the fluid engine also uses. The
//! result does not depend on the time step, because the queue at the end of a step without change
//! is the same for any step.
//!
//! The result is an equilibrium, but it may be unstable. A run may oscillate around it without end
//! if delays are long compared with the buffers and the source rates depend steeply on loss.
//!
//! - [`solve()`] and [`Solver`] compute the steady state,
//! - [`Solver::sensitivities`] its derivatives with respect to every parameter of links and
//!   connections,
//! - [`Solver::transfer_times`] the mean completion times of finite transfers,
//! - [`Solver::headroom`] the largest factor by which demands can grow,
//! - [`failures()`] the effect of failures of links, nodes and risk groups,
//! - [`plan()`] the cheapest upgrades and new links for growth and failures,
//! - [`optimize_weights`] routing metrics with a low largest load,
//! - [`availability()`] the fraction of the time in which each demand is served,
//! - [`estimate_demands()`] a traffic matrix from measured loads of links,
//! - [`compare_with_run()`] whether a run settles at the steady state.
//!
//! Not supported, and rejected: congestion windows, managed queues, transfers that end, aggregates,
//! drop precedences, and links with several queues. Users send their mean traffic.
#![warn(missing_docs)]

mod arc_graph;
mod availability;
mod changed_state;
mod demand_estimate;
mod error;
mod failures;
mod gmres;
mod headroom;
mod jacobian;
mod link_traffic_adjoint;
mod mark_estimates;
mod newton;
mod options;
mod percentile;
mod plan;
mod problem;
mod residual;
pub mod rows;
mod run_comparison;
mod sensitivity;
mod slowdown;
mod solver;
mod steady;
mod transfers;
mod upgrades;
mod weights;

use netflow_network::Network;

pub use availability::{
    Availability, AvailabilityOptions, Demand, DemandAvailability, EvaluatedStates,
    NetworkAvailability, ProbabilityRange, availability,
};
pub use demand_estimate::{
    DemandError, DemandEstimate, DemandOptions, EstimatedDemand, Fit, Measurements,
    estimate_demands,
};
pub use error::SteadyError;
pub use failures::{
    AffectedConnection, AfterFailure, BUSY_LOAD, Failing, FailureCase, FailureKind, FailureOptions,
    Failures, HeadroomUnderFailures, ImpactKind, LinkUnderFailure, SLOWDOWN_THRESHOLD, Worst,
    failures, headroom_under_failures,
};
pub use headroom::{Binding, BindingKind, Bounds, Headroom};
pub use options::SteadyOptions;
pub use plan::{
    CandidateLink, MAX_EXHAUSTIVE, Module, ModuleSet, Plan, PlanError, PlanOptions, PlanVariants,
    plan,
};
pub use residual::BindingConstraint;
pub use run_comparison::{ObservedRange, RunComparison, compare_with_run};
pub use sensitivity::{Measure, Sensitivities};
pub use solver::{ConnectionSelection, Solver};
pub use steady::{ConnectionSteady, LinkSteady, Steady, TotalsSteady};
pub use transfers::TransferTimes;
pub use upgrades::Upgrade;
pub use weights::{
    MAX_ISIS_METRIC, MAX_OSPF_METRIC, WeightOptions, WeightSetting, Weights, WeightsError,
    optimize_weights,
};

/// Computes the steady state of a network just before `at_s`; infinity means after all events.
///
/// # Errors
/// As [`Solver::new`] and [`Solver::solve`].
pub fn solve(network: &Network, at_s: f64, options: &SteadyOptions) -> Result<Steady, SteadyError> {
    Solver::new(network, at_s)?.solve(options)
}

/// Computes the steady state, starting from that of a similar network with as many links.
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
