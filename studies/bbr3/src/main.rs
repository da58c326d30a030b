//! Rates, losses and round-trip times of BBR version 3 in one link, compared with published measurements of Linux:
//!
//! ```sh
//! cargo run --release -p study-bbr3   # writes README.md
//! ```

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

/// Number of runs of each case.
const SEEDS: u32 = 3;

/// Data in a packet of 1500 B, in bits.
const PAYLOAD_BITS: f64 = 8.0 * 1448.0;

/// A published measurement of one connection: its settings, and its rate, retransmissions and mean round-trip time between
/// two times. Connections of the same case share a link of 1 Gbit/s.
#[derive(Clone, Debug, Deserialize)]
struct Measurement {
    case: String,
    buffer_bytes: f64,
    from_s: f64,
    to_s: f64,
    tcp: String,
    rtt_ms: f64,
    start_s: f64,
    rate_mbps: Option<f64>,
    retransmits: Option<f64>,
    mean_rtt_ms: Option<f64>,
}

/// Results of one connection: rate, lost packets and mean round-trip time.
#[derive(Clone, Copy, Debug)]
struct Simulated {
    rate_mbps: f64,
    lost_pkts: f64,
    rtt_ms: f64,
}

struct NoRecorder;

impl Recorder for NoRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the scenario of a case.
fn scenario(connections: &[Measurement], seed: u32) -> String {
    let first = &connections[0];
    let mut text = format!(
        "[simulation]\nduration = \"{} s\"\nmodel = \"packet\"\nseed = {seed}\n\n\
         [[link]]\nfrom = \"R\"\nto = \"C\"\nbandwidth = \"1 Gbit/s\"\ndelay = \"0 ms\"\nbuffer = \"{} B\"\nduplex = true\n",
        first.to_s, first.buffer_bytes
    );
    for (i, it) in connections.iter().enumerate() {
        // The send buffers of the measurements do not limit.
        let _ = write!(
            text,
            "\n[[link]]\nfrom = \"S{i}\"\nto = \"R\"\nbandwidth = \"10 Gbit/s\"\ndelay = \"{} ms\"\nduplex = true\n\n\
             [[connection]]\nname = \"c{i}\"\nfrom = \"S{i}\"\nto = \"C\"\nstart = \"{} s\"\n\
             source = {{ tcp = \"linux-6\", congestion = \"{}\", send-buffer = \"1 GiB\" }}\n",
            0.5 * it.rtt_ms,
            it.start_s,
            it.tcp,
        );
    }
    text
}

/// Returns the results of one run.
fn run(connections: &[Measurement], seed: u32) -> Result<Vec<Simulated>, String> {
    let text = scenario(connections, seed);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prepared = scenario::from_str("bbr3.toml", &text, directory, &[])
        .map_err(|problems| format!("{text}\n{problems}"))?;
    let mut simulation =
        Simulation::new(prepared.network, prepared.options).map_err(|e| e.to_string())?;
    let network = simulation.network().clone();
    let mut counts_at = |time_s: f64| -> Result<Vec<[f64; 4]>, String> {
        simulation
            .run_until(time_s, &mut NoRecorder, || false)
            .map_err(|e| e.to_string())?;
        let counts = network.connections().map(|id| {
            let it = simulation.engine().connection_counts(id);
            [it.arrived_pkts, it.lost_pkts, it.rtt_time, it.rtt_weight]
        });
        Ok(counts.collect())
    };
    let (from_s, to_s) = (connections[0].from_s, connections[0].to_s);
    let before = counts_at(from_s)?;
    let after = counts_at(to_s)?;
    let results = after.iter().zip(before).map(|(after, before)| {
        let [arrived, lost, rtt_time, rtt_weight] = [0, 1, 2, 3].map(|i| after[i] - before[i]);
        Simulated {
            rate_mbps: 1e-6 * PAYLOAD_BITS * arrived / (to_s - from_s),
            lost_pkts: lost,
            rtt_ms: 1e3 * rtt_time / rtt_weight,
        }
    });
    Ok(results.collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(directory.join("published.csv"))?;
    let measurements: Vec<Measurement> = reader.deserialize().collect::<Result<_, _>>()?;
    let cases: Vec<&[Measurement]> = measurements.chunk_by(|a, b| a.case == b.case).collect();
    let runs: Result<Vec<Vec<Vec<Simulated>>>, String> = (cases.par_iter())
        .map(|case| (1..=SEEDS).map(|seed| run(case, seed)).collect())
        .collect();
    let table = table(&cases, &runs?);
    print!("{table}");
    let page = directory.join("README.md");
    let filled = fill_page(&fs::read_to_string(&page)?, "bbr3", &table)?;
    fs::write(page, filled)?;
    Ok(())
}

/// Returns the table of all connections.
fn table(cases: &[&[Measurement]], runs: &[Vec<Vec<Simulated>>]) -> String {
    let mut text = String::from(
        "| buffer [B] | connection | rate, published [Mbit/s] | netflow | retransmitted, published [pkt] | lost, netflow \
         | mean RTT, published [ms] | netflow |\n|---|---|---|---|---|---|---|---|\n",
    );
    let published = |value: Option<f64>, decimals: usize| {
        value.map_or(String::new(), |value| format!("{value:.decimals$}"))
    };
    for (case, seeds) in cases.iter().zip(runs) {
        for (i, it) in case.iter().enumerate() {
            let of = |value: fn(&Simulated) -> f64| -> (f64, f64) {
                let values = seeds.iter().map(|run| value(&run[i]));
                let mean = values.clone().sum::<f64>() / f64::from(SEEDS);
                (mean, values.map(|it| (it - mean).abs()).fold(0.0, f64::max))
            };
            let (rate, spread) = of(|it| it.rate_mbps);
            let _ = writeln!(
                text,
                "| {} | {}, {} ms, from {} s | {} | {rate:.0} ± {spread:.0} | {} | {:.0} ± {:.0} | {} | {:.1} |",
                it.buffer_bytes,
                it.tcp,
                it.rtt_ms,
                it.start_s,
                published(it.rate_mbps, 0),
                published(it.retransmits, 0),
                of(|it| it.lost_pkts).0,
                of(|it| it.lost_pkts).1,
                published(it.mean_rtt_ms, 1),
                of(|it| it.rtt_ms).0,
            );
        }
    }
    text
}
