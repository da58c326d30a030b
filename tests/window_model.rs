//! Packet model compared with ns-2 on the same networks.
//!
//! `tests/reference/ns2` has means and standard deviations over seeds. In `jittered` runs TCP
//! waited up to 1 ms before sending, as window sources do. All sources started U(0, 0.5) s after
//! their time.

use netflow::simulation::Run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use netflow::simulation::{
    Interval, Model, Network, Options, Recorder, Simulation, Source, WindowSource,
};
use netflow_problems::with_modified_connections;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

/// Bounds of the phases of `topology` and `four-transfers-unlimited`, in seconds.
const PHASES: [f64; 6] = [0.0, 5.0, 10.0, 20.0, 45.0, 60.0];

/// Results of one run, or the mean of several.
#[derive(Clone, Debug, Default)]
struct RunResults {
    /// By link: packets in the queue, lost packets.
    links: BTreeMap<String, (f64, f64)>,
    /// Packets sent by each connection, in order.
    sent: Vec<f64>,
    timeouts: f64,
    /// Packets at N5->N7 in each phase, if the link exists.
    phases: Vec<f64>,
}

#[derive(Default)]
struct Phases {
    sums: [f64; 5],
}

impl Recorder for Phases {
    type Error = std::convert::Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Self::Error> {
        if let Some(id) = interval.network.link_by_name("N5->N7") {
            let phase = PHASES.partition_point(|&end_s| end_s < interval.time_s - 1e-6);
            self.sums[phase - 1] += interval.link(id).queue_pkts * interval.length_s;
        }
        Ok(())
    }
}

fn load(scenario: &str) -> (Network, Options) {
    let prepared = netflow::scenario::load(&root().join(scenario), &[]).unwrap();
    (prepared.network.clone(), prepared.options)
}

/// Simulates with window sources, each starting up to 0.5 s late.
fn run(network: &Network, options: Options, seed: u64) -> RunResults {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(seed));
    let network = with_modified_connections(network, |spec| {
        // The same as in ns-2.
        spec.source = Source::Ns2Tcp(WindowSource {
            send_jitter_s: Some(1e-3),
            ..WindowSource::default()
        });
        spec.start_s += rng.random_range(0.0..0.5);
    });
    let options = Options {
        model: Model::PACKETS,
        seed,
        ..options
    };
    let mut sim = Simulation::new(network, options).unwrap();
    let mut phases = Phases::default();
    sim.run(1.0, &mut phases, || false).unwrap();
    let network = sim.network();
    let totals: Vec<_> = network
        .connections()
        .map(|id| sim.connection_totals(id))
        .collect();
    let lengths = PHASES.windows(2).map(|ends| ends[1] - ends[0]);
    RunResults {
        links: network
            .links()
            .map(|id| {
                let totals = sim.link_totals(id);
                let name = network.link_name(id).replace("->", ">");
                (name, (totals.mean_queue_pkts, totals.lost_pkts))
            })
            .collect(),
        sent: totals.iter().map(|t| t.offered_pkts).collect(),
        timeouts: totals.iter().map(|t| t.timeouts.unwrap()).sum(),
        phases: phases
            .sums
            .iter()
            .zip(lengths)
            .map(|(sum, s)| sum / s)
            .collect(),
    }
}

/// Simulates with `seeds` seeds.
fn runs(scenario: &str, seeds: u64) -> Vec<RunResults> {
    let (network, options) = load(scenario);
    let seeds = (1..=seeds).into_par_iter();
    seeds.map(|seed| run(&network, options, seed)).collect()
}

