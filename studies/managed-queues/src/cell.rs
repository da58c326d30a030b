//! Experiments: transfers through one managed queue.

use std::fmt::Write as _;
use std::path::Path;

use netflow_scenario::CompiledScenario;
use netflow_units::SplitMix64;

/// Duration of a run in seconds.
pub const SECONDS: f64 = 25.0;

/// Start of the measurement in seconds, after slow start.
pub const WARMUP_S: f64 = 5.0;

/// Range of the random start times of transfers in seconds.
pub const STARTS_S: f64 = 1.0;

/// Congestion controls.
pub const STACKS: [&str; 4] = ["reno", "cubic", "dctcp", "bbr"];

/// Queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// RFC 8289.
    CoDel,
    /// RFC 8290.
    FqCoDel,
    /// RFC 8033.
    Pie,
    /// Floyd and Jacobson 1993.
    Red,
}

impl Queue {
    /// All queue disciplines.
    pub const ALL: [Queue; 4] = [Queue::CoDel, Queue::FqCoDel, Queue::Pie, Queue::Red];

    /// Returns the name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Queue::CoDel => "codel",
            Queue::FqCoDel => "fq-codel",
            Queue::Pie => "pie",
            Queue::Red => "red",
        }
    }
}

/// Why a cell is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Set {
    /// Every stack at every queue: four transfers, 20 Mbit/s, 40 ms.
    Grid,
    /// Drawn at random, and looked at while netflow was mended.
    Development,
    /// Drawn at random, and only judged by.
    Test,
}

impl Set {
    /// All sets.
    pub const ALL: [Set; 3] = [Set::Grid, Set::Development, Set::Test];

    /// Returns the name in pages and files.
    pub fn name(self) -> &'static str {
        match self {
            Set::Grid => "grid",
            Set::Development => "development",
            Set::Test => "test",
        }
    }

    fn seed(self) -> u64 {
        match self {
            Set::Grid => 0,
            Set::Development => 0x6d71_0001,
            Set::Test => 0x6d71_0002,
        }
    }
}

/// Experiment: transfers through one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Set.
    pub set: Set,
    /// Number in the set.
    pub number: u64,
    /// Congestion control of all transfers.
    pub stack: &'static str,
    /// Queue discipline.
    pub queue: Queue,
    /// True if the queue and transfers use ECN.
    pub ecn: bool,
    /// Number of transfers.
    pub transfers: u32,
    /// Bandwidth of the link in Mbit/s.
    pub mbps: f64,
    /// Round-trip time without queueing of the nearer transfers, in ms.
    pub rtt_ms: f64,
    /// Ratio of the round-trip times of every second transfer and the nearer ones.
    pub farther: f64,
}

/// Returns the experiments of a set: each stack at each queue with and without ECN.
pub fn cells(set: Set) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut random = SplitMix64::new(set.seed());
    for stack in STACKS {
        for queue in Queue::ALL {
            for ecn in [false, true] {
                let mut cell = Cell {
                    set,
                    number: cells.len() as u64,
                    stack,
                    queue,
                    ecn,
                    transfers: 4,
                    mbps: 20.0,
                    rtt_ms: 40.0,
                    farther: 1.0,
                };
                if set != Set::Grid {
                    cell.draw(&mut random);
                }
                cells.push(cell);
            }
        }
    }
    cells
}

/// Packet size in bytes.
const PACKET_BYTES: f64 = 1500.0;

/// Minimum threshold of RED in seconds of queueing; the maximum is three times that.
const RED_S: f64 = 0.005;

impl Cell {
    fn draw(&mut self, random: &mut SplitMix64) {
        let mut of = |low: f64, high: f64| low * (high / low).powf(random.uniform());
        self.mbps = of(10.0, 50.0).round();
        self.rtt_ms = of(10.0, 100.0).round();
        self.transfers = [1, 4, 10][(3.0 * random.uniform()) as usize];
        let is_mixed = self.transfers > 1 && random.uniform() < 0.4;
        self.farther = if is_mixed { 3.0 } else { 1.0 };
        // Round-trip times are at most 100 ms.
        self.rtt_ms = self.rtt_ms.min(100.0 / self.farther).round();
    }

