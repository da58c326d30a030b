//! Statistics over several runs.

use netflow_results::ReferenceSystem;
use serde::Serialize;

use crate::{ConnectionInterval, Delay, LinkInterval, Run};

/// Mean and standard deviation over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunStatistics {
    /// Mean over the runs.
    pub mean: f64,
    /// Sample standard deviation over the runs; `None` for a single run.
    pub std: Option<f64>,
}

impl RunStatistics {
    /// Returns the statistics of these values.
    pub fn of(values: &[f64]) -> RunStatistics {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        RunStatistics {
            mean,
            std: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
        }
    }
}

/// Runs of one network with different seeds.
#[derive(Clone, Debug, Default)]
pub struct Ensemble {
    /// Reference that ran them.
    pub referee: ReferenceSystem,
    /// The runs.
    pub runs: Vec<Run>,
}

/// Totals and time averages of a link over a whole run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkTotals {
    pub queue_pkts: f64,
    pub utilization: f64,
    pub arrived_pkts: f64,
    pub lost_pkts: f64,
}

impl Ensemble {
    /// Returns an ensemble of these runs.
    pub fn of(referee: ReferenceSystem, runs: &[Run]) -> Ensemble {
        Ensemble {
            referee,
            runs: runs.to_vec(),
        }
    }

    /// Returns the duration of the runs in seconds.
    pub(crate) fn duration_s(&self) -> f64 {
        let ends = self.runs.iter().filter_map(|run| run.times_s.last());
        ends.copied().fold(0.0, f64::max)
    }

    /// Returns the totals of a link for each run, or `None` if a run lacks it.
    pub(crate) fn link_totals(&self, name: &str) -> Option<Vec<LinkTotals>> {
        let of = |run: &Run| {
            let (_, intervals) = run.links.iter().find(|(link, _)| link == name)?;
            Some(totals_of(run, intervals))
        };
        self.runs.iter().map(of).collect()
    }

    /// Returns the sent and delivered packets of a connection for each run, or `None` if a run lacks it.
    pub(crate) fn connection_totals(&self, name: &str) -> Option<Vec<ConnectionInterval>> {
        let of = |run: &Run| {
            let found = run
                .connections
                .iter()
                .find(|(connection, _)| connection == name);
            let (_, intervals) = found?;
            let mut sum = ConnectionInterval::default();
            for interval in intervals {
                sum.sent_pkts += interval.sent_pkts;
                sum.delivered_pkts += interval.delivered_pkts;
            }
            Some(sum)
        };
        self.runs.iter().map(of).collect()
    }

    /// Returns the packet delays of a connection for each run, or `None` if a run lacks them.
    pub(crate) fn delays(&self, name: &str) -> Option<Vec<Delay>> {
        let of = |run: &Run| {
            let found = run.delays.iter().find(|(connection, _)| connection == name);
            found.map(|(_, delay)| *delay)
        };
        self.runs.iter().map(of).collect()
    }

    /// Returns the queue of a link in each interval, over the runs.
    pub(crate) fn queue_over_time(&self, name: &str) -> Vec<RunStatistics> {
        let intervals = self
            .runs
            .iter()
            .map(|run| run.times_s.len())
            .min()
            .unwrap_or(0);
        let series: Vec<&Vec<LinkInterval>> = self
            .runs
            .iter()
            .filter_map(|run| run.links.iter().find(|(link, _)| link == name))
            .map(|(_, intervals)| intervals)
            .collect();
        (0..intervals)
            .map(|i| {
                let at = series.iter().filter_map(|intervals| intervals.get(i));
                let values: Vec<f64> = at.map(|interval| interval.queue_pkts).collect();
                RunStatistics::of(&values)
            })
            .collect()
    }
}

fn totals_of(run: &Run, intervals: &[LinkInterval]) -> LinkTotals {
    let mut sum = LinkTotals::default();
    let mut duration_s = 0.0;
    for (interval, length_s) in intervals.iter().zip(run.lengths_s()) {
        sum.queue_pkts += interval.queue_pkts * length_s;
        sum.utilization += interval.utilization * length_s;
        sum.arrived_pkts += interval.arrived_pkts;
        sum.lost_pkts += interval.lost_pkts;
        duration_s += length_s;
    }
    if duration_s > 0.0 {
        sum.queue_pkts /= duration_s;
        sum.utilization /= duration_s;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn std_is_sample_standard_deviation() {
        // Σ(x − 3)² = 4 + 1 + 1 + 4, divided by 3.
        let spread = RunStatistics::of(&[1.0, 2.0, 4.0, 5.0]);
        assert_eq!(spread.mean, 3.0);
        assert!((spread.std.unwrap() - (10.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(RunStatistics::of(&[7.0]).std, None);
    }
}
