//! Error metrics of netflow against a reference simulator or system.

use netflow_network::engine::fraction;
use netflow_results::ReferenceSystem;
use serde::Serialize;

use crate::ensemble::LinkTotals;
use crate::{Delay, Ensemble, NetflowRun, RunStatistics};

/// Number of longest queues with their own error metric.
pub const MAX_BUSIEST_LINKS: usize = 12;

/// A quantity from netflow and from the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComparedValue {
    /// Value of the reference over its runs; NaN (null in JSON) if unavailable.
    pub referee: RunStatistics,
    /// Value of netflow.
    pub netflow: f64,
}

impl ComparedValue {
    fn new(values: Vec<f64>, netflow: f64) -> ComparedValue {
        ComparedValue {
            referee: RunStatistics::of(&values),
            netflow,
        }
    }

    /// Returns the estimate multiplied by `factor`, for a change of unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> ComparedValue {
        ComparedValue {
            referee: RunStatistics {
                mean: factor * self.referee.mean,
                std: self.referee.std.map(|std| factor * std),
            },
            netflow: factor * self.netflow,
        }
    }

    /// Returns netflow − reference.
    pub fn error(&self) -> f64 {
        self.netflow - self.referee.mean
    }

    /// Returns netflow / reference − 1, or `None` if the reference is 0 or unavailable.
    pub fn relative_error(&self) -> Option<f64> {
        let theirs = self.referee.mean;
        (theirs != 0.0 && !theirs.is_nan()).then(|| self.netflow / theirs - 1.0)
    }
}

/// Comparison of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkComparison {
    /// `FROM->TO`.
    pub link: String,
    /// Mean queue in packets, including the one in service.
    pub queue_pkts: ComparedValue,
    /// Lost / arrived packets.
    pub loss_probability: ComparedValue,
    /// Packets lost.
    pub lost_pkts: ComparedValue,
    /// Arrived packets.
    pub offered_pkts: ComparedValue,
    /// Utilization, 0–1.
    pub utilization: ComparedValue,
    /// Error of the queue over time: Σ|netflow − reference mean| / Σ reference mean over the intervals;
    /// `None` if the reference has no queue, or it is unavailable.
    pub trajectory_error: Option<f64>,
    /// The same in standard deviations of the reference: the root mean square of (netflow − mean) / std, over
    /// the intervals in which its runs differ; `None` for a single run.
    pub trajectory_sigmas: Option<f64>,
}

/// Comparison of one connection, summed over its `count`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionComparison {
    /// Name of the connection.
    pub connection: String,
    /// Packets/s sent over the whole run.
    pub send_pps: ComparedValue,
    /// Packets/s delivered (in ns-2: acknowledged) over the whole run.
    pub goodput_pps: ComparedValue,
    /// Median one-way delay of packets in seconds; `None` unless both have it.
    pub delay_p50_s: Option<ComparedValue>,
    /// 95th percentile of the one-way delay in seconds.
    pub delay_p95_s: Option<ComparedValue>,
}

/// Aggregate errors. An error over no common values is NaN (null in JSON).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Error of mean queues: Σ|netflow − reference| / Σ reference over all links.
    pub queue_error: f64,
    /// The same over the [`MAX_BUSIEST_LINKS`] longest queues of the reference.
    pub busiest_queue_error: f64,
    /// The same for one run of the reference against the mean of all its runs, averaged over the runs.
    pub referee_busiest_queue_error: Option<f64>,
    /// Error of goodputs: Σ|netflow − reference| / Σ reference over connections.
    pub goodput_error: f64,
    /// Median over the connections of |netflow / reference − 1|.
    pub median_goodput_error: f64,
    /// 90th percentile over the connections.
    pub p90_goodput_error: f64,
    /// Median for one run of the reference against the mean of all its runs, averaged over the runs.
    pub referee_median_goodput_error: Option<f64>,
    /// Median over the connections of the relative error of [`ConnectionComparison::delay_p95_s`]; `None` if
    /// no connection has it.
    pub median_delay_p95_error: Option<f64>,
    /// Delivered packets: netflow / reference.
    pub goodput_ratio: f64,
    /// Lost packets: netflow / reference; `None` if the reference loses none.
    pub lost_ratio: Option<f64>,
}

/// Comparison of netflow with a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The reference.
    pub referee: ReferenceSystem,
    /// Number of its runs.
    pub runs: usize,
    /// Compared duration in seconds.
    pub duration_s: f64,
    /// Links that both have, in the order of the scenario.
    pub links: Vec<LinkComparison>,
    /// Connections that both have, in the order of the scenario.
    pub connections: Vec<ConnectionComparison>,
    /// Aggregate errors.
    pub totals: Totals,
    /// Reasons why runs of the reference are unreliable.
    pub doubts: Vec<String>,
    /// Quantities that are not compared, with the reasons.
    pub untold: Vec<String>,
}

