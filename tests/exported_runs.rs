//! Exported scenarios in ns-2, compared with earlier ns-2 results for the same networks.
//!
//! `tests/reference/ns2` has means and standard deviations over seeds of runs with handwritten
//! scripts: packets waiting and dropped per link, sent and acknowledged per connection. All sources
//! started U(0, 0.5) s after their time; the `jittered` runs had an `overhead_` of 1 ms.
//!
//! The long part: `cargo test --release --test exported_runs -- --ignored --nocapture`
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netflow::scenario::export::{self, NS2_CONNECTIONS_FILE, NS2_LINKS_FILE, Ns2Options, Ns2Trace};
use netflow::trace::analysis::Burstiness;
use netflow::trace::from_reader;
use netflow_needs::{Need, skip};

#[test]
fn exported_topology_matches_recorded_runs() {
    compare("topology", "scenarios/topology.toml", 4, 4);
}

#[test]
fn exported_unlimited_transfers_match_recorded_runs() {
    compare(
        "four-transfers-unlimited",
        "scenarios/four-transfers-unlimited.toml",
        4,
        4,
    );
}

#[test]
#[ignore = "a minute of ns-2"]
fn exported_four_transfers_match_over_many_seeds() {
    compare("topology", "scenarios/topology.toml", 30, 20);
    compare(
        "four-transfers-unlimited",
        "scenarios/four-transfers-unlimited.toml",
        30,
        20,
    );
}

#[test]
#[ignore = "two minutes of ns-2"]
fn exported_hundred_nodes_match_recorded_runs() {
    compare(
        "hundred-nodes",
        "scenarios/hundred-nodes/topology.toml",
        3,
        3,
    );
}

/// Clients of `scenarios/burst`: the coefficient of variation of arrivals at the gateway in 0.1 s,
/// over 200 s.
#[test]
#[ignore = "ten minutes of ns-2"]
fn exported_burstiness_matches_recorded_runs() {
    if !has_ns() {
        return;
    }
    let before = table(&root().join("tests/reference/ns2/burst/arrivals.csv"));
    for protocol in ["udp", "reno", "reno-delayed", "vegas"] {
        for queue in ["fifo", "red"] {
            for clients in ["20", "39"] {
                let is = |row: &&BTreeMap<String, String>| {
                    row["protocol"] == protocol
                        && row["queue"] == queue
                        && row["clients"] == clients
                };
                let before = before.iter().filter(is).map(|row| number(row, "cov"));
                let before = MeanAndStd::of(&before.collect::<Vec<_>>());
                let now = MeanAndStd::of(&burstiness(protocol, queue, clients, 3));
                println!(
                    "{protocol:12} {queue:4} {clients}  {:.4} ± {:.4} before {:.4} ± {:.4}",
                    now.mean, now.std, before.mean, before.std
                );
                // Three seeds each, with the same standard deviation.
                let width = (0.5 * (now.std.powi(2) + before.std.powi(2))).sqrt();
                let noise = 3.0 * width * (2.0_f64 / 3.0).sqrt();
                let off = (now.mean - before.mean).abs();
                assert!(off < 0.03 * before.mean + noise, "{off}");
            }
        }
    }
}

/// Returns the coefficients of variation for seeds from 1.
fn burstiness(protocol: &str, queue: &str, clients: &str, seeds: u64) -> Vec<f64> {
    let folder = root().join("scenarios/burst");
    let place = tempfile::tempdir().unwrap();
    let all = fs::read_to_string(folder.join(format!("{protocol}.csv"))).unwrap();
    let first: Vec<&str> = all
        .lines()
        .take(1 + clients.parse::<usize>().unwrap())
        .collect();
    let connections = place.path().join("clients.csv");
    fs::write(&connections, first.join("\n")).unwrap();
    let mut settings = vec![format!("include.connections={}", connections.display())];
    if queue == "red" {
        for setting in ["discipline=red", "min=10 pkt", "max=40 pkt"] {
            settings.push(format!("link.G->S.queue.{setting}"));
        }
    }
    let prepared = netflow::scenario::load(&folder.join("topology.toml"), &settings).unwrap();
    let options = Ns2Options {
        trace: Ns2Trace::Links(vec!["G->S".to_owned()]),
        ..Ns2Options::default()
    };
    let script = place.path().join("script.tcl");
    fs::write(&script, export::ns2(&prepared, &options).unwrap()).unwrap();
    (1..=seeds)
        .map(|seed| traced_burstiness(&script, seed, place.path()))
        .collect()
}

