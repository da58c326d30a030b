//! What came of a run: a line of `runs.csv`.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// The runs of netflow, of ns-3, of ns-3 with one thing otherwise, and of Linux.
pub const NETFLOW: &str = "netflow.csv";
/// See [`NETFLOW`].
pub const NS3: &str = "ns3.csv";
/// See [`NETFLOW`].
pub const ABLATIONS: &str = "ablations.csv";
/// See [`NETFLOW`].
pub const LINUX: &str = "linux.csv";

/// Who ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// netflow's packets.
    Netflow,
    /// ns-3.
    Ns3,
    /// TCP of Linux over an emulated network, whose queues are netflow's.
    Linux,
}

/// A run of a cell, from [`FROM_S`](crate::cell::FROM_S) on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `test 7`.
    pub cell: String,
    /// Who ran it.
    pub who: Who,
    /// With which seed.
    pub seed: u32,
    /// Mean queue in packets, the one in service included.
    pub queue_pkts: f64,
    /// Fraction of the time that the link was busy.
    pub utilization: f64,
    /// Packets lost over packets that arrived.
    pub loss: f64,
    /// Packets marked over packets that arrived.
    pub marks: f64,
    /// Jain's index of goodputs.
    pub jain: f64,
    /// The 95th percentile of one-way delay, mean over transfers, in ms; of Linux that of the whole run.
    pub delay_p95_ms: f64,
}

/// As many digits as a file has.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

impl Row {
    /// The same with as many digits as a file has.
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

    /// Whether it is this run.
    pub fn is(&self, cell: &Cell, who: Who, seed: u32) -> bool {
        self.who == who && self.seed == seed && self.cell == cell.name()
    }
}

/// Jain's index; 1 where nobody got anything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|it| it * it).sum();
    match squares > 0.0 {
        true => sum * sum / (shares.len() as f64 * squares),
        false => 1.0,
    }
}

/// Reads what there is; nothing where there is no file.
///
/// # Errors
/// It cannot be read, or is something else.
pub fn read(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows = csv::Reader::from_path(path)?.into_deserialize();
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes all, in place of what there was.
///
/// # Errors
/// It cannot be written.
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

    /// n shares alike: 1; one of n that has all: 1/n.
    #[test]
    fn the_index_tells_shares_alike_from_one_that_has_all() {
        assert_eq!(jain(&[2.0, 2.0, 2.0, 2.0]), 1.0);
        assert_eq!(jain(&[0.0, 3.0, 0.0, 0.0]), 0.25);
    }
}
