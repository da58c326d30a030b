//! Queues with drop precedences (RED, WRED, RIO): early drops in front of the finite queue.
//!
//! Each precedence has its own average queue (RIO), which changes with the arriving packets. In each step,
//! backward Euler solves for the averages, the early drops and the queue together, with the averages at the
//! end of the step.

use netflow_diffserv::{Discipline, Dropper, QueueLoad};
use netflow_network::DropPolicy;
use netflow_network::compiled::CompiledNetwork;
use serde::{Deserialize, Serialize};

use super::StepContext;
use super::hop_transport::Arrivals;
use super::plan::Plan;
use super::queue::{EMPTY_LN_RHO, MIN_PKTS, QueueSolution, QueueStep, SUBSTEP_FRACTION, SUBSTEPS};
use super::sources::ln_pass;
use crate::state::State;

/// Constants of one queue.
#[derive(Clone, Debug)]
pub(crate) struct RioQueue {
    pub rank: u32,
    pub dropper: Dropper,
    /// Bandwidth for which the dropper was made.
    bandwidth_bps: f64,
}

/// State of one queue; arrays are by precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RioState {
    /// Average queue that each precedence uses.
    pub average_pkts: [f64; 3],
    /// Early-drop probability.
    pub early: [f64; 3],
    /// Packets in the queue.
    pub queue_pkts: [f64; 3],
    /// Packets that arrived since the start, and those lost.
    pub offered_pkts: [f64; 3],
    pub lost_pkts: [f64; 3],
}

impl RioState {
    /// Returns the loss of a mix of precedences, if the full queue drops the fraction `refused`.
    pub fn loss(&self, marking: &[f64; 3], refused: f64) -> f64 {
        let each = marking.iter().zip(&self.early);
        let dropped: f64 = each.map(|(part, early)| part * early).sum();
        dropped + (1.0 - dropped) * refused
    }
}

impl Plan {
    /// Finds the queues with drop precedences.
    pub fn add_rio_queues(&mut self, inner: &CompiledNetwork) {
        for (rank, l) in self.links.iter_mut().enumerate() {
            let spec = &inner.links[l.link as usize];
            // The builder has checked that the dropper is valid.
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

/// Queue at a trial solution.
#[derive(Clone, Copy)]
struct RioTrial {
    /// Residual of the packet balance.
    residual: f64,
    average_pkts: [f64; 3],
    early: [f64; 3],
}

/// Queue over one step.
struct RioStep<'a> {
    queue: &'a RioQueue,
    before: &'a RioState,
    step: &'a QueueStep,
    /// Arriving packets of each precedence.
    arriving: [f64; 3],
    length_s: f64,
    /// Bandwidth relative to that of the dropper.
    speed: f64,
}

impl RioStep<'_> {
    fn at(&self, tried: &QueueSolution) -> RioTrial {
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
        RioTrial {
            residual: tried.queue_pkts - self.step.before_pkts + served - admitted,
            average_pkts,
            early,
        }
    }

    /// Returns the packets that are not dropped early.
    fn admitted(&self, early: &[f64; 3]) -> f64 {
        let each = self.arriving.iter().zip(early);
        each.map(|(pkts, early)| pkts * (1.0 - early)).sum()
    }

    /// Returns the mix of the queue, with the early drops of the step before.
    fn shares(&self) -> [f64; 3] {
        let there = if self.step.before_pkts > 0.0 {
            self.before.queue_pkts
        } else {
            [0.0; 3]
        };
        let mix = |p: usize| there[p] + self.arriving[p] * (1.0 - self.before.early[p]);
        let mix = [mix(0), mix(1), mix(2)];
        let sum: f64 = mix.iter().sum();
        if sum > MIN_PKTS {
            mix.map(|part| part / sum)
        } else {
            [0.0; 3]
        }
    }

    /// Returns the part of the queue that each precedence uses.
    fn seen(&self, [dp0, dp1, dp2]: [f64; 3]) -> [f64; 3] {
        match self.queue.dropper.spec().discipline {
            Discipline::Red | Discipline::Wred => [dp0 + dp1 + dp2; 3],
            Discipline::RioC => [dp0, dp0 + dp1, dp0 + dp1 + dp2],
            Discipline::RioD => [dp0, dp1, dp2],
        }
    }
}

/// Returns the fraction of time in which the queue holds no packet of a given share. It assumes geometric
/// lengths with utilization U, and packets that belong to the share at random.
fn empty(utilization: f64, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    let idle = 1.0 - utilization;
    idle / (idle + utilization * share)
}

impl StepContext<'_> {
    /// Sets the conditions of a packet outside aggregates (DP2) at these queues.
    pub(super) fn update_rio_conditions(&mut self) {
        for (queue, rio) in self.setup.plan.rio.iter().zip(&self.state.rio) {
            let rank = queue.rank as usize;
            if !self.component.links.contains(&rank) {
                continue;
            }
            let pass = (1.0 - rio.early[2]) * (1.0 - self.state.links[rank].refused);
            self.scratch.conditions[rank].ln_pass = ln_pass(1.0 - pass);
        }
    }

