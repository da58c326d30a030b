//! One step of the default model, in the order in which things happen: path conditions → source
//! rates → level by level: arrivals, queues, shares → deliveries.

use std::ops::Range;

use super::Engine;
use super::parallel::{Divide, for_blocks};
use super::plan::{Block, LinkPlan, Plan};
use super::queue::{self, RedStep, Solution, Step};
use super::shares::{self, Arrivals, Fate, FifoFate, Rings, Weight, Weights};
use super::sources::{self, BATCH, Condition, look};
use crate::state::{BranchState, FifoState, Handed, Slot, State};

/// From this many hops on, a step is worth more than one thread.
const FORK_HOPS: usize = 20_000;

/// Sources that one thread evaluates at least.
const FORK_SOURCES: usize = 2048;

/// What a step works with besides the state; everything is allocated before the first step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub conditions: Vec<Condition>,
    arrivals: Vec<Arrivals>,
    fates: Vec<Fate>,
    departures: Vec<Weight>,
    soon: Vec<Weight>,
    late: Vec<Weight>,
    /// What sources that are evaluated within the step see at its start.
    seen: Vec<[f64; 2]>,
    /// Packets that each branch may still send.
    may_send: Vec<f64>,
}

impl Scratch {
    pub fn new(plan: &Plan) -> Scratch {
        Scratch {
            conditions: vec![Condition::default(); plan.links.len()],
            arrivals: vec![Arrivals::default(); plan.blocks.len()],
            fates: vec![Fate::default(); plan.links.len()],
            departures: vec![(0, 0.0); plan.queue_slots],
            soon: vec![(0, 0.0); plan.flight_weights],
            late: vec![(0, 0.0); plan.flight_weights],
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
            late: list(&self.late, link.first_flight, fate.fifo.late),
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
        if self.fifo {
            let ring = state.fifo.step_start_s.len();
            state.fifo.step_start_s[(state.steps % ring as u64) as usize] = span.start_s;
            let regular = (span.length_s - self.step_s).abs() < 1e-9 * self.step_s;
            state.fifo.regular_steps = if regular {
                state.fifo.regular_steps + 1
            } else {
                0
            };
        }
        self.send(state, span, fork);
        for &(first, end) in &plan.levels {
            if fork {
                self.step_level(&plan, state, first..end, span)?;
                continue;
            }
            // One after the other, with the same result: links of one level do not read what
            // links before them in the level have just written.
            for place in first..end {
                self.step_link(&plan, state, place, span)?;
            }
        }
        self.deliver(state, span);
        state.evaluations += 1;
        Ok(())
    }

    /// What every source sends during the step, but for those evaluated within it.
    pub(crate) fn send(&mut self, state: &mut State, span: Span, fork: bool) {
        self.look_at_links(state);
        for branches in self.plan.sized_classes() {
            let left = sources::may_send(&self.plan, branches, state);
            branches
                .iter()
                .for_each(|&b| self.scratch.may_send[b as usize] = left);
        }
        self.send_at_rates(state, span);
        self.send_by_profiles(state, span, fork);
        self.look_within_step(state, span);
    }

    /// What each link does to a packet that arrives now.
    pub(crate) fn look_at_links(&mut self, state: &State) {
        for (c, link) in self.scratch.conditions.iter_mut().zip(&state.links) {
            *c = Condition::of(link);
        }
    }

    fn send_at_rates(&self, state: &mut State, span: Span) {
        for &b in &self.active.rates {
            let b = b as usize;
            let branch = &self.plan.branches[b];
            let active_s = sources::active_s(branch, span.start_s, span.end_s);
            let [ln_pass, rtt_s] = look(
                &self.plan,
                branch,
                &self.scratch.conditions,
                self.fixed_s[b],
            );
            let wanted = branch.rate_pps * branch.weight * active_s;
            let sent = wanted.min(self.scratch.may_send[b]);
            state.handed[b] = sent;
            state.branches[b].account(sent, branch.rate_pps, [ln_pass, rtt_s], active_s, 0.0);
        }
    }

    fn send_by_profiles(&mut self, state: &mut State, span: Span, fork: bool) {
        let ring = state.fifo.seen.len();
        let now = if ring == 0 {
            0
        } else {
            (state.steps % ring as u64) as usize
        };
        let mut row = state
            .fifo
            .seen
            .get_mut(now)
            .map(std::mem::take)
            .unwrap_or_default();
        let shared = SharedView {
            engine: self,
            span,
            step: state.steps,
            seen: &state.fifo.seen,
        };
        for (profile, members) in &self.active.lagged {
            let work = SourceWork {
                members,
                first: 0,
                handed: &mut state.handed[..self.plan.branches.len()],
                branches: &mut state.branches,
                row: &mut row,
            };
            shared.send(&*self.plan.profiles[*profile as usize], work, fork);
        }
        if let Some(place) = state.fifo.seen.get_mut(now) {
            *place = row;
        }
    }

    /// Sources evaluated within the step: what they see at its start.
    fn look_within_step(&mut self, state: &mut State, span: Span) {
        for &b in &self.active.implicit {
            let b = b as usize;
            let branch = &self.plan.branches[b];
            let seen = look(
                &self.plan,
                branch,
                &self.scratch.conditions,
                self.fixed_s[b],
            );
            self.scratch.seen[b] = seen;
            state.handed[b] = 0.0; // until its first link's queue is solved
            let active_s = sources::active_s(branch, span.start_s, span.end_s);
            let outside = self.outside(branch.profile, seen);
            state.branches[b].account(0.0, 0.0, seen, active_s, outside * active_s);
        }
    }

    /// 1 if the profile was not measured where this is seen.
    fn outside(&self, profile: u32, [ln_pass, rtt_s]: [f64; 2]) -> f64 {
        let profile = &self.plan.profiles[profile as usize];
        f64::from(u8::from(profile.outside(-ln_pass.exp_m1(), rtt_s)))
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
        let quiet =
            arriving.pkts == 0.0 && link.queue_pkts == 0.0 && self.active.runs_at(place).is_empty();
        if quiet && link.quiet_steps > l.flight_slots {
            return Ok(()); // nothing here, nothing on the way, and the hops know it
        }
        if self.fifo && link.quiet_steps > l.flight_slots {
            // What was on the way has been handed on long ago.
            let nothing = Handed {
                step: state.steps,
                fraction: 0.0,
            };
            (state.fifo.soon[place], state.fifo.late[place]) = (nothing, nothing);
        }
        link.quiet_steps = if quiet { link.quiet_steps + 1 } else { 0 };

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
        let mean_bits = if pkts > 1e-9 {
            bits / pkts
        } else {
            l.nominal_bits
        };
        let step = Step {
            room_pkts: l.room_pkts,
            light_rho: l.light_rho,
            before_pkts: link.queue_pkts,
            service_pkts: link.bandwidth_bps / mean_bits * span.length_s,
            guess: link.load,
            red: l.red.map(|red| RedStep {
                red,
                average_before: link.average_pkts,
                memory: (1.0 - red.weight).powf(arriving.pkts),
            }),
        };
        let mut solution = if link.down {
            Solution::down()
        } else if self.active.runs_at(place).is_empty() {
            step.solve(arriving.pkts)
        } else {
            self.solve_with_sources(plan, state, place, &step, mean_bits, &mut arriving, span)
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
            self.hand_on(l, state, place, span, &mut fate.fifo);
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
        for branches in self.plan.sized_classes() {
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

impl BranchState {
    /// The loss that a TCP source reckons with, as it learns it: from the losses themselves. One
    /// comes every 1/p packets, so the memory is as long, and without losses the estimate falls
    /// like one over the packets sent since the last: dp̂/dt = rate · max(p, p̂) · (p − p̂).
    /// Backward Euler, with the rate of the last step.
    fn learn(&mut self, loss: f64, length_s: f64) -> f64 {
        let losses = self.rate_pps * length_s * loss.max(self.learnt_loss);
        self.learnt_loss += (loss - self.learnt_loss) * (losses / (1.0 + losses));
        self.learnt_loss
    }

    /// The fastest that TCP grows is slow start: from two packets, doubling every round trip.
    fn at_most_doubled(&self, rate_pps: f64, rtt_s: f64, length_s: f64) -> f64 {
        let before = self.rate_pps.max(2.0 / rtt_s);
        // 2^x ≥ 1 + x ln 2 decides most cases without an exponential.
        let round_trips = length_s / rtt_s;
        if rate_pps <= before * (1.0 + std::f64::consts::LN_2 * round_trips) {
            return rate_pps;
        }
        rate_pps.min(before * round_trips.exp2())
    }

    fn account(
        &mut self,
        sent: f64,
        rate_pps: f64,
        [ln_pass, rtt_s]: [f64; 2],
        active_s: f64,
        outside_s: f64,
    ) {
        self.rate_pps = rate_pps;
        self.sent_pkts += sent;
        self.rtt_time += rtt_s * active_s;
        self.loss_time -= if ln_pass == 0.0 {
            0.0
        } else {
            ln_pass.exp_m1() * active_s
        };
        self.active_s += active_s;
        self.outside_s += outside_s;
    }
}

/// What all threads that evaluate sources read.
struct SharedView<'a> {
    engine: &'a Engine,
    span: Span,
    step: u64,
    seen: &'a [Vec<[f64; 2]>],
}

/// Some sources of one profile, in order of branches, and what is written for them; the slices
/// start at branch `first`.
struct SourceWork<'a> {
    members: &'a [u32],
    first: usize,
    handed: &'a mut [f64],
    branches: &'a mut [BranchState],
    row: &'a mut [[f64; 2]],
}

impl SharedView<'_> {
    fn send(&self, profile: &dyn netflow_profile::Profile, work: SourceWork<'_>, fork: bool) {
        let n = work.members.len();
        if !fork || n < 2 * FORK_SOURCES {
            return self.send_serially(profile, work);
        }
        // Whole batches on each side: the same batches for any number of threads.
        let middle = n / 2 / BATCH * BATCH;
        let (left, right) = work.members.split_at(middle);
        let cut = right[0] as usize - work.first;
        let (handed_l, handed_r) = work.handed.split_at_mut(cut);
        let (branches_l, branches_r) = work.branches.split_at_mut(cut);
        let row_cut = cut.min(work.row.len());
        let (row_l, row_r) = work.row.split_at_mut(row_cut);
        let left = SourceWork {
            members: left,
            first: work.first,
            handed: handed_l,
            branches: branches_l,
            row: row_l,
        };
        let right = SourceWork {
            members: right,
            first: work.first + cut,
            handed: handed_r,
            branches: branches_r,
            row: row_r,
        };
        rayon::join(
            || self.send(profile, left, fork),
            || self.send(profile, right, fork),
        );
    }

    fn send_serially(&self, profile: &dyn netflow_profile::Profile, work: SourceWork<'_>) {
        let Engine {
            plan,
            scratch,
            fixed_s,
            ..
        } = self.engine;
        let domain = profile.domain();
        let (mut loss, mut rtt) = ([0.0; BATCH], [0.0; BATCH]);
        let mut rate = [0.0; BATCH];
        for batch in work.members.chunks(BATCH) {
            for (i, &b) in batch.iter().enumerate() {
                let b = b as usize;
                let now = look(plan, &plan.branches[b], &scratch.conditions, fixed_s[b]);
                let mine = b - work.first;
                let [ln_pass, rtt_s] = if self.seen.is_empty() {
                    now
                } else {
                    work.row[mine] = now;
                    let first = *work.branches[mine].first_look.get_or_insert(self.step);
                    self.after_the_way_back(b, now, first)
                };
                loss[i] = if ln_pass == 0.0 {
                    0.0
                } else {
                    -ln_pass.exp_m1()
                };
                rtt[i] = rtt_s;
                if !self.seen.is_empty() {
                    loss[i] = work.branches[mine].learn(loss[i], self.span.length_s);
                }
            }
            let n = batch.len();
            let windows = batch.iter().map(|&b| plan.branches[b as usize].window_pkts);
            sources::rates(profile, &loss[..n], &rtt[..n], windows, &mut rate[..n]);
            for (i, &b) in batch.iter().enumerate() {
                let b = b as usize;
                let branch = &plan.branches[b];
                let state = &mut work.branches[b - work.first];
                if !self.seen.is_empty() {
                    rate[i] = state.at_most_doubled(rate[i], rtt[i], self.span.length_s);
                }
                let active_s = sources::active_s(branch, self.span.start_s, self.span.end_s);
                let sent = (rate[i] * branch.weight * active_s).min(scratch.may_send[b]);
                work.handed[b - work.first] = sent;
                let outside = if domain.contains(loss[i], rtt[i]) {
                    0.0
                } else {
                    active_s
                };
                state.rate_pps = rate[i];
                state.sent_pkts += sent;
                state.rtt_time += rtt[i] * active_s;
                state.loss_time += loss[i] * active_s;
                state.active_s += active_s;
                state.outside_s += outside;
            }
        }
    }

    /// What a source learns now is what its packets met when those that are acknowledged now
    /// were at the receiver: the way back, and the waiting on the whole way, ago.
    fn after_the_way_back(&self, b: usize, now: [f64; 2], first_look: u64) -> [f64; 2] {
        let ago_s = now[1] - self.engine.plan.branches[b].forward_s;
        let slots = self.seen.len() as u64;
        let lag = ((ago_s / self.engine.step_s).round() as u64)
            .min(slots - 1)
            .min(self.step - first_look);
        match lag {
            0 => now,
            _ => self.seen[((self.step - lag) % slots) as usize][b],
        }
    }
}

/// What `arrive` writes, from `first_hop` on.
struct ArriveWork<'a> {
    first_hop: usize,
    inflow: &'a mut [f64],
    arrivals: &'a mut [Arrivals],
}

impl Divide for ArriveWork<'_> {
    fn divide(self, block: &Block, index: usize) -> (Self, Self) {
        let cut = block.first_hop as usize;
        let (inflow_l, inflow_r) = self.inflow.split_at_mut(cut - self.first_hop);
        let (arrivals_l, arrivals_r) = self.arrivals.split_at_mut(index);
        let left = ArriveWork {
            first_hop: self.first_hop,
            inflow: inflow_l,
            arrivals: arrivals_l,
        };
        let right = ArriveWork {
            first_hop: cut,
            inflow: inflow_r,
            arrivals: arrivals_r,
        };
        (left, right)
    }
}

