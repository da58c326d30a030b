//! What is measured: senders behind one link, for some time.

use netflow_document::Words;
use netflow_simulation::PACKET_BYTES;
use netflow_tcpmodel::CongestionControl;
use serde::{Deserialize, Serialize};

/// Bytes of data in a packet: beside headers of 40 B there are timestamps of 12.
pub const PAYLOAD_BYTES: f64 = 1448.0;

/// One sender starts after the other, in seconds.
pub const STAGGER_S: f64 = 0.1;

/// What is lost until then is slow start's overshoot, in seconds.
pub const OVERSHOOT_S: f64 = 2.0;

/// Senders behind one drop-tail link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Congestion control of each sender, with `+` between them.
    pub congestion: String,
    /// Round-trip time without a queue, in ms.
    pub rtt_ms: u32,
    /// How much longer that of the last sender is, in ms.
    pub detour_ms: u32,
    /// Room in packets, the one that is being sent included.
    pub buffer_pkts: u32,
    /// The link's rate in Mbit/s.
    pub link_mbps: u32,
    /// For how long, in seconds.
    pub seconds: u32,
}

/// What a cell is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Senders of one kind.
    Alike,
    /// Two kinds, or one kind at two distances.
    Mixed,
    /// Two senders over four bandwidth-delay products, as Philip et al. set real services against each
    /// other (Prudentia, IMC 2024).
    Pair,
}

/// The kinds.
pub const CONGESTION: [&str; 3] = ["reno", "cubic", "bbr"];

const SECONDS: u32 = 60;

impl Cell {
    /// So many bandwidth-delay products as a buffer.
    fn new(congestion: &str, rtt_ms: u32, bdp: f64, link_mbps: u32) -> Cell {
        let bdp_pkts = f64::from(link_mbps * rtt_ms) * 1e3 / (8.0 * PACKET_BYTES);
        Cell {
            congestion: congestion.to_owned(),
            rtt_ms,
            detour_ms: 0,
            buffer_pkts: (bdp * bdp_pkts).round() as u32,
            link_mbps,
            seconds: SECONDS,
        }
    }

    /// Each sender's congestion control.
    pub fn senders(&self) -> Vec<CongestionControl> {
        let names = self.congestion.split('+');
        names.filter_map(CongestionControl::named).collect()
    }

    /// When a sender starts, in seconds.
    pub fn start_s(sender: usize) -> f64 {
        STAGGER_S * sender as f64
    }

    /// What it is there for.
    pub fn group(&self) -> Group {
        let mut names = self.congestion.split('+');
        let first = names.next();
        if self.rtt_ms == PAIR_RTT_MS {
            Group::Pair
        } else if self.detour_ms > 0 || names.any(|it| Some(it) != first) {
            Group::Mixed
        } else {
            Group::Alike
        }
    }

    /// Whether it is a long path, where the send buffer limits what is in flight: outside the range that netflow models well.
    pub fn is_long(&self) -> bool {
        self.rtt_ms >= 300
    }

    /// `5 cubic`, `cubic + bbr`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.congestion.split('+').collect();
        match self.group() {
            Group::Alike => format!("{} {}", names.len(), names[0]),
            _ => names.join(" + "),
        }
    }

    /// Packets per second that its link carries at most, acknowledgements included.
    pub fn most_pps(&self) -> f64 {
        const WITH_ACKS: f64 = 1.5;
        WITH_ACKS * 1e6 * f64::from(self.link_mbps) / (8.0 * PACKET_BYTES)
    }
}

/// The round-trip time of pairs, and of nothing else.
const PAIR_RTT_MS: u32 = 50;

/// Everything that is measured.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for congestion in CONGESTION {
        let alike = |senders: usize| vec![congestion; senders].join("+");
        for senders in [1, 2, 5, 10, 20] {
            for rtt_ms in [10, 40, 100] {
                for bdp in [0.25, 1.0, 4.0] {
                    cells.push(Cell::new(&alike(senders), rtt_ms, bdp, 20));
                }
            }
        }
        for senders in [1, 5] {
            for bdp in [0.25, 1.0, 4.0] {
                cells.push(Cell::new(&alike(senders), 40, bdp, 100));
            }
        }
        // Long paths, where the send buffer limits what is in flight.
        for rtt_ms in [300, 600] {
            cells.push(Cell::new(congestion, rtt_ms, 1.0, 20));
        }
        cells.push(Cell::new(congestion, 1000, 1.0, 40));
        cells.push(Cell {
            detour_ms: 60,
            ..Cell::new(&alike(2), 20, 2.0, 20)
        });
    }
    for (other, bdp) in [("bbr", 1.0), ("bbr", 4.0), ("reno", 1.0), ("reno", 4.0)] {
        cells.push(Cell::new(&format!("cubic+{other}"), 40, bdp, 20));
    }
    for (i, first) in CONGESTION.iter().enumerate() {
        for second in &CONGESTION[i..] {
            for link_mbps in [8, 50] {
                let pair = format!("{first}+{second}");
                cells.push(Cell::new(&pair, PAIR_RTT_MS, 4.0, link_mbps));
            }
        }
    }
    cells
}
