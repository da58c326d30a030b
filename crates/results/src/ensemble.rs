//! Statistics over runs of one scenario with different seeds: means and spread.

use std::convert::Infallible;
use std::sync::Arc;

use netflow_network::{Cell, Columns, Interval, Network, Recorder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::running_variance::half_width;
use crate::{
    CONNECTIONS, ConnectionRow, LINKS, LinkRow, NetworkQuantity, Row, RunningVariance, Summary,
};

/// The recorded series of a run: the end of every interval, and all values of every link and connection.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Ends of the intervals in seconds.
    pub times_s: Vec<f64>,
    /// The values of all intervals in sequence, in the column order of the files.
    pub values: Vec<f64>,
}

impl Series {
    /// Returns the rows of the file of the links.
    pub fn links(&self, network: &Network) -> Vec<LinkRow> {
        self.rows(network, network.links().map(|id| network.link_name(id)), 0)
    }

    /// Returns the rows of the file of the connections.
    pub fn connections(&self, network: &Network) -> Vec<ConnectionRow> {
        let names = network.connections().map(|id| network.connection_name(id));
        let before = network.link_count() * LinkRow::TABLE.values.len();
        self.rows(network, names, before)
    }

    /// Returns one row per interval and name. In each interval, the values begin at offset `before`.
    fn rows<'a, R: Row>(
        &self,
        network: &Network,
        names: impl Iterator<Item = &'a str>,
        before: usize,
    ) -> Vec<R> {
        let names: Vec<[Arc<str>; 1]> = names.map(|name| [name.into()]).collect();
        let width = R::TABLE.values.len();
        let interval = network.link_count() * LinkRow::TABLE.values.len()
            + network.connection_count() * ConnectionRow::TABLE.values.len();
        let intervals = self.values.chunks_exact(interval.max(1));
        let of_interval = |(time_s, values): (&f64, &[f64])| -> Vec<R> {
            let values = values[before..].chunks_exact(width);
            let rows = names.iter().zip(values);
            rows.map(|(name, values)| R::from_columns(*time_s, name, values))
                .collect()
        };
        self.times_s
            .iter()
            .zip(intervals)
            .flat_map(of_interval)
            .collect()
    }
}

impl Recorder for Series {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.times_s.push(interval.time_s);
        for id in interval.network.links() {
            interval.link(id).each(|number| self.values.push(number));
        }
        for id in interval.network.connections() {
            let connection = interval.connection(id);
            connection.each(|number| self.values.push(number));
        }
        Ok(())
    }
}

/// Series and summaries of several seeds.
#[derive(Clone, Debug, Default)]
pub struct Ensemble {
    times_s: Vec<f64>,
    /// Moments of each value, over the runs that have it.
    moments: Vec<RunningVariance>,
    /// Moments of each quantity of [`NetworkQuantity::ALL`] in each interval.
    network_totals: Vec<RunningVariance>,
    summaries: Vec<Summary>,
}

/// A statistic over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    /// Standard deviation over the seeds.
    Std,
    /// Half of the width of the 95 % confidence interval of the mean, by Student's t.
    Ci95,
}

impl Ensemble {
    /// Adds a run. The result depends on the order in which runs are added.
    ///
    /// If a run recorded other intervals than the first run, only its summary is used.
    pub fn add(&mut self, series: Series, summary: Summary) {
        self.summaries.push(summary);
        if self.summaries.len() == 1 {
            self.moments = vec![RunningVariance::default(); series.values.len()];
            self.network_totals =
                vec![RunningVariance::default(); NetworkQuantity::ALL.len() * series.times_s.len()];
            self.times_s = series.times_s;
        }
        let links = self.summaries[0].links.len() * LINKS.values.len();
        let connections = self.summaries[0].connections.len() * CONNECTIONS.values.len();
        let intervals = series.values.chunks_exact((links + connections).max(1));
        let whole = self
            .network_totals
            .chunks_exact_mut(NetworkQuantity::ALL.len());
        for (values, moments) in intervals.zip(whole) {
            let (links, connections) = values.split_at(links);
            for (moments, quantity) in moments.iter_mut().zip(NetworkQuantity::ALL) {
                moments.add(quantity.of(links, connections));
            }
        }
        for (moments, &value) in self.moments.iter_mut().zip(&series.values) {
            moments.add(value);
        }
    }