/// What `share` writes, from the named hop and cells on.
struct ShareWork<'a> {
    first_hop: usize,
    first_queue_cell: usize,
    first_flight_cell: usize,
    handed: &'a mut [f64],
    content: &'a mut [f64],
    lost: &'a mut [f64],
    queue: &'a mut [f64],
    flight: &'a mut [f64],
}

impl Divide for ShareWork<'_> {
    fn divide(self, block: &Block, _index: usize) -> (Self, Self) {
        let hop = block.first_hop as usize - self.first_hop;
        let (handed_l, handed_r) = self.handed.split_at_mut(hop);
        let (content_l, content_r) = self.content.split_at_mut(hop.min(self.content.len()));
        let (lost_l, lost_r) = self.lost.split_at_mut(hop);
        let (queue_l, queue_r) = self
            .queue
            .split_at_mut(block.first_queue_cell - self.first_queue_cell);
        let (flight_l, flight_r) = self
            .flight
            .split_at_mut(block.first_flight_cell - self.first_flight_cell);
        let left = ShareWork {
            first_hop: self.first_hop,
            first_queue_cell: self.first_queue_cell,
            first_flight_cell: self.first_flight_cell,
            handed: handed_l,
            content: content_l,
            lost: lost_l,
            queue: queue_l,
            flight: flight_l,
        };
        let right = ShareWork {
            first_hop: block.first_hop as usize,
            first_queue_cell: block.first_queue_cell,
            first_flight_cell: block.first_flight_cell,
            handed: handed_r,
            content: content_r,
            lost: lost_r,
            queue: queue_r,
            flight: flight_r,
        };
        (left, right)
    }
}