/// Returns the output of `netflow trace burstiness --until "200 s"` for the trace, which is read
/// while ns-2 writes it.
fn traced_burstiness(script: &Path, seed: u64, place: &Path) -> f64 {
    let mut ns = Command::new("ns")
        .arg(script)
        .arg(seed.to_string())
        .arg(place)
        .arg("/dev/stdout")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = from_reader("ns", ns.stdout.take().unwrap()).unwrap();
    let mut burstiness = Burstiness::new(0.1, 0.0, Some(200.0));
    while let Some(event) = reader.next().unwrap() {
        burstiness.on_event(event);
    }
    assert!(ns.wait().unwrap().success());
    let [gateway] = burstiness.finish().try_into().unwrap();
    assert_eq!(reader.names().link(gateway.link.unwrap()), "G->S");
    assert_eq!(gateway.intervals, 2000);
    gateway.cov
}

struct MeanAndStd {
    mean: f64,
    std: f64,
}

impl MeanAndStd {
    fn of(values: &[f64]) -> MeanAndStd {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        MeanAndStd {
            mean,
            std: (square / (n - 1.0)).sqrt(),
        }
    }
}

fn has_ns() -> bool {
    let has = Command::new("ns").arg("/dev/null").output().is_ok();
    if !has {
        skip(Need::Ns2, "ns is not installed");
    }
    has
}

