//! One step of the default model, in order: path conditions → source rates → level by level: arrivals,
//! queues, shares → deliveries.

use std::ops::Range;

use super::aqm_law::{EarlyDropPolicy, EarlyDropStep, PieStep, RedStep};
use super::block_work::{ArriveWork, ShareWork};
use super::hop_transport::{self, Arrivals, BlockWork, QueueOutcome};
use super::parallel::{for_blocks, for_cells};
use super::plan::{Block, BranchPlan, FORK_HOPS, LinkPlan, NEGLIGIBLE_PKTS, NO_PROFILE, Plan};
use super::queue::{self, LawTangent, QueueSolution, QueueStep};
use super::sources::FixedDelays;
use super::{Scratch, Setup, StepContext};
use crate::state::State;

/// Missing packets per connection at which a transfer counts as complete, because fluid queues never drain
/// completely.
const COMPLETION_TOLERANCE_PKTS: f64 = 1e-3;

/// Returns the earliest arrival time of the last packet of a transfer. Packets are spaced by the source's
/// fixed rate or the slowest link, over an empty path.
fn earliest_end_s(plan: &Plan, branch: &BranchPlan, fixed: &FixedDelays, state: &State) -> f64 {
    let ranks = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
    let packet_s =
        |&p: &u32| plan.wire_bits(p, branch.data_bits) / state.links[p as usize].transmission_bps();
    let slowest_s = ranks.iter().map(packet_s).fold(0.0, f64::max);
    let gap_s = match branch.profile {
        NO_PROFILE => slowest_s.max(1.0 / state.pps_since_start(branch)),
        _ => slowest_s,
    };
    let gaps = branch.size_pkts / branch.weight - 1.0;
    let path_s = fixed.forward_s + ranks.iter().map(packet_s).sum::<f64>();
    branch.start_s + path_s + gaps * gap_s
}

/// Minimum number of exit hops per thread.
const MIN_EXIT_HOPS_PER_THREAD: usize = 8192;

impl Scratch {
    /// Applies the link's solution to the hops of one block.
    fn share_block(&self, setup: &Setup, block: &Block, work: ShareWork<'_>, inflow: &[f64]) {
        let n = inflow.len();
        let link = &setup.plan.links[block.rank as usize];
        let fate = &self.fates[block.rank as usize];
        hop_transport::add_losses(fate, inflow, &mut work.lost[..n]);
        let pass = (self.on_the_way).pass_of(block.rank as usize, block.range());
        let same_step = link.next_step_hop.clamp(block.first_hop, block.end_hop) - block.first_hop;
        let weights = &self.same_step[link.first_flight as usize..];
        let weights = &weights[..fate.flight.same_step as usize];
        let work = BlockWork {
            content: &mut work.content[..n],
            flight: &mut work.flight[..n * link.flight_slots as usize],
            forwarded: &mut work.forwarded[..n],
            pass,
            lost: &mut work.lost[..n],
        };
        hop_transport::move_block(fate, inflow, same_step as usize, weights, work);
    }
}

impl Setup {
    /// Returns the output slices of a range of blocks, and the arrivals at their hops.
    fn share_work<'a>(
        &self,
        state: &'a mut State,
        first: &Block,
        last: &Block,
    ) -> (ShareWork<'a>, &'a [f64]) {
        let (plan, sources) = (&self.plan, self.plan.branches.len());
        let hops = first.first_hop as usize..last.end_hop as usize;
        let flight_cells = first.first_flight_cell..plan.flight_cells_end(last);
        let work = ShareWork {
            first_hop: hops.start,
            first_flight_cell: first.first_flight_cell,
            forwarded: &mut state.forwarded[sources + hops.start..sources + hops.end],
            content: &mut state.content[hops.clone()],
            lost: &mut state.lost[hops.clone()],
            flight: &mut state.flights.cells[flight_cells],
        };
        (work, &state.inflow[hops])
    }
}

