//! One time step of the fluid network.

pub(crate) mod aggregates;
pub(crate) mod aqm_law;
mod block_work;
pub(crate) mod class_scheduler;
mod delay_change;
mod events;
mod explain;
pub(crate) mod feedback;
mod flights;
mod hop_transport;
mod inverse_profile;
pub(crate) mod link_loss;
pub(crate) mod link_order;
pub(crate) mod parallel;
pub(crate) mod plan;
mod published_equations;
pub(crate) mod queue;
pub(crate) mod queue_models;
pub(crate) mod rio;
mod scratch;
mod sending;
pub(crate) mod source_law;
pub(crate) mod sources;
mod step;
mod step_control;
pub(crate) mod tcp_window;

use feedback::FEEDBACK_RING_LEN;
use netflow_network::hash::fnv_hash;
use netflow_network::{Coupling, FluidOptions, Network, RunError, Step};
use plan::Plan;
pub(crate) use scratch::Scratch;
use step_control::StepControl;
use tcp_window::WindowLaw;

use crate::state::State;

/// Constants of a run: everything a step needs except the state, derived from the network and the options.
pub(crate) struct Setup {
    pub network: Network,
    pub options: FluidOptions,
    pub plan: Plan,
    /// True if sources with profiles learn of losses with delay, by an estimate or by their windows; false if
    /// they use the profile directly.
    pub learns: bool,
    /// Laws of the profiles' congestion windows, if these are state; otherwise empty.
    pub window_laws: Vec<WindowLaw>,
    /// True if sources with profiles are evaluated within the implicit solution of their first link's queue.
    pub within_step: bool,
    /// Step size control, if steps follow round-trip times.
    pub pace: Option<StepControl>,
    /// Start times of sources that limit the step size, with their classes, in order of time.
    pub starts: Vec<(f64, u32)>,
}

/// Time interval of a step, in seconds.
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

/// Step in progress.
pub(crate) struct StepContext<'a> {
    pub setup: &'a Setup,
    pub state: &'a mut State,
    pub scratch: &'a mut Scratch,
    pub span: Span,
}

impl Setup {
    /// Returns true for the published equations.
    pub fn is_literal(&self) -> bool {
        matches!(self.options, FluidOptions::Literal { .. })
    }

    /// Creates the setup for controllable connections with these initial paths.
    pub fn new(network: Network, options: FluidOptions, paths: &[Option<u32>]) -> Setup {
        let mut plan = Plan::new(network.tables(), paths);
        let coupling = options.coupling();
        let learns = matches!(coupling, Coupling::Learned | Coupling::Windows);
        plan.looks = if coupling == Coupling::Learned {
            plan.branches.len() * FEEDBACK_RING_LEN
        } else {
            0
        };
        let window_laws: Vec<WindowLaw> = if coupling == Coupling::Windows {
            (plan.profiles.iter()).map(WindowLaw::new).collect()
        } else {
            Vec::new()
        };
        plan.windows = if window_laws.is_empty() {
            0
        } else {
            plan.branches.len()
        };
        let mut pace = None;
        let mut coupled = Coupling::Learned;
        let chosen = match options {
            FluidOptions::Fifo { step } => {
                let paced = StepControl::new(step, &plan, network.tables());
                pace = paced;
                format!("Fluid {step:?} Fifo {coupled:?}")
            }
            FluidOptions::WellMixed { step, coupling } => {
                if learns {
                    pace = StepControl::new(step, &plan, network.tables());
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
        let longest_s = options.longest_step_s();
        let shortest_s = pace.map_or(longest_s, |pace| pace.shortest_s);
        plan.size_rings(network.tables(), (shortest_s, longest_s));
        plan.fingerprint = fnv_hash((plan.fingerprint, chosen));
        if paths.iter().any(Option::is_some) {
            plan.fingerprint = fnv_hash((plan.fingerprint, paths));
        }
        let starts = step_control::starts(&plan);
        Setup {
            within_step: coupled == Coupling::Implicit && !plan.has_precedences,
            network,
            options,
            plan,
            learns,
            window_laws,
            pace,
            starts,
        }
    }
}

/// Advances `state` by one step.
pub(crate) fn advance(
    setup: &Setup,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
) -> Result<(), RunError> {
    let mut moving = StepContext {
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
