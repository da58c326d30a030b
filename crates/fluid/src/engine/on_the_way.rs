//! What links lose on the way, after their queues.

use std::ops::Range;

use netflow_network::{Change, LinkLoss};

use super::Setup;
use super::plan::{BranchPlan, Plan};
use super::sources::ln_pass;
use crate::state::State;

/// What steps need of it, derived from the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnTheWay {
    /// By hop, the part of what leaves the queue that the link does not lose; empty if no link loses any.
    pass: Vec<f64>,
    /// By rank of the link, whether it loses any; likewise.
    loses: Vec<bool>,
    /// By branch, ln of the part of its data that no link loses.
    pub ln_pass: Vec<f64>,
}

impl OnTheWay {
    /// Links lose other things than before.
    pub fn update(&mut self, plan: &Plan, state: &State) {
        self.pass.clear();
        self.loses.clear();
        if state.losses.iter().any(|(_, loss)| !loss.is_none()) {
            self.pass.resize(plan.hop_count(), 1.0);
            self.loses.resize(plan.links.len(), false);
        }
        for &(rank, loss) in state.losses.iter().filter(|(_, loss)| !loss.is_none()) {
            let rank = rank as usize;
            self.loses[rank] = true;
            let blocks = plan.blocks_at(&plan.links[rank]).iter();
            for run in blocks.flat_map(|block| plan.runs_of(block)) {
                let bytes = run.bits / run.packets / 8.0;
                let hops = run.first_hop as usize..run.end_hop as usize;
                self.pass[hops].fill(1.0 - loss.probability(bytes));
            }
        }
        self.ln_pass.clear();
        let branches = plan.branches.iter();
        self.ln_pass
            .extend(branches.map(|branch| ln_pass_of(plan, state, branch)));
    }

    /// The parts of these hops of a link that it does not lose, if it loses any.
    pub fn pass_of(&self, rank: usize, hops: Range<usize>) -> Option<&[f64]> {
        match self.loses.get(rank) {
            Some(true) => Some(&self.pass[hops]),
            _ => None,
        }
    }
}

/// ln of the part of a branch's data that no link loses on the way.
pub(crate) fn ln_pass_of(plan: &Plan, state: &State, branch: &BranchPlan) -> f64 {
    let ranks = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
    let lost = |&rank: &u32| {
        let bytes = plan.wire_bits(rank, branch.data_bits) / 8.0;
        state.loss(rank as usize).probability(bytes)
    };
    ranks.iter().map(|rank| ln_pass(lost(rank))).sum()
}

impl State {
    /// What a link loses on the way at present.
    pub(crate) fn loss(&self, rank: usize) -> LinkLoss {
        match self.place_of_loss(rank) {
            Ok(place) => self.losses[place].1,
            Err(_) => LinkLoss::NONE,
        }
    }

    /// Whether the link loses some on the way, or has lost.
    pub(crate) fn has_loss(&self, rank: usize) -> bool {
        self.place_of_loss(rank).is_ok()
    }

    /// From now on the link loses this; whether that is something else.
    pub(crate) fn set_loss(&mut self, rank: usize, loss: LinkLoss) -> bool {
        let before = self.loss(rank);
        match self.place_of_loss(rank) {
            Ok(place) => self.losses[place].1 = loss,
            Err(_) if loss.is_none() => {}
            Err(place) => self.losses.insert(place, (rank as u32, loss)),
        }
        loss != before
    }

    fn place_of_loss(&self, rank: usize) -> Result<usize, usize> {
        self.losses
            .binary_search_by_key(&(rank as u32), |&(rank, _)| rank)
    }
}

impl Setup {
    /// What links lose at the start, by rank.
    pub fn first_losses(&self) -> Vec<(u32, LinkLoss)> {
        let inner = self.network.tables();
        let events = inner.events.iter();
        let later = events
            .filter(|event| matches!(event.change, Change::Loss(_)))
            .count();
        let links = (0..).zip(&self.plan.links);
        let losses = links.map(|(rank, l)| (rank, inner.links[l.link as usize].loss));
        let mut losses: Vec<(u32, LinkLoss)> = losses.filter(|(_, loss)| !loss.is_none()).collect();
        // Events find room, so that steps allocate nothing.
        losses.reserve_exact(later);
        losses
    }
}
