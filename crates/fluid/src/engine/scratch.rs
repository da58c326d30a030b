//! Working memory of steps that can be derived from the state.

use netflow_network::Edge;

use super::hop_transport::{Arrivals, QueueOutcome, RowWeight};
use super::link_loss::LinkPassFractions;
use super::plan::Plan;
use super::sources::{ActiveSources, FixedDelays, LinkCondition};
use super::{Setup, queue_models};
use crate::delays::QueueWait;
use crate::state::State;
use crate::tcp_drop_tail::DropTailTcpLaw;

/// Working memory, allocated before the first step.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// Sources that may send.
    pub active: ActiveSources,
    /// Fixed part of the delays, by branch.
    pub fixed: Vec<FixedDelays>,
    /// Random loss of links.
    pub on_the_way: LinkPassFractions,
    /// Loss and wait of a packet that arrives at each link at the start of the step.
    pub conditions: Vec<LinkCondition>,
    /// Arrivals by block.
    pub arrivals: Vec<Arrivals>,
    /// Arrivals by link, for levels that take their arrivals at once.
    pub arriving: Vec<Arrivals>,
    /// Solution by link.
    pub fates: Vec<QueueOutcome>,
    /// Weights of the rows of rings, link by link.
    pub same_step: Vec<RowWeight>,
    pub next_step: Vec<RowWeight>,
    /// Number of rows in `next_step` by link.
    pub next_step_rows: Vec<u32>,
    /// Packets that each branch may still send.
    pub may_send: Vec<f64>,
    /// Losses of slow start in this step: hop, link and packets.
    pub overshoot: Vec<(u32, u32, f64)>,
    /// Queue model of each link for the present sources.
    pub fillings: Vec<DropTailTcpLaw>,
    /// Hashes of these.
    pub model_hashes: Vec<u64>,
    /// Waiting times of links at the last sample.
    pub waits: Vec<QueueWait>,
    /// Packets/s of transfers on each link at the last sample.
    pub transfers_pps: Vec<f64>,
    /// Edge of each aggregate, with the rates that were set.
    pub edges: Vec<Edge>,
}

impl Scratch {
    pub fn new(setup: &Setup, state: &State) -> Scratch {
        let plan: &Plan = &setup.plan;
        let inner = setup.network.tables();
        let mut scratch = Scratch {
            active: ActiveSources::default(),
            fixed: Vec::new(),
            on_the_way: LinkPassFractions::default(),
            conditions: vec![LinkCondition::default(); plan.links.len()],
            arrivals: vec![Arrivals::default(); plan.blocks.len()],
            arriving: vec![Arrivals::default(); plan.links.len()],
            fates: vec![QueueOutcome::default(); plan.links.len()],
            same_step: vec![(0, 0.0); plan.flight_batches],
            next_step: vec![(0, 0.0); plan.flight_batches],
            next_step_rows: vec![0; plan.links.len()],
            may_send: vec![f64::INFINITY; plan.branches.len()],
            overshoot: Vec::with_capacity(plan.branches.len()),
            fillings: vec![DropTailTcpLaw::default(); plan.links.len()],
            model_hashes: vec![0; plan.links.len()],
            waits: Vec::with_capacity(plan.links.len()),
            transfers_pps: Vec::with_capacity(plan.links.len()),
            edges: (state.aggregates.iter().zip(&inner.aggregates))
                .map(|(aggregate, spec)| aggregate.edge(spec))
                .collect(),
        };
        scratch.links_changed(setup, state);
        scratch.on_the_way.update(plan, state);
        scratch
    }

    /// Updates derived data after a change of bandwidths, delays or routes.
    pub fn links_changed(&mut self, setup: &Setup, state: &State) {
        FixedDelays::of_all(&setup.plan, state, &mut self.fixed);
        self.active.until_s = f64::NEG_INFINITY;
    }

    /// Returns the longest suitable step for the sources that send in it.
    pub fn next_step_s(&mut self, setup: &Setup, state: &mut State) -> Option<f64> {
        let pace = setup.pace?;
        // Excludes sources that stop now, and includes sources that start now.
        self.update_sources(setup, state, state.time_s.next_up());
        Some(pace.next_step_length_s(setup, &self.active, state, &self.fixed))
    }

    /// Takes the congestion windows of rerouted classes along to their new paths.
    fn move_windows(&self, setup: &Setup, state: &mut State) {
        let plan = &setup.plan;
        let mut running = vec![None; setup.network.class_count()];
        for (b, window) in state.windows.iter().enumerate() {
            if window.is_running(state.steps) {
                running[plan.branches[b].class as usize] = Some(b);
            }
        }
        if running.iter().all(Option::is_none) {
            return;
        }
        for b in self.active.all() {
            let (b, class) = (b as usize, plan.branches[b as usize].class as usize);
            if let Some(old) = running[class].filter(|&old| old != b)
                && !state.windows[b].is_running(state.steps)
            {
                state.windows[b] = std::mem::take(&mut state.windows[old]).moved();
            }
        }
    }

    /// Updates the list of sources that may send before `end_s`, if that is due.
    pub fn update_sources(&mut self, setup: &Setup, state: &mut State, end_s: f64) {
        if end_s <= self.active.until_s {
            return;
        }
        state.forwarded[..setup.plan.branches.len()].fill(0.0);
        self.active.gather(setup, state, end_s - state.time_s);
        self.move_windows(setup, state);
        queue_models::update_queue_models(setup, state, &self.active, &mut self.fillings);
        let hashes = self.fillings.iter().map(DropTailTcpLaw::hash);
        self.model_hashes.clear();
        self.model_hashes.extend(hashes);
    }
}