impl Engine {
    /// FIFO bookkeeping of one queue: which slots what arrives goes to and what departs comes
    /// from. Also returns the bits that depart.
    fn queue_slots(
        &mut self,
        l: &LinkPlan,
        state: &mut State,
        place: usize,
        admitted: Arrivals,
        departed_pkts: f64,
    ) -> (FifoFate, f64) {
        let capacity = l.queue_slots;
        let slots =
            &mut state.fifo.slots[l.first_slot as usize..(l.first_slot + capacity) as usize];
        let queue = &mut state.fifo.queues[place];
        let mut fate = FifoFate::default();

        // Arrivals: a slot of their own while there is one.
        let wrap = |i: u32| if i >= capacity { i - capacity } else { i };
        if queue.count < capacity {
            fate.arrival_row = wrap(queue.head + queue.count);
            queue.count += 1;
            slots[fate.arrival_row as usize] = Slot {
                pkts: admitted.pkts,
                bits: admitted.bits,
                remains: 1.0,
            };
        } else {
            fate.arrival_row = wrap(queue.head + capacity - 1);
            let slot = &mut slots[fate.arrival_row as usize];
            fate.arrival_memory = slot.remains;
            *slot = Slot {
                pkts: slot.pkts * slot.remains + admitted.pkts,
                bits: slot.bits * slot.remains + admitted.bits,
                remains: 1.0,
            };
        }

        // Departures: from the head on.
        let departures = &mut self.scratch.departures[l.first_slot as usize..];
        let mut to_go = departed_pkts;
        let mut bits = 0.0;
        let emptied = state.links[place].queue_pkts + admitted.pkts <= departed_pkts;
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

    /// What a link hands on of what left its queue in this step and before.
    fn hand_on(
        &mut self,
        l: &LinkPlan,
        state: &mut State,
        place: usize,
        span: Span,
        fate: &mut FifoFate,
    ) {
        let FifoState {
            step_start_s,
            soon,
            late,
            regular_steps,
            ..
        } = &mut state.fifo;
        let clock = Clock {
            starts: step_start_s,
            step: state.steps,
            row: ring_row(state.steps, l.flight_slots),
            slots: l.flight_slots,
            end_s: span.end_s,
            regular: *regular_steps > u64::from(l.flight_slots),
        };
        fate.flight_row = clock.row;
        let range = l.first_flight as usize..(l.first_flight + l.flight_slots) as usize;
        let weights = &mut self.scratch.soon[range.clone()];
        fate.soon = clock.hand_on(
            l.soon_lag,
            span.end_s - l.delay_s,
            &mut soon[place],
            weights,
        );
        if l.late_hop < l.end_hop {
            let until_s = (span.end_s + span.length_s - l.delay_s).min(span.end_s);
            let weights = &mut self.scratch.late[range];
            fate.late = clock.hand_on(l.late_lag, until_s, &mut late[place], weights);
        }
    }

    /// The queue of a link whose own sources are evaluated within the step; what they send is
    /// added to `arriving`, and to what their first hops received.
    #[allow(clippy::too_many_arguments)]
    fn solve_with_sources(
        &mut self,
        plan: &Plan,
        state: &mut State,
        place: usize,
        step: &Step,
        mean_bits: f64,
        arriving: &mut Arrivals,
        span: Span,
    ) -> Solution {
        let bandwidth = state.links[place].bandwidth_bps;
        let here = self.scratch.conditions[place];
        let others = arriving.pkts;
        let sources_at = |tried: &Solution, each: &mut dyn FnMut(usize, f64, f64)| {
            let ln_pass = sources::ln_pass(tried.refused) - here.ln_pass;
            let waiting_s = tried.queue_pkts * mean_bits / bandwidth - here.waiting_s;
            let (mut loss, mut rtt, mut rate) = ([0.0; BATCH], [0.0; BATCH], [0.0; BATCH]);
            for (_, profile, range) in self.active.runs_at(place) {
                for batch in self.active.by_link[range.clone()].chunks(BATCH) {
                    let n = batch.len();
                    for (i, &b) in batch.iter().enumerate() {
                        let seen = self.scratch.seen[b as usize];
                        loss[i] = -(seen[0] + ln_pass).exp_m1();
                        rtt[i] = seen[1] + waiting_s;
                    }
                    let windows = batch.iter().map(|&b| plan.branches[b as usize].window_pkts);
                    let profile = &*plan.profiles[*profile as usize];
                    sources::rates(profile, &loss[..n], &rtt[..n], windows, &mut rate[..n]);
                    for (i, &b) in batch.iter().enumerate() {
                        let b = b as usize;
                        let branch = &plan.branches[b];
                        let active_s = sources::active_s(branch, span.start_s, span.end_s);
                        let sent = rate[i] * branch.weight * active_s;
                        each(b, rate[i], sent.min(self.scratch.may_send[b]));
                    }
                }
            }
        };
        let solution = step.solve_by(|tried| {
            let mut sum = others;
            sources_at(tried, &mut |_, _, sent| sum += sent);
            sum
        });
        let mut sent_by: Vec<(usize, f64, f64)> = std::mem::take(&mut self.sent_by);
        sent_by.clear();
        sources_at(&solution, &mut |b, rate, sent| {
            sent_by.push((b, rate, sent))
        });
        for &(b, rate, sent) in &sent_by {
            state.handed[b] = sent;
            state.branches[b].rate_pps = rate;
            state.branches[b].sent_pkts += sent;
            let hop = plan.branches[b].first_hop as usize;
            state.inflow[hop] = sent;
            arriving.pkts += sent;
            arriving.bits += sent * plan.branches[b].data_bits;
        }
        self.sent_by = sent_by;
        solution
    }
}

/// The row of a ring that belongs to a step.
fn ring_row(step: u64, slots: u32) -> u32 {
    match u32::try_from(step) {
        Ok(step) => step % slots, // several times faster
        Err(_) => (step % u64::from(slots)) as u32,
    }
}

/// A delay in whole steps and a fraction of one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lag {
    pub steps: u32,
    pub fraction: f64,
}