impl Comparison {
    /// Compares all quantities that both have.
    pub fn new(netflow_run: &NetflowRun, ensemble: &Ensemble) -> Comparison {
        let duration_s = ensemble.duration_s();
        let links: Vec<LinkComparison> = netflow_run
            .summary
            .links
            .iter()
            .filter_map(|link| {
                let per_run = ensemble.link_totals(&link.link)?;
                let each = |of: fn(&LinkTotals) -> f64| per_run.iter().map(of).collect();
                let loss = |whole: &LinkTotals| fraction(whole.lost_pkts, whole.arrived_pkts);
                let (trajectory_error, trajectory_sigmas) =
                    queue_series_error(netflow_run, ensemble, &link.link);
                Some(LinkComparison {
                    link: link.link.clone(),
                    queue_pkts: ComparedValue::new(each(|w| w.queue_pkts), link.mean_queue_pkts),
                    loss_probability: ComparedValue::new(each(loss), link.loss_probability),
                    lost_pkts: ComparedValue::new(each(|w| w.lost_pkts), link.lost_pkts),
                    offered_pkts: ComparedValue::new(each(|w| w.arrived_pkts), link.offered_pkts),
                    utilization: ComparedValue::new(each(|w| w.utilization), link.utilization),
                    trajectory_error,
                    trajectory_sigmas,
                })
            })
            .collect();
        let connections: Vec<ConnectionComparison> = netflow_run
            .summary
            .connections
            .iter()
            .filter_map(|connection| {
                let per_run = ensemble.connection_totals(&connection.connection)?;
                let sent = per_run
                    .iter()
                    .map(|whole| whole.sent_pkts / duration_s)
                    .collect();
                let delivered = per_run
                    .iter()
                    .map(|w| w.delivered_pkts / duration_s)
                    .collect();
                let delays = ensemble.delays(&connection.connection);
                let delay = |of: &dyn Fn(&Delay) -> f64, mine: Option<f64>| {
                    let theirs: Vec<f64> = delays.as_ref()?.iter().map(of).collect();
                    Some(ComparedValue::new(theirs, mine?))
                };
                Some(ConnectionComparison {
                    connection: connection.connection.clone(),
                    send_pps: ComparedValue::new(sent, connection.mean_send_pps),
                    goodput_pps: ComparedValue::new(delivered, connection.mean_goodput_pps),
                    delay_p50_s: delay(&|it| it.p50_s, connection.delay_p50_s),
                    delay_p95_s: delay(&|it| it.p95_s, connection.delay_p95_s),
                })
            })
            .collect();
        let totals = totals(&links, &connections, ensemble);
        Comparison {
            referee: ensemble.referee,
            doubts: ensemble
                .runs
                .iter()
                .filter_map(|run| run.doubt.clone())
                .collect(),
            untold: (ensemble.runs.iter())
                .flat_map(|run| run.untold.clone())
                .collect(),
            runs: ensemble.runs.len(),
            duration_s,
            links,
            connections,
            totals,
        }
    }

    /// Returns the `count` links with the longest queues of the reference, longest first.
    pub fn busiest(&self, count: usize) -> Vec<&LinkComparison> {
        busiest(&self.links, count)
    }
}

fn busiest(links: &[LinkComparison], count: usize) -> Vec<&LinkComparison> {
    let mut order: Vec<&LinkComparison> = links.iter().collect();
    // Unavailable queues are last.
    let key = |link: &LinkComparison| link.queue_pkts.referee.mean.max(-1.0);
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    order.truncate(count);
    order
}

/// Returns the error of the queue over time, relative and in standard deviations.
fn queue_series_error(
    netflow_run: &NetflowRun,
    ensemble: &Ensemble,
    link: &str,
) -> (Option<f64>, Option<f64>) {
    let Some((_, mine)) = netflow_run.run.links.iter().find(|(name, _)| name == link) else {
        return (None, None);
    };
    let theirs = ensemble.queue_over_time(link);
    let (mut off, mut sum) = (0.0, 0.0);
    let (mut squares, mut n) = (0.0, 0.0_f64);
    for (mine, theirs) in mine.iter().zip(&theirs) {
        off += (mine.queue_pkts - theirs.mean).abs();
        sum += theirs.mean;
        // Differences in the last digits are rounding errors.
        if let Some(std) = theirs.std.filter(|&std| std > 1e-6 * theirs.mean) {
            squares += ((mine.queue_pkts - theirs.mean) / std).powi(2);
            n += 1.0;
        }
    }
    (
        (sum > 0.0).then(|| off / sum),
        (n > 0.0).then(|| (squares / n).sqrt()),
    )
}

