//! One time step of the fluid network.

pub(crate) mod aggregates;
pub(crate) mod aqm_law;
mod block_work;
pub(crate) mod class_scheduler;
pub(crate) mod components;
mod delay_change;
mod events;
mod explain;
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

use components::Component;
use netflow_network::hash::fnv_hash;
use netflow_network::{FluidOptions, Network, RunError, Step};
use plan::Plan;
pub(crate) use scratch::Scratch;
pub(crate) use step_control::ComponentSteps;
use tcp_window::WindowLaw;

use crate::state::State;

/// Constants of a run: everything a step needs except the state, derived from the network and the options.
pub(crate) struct Setup {
    pub network: Network,
    pub options: FluidOptions,
    pub plan: Plan,
    /// Laws of the profiles' congestion windows; empty for the published equations.
    pub window_laws: Vec<WindowLaw>,
    /// Steps of each component.
    pub steps: Vec<ComponentSteps>,
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

/// Step in progress of one component.
pub(crate) struct StepContext<'a> {
    pub setup: &'a Setup,
    /// Index of the component.
    pub c: usize,
    pub component: &'a Component,
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
        let mut plan = Plan::new(network.tables(), paths, has_adaptive_steps(options));
        let mut window_laws = Vec::new();
        if let FluidOptions::Standard { .. } = options {
            window_laws = plan.profiles.iter().map(WindowLaw::new).collect();
            plan.windows = plan.branches.len();
        }
        let steps = ComponentSteps::of_all(options, &plan, network.tables());
        let shortest_s: Vec<f64> = steps.iter().map(ComponentSteps::shortest_s).collect();
        plan.size_rings(network.tables(), &shortest_s, options.longest_step_s());
        plan.fingerprint = fnv_hash((plan.fingerprint, format!("{options:?}")));
        if paths.iter().any(Option::is_some) {
            plan.fingerprint = fnv_hash((plan.fingerprint, paths));
        }
        Setup {
            network,
            options,
            plan,
            window_laws,
            steps,
        }
    }
}

/// Returns true if the steps follow the round-trip times.
fn has_adaptive_steps(options: FluidOptions) -> bool {
    let FluidOptions::Standard { step } = options else {
        return false;
    };
    matches!(step, Step::Auto { .. })
}

/// Advances one component by one step.
pub(crate) fn advance(
    setup: &Setup,
    state: &mut State,
    scratch: &mut Scratch,
    c: usize,
    span: Span,
) -> Result<(), RunError> {
    let mut moving = StepContext {
        setup,
        c,
        component: &setup.plan.components[c],
        state,
        scratch,
        span,
    };
    let result = match setup.options {
        FluidOptions::Literal { .. } => moving.step_literally(),
        FluidOptions::Standard { .. } => moving.step(),
    };
    if let Err(rank) = result {
        let link = setup.plan.links[rank].link as usize;
        return Err(RunError::NotFinite {
            link: setup.network.tables().link_names[link].clone(),
            time_s: span.start_s,
            step: state.clocks[c].steps,
            value: state.links[rank].queue_pkts,
        });
    }
    let clock = &mut state.clocks[c];
    clock.last_step_s = span.length_s;
    clock.steps += 1;
    clock.time_s = span.end_s;
    Ok(())
}