impl StepContext<'_> {
    /// Advances the component over the span. Returns the first queue that is not a finite number as the error.
    pub(crate) fn step(&mut self) -> Result<(), usize> {
        let plan = &self.setup.plan;
        let fork = plan.is_parallel();
        self.schedule();
        self.send(fork);
        self.forward_for_next_step(fork);
        for level in self.component.levels.clone() {
            let ((first, end), at_once) = (plan.levels[level], plan.at_once[level]);
            if fork {
                self.step_level(first..end)?;
                continue;
            }
            if at_once {
                for rank in first..end {
                    let arriving = self.arrive_at(rank);
                    self.scratch.arriving[rank] = arriving;
                }
                for rank in first..end {
                    self.step_link(rank, self.scratch.arriving[rank])?;
                }
                continue;
            }
            // Processes links one by one, with the same result: links of such a level do not read data just
            // written in the same level.
            for rank in first..end {
                let arriving = self.arrive_at(rank);
                self.step_link(rank, arriving)?;
            }
        }
        self.deliver();
        Ok(())
    }

    /// Processes the links of one level, with their hops divided among threads.
    fn step_level(&mut self, ranks: Range<usize>) -> Result<(), usize> {
        self.arrive(ranks.clone());
        for rank in ranks.clone() {
            self.move_queue(rank, self.arriving(rank))?;
        }
        self.share(ranks.clone());
        for rank in ranks {
            self.forward_earlier(rank);
        }
        Ok(())
    }

    /// Processes one link with all its hops, given its arrivals.
    fn step_link(&mut self, rank: usize, arriving: Arrivals) -> Result<(), usize> {
        let l = &self.setup.plan.links[rank];
        let link = &mut self.state.links[rank];
        let quiet = arriving.pkts == 0.0
            && link.queue_pkts == 0.0
            && l.rio.is_none()
            && self.scratch.next_step_rows[rank] == 0
            && !self.state.flights.links[rank].carries(l)
            && !self.state.flights.has_earlier(rank);
        if quiet && link.quiet_steps > 0 {
            return Ok(()); // nothing queued or in flight, and the hops are up to date
        }
        if link.quiet_steps > 0 {
            self.state.flights.links[rank].restart();
        }
        link.quiet_steps = u32::from(quiet);
        self.move_queue(rank, arriving)?;
        self.share_at(l);
        self.forward_earlier(rank);
        Ok(())
    }

    /// Gathers the arrivals at one link, block by block.
    fn arrive_at(&mut self, rank: usize) -> Arrivals {
        let (plan, state) = (&self.setup.plan, &mut *self.state);
        let mut arriving = Arrivals::default();
        for block in plan.blocks_at(&plan.links[rank]) {
            let (up, inflow) = (&plan.up[block.range()], &mut state.inflow[block.range()]);
            arriving += hop_transport::arrive(plan.runs_of(block), up, &state.forwarded, inflow);
        }
        arriving
    }

    /// Applies the solution of one link to its hops, block by block.
    fn share_at(&mut self, l: &LinkPlan) {
        for block in self.setup.plan.blocks_at(l) {
            let (work, inflow) = self.setup.share_work(self.state, block, block);
            self.scratch.share_block(self.setup, block, work, inflow);
        }
    }

    /// Returns the sum of the arrivals at a link, block by block.
    fn arriving(&self, rank: usize) -> Arrivals {
        let l = &self.setup.plan.links[rank];
        let mut arriving = Arrivals::default();
        for a in &self.scratch.arrivals[l.first_block as usize..l.end_block as usize] {
            arriving += *a;
        }
        arriving
    }

    /// Gathers the arrivals at the links of one level.
    fn arrive(&mut self, ranks: Range<usize>) {
        let (plan, state) = (&self.setup.plan, &mut *self.state);
        let blocks = plan.blocks_of(ranks.clone());
        let hops =
            plan.links[ranks.start].first_hop as usize..plan.links[ranks.end - 1].end_hop as usize;
        let fork = hops.len() >= FORK_HOPS;
        let work = ArriveWork {
            first_hop: hops.start,
            inflow: &mut state.inflow[hops],
            arrivals: &mut self.scratch.arrivals[blocks.clone()],
        };
        let forwarded = &state.forwarded;
        for_blocks(
            work,
            &plan.blocks[blocks],
            fork,
            &|work: ArriveWork<'_>, block: &Block| {
                let up = &plan.up[block.range()];
                let inflow = &mut work.inflow[..up.len()];
                work.arrivals[0] =
                    hop_transport::arrive(plan.runs_of(block), up, forwarded, inflow);
            },
        );
    }

    /// Solves one queue and stores the result for its hops.
    fn move_queue(&mut self, rank: usize, mut arriving: Arrivals) -> Result<(), usize> {
        let (l, span) = (&self.setup.plan.links[rank], self.span);
        let link = &self.state.links[rank];

        // The service rate follows from the mean size of the packets present during the step.
        let (pkts, bits) = (
            link.queue_pkts + arriving.pkts,
            link.queue_bits + arriving.bits,
        );
        let service_bits = link.bandwidth_bps * link.share * span.length_s;
        let service_pkts = if l.one_kind || pkts <= NEGLIGIBLE_PKTS {
            service_bits * l.pkts_per_bit
        } else {
            service_bits * pkts / bits
        };
        let (filling, model) = (self.scratch.fillings[rank], self.scratch.model_hashes[rank]);
        let step = QueueStep {
            room_pkts: l.buffer_pkts(link, pkts, bits),
            light_rho: l.light_rho,
            before_pkts: link.queue_pkts,
            service_pkts,
            guess: link.ln_rho,
            early: l.early.map(|early| match early {
                EarlyDropPolicy::Red(red) => EarlyDropStep::Red(RedStep {
                    red,
                    average_before: link.early,
                    memory: libm::pow(1.0 - red.weight, arriving.pkts),
                }),
                EarlyDropPolicy::Pie(pie) => EarlyDropStep::Pie(PieStep {
                    pie,
                    probability_before: link.early,
                    wait_before_s: link.early_wait_s,
                    packet_s: span.length_s / service_pkts,
                    updates: 1e9 * span.length_s / pie.update_ns.max(1) as f64,
                }),
            }),
            filling,
        };
        let mut refused_at_end = None;
        let mut solution = if let Some(rio) = l.rio {
            let (solution, at_end) = self.solve_rio(rank, rio, &step, &mut arriving);
            refused_at_end = at_end;
            solution
        } else if link.down {
            QueueSolution::down()
        } else if let Some(near) = (link.tangent).solve(&step, arriving.pkts, model) {
            near
        } else {
            let (solution, at_end) = step.solve_in_substeps(arriving.pkts);
            refused_at_end = at_end;
            self.state.links[rank].tangent = match (at_end, step.early) {
                (None, None) => LawTangent::at(&solution, step.buffer_pkts(), model),
                _ => LawTangent::default(),
            };
            solution
        };
        let link = &self.state.links[rank];
        let admitted = arriving.pkts * (1.0 - solution.refused);
        let available = link.queue_pkts + admitted;
        solution.queue_pkts = solution.queue_pkts.min(available);
        let departed = available - solution.queue_pkts;
        if !(solution.queue_pkts.is_finite() && departed.is_finite()) {
            return Err(rank);
        }

        let bits_queued = link.queue_bits;
        // Too few packets to divide by: all of them leave.
        let something = available > queue::MIN_PKTS;
        let per_pkt = if something { 1.0 / available } else { 0.0 };
        let fate = QueueOutcome {
            admitted: 1.0 - solution.refused,
            refused: solution.refused,
            keep: solution.queue_pkts * per_pkt,
            leave: if something { departed * per_pkt } else { 1.0 },
            flight: self.fly(rank, departed),
        };
        let admitted_bits = arriving.bits * fate.admitted;
        let bits_available = bits_queued + admitted_bits;
        let bits_after = bits_available * fate.keep;
        let link = &mut self.state.links[rank];
        link.offered_pkts += arriving.pkts;
        link.lost_pkts += arriving.pkts * solution.refused;
        link.departed_pkts += departed;
        link.queue_time += 0.5 * (link.queue_pkts + solution.queue_pkts) * span.length_s;
        link.longer_time += departed * (link.propagation_s(l) - l.delay_s);
        let bit_s = 1.0 / link.bandwidth_bps;
        link.sending_s += (bits_available - bits_after) * bit_s;
        link.bit_time += departed * bit_s;
        link.busy_s += solution.utilization * link.share * span.length_s;
        link.max_queue_pkts = link.max_queue_pkts.max(solution.queue_pkts);
        link.queue_pkts = solution.queue_pkts;
        link.queue_bits = bits_after;
        link.ln_rho = solution.ln_rho;
        link.refused = refused_at_end.unwrap_or(solution.refused);
        link.utilization = solution.utilization;
        link.arriving_pps = arriving.pkts / span.length_s;
        (link.early, link.early_wait_s) = (solution.known, solution.wait_s);
        self.scratch.fates[rank] = fate;
        Ok(())
    }

    /// Applies the solutions of one level's links to their hops.
    fn share(&mut self, ranks: Range<usize>) {
        let setup = self.setup;
        let blocks = &setup.plan.blocks[setup.plan.blocks_of(ranks)];
        let (first, last) = (&blocks[0], &blocks[blocks.len() - 1]);
        let fork = (last.end_hop - first.first_hop) as usize >= FORK_HOPS;
        let (work, inflow) = setup.share_work(self.state, first, last);
        let scratch = &*self.scratch;
        for_blocks(work, blocks, fork, &|work: ShareWork<'_>, block: &Block| {
            let begin = (block.first_hop - first.first_hop) as usize;
            scratch.share_block(setup, block, work, &inflow[begin..begin + block.hops()]);
        });
    }

    /// Counts deliveries, and detects the end of limited transfers.
    pub(crate) fn deliver(&mut self) {
        let (plan, state, span) = (&self.setup.plan, &mut *self.state, self.span);
        let sources = plan.branches.len();
        let forwarded = &state.forwarded[sources..];
        let first_end = self.component.ends.start;
        for_cells(
            &mut state.ended[self.component.ends.clone()],
            plan.is_parallel(),
            MIN_EXIT_HOPS_PER_THREAD,
            |i, ended| {
                *ended += forwarded[plan.ends[first_end + i] as usize];
            },
        );
        for branches in plan.limited_classes(self.component) {
            let one = &plan.branches[branches[0] as usize];
            let each = branches.iter().map(|&b| b as usize);
            if each.clone().any(|b| state.branches[b].done_s.is_some()) {
                continue;
            }
            let delivered = each
                .clone()
                .map(|b| state.delivered_pkts(&plan.branches[b]));
            let delivered: f64 = delivered.sum();
            let last_hop = |b: usize| sources + plan.branches[b].last_data_hop as usize;
            let now: f64 = each.clone().map(|b| state.forwarded[last_hop(b)]).sum();
            let earliest_s = each.clone().map(|b| {
                let (branch, fixed) = (&plan.branches[b], &self.scratch.fixed[b]);
                earliest_end_s(plan, branch, fixed, state)
            });
            let earliest_s = earliest_s.fold(f64::INFINITY, f64::min);
            // Time at which each connection lacks `lacking_pkts` or less.
            let reached_s = |lacking_pkts: f64| {
                let excess = delivered - (one.size_pkts - lacking_pkts * one.weight);
                let end_s = span.end_s - (excess / now).min(1.0) * span.length_s;
                (excess >= 0.0 && earliest_s <= span.end_s).then_some(end_s.max(earliest_s))
            };
            let (finished_s, done_s) = (reached_s(0.5), reached_s(COMPLETION_TOLERANCE_PKTS));
            for b in each {
                let branch = &mut state.branches[b];
                branch.finished_s = branch.finished_s.or(finished_s);
                branch.done_s = done_s;
            }
            if done_s.is_none() {
                continue;
            }
            let until_s = &mut self.scratch.active[self.c].until_s;
            *until_s = until_s.min(span.end_s);
        }
    }
}