impl Lag {
    pub fn new(delay_s: f64, step_s: f64) -> Lag {
        let steps = (delay_s / step_s + 1e-9).floor();
        let fraction = delay_s / step_s - steps;
        Lag {
            steps: steps as u32,
            fraction: if fraction < 1e-9 { 0.0 } else { fraction },
        }
    }
}

/// When the last steps began.
struct Clock<'a> {
    starts: &'a [f64],
    step: u64,
    /// Row of this step, among `slots`.
    row: u32,
    slots: u32,
    end_s: f64,
    /// Whether all steps on the way were of the regular length.
    regular: bool,
}

impl Clock<'_> {
    fn start_s(&self, step: u64) -> f64 {
        if step > self.step {
            return self.end_s;
        }
        self.starts[(step % self.starts.len() as u64) as usize]
    }

    /// Hands on everything that left the queue before `until_s` and was not handed on yet, as
    /// weights of rows; returns how many.
    fn hand_on(&self, lag: Lag, until_s: f64, done: &mut Handed, weights: &mut [Weight]) -> u32 {
        if self.regular && self.step > u64::from(lag.steps) {
            // `lag` ago: the rest of one step, and the beginning of the next.
            let newest = self.step - u64::from(lag.steps);
            let before = Handed {
                step: newest - u64::from(lag.fraction > 0.0),
                fraction: if lag.fraction > 0.0 {
                    1.0 - lag.fraction
                } else {
                    0.0
                },
            };
            if *done == before {
                let back = |n: u32| {
                    if self.row >= n {
                        self.row - n
                    } else {
                        self.row + self.slots - n
                    }
                };
                if lag.fraction == 0.0 {
                    weights[0] = (back(lag.steps), 1.0);
                    done.step = newest + 1;
                    return 1;
                }
                weights[0] = (back(lag.steps + 1), lag.fraction);
                weights[1] = (back(lag.steps), 1.0 - lag.fraction);
                done.step = newest;
                return 2;
            }
        }
        self.hand_on_irregularly(lag, until_s, done, weights)
    }

    fn hand_on_irregularly(
        &self,
        lag: Lag,
        until_s: f64,
        done: &mut Handed,
        weights: &mut [Weight],
    ) -> u32 {
        let mut n = 0;
        let mut push = |step: u64, weight: f64| {
            if weight > 0.0 {
                weights[n as usize] = (ring_row(step, self.slots), weight);
                n += 1;
            }
        };
        while done.step <= self.step {
            let (start, end) = (self.start_s(done.step), self.start_s(done.step + 1));
            // Times are sums of steps: what differs by rounding is the same.
            if until_s >= end - 1e-9 * (end - start) {
                push(done.step, 1.0 - done.fraction);
                *done = Handed {
                    step: done.step + 1,
                    fraction: 0.0,
                };
                continue;
            }
            let mut fraction = (until_s - start) / (end - start);
            if (fraction - (1.0 - lag.fraction)).abs() < 1e-9 {
                fraction = 1.0 - lag.fraction; // as in a row of regular steps
            }
            if fraction > done.fraction {
                push(done.step, fraction - done.fraction);
                done.fraction = fraction;
            }
            break;
        }
        n
    }
}
