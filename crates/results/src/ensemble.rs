//! Runs of one scenario with different seeds: means, and how far the seeds differ.

use std::collections::BTreeMap;
use std::convert::Infallible;

use netflow_fluid::{Interval, Recorder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Summary, writer};

/// Keeps the series of a run: for every interval its end, every value of every link, and every
/// value of every connection.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Ends of the intervals in seconds.
    pub times_s: Vec<f64>,
    /// The values of all intervals, one after the other, in the order of the files' columns.
    pub values: Vec<f64>,
}

impl Recorder for Series {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.times_s.push(interval.time_s);
        for id in interval.network.links() {
            self.values.extend(writer::link_values(interval, id));
        }
        for id in interval.network.connections() {
            self.values.extend(writer::connection_values(interval, id));
        }
        Ok(())
    }
}

/// Series and summaries of several seeds.
#[derive(Clone, Debug, Default)]
pub struct Ensemble {
    times_s: Vec<f64>,
    /// Mean of every value, and the sum of the squares of what it is off (Welford).
    mean: Vec<f64>,
    squares: Vec<f64>,
    summaries: Vec<Summary>,
}

/// What an ensemble says of every value of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    /// Standard deviation over the seeds.
    Std,
    /// Half of the width of the 95 % confidence interval of the mean, by Student's t.
    Ci95,
}

impl Ensemble {
    /// Adds a run; the result depends on the order in which runs are added. A run that recorded
    /// other intervals than the first counts in the summary only.
    pub fn add(&mut self, series: Series, summary: Summary) {
        self.summaries.push(summary);
        if self.summaries.len() == 1 {
            self.squares = vec![0.0; series.values.len()];
            self.times_s = series.times_s;
            self.mean = series.values;
            return;
        }
        let n = self.summaries.len() as f64;
        let values = self.mean.iter_mut().zip(&mut self.squares);
        for ((mean, squares), value) in values.zip(&series.values) {
            let off = value - *mean;
            *mean += off / n;
            *squares += off * (value - *mean);
        }
    }

    /// How many runs it has.
    pub fn seeds(&self) -> usize {
        self.summaries.len()
    }

    /// The mean of all summaries, with the standard deviation of each number beside it. A number
    /// that only some of the runs have is left out.
    pub fn summary(&self) -> Option<Summary> {
        let first = self.summaries.first()?;
        let mut mean = first.clone();
        mean.seeds = u32::try_from(self.seeds()).unwrap_or(u32::MAX);
        if self.seeds() == 1 {
            return Some(mean);
        }
        let of = |i: usize| self.summaries.iter().map(move |s| &s.links[i]);
        for (i, link) in mean.links.iter_mut().enumerate() {
            *link = averaged(of(i))?;
        }
        let of = |i: usize| self.summaries.iter().map(move |s| &s.connections[i]);
        for (i, connection) in mean.connections.iter_mut().enumerate() {
            *connection = averaged(of(i))?;
            connection.judge_profile_use();
        }
        mean.totals = averaged(self.summaries.iter().map(|s| &s.totals))?;
        mean.acks = averaged(self.summaries.iter().map(|s| &s.acks))?;
        for summary in &self.summaries {
            for warning in &summary.warnings {
                if !mean.warnings.contains(warning) {
                    mean.warnings.push(warning.clone());
                }
            }
        }
        Some(mean)
    }

    pub(crate) fn times_s(&self) -> &[f64] {
        &self.times_s
    }

    /// A statistic of every value.
    pub(crate) fn values(&self, statistic: Statistic) -> Vec<f64> {
        let n = self.seeds() as f64;
        let factor = match statistic {
            Statistic::Mean => return self.mean.clone(),
            Statistic::Std => 1.0,
            Statistic::Ci95 => {
                StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
                    / n.sqrt()
            }
        };
        let std = |squares: &f64| (squares.max(0.0) / (n - 1.0)).sqrt();
        self.squares.iter().map(|s| factor * std(s)).collect()
    }
}

/// The mean of every number of some rows, with the standard deviations beside them.
fn averaged<'a, T: Serialize + DeserializeOwned + 'a>(
    rows: impl Iterator<Item = &'a T>,
) -> Option<T> {
    let rows: Vec<Map<String, Value>> = rows
        .map(|row| match serde_json::to_value(row) {
            Ok(Value::Object(fields)) => Some(fields),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let n = rows.len() as f64;
    let mut mean = Map::new();
    let mut spread = BTreeMap::new();
    for (name, value) in rows.first()? {
        if !value.is_number() {
            mean.insert(name.clone(), value.clone());
            continue;
        }
        let values: Option<Vec<f64>> = rows.iter().map(|row| row.get(name)?.as_f64()).collect();
        let Some(values) = values else {
            continue;
        };
        let average = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - average).powi(2)).sum();
        mean.insert(name.clone(), Value::from(average));
        spread.insert(format!("{name}_std"), (squares / (n - 1.0)).sqrt());
    }
    mean.extend(spread.into_iter().map(|(name, std)| (name, std.into())));
    serde_json::from_value(Value::Object(mean)).ok()
}
