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

pub(crate) use adaptive::Tolerated;
use feedback::LOOKS;
use netflow_network::likeness::hash_of;
use netflow_network::{Coupling, Model, Network, Options, RunError, Step, Transport};
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
    pub options: Options,
    pub plan: Arc<Plan>,
    pub fifo: bool,
    /// Whether sources with profiles learn, instead of taking the profile at its word.
    pub learns: bool,
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
    pub fn new(network: Network, mut options: Options) -> Engine {
        if options.model == Model::FluidLiteral {
            options.coupling = Coupling::Lagged; // it knows no other
        }
        let fifo = options.transport == Transport::Fifo;
        let learns =
            options.model == Model::Fluid && (fifo || options.coupling == Coupling::Learned);
        let mut plan = Plan::new(network.tables());
        plan.looks = if learns {
            plan.branches.len() * LOOKS
        } else {
            0
        };
        let mut pace = None;
        let shortest_s = match options.step {
            Step::Auto {
                longest_s,
                per_round_trip,
            } if learns => {
                let round_trip_s = pace::shortest_round_trip_s(&plan, network.tables());
                let chosen = Pace::new(longest_s, per_round_trip, round_trip_s);
                pace = Some(chosen);
                chosen.shortest_s
            }
            Step::Auto { longest_s: s, .. }
            | Step::Fixed { step_s: s }
            | Step::Adaptive { min_s: s, .. } => s,
        };
        if fifo {
            plan.size_rings(network.tables(), shortest_s);
        }
        let Options {
            duration_s: _,
            model,
            step,
            transport,
            coupling,
            seed: _,
            burstiness_interval_s: _,
        } = options;
        let chosen = format!("{model:?} {step:?} {transport:?} {coupling:?}");
        plan.fingerprint = hash_of((plan.fingerprint, chosen));
        let plan = Arc::new(plan);
        Engine {
            fifo,
            learns,
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
        let result = match self.options.model {
            Model::FluidLiteral => self.step_literally(state, span),
            // Packets have a stepper of their own.
            Model::Fluid | Model::Window => self.step(state, span),
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
            &self.options,
            end_s - state.time_s,
        );
    }
}
