//! What part of its link's bandwidth each queue of a class has.
//!
//! A queue is served as fast as if it were never empty: with what the others, by what they were
//! admitted in the last step, do not use of theirs. So lightly loaded queues all see most of the
//! link, and backlogged ones their shares.

use serde::{Deserialize, Serialize};

use super::Engine;
use super::plan::Plan;
use crate::network::Inner;
use crate::scheduling::Scheduler;
use crate::state::State;

/// The least part of a link that a queue has: a round-trip time must be a number.
const LEAST: f64 = 1e-6;

/// The queues of one link, as places.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    scheduler: Scheduler,
    places: Vec<u32>,
    weights: Vec<f64>,
}

/// What each queue of a link had taken in at the start of the step before, in packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScheduleState {
    admitted_pkts: Vec<f64>,
    time_s: f64,
}

impl Plan {
    /// Finds the links with several queues.
    pub fn add_schedules(&mut self, inner: &Inner) {
        let schedule = |shared: &crate::scheduling::Shared| Schedule {
            scheduler: shared.scheduler,
            places: shared
                .links
                .iter()
                .map(|&l| self.place[l as usize])
                .collect(),
            weights: shared.weights.clone(),
        };
        self.schedules = inner.shared.iter().map(schedule).collect();
    }
}

impl ScheduleState {
    pub fn new(schedule: &Schedule) -> ScheduleState {
        ScheduleState {
            admitted_pkts: vec![0.0; schedule.places.len()],
            time_s: 0.0,
        }
    }
}

impl Engine {
    /// Sets the share of every queue for the step that begins now.
    pub(super) fn schedule(&self, state: &mut State) {
        for (schedule, before) in self.plan.schedules.iter().zip(&mut state.schedules) {
            let length_s = state.time_s - before.time_s;
            if length_s <= 0.0 {
                continue; // the first step: the whole link for everybody
            }
            let places = schedule.places.iter().map(|&place| place as usize);
            let demands: Vec<f64> = places
                .clone()
                .zip(&mut before.admitted_pkts)
                .map(|(place, before_pkts)| {
                    let link = &state.links[place];
                    let mean_bits = match link.queue_pkts > 0.0 {
                        true => link.queue_bits / link.queue_pkts,
                        false => self.plan.links[place].nominal_bits,
                    };
                    let now_pkts = link.offered_pkts - link.lost_pkts;
                    let bits = (now_pkts - *before_pkts).max(0.0) * mean_bits;
                    *before_pkts = now_pkts;
                    bits / (length_s * link.bandwidth_bps)
                })
                .collect();
            before.time_s = state.time_s;
            let shares = match schedule.scheduler {
                Scheduler::Priority => by_priority(&demands),
                Scheduler::Wfq => by_weight(&demands, &schedule.weights),
            };
            for (place, share) in places.zip(shares) {
                state.links[place].share = share.clamp(LEAST, 1.0);
            }
        }
    }
}

/// What those before leave, as parts of the link.
fn by_priority(demands: &[f64]) -> Vec<f64> {
    let mut left = 1.0_f64;
    let shares = demands.iter().map(|demand| {
        let share = left;
        left = (left - demand).max(0.0);
        share
    });
    shares.collect()
}

/// What each gets by generalized processor sharing if it were never empty, and the others want
/// these parts of the link.
fn by_weight(demands: &[f64], weights: &[f64]) -> Vec<f64> {
    let each = (0..demands.len()).map(|greedy| {
        let mut left = 1.0_f64;
        let mut others: Vec<usize> = (0..demands.len()).filter(|&i| i != greedy).collect();
        // Who wants less than its part of what is left gets it, and leaves the rest.
        loop {
            let weight: f64 = others.iter().map(|&i| weights[i]).sum();
            let unit = left / (weight + weights[greedy]);
            let (content, hungry): (Vec<usize>, Vec<usize>) = others
                .iter()
                .partition(|&&i| demands[i] < unit * weights[i]);
            if content.is_empty() {
                break unit * weights[greedy];
            }
            left -= content.iter().map(|&i| demands[i]).sum::<f64>();
            others = hungry;
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], wanted: &[f64]) {
        let pairs = found.iter().zip(wanted);
        assert!(
            found.len() == wanted.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?} {wanted:?}"
        );
    }

    #[test]
    fn what_others_leave_is_shared_by_weight() {
        // All want more than they get: 3 : 1.
        near(&by_weight(&[2.0, 2.0], &[3.0, 1.0]), &[0.75, 0.25]);
        // The second wants 0.1 only; the first could have the rest, the second its quarter.
        near(&by_weight(&[2.0, 0.1], &[3.0, 1.0]), &[0.9, 0.25]);
        // 0.05 of the third's quarter leave 0.95 for two equals.
        near(
            &by_weight(&[2.0, 2.0, 0.05], &[1.0, 1.0, 2.0]),
            &[0.475, 0.475, 0.5],
        );
        near(&by_weight(&[0.0, 0.0], &[1.0, 1.0]), &[1.0, 1.0]);
        near(&by_priority(&[0.6, 0.3, 5.0]), &[1.0, 0.4, 0.1]);
    }
}
