//! netflow run of a comparison.

use std::convert::Infallible;
use std::path::Path;
use std::time::Instant;

use netflow_network::engine::fraction;
use netflow_network::{Interval, Model, Network, Options, Recorder};
use netflow_results::{Ensemble, Results, Series, Summary, Topology};
use netflow_scenario::CompiledScenario;
use netflow_simulation::{Simulation, calibrated};
use netflow_units::SplitMix64;
use rayon::prelude::*;

use crate::{ConnectionInterval, Error, LinkInterval, Run, Settings};

/// Results of netflow for a scenario.
#[derive(Clone, Debug)]
pub struct NetflowRun {
    /// Time series.
    pub run: Run,
    /// Summary of the whole run.
    pub summary: Summary,
    /// Network at the start; missing in results of earlier versions.
    pub network: Option<Topology>,
    /// Mean run time of a simulation in seconds, if it was run here.
    pub took_s: Option<f64>,
}

impl NetflowRun {
    /// Simulates the scenario. In the packet model, it runs as many seeds as the reference and returns the
    /// means. Connection starts include the start jitter of the reference: its mean in the fluid models, a
    /// random draw per run in the packet model.
    ///
    /// # Errors
    /// [`Error::Evaluation`]
    pub fn evaluate(scenario: &CompiledScenario, settings: &Settings) -> Result<NetflowRun, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Evaluation(error.to_string());
        let network = calibrated(&scenario.network, &scenario.options, || false)
            .map_err(|error| failed(&error))?;
        let network = network.unwrap_or_else(|| scenario.network.clone());
        let by_packets = matches!(scenario.options.model, Model::Packets(_));
        let seeds = if by_packets { settings.seeds.max(1) } else { 1 };
        let run = |i: u32| -> Result<(Run, Summary, f64), Error> {
            let options = Options {
                seed: scenario.options.seed.wrapping_add(i.into()),
                ..scenario.options
            };
            let mut shares = SplitMix64::new(options.seed);
            let network = delay_starts(&network, || {
                let share = if by_packets { shares.uniform() } else { 0.5 };
                share * settings.start_jitter_s
            })?;
            let begun = Instant::now();
            let mut simulation =
                Simulation::new(network.clone(), options).map_err(|error| failed(&error))?;
            simulation.set_threads(rayon::current_num_threads() / seeds as usize);
            let mut recorder = IntervalRecorder::new(&network);
            simulation
                .run(settings.every_s, &mut recorder, || false)
                .map_err(|error| failed(&error))?;
            let took_s = begun.elapsed().as_secs_f64();
            Ok((recorder.run, Summary::of(&simulation, Vec::new()), took_s))
        };
        let runs: Vec<_> = (0..seeds).into_par_iter().map(run).collect();
        let mut kept: Option<Run> = None;
        let mut ensemble = Ensemble::default();
        let mut took_s = 0.0;
        let weight = 1.0 / f64::from(seeds);
        for run in runs {
            let (run, summary, took) = run?;
            took_s += took * weight;
            ensemble.add(Series::default(), summary);
            kept.get_or_insert_with(|| run.zeroed_copy())
                .add(&run, weight);
        }
        let nothing = || Error::Evaluation("the run has no results".to_owned());
        Ok(NetflowRun {
            run: kept.ok_or_else(nothing)?,
            summary: ensemble.summary().ok_or_else(nothing)?,
            network: Some(Topology::of(&scenario.network)),
            took_s: Some(took_s),
        })
    }

    /// Reads a results directory.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn from_results(directory: &Path) -> Result<NetflowRun, Error> {
        let results = Results::open(directory)?;
        let summary = results.summary.clone();
        let is_part = results.manifest.from_s > 0.0 || results.manifest.to_s.is_some();
        if is_part {
            return Err(Error::Mismatch {
                what: format!(
                    "the summary in {} covers only a part of the run",
                    directory.display()
                ),
                help: "run it again with `--from 0s` and without `--to`".to_owned(),
            });
        }
        let mut run = Run {
            links: summary
                .links
                .iter()
                .map(|l| (l.link.clone(), Vec::new()))
                .collect(),
            connections: summary
                .connections
                .iter()
                .map(|c| (c.connection.clone(), Vec::new()))
                .collect(),
            ..Run::default()
        };
        let mut start_s = 0.0;
        for (i, row) in results.links()?.iter().enumerate() {
            let index = i % run.links.len().max(1);
            if index == 0 {
                start_s = run.times_s.last().copied().unwrap_or(0.0);
                run.times_s.push(row.time_s);
            }
            let length_s = row.time_s - start_s;
            let arrived_pkts = row.values.arrival_pps * length_s;
            run.links[index].1.push(LinkInterval {
                arrived_pkts,
                lost_pkts: arrived_pkts * row.values.loss_probability,
                marked_pkts: None,
                queue_pkts: row.values.queue_pkts,
                utilization: row.values.utilization,
            });
        }
        let lengths: Vec<f64> = run.lengths_s().collect();
        for (i, row) in results.connections()?.iter().enumerate() {
            let count = run.connections.len().max(1);
            let length_s = lengths.get(i / count).copied().unwrap_or(0.0);
            run.connections[i % count].1.push(ConnectionInterval {
                sent_pkts: row.values.send_pps * length_s,
                delivered_pkts: row.values.goodput_pps * length_s,
            });
        }
        Ok(NetflowRun {
            run,
            summary,
            network: results.topology()?,
            took_s: None,
        })
    }

    /// Limits the result to its first intervals: the time series, and the part of the summary that a
    /// [`Comparison`](crate::Comparison) uses.
    #[must_use]
    pub fn truncated(mut self, intervals: usize) -> NetflowRun {
        self.run.truncate_intervals(intervals);
        let duration_s = self.run.times_s.last().copied().unwrap_or(0.0);
        self.summary.duration_s = duration_s;
        let lengths: Vec<f64> = self.run.lengths_s().collect();
        let links = self.summary.links.iter_mut().zip(&self.run.links);
        for (link, (_, intervals)) in links {
            let sum = |of: fn(&LinkInterval) -> f64| intervals.iter().map(of).sum::<f64>();
            let mean = |of: fn(&LinkInterval) -> f64| {
                let weighted = intervals.iter().zip(&lengths).map(|(it, s)| of(it) * s);
                fraction(weighted.sum(), duration_s)
            };
            link.mean_queue_pkts = mean(|it| it.queue_pkts);
            link.utilization = mean(|it| it.utilization);
            link.offered_pkts = sum(|it| it.arrived_pkts);
            link.lost_pkts = sum(|it| it.lost_pkts);
            link.loss_probability = fraction(link.lost_pkts, link.offered_pkts);
        }
        let connections = self.summary.connections.iter_mut();
        for (connection, (_, intervals)) in connections.zip(&self.run.connections) {
            let sum = |of: fn(&ConnectionInterval) -> f64| intervals.iter().map(of).sum::<f64>();
            connection.mean_send_pps = fraction(sum(|it| it.sent_pkts), duration_s);
            connection.mean_goodput_pps = fraction(sum(|it| it.delivered_pkts), duration_s);
        }
        self
    }
}