    /// Returns the number of runs.
    pub fn seeds(&self) -> usize {
        self.summaries.len()
    }

    /// Returns the mean of all summaries, with the standard deviation of each number. If only some of the
    /// runs have a number, its mean is over those, and their count is included.
    pub fn summary(&self) -> Option<Summary> {
        let all: Vec<&Summary> = self.summaries.iter().collect();
        mean(&all)
    }

    /// Returns the mean of all series.
    pub fn mean_series(&self) -> Series {
        Series {
            times_s: self.times_s.clone(),
            values: self.values(Statistic::Mean),
        }
    }

    pub(crate) fn times_s(&self) -> &[f64] {
        &self.times_s
    }

    /// Returns a statistic of every value, over the runs that have it.
    pub(crate) fn values(&self, statistic: Statistic) -> Vec<f64> {
        self.statistic(&self.moments, statistic)
    }

    /// Returns a statistic of the quantities of [`NetworkQuantity::ALL`] in every interval.
    pub(crate) fn network_totals(&self, statistic: Statistic) -> Vec<f64> {
        self.statistic(&self.network_totals, statistic)
    }

    fn statistic(&self, values: &[RunningVariance], statistic: Statistic) -> Vec<f64> {
        let quantiles: Vec<f64> = (0..=self.seeds()).map(half_width).collect();
        let of = |moments: &RunningVariance| match statistic {
            Statistic::Mean => moments.mean(),
            Statistic::Std => moments.std(),
            Statistic::Ci95 => {
                let factor = quantiles.get(moments.count() as usize).copied();
                moments.std().zip(factor).map(|(std, factor)| factor * std)
            }
        };
        let values = values.iter();
        values.map(|moments| Cell::number(&of(moments))).collect()
    }
}

/// Returns the mean of summaries and of the periods that all of them share.
fn mean(all: &[&Summary]) -> Option<Summary> {
    let mut mean = (*all.first()?).clone();
    mean.seeds = u32::try_from(all.len()).unwrap_or(u32::MAX);
    if all.len() == 1 {
        return Some(mean);
    }
    let of = |i: usize| all.iter().map(move |s| &s.links[i]);
    for (i, link) in mean.links.iter_mut().enumerate() {
        *link = averaged(of(i))?;
    }
    let of = |i: usize| all.iter().map(move |s| &s.connections[i]);
    for (i, connection) in mean.connections.iter_mut().enumerate() {
        *connection = averaged(of(i))?;
        connection.update_profile_use();
    }
    let of = |i: usize| all.iter().map(move |s| &s.aggregates[i]);
    for (i, aggregate) in mean.aggregates.iter_mut().enumerate() {
        *aggregate = averaged(of(i))?;
    }
    mean.totals = averaged(all.iter().map(|s| &s.totals))?;
    mean.acks = averaged(all.iter().map(|s| &s.acks))?;
    for summary in all {
        for warning in &summary.warnings {
            if !mean.warnings.contains(warning) {
                mean.warnings.push(warning.clone());
            }
        }
    }
    for (i, period) in mean.periods.iter_mut().enumerate() {
        let of_period: Option<Vec<&Summary>> = all.iter().map(|s| s.periods.get(i)).collect();
        *period = self::mean(&of_period?)?;
    }
    Some(mean)
}

/// Returns the mean of every number in rows of the same type.
///
/// The rows are averaged as JSON values, so a new field needs no change here. The standard deviation is
/// stored under the name with the suffix `_std`. If only some of the runs have a number, their count is
/// stored with the suffix `_seeds`.
fn averaged<'a, T: Serialize + DeserializeOwned + 'a>(
    rows: impl Iterator<Item = &'a T>,
) -> Option<T> {
    let rows: Option<Vec<Value>> = rows.map(|row| serde_json::to_value(row).ok()).collect();
    serde_json::from_value(average(&rows?)).ok()
}

