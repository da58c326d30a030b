//! What became of a cell, measured and modelled alike: lines of `measured.csv` and `modelled.csv`.

use std::error::Error;
use std::fs::OpenOptions;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// One run of a cell: its columns, and behind them those of what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Of which cell.
    pub cell: Cell,
    /// What became of it.
    pub found: Found,
}

/// What a run is known by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Which repetition, or which seed.
    pub repetition: u32,
    /// Part of the link's rate that came out of it.
    pub utilization: f64,
    /// Mean queue in packets over time.
    pub queue_pkts: f64,
    /// Packets that came to the link.
    pub offered_pkts: u64,
    /// Those of them that found it full.
    pub dropped_pkts: u64,
    /// Those of them in the first two seconds.
    pub early_drops_pkts: u64,
    /// Segments that were sent again; the model does not count them.
    pub retransmitted_pkts: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// What each receiver has got, in Mbit/s, with `+` between them.
    pub goodput_mbps: String,
}

/// As many digits as a file has.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

impl Row {
    /// The line of a run in which each receiver has got so many bytes.
    pub fn of(cell: &Cell, found: Found, received_bytes: &[f64]) -> Row {
        let mbps = |bytes: &f64| format!("{:.4}", 8e-6 * bytes / f64::from(cell.seconds));
        let goodput: Vec<String> = received_bytes.iter().map(mbps).collect();
        Row {
            cell: cell.clone(),
            found: Found {
                utilization: rounded(found.utilization, 1e5),
                queue_pkts: rounded(found.queue_pkts, 1e3),
                goodput_mbps: goodput.join("+"),
                ..found
            },
        }
    }

    /// What each receiver has got, in Mbit/s.
    pub fn goodputs_mbps(&self) -> Vec<f64> {
        let number = |text: &str| text.parse().unwrap_or(f64::NAN);
        self.found.goodput_mbps.split('+').map(number).collect()
    }

    /// Part of the packets that found the link full.
    pub fn loss(&self) -> f64 {
        self.found.dropped_pkts as f64 / self.found.offered_pkts.max(1) as f64
    }

    /// Jain's index of fairness: (Σx)² / (n·Σx²).
    pub fn jain(&self) -> f64 {
        let mbps = self.goodputs_mbps();
        let squares: f64 = mbps.iter().map(|it| it * it).sum();
        mbps.iter().sum::<f64>().powi(2) / (mbps.len() as f64 * squares)
    }

    /// The first sender's part of what all got.
    pub fn share(&self) -> f64 {
        let mbps = self.goodputs_mbps();
        mbps.first().copied().unwrap_or(f64::NAN) / mbps.iter().sum::<f64>()
    }
}

/// Reads them; none where there is no file.
///
/// # Errors
/// The file cannot be read, or is something else.
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

/// Writes them, cell by cell.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, cells: &[Cell], mut rows: Vec<Row>) -> Result<(), Box<dyn Error>> {
    let place = |row: &Row| cells.iter().position(|cell| row.cell == *cell);
    rows.sort_by_key(|row| (place(row), row.found.repetition));
    let mut writer = csv::Writer::from_path(path)?;
    for row in &rows {
        writer.serialize((&row.cell, &row.found))?;
    }
    Ok(writer.flush()?)
}

/// Adds one, at once.
///
/// # Errors
/// The file cannot be written.
pub fn append(path: &Path, row: &Row) -> Result<(), Box<dyn Error>> {
    let is_new = !path.exists();
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    let mut writer = csv::WriterBuilder::new()
        .has_headers(is_new)
        .from_writer(file);
    writer.serialize((&row.cell, &row.found))?;
    Ok(writer.flush()?)
}
