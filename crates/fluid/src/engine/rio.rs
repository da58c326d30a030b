//! Queues that tell drop precedences apart: early drops in front of the finite queue.
//!
//! Each precedence looks at an average queue of its own (RIO), which moves with the packets that
//! arrive. Within a step the averages, the early drops and the queue are solved together: backward
//! Euler, with the averages as they are at the step's end.

use netflow_diffserv::{Discipline, Dropper, QueueLoad};
use netflow_network::DropPolicy;
use netflow_network::tables::Tables;
use serde::{Deserialize, Serialize};

use super::Moving;
use super::plan::Plan;
use super::queue::{LIGHT, NOTHING, PART, PARTS, Solution, Step};
use super::shares::Arrivals;
use super::sources::ln_pass;
use crate::state::State;

/// One such queue, as far as it does not change.
#[derive(Clone, Debug)]
pub(crate) struct RioQueue {
    pub rank: u32,
    pub dropper: Dropper,
    /// The bandwidth with which the dropper was made.
    bandwidth_bps: f64,
}

/// One such queue; arrays are by precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RioState {
    /// The average that each precedence looks at.
    pub average_pkts: [f64; 3],
    /// Probability to be dropped early.
    pub early: [f64; 3],
    /// Packets in the queue.
    pub queue_pkts: [f64; 3],
    /// Since the start:
    pub offered_pkts: [f64; 3],
    pub lost_pkts: [f64; 3],
}

impl RioState {
    /// The loss of a mix of precedences, if the full queue refuses this fraction.
    pub fn loss(&self, marking: &[f64; 3], refused: f64) -> f64 {
        let each = marking.iter().zip(&self.early);
        let dropped: f64 = each.map(|(part, early)| part * early).sum();
        dropped + (1.0 - dropped) * refused
    }

    /// As [`State::extrapolate`] does with all volumes; what was lost is never taken back.
    pub fn extrapolate(&mut self, whole: &RioState) {
        for p in 0..3 {
            let lost = 2.0 * self.lost_pkts[p] - whole.lost_pkts[p];
            let offered = 2.0 * self.offered_pkts[p] - whole.offered_pkts[p];
            if lost >= 0.0 && offered >= lost {
                (self.lost_pkts[p], self.offered_pkts[p]) = (lost, offered);
            }
        }
    }
}

impl Plan {
    /// Finds the queues that tell precedences apart.
    pub fn add_rio_queues(&mut self, inner: &Tables) {
        for (rank, l) in self.links.iter_mut().enumerate() {
            let spec = &inner.links[l.link as usize];
            // The builder has checked that there is a dropper.
            if let DropPolicy::Rio(rio) = &spec.queue
                && let Ok(dropper) = rio.dropper(spec.bandwidth_bps * l.pkts_per_bit, 1)
            {
                l.rio = Some(self.rio.len() as u32);
                self.rio.push(RioQueue {
                    rank: rank as u32,
                    dropper,
                    bandwidth_bps: spec.bandwidth_bps,
                });
            }
        }
    }
}

/// What a queue does at a solution that is tried.
#[derive(Clone, Copy)]
struct Tried {
    /// By how much packets are out of balance.
    residual: f64,
    average_pkts: [f64; 3],
    early: [f64; 3],
}

/// A queue over one step.
struct RioStep<'a> {
    queue: &'a RioQueue,
    before: &'a RioState,
    step: &'a Step,
    /// Packets of each precedence that arrive.
    arriving: [f64; 3],
    length_s: f64,
    /// The bandwidth relative to the one that the dropper knows.
    speed: f64,
}

