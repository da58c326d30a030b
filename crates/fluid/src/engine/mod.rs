//! One time step of the fluid network.

pub(crate) mod aggregates;
pub(crate) mod aqm_law;
mod block_work;
pub(crate) mod class_scheduler;
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

use netflow_network::hash::fnv_hash;
use netflow_network::{FluidOptions, Network, RunError};
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
    /// Laws of the profiles' congestion windows; empty for the published equations.
    pub window_laws: Vec<WindowLaw>,
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
        let (mut window_laws, mut pace) = (Vec::new(), None);
        if let FluidOptions::Standard { step } = options {
            window_laws = plan.profiles.iter().map(WindowLaw::new).collect();
            plan.windows = plan.branches.len();
            pace = StepControl::new(step, &plan, network.tables());
        }
        let longest_s = options.longest_step_s();
        let shortest_s = pace.map_or(longest_s, |pace| pace.shortest_s);
        plan.size_rings(network.tables(), (shortest_s, longest_s));
        plan.fingerprint = fnv_hash((plan.fingerprint, format!("{options:?}")));
        if paths.iter().any(Option::is_some) {
            plan.fingerprint = fnv_hash((plan.fingerprint, paths));
        }
        let starts = step_control::starts(&plan);
        Setup {
            network,
            options,
            plan,
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
        FluidOptions::Standard { .. } => moving.step(),
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
    state.steps += 1;
    state.time_s = span.end_s;
    Ok(())
}
