//! One step of the default model, in the order in which things happen: path conditions → source
//! rates → level by level: arrivals, queues, shares → deliveries.

use std::ops::Range;

use super::Engine;
use super::arrays::{ArriveWork, ShareWork};
use super::parallel::for_blocks;
use super::plan::{Block, LinkPlan, Plan};
use super::queue::{self, RedStep, Solution, Step};
use super::shares::{self, Arrivals, Fate, FifoFate, Rings, Weight, Weights};
use super::sources::Condition;
use crate::state::State;

/// From this many hops on, a step is worth more than one thread.
const FORK_HOPS: usize = 20_000;

/// What a step works with besides the state; everything is allocated before the first step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub conditions: Vec<Condition>,
    arrivals: Vec<Arrivals>,
    fates: Vec<Fate>,
    pub departures: Vec<Weight>,
    pub soon: Vec<Weight>,
    pub late: Vec<Weight>,
    /// How many of them each link has.
    pub late_rows: Vec<u32>,
    /// What sources that are evaluated within the step see at its start.
    pub seen: Vec<[f64; 2]>,
    /// Packets that each branch may still send.
    pub may_send: Vec<f64>,
}

impl Scratch {
    pub fn new(plan: &Plan) -> Scratch {
        Scratch {
            conditions: vec![Condition::default(); plan.links.len()],
            arrivals: vec![Arrivals::default(); plan.blocks.len()],
            fates: vec![Fate::default(); plan.links.len()],
            departures: vec![(0, 0.0); plan.queue_slots],
            soon: vec![(0, 0.0); plan.flight_batches],
            late: vec![(0, 0.0); plan.flight_batches],
            late_rows: vec![0; plan.links.len()],
            seen: vec![[0.0; 2]; plan.branches.len()],
            may_send: vec![f64::INFINITY; plan.branches.len()],
        }
    }
}

impl Scratch {
    /// FIFO shares of one block.
    #[allow(clippy::too_many_arguments)]
    fn share_fifo(
        &self,
        link: &LinkPlan,
        block: &Block,
        fate: &Fate,
        inflow: &[f64],
        lost: &mut [f64],
        rings: Rings<'_>,
        handed: &mut [f64],
    ) {
        let list = |all, first: u32, n: u32| {
            let all: &[Weight] = all;
            &all[first as usize..(first + n) as usize]
        };
        let weights = Weights {
            departures: list(&self.departures, link.first_slot, fate.fifo.departures),
            soon: list(&self.soon, link.first_flight, fate.fifo.soon),
        };
        let soon = link.late_hop.clamp(block.first_hop, block.end_hop) - block.first_hop;
        shares::lose(fate, inflow, lost);
        shares::first_in_first_out(fate, inflow, soon as usize, &weights, rings, handed);
    }
}

/// The step at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start_s: f64,
    pub end_s: f64,
    pub length_s: f64,
}

impl Engine {
    /// Moves the network over `span`. The first queue that stops being a number is returned.
    pub(crate) fn step(&mut self, state: &mut State, span: Span) -> Result<(), usize> {
        let fork = self.plan.hop_count() >= FORK_HOPS;
        let plan = self.plan.clone();
        self.schedule(state);
        self.send(state, span, fork);
        self.hand_on_late(&plan, state, span, fork);
        for (&(first, end), &at_once) in plan.levels.iter().zip(&plan.at_once) {
            if fork || at_once {
                self.step_level(&plan, state, first..end, span)?;
                continue;
            }
            // One after the other, with the same result: links of such a level do not read what
            // links before them in the level have just written.
            for place in first..end {
                self.step_link(&plan, state, place, span)?;
            }
        }
        self.deliver(state, span);
        state.last_step_s = span.length_s;
        state.evaluations += 1;
        Ok(())
    }

    /// The links of one level, their hops shared among threads.
    fn step_level(
        &mut self,
        plan: &Plan,
        state: &mut State,
        places: Range<usize>,
        span: Span,
    ) -> Result<(), usize> {
        self.arrive(plan, state, places.clone());
        for place in places.clone() {
            let l = &plan.links[place];
            let mut arriving = Arrivals::default();
            for a in &self.scratch.arrivals[l.first_block as usize..l.end_block as usize] {
                arriving += *a;
            }
            self.move_queue(plan, state, place, arriving, span)?;
        }
        self.share(plan, state, places);
        Ok(())
    }

