//! Results of ns-2.

use std::error::Error;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Cell, Gateway, Outcome, Protocol};

#[derive(Deserialize)]
struct Row {
    proto: String,
    gw: String,
    #[serde(rename = "M")]
    clients: u32,
    cov_full: f64,
    delivered: f64,
    loss_pct: f64,
    timeouts: f64,
    cwndcuts: f64,
    rexmit: f64,
}

/// Results of unmodified ns-2, and of ns-2 with a random delay of up to 1 ms before TCP sends,
/// which prevents phase effects.
#[derive(Clone, Copy, Debug)]
pub struct Ns2Outcomes {
    pub plain: Outcome,
    pub jittered: Option<Outcome>,
}

pub struct Reference {
    plain: Vec<(Cell, Outcome)>,
    jittered: Vec<(Cell, Outcome)>,
}

impl Reference {
    pub fn read() -> Result<Reference, Box<dyn Error>> {
        let folder = root().join("tests/reference/ns2/burst");
        Ok(Reference {
            plain: rows(&folder.join("plain.csv"))?,
            jittered: rows(&folder.join("jittered.csv"))?,
        })
    }

    pub fn of(&self, cell: Cell) -> Option<Ns2Outcomes> {
        let find = |rows: &[(Cell, Outcome)]| {
            let mut rows = rows.iter();
            rows.find(|(c, _)| *c == cell).map(|&(_, outcome)| outcome)
        };
        Some(Ns2Outcomes {
            plain: find(&self.plain)?,
            jittered: find(&self.jittered),
        })
    }
}

impl Ns2Outcomes {
    /// Returns the range between both results.
    pub fn span(&self, of: impl Fn(&Outcome) -> f64) -> (f64, f64) {
        let plain = of(&self.plain);
        let jittered = self.jittered.as_ref().map_or(plain, &of);
        (plain.min(jittered), plain.max(jittered))
    }
}

fn rows(file: &Path) -> Result<Vec<(Cell, Outcome)>, Box<dyn Error>> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(file)?;
    let mut rows = Vec::new();
    for row in reader.deserialize() {
        let row: Row = row?;
        let protocol = match row.proto.as_str() {
            "udp" => Protocol::Udp,
            "reno" => Protocol::Reno,
            "renoda" => Protocol::RenoDelayed,
            _ => Protocol::Vegas,
        };
        let cell = Cell {
            protocol,
            gateway: match row.gw.as_str() {
                "red" => Gateway::Red,
                _ => Gateway::Fifo,
            },
            clients: row.clients,
        };
        let outcome = Outcome {
            cov: row.cov_full,
            delivered_pkts: row.delivered,
            loss: row.loss_pct / 100.0,
            timeouts: row.timeouts,
            // For Vegas, ns-2 counts only timeouts as window cuts.
            fast_retransmits: match protocol {
                Protocol::Udp => 0.0,
                Protocol::Vegas => row.rexmit - row.timeouts,
                _ => row.cwndcuts - row.timeouts,
            },
        };
        rows.push((cell, outcome));
    }
    Ok(rows)
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
