//! How a step moves the network.

mod arrays;
pub(crate) mod carried;
mod earlier;
pub(crate) mod early;
mod events;
mod explain;
pub(crate) mod feedback;
mod fifo;
pub(crate) mod law;
mod literal;
pub(crate) mod marked;
pub(crate) mod on_the_way;
pub(crate) mod order;
mod pace;
pub(crate) mod parallel;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod rio;
pub(crate) mod schedule;
mod scratch;
mod send;
mod shares;
pub(crate) mod sources;
mod step;
pub(crate) mod windows;

use feedback::LOOKS;
use netflow_network::hash::hash_of;
use netflow_network::{Coupling, FluidOptions, Network, RunError, Step};
use pace::Pace;
use plan::Plan;
pub(crate) use scratch::Scratch;

use crate::state::State;

/// All that a step needs beside the state and does not change: derived from the network and the options.
pub(crate) struct Setup {
    pub network: Network,
    pub options: FluidOptions,
    pub plan: Plan,
    /// Whether queues and links have an order; else they are well mixed.
    pub fifo: bool,
    /// Whether sources with profiles learn, instead of taking the profile at its word.
    pub learns: bool,
    /// Whether sources with profiles are evaluated within the solution of their first link's queue.
    pub within_step: bool,
    /// How long steps are, if they follow round-trip times.
    pub pace: Option<Pace>,
    /// When sources start that want steps of some length, with their classes, in order of times.
    pub starts: Vec<(f64, u32)>,
}

/// From when to when a step goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start_s: f64,
    pub end_s: f64,
    pub length_s: f64,
}

impl Span {
    pub fn new(start_s: f64, end_s: f64) -> Span {
        Span {
            start_s,
            end_s,
            length_s: end_s - start_s,
        }
    }
}

/// A step under way.
pub(crate) struct Moving<'a> {
    pub setup: &'a Setup,
    pub state: &'a mut State,
    pub scratch: &'a mut Scratch,
    pub span: Span,
}

impl Setup {
    /// For connections that take these of the paths that they may be set to from the start.
    pub fn new(network: Network, options: FluidOptions, paths: &[Option<u32>]) -> Setup {
        let mut plan = Plan::new(network.tables(), paths);
        let learns = options.learns();
        plan.looks = if learns {
            plan.branches.len() * LOOKS
        } else {
            0
        };
        let mut pace = None;
        let mut fifo = false;
        let mut coupled = Coupling::Learned;
        let chosen = match options {
            FluidOptions::Fifo { step } => {
                let paced = Pace::new(step, &plan, network.tables());
                let shortest_s = paced.map_or(step.longest_s(), |pace| pace.shortest_s);
                plan.size_rings(network.tables(), shortest_s);
                (fifo, pace) = (true, paced);
                format!("Fluid {step:?} Fifo {coupled:?}")
            }
            FluidOptions::WellMixed { step, coupling } => {
                if learns {
                    pace = Pace::new(step, &plan, network.tables());
                }
                coupled = coupling;
                format!("Fluid {step:?} WellMixed {coupling:?}")
            }
            FluidOptions::Adaptive { step, coupling } => {
                coupled = coupling;
                format!("Fluid {step:?} WellMixed {coupling:?}")
            }
            FluidOptions::Literal { step_s } => {
                format!("FluidLiteral {:?} WellMixed Lagged", Step::auto(step_s))
            }
        };
        if !fifo {
            plan.carry();
        }
        plan.fingerprint = hash_of((plan.fingerprint, chosen));
        if paths.iter().any(Option::is_some) {
            plan.fingerprint = hash_of((plan.fingerprint, paths));
        }
        let starts = pace::starts(&plan);
        Setup {
            within_step: coupled == Coupling::Implicit && !plan.has_precedences,
            network,
            options,
            plan,
            fifo,
            learns,
            pace,
            starts,
        }
    }
}

/// Moves `state` over one step.
pub(crate) fn advance(
    setup: &Setup,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
) -> Result<(), RunError> {
    let mut moving = Moving {
        setup,
        state,
        scratch,
        span,
    };
    let result = match setup.options {
        FluidOptions::Literal { .. } => moving.step_literally(),
        _ => moving.step(),
    };
    if let Err(rank) = result {
        let link = setup.plan.links[rank].link as usize;
        return Err(RunError::NotFinite {
            link: setup.network.tables().link_names[link].clone(),
            time_s: span.start_s,
            step: state.steps,
            value: state.links[rank].queue_pkts,
        });
    }
    state.last_step_s = span.length_s;
    state.evaluations += 1;
    state.steps += 1;
    state.time_s = span.end_s;
    Ok(())
}
