//! What fills every queue: who sends over it, and who reacts.

use super::Setup;
use super::plan::{BranchPlan, NO_PROFILE};
use super::sources::ActiveSources;
use crate::filling::{Crossing, Filling, Windowed};
use crate::state::State;

impl BranchPlan {
    /// As its windows count for queues; `None` if it does not react to losses.
    fn windowed(&self) -> Option<Windowed> {
        let bulk = self.profile != NO_PROFILE && self.application_pps == f64::INFINITY;
        bulk.then_some(Windowed {
            count: self.weight,
            window_pkts: self.window_pkts,
            round_trip_s: self.forward_s + self.back_s,
            data_bits: self.data_bits,
        })
    }
}

/// What fills the queues of all links while these sources send; nothing is said where sources do not learn,
/// and of queues that drop early.
pub(super) fn fill(setup: &Setup, state: &State, active: &ActiveSources, out: &mut Vec<Filling>) {
    let plan = &setup.plan;
    out.clear();
    out.resize(plan.links.len(), Filling::default());
    if !setup.learns {
        return;
    }
    let ranks = |(from, to): (u32, u32)| {
        plan.path[from as usize..to as usize]
            .iter()
            .map(|&r| r as usize)
    };
    let branches = || active.all().map(|b| &plan.branches[b as usize]);
    let mut crossings = vec![Crossing::default(); plan.links.len()];
    for branch in branches() {
        match branch.windowed() {
            Some(windowed) => {
                ranks(branch.path).for_each(|r| crossings[r].windows += windowed.count);
                if branch.last_hop != u32::MAX {
                    let acks = windowed.count * branch.packets_per_data;
                    ranks(branch.way_back).for_each(|r| crossings[r].acks += acks);
                }
            }
            None => {
                let pps = match branch.profile {
                    NO_PROFILE => branch.rate_pps,
                    _ => branch.application_pps,
                };
                let bps = pps * branch.weight * branch.data_bits;
                ranks(branch.path).for_each(|r| crossings[r].unresponsive_bps += bps);
            }
        }
    }
    for ((crossing, link), state) in crossings.iter_mut().zip(&plan.links).zip(&state.links) {
        crossing.bandwidth_bps = state.bandwidth_bps;
        crossing.buffer_pkts = link.buffer_pkts;
    }
    for branch in branches() {
        if let Some(windowed) = branch.windowed() {
            for r in ranks(branch.path) {
                crossings[r].reacting += windowed.count * crossings[r].reaction(&windowed);
            }
        }
    }
    for ((filling, crossing), link) in out.iter_mut().zip(&crossings).zip(&plan.links) {
        if link.red.is_none() && link.rio.is_none() {
            *filling = crossing.filling();
        }
    }
}
