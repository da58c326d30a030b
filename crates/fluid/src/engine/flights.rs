//! Propagation: packets in flight on links, in batches.
//!
//! A batch takes the departures of several steps up to its part of the delay. The resolution therefore does
//! not depend on the step size if steps are short.

use super::block_work::ForwardWork;
use super::hop_transport::{self, FlightOutcome, RowWeight};
use super::parallel::for_blocks;
use super::plan::{Block, LinkPlan, Plan};
use super::{Scratch, StepContext};
use crate::state::{Flight, Forwarded};

/// Maximum ratio of arrival rate to departure rate at links that forward before the step: a long step's departures
/// do not arrive at once in a shorter one.
const MAX_ARRIVAL_RATIO: f64 = 1.05;

impl StepContext<'_> {
    /// Computes the packets that a link forwards, from the departures of this step and of earlier ones.
    pub(super) fn fly(&mut self, rank: usize, departed_pkts: f64) -> FlightOutcome {
        let (l, span) = (&self.setup.plan.links[rank], self.span);
        let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
        let flight = &mut self.state.flights.links[rank];
        let starts = &mut self.state.flights.batch_start_s[range.clone()];
        let delay_s = self.setup.data_delay_s(&self.state.links[rank], l);
        let batch_s = self.setup.plan.batch_s(l, delay_s);
        let adds = flight.takes_more(l, starts, span.end_s, batch_s);
        if !adds {
            starts[l.flight_row(flight.begun) as usize] = span.start_s;
            flight.begun += 1;
        }
        debug_assert!(
            flight.begun - flight.oldest(l) <= u64::from(l.flight_slots),
            "a batch that is on the way is overwritten"
        );
        if departed_pkts > 0.0 {
            flight.last_full = flight.begun;
        }
        let batches = Batches {
            starts,
            begun: flight.begun,
            end_s: span.end_s,
        };
        let weights = &mut self.scratch.same_step[range.clone()];
        FlightOutcome {
            row: l.flight_row(flight.begun - 1),
            adds,
            same_step: batches.forward(span.end_s - delay_s, &mut flight.same_step, weights),
        }
    }

    /// Forwards to next links of the same or an earlier level: packets that left their queues before this
    /// step. This is done before any link is processed, and after the sources have used the arrivals of the
    /// step before.
    pub(super) fn forward_for_next_step(&mut self, fork: bool) {
        let (plan, span) = (&self.setup.plan, self.span);
        if plan.all_same_step {
            return;
        }
        let (state, sources) = (&mut *self.state, plan.branches.len());
        for rank in self.component.links.clone() {
            let l = &plan.links[rank];
            if l.next_step_hop == l.end_hop || state.links[rank].quiet_steps > 0 {
                continue;
            }
            let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
            let flight = &mut state.flights.links[rank];
            let batches = Batches {
                starts: &state.flights.batch_start_s[range.clone()],
                begun: flight.begun,
                end_s: span.start_s,
            };
            let delay_s = self.setup.data_delay_s(&state.links[rank], l);
            let forwarded_s = batches.forwarded_until_s(&flight.next_step);
            // The oldest batch must leave before its row is used again.
            let full_s = batches.start_s((flight.begun + 2).saturating_sub(l.flight_slots.into()));
            let until_s = (span.end_s - delay_s)
                .min(forwarded_s + MAX_ARRIVAL_RATIO * span.length_s)
                .max(full_s)
                .min(span.start_s);
            let weights = &mut self.scratch.next_step[range];
            self.scratch.next_step_rows[rank] =
                batches.forward(until_s, &mut flight.next_step, weights);
            if fork {
                continue;
            }
            for block in plan.blocks_at(l) {
                let hops = block.range();
                let work = ForwardWork {
                    first_hop: hops.start,
                    forwarded: &mut state.forwarded[sources + hops.start..sources + hops.end],
                };
                self.scratch
                    .forward_block(plan, block, work, &state.flights.cells);
            }
        }
        if !fork {
            return self.forward_earlier_for_next_step();
        }
        let (links, scratch) = (&state.links, &*self.scratch);
        let cells = &state.flights.cells;
        let blocks = &plan.blocks[plan.blocks_of(self.component.links.clone())];
        let first_hop = blocks[0].first_hop as usize;
        let work = ForwardWork {
            first_hop,
            forwarded: &mut state.forwarded[sources + first_hop..],
        };
        for_blocks(work, blocks, fork, &|work: ForwardWork<'_>, block| {
            if links[block.rank as usize].quiet_steps == 0 {
                scratch.forward_block(plan, block, work, cells);
            }
        });
        self.forward_earlier_for_next_step();
    }
}

