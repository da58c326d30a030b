//! What was measured, a line for each kind of wait of each cell; kept in `measured.csv`.

use std::error::Error;
use std::path::Path;

use netflow_workload::{Times, Waits};
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Harm, Users};

/// One kind of wait of one cell. Times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The stack of both ends.
    pub stack: String,
    /// `web`, or how many bytes were fetched.
    pub what: String,
    /// Delay each way, in milliseconds.
    pub oneway_ms: u32,
    /// What happened to packets.
    pub harm: String,
    /// `connect`, `file` or `page`.
    pub wait: String,
    /// How many there were.
    pub count: u64,
    /// Their mean, and its standard error.
    pub mean_s: f64,
    /// Standard error of the mean.
    pub error_s: f64,
    /// The shortest.
    pub min_s: f64,
    /// Their median.
    pub median_s: f64,
    /// What 90 % stay below.
    pub p90_s: f64,
    /// What 95 % stay below.
    pub p95_s: f64,
    /// What 99 % stay below.
    pub p99_s: f64,
    /// The share within one round trip of propagation and a bit, within two, within three.
    pub by_1_rtt: f64,
    /// See [`by_1_rtt`](Self::by_1_rtt).
    pub by_2_rtt: f64,
    /// See [`by_1_rtt`](Self::by_1_rtt).
    pub by_3_rtt: f64,
}

/// So much later, in seconds, is still within a round trip: what the hosts and the link's bandwidth
/// take; but no more than half a round trip.
pub(crate) const LATE_S: f64 = 5e-3;

impl Row {
    /// The rows of a cell.
    pub fn of(cell: &Cell, waits: &Waits) -> Vec<Row> {
        let row = |(wait, times): (&str, Times)| Row::new(cell, wait, &times);
        waits.times().into_iter().map(row).collect()
    }

    fn new(cell: &Cell, wait: &str, times: &Times) -> Row {
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
            harm: cell.harm.name(),
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

/// Everything that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// What was measured of a cell.
    pub fn of(&self, cell: &Cell, wait: &str) -> Option<&Row> {
        let harm = cell.harm.name();
        let what = what(cell);
        self.0.iter().find(|row| {
            row.stack == cell.stack
                && row.what == what
                && row.oneway_ms == cell.oneway_ms
                && row.harm == harm
                && row.wait == wait
        })
    }

    /// The same cell without what happens to its packets.
    pub fn unharmed(&self, cell: &Cell, wait: &str) -> Option<&Row> {
        let harm = Harm::None;
        self.of(&Cell { harm, ..*cell }, wait)
    }

    /// Reads them.
    ///
    /// # Errors
    /// The file cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Rows, Box<dyn Error>> {
        let rows: Result<Vec<Row>, csv::Error> =
            csv::Reader::from_path(path)?.deserialize().collect();
        Ok(Rows(rows?))
    }

    /// Writes them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let mut writer = csv::Writer::from_path(path)?;
        for row in &self.0 {
            writer.serialize(row)?;
        }
        Ok(writer.flush()?)
    }
}
