//! `fluid-literal`: equations 4–7 of \[Prof\] as published, to reproduce the paper and to show its error.
//!
//! - (4) N_i(t+δ) = N_i + (λ_i − μ_i U_i)δ, kept within [0, K];
//! - (5) U_i = λ_i/μ_i if N_i = 0 and λ_i < μ_i, else 1;
//! - (6) λ_i = external + Σ_j r_ji μ_j U_j;
//! - (7) N_{i,c}(t+δ) = N_{i,c} + (λ_{i,c} − λ_{next,c})δ.
//!
//! With equation 7 alone, classes become negative and deviate from their queue as soon as (4) cuts anything
//! off. The shares of (6) then diverge. Therefore classes are kept at zero or above, and rescaled to the sum
//! of their queue after every step.
//!
//! Sources use the state at the start of the step. Blocking does not thin traffic: blocked packets are
//! delivered anyway, and packets cut off by (4) count as lost. The two need not agree.

use super::plan::HopRun;
use super::queue::EMPTY_LN_RHO;
use super::{StepContext, hop_transport};
use crate::mm1k::blocking_of_mean;

impl StepContext<'_> {
    /// Advances the network over `span`. Returns the first queue that is not a finite number as the error.
    pub(crate) fn step_literally(&mut self) -> Result<(), usize> {
        self.send(false);
        self.forward_for_next_step(false);
        for &(first, end) in &self.setup.plan.levels[self.component.levels.clone()] {
            for rank in first..end {
                self.move_queue_literally(rank)?;
            }
        }
        self.deliver();
        Ok(())
    }

    fn move_queue_literally(&mut self, rank: usize) -> Result<(), usize> {
        let setup = self.setup;
        let (plan, state, span) = (&setup.plan, &mut *self.state, self.span);
        let l = &plan.links[rank];
        let hops = l.first_hop as usize..l.end_hop as usize;
        let inflow = &mut state.inflow[hops.clone()];
        let blocks = plan.blocks_at(l);
        let (first, last) = (&blocks[0], &blocks[blocks.len() - 1]);
        let runs = &plan.runs[first.first_run as usize..last.end_run as usize];
        let arriving =
            hop_transport::arrive(runs, &plan.up[hops.clone()], &state.forwarded, inflow);

        let link = &state.links[rank];
        let (pkts, bits) = (
            link.queue_pkts + arriving.pkts,
            link.queue_bits + arriving.bits,
        );
        let mean_bits = if pkts > 0.0 {
            bits / pkts
        } else {
            l.nominal_bits
        };
        let service = link.bandwidth_bps / mean_bits * span.length_s;
        let before = link.queue_pkts;
        let idle = before == 0.0 && arriving.pkts < service;
        let utilization = if idle { arriving.pkts / service } else { 1.0 };
        // Exactly the arrivals: a rounding error left in an empty queue would make it "busy".
        let departed = if idle { arriving.pkts } else { service };

        let exact = before + arriving.pkts - departed;
        // Packets present stay, regardless of the size of arriving packets.
        let buffer_pkts = l
            .room
            .at(link.bandwidth_bps)
            .pkts(mean_bits)
            .max(before - departed);
        let after = exact.clamp(0.0, buffer_pkts);
        if !exact.is_finite() {
            return Err(rank);
        }
        let removed = (exact - after).max(0.0);
        let flight = self.fly(rank, departed);
        let weights = &self.scratch.same_step[l.first_flight as usize..];
        let weights = &weights[..flight.same_step as usize];
        let state = &mut *self.state;
        let sources = plan.branches.len();
        for block in blocks {
            let n = block.hops();
            let cells = block.first_flight_cell..plan.flight_cells_end(block);
            let cells = &mut state.flights.cells[cells];
            let row = &mut cells[flight.row as usize * n..][..n];
            if !flight.adds {
                row.fill(0.0);
            }
            let pass = self.scratch.on_the_way.pass_of(rank, block.range());
            let hops = state.inflow[block.range()].iter().zip(block.range());
            for (i, (v, hop)) in hops.enumerate() {
                let content = &mut state.content[hop];
                // Share of this class in the queue; in the arrivals if the queue is empty.
                let departs = if before > 0.0 {
                    departed * *content / before
                } else if arriving.pkts > 0.0 {
                    departed * v / arriving.pkts
                } else {
                    0.0
                };
                *content = (*content + v - departs).max(0.0);
                let passes = departs * pass.map_or(1.0, |pass| pass[i]);
                row[i] += passes;
                state.lost[hop] += departs - passes;
            }
            let same_step = l.next_step_hop.clamp(block.first_hop, block.end_hop) - block.first_hop;
            let forwarded = &mut state.forwarded[sources + block.range().start..];
            hop_transport::weigh_rows(weights, cells, n, &mut forwarded[..same_step as usize], 0);
        }
        let content = &mut state.content[hops.clone()];
        let of_run = |run: &HopRun| {
            let start = run.first_hop as usize - hops.start;
            let end = run.end_hop as usize - hops.start;
            run.packets * content[start..end].iter().sum::<f64>()
        };
        let queued: f64 = runs.iter().map(of_run).sum();
        if queued > 0.0 {
            content.iter_mut().for_each(|c| *c *= after / queued);
        }
        let link = &mut state.links[rank];
        link.offered_pkts += arriving.pkts;
        link.lost_pkts += removed;
        link.cut_off_pkts += removed;
        link.departed_pkts += departed;
        link.queue_time += 0.5 * (before + after) * span.length_s;
        link.longer_time += departed * (link.propagation_s(l) - l.delay_s);
        let bit_s = 1.0 / link.bandwidth_bps;
        link.sending_s += departed * mean_bits * bit_s;
        link.bit_time += departed * bit_s;
        link.utilization = utilization;
        link.busy_s += utilization * span.length_s;
        link.max_queue_pkts = link.max_queue_pkts.max(after);
        link.queue_pkts = after;
        link.queue_bits = after * mean_bits;
        link.ln_rho = EMPTY_LN_RHO;
        link.refused = blocking_of_mean(after, buffer_pkts);
        Ok(())
    }
}