/// Averages JSON values: objects by field, lists by item, numbers by their mean.
///
/// For other values, and for lists of different lengths, the first value is returned.
fn average(all: &[Value]) -> Value {
    match all.first() {
        Some(Value::Object(_)) => {
            let mut names: Vec<&String> = Vec::new();
            for name in all.iter().filter_map(Value::as_object).flat_map(Map::keys) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let mut mean = Map::new();
            let mut beside = Map::new();
            for name in names {
                let values = all.iter().map(|it| it.get(name).unwrap_or(&Value::Null));
                let values: Vec<Value> = values.cloned().collect();
                mean.insert(name.clone(), average(&values));
                if let Some((std, count)) = spread(&values) {
                    beside.insert(format!("{name}_std"), std);
                    if count < all.len() as u32 {
                        beside.insert(format!("{name}_seeds"), count.into());
                    }
                }
            }
            mean.extend(beside);
            Value::Object(mean)
        }
        Some(Value::Array(items)) => {
            let item = |i: usize| -> Option<Value> {
                let items: Option<Vec<Value>> = all.iter().map(|it| it.get(i).cloned()).collect();
                items.map(|items| average(&items))
            };
            let means: Option<Vec<Value>> = (0..items.len()).map(item).collect();
            Value::Array(means.unwrap_or_else(|| items.clone()))
        }
        Some(first) => match moments(all) {
            Some(moments) => moments.mean().into(),
            None => first.clone(),
        },
        None => Value::Null,
    }
}

/// Returns the moments of numbers. Nulls are missing values.
fn moments(all: &[Value]) -> Option<RunningVariance> {
    let known = all.iter().filter(|value| !value.is_null());
    let values: Vec<f64> = known.map(Value::as_f64).collect::<Option<_>>()?;
    RunningVariance::of(&values)
}

/// Returns the standard deviation of numbers, or of each item of lists, and the number of runs that have
/// them.
fn spread(all: &[Value]) -> Option<(Value, u32)> {
    if let Some(Value::Array(items)) = all.first() {
        let of = |i: usize| -> Option<Value> {
            let items: Option<Vec<Value>> = all.iter().map(|it| it.get(i).cloned()).collect();
            Some(moments(&items?)?.std().into())
        };
        let spread: Option<Vec<Value>> = (0..items.len()).map(of).collect();
        return spread
            .filter(|it| !it.is_empty())
            .map(|it| (it.into(), all.len() as u32));
    }
    let moments = moments(all)?;
    Some((moments.std().into(), moments.count()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Regression: seeds without a sample counted as zeros. The mean was 27 ms although propagation alone
    /// takes 120 ms.
    #[test]
    fn seeds_without_samples_are_not_averaged() {
        let rows = [
            json!({"rtt_s": 0.12}),
            json!({"rtt_s": null}),
            json!({"rtt_s": 0.14}),
        ];
        let mean = average(&rows);
        let close = |name: &str, value: f64| {
            assert!(
                (mean[name].as_f64().unwrap() - value).abs() < 1e-12,
                "{mean}"
            );
        };
        close("rtt_s", 0.13);
        close("rtt_s_std", 0.02 / 2_f64.sqrt());
        assert_eq!(mean["rtt_s_seeds"], 2);

        let none = average(&[json!({"rtt_s": null}), json!({"rtt_s": null})]);
        assert_eq!(none, json!({"rtt_s": null}));

        let mut moments = RunningVariance::default();
        for value in [0.12, f64::NAN, 0.14] {
            moments.add(value);
        }
        assert_eq!(moments.count(), 2);
        assert!((moments.mean().unwrap() - 0.13).abs() < 1e-12);
    }

    /// Regression: lists and nested rows were those of the first seed instead of averages.
    #[test]
    fn all_columns_are_averaged() {
        let row = |x: f64| json!({"name": "F1", "x": x, "parts": [x, 2.0 * x], "rows": [{"lost": 3.0 * x}]});
        let mean = average(&[row(1.0), row(3.0)]);
        let expected = json!({
            "name": "F1",
            "x": 2.0,
            "parts": [2.0, 4.0],
            "rows": [{"lost": 6.0, "lost_std": 18_f64.sqrt()}],
            "x_std": 2_f64.sqrt(),
            "parts_std": [2_f64.sqrt(), 8_f64.sqrt()],
        });
        assert_eq!(mean, expected);
    }
}
