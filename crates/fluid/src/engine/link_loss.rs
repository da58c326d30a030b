//! Random packet loss on links, after their queues.

use std::ops::Range;

use netflow_network::{Change, LinkLoss};

use super::Setup;
use super::plan::{BranchPlan, Plan};
use super::sources::ln_pass;
use crate::state::State;

/// Loss of links in the form that steps use, derived from the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkPassFractions {
    /// Fraction of departures that the link delivers, by hop; empty if no link has loss.
    pass: Vec<f64>,
    /// True for links with loss, by rank; empty if no link has loss.
    loses: Vec<bool>,
    /// ln of the fraction of data that no link loses, by branch.
    pub ln_pass: Vec<f64>,
}

impl LinkPassFractions {
    /// Recomputes the fractions after a change of losses.
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

    /// Returns the delivered fractions of these hops, if the link has loss.
    pub fn pass_of(&self, rank: usize, hops: Range<usize>) -> Option<&[f64]> {
        match self.loses.get(rank) {
            Some(true) => Some(&self.pass[hops]),
            _ => None,
        }
    }
}

/// Returns ln of the fraction of a branch's data that no link loses.
pub(crate) fn ln_pass_of(plan: &Plan, state: &State, branch: &BranchPlan) -> f64 {
    let ranks = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
    let lost = |&rank: &u32| {
        let bytes = plan.wire_bits(rank, branch.data_bits) / 8.0;
        state.loss(rank as usize).probability(bytes)
    };
    ranks.iter().map(|rank| ln_pass(lost(rank))).sum()
}

impl State {
    /// Returns the present loss of a link.
    pub(crate) fn loss(&self, rank: usize) -> LinkLoss {
        match self.place_of_loss(rank) {
            Ok(place) => self.losses[place].1,
            Err(_) => LinkLoss::NONE,
        }
    }

    /// Returns true if the link has or had loss.
    pub(crate) fn has_loss(&self, rank: usize) -> bool {
        self.place_of_loss(rank).is_ok()
    }

    /// Sets the loss of a link from now on. Returns true if it changed.
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
    /// Returns the initial losses of links, by rank.
    pub fn first_losses(&self) -> Vec<(u32, LinkLoss)> {
        let inner = self.network.tables();
        let events = inner.events.iter();
        let later = events
            .filter(|event| matches!(event.change, Change::Loss(_)))
            .count();
        let series = inner.links.iter().flat_map(|link| &link.series);
        let later = later
            + series
                .filter(|it| it.series.columns().losses.is_some())
                .count();
        let links = (0..).zip(&self.plan.links);
        let losses = links.map(|(rank, l)| (rank, inner.links[l.link as usize].loss));
        let mut losses: Vec<(u32, LinkLoss)> = losses.filter(|(_, loss)| !loss.is_none()).collect();
        // Reserves capacity for events, so that steps do not allocate.
        losses.reserve_exact(later);
        losses
    }
}