    /// One link with all its hops.
    fn step_link(
        &mut self,
        plan: &Plan,
        state: &mut State,
        place: usize,
        span: Span,
    ) -> Result<(), usize> {
        let l = &plan.links[place];
        let blocks = &plan.blocks[l.first_block as usize..l.end_block as usize];
        let mut arriving = Arrivals::default();
        for block in blocks {
            let hops = block.range();
            let inflow = &mut state.inflow[hops.clone()];
            arriving += shares::arrive(plan.runs_of(block), &plan.up[hops], &state.handed, inflow);
        }
        let link = &mut state.links[place];
        let quiet = arriving.pkts == 0.0
            && link.queue_pkts == 0.0
            && self.active.runs_at(place).is_empty()
            && l.rio.is_none()
            && self.scratch.late_rows[place] == 0
            && !(self.fifo && state.fifo.flights[place].carries(l));
        if quiet && link.quiet_steps > 0 {
            return Ok(()); // nothing here, nothing on the way, and the hops know it
        }
        if self.fifo && link.quiet_steps > 0 {
            state.fifo.flights[place].restart();
        }
        link.quiet_steps = u32::from(quiet);

        self.move_queue(plan, state, place, arriving, span)?;
        let fate = &self.scratch.fates[place];
        let sources = plan.branches.len();
        for block in blocks {
            let hops = block.range();
            let handed = &mut state.handed[sources + hops.start..sources + hops.end];
            let (inflow, lost) = (&state.inflow[hops.clone()], &mut state.lost[hops.clone()]);
            if self.fifo {
                let queue = block.first_queue_cell..plan.queue_cells_end(block);
                let flight = block.first_flight_cell..plan.flight_cells_end(block);
                let rings = Rings {
                    queue: &mut state.fifo.queue_cells[queue],
                    flight: &mut state.fifo.flight_cells[flight],
                };
                self.scratch
                    .share_fifo(l, block, fate, inflow, lost, rings, handed);
            } else {
                shares::lose(fate, inflow, lost);
                shares::mix(fate, inflow, &mut state.content[hops], handed);
            }
        }
        Ok(())
    }

