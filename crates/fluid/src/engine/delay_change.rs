//! Changes of link delays during a run.
//!
//! Packets that have left a queue keep the delay of that time. At a change, all packets in flight are set
//! aside with their batches and arrive on schedule; later departures form new batches. If the delay
//! decreases, packets of both kinds arrive for a while, so packets are reordered.

use super::flights::Batches;
use super::hop_transport::{self, RowWeight};
use super::plan::{LinkPlan, Plan};
use super::{Setup, StepContext};
use crate::state::{Flight, FlightsState, Forwarded, LinkState, OldDelayPackets, State};

impl LinkState {
    /// Returns the present propagation delay of the link, in seconds.
    pub(crate) fn propagation_s(&self, l: &LinkPlan) -> f64 {
        self.delay_s.unwrap_or(l.delay_s)
    }
}

impl State {
    /// Returns the present propagation delay of the link of this rank, in seconds.
    pub(crate) fn delay_s(&self, plan: &Plan, rank: u32) -> f64 {
        self.links[rank as usize].propagation_s(&plan.links[rank as usize])
    }
}

impl Setup {
    /// Returns the delay after which data that leaves the queue of a link reaches the next one, in seconds. In
    /// the published equations it does so at once.
    pub(crate) fn data_delay_s(&self, link: &LinkState, l: &LinkPlan) -> f64 {
        if self.is_literal() {
            0.0
        } else {
            link.propagation_s(l)
        }
    }

    /// Sets the delay of a link from now on. Returns true if it changed.
    pub(crate) fn set_delay(&self, state: &mut State, rank: usize, delay_s: f64) -> bool {
        let l = &self.plan.links[rank];
        let link = &mut state.links[rank];
        let before_s = link.propagation_s(l);
        if delay_s == before_s {
            return false;
        }
        link.delay_s = Some(delay_s);
        if self.is_literal() {
            return true; // packets reach the next link at once
        }
        let is_known = link.quiet_steps == 0;
        let flight = state.flights.links[rank];
        if is_known && flight.carries(l) {
            let earlier =
                OldDelayPackets::new(&self.plan, &state.flights, rank, state.time_s(), before_s);
            state.flights.earlier.push(earlier);
        }
        state.flights.links[rank].restart();
        true
    }
}

impl FlightsState {
    /// Returns true if packets with an earlier delay are in flight on the link.
    pub(super) fn has_earlier(&self, rank: usize) -> bool {
        self.earlier.iter().any(|it| it.rank as usize == rank)
    }
}

/// Group of hops of a link: hops that forward within the step, or all others.
#[derive(Clone, Copy, PartialEq)]
enum HopGroup {
    SameStep,
    NextStep,
}

impl OldDelayPackets {
    /// Collects all packets in flight on a link.
    fn new(
        plan: &Plan,
        flights: &FlightsState,
        rank: usize,
        now_s: f64,
        delay_s: f64,
    ) -> OldDelayPackets {
        let l = &plan.links[rank];
        let Flight {
            begun,
            same_step,
            next_step,
            ..
        } = flights.links[rank];
        let batches = flights.links[rank].oldest(l)..begun;
        let slots = (begun - batches.start).next_power_of_two() as usize;
        let hops = (l.end_hop - l.first_hop) as usize;
        let mut earlier = OldDelayPackets {
            rank: rank as u32,
            delay_s,
            begun,
            end_s: now_s,
            same_step,
            next_step,
            starts_s: vec![0.0; slots],
            cells: vec![0.0; slots * hops],
        };
        for batch in batches {
            let (from, to) = (l.flight_row(batch) as usize, earlier.row(batch));
            earlier.starts_s[to] = flights.batch_start_s[l.first_flight as usize + from];
            for block in plan.blocks_at(l) {
                let n = block.hops();
                let first = earlier.first_cell(l, block.first_hop) + to * n;
                let cells = &flights.cells[block.first_flight_cell + from * n..][..n];
                earlier.cells[first..first + n].copy_from_slice(cells);
            }
        }
        earlier
    }

    fn row(&self, batch: u64) -> usize {
        batch as usize & (self.starts_s.len() - 1)
    }