fn run_script(script: &Path, seed: u64, place: &Path) {
    let output = Command::new("ns")
        .arg(script)
        .arg(seed.to_string())
        .arg(place)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Runs the scenario over the seeds, plain and jittered, and compares it with the reference.
fn compare(name: &str, scenario: &str, plain_seeds: u64, jittered_seeds: u64) {
    if !has_ns() {
        return;
    }
    for (how, overhead_s, seeds) in [
        ("plain", 0.0, plain_seeds),
        ("jittered", 1e-3, jittered_seeds),
    ] {
        let runs = runs(scenario, overhead_s, seeds);
        println!("{name}, {how}, {seeds} seeds");
        let quantities = reference(name, how);
        let apart: Vec<f64> = quantities
            .iter()
            .map(|quantity| quantity.check(&runs))
            .collect();
        // Means of the same distribution differ by one standard error in root mean square (more if
        // they are correlated, as in one network).
        let rms = (apart.iter().map(|z| z * z).sum::<f64>() / apart.len() as f64).sqrt();
        println!("{} quantities, {rms:.2} standard errors apart", apart.len());
        assert!(rms < 2.0, "{rms}");
        assert!(apart.len() >= 10);
    }
}

// ---- measurements of the exported script

/// Quantity of one run: of a link or of a connection.
type Key = (&'static str, String);

fn runs(scenario: &str, overhead_s: f64, seeds: u64) -> BTreeMap<Key, Vec<f64>> {
    let prepared = netflow::scenario::load(&root().join(scenario), &[]).unwrap();
    let options = Ns2Options {
        start_jitter_s: 0.5,
        max_send_jitter_s: overhead_s,
        ..Ns2Options::default()
    };
    let script = export::ns2(&prepared, &options).unwrap();
    let place = tempfile::tempdir().unwrap();
    let script_path = place.path().join("script.tcl");
    fs::write(&script_path, script).unwrap();
    let mut all: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for seed in 1..=seeds {
        run_script(&script_path, seed, place.path());
        for (key, value) in one_run(place.path()) {
            all.entry(key).or_default().push(value);
        }
    }
    all
}

/// Returns the sums over the intervals, and the mean of the queue (all intervals have the same
/// length here).
fn one_run(place: &Path) -> BTreeMap<Key, f64> {
    let mut run: BTreeMap<Key, f64> = BTreeMap::new();
    let mut add = |row: &BTreeMap<String, String>, of: &str, columns: &[(&'static str, &str)]| {
        for &(quantity, column) in columns {
            *run.entry((quantity, row[of].clone())).or_default() +=
                row[column].parse::<f64>().unwrap();
        }
    };
    let links = table(&place.join(NS2_LINKS_FILE));
    let mut ends: Vec<&String> = links.iter().map(|row| &row["time_s"]).collect();
    ends.dedup();
    let intervals = ends.len() as f64;
    for row in &links {
        let columns = [("drops", "dropped_pkts"), ("waiting", "waiting_pkts")];
        add(row, "link", &columns);
    }
    for row in &table(&place.join(NS2_CONNECTIONS_FILE)) {
        let columns = [("sent", "sent_pkts"), ("acked", "acked_pkts")];
        add(row, "connection", &columns);
    }
    for ((quantity, _), value) in &mut run {
        if *quantity == "waiting" {
            *value /= intervals;
        }
    }
    run
}

// ---- the reference

/// Minimum relative standard deviation of three seeds.
const MIN_SPREAD: f64 = 0.05;

/// Quantity in earlier runs.
struct Quantity {
    key: Key,
    mean: f64,
    /// Standard deviation over seeds.
    std: f64,
    seeds: f64,
    /// Minimum relevant difference.
    slack: f64,
}

fn reference(name: &str, how: &str) -> Vec<Quantity> {
    let folder = root().join("tests/reference/ns2").join(name);
    let mut all = Vec::new();
    for row in table(&folder.join(format!("{how}-links.csv"))) {
        let link = row["link"].replace('>', "->");
        for (quantity, mean, std, slack) in [
            ("waiting", "q_time_mean", "q_time_mean_std_over_seeds", 0.05),
            ("drops", "drops_mean", "drops_std", 2.0),
        ] {
            let key = (quantity, link.clone());
            all.push(Quantity::new(key, &row, [mean, std, "nseeds"], slack));
        }
    }
    for row in table(&folder.join(format!("{how}-connections.csv"))) {
        let connection = format!("c{}", number(&row, "flow") + 1.0);
        for (quantity, mean, std) in [
            ("sent", "sent_mean", "sent_std"),
            ("acked", "acked_mean", "acked_std"),
        ] {
            let key = (quantity, connection.clone());
            all.push(Quantity::new(key, &row, [mean, std, "n"], 10.0));
        }
    }
    all
}

impl Quantity {
    fn new(key: Key, row: &BTreeMap<String, String>, columns: [&str; 3], slack: f64) -> Quantity {
        let [mean, std, seeds] = columns.map(|column| number(row, column));
        Quantity {
            key,
            mean,
            std,
            seeds,
            slack,
        }
    }

    /// Checks that the means differ by at most four standard errors, and returns the difference
    /// beyond the slack in standard errors.
    fn check(&self, runs: &BTreeMap<Key, Vec<f64>>) -> f64 {
        let ours = &runs[&self.key];
        let n = ours.len() as f64;
        let MeanAndStd { mean, std: our_std } = MeanAndStd::of(ours);
        // Both have the same distribution. The standard deviation of few seeds is inaccurate, even
        // if the seeds agree.
        let floor = if n.min(self.seeds) < 4.0 {
            MIN_SPREAD * self.mean.max(mean)
        } else {
            0.0
        };
        let std = our_std.max(self.std).max(floor);
        let error = std * (1.0 / n + 1.0 / self.seeds).sqrt();
        let beyond = ((mean - self.mean).abs() - self.slack).max(0.0);
        let apart = if beyond == 0.0 { 0.0 } else { beyond / error };
        let (quantity, of) = &self.key;
        println!(
            "  {of:10} {quantity:10} {mean:10.2} ± {our_std:<8.2} before {:10.2} ± {:<8.2} {apart:5.1}",
            self.mean, self.std
        );
        assert!(
            apart < 4.0,
            "{of}, {quantity}: {mean} instead of {}",
            self.mean
        );
        apart
    }
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// Returns rows by column; names in these tables need no quotes.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields = line.split(',').map(str::to_owned);
        names
            .iter()
            .map(|&name| name.to_owned())
            .zip(fields)
            .collect()
    };
    lines.map(row).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