    /// Solves one queue together with its averages. Early drops are subtracted from the arrivals and counted.
    pub(super) fn solve_rio(
        &mut self,
        rank: usize,
        rio: u32,
        step: &QueueStep,
        arriving: &mut Arrivals,
    ) -> (QueueSolution, Option<f64>) {
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
        let solved = match (link.down, step.before_pkts + arriving.pkts > MIN_PKTS) {
            (true, _) => {
                let mut tried = rio_step.at(&QueueSolution::default());
                tried.early = [0.0; 3];
                RioSolution::once(QueueSolution::down(), tried)
            }
            (false, true) => solve_in_parts(&rio_step),
            (false, false) => {
                let solution = QueueSolution {
                    ln_rho: EMPTY_LN_RHO,
                    ..QueueSolution::default()
                };
                RioSolution::once(solution, rio_step.at(&solution))
            }
        };
        let RioSolution {
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

/// Queue after a step.
struct RioSolution {
    solution: QueueSolution,
    /// Fractions of the step's arrivals that are dropped early.
    early: [f64; 3],
    at_end: RioTrial,
    /// Loss at the end of the step, if it is not the mean.
    refused_at_end: Option<f64>,
}

impl RioSolution {
    fn once(solution: QueueSolution, tried: RioTrial) -> RioSolution {
        RioSolution {
            solution,
            early: tried.early,
            at_end: tried,
            refused_at_end: None,
        }
    }
}

impl RioState {
    /// Adds the arrivals that are not dropped, and updates the mix of the queue.
    fn take(&mut self, offered: [f64; 3], early: &[f64; 3], solution: &QueueSolution) {
        let mut there = [0.0; 3];
        for p in 0..3 {
            let admitted = offered[p] * (1.0 - early[p]) * (1.0 - solution.refused);
            self.offered_pkts[p] += offered[p];
            self.lost_pkts[p] += offered[p] - admitted;
            there[p] = self.queue_pkts[p] + admitted;
        }
        let sum: f64 = there.iter().sum();
        let keep = if sum > MIN_PKTS {
            (solution.queue_pkts / sum).min(1.0)
        } else {
            0.0
        };
        self.queue_pkts = there.map(|pkts| pkts * keep);
    }
}

/// Solves the step in parts, as [`QueueStep::solve_in_substeps`].
fn solve_in_parts(rio: &RioStep<'_>) -> RioSolution {
    let (whole, tried) = solve(rio);
    if !rio.step.needs_substeps(&whole) {
        return RioSolution::once(whole, tried);
    }
    let arriving = rio.arriving.map(|pkts| pkts * SUBSTEP_FRACTION);
    let mut step = rio.step.first_substep();
    let mut state = *rio.before;
    let mut early = [0.0; 3];
    let (mut let_in, mut admitted, mut utilization) = (0.0, 0.0, 0.0);
    let (mut end, mut at_end) = (whole, tried);
    for _ in 0..SUBSTEPS {
        let part = RioStep {
            before: &state,
            step: &step,
            arriving,
            length_s: rio.length_s * SUBSTEP_FRACTION,
            ..*rio
        };
        (end, at_end) = solve(&part);
        let pkts = part.admitted(&at_end.early);
        let_in += pkts;
        admitted += pkts * (1.0 - end.refused);
        utilization += end.utilization * SUBSTEP_FRACTION;
        for (mean, now) in early.iter_mut().zip(at_end.early) {
            *mean += now * SUBSTEP_FRACTION;
        }
        state.take(arriving, &at_end.early, &end);
        (state.average_pkts, state.early) = (at_end.average_pkts, at_end.early);
        step.continue_from(&end);
    }
    let refused = if let_in > MIN_PKTS {
        1.0 - admitted / let_in
    } else {
        end.refused
    };
    RioSolution {
        solution: QueueSolution {
            refused: refused.max(0.0),
            utilization,
            ..end
        },
        early,
        at_end,
        refused_at_end: Some(end.refused),
    }
}

/// Returns the queue at the end of the step. If a drop probability jumps, the queue may stay at the
/// threshold. The drops are then the value between both sides of the jump that keeps it there.
fn solve(rio: &RioStep<'_>) -> (QueueSolution, RioTrial) {
    let (mut low, mut high): (Option<RioTrial>, Option<RioTrial>) = (None, None);
    let solution = rio.step.solve_by(|tried| {
        let tried = rio.at(tried);
        if tried.residual > 0.0 {
            high = Some(tried)
        } else {
            low = Some(tried)
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

/// Subtracts early drops from the arrivals at a link, hop by hop.
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
