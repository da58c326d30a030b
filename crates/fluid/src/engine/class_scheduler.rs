//! Schedulers of links with several queues: bandwidth share of each queue.
//!
//! A queue is served as if it were always backlogged. It also gets the bandwidth that the other queues do not
//! use, given their accepted traffic of the last step. Lightly loaded queues therefore see most of the link,
//! and backlogged ones their shares.

use netflow_network::Scheduler;
use netflow_network::compiled::CompiledNetwork;
use netflow_units::math::exp;
use serde::{Deserialize, Serialize};

use super::StepContext;
use super::plan::Plan;

/// Minimum bandwidth share of a queue, which keeps round-trip times finite.
const MIN_SHARE: f64 = 1e-3;

/// Averaging time of demands, and time to repay debts, in seconds.
const AVERAGING_TIME_S: f64 = 0.1;

/// Queues of one link, as ranks.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    sharing: Sharing,
    ranks: Vec<u32>,
}

/// Rule by which the queues share the link.
#[derive(Clone, Debug)]
enum Sharing {
    Priority,
    Weights(Vec<f64>),
}

/// State of one link with several queues at the start of the step before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScheduleState {
    queues: Vec<PreviousQueueState>,
    time_s: f64,
    /// Excess of the traffic sent over the link capacity, in seconds of the link: shares follow demands one
    /// step later.
    debt_s: f64,
}

/// State of one queue at that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PreviousQueueState {
    /// Accepted packets until then, and bits in the queue.
    admitted_pkts: f64,
    queue_bits: f64,
    /// Recent demand as a fraction of the link.
    demand: f64,
}

impl Plan {
    /// Finds the links with several queues.
    pub fn add_schedules(&mut self, inner: &CompiledNetwork) {
        let schedule = |shared: &netflow_network::SharedLink| {
            let sharing = match shared.scheduler {
                Scheduler::Priority => Sharing::Priority,
                Scheduler::Wfq => Sharing::Weights(shared.weights.clone()),
                // The fluid model rejects it.
                Scheduler::Htb(_) => return None,
            };
            let ranks = shared.links.iter().map(|&l| self.rank[l as usize]);
            Some(Schedule {
                sharing,
                ranks: ranks.collect(),
            })
        };
        self.schedules = inner.shared_links.iter().filter_map(schedule).collect();
    }
}

impl ScheduleState {
    pub fn new(schedule: &Schedule) -> ScheduleState {
        ScheduleState {
            queues: vec![PreviousQueueState::default(); schedule.ranks.len()],
            time_s: 0.0,
            debt_s: 0.0,
        }
    }
}

impl StepContext<'_> {
    /// Sets the share of every queue for the step that begins now.
    pub(super) fn schedule(&mut self) {
        let (plan, state) = (&self.setup.plan, &mut *self.state);
        let now_s = state.clocks[self.c].time_s;
        let of_component = |schedule: &Schedule| {
            let mut ranks = schedule.ranks.iter();
            ranks.any(|&rank| self.component.links.contains(&(rank as usize)))
        };
        let schedules = plan.schedules.iter().zip(&mut state.schedules);
        for (schedule, before) in schedules.filter(|(schedule, _)| of_component(schedule)) {
            let length_s = (now_s - before.time_s).max(0.0);
            let ranks = schedule.ranks.iter().map(|&rank| rank as usize);
            let mut sent_s = 0.0;
            let memory = exp(-length_s / AVERAGING_TIME_S);
            let demands = ranks.clone().zip(&mut before.queues).map(|(rank, queue)| {
                let link = &state.links[rank];
                let mean_bits = if link.queue_pkts > 0.0 {
                    link.queue_bits / link.queue_pkts
                } else {
                    plan.links[rank].nominal_bits
                };
                let admitted_pkts = link.offered_pkts - link.lost_pkts;
                let new_pkts = (admitted_pkts - queue.admitted_pkts).max(0.0);
                let admitted_s = new_pkts * mean_bits / link.bandwidth_bps;
                let left_bits = queue.queue_bits - link.queue_bits;
                sent_s += admitted_s + left_bits / link.bandwidth_bps;
                if length_s > 0.0 {
                    let now = admitted_s / length_s;
                    queue.demand = now + (queue.demand - now) * memory;
                }
                (queue.admitted_pkts, queue.queue_bits) = (admitted_pkts, link.queue_bits);
                queue.demand
            });
            let demands: Vec<f64> = demands.collect();
            before.time_s = now_s;
            before.debt_s = (before.debt_s + sent_s - length_s).max(0.0);
            let link = (1.0 - before.debt_s / AVERAGING_TIME_S).max(0.0);
            let shares = match &schedule.sharing {
                Sharing::Priority => by_priority(link, &demands),
                Sharing::Weights(weights) => by_weight(link, &demands, weights),
            };
            for (rank, share) in ranks.zip(shares) {
                state.links[rank].share = share.clamp(MIN_SHARE, 1.0);
            }
        }
    }
}

/// Returns the shares by strict priority: the fraction of `link` that earlier queues leave; the first always
/// gets the whole link.
fn by_priority(link: f64, demands: &[f64]) -> Vec<f64> {
    let mut share = 1.0;
    let mut left = link;
    let shares = demands.iter().map(|demand| {
        let now = share;
        left = (left - demand).max(0.0);
        share = left;
        now
    });
    shares.collect()
}

/// Returns the shares by generalized processor sharing: the share of each queue if it were always backlogged,
/// given the demands of the others.
fn by_weight(link: f64, demands: &[f64], weights: &[f64]) -> Vec<f64> {
    let each = (0..demands.len()).map(|greedy| {
        let mut left = link;
        let mut others: Vec<usize> = (0..demands.len()).filter(|&i| i != greedy).collect();
        // A queue with less demand than its share gets its demand and leaves the rest.
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
    fn unused_shares_are_divided_by_weight() {
        // All are backlogged: 3 : 1.
        near(&by_weight(1.0, &[2.0, 2.0], &[3.0, 1.0]), &[0.75, 0.25]);
        // The second demands only 0.1, so the first can get 0.9; the second could get its quarter.
        near(&by_weight(1.0, &[2.0, 0.1], &[3.0, 1.0]), &[0.9, 0.25]);
        // The third uses 0.05 of its share, which leaves 0.95 for two equal queues.
        near(
            &by_weight(1.0, &[2.0, 2.0, 0.05], &[1.0, 1.0, 2.0]),
            &[0.475, 0.475, 0.5],
        );
        near(&by_weight(1.0, &[0.0, 0.0], &[1.0, 1.0]), &[1.0, 1.0]);
        near(&by_priority(1.0, &[0.6, 0.3, 5.0]), &[1.0, 0.4, 0.1]);
    }
}