    /// Fetches what arrives at the links of one level.
    fn arrive(&mut self, plan: &Plan, state: &mut State, places: Range<usize>) {
        let blocks = plan.blocks_of(places.clone());
        let hops = plan.links[places.start].first_hop as usize
            ..plan.links[places.end - 1].end_hop as usize;
        let fork = hops.len() >= FORK_HOPS;
        let work = ArriveWork {
            first_hop: hops.start,
            inflow: &mut state.inflow[hops],
            arrivals: &mut self.scratch.arrivals[blocks.clone()],
        };
        let handed = &state.handed;
        for_blocks(
            work,
            &plan.blocks[blocks],
            fork,
            &|work: ArriveWork<'_>, block: &Block| {
                let up = &plan.up[block.range()];
                let inflow = &mut work.inflow[..up.len()];
                work.arrivals[0] = shares::arrive(plan.runs_of(block), up, handed, inflow);
            },
        );
    }

    /// Solves one queue; the result is what that means for its hops.
    fn move_queue(
        &mut self,
        plan: &Plan,
        state: &mut State,
        place: usize,
        mut arriving: Arrivals,
        span: Span,
    ) -> Result<(), usize> {
        let l = &plan.links[place];
        let link = &state.links[place];

        // The service rate follows from the mean packet among what is there during the step.
        let (pkts, bits) = (
            link.queue_pkts + arriving.pkts,
            link.queue_bits + arriving.bits,
        );
        let service_bits = link.bandwidth_bps * link.share * span.length_s;
        let service_pkts = if l.one_kind || pkts <= 1e-9 {
            service_bits * l.pkts_per_bit
        } else {
            service_bits * pkts / bits
        };
        let step = Step {
            room_pkts: l.room_pkts,
            light_rho: l.light_rho,
            before_pkts: link.queue_pkts,
            service_pkts,
            guess: link.load,
            red: l.red.map(|red| RedStep {
                red,
                average_before: link.average_pkts,
                memory: (1.0 - red.weight).powf(arriving.pkts),
            }),
        };
        let mut solution = if let Some(rio) = l.rio {
            let down = link.down;
            self.solve_rio(plan, state, place, rio, &step, &mut arriving, down, span)
        } else if link.down {
            Solution::down()
        } else if self.active.runs_at(place).is_empty() {
            step.solve(arriving.pkts)
        } else {
            self.solve_with_sources(plan, state, place, &step, &mut arriving, span)
        };
        let link = &state.links[place];
        let admitted = arriving.pkts * (1.0 - solution.refused);
        let available = link.queue_pkts + admitted;
        solution.queue_pkts = solution.queue_pkts.min(available);
        let departed = available - solution.queue_pkts;
        if !(solution.queue_pkts.is_finite() && departed.is_finite()) {
            return Err(place);
        }

        // Too little to divide by leaves as a whole.
        let something = available > queue::NOTHING;
        let per_pkt = if something { 1.0 / available } else { 0.0 };
        let mut fate = Fate {
            admitted: 1.0 - solution.refused,
            refused: solution.refused,
            keep: solution.queue_pkts * per_pkt,
            leave: if something { departed * per_pkt } else { 1.0 },
            fifo: FifoFate::default(),
        };
        let admitted_bits = arriving.bits * fate.admitted;
        let bits_available = link.queue_bits + admitted_bits;
        let mut bits_after = bits_available * fate.keep;
        if self.fifo {
            let admitted = Arrivals {
                pkts: admitted,
                bits: admitted_bits,
            };
            let bits_departed;
            (fate.fifo, bits_departed) = self.queue_slots(l, state, place, admitted, departed);
            bits_after = (bits_available - bits_departed).max(0.0);
            if state.fifo.queues[place].count == 0 {
                bits_after = 0.0;
            }
            self.hand_on(l, state, place, departed, span, &mut fate.fifo);
        }
        let link = &mut state.links[place];
        link.offered_pkts += arriving.pkts;
        link.lost_pkts += arriving.pkts * solution.refused;
        link.departed_pkts += departed;
        link.queue_time += 0.5 * (link.queue_pkts + solution.queue_pkts) * span.length_s;
        link.busy_s += solution.utilization * span.length_s;
        link.max_queue_pkts = link.max_queue_pkts.max(solution.queue_pkts);
        link.queue_pkts = solution.queue_pkts;
        link.queue_bits = bits_after;
        link.load = solution.load;
        link.refused = solution.refused;
        link.utilization = solution.utilization;
        link.average_pkts = solution.average;
        self.scratch.fates[place] = fate;
        Ok(())
    }

    /// Hands the fates of one level's links to their hops.
    fn share(&mut self, plan: &Plan, state: &mut State, places: Range<usize>) {
        let blocks = plan.blocks_of(places.clone());
        let hops = plan.links[places.start].first_hop as usize
            ..plan.links[places.end - 1].end_hop as usize;
        let fork = hops.len() >= FORK_HOPS;
        let (first, last) = (&plan.blocks[blocks.start], &plan.blocks[blocks.end - 1]);
        let sources = plan.branches.len();
        let work = ShareWork {
            first_hop: hops.start,
            first_queue_cell: first.first_queue_cell,
            first_flight_cell: first.first_flight_cell,
            handed: &mut state.handed[sources + hops.start..sources + hops.end],
            content: if self.fifo {
                &mut []
            } else {
                &mut state.content[hops.clone()]
            },
            lost: &mut state.lost[hops],
            queue: if self.fifo {
                &mut state.fifo.queue_cells[first.first_queue_cell..plan.queue_cells_end(last)]
            } else {
                &mut []
            },
            flight: if self.fifo {
                &mut state.fifo.flight_cells[first.first_flight_cell..plan.flight_cells_end(last)]
            } else {
                &mut []
            },
        };
        let (scratch, inflow, fifo) = (&self.scratch, &state.inflow, self.fifo);
        for_blocks(
            work,
            &plan.blocks[blocks],
            fork,
            &|work: ShareWork<'_>, block: &Block| {
                let inflow = &inflow[block.range()];
                let n = inflow.len();
                let link = &plan.links[block.place as usize];
                let fate = &scratch.fates[block.place as usize];
                let (handed, lost) = (&mut work.handed[..n], &mut work.lost[..n]);
                if fifo {
                    let rings = Rings {
                        queue: &mut work.queue[..n * link.queue_slots as usize],
                        flight: &mut work.flight[..n * link.flight_slots as usize],
                    };
                    scratch.share_fifo(link, block, fate, inflow, lost, rings, handed);
                } else {
                    shares::lose(fate, inflow, lost);
                    shares::mix(fate, inflow, &mut work.content[..n], handed);
                }
            },
        );
    }

    /// What leaves the network, and the end of limited transfers.
    pub(crate) fn deliver(&mut self, state: &mut State, span: Span) {
        let sources = self.plan.branches.len();
        for (state_b, branch) in state.branches.iter_mut().zip(&self.plan.branches) {
            let delivered = state.handed[sources + branch.last_data_hop as usize];
            state_b.delivered_pkts += delivered;
            if branch.last_hop != u32::MAX {
                state_b.acknowledged_pkts += state.handed[sources + branch.last_hop as usize];
            }
        }
        for branches in self.plan.limited_classes() {
            let one = &self.plan.branches[branches[0] as usize];
            let each = branches.iter().map(|&b| b as usize);
            let before = each.clone().any(|b| state.branches[b].finished_s.is_some());
            let delivered: f64 = each.clone().map(|b| state.branches[b].delivered_pkts).sum();
            // Half a packet of each connection is less than the fluid can tell.
            let excess = delivered - (one.size_pkts - 0.5 * one.weight);
            if before || excess < 0.0 {
                continue;
            }
            let last_hop = |b: usize| sources + self.plan.branches[b].last_data_hop as usize;
            let now: f64 = each.clone().map(|b| state.handed[last_hop(b)]).sum();
            let finished_s = span.end_s - (excess / now).min(1.0) * span.length_s;
            each.for_each(|b| state.branches[b].finished_s = Some(finished_s));
            self.active.until_s = self.active.until_s.min(span.end_s);
        }
    }
}