    /// Returns a name such as `test 7`.
    pub fn name(&self) -> String {
        format!("{} {}", self.set.name(), self.number)
    }

    /// Returns a description.
    pub fn description(&self) -> String {
        let ecn = if self.ecn { ", ECN" } else { "" };
        let rtt = if self.farther > 1.0 {
            format!("{} and {} ms", self.rtt_ms, self.farther * self.rtt_ms)
        } else {
            format!("{} ms", self.rtt_ms)
        };
        format!(
            "{} {} through {}{ecn}, {} Mbit/s, {rtt}",
            self.transfers,
            self.stack,
            self.queue.name(),
            self.mbps
        )
    }

    fn queue_text(&self) -> String {
        let ecn = self.ecn;
        let name = self.queue.name();
        match self.queue {
            Queue::CoDel | Queue::FqCoDel | Queue::Pie => {
                format!("{{ discipline = \"{name}\", ecn = {ecn} }}")
            }
            Queue::Red => {
                let min = (RED_S * 1e6 * self.mbps / (8.0 * PACKET_BYTES))
                    .max(5.0)
                    .round();
                format!(
                    "{{ discipline = \"red\", min = \"{min} pkt\", max = \"{} pkt\", gentle = true, ecn = {ecn} }}",
                    3.0 * min
                )
            }
        }
    }

    /// Returns the scenario text, with the start time of each transfer in seconds, or 0.
    pub fn text(&self, starts_s: &[f64]) -> String {
        let mut text = format!(
            "[simulation]\nduration = \"{SECONDS} s\"\npacket-size = \"{PACKET_BYTES} B\"\nmodel = \"packet\"\n"
        );
        // Writing to a string cannot fail.
        let mut link = |from: &str, to: &str, mbps: f64, ms: f64, more: &str| {
            let _ = writeln!(
                text,
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nduplex = false\nbandwidth = \"{mbps} Mbit/s\"\ndelay = \"{ms} ms\"\n{more}"
            );
        };
        const FAST_MBPS: f64 = 1000.0;
        let wide = "buffer = \"10000 pkt\"";
        let core_ms = self.rtt_ms / 4.0;
        let managed = format!("buffer = \"1000 pkt\"\nqueue = {}", self.queue_text());
        link("A", "B", self.mbps, core_ms, &managed);
        link("B", "A", FAST_MBPS, core_ms, wide);
        for i in 0..self.transfers {
            let factor = if i % 2 == 1 { self.farther } else { 1.0 };
            let own_ms = 0.5 * factor * self.rtt_ms - core_ms;
            let host = format!("S{i}");
            link(&host, "A", FAST_MBPS, own_ms, wide);
            link("A", &host, FAST_MBPS, own_ms, wide);
        }
        let asks = if self.ecn { ", ecn = true" } else { "" };
        for i in 0..self.transfers {
            let start_s = starts_s.get(i as usize).copied().unwrap_or(0.0);
            let _ = writeln!(
                text,
                "[[connection]]\nname = \"c{i}\"\nfrom = \"S{i}\"\nto = \"B\"\nstart = \"{start_s:.6} s\"\n\
                 source = {{ tcp = \"linux-6\", congestion = \"{}\"{asks} }}",
                self.stack
            );
        }
        text
    }

    /// Returns the parsed scenario.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn prepared(&self, starts_s: &[f64]) -> Result<CompiledScenario, String> {
        netflow_scenario::from_str(&self.name(), &self.text(starts_s), Path::new(""), &[])
            .map_err(|problems| format!("{}: {problems}", self.name()))
    }

    /// Returns the start times of transfers in netflow's run with this seed.
    pub fn starts_s(&self, seed: u32) -> Vec<f64> {
        let mut random = SplitMix64::new(self.set.seed() + 1000 * self.number + u64::from(seed));
        (0..self.transfers)
            .map(|_| STARTS_S * random.uniform())
            .collect()
    }
}