/// Returns the network with later connection starts.
fn delay_starts(network: &Network, mut by_s: impl FnMut() -> f64) -> Result<Network, Error> {
    let mut builder = network.to_builder();
    builder.each_connection(|spec| {
        spec.start_s += by_s();
        // A connection that would stop before it starts sends for 1 µs.
        spec.stop_s = spec.stop_s.map(|stop_s| stop_s.max(spec.start_s + 1e-6));
    });
    let first = |errors: Vec<netflow_network::BuildError>| {
        let first = errors.first().map(ToString::to_string);
        Error::Evaluation(first.unwrap_or_default())
    };
    builder.build().map_err(first)
}

impl Run {
    /// Returns a run of the same shape with zeros.
    fn zeroed_copy(&self) -> Run {
        let mut zero = self.clone();
        for (_, intervals) in &mut zero.links {
            intervals.fill(LinkInterval::default());
        }
        for (_, intervals) in &mut zero.connections {
            intervals.fill(ConnectionInterval::default());
        }
        zero
    }

    /// Removes later intervals.
    pub(crate) fn truncate_intervals(&mut self, intervals: usize) {
        self.times_s.truncate(intervals);
        (self.links.iter_mut()).for_each(|(_, series)| series.truncate(intervals));
        (self.connections.iter_mut()).for_each(|(_, series)| series.truncate(intervals));
    }

    /// Adds another run of the same network, multiplied by `weight`.
    fn add(&mut self, other: &Run, weight: f64) {
        for ((_, sums), (_, intervals)) in self.links.iter_mut().zip(&other.links) {
            for (sum, interval) in sums.iter_mut().zip(intervals) {
                sum.arrived_pkts += weight * interval.arrived_pkts;
                sum.lost_pkts += weight * interval.lost_pkts;
                sum.queue_pkts += weight * interval.queue_pkts;
                sum.utilization += weight * interval.utilization;
            }
        }
        for ((_, sums), (_, intervals)) in self.connections.iter_mut().zip(&other.connections) {
            for (sum, interval) in sums.iter_mut().zip(intervals) {
                sum.sent_pkts += weight * interval.sent_pkts;
                sum.delivered_pkts += weight * interval.delivered_pkts;
            }
        }
    }
}

/// Recorder of all intervals.
struct IntervalRecorder {
    run: Run,
}

impl IntervalRecorder {
    fn new(network: &Network) -> IntervalRecorder {
        let links = network.links();
        let connections = network.connections();
        IntervalRecorder {
            run: Run {
                links: links
                    .map(|id| (network.link_name(id).to_owned(), Vec::new()))
                    .collect(),
                connections: connections
                    .map(|id| (network.connection_name(id).to_owned(), Vec::new()))
                    .collect(),
                ..Run::default()
            },
        }
    }
}

impl Recorder for IntervalRecorder {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.run.times_s.push(interval.time_s);
        for (id, (_, kept)) in interval.network.links().zip(&mut self.run.links) {
            let link = interval.link(id);
            let arrived_pkts = link.arrival_pps * interval.length_s;
            kept.push(LinkInterval {
                arrived_pkts,
                lost_pkts: arrived_pkts * link.loss_probability,
                marked_pkts: None,
                queue_pkts: link.queue_pkts,
                utilization: link.utilization,
            });
        }
        for (id, (_, kept)) in interval
            .network
            .connections()
            .zip(&mut self.run.connections)
        {
            let connection = interval.connection(id);
            kept.push(ConnectionInterval {
                sent_pkts: connection.send_pps * interval.length_s,
                delivered_pkts: connection.goodput_pps * interval.length_s,
            });
        }
        Ok(())
    }
}
