//! Errors of one result relative to another.

use netflow_compare::MAX_BUSIEST_LINKS;

use crate::run_results::RunResults;

/// Minimum number of lost packets of a link for its loss to be compared.
const MIN_LOST_PKTS: f64 = 20.0;

/// Minimum number of delivered packets of a connection for it to be compared.
const MIN_DELIVERED_PKTS: f64 = 20.0;

/// Errors of one network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    /// Σ|error|/Σ over the twelve longest queues.
    pub queues: f64,
    /// Median and 90th percentile of the relative error of a connection's goodput.
    pub goodput: f64,
    pub goodput_p90: f64,
    /// Ratio of lost packets.
    pub lost: Option<f64>,
    /// Median factor between the losses of links that lose packets, at least 1.
    pub link_loss: Option<f64>,
    /// Median over connections of the relative error of the mean round-trip time.
    pub rtt: f64,
    /// Maximum error of the utilization of links whose reference utilization is at least 0.5.
    pub utilization: f64,
}

/// Errors of goodput per connection over time: medians over the connections of one network.
#[derive(Clone, Copy, Debug)]
pub struct IntervalErrors {
    /// Σ|error|/Σ over the intervals of a run.
    pub run: f64,
    /// 90th percentile over connections of the same.
    pub run_p90: f64,
    /// Σ|error|/Σ over the first intervals.
    pub start: f64,
}

/// Number of the first intervals, in which connections start.
const START_PIECES: usize = 2;

impl IntervalErrors {
    /// Returns the errors of `is` relative to `truth`.
    pub fn of(is: &RunResults, truth: &RunResults) -> IntervalErrors {
        let within = |pieces: usize| -> Vec<f64> {
            let connections = truth.delivered_in_pieces_pkts.iter();
            let connections = connections.zip(&is.delivered_in_pieces_pkts);
            let errors = connections.filter_map(|(truth, is)| {
                let (mut off_pkts, mut sum_pkts) = (0.0, 0.0);
                for (truth, is) in truth.iter().zip(is).take(pieces) {
                    off_pkts += (is - truth).abs();
                    sum_pkts += truth;
                }
                (sum_pkts >= MIN_DELIVERED_PKTS).then_some(off_pkts / sum_pkts)
            });
            errors.collect()
        };
        let run = within(usize::MAX);
        IntervalErrors {
            run: quantile(run.clone(), 0.5),
            run_p90: quantile(run, 0.9),
            start: quantile(within(START_PIECES), 0.5),
        }
    }
}

/// Returns the quantile `part` of unordered values; 0 if there are none.
pub fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    if values.is_empty() {
        0.0
    } else {
        netflow_units::quantile(&values, part)
    }
}

impl Errors {
    /// Returns the errors of `is` relative to `truth`.
    pub fn of(is: &RunResults, truth: &RunResults) -> Errors {
        let mut links: Vec<_> = truth.links.iter().zip(&is.links).collect();
        links.sort_by(|a, b| b.0.queue_pkts.total_cmp(&a.0.queue_pkts));
        let longest = links.iter().take(MAX_BUSIEST_LINKS);
        let (mut off, mut sum) = (0.0, 0.0);
        for (truth, is) in longest {
            off += (is.queue_pkts - truth.queue_pkts).abs();
            sum += truth.queue_pkts;
        }
        let connections = || truth.connections.iter().zip(&is.connections);
        let judged = connections().filter(|(truth, _)| truth.delivered_pkts >= MIN_DELIVERED_PKTS);
        let goodputs: Vec<f64> = judged
            .map(|(truth, is)| (is.delivered_pkts / truth.delivered_pkts - 1.0).abs())
            .collect();
        let timed = connections().filter(|(truth, is)| truth.rtt_s > 0.0 && is.rtt_s > 0.0);
        let rtts: Vec<f64> = timed
            .map(|(truth, is)| (is.rtt_s / truth.rtt_s - 1.0).abs())
            .collect();
        let lost = |seen: &RunResults| seen.links.iter().map(|l| l.lost_pkts).sum::<f64>();
        let lossy = links
            .iter()
            .filter(|(truth, _)| truth.lost_pkts >= MIN_LOST_PKTS);
        let factors: Vec<f64> = lossy
            .map(|(truth, is)| (is.lost_pkts.max(0.1) / truth.lost_pkts).ln().abs().exp())
            .collect();
        let busy = links.iter().filter(|(truth, _)| truth.utilization >= 0.5);
        let utilization = busy.map(|(truth, is)| (is.utilization - truth.utilization).abs());
        Errors {
            queues: if sum > 0.0 { off / sum } else { 0.0 },
            goodput: quantile(goodputs.clone(), 0.5),
            goodput_p90: quantile(goodputs, 0.9),
            lost: (lost(truth) >= MIN_LOST_PKTS).then(|| lost(is) / lost(truth)),
            link_loss: (!factors.is_empty()).then(|| quantile(factors, 0.5)),
            rtt: quantile(rtts, 0.5),
            utilization: utilization.fold(0.0, f64::max),
        }
    }

    /// Returns the errors of each run relative to the mean of all.
    pub fn spread(runs: &[RunResults], mean: &RunResults) -> Vec<Errors> {
        runs.iter().map(|run| Errors::of(run, mean)).collect()
    }
}
