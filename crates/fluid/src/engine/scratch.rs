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
    /// Sources that may send, by component.
    pub active: Vec<ActiveSources>,
    /// Fixed part of the delays, by branch.
    pub fixed: Vec<FixedDelays>,
    /// Random loss of links.
    pub on_the_way: LinkPassFractions,
    /// Loss and wait of a packet that arrives at each link at the start of the step.
    pub conditions: Vec<LinkCondition>,
    /// The same with waiting times at later bandwidths; empty if no link follows a series.
    pub reported: Vec<LinkCondition>,
    /// True if a link follows a series, whose rows may be shorter than the time between samples of delays.
    pub has_series: bool,
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
            active: vec![ActiveSources::default(); plan.components.len()],
            fixed: Vec::new(),
            on_the_way: LinkPassFractions::default(),
            conditions: vec![LinkCondition::default(); plan.links.len()],
            has_series: inner.links.iter().any(|link| link.series.is_some()),
            reported: if state.links.iter().any(|link| link.drain_s.is_some()) {
                vec![LinkCondition::default(); plan.links.len()]
            } else {
                Vec::new()
            },
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
            waits: vec![QueueWait::default(); plan.links.len()],
            transfers_pps: vec![0.0; plan.links.len()],
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
        for active in &mut self.active {
            active.until_s = f64::NEG_INFINITY;
            active.demand = None;
        }
    }

    /// Returns the longest suitable step of a component for the sources that send in it.
    pub fn next_step_s(&mut self, setup: &Setup, state: &mut State, c: usize) -> f64 {
        // Excludes sources that stop now, and includes sources that start now.
        let clock = state.clocks[c];
        self.update_sources(setup, state, c, clock.time_s.next_up());
        setup.steps[c].next_step_length_s(setup, &self.active[c], state, clock, &self.fixed)
    }

    /// Takes the congestion windows of rerouted classes along to their new paths.
    fn move_windows(&self, setup: &Setup, state: &mut State, c: usize) {
        let (plan, steps) = (&setup.plan, state.clocks[c].steps);
        if state.windows.is_empty() {
            return;
        }
        let mut running = vec![None; setup.network.class_count()];
        for &b in &plan.components[c].branches {
            let b = b as usize;
            if state.windows[b].is_running(steps) {
                running[plan.branches[b].class as usize] = Some(b);
            }
        }
        if running.iter().all(Option::is_none) {
            return;
        }
        for b in self.active[c].all() {
            let (b, class) = (b as usize, plan.branches[b as usize].class as usize);
            if let Some(old) = running[class].filter(|&old| old != b)
                && !state.windows[b].is_running(steps)
            {
                state.windows[b] = std::mem::take(&mut state.windows[old]).moved();
            }
        }
    }

    /// Updates the list of sources of a component that may send before `end_s`, if that is due.
    pub fn update_sources(&mut self, setup: &Setup, state: &mut State, c: usize, end_s: f64) {
        let active = &mut self.active[c];
        if end_s <= active.until_s {
            return;
        }
        let component = &setup.plan.components[c];
        for &b in &component.branches {
            state.forwarded[b as usize] = 0.0;
        }
        active.gather(setup, state, component, state.clocks[c].time_s, end_s);
        self.move_windows(setup, state, c);
        let (active, fixed) = (self.active[c].all(), &self.fixed);
        let fillings = &mut self.fillings;
        queue_models::update_queue_models(setup, state, component, active, fixed, fillings);
        for rank in component.links.clone() {
            self.model_hashes[rank] = self.fillings[rank].hash();
        }
    }
}
