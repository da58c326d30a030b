//! What became of a cell, measured and modelled alike: lines of `measured.csv` and `modelled.csv`.

use std::error::Error;
use std::fs::OpenOptions;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cell::{Cell, PAYLOAD_BYTES};

/// One run of a cell. Columns of [`Cell`] come first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// See [`Cell::congestion`].
    pub congestion: String,
    /// See [`Cell::rtt_ms`].
    pub rtt_ms: u32,
    /// See [`Cell::detour_ms`].
    pub detour_ms: u32,
    /// See [`Cell::buffer_pkts`].
    pub buffer_pkts: u32,
    /// See [`Cell::link_mbps`].
    pub link_mbps: u32,
    /// See [`Cell::seconds`].
    pub seconds: u32,
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

/// What a run is known by.
pub struct Found {
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
    /// Bytes that each receiver has got.
    pub received_bytes: Vec<f64>,
}

impl Row {
    /// The line of a run.
    pub fn of(cell: &Cell, repetition: u32, found: &Found) -> Row {
        let mbps = |bytes: &f64| format!("{:.4}", 8e-6 * bytes / f64::from(cell.seconds));
        let goodput: Vec<String> = found.received_bytes.iter().map(mbps).collect();
        let digits = |value: f64, scale: f64| (value * scale).round() / scale;
        Row {
            congestion: cell.congestion.clone(),
            rtt_ms: cell.rtt_ms,
            detour_ms: cell.detour_ms,
            buffer_pkts: cell.buffer_pkts,
            link_mbps: cell.link_mbps,
            seconds: cell.seconds,
            repetition,
            utilization: digits(found.utilization, 1e5),
            queue_pkts: digits(found.queue_pkts, 1e3),
            offered_pkts: found.offered_pkts,
            dropped_pkts: found.dropped_pkts,
            early_drops_pkts: found.early_drops_pkts,
            retransmitted_pkts: found.retransmitted_pkts,
            timeouts: found.timeouts,
            goodput_mbps: goodput.join("+"),
        }
    }

    /// Whether it is of this cell.
    pub fn is_of(&self, cell: &Cell) -> bool {
        self.congestion == cell.congestion
            && self.rtt_ms == cell.rtt_ms
            && self.detour_ms == cell.detour_ms
            && self.buffer_pkts == cell.buffer_pkts
            && self.link_mbps == cell.link_mbps
            && self.seconds == cell.seconds
    }

    /// What each receiver has got, in Mbit/s.
    pub fn goodputs_mbps(&self) -> Vec<f64> {
        let number = |text: &str| text.parse().unwrap_or(f64::NAN);
        self.goodput_mbps.split('+').map(number).collect()
    }

    /// Part of the packets that found the link full.
    pub fn loss(&self) -> f64 {
        self.dropped_pkts as f64 / self.offered_pkts.max(1) as f64
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

/// Bytes of data in so many packets.
pub fn payload_bytes(pkts: f64) -> f64 {
    PAYLOAD_BYTES * pkts
}

/// Reads them; none where there is no file.
///
/// # Errors
/// The file cannot be read, or is something else.
pub fn read(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows: Result<Vec<Row>, csv::Error> = csv::Reader::from_path(path)?.deserialize().collect();
    Ok(rows?)
}

/// Writes them, cell by cell.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, cells: &[Cell], mut rows: Vec<Row>) -> Result<(), Box<dyn Error>> {
    let place = |row: &Row| cells.iter().position(|cell| row.is_of(cell));
    rows.sort_by_key(|row| (place(row), row.repetition));
    let mut writer = csv::Writer::from_path(path)?;
    for row in &rows {
        writer.serialize(row)?;
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
    writer.serialize(row)?;
    Ok(writer.flush()?)
}
