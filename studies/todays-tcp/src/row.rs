//! Results of experiments, measured and modelled: lines of `measured.csv` and `modelled.csv`.

use std::error::Error;
use std::fs::OpenOptions;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// One run of an experiment. In files, the columns of the experiment precede those of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Experiment.
    pub cell: Cell,
    /// Results.
    pub found: Measurement,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of the repetition, or seed.
    pub repetition: u32,
    /// Throughput as a fraction of the link's bandwidth.
    pub utilization: f64,
    /// Time average of the queue in packets.
    pub queue_pkts: f64,
    /// Number of packets that arrived at the link.
    pub offered_pkts: u64,
    /// Number of packets dropped by the full buffer.
    pub dropped_pkts: u64,
    /// Number of those in the first two seconds.
    pub early_drops_pkts: u64,
    /// Number of retransmitted segments; `None` in the model.
    pub retransmitted_pkts: Option<u64>,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Goodput of each receiver in Mbit/s, separated by `+`.
    pub goodput_mbps: String,
}

/// Rounds to the precision of the file.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

impl Row {
    /// Creates the line of a run from the bytes that each receiver has received.
    pub fn of(cell: &Cell, found: Measurement, received_bytes: &[f64]) -> Row {
        let mbps = |bytes: &f64| format!("{:.4}", 8e-6 * bytes / f64::from(cell.seconds));
        let goodput: Vec<String> = received_bytes.iter().map(mbps).collect();
        Row {
            cell: cell.clone(),
            found: Measurement {
                utilization: rounded(found.utilization, 1e5),
                queue_pkts: rounded(found.queue_pkts, 1e3),
                goodput_mbps: goodput.join("+"),
                ..found
            },
        }
    }

    /// Returns the goodput of each receiver, in Mbit/s.
    pub fn goodputs_mbps(&self) -> Vec<f64> {
        let number = |text: &str| text.parse().unwrap_or(f64::NAN);
        self.found.goodput_mbps.split('+').map(number).collect()
    }

    /// Returns the fraction of packets dropped by the full buffer.
    pub fn loss(&self) -> f64 {
        self.found.dropped_pkts as f64 / self.found.offered_pkts.max(1) as f64
    }

    /// Jain's index of fairness: (Σx)² / (n·Σx²).
    pub fn jain(&self) -> f64 {
        let mbps = self.goodputs_mbps();
        let squares: f64 = mbps.iter().map(|it| it * it).sum();
        mbps.iter().sum::<f64>().powi(2) / (mbps.len() as f64 * squares)
    }

    /// Returns the first sender's share of the total goodput.
    pub fn share(&self) -> f64 {
        let mbps = self.goodputs_mbps();
        mbps.first().copied().unwrap_or(f64::NAN) / mbps.iter().sum::<f64>()
    }
}

/// Reads the lines of a file; none if it does not exist.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub fn read(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_path(path)?;
    let header = reader.headers()?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        rows.push(Row {
            cell: record.deserialize(Some(&header))?,
            found: record.deserialize(Some(&header))?,
        });
    }
    Ok(rows)
}

/// Writes the lines, ordered by experiment.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, cells: &[Cell], mut rows: Vec<Row>) -> Result<(), Box<dyn Error>> {
    let place = |row: &Row| cells.iter().position(|cell| row.cell == *cell);
    rows.sort_by_key(|row| (place(row), row.found.repetition));
    let mut writer = csv::Writer::from_path(path)?;
    for row in &rows {
        writer.serialize((&row.cell, &row.found))?;
    }
    Ok(writer.flush()?)
}

/// Appends one line.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, row: &Row) -> Result<(), Box<dyn Error>> {
    let is_new = !path.exists();
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    let mut writer = csv::WriterBuilder::new()
        .has_headers(is_new)
        .from_writer(file);
    writer.serialize((&row.cell, &row.found))?;
    Ok(writer.flush()?)
}