    /// Returns the packets of one hop that are still in flight.
    pub(super) fn in_flight(&self, plan: &Plan, hop: usize) -> f64 {
        let l = &plan.links[self.rank as usize];
        let done = if hop < l.next_step_hop as usize {
            self.same_step
        } else {
            self.next_step
        };
        let blocks = plan.blocks_at(l);
        let Some(block) = blocks.iter().find(|block| block.range().contains(&hop)) else {
            return 0.0;
        };
        let cells = &self.cells[self.first_cell(l, block.first_hop)..];
        let batches = done.batch..self.begun;
        let parts = batches.map(|batch| {
            let cell = cells[self.row(batch) * block.hops() + hop - block.first_hop as usize];
            if batch == done.batch {
                (1.0 - done.fraction) * cell
            } else {
                cell
            }
        });
        parts.sum()
    }

    /// Returns the first cell of the block with this first hop.
    fn first_cell(&self, l: &LinkPlan, first_hop: u32) -> usize {
        self.starts_s.len() * (first_hop - l.first_hop) as usize
    }

    /// Adds the packets that arrive until `end_s` to the forwarded packets of hops; `weights` is scratch.
    fn forward(
        &mut self,
        plan: &Plan,
        which: HopGroup,
        end_s: f64,
        weights: &mut [RowWeight],
        forwarded: &mut [f64],
    ) {
        let l = &plan.links[self.rank as usize];
        let batches = Batches {
            starts: &self.starts_s,
            begun: self.begun,
            end_s: self.end_s,
        };
        let done = match which {
            HopGroup::SameStep => &mut self.same_step,
            HopGroup::NextStep => &mut self.next_step,
        };
        let rows = batches.forward(end_s - self.delay_s, done, weights) as usize;
        for block in plan.blocks_at(l) {
            let middle = l.next_step_hop.clamp(block.first_hop, block.end_hop) as usize;
            let hops = match which {
                HopGroup::SameStep => block.range().start..middle,
                HopGroup::NextStep => middle..block.range().end,
            };
            let cells = &self.cells[self.first_cell(l, block.first_hop)..];
            let cells = &cells[hops.start - block.range().start..];
            hop_transport::add_forwarded(
                &weights[..rows],
                cells,
                block.hops(),
                &mut forwarded[hops],
            );
        }
    }

    fn is_over(&self, l: &LinkPlan) -> bool {
        let is_over = |done: Forwarded| done.batch == self.begun;
        is_over(self.same_step) && (l.next_step_hop == l.end_hop || is_over(self.next_step))
    }
}

impl StepContext<'_> {
    /// Forwards packets with an earlier delay, for hops of a link that forward within the step.
    pub(super) fn forward_earlier(&mut self, rank: usize) {
        if !self.state.flights.has_earlier(rank) {
            return;
        }
        self.forward_each(HopGroup::SameStep, |it| it.rank as usize == rank);
        let l = &self.setup.plan.links[rank];
        let earlier = &mut self.state.flights.earlier;
        earlier.retain(|it| it.rank as usize != rank || !it.is_over(l));
    }

    /// Forwards packets with an earlier delay, for hops of all links that forward before the step.
    pub(super) fn forward_earlier_for_next_step(&mut self) {
        let (plan, component) = (&self.setup.plan, self.component);
        self.forward_each(HopGroup::NextStep, |it| {
            let l = &plan.links[it.rank as usize];
            l.next_step_hop < l.end_hop && component.links.contains(&(it.rank as usize))
        });
    }

    fn forward_each(&mut self, which: HopGroup, of: impl Fn(&OldDelayPackets) -> bool) {
        let (plan, end_s) = (&self.setup.plan, self.span.end_s);
        let State {
            flights, forwarded, ..
        } = &mut *self.state;
        let forwarded = &mut forwarded[plan.branches.len()..];
        for it in flights.earlier.iter_mut().filter(|it| of(it)) {
            let l = &plan.links[it.rank as usize];
            let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
            // The link's own weights have been used already.
            let weights = match which {
                HopGroup::SameStep => &mut self.scratch.same_step[range],
                HopGroup::NextStep => &mut self.scratch.next_step[range],
            };
            it.forward(plan, which, end_s, weights, forwarded);
        }
    }
}
