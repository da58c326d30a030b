//! Shares of two connections in one link.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use netflow::prelude::Run as _;
use serde::Deserialize;

use crate::{NoRecorder, simulation, source};

/// Difference of shares, in points, that counts as near.
const NEAR_POINTS: f64 = 10.0;

/// Set of published measurements.
#[derive(Clone, Copy, Debug)]
pub enum Published {
    /// Scenario 1: queues of today and of L4S, and several RTTs.
    RttFairness,
    /// Scenario 6: one queue for both connections, whose AQM follows RFC 3168.
    Rfc3168Aqms,
}

impl Published {
    /// Returns the rows of the table.
    pub fn cases(self, directory: &Path) -> Result<Vec<Case>, csv::Error> {
        let name = match self {
            Published::RttFairness => "published.csv",
            Published::Rfc3168Aqms => "rfc3168.csv",
        };
        csv::Reader::from_path(directory.join(name))?
            .deserialize()
            .collect()
    }

    /// Returns the duration of a run, and the interval that is evaluated, in seconds.
    fn times_s(self) -> (f64, [f64; 2]) {
        match self {
            Published::RttFairness => (180.0, [118.0, 178.0]),
            Published::Rfc3168Aqms => (60.0, [18.0, 58.0]),
        }
    }
}

/// A published measurement: two connections, their round-trip times without queue, and their rates.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    bandwidth_mbps: f64,
    queue: String,
    tcp1: String,
    rtt1_ms: f64,
    rate1_mbps: f64,
    tcp2: String,
    rtt2_ms: f64,
    rate2_mbps: f64,
}

impl Case {
    /// Returns the share of the first connection, in percent.
    fn published(&self) -> f64 {
        100.0 * self.rate1_mbps / (self.rate1_mbps + self.rate2_mbps)
    }

    /// Returns the queue and its buffer in packets: 250 ms for the FIFO, 100 packets for PIE with a target of
    /// 5 ms, else the default of Linux.
    fn queue(&self) -> Result<(&'static str, f64), String> {
        Ok(match self.queue.as_str() {
            "pfifo" => ("\"drop-tail\"", 20.0 * self.bandwidth_mbps),
            "dualpi2" => (
                "{ discipline = \"dualpi2\", step-queue = \"2 pkt\" }",
                10_000.0,
            ),
            "fq-codel" => ("\"fq-codel\"", 10_000.0),
            "fq-codel, one queue" => ("{ discipline = \"fq-codel\", flows = 1 }", 10_000.0),
            "fq-codel, one queue, 1 ms" => (
                "{ discipline = \"fq-codel\", flows = 1, target = \"1 ms\", interval = \"20 ms\" }",
                10_000.0,
            ),
            "pie" => ("{ discipline = \"pie\", ecn = true }", 1000.0),
            "pie, 5 ms" => (
                "{ discipline = \"pie\", ecn = true, target = \"5 ms\", update = \"32 ms\" }",
                100.0,
            ),
            other => return Err(format!("no queue {other:?}")),
        })
    }

    fn scenario(&self, duration_s: f64, seed: u32) -> Result<String, String> {
        let (queue, buffer_pkts) = self.queue()?;
        let mut text = format!(
            "[simulation]\nduration = \"{duration_s} s\"\nmodel = \"packet\"\nseed = {seed}\n\n\
             [[link]]\nfrom = \"R\"\nto = \"C\"\nbandwidth = \"{} Mbit/s\"\ndelay = \"0.1 ms\"\nqueue = {queue}\n\
             buffer = \"{buffer_pkts} pkt\"\nduplex = true\n",
            self.bandwidth_mbps
        );
        let both = [(&self.tcp1, self.rtt1_ms), (&self.tcp2, self.rtt2_ms)];
        for (i, (tcp, rtt_ms)) in both.into_iter().enumerate() {
            let source = source(tcp);
            let _ = write!(
                text,
                "\n[[link]]\nfrom = \"S{i}\"\nto = \"R\"\nbandwidth = \"1 Gbit/s\"\ndelay = \"{} ms\"\nduplex = true\n\n\
                 [[connection]]\nname = \"c{i}\"\nfrom = \"S{i}\"\nto = \"C\"\nsource = {source}\n",
                0.5 * rtt_ms - 0.1,
            );
        }
        Ok(text)
    }

    /// Returns the share of the first connection in one run, in percent.
    pub fn run(&self, published: Published, seed: u32) -> Result<f64, String> {
        let (duration_s, [from_s, to_s]) = published.times_s();
        let mut simulation = simulation(&self.scenario(duration_s, seed)?)?;
        let network = simulation.network().clone();
        let mut delivered_until = |time_s: f64| -> Result<Vec<f64>, String> {
            simulation
                .run_until(time_s, &mut NoRecorder, || false)
                .map_err(|e| e.to_string())?;
            let counts = network
                .connections()
                .map(|id| simulation.engine().connection_counts(id).arrived_pkts);
            Ok(counts.collect())
        };
        let before = delivered_until(from_s)?;
        let after = delivered_until(to_s)?;
        let rates: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        Ok(100.0 * rates[0] / rates.iter().sum::<f64>())
    }
}

/// Returns the summary and the table of all cases.
pub fn tables(cases: &[Case], runs: &[Vec<f64>]) -> String {
    let mut text = String::new();
    let mut groups: BTreeMap<(String, &str), Vec<f64>> = BTreeMap::new();
    let mut all = String::new();
    for (case, shares) in cases.iter().zip(runs) {
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        let spread = shares
            .iter()
            .map(|it| (it - share).abs())
            .fold(0.0, f64::max);
        let difference = share - case.published();
        let kind = match (case.tcp1.as_str(), case.tcp2.as_str()) {
            ("prague", "cubic-ecn" | "reno-ecn") => "Prague and a sender with ECN",
            ("prague", "cubic-noecn" | "reno-noecn") => "Prague and a sender without ECN",
            (a, b) if a != b => "Prague and CUBIC",
            ("cubic", _) => "two CUBIC",
            _ => "two Prague",
        };
        for kind in [kind, "all"] {
            groups
                .entry((case.queue.clone(), kind))
                .or_default()
                .push(difference);
        }
        let _ = writeln!(
            all,
            "| {} Mbit/s | {} | {}, {} ms | {}, {} ms | {:.0} % | {share:.0} ± {spread:.0} % | {difference:+.0} |",
            case.bandwidth_mbps,
            case.queue,
            case.tcp1,
            case.rtt1_ms,
            case.tcp2,
            case.rtt2_ms,
            case.published(),
        );
    }
    text.push_str(
        "| queue | connections | cases | within 10 points | mean absolute difference [points] |\n|---|---|---|---|---|\n",
    );
    for ((queue, kind), differences) in &groups {
        let near = differences
            .iter()
            .filter(|it| it.abs() <= NEAR_POINTS)
            .count();
        let mean = differences.iter().map(|it| it.abs()).sum::<f64>() / differences.len() as f64;
        let _ = writeln!(
            text,
            "| {queue} | {kind} | {} | {near} | {mean:.1} |",
            differences.len()
        );
    }
    text.push_str(
        "\n| bandwidth | queue | first | second | share of the first, published | netflow | difference [points] |\n\
         |---|---|---|---|---|---|---|\n",
    );
    text + &all
}
