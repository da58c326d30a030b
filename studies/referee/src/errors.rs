//! Errors of some runs of a network relative to others.

use netflow_compare::{LinkInterval, MAX_BUSIEST_LINKS, Run};
use netflow_units::quantile;

/// Means over runs of a network.
#[derive(Clone, Debug, Default)]
pub struct MeanResults {
    /// By link: mean queue in packets, lost packets, arrived packets.
    links: Vec<(f64, f64, f64)>,
    /// By connection: delivered packets, and the 95th percentile of their delay, if known.
    connections: Vec<(f64, Option<f64>)>,
    /// Mean cost of a run in seconds.
    pub cost_s: f64,
}

impl MeanResults {
    /// Computes the means of these runs.
    pub fn of(runs: &[Run]) -> MeanResults {
        let Some(first) = runs.first() else {
            return MeanResults::default();
        };
        let n = runs.len() as f64;
        let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / n;
        let sum = |run: &Run, link: usize, of: fn(&LinkInterval) -> f64| {
            run.links[link].1.iter().map(of).sum::<f64>()
        };
        let queue = |run: &Run, link: usize| {
            let intervals = run.links[link].1.iter();
            let (mut area, mut before_s) = (0.0, 0.0);
            for (interval, &end_s) in intervals.zip(&run.times_s) {
                area += interval.queue_pkts * (end_s - before_s);
                before_s = end_s;
            }
            area / before_s
        };
        let delay = |run: &Run, name: &str| {
            let found = run.delays.iter().find(|(connection, _)| connection == name);
            found.map(|(_, delay)| delay.p95_s)
        };
        MeanResults {
            links: (0..first.links.len())
                .map(|link| {
                    (
                        mean(&|run| queue(run, link)),
                        mean(&|run| sum(run, link, |it| it.lost_pkts)),
                        mean(&|run| sum(run, link, |it| it.arrived_pkts)),
                    )
                })
                .collect(),
            connections: (first.connections.iter().enumerate())
                .map(|(place, (name, _))| {
                    let delivered = |run: &Run| {
                        let intervals = run.connections[place].1.iter();
                        intervals.map(|it| it.delivered_pkts).sum::<f64>()
                    };
                    let delays: Option<Vec<f64>> =
                        runs.iter().map(|run| delay(run, name)).collect();
                    (
                        mean(&delivered),
                        delays.map(|all| all.iter().sum::<f64>() / n),
                    )
                })
                .collect(),
            cost_s: mean(&|run| run.cost_s.unwrap_or(f64::NAN)),
        }
    }
}

/// Errors relative to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Σ|error|/Σ of the longest queues of the reference.
    pub queues: f64,
    /// Median over connections of the relative |error| of goodput.
    pub goodput: f64,
    /// Lost packets divided by those of the reference; `None` if the reference loses fewer than
    /// ten.
    pub lost: Option<f64>,
    /// Median over connections of the relative |error| of the 95th percentile of delay.
    pub delay: Option<f64>,
}

impl Errors {
    /// Computes the errors of `said` relative to the reference.
    pub fn of(said: &MeanResults, truth: &MeanResults) -> Errors {
        let mut longest: Vec<usize> = (0..truth.links.len()).collect();
        longest.sort_by(|&a, &b| truth.links[b].0.total_cmp(&truth.links[a].0));
        longest.truncate(MAX_BUSIEST_LINKS);
        let (mut off, mut sum) = (0.0, 0.0);
        for link in longest {
            off += (said.links[link].0 - truth.links[link].0).abs();
            sum += truth.links[link].0;
        }
        let both = || said.connections.iter().zip(&truth.connections);
        let goodput = both().map(|(said, truth)| (said.0 / truth.0 - 1.0).abs());
        let delay = both().filter_map(|(said, truth)| Some((said.1? / truth.1? - 1.0).abs()));
        let lost = |said: &MeanResults| said.links.iter().map(|link| link.1).sum::<f64>();
        Errors {
            queues: off / sum,
            goodput: median(goodput.collect()).unwrap_or(f64::NAN),
            lost: (lost(truth) >= 10.0).then(|| lost(said) / lost(truth)),
            delay: median(delay.collect()),
        }
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netflow_compare::{ConnectionInterval, Delay};

    fn run(queue_pkts: f64, delivered_pkts: f64, p95_s: f64) -> Run {
        let interval = LinkInterval {
            marked_pkts: None,
            queue_pkts,
            lost_pkts: 10.0,
            arrived_pkts: 100.0,
            utilization: 1.0,
        };
        let sent = ConnectionInterval {
            sent_pkts: 0.0,
            delivered_pkts,
        };
        Run {
            times_s: vec![1.0, 3.0],
            links: vec![("l".to_owned(), vec![interval; 2])],
            connections: vec![("c".to_owned(), vec![sent; 2])],
            delays: vec![("c".to_owned(), Delay { p50_s: 0.0, p95_s })],
            ..Run::default()
        }
    }

    #[test]
    fn errors_are_relative_to_the_mean_of_the_truth() {
        let truth = MeanResults::of(&[run(8.0, 90.0, 0.1), run(12.0, 110.0, 0.3)]);
        let errors = Errors::of(&MeanResults::of(&[run(11.0, 95.0, 0.25)]), &truth);
        assert!((errors.queues - 0.1).abs() < 1e-12);
        assert!((errors.goodput - 0.05).abs() < 1e-12);
        assert_eq!(errors.lost, Some(1.0));
        assert!((errors.delay.unwrap() - 0.25).abs() < 1e-12);
    }
}