impl Scratch {
    /// Forwards the packets of the hops of one block before the step.
    fn forward_block(&self, plan: &Plan, block: &Block, work: ForwardWork<'_>, cells: &[f64]) {
        let rank = block.rank as usize;
        let l = &plan.links[rank];
        if l.next_step_hop >= block.end_hop {
            return;
        }
        let weights = &self.next_step[l.first_flight as usize..];
        let weights = &weights[..self.next_step_rows[rank] as usize];
        let cells = &cells[block.first_flight_cell..plan.flight_cells_end(block)];
        let same_step = (l.next_step_hop.max(block.first_hop) - block.first_hop) as usize;
        let forwarded = &mut work.forwarded[..block.hops()];
        hop_transport::forward(weights, cells, same_step, forwarded);
    }
}

impl Flight {
    /// Returns true if departures until `end_s` belong to the last batch, given the maximum duration
    /// `batch_s`.
    fn takes_more(&self, l: &LinkPlan, starts: &[f64], end_s: f64, batch_s: f64) -> bool {
        let Some(last) = self.begun.checked_sub(1) else {
            return false;
        };
        let untouched = |forwarded: &Forwarded| {
            forwarded.batch < self.begun && (forwarded.batch < last || forwarded.fraction == 0.0)
        };
        let length_s = end_s - starts[l.flight_row(last) as usize];
        length_s <= batch_s * (1.0 + 1e-9)
            && untouched(&self.same_step)
            && (l.next_step_hop == l.end_hop || untouched(&self.next_step))
    }

    /// Returns the first batch that has not been forwarded completely.
    pub(super) fn oldest(&self, l: &LinkPlan) -> u64 {
        if l.next_step_hop < l.end_hop {
            self.same_step.batch.min(self.next_step.batch)
        } else {
            self.same_step.batch
        }
    }

    /// Returns true if packets are in flight.
    pub fn carries(&self, l: &LinkPlan) -> bool {
        let waits = |forwarded: &Forwarded| forwarded.batch < self.last_full;
        waits(&self.same_step) || (l.next_step_hop < l.end_hop && waits(&self.next_step))
    }

    /// Marks the link as empty: the next departures begin a batch.
    pub fn restart(&mut self) {
        let nothing = Forwarded {
            batch: self.begun,
            fraction: 0.0,
        };
        (self.same_step, self.next_step) = (nothing, nothing);
    }
}

impl LinkPlan {
    /// Returns the row of a batch in the ring.
    pub fn flight_row(&self, batch: u64) -> u32 {
        batch as u32 & (self.flight_slots - 1)
    }
}

/// Batches in flight on one link.
pub(super) struct Batches<'a> {
    /// Start times as a ring, whose length is a power of two.
    pub starts: &'a [f64],
    pub begun: u64,
    /// End of the last batch, in seconds.
    pub end_s: f64,
}

impl Batches<'_> {
    #[inline]
    fn start_s(&self, batch: u64) -> f64 {
        if batch >= self.begun {
            return self.end_s;
        }
        self.starts[self.row(batch) as usize]
    }

    /// Returns the departure time up to which everything was forwarded.
    fn forwarded_until_s(&self, done: &Forwarded) -> f64 {
        let start_s = self.start_s(done.batch);
        start_s + done.fraction * (self.start_s(done.batch + 1) - start_s)
    }

    fn row(&self, batch: u64) -> u32 {
        batch as u32 & (self.starts.len() as u32 - 1)
    }

    /// Forwards everything that left the queue before `until_s` and was not forwarded yet, as weights of
    /// rows. Returns the number of rows.
    pub fn forward(&self, until_s: f64, done: &mut Forwarded, weights: &mut [RowWeight]) -> u32 {
        let mut n = 0;
        let mut start_s = self.start_s(done.batch);
        while done.batch < self.begun {
            let end_s = self.start_s(done.batch + 1);
            // Times are sums of steps, so differences due to rounding are ignored.
            let whole = until_s >= end_s - 1e-9 * (end_s - start_s);
            let fraction = if whole {
                1.0
            } else {
                (until_s - start_s) / (end_s - start_s)
            };
            if fraction > done.fraction {
                let row = self.row(done.batch);
                weights[n as usize] = (row, fraction - done.fraction);
                n += 1;
                done.fraction = fraction;
            }
            if !whole {
                break;
            }
            *done = Forwarded {
                batch: done.batch + 1,
                fraction: 0.0,
            };
            start_s = end_s;
        }
        n
    }
}