fn mean_and_std(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

fn table(file: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(root().join("tests/reference/ns2").join(file))
        .unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Checks that `value` is in [low (1 - by), high (1 + by)].
fn assert_within(what: &str, value: f64, (low, high): (f64, f64), by: f64) {
    println!("{what}: {value:.3}, ns {low:.3} to {high:.3}");
    assert!(
        low * (1.0 - by) <= value && value <= high * (1.0 + by),
        "{what}: {value} is not within {by} of {low} to {high}"
    );
}

/// Returns the smaller and the larger result of plain and jittered runs.
fn span(plain: f64, jittered: f64) -> (f64, f64) {
    (plain.min(jittered), plain.max(jittered))
}

/// Tolerance of the standard deviation of 240 runs relative to that of ns-2's 20: twice the typical
/// difference of two such estimates.
const SPREADS: f64 = 1.5;

fn four_transfers(name: &str, scenario: &str) {
    let runs = runs(scenario, 240);
    let of = |value: &dyn Fn(&RunResults) -> f64| mean_and_std(runs.iter().map(value));
    let busy = |how: &str| {
        let rows = table(&format!("{name}/{how}-links.csv"));
        rows.into_iter().find(|row| row["link"] == "N5>N7").unwrap()
    };
    let (plain, jittered) = (busy("plain"), busy("jittered"));
    // ns-2 counts waiting packets only, netflow also the one in service, which is there while the
    // link is busy.
    let in_service = number(&jittered, "arrivals_mean") / 60_000.0;
    let waiting = |row| number(row, "q_time_mean") + in_service;
    let (queue, queue_std) = of(&|f| f.links["N5>N7"].0);
    assert_within(
        "queue",
        queue,
        span(waiting(&plain), waiting(&jittered)),
        0.07,
    );
    let spread = number(&jittered, "q_time_mean_std_over_seeds");
    assert_within(
        "spread of the queue",
        queue_std,
        (spread / SPREADS, spread * SPREADS),
        0.0,
    );

    let drops = |row| number(row, "drops_mean");
    let (lost, _) = of(&|f| f.links["N5>N7"].1);
    assert_within("drops", lost, span(drops(&plain), drops(&jittered)), 0.25);

    let timeouts = table("timeouts.csv");
    let timeouts = timeouts.iter().find(|row| row["network"] == name).unwrap();
    let wanted = number(timeouts, "timeouts_mean");
    assert_within("timeouts", of(&|f| f.timeouts).0, (wanted, wanted), 0.25);

    for (i, row) in table(&format!("{name}/jittered-connections.csv"))
        .iter()
        .enumerate()
    {
        let sent = number(row, "sent_mean");
        let (found, std) = of(&|f| f.sent[i]);
        assert_within(&format!("connection {i}"), found, (sent, sent), 0.08);
        let spread = number(row, "sent_std");
        assert_within("its spread", std, (spread / SPREADS, spread * SPREADS), 0.0);
    }

    let phases = table("phases.csv");
    let phases = |how: &str| -> Vec<f64> {
        let of = phases
            .iter()
            .filter(|row| row["network"] == name && row["how"] == how);
        of.map(|row| number(row, "waiting_pkts")).collect()
    };
    let (plain, jittered) = (phases("plain"), phases("jittered"));
    // In the first phase, the queue of `topology` is a fraction of a packet.
    for i in 1..5 {
        let (found, _) = of(&|f| f.phases[i]);
        let (low, high) = span(plain[i], jittered[i]);
        assert_within(&format!("phase {i}"), found, (low + 0.5, high + 1.0), 0.12);
    }
}

#[test]
fn topology_queue_matches_ns2() {
    four_transfers("topology", "scenarios/topology.toml");
}

#[test]
fn unlimited_transfers_queue_matches_ns2() {
    four_transfers(
        "four-transfers-unlimited",
        "scenarios/four-transfers-unlimited.toml",
    );
}

fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(q * (values.len() - 1) as f64).round() as usize]
}

#[test]
fn hundred_nodes_queues_match_ns2() {
    let runs = runs("scenarios/hundred-nodes/topology.toml", 6);
    let of = |value: &dyn Fn(&RunResults) -> f64| mean_and_std(runs.iter().map(value)).0;
    let mut links = table("hundred-nodes/jittered-links.csv");
    links.sort_by(|a, b| number(b, "q_time_mean").total_cmp(&number(a, "q_time_mean")));
    let (mut error, mut all) = (0.0, 0.0);
    for row in links.iter().take(12) {
        let found = of(&|f| f.links[&row["link"]].0);
        // Busy queues always have a packet in service.
        let wanted = number(row, "q_time_mean") + 1.0;
        println!("{} {found:.1} {wanted:.1}", row["link"]);
        error += (found - wanted).abs();
        all += wanted;
    }
    println!("queues: {:.4}", error / all);
    assert!(error / all <= 0.07, "{}", error / all);

    let lost = of(&|f| f.links.values().map(|(_, lost)| lost).sum());
    let wanted = links.iter().map(|row| number(row, "drops_mean")).sum();
    let plain = table("hundred-nodes/plain-links.csv");
    let plain = plain.iter().map(|row| number(row, "drops_mean")).sum();
    assert_within("drops", lost, span(plain, wanted), 0.15);

    let rows = table("hundred-nodes/jittered-connections.csv");
    let errors: Vec<f64> = rows
        .iter()
        .enumerate()
        .map(|(i, row)| (of(&|f| f.sent[i]) / number(row, "sent_mean") - 1.0).abs())
        .collect();
    let (median, p90) = (quantile(errors.clone(), 0.5), quantile(errors, 0.9));
    println!("throughput: median {median:.4}, 90th percentile {p90:.4}");
    assert!(median <= 0.04 && p90 <= 0.2, "{median} {p90}");
}
