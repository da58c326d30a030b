//! Experiments: senders behind one link.

use netflow_document::Words;
use netflow_simulation::PACKET_BYTES;
use netflow_tcpmodel::CongestionControl;
use serde::{Deserialize, Serialize};

/// Payload of a packet in bytes: headers take 40 B, timestamps 12 B.
pub const PAYLOAD_BYTES: f64 = 1448.0;

/// Interval between the starts of senders, in seconds.
pub const STAGGER_S: f64 = 0.1;

/// End of the initial period whose losses count as slow-start overshoot, in seconds.
pub const OVERSHOOT_S: f64 = 2.0;

/// Experiment: senders behind one drop-tail link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Congestion control of each sender, separated by `+`.
    pub congestion: String,
    /// Round-trip time without queueing, in ms.
    pub rtt_ms: u32,
    /// Additional round-trip time of the last sender, in ms.
    pub detour_ms: u32,
    /// Buffer size in packets, including the one in service.
    pub buffer_pkts: u32,
    /// Bandwidth of the link in Mbit/s.
    pub link_mbps: u32,
    /// Duration in seconds.
    pub seconds: u32,
}

/// Purpose of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Senders of one kind.
    Identical,
    /// Two kinds, or one kind at two distances.
    Mixed,
    /// Two senders over four bandwidth-delay products, as in the comparison of real services by
    /// Philip et al. (Prudentia, IMC 2024).
    Pair,
}

/// Congestion controls.
pub const CONGESTION: [&str; 3] = ["reno", "cubic", "bbr"];

const SECONDS: u32 = 60;

impl Cell {
    /// Creates an experiment with a buffer of `bdp` bandwidth-delay products.
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

    /// Returns the congestion control of each sender.
    pub fn senders(&self) -> Vec<CongestionControl> {
        let names = self.congestion.split('+');
        names.filter_map(CongestionControl::named).collect()
    }

    /// Returns the start of a sender in seconds.
    pub fn start_s(sender: usize) -> f64 {
        STAGGER_S * sender as f64
    }

    /// Returns the purpose.
    pub fn group(&self) -> Group {
        let mut names = self.congestion.split('+');
        let first = names.next();
        if self.rtt_ms == PAIR_RTT_MS {
            Group::Pair
        } else if self.detour_ms > 0 || names.any(|it| Some(it) != first) {
            Group::Mixed
        } else {
            Group::Identical
        }
    }

    /// Returns whether the path is long, so that the send buffer limits the packets in flight.
    /// netflow is less accurate there.
    pub fn is_long(&self) -> bool {
        self.rtt_ms >= 300
    }

    /// Returns a name such as `5 cubic` or `cubic + bbr`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.congestion.split('+').collect();
        match self.group() {
            Group::Identical => format!("{} {}", names.len(), names[0]),
            _ => names.join(" + "),
        }
    }

    /// Returns the maximum packets per second of the link, including acknowledgements.
    pub fn max_pps(&self) -> f64 {
        const WITH_ACKS: f64 = 1.5;
        WITH_ACKS * 1e6 * f64::from(self.link_mbps) / (8.0 * PACKET_BYTES)
    }
}

/// Round-trip time of pairs only, in ms.
const PAIR_RTT_MS: u32 = 50;

/// Returns all experiments.
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
        // Long paths, where the send buffer limits the packets in flight.
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
