//! What steps work with besides the state, and can be derived from it.

use netflow_network::Edge;

use super::on_the_way::OnTheWay;
use super::plan::Plan;
use super::send::SentWithin;
use super::shares::{Arrivals, Fate, Weight};
use super::sources::{ActiveSources, Condition, Fixed};
use super::{Setup, windows};
use crate::delays::Wait;
use crate::filling::Filling;
use crate::state::State;

/// Everything is allocated before the first step.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// The sources that may send.
    pub active: ActiveSources,
    /// What does not change in each branch's times.
    pub fixed: Vec<Fixed>,
    /// What links lose on the way.
    pub on_the_way: OnTheWay,
    /// What each link does to a packet that arrives at the start of the step.
    pub conditions: Vec<Condition>,
    /// By block.
    pub arrivals: Vec<Arrivals>,
    /// By link, where those of a level take at once what arrives.
    pub arriving: Vec<Arrivals>,
    /// By link.
    pub fates: Vec<Fate>,
    /// Weights of the rows of rings, link by link.
    pub departures: Vec<Weight>,
    pub same_step: Vec<Weight>,
    pub next_step: Vec<Weight>,
    /// How many of them each link has.
    pub next_step_rows: Vec<u32>,
    /// What sources that are evaluated within the step see at its start.
    pub seen: Vec<[f64; 2]>,
    /// Branches that were just evaluated within the step.
    pub sent_by: Vec<SentWithin>,
    /// Packets that each branch may still send.
    pub may_send: Vec<f64>,
    /// What fills each queue, while the sources are these.
    pub fillings: Vec<Filling>,
    /// What links made packets wait when it was looked at last.
    pub waits: Vec<Wait>,
    /// Packets/s that transfers brought to links then.
    pub transfers_pps: Vec<f64>,
    /// By aggregate: its edge as it is set.
    pub edges: Vec<Edge>,
}

impl Scratch {
    pub fn new(setup: &Setup, state: &State) -> Scratch {
        let plan: &Plan = &setup.plan;
        let inner = setup.network.tables();
        let mut scratch = Scratch {
            active: ActiveSources::default(),
            fixed: Vec::new(),
            on_the_way: OnTheWay::default(),
            conditions: vec![Condition::default(); plan.links.len()],
            arrivals: vec![Arrivals::default(); plan.blocks.len()],
            arriving: vec![Arrivals::default(); plan.links.len()],
            fates: vec![Fate::default(); plan.links.len()],
            departures: vec![(0, 0.0); plan.queue_slots],
            same_step: vec![(0, 0.0); plan.flight_batches],
            next_step: vec![(0, 0.0); plan.flight_batches],
            next_step_rows: vec![0; plan.links.len()],
            seen: vec![[0.0; 2]; plan.branches.len()],
            sent_by: Vec::with_capacity(plan.branches.len()),
            may_send: vec![f64::INFINITY; plan.branches.len()],
            fillings: vec![Filling::default(); plan.links.len()],
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

    /// Bandwidths, delays or routes are others than before.
    pub fn links_changed(&mut self, setup: &Setup, state: &State) {
        Fixed::of_all(&setup.plan, state, &mut self.fixed);
        self.active.until_s = f64::NEG_INFINITY;
    }

    /// The longest step from now on that is right for those who send in it.
    pub fn next_step_s(&mut self, setup: &Setup, state: &mut State) -> Option<f64> {
        let pace = setup.pace?;
        // Who stops now is not in the list any more, and who starts now is.
        self.update_sources(setup, state, state.time_s.next_up());
        Some(pace.next_s(setup, &self.active, state, &self.fixed))
    }

    /// Makes the list of sources that may send before `end_s` anew, if that is due.
    pub fn update_sources(&mut self, setup: &Setup, state: &mut State, end_s: f64) {
        if end_s <= self.active.until_s {
            return;
        }
        state.forwarded[..setup.plan.branches.len()].fill(0.0);
        self.active.gather(setup, state, end_s - state.time_s);
        windows::fill(setup, state, &self.active, &mut self.fillings);
    }
}
