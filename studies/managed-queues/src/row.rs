//! Results of runs as CSV files.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// Results of netflow, of ns-3, of modified ns-3, and of Linux.
pub const NETFLOW: &str = "netflow.csv";
/// See [`NETFLOW`].
pub const NS3: &str = "ns3.csv";
/// See [`NETFLOW`].
pub const ABLATIONS: &str = "ablations.csv";
/// See [`NETFLOW`].
pub const LINUX: &str = "linux.csv";

/// System that ran the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// netflow's packet model.
    Netflow,
    /// ns-3.
    Ns3,
    /// Linux TCP over an emulated network with netflow's queues.
    Linux,
}

/// Results of a run from [`WARMUP_S`](crate::cell::WARMUP_S) on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the experiment, for example `test 7`.
    pub cell: String,
    /// System that ran it.
    pub who: System,
    /// Random seed.
    pub seed: u32,
    /// Mean queue in packets, including the one in service.
    pub queue_pkts: f64,
    /// Fraction of the time that the link was busy.
    pub utilization: f64,
    /// Lost packets divided by arrived packets.
    pub loss: f64,
    /// Marked packets divided by arrived packets.
    pub marks: f64,
    /// Jain's fairness index of goodputs.
    pub jain: f64,
    /// 95th percentile of the one-way delay in ms, mean over transfers; for Linux, of the whole
    /// run.
    pub delay_p95_ms: f64,
}

/// Rounds to the precision of the file.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

impl Row {
    /// Rounds all values to the precision of the file.
    #[must_use]
    pub fn rounded(self) -> Row {
        Row {
            queue_pkts: rounded(self.queue_pkts, 1e3),
            utilization: rounded(self.utilization, 1e5),
            loss: rounded(self.loss, 1e6),
            marks: rounded(self.marks, 1e6),
            jain: rounded(self.jain, 1e4),
            delay_p95_ms: rounded(self.delay_p95_ms, 1e2),
            ..self
        }
    }

    /// Returns whether this is the given run.
    pub fn is(&self, cell: &Cell, who: System, seed: u32) -> bool {
        self.who == who && self.seed == seed && self.cell == cell.name()
    }
}

/// Returns Jain's fairness index; 1 if all shares are 0.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|it| it * it).sum();
    if squares > 0.0 {
        sum * sum / (shares.len() as f64 * squares)
    } else {
        1.0
    }
}

/// Reads the rows of a file; none if it does not exist.
///
/// # Errors
/// If it cannot be read or is invalid.
pub fn read(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows = csv::Reader::from_path(path)?.into_deserialize();
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes all rows, replacing the file.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut text = csv::Writer::from_writer(Vec::new());
    for row in rows {
        text.serialize(row)?;
    }
    let part = path.with_extension("part");
    fs::File::create(&part)?.write_all(&text.into_inner()?)?;
    fs::rename(part, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::jain;

    /// n equal shares: 1; a single share of n: 1/n.
    #[test]
    fn jain_index_of_equal_and_exclusive_shares() {
        assert_eq!(jain(&[2.0, 2.0, 2.0, 2.0]), 1.0);
        assert_eq!(jain(&[0.0, 3.0, 0.0, 0.0]), 0.25);
    }
}
