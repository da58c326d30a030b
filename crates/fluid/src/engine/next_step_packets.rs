//! Well-mixed transport: packets carried from one step to the next.
//!
//! Links are processed one after the other, and some feed links that were processed earlier. Packets
//! forwarded to these wait for the next step. If that step is shorter, they arrive at the rate at which they
//! were forwarded, not all at once.

use serde::{Deserialize, Serialize};

use super::StepContext;
use super::parallel::for_cells;
use super::plan::Plan;
use crate::state::State;

/// Maximum ratio of arrival rate to forwarding rate, as long as more than one step's packets wait.
const MAX_ARRIVAL_RATIO: f64 = 1.05;

/// Minimum number of cells per thread.
const MIN_CELLS_PER_THREAD: usize = 8192;

/// Packets that wait for the next step, by position in [`Plan::carried`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NextStepPackets {
    pub pkts: Vec<f64>,
    /// Time in seconds over which they were forwarded; 0 if nothing waits.
    pub collected_s: f64,
}

impl NextStepPackets {
    pub fn new(plan: &Plan) -> NextStepPackets {
        NextStepPackets {
            pkts: vec![0.0; plan.carried.len()],
            collected_s: 0.0,
        }
    }

    /// Returns the waiting packets of one hop.
    pub fn of(&self, plan: &Plan, hop: usize) -> f64 {
        match plan.carried.binary_search(&(hop as u32)) {
            Ok(place) => self.pkts[place],
            Err(_) => 0.0,
        }
    }
}

impl Plan {
    /// Finds the hops whose packets are carried, and redirects the input of the next links (well-mixed
    /// transport).
    pub fn find_carried_hops(&mut self) {
        let next_step = (self.links.iter()).flat_map(|l| l.next_step_hop..l.end_hop);
        self.carried = next_step.collect();
        let (sources, hops) = (self.branches.len() as u32, self.hop_count() as u32);
        for up in &mut self.up {
            let hop = up.checked_sub(sources);
            let place = hop.and_then(|hop| self.carried.binary_search(&hop).ok());
            if let Some(place) = place {
                *up = sources + hops + place as u32;
            }
        }
    }
}

impl StepContext<'_> {
    /// Begins a step: waiting packets arrive.
    pub(super) fn receive_carried(&mut self) {
        let State {
            forwarded, carried, ..
        } = &mut *self.state;
        let first = forwarded.len() - carried.pkts.len();
        let part = (MAX_ARRIVAL_RATIO * self.span.length_s / carried.collected_s).min(1.0);
        let (fork, arrives) = (self.setup.plan.is_parallel(), &mut forwarded[first..]);
        for_cells(arrives, fork, MIN_CELLS_PER_THREAD, |i, arrives| {
            *arrives = part * carried.pkts[i]
        });
        for_cells(&mut carried.pkts, fork, MIN_CELLS_PER_THREAD, |i, waits| {
            *waits -= arrives[i]
        });
        carried.collected_s *= 1.0 - part;
    }

    /// Ends a step: packets forwarded to links that were processed earlier wait.
    pub(super) fn carry_to_next_step(&mut self) {
        let plan = &self.setup.plan;
        let State {
            forwarded, carried, ..
        } = &mut *self.state;
        let forwarded = &forwarded[plan.branches.len()..];
        for_cells(
            &mut carried.pkts,
            plan.is_parallel(),
            MIN_CELLS_PER_THREAD,
            |i, waits| {
                *waits += forwarded[plan.carried[i] as usize];
            },
        );
        let waits_any = carried.pkts.iter().any(|&waits| waits > 0.0);
        carried.collected_s = if waits_any {
            carried.collected_s + self.span.length_s
        } else {
            0.0
        };
    }
}