impl RioStep<'_> {
    fn at(&self, tried: &Solution) -> Tried {
        let waiting = (tried.queue_pkts - tried.utilization).max(0.0);
        let shares = self.shares();
        let load = QueueLoad {
            arrival_pps: self.arriving.map(|pkts| pkts / self.length_s),
            queue_pkts: shares.map(|share| share * waiting),
            empty: self
                .seen(shares)
                .map(|share| self.speed * empty(tried.utilization, share)),
        };
        let dropper = &self.queue.dropper;
        let average_pkts = dropper.averages_after(self.before.average_pkts, &load, self.length_s);
        let early = dropper.drop_probabilities(average_pkts);
        let admitted = self.admitted(&early) * (1.0 - tried.refused);
        let served = self.step.service_pkts * tried.utilization;
        Tried {
            residual: tried.queue_pkts - self.step.before_pkts + served - admitted,
            average_pkts,
            early,
        }
    }

    /// Packets that are not dropped early.
    fn admitted(&self, early: &[f64; 3]) -> f64 {
        let each = self.arriving.iter().zip(early);
        each.map(|(pkts, early)| pkts * (1.0 - early)).sum()
    }

    /// The mix of the queue, with the early drops of the step before.
    fn shares(&self) -> [f64; 3] {
        let there = match self.step.before_pkts > 0.0 {
            true => self.before.queue_pkts,
            false => [0.0; 3],
        };
        let mix = |p: usize| there[p] + self.arriving[p] * (1.0 - self.before.early[p]);
        let mix = [mix(0), mix(1), mix(2)];
        let sum: f64 = mix.iter().sum();
        match sum > NOTHING {
            true => mix.map(|part| part / sum),
            false => [0.0; 3],
        }
    }

    /// The part of the queue that each precedence looks at.
    fn seen(&self, [dp0, dp1, dp2]: [f64; 3]) -> [f64; 3] {
        match self.queue.dropper.spec().discipline {
            Discipline::Red | Discipline::Wred => [dp0 + dp1 + dp2; 3],
            Discipline::RioC => [dp0, dp0 + dp1, dp0 + dp1 + dp2],
            Discipline::RioD => [dp0, dp1, dp2],
        }
    }
}

/// Fraction of the time in which none of a share of the packets is in a queue that is empty for
/// 1 − U of it: for geometric lengths with this π₀, each packet one of them by chance.
fn empty(utilization: f64, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    let idle = 1.0 - utilization;
    idle / (idle + utilization * share)
}

impl Moving<'_> {
    /// What a packet of no aggregate meets at these queues: it is DP2.
    pub(super) fn look_at_rio_queues(&mut self) {
        for (queue, rio) in self.setup.plan.rio.iter().zip(&self.state.rio) {
            let rank = queue.rank as usize;
            let pass = (1.0 - rio.early[2]) * (1.0 - self.state.links[rank].refused);
            self.scratch.conditions[rank].ln_pass = ln_pass(1.0 - pass);
        }
    }

    /// Solves one queue together with its averages; what is dropped early is taken out of what
    /// arrives, and counted.
    pub(super) fn solve_rio(
        &mut self,
        rank: usize,
        rio: u32,
        step: &Step,
        arriving: &mut Arrivals,
    ) -> (Solution, Option<f64>) {
        let plan = &self.setup.plan;
        let queue = &plan.rio[rio as usize];
        let before = self.state.rio[rio as usize];
        let link = &self.state.links[rank];
        let rio_step = RioStep {
            queue,
            before: &before,
            step,
            arriving: arriving_by_precedence(plan, self.state, rank),
            length_s: self.span.length_s,
            speed: link.bandwidth_bps * link.share / queue.bandwidth_bps,
        };
        let solved = match (link.down, step.before_pkts + arriving.pkts > NOTHING) {
            (true, _) => {
                let mut tried = rio_step.at(&Solution::default());
                tried.early = [0.0; 3];
                Solved::once(Solution::down(), tried)
            }
            (false, true) if self.setup.learns => solve_in_parts(&rio_step),
            (false, true) => {
                let (solution, tried) = solve(&rio_step);
                Solved::once(solution, tried)
            }
            (false, false) => {
                let solution = Solution {
                    ln_rho: LIGHT,
                    ..Solution::default()
                };
                Solved::once(solution, rio_step.at(&solution))
            }
        };
        let Solved {
            solution,
            early,
            at_end,
            refused_at_end,
        } = solved;
        let offered = rio_step.arriving;
        let after = &mut self.state.rio[rio as usize];
        after.take(offered, &early, &solution);
        (after.average_pkts, after.early) = (at_end.average_pkts, at_end.early);
        drop_early(plan, self.state, rank, &early, arriving);
        (solution, refused_at_end)
    }
}

/// A queue after a step.
struct Solved {
    solution: Solution,
    /// Fractions of the step's arrivals that are dropped early.
    early: [f64; 3],
    at_end: Tried,
    /// What is refused at the end of the step, if that is not the mean.
    refused_at_end: Option<f64>,
}

impl Solved {
    fn once(solution: Solution, tried: Tried) -> Solved {
        Solved {
            solution,
            early: tried.early,
            at_end: tried,
            refused_at_end: None,
        }
    }
}

impl RioState {
    /// What is offered is taken in but for what is dropped early or refused, and the queue's mix follows.
    fn take(&mut self, offered: [f64; 3], early: &[f64; 3], solution: &Solution) {
        let mut there = [0.0; 3];
        for p in 0..3 {
            let admitted = offered[p] * (1.0 - early[p]) * (1.0 - solution.refused);
            self.offered_pkts[p] += offered[p];
            self.lost_pkts[p] += offered[p] - admitted;
            there[p] = self.queue_pkts[p] + admitted;
        }
        let sum: f64 = there.iter().sum();
        let keep = match sum > NOTHING {
            true => (solution.queue_pkts / sum).min(1.0),
            false => 0.0,
        };
        self.queue_pkts = there.map(|pkts| pkts * keep);
    }
}

