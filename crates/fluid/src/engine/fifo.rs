//! FIFO transport: departures by arrival slot, and propagation of batches over a link.
//!
//! Queues are divided by packets and links by time, not by steps. A slot takes the arrivals of several steps
//! up to its part of the buffer. A batch takes the departures of several steps up to its part of the delay.
//! The resolution therefore does not depend on the step size if steps are short.

use super::block_work::ForwardWork;
use super::hop_transport::{self, Arrivals, FifoOutcome, RowWeight};
use super::parallel::for_blocks;
use super::plan::{Block, LinkPlan, MIN_PARTS, Plan};
use super::{Scratch, StepContext};
use crate::state::{ArrivalSlot, Flight, Forwarded};

impl StepContext<'_> {
    /// Assigns arrivals and departures of a queue to slots. Also returns the bits that depart.
    pub(super) fn queue_slots(
        &mut self,
        rank: usize,
        admitted: Arrivals,
        departed_pkts: f64,
        buffer_pkts: f64,
    ) -> (FifoOutcome, f64) {
        let (l, state) = (&self.setup.plan.links[rank], &mut *self.state);
        let capacity = l.queue_slots;
        let slots =
            &mut state.fifo.slots[l.first_slot as usize..(l.first_slot + capacity) as usize];
        let queue = &mut state.fifo.queues[rank];
        let mut fate = FifoOutcome::default();

        // An empty queue restarts at the first row, which improves locality.
        if queue.count == 0 {
            queue.head = 0;
        }
        // Arrivals use a new slot if the last one has its part and a slot is free.
        let wrap = |i: u32| if i >= capacity { i - capacity } else { i };
        let newest = wrap(queue.head + queue.count.max(1) - 1);
        let held_pkts = slots[newest as usize].pkts * slots[newest as usize].remains;
        let goes_on = queue.count > 0 && held_pkts + admitted.pkts <= buffer_pkts / MIN_PARTS;
        if queue.count < capacity && !goes_on {
            fate.arrival_row = wrap(queue.head + queue.count);
            queue.count += 1;
            slots[fate.arrival_row as usize] = ArrivalSlot {
                pkts: admitted.pkts,
                bits: admitted.bits,
                remains: 1.0,
            };
        } else {
            fate.arrival_row = newest;
            let slot = &mut slots[fate.arrival_row as usize];
            fate.arrival_memory = slot.remains;
            *slot = ArrivalSlot {
                pkts: slot.pkts * slot.remains + admitted.pkts,
                bits: slot.bits * slot.remains + admitted.bits,
                remains: 1.0,
            };
        }

        // Departures, from the head.
        let departures = &mut self.scratch.departures[l.first_slot as usize..];
        let mut to_go = departed_pkts;
        let mut bits = 0.0;
        let emptied = state.links[rank].queue_pkts + admitted.pkts <= departed_pkts;
        while queue.count > 0 {
            let slot = &mut slots[queue.head as usize];
            let there = slot.pkts * slot.remains;
            let whole = there <= to_go || emptied;
            if !whole && to_go <= 0.0 {
                break;
            }
            let part = if whole {
                slot.remains
            } else {
                (to_go / slot.pkts).min(slot.remains)
            };
            departures[fate.departures as usize] = (queue.head, part);
            fate.departures += 1;
            bits += slot.bits * part;
            slot.remains -= part;
            if !whole {
                break;
            }
            to_go -= there;
            queue.head = wrap(queue.head + 1);
            queue.count -= 1;
        }
        (fate, bits)
    }

    /// Returns the number of packets in the first `bits` bits of the queue, and then of the arrivals.
    pub(super) fn served_in_order(&self, rank: usize, bits: f64, arriving: Arrivals) -> f64 {
        let l = &self.setup.plan.links[rank];
        let slots = &self.state.fifo.slots[l.first_slot as usize..][..l.queue_slots as usize];
        let queue = &self.state.fifo.queues[rank];
        let (mut left, mut pkts) = (bits, 0.0);
        for i in queue.head..queue.head + queue.count {
            let slot = &slots[(i % l.queue_slots) as usize];
            let there = slot.bits * slot.remains;
            if there >= left {
                return pkts + slot.pkts * slot.remains * left / there;
            }
            left -= there;
            pkts += slot.pkts * slot.remains;
        }
        pkts + if arriving.bits > 0.0 {
            left * arriving.pkts / arriving.bits
        } else {
            left * l.pkts_per_bit
        }
    }

    /// Computes the packets that a link forwards, from the departures of this step and of earlier ones.
    pub(super) fn forward(&mut self, rank: usize, departed_pkts: f64, fate: &mut FifoOutcome) {
        let (l, span) = (&self.setup.plan.links[rank], self.span);
        let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
        let flight = &mut self.state.fifo.flights[rank];
        let starts = &mut self.state.fifo.batch_start_s[range.clone()];
        let delay_s = self.state.links[rank].propagation_s(l);
        let batch_s = self.setup.plan.batch_s(delay_s);
        fate.flight_adds = flight.takes_more(l, starts, span.end_s, batch_s);
        if !fate.flight_adds {
            starts[l.flight_row(flight.begun) as usize] = span.start_s;
            flight.begun += 1;
        }
        fate.flight_row = l.flight_row(flight.begun - 1);
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
        fate.same_step = batches.forward(span.end_s - delay_s, &mut flight.same_step, weights);
    }

    /// Forwards to next links of the same or an earlier level: packets that left their queues before this
    /// step. This is done before any link is processed, and after the sources have used the arrivals of the
    /// step before.
    pub(super) fn forward_for_next_step(&mut self, fork: bool) {
        let (plan, span) = (&self.setup.plan, self.span);
        if plan.all_same_step || !self.setup.fifo {
            return;
        }
        let (state, sources) = (&mut *self.state, plan.branches.len());
        for (rank, l) in plan.links.iter().enumerate() {
            if l.next_step_hop == l.end_hop || state.links[rank].quiet_steps > 0 {
                continue;
            }
            let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
            let flight = &mut state.fifo.flights[rank];
            let batches = Batches {
                starts: &state.fifo.batch_start_s[range.clone()],
                begun: flight.begun,
                end_s: span.start_s,
            };
            let delay_s = state.links[rank].propagation_s(l);
            let until_s = (span.end_s - delay_s).min(span.start_s);
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
                    .forward_block(plan, block, work, &state.fifo.flight_cells);
            }
        }
        if !fork {
            return self.forward_earlier_for_next_step();
        }
        let (links, scratch) = (&state.links, &*self.scratch);
        let cells = &state.fifo.flight_cells;
        let work = ForwardWork {
            first_hop: 0,
            forwarded: &mut state.forwarded[sources..],
        };
        for_blocks(work, &plan.blocks, fork, &|work: ForwardWork<'_>, block| {
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
