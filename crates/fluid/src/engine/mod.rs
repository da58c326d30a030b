//! How a step moves the network.

mod adaptive;
mod arrays;
mod events;
mod explain;
pub(crate) mod feedback;
mod fifo;
mod literal;
pub(crate) mod marked;
pub(crate) mod order;
mod pace;
mod parallel;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod rio;
pub(crate) mod schedule;
mod send;
mod shares;
pub(crate) mod sources;
mod step;

use std::sync::Arc;

use feedback::LOOKS;
use netflow_network::likeness::hash_of;
use netflow_network::{Coupling, FluidOptions, Network, RunError, Step};
use pace::Pace;
use plan::Plan;
use sources::ActiveSources;
use step::Scratch;
pub(crate) use step::Span;

use crate::delays::Wait;
use crate::state::State;

/// All that a step needs beside the state, derived from the network and the options.
#[derive(Clone)]
pub(crate) struct Engine {
    pub network: Network,
    pub options: FluidOptions,
    pub plan: Arc<Plan>,
    pub fifo: bool,
    /// Whether sources with profiles learn, instead of taking the profile at its word.
    pub learns: bool,
    /// Whether sources with profiles are evaluated within the solution of their first link's queue.
    pub within_step: bool,
    /// How long steps are, if they follow round-trip times.
    pub pace: Option<Pace>,
    pub active: ActiveSources,
    /// What does not change in each branch's round-trip time.
    pub fixed_s: Vec<f64>,
    pub scratch: Scratch,
    /// What links made packets wait when it was looked at last.
    pub waits: Vec<Wait>,
    /// Branches that were just evaluated within the step.
    sent_by: Vec<send::SentWithin>,
}

impl Engine {
    pub fn new(network: Network, options: FluidOptions) -> Engine {
        let mut plan = Plan::new(network.tables());
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
        plan.fingerprint = hash_of((plan.fingerprint, chosen));
        let plan = Arc::new(plan);
        Engine {
            fifo,
            learns,
            within_step: coupled == Coupling::Implicit && !plan.has_precedences,
            active: ActiveSources::default(),
            fixed_s: Vec::new(),
            scratch: Scratch::default(),
            waits: Vec::with_capacity(plan.links.len()),
            sent_by: Vec::with_capacity(plan.branches.len()),
            network,
            options,
            plan,
            pace,
        }
    }

    /// Allocates what steps work with, and derives what follows from the state.
    pub fn prepare(&mut self, state: &State) {
        self.scratch = Scratch::new(&self.plan);
        sources::fixed_round_trips(&self.plan, &state.links, &mut self.fixed_s);
        self.active.until_s = f64::NEG_INFINITY;
        self.look_at_links(state);
    }

    /// Moves `state` over one step.
    pub fn advance(&mut self, state: &mut State, span: Span) -> Result<(), RunError> {
        let result = match self.options {
            FluidOptions::Literal { .. } => self.step_literally(state, span),
            _ => self.step(state, span),
        };
        if let Err(place) = result {
            let link = self.plan.links[place].link as usize;
            return Err(RunError::NotFinite {
                link: self.network.tables().link_names[link].clone(),
                time_s: span.start_s,
                step: state.steps,
                value: state.links[place].queue_pkts,
            });
        }
        state.steps += 1;
        state.time_s = span.end_s;
        Ok(())
    }

    /// The longest step from now on that is right for those who send in it.
    pub fn next_step_s(&mut self, state: &mut State) -> Option<f64> {
        let pace = self.pace?;
        self.update_sources(state, state.time_s + pace.longest_s);
        let round_trip_s = pace::shortest_seen_s(&self.plan, &self.active, state, &self.fixed_s);
        Some(pace.step_s(round_trip_s))
    }

    /// Makes the list of sources that may send before `end_s` anew, if that is due.
    pub fn update_sources(&mut self, state: &mut State, end_s: f64) {
        if end_s <= self.active.until_s {
            return;
        }
        state.handed[..self.plan.branches.len()].fill(0.0);
        self.active.gather(
            self.network.tables(),
            &self.plan,
            state,
            self.within_step,
            end_s - state.time_s,
        );
    }
}
