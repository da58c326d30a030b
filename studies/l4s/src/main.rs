//! Shares of TCP Prague and CUBIC in one link, compared with published measurements of Linux:
//!
//! ```sh
//! cargo run --release -p study-l4s   # writes README.md
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use netflow::prelude::Run as _;
use netflow::scenario;
use netflow::simulation::{Interval, Recorder, Simulation};
use netflow_problems::fill_page;
use rayon::prelude::*;
use serde::Deserialize;

/// Duration of a run, and the interval that is evaluated, in seconds.
const DURATION_S: f64 = 180.0;
const EVALUATED_S: (f64, f64) = (118.0, 178.0);

/// Number of runs of each case.
const SEEDS: u32 = 3;

/// Difference of shares, in points, that counts as near.
const NEAR_POINTS: f64 = 10.0;

/// A published measurement: two connections, their round-trip times without queue, and their rates.
#[derive(Clone, Debug, Deserialize)]
struct Case {
    bandwidth_mbps: f64,
    queue: String,
    tcp1: String,
    rtt1_ms: f64,
    rate1_mbps: f64,
    tcp2: String,
    rtt2_ms: f64,
    rate2_mbps: f64,
}

struct NoRecorder;

impl Recorder for NoRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Case {
    /// Returns the share of the first connection, in percent.
    fn published(&self) -> f64 {
        100.0 * self.rate1_mbps / (self.rate1_mbps + self.rate2_mbps)
    }

    fn scenario(&self, seed: u32) -> String {
        let queue = match self.queue.as_str() {
            "pfifo" => "\"drop-tail\"",
            "dualpi2" => "{ discipline = \"dualpi2\", step-queue = \"2 pkt\" }",
            _ => "\"fq-codel\"",
        };
        // The buffers of the measurements: 250 ms for the FIFO, the defaults of Linux for the others.
        let buffer_pkts = match self.queue.as_str() {
            "pfifo" => 20.0 * self.bandwidth_mbps,
            _ => 10_000.0,
        };
        let mut text = format!(
            "[simulation]\nduration = \"{DURATION_S} s\"\nmodel = \"packet\"\nseed = {seed}\n\n\
             [[link]]\nfrom = \"R\"\nto = \"C\"\nbandwidth = \"{} Mbit/s\"\ndelay = \"0.1 ms\"\nqueue = {queue}\n\
             buffer = \"{buffer_pkts} pkt\"\nduplex = true\n",
            self.bandwidth_mbps
        );
        let both = [(&self.tcp1, self.rtt1_ms), (&self.tcp2, self.rtt2_ms)];
        for (i, (tcp, rtt_ms)) in both.into_iter().enumerate() {
            let source = match tcp.as_str() {
                "prague" => "{ tcp = \"prague-2020.toml\" }".to_owned(),
                other => format!("{{ tcp = \"linux-6\", congestion = \"{other}\" }}"),
            };
            let _ = write!(
                text,
                "\n[[link]]\nfrom = \"S{i}\"\nto = \"R\"\nbandwidth = \"1 Gbit/s\"\ndelay = \"{} ms\"\nduplex = true\n\n\
                 [[connection]]\nname = \"c{i}\"\nfrom = \"S{i}\"\nto = \"C\"\nsource = {source}\n",
                0.5 * rtt_ms - 0.1,
            );
        }
        text
    }

    /// Returns the share of the first connection in one run, in percent.
    fn run(&self, seed: u32) -> Result<f64, String> {
        let text = self.scenario(seed);
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let prepared = scenario::from_str("l4s.toml", &text, directory, &[])
            .map_err(|problems| format!("{text}\n{problems}"))?;
        let mut simulation =
            Simulation::new(prepared.network, prepared.options).map_err(|e| e.to_string())?;
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
        let before = delivered_until(EVALUATED_S.0)?;
        let after = delivered_until(EVALUATED_S.1)?;
        let rates: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        Ok(100.0 * rates[0] / rates.iter().sum::<f64>())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(directory.join("published.csv"))?;
    let cases: Vec<Case> = reader.deserialize().collect::<Result<_, _>>()?;
    let runs: Result<Vec<Vec<f64>>, String> = (cases.par_iter())
        .map(|case| (1..=SEEDS).map(|seed| case.run(seed)).collect())
        .collect();
    let table = tables(&cases, &runs?);
    print!("{table}");
    let page = directory.join("README.md");
    let filled = fill_page(&fs::read_to_string(&page)?, "l4s", &table)?;
    fs::write(page, filled)?;
    Ok(())
}

/// Returns the summary and the table of all cases.
fn tables(cases: &[Case], runs: &[Vec<f64>]) -> String {
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
