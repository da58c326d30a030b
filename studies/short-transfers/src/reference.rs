//! Measurements.

use std::error::Error;
use std::path::Path;

use netflow_tcpmodel::Stack;
use netflow_tcpmodel::transfer_simulation::{self, CompletionCriterion};
use serde::Deserialize;

/// Measured implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Ns2,
    Linux,
}

/// Row of a reference: repeated measurements of a transfer.
#[derive(Clone, Debug)]
pub struct Row {
    pub source: Source,
    /// Table that the row belongs to.
    pub group: String,
    pub stack: Stack,
    pub bytes: u64,
    pub packets: u64,
    pub delay_s: f64,
    pub loss: f64,
    pub repetitions: u32,
    pub transfer: transfer_simulation::Transfer,
    /// Time until the data has arrived.
    pub delivered: Measured,
    /// Time until the sender has received the last acknowledgement.
    pub acknowledged: Option<Measured>,
}

/// Measured times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub mean_s: f64,
    pub std_s: f64,
    pub median_s: f64,
}

impl Row {
    /// Returns the time that the formulas describe, which includes the last acknowledgement.
    pub fn whole(&self) -> Measured {
        self.acknowledged.unwrap_or(self.delivered)
    }

    /// Returns the transfer up to its last acknowledgement.
    pub fn until_acknowledged(&self) -> transfer_simulation::Transfer {
        transfer_simulation::Transfer {
            until: CompletionCriterion::Acknowledged,
            ..self.transfer.clone()
        }
    }
}

#[derive(Deserialize)]
struct Ns2Row {
    segsize: u32,
    owd_ms: f64,
    segsperack: u32,
    file_bytes: u64,
    nseg: u64,
    loss: f64,
    n: u32,
    lat_snd_mean: f64,
    lat_snd_std: f64,
    lat_snd_median: f64,
    lat_rcv_mean: f64,
    lat_rcv_std: f64,
    lat_rcv_median: f64,
}

/// Reads the rows of ns-2.35.
pub fn ns2(root: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut reader = csv::Reader::from_path(root.join("tests/reference/ns2/short/short.csv"))?;
    for row in reader.deserialize() {
        let row: Ns2Row = row?;
        let delay_s = row.owd_ms / 1000.0;
        rows.push(Row {
            source: Source::Ns2,
            group: format!(
                "segments of {} B, an acknowledgement for every {}",
                row.segsize,
                if row.segsperack == 1 { "one" } else { "two" }
            ),
            stack: Stack {
                mss_bytes: row.segsize,
                segments_per_ack: row.segsperack,
                ..built_in("ns-2.35")?
            },
            bytes: row.file_bytes,
            packets: row.nseg,
            delay_s,
            loss: row.loss,
            repetitions: row.n,
            transfer: transfer_simulation::Transfer {
                loss_forward: row.loss,
                loss_back: row.loss,
                bandwidth_bps: Some(10e6),
                ..transfer_simulation::Transfer::push(row.file_bytes, row.segsize, delay_s)
            },
            delivered: Measured {
                mean_s: row.lat_rcv_mean,
                std_s: row.lat_rcv_std,
                median_s: row.lat_rcv_median,
            },
            acknowledged: Some(Measured {
                mean_s: row.lat_snd_mean,
                std_s: row.lat_snd_std,
                median_s: row.lat_snd_median,
            }),
        });
    }
    Ok(rows)
}

#[derive(Deserialize)]
struct LinuxRow {
    variant: String,
    size_bytes: u64,
    oneway_ms: f64,
    loss: f64,
    n: u32,
    mean_ms: f64,
    median_ms: f64,
    sd_ms: f64,
    run_quality: String,
}

/// Delay of the emulator in each direction in seconds: loss-free connects take 0.2 ms longer.
const EMULATOR_S: f64 = 0.0001;
/// Bytes of the timestamp option in every segment.
const TIMESTAMPS_BYTES: u32 = 12;
/// Size of the clients' request in bytes.
const REQUEST_BYTES: u64 = 200;

/// Reads the rows of Linux 6.18 that were measured on an idle host.
pub fn linux(root: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut reader = csv::Reader::from_path(root.join("tests/reference/linux/short_all.csv"))?;
    for row in reader.deserialize() {
        let row: LinuxRow = row?;
        if row.run_quality != "clean" {
            continue;
        }
        let (group, stack) = variant(&row.variant)?;
        let delay_s = row.oneway_ms / 1000.0 + EMULATOR_S;
        rows.push(Row {
            source: Source::Linux,
            group: group.to_owned(),
            bytes: row.size_bytes,
            packets: row.size_bytes.div_ceil(u64::from(stack.mss_bytes)),
            delay_s,
            loss: row.loss,
            repetitions: row.n,
            transfer: transfer_simulation::Transfer {
                loss_forward: row.loss,
                loss_back: row.loss,
                ..transfer_simulation::Transfer::fetch(
                    REQUEST_BYTES,
                    row.size_bytes,
                    stack.mss_bytes,
                    delay_s,
                )
            },
            delivered: Measured {
                mean_s: row.mean_ms / 1000.0,
                std_s: row.sd_ms / 1000.0,
                median_s: row.median_ms / 1000.0,
            },
            acknowledged: None,
            stack,
        });
    }
    Ok(rows)
}

fn variant(name: &str) -> Result<(&'static str, Stack), Box<dyn Error>> {
    let linux = built_in("linux-6")?;
    Ok(match name {
        "def1460" => (
            "the defaults, segments of 1460 B",
            Stack {
                mss_bytes: 1460 - TIMESTAMPS_BYTES,
                ..linux
            },
        ),
        "mss512" => (
            "the defaults, segments of 512 B",
            Stack {
                mss_bytes: 512 - TIMESTAMPS_BYTES,
                ..linux
            },
        ),
        "legacy512" => (
            "Reno without SACK, initial window 2, segments of 512 B",
            Stack {
                mss_bytes: 512,
                receive_window_bytes: None,
                ..built_in("legacy")?
            },
        ),
        other => return Err(format!("unknown variant {other}").into()),
    })
}

fn built_in(name: &str) -> Result<Stack, String> {
    Stack::builtin(name).ok_or(format!("no stack {name}"))
}