fn totals(
    links: &[LinkComparison],
    connections: &[ConnectionComparison],
    ensemble: &Ensemble,
) -> Totals {
    let queues = |links: &mut dyn Iterator<Item = &LinkComparison>| {
        relative_l1_error(links.map(|link| (link.queue_pkts.netflow, link.queue_pkts.referee.mean)))
    };
    let longest = busiest(links, MAX_BUSIEST_LINKS);
    let goodputs = || {
        connections
            .iter()
            .map(|c| (c.goodput_pps.netflow, c.goodput_pps.referee.mean))
    };
    let errors = relative_errors(goodputs());
    let delays = connections.iter().filter_map(|it| it.delay_p95_s);
    let delay_errors = relative_errors(delays.map(|it| (it.netflow, it.referee.mean)));
    let sum = |of: &dyn Fn(&LinkComparison) -> f64| links.iter().map(of).sum::<f64>();
    let (mine, theirs) = goodputs().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let lost = sum(&|link| link.lost_pkts.referee.mean);
    Totals {
        queue_error: queues(&mut links.iter()),
        busiest_queue_error: queues(&mut longest.iter().copied()),
        referee_busiest_queue_error: mean_over_runs(ensemble, |run| {
            relative_l1_error(longest.iter().filter_map(|link| {
                let per_run = ensemble.link_totals(&link.link)?;
                Some((per_run.get(run)?.queue_pkts, link.queue_pkts.referee.mean))
            }))
        }),
        goodput_error: relative_l1_error(goodputs()),
        median_goodput_error: quantile(&errors, 0.5),
        p90_goodput_error: quantile(&errors, 0.9),
        referee_median_goodput_error: mean_over_runs(ensemble, |run| {
            let duration_s = ensemble.duration_s();
            let pairs = connections.iter().filter_map(|connection| {
                let per_run = ensemble.connection_totals(&connection.connection)?;
                let one = per_run.get(run)?.delivered_pkts / duration_s;
                Some((one, connection.goodput_pps.referee.mean))
            });
            quantile(&relative_errors(pairs), 0.5)
        }),
        median_delay_p95_error: (!delay_errors.is_empty()).then(|| quantile(&delay_errors, 0.5)),
        goodput_ratio: match connections {
            [] => f64::NAN,
            _ => fraction(mine, theirs),
        },
        lost_ratio: (lost > 0.0).then(|| sum(&|link| link.lost_pkts.netflow) / lost),
    }
}

/// Returns the mean over the runs of a metric of each run.
fn mean_over_runs(ensemble: &Ensemble, of: impl Fn(usize) -> f64) -> Option<f64> {
    let runs = ensemble.runs.len();
    (runs > 1).then(|| (0..runs).map(of).sum::<f64>() / runs as f64)
}

/// Returns Σ|a − b| / Σ b over pairs with a known b; NaN without any.
fn relative_l1_error(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut off, mut sum, mut any) = (0.0, 0.0, false);
    for (a, b) in pairs.filter(|it| !it.1.is_nan()) {
        off += (a - b).abs();
        sum += b;
        any = true;
    }
    if any { fraction(off, sum) } else { f64::NAN }
}

/// Returns |a / b − 1| of each pair with b > 0, ascending.
fn relative_errors(pairs: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let errors = pairs
        .filter(|&(_, b)| b > 0.0)
        .map(|(a, b)| (a / b - 1.0).abs());
    let mut errors: Vec<f64> = errors.collect();
    errors.sort_by(f64::total_cmp);
    errors
}

/// Returns the quantile of ascending errors; NaN without any.
fn quantile(ascending: &[f64], q: f64) -> f64 {
    if ascending.is_empty() {
        f64::NAN
    } else {
        netflow_units::quantile(ascending, q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_error_divides_sums() {
        // |3−2| + |1−4| over 2 + 4
        assert_eq!(
            relative_l1_error([(3.0, 2.0), (1.0, 4.0)].into_iter()),
            4.0 / 6.0
        );
        assert_eq!(
            relative_l1_error([(3.0, 2.0), (1.0, f64::NAN)].into_iter()),
            0.5
        );
        assert!(relative_l1_error(std::iter::empty()).is_nan());
    }

    #[test]
    fn quantiles_use_relative_errors() {
        let errors = relative_errors([(1.1, 1.0), (2.0, 1.0), (0.7, 1.0), (5.0, 0.0)].into_iter());
        assert_eq!(errors.len(), 3);
        assert!((quantile(&errors, 0.5) - 0.3).abs() < 1e-12);
        // Interpolates between 0.3 and 1 at 0.8: 1 − 0.2·(1 − 0.3).
        assert!((quantile(&errors, 0.9) - 0.86).abs() < 1e-12);
    }
}