/// As [`Step::solve_in_parts`].
fn solve_in_parts(rio: &RioStep<'_>) -> Solved {
    let (whole, tried) = solve(rio);
    if !rio.step.changes_much(&whole) {
        return Solved::once(whole, tried);
    }
    let arriving = rio.arriving.map(|pkts| pkts * PART);
    let mut step = rio.step.part();
    let mut state = *rio.before;
    let mut early = [0.0; 3];
    let (mut let_in, mut admitted, mut utilization) = (0.0, 0.0, 0.0);
    let (mut end, mut at_end) = (whole, tried);
    for _ in 0..PARTS {
        let part = RioStep {
            before: &state,
            step: &step,
            arriving,
            length_s: rio.length_s * PART,
            ..*rio
        };
        (end, at_end) = solve(&part);
        let pkts = part.admitted(&at_end.early);
        let_in += pkts;
        admitted += pkts * (1.0 - end.refused);
        utilization += end.utilization * PART;
        for (mean, now) in early.iter_mut().zip(at_end.early) {
            *mean += now * PART;
        }
        state.take(arriving, &at_end.early, &end);
        (state.average_pkts, state.early) = (at_end.average_pkts, at_end.early);
        step.go_on(&end);
    }
    let refused = match let_in > NOTHING {
        true => 1.0 - admitted / let_in,
        false => end.refused,
    };
    Solved {
        solution: Solution {
            refused: refused.max(0.0),
            utilization,
            ..end
        },
        early,
        at_end,
        refused_at_end: Some(end.refused),
    }
}

/// The queue at the end of the step. Where a drop probability jumps, the queue may stay at the
/// threshold: then the drops between both sides of the jump that keep it there.
fn solve(rio: &RioStep<'_>) -> (Solution, Tried) {
    let (mut low, mut high): (Option<Tried>, Option<Tried>) = (None, None);
    let solution = rio.step.solve_by(|tried| {
        let tried = rio.at(tried);
        match tried.residual > 0.0 {
            true => high = Some(tried),
            false => low = Some(tried),
        }
        rio.admitted(&tried.early)
    });
    let mut tried = rio.at(&solution);
    let scale = 1.0 + rio.step.before_pkts + rio.step.service_pkts;
    if tried.residual.abs() > 1e-9 * scale
        && let (Some(low), Some(high)) = (low, high)
    {
        let part = low.residual / (low.residual - high.residual);
        for p in 0..3 {
            tried.early[p] = low.early[p] + part * (high.early[p] - low.early[p]);
        }
    }
    (solution, tried)
}

fn arriving_by_precedence(plan: &Plan, state: &State, rank: usize) -> [f64; 3] {
    let l = &plan.links[rank];
    let mut sums = [0.0; 3];
    for block in &plan.blocks[l.first_block as usize..l.end_block as usize] {
        for run in plan.runs_of(block) {
            let inflow = &state.inflow[run.first_hop as usize..run.end_hop as usize];
            sums[run.precedence as usize] += run.packets * inflow.iter().sum::<f64>();
        }
    }
    sums
}

/// Takes early drops out of what arrives at a link, hop by hop.
fn drop_early(
    plan: &Plan,
    state: &mut State,
    rank: usize,
    early: &[f64; 3],
    arriving: &mut Arrivals,
) {
    let l = &plan.links[rank];
    let mut dropped = Arrivals::default();
    for block in &plan.blocks[l.first_block as usize..l.end_block as usize] {
        for run in plan.runs_of(block) {
            let early = early[run.precedence as usize];
            let hops = run.first_hop as usize..run.end_hop as usize;
            let mut pkts = 0.0;
            let inflow = state.inflow[hops.clone()].iter_mut();
            for (inflow, lost) in inflow.zip(&mut state.lost[hops]) {
                let drop = *inflow * early;
                *lost += drop;
                *inflow -= drop;
                pkts += drop;
            }
            dropped.pkts += pkts * run.packets;
            dropped.bits += pkts * run.bits;
        }
    }
    arriving.pkts = (arriving.pkts - dropped.pkts).max(0.0);
    arriving.bits = (arriving.bits - dropped.bits).max(0.0);
    let link = &mut state.links[rank];
    link.offered_pkts += dropped.pkts;
    link.lost_pkts += dropped.pkts;
}
