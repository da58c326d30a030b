//! Measurements, with a line for each kind of response time of each experiment; stored in
//! `measured.csv`.

use std::error::Error;
use std::path::Path;

use netflow_workload::{ResponseTimes, TimeSample};
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Impairment, Users};

/// One kind of response time of one experiment. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Stack of both ends.
    pub stack: String,
    /// `web`, or the number of fetched bytes.
    pub what: String,
    /// One-way delay in milliseconds.
    pub oneway_ms: u32,
    /// Random loss.
    pub harm: String,
    /// `connect`, `file` or `page`.
    pub wait: String,
    /// Number of observations.
    pub count: u64,
    /// Mean.
    pub mean_s: f64,
    /// Standard error of the mean.
    pub error_s: f64,
    /// Minimum.
    pub min_s: f64,
    /// Median.
    pub median_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Fraction within one round trip of propagation plus a tolerance; the following for two and
    /// three.
    pub by_1_rtt: f64,
    /// See [`by_1_rtt`](Self::by_1_rtt).
    pub by_2_rtt: f64,
    /// See [`by_1_rtt`](Self::by_1_rtt).
    pub by_3_rtt: f64,
}

/// Tolerance after a round trip in seconds, for the processing time of hosts and link; at most half
/// a round trip.
pub(crate) const LATE_S: f64 = 5e-3;

impl Row {
    /// Returns the rows of an experiment.
    pub fn of(cell: &Cell, waits: &ResponseTimes) -> Vec<Row> {
        let row = |(wait, times): (&str, TimeSample)| Row::new(cell, wait, &times);
        waits.samples().into_iter().map(row).collect()
    }

    fn new(cell: &Cell, wait: &str, times: &TimeSample) -> Row {
        let rtt_s = 2.0 * cell.oneway_s();
        let by = |trips: f64| {
            let until_s = trips * rtt_s + LATE_S.min(rtt_s / 2.0);
            let up_to = times
                .sorted_s()
                .partition_point(|&time_s| time_s <= until_s);
            up_to as f64 / times.count() as f64
        };
        Row {
            stack: cell.stack.to_owned(),
            what: what(cell),
            oneway_ms: cell.oneway_ms,
            harm: cell.impairment.name(),
            wait: wait.to_owned(),
            count: times.count() as u64,
            mean_s: times.mean_s(),
            error_s: times.standard_error_s(),
            min_s: times.quantile(0.0),
            median_s: times.quantile(0.5),
            p90_s: times.quantile(0.9),
            p95_s: times.quantile(0.95),
            p99_s: times.quantile(0.99),
            by_1_rtt: by(1.0),
            by_2_rtt: by(2.0),
            by_3_rtt: by(3.0),
        }
    }
}

fn what(cell: &Cell) -> String {
    match cell.what {
        Users::Web => "web".to_owned(),
        Users::Fetch(bytes) => bytes.to_string(),
    }
}

/// All measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// Returns a measurement of an experiment.
    pub fn of(&self, cell: &Cell, wait: &str) -> Option<&Row> {
        let harm = cell.impairment.name();
        let what = what(cell);
        self.0.iter().find(|row| {
            row.stack == cell.stack
                && row.what == what
                && row.oneway_ms == cell.oneway_ms
                && row.harm == harm
                && row.wait == wait
        })
    }

    /// Returns the measurement of the same experiment without random loss.
    pub fn unimpaired(&self, cell: &Cell, wait: &str) -> Option<&Row> {
        let harm = Impairment::None;
        self.of(
            &Cell {
                impairment: harm,
                ..*cell
            },
            wait,
        )
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Rows, Box<dyn Error>> {
        let rows: Result<Vec<Row>, csv::Error> =
            csv::Reader::from_path(path)?.deserialize().collect();
        Ok(Rows(rows?))
    }

    /// Writes the rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let mut writer = csv::Writer::from_path(path)?;
        for row in &self.0 {
            writer.serialize(row)?;
        }
        Ok(writer.flush()?)
    }
}
