//! First in, first out: which arrival slots depart, and what has crossed the link.

use super::plan::LinkPlan;
use super::shares::{Arrivals, FifoFate, Weight};
use super::{Engine, Span};
use crate::state::{FifoState, Handed, Slot, State};

impl Engine {
    /// FIFO bookkeeping of one queue: which slots what arrives goes to and what departs comes
    /// from. Also returns the bits that depart.
    pub(super) fn queue_slots(
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
    pub(super) fn hand_on(
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
