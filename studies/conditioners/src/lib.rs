//! The networks of Habib, Bhargava & Fahmy, *A Round Trip Time and Time-out Aware Traffic
//! Conditioner for Differentiated Services Networks* (\[Cond\]), evaluated.
#![warn(missing_docs)]

pub mod ns2_comparison;
pub mod page;

use netflow::simulation::Run;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use netflow::simulation::{AggregateTotals, Simulation};
use rayon::prelude::*;

/// Names of all conditioners in scenarios.
pub const CONDITIONERS: [&str; 5] = ["standard", "rtt", "rtt-rto", "rtt-sw", "sw"];

/// Number of seeds with [`Sources::Windows`].
const SEEDS: u64 = 3;

/// Start of the measurement in seconds.
const FROM_S: f64 = 20.0;

/// TCP source model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Profiles in the fluid model.
    Profiles,
    /// Congestion windows in the packet model, with three seeds.
    Windows,
}

impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sources::Profiles => "profiles",
            Sources::Windows => "windows",
        })
    }
}

/// Two aggregates over one bottleneck: Fig. 2(a).
#[derive(Clone, Copy, Debug)]
pub struct TwoAggregates<'a> {
    /// Conditioner of both aggregates.
    pub conditioner: &'a str,
    /// `rio`, `rio-d` or `wred`.
    pub discipline: &'a str,
    /// Micro-flows of each aggregate.
    pub micro_flows: u32,
    /// Round-trip propagation of F2 in ms; F1 has 20.
    pub rtt2_ms: f64,
    /// Committed and peak rate of each aggregate in Mbit/s.
    pub rates_mbps: (f64, f64),
    /// TCP source model.
    pub sources: Sources,
}

impl TwoAggregates<'_> {
    /// Returns the network of \[Cond\]: RIO, 2 and 3 Mbit/s.
    pub fn new(
        conditioner: &str,
        micro_flows: u32,
        rtt2_ms: f64,
        sources: Sources,
    ) -> TwoAggregates<'_> {
        TwoAggregates {
            conditioner,
            discipline: "rio",
            micro_flows,
            rtt2_ms,
            rates_mbps: (2.0, 3.0),
            sources,
        }
    }

    /// Evaluates the network.
    ///
    /// # Errors
    /// If the scenario cannot be read or run.
    pub fn evaluate(&self) -> Result<Vec<Means>, Box<dyn Error>> {
        // One-way delay from host to edge, without the two links of 0.5 ms.
        let host_ms = (self.rtt2_ms / 2.0 - 1.0) / 2.0;
        let mut settings = vec![
            format!("link.n2->E1.delay={host_ms} ms"),
            format!("link.E2->n4.delay={host_ms} ms"),
        ];
        for link in ["E1->C", "C->E2"] {
            settings.push(format!("link.{link}.queue.discipline={}", self.discipline));
        }
        for (aggregate, connection) in [("F1", "f1"), ("F2", "f2")] {
            let (committed, peak) = self.rates_mbps;
            settings.extend([
                format!("aggregate.{aggregate}.conditioner={}", self.conditioner),
                format!("aggregate.{aggregate}.committed-rate={committed} Mbit/s"),
                format!("aggregate.{aggregate}.peak-rate={peak} Mbit/s"),
                format!("connection.{connection}.count={}", self.micro_flows),
            ]);
        }
        let path = root().join("scenarios/diffserv.toml");
        if self.sources != Sources::Windows {
            return evaluate(&path, &settings);
        }
        for connection in ["f1", "f2"] {
            settings.push(format!("connection.{connection}.source.ns2-tcp=newreno"));
            settings.push(format!("connection.{connection}.max-window=64 pkt"));
        }
        let runs: Vec<Result<Vec<Means>, String>> = (1..=SEEDS)
            .into_par_iter()
            .map(|seed| {
                let seed = [format!("simulation.seed={seed}")];
                let settings = [settings.as_slice(), &seed].concat();
                evaluate(&path, &settings).map_err(|error| error.to_string())
            })
            .collect();
        mean(runs.into_iter().collect::<Result<_, _>>()?)
    }
}

/// Evaluates five aggregates over three domains: Fig. 2(b).
///
/// # Errors
/// If the scenario cannot be read or run.
pub fn five_aggregates(conditioner: &str) -> Result<Vec<Means>, Box<dyn Error>> {
    let settings = (1..=5).map(|i| format!("aggregate.F{i}.conditioner={conditioner}"));
    let settings: Vec<String> = settings.collect();
    let path = root().join("studies/conditioners/three-domains.toml");
    evaluate(&path, &settings)
}

/// Means of an aggregate from 20 s to the end.
#[derive(Clone, Debug)]
pub struct Means {
    /// Its name.
    pub name: String,
    /// Delivered traffic in Mbit/s.
    pub throughput_mbps: f64,
    /// Lost packets divided by sent packets.
    pub drop_ratio: f64,
    /// Fractions of the sent packets that were DP0, DP1, DP2.
    pub fractions: [f64; 3],
}

fn evaluate(path: &Path, settings: &[String]) -> Result<Vec<Means>, Box<dyn Error>> {
    let scenario = netflow::scenario::load(path, settings).map_err(|problems| {
        let all: Vec<String> = problems
            .into_vec()
            .iter()
            .map(ToString::to_string)
            .collect();
        all.join("\n")
    })?;
    let mut simulation = Simulation::new(scenario.network, scenario.options)?;
    while simulation.time_s() < FROM_S - 1e-9 {
        simulation.step()?;
    }
    let totals = |simulation: &Simulation| -> Vec<AggregateTotals> {
        let network = simulation.network();
        let ids = network.aggregates();
        ids.map(|id| simulation.aggregate_totals(id)).collect()
    };
    let (before, from_s) = (totals(&simulation), simulation.time_s());
    while !simulation.is_done() {
        simulation.step()?;
    }
    let (after, until_s) = (totals(&simulation), simulation.time_s());
    let network = simulation.network();
    let all = network.aggregates().zip(before.iter().zip(&after));
    let means = all.map(|(id, (before, after))| {
        let since = |after: [f64; 3], before: [f64; 3]| [0, 1, 2].map(|p| after[p] - before[p]);
        let sum = |parts: [f64; 3]| parts.iter().sum::<f64>();
        let sent = since(after.sent_pkts, before.sent_pkts);
        let bits = after.mean_goodput_bps * until_s - before.mean_goodput_bps * from_s;
        Means {
            name: network.aggregate_spec(id).name.clone(),
            throughput_mbps: bits / (until_s - from_s) / 1e6,
            drop_ratio: sum(since(after.lost_pkts, before.lost_pkts)) / sum(sent),
            fractions: sent.map(|pkts| pkts / sum(sent)),
        }
    });
    Ok(means.collect())
}

/// Returns the mean of several runs.
fn mean(runs: Vec<Vec<Means>>) -> Result<Vec<Means>, Box<dyn Error>> {
    let weight = 1.0 / runs.len() as f64;
    let first = runs.first().ok_or("there are no runs")?;
    let of = |i: usize, value: &dyn Fn(&Means) -> f64| -> f64 {
        runs.iter().map(|run| weight * value(&run[i])).sum()
    };
    let names = first.iter().enumerate();
    let means = names.map(|(i, means)| Means {
        name: means.name.clone(),
        throughput_mbps: of(i, &|m| m.throughput_mbps),
        drop_ratio: of(i, &|m| m.drop_ratio),
        fractions: [0, 1, 2].map(|p| of(i, &|m| m.fractions[p])),
    });
    Ok(means.collect())
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
