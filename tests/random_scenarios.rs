//! Random scenario files, run, written and read back: invariants of all of them, checked from the
//! files.
//!
//! Any number of them: `NETFLOW_SCENARIOS=0..100000 cargo test --release --test random_scenarios --
//! --nocapture`. For a single one, `NETFLOW_SCENARIOS=5..6`, the file is shown.

use netflow::simulation::Run;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netflow::results::{Format, Manifest, Summary, Writer};
use netflow::simulation::{Outcome, Simulation};
use netflow_problems::{RandomScenario, random_scenario};
use serde_json::Value;

/// Default range of seeds.
const SEEDS: Range<u64> = 0..1000;

/// Maximum time of a scenario. They are generated to be short.
const PATIENCE: Duration = Duration::from_secs(60);

fn seeds() -> Range<u64> {
    let Ok(asked) = std::env::var("NETFLOW_SCENARIOS") else {
        return SEEDS;
    };
    let bounds = asked
        .split_once("..")
        .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let (from, to) =
        bounds.unwrap_or_else(|| panic!("NETFLOW_SCENARIOS is {asked:?}, not like 0..2000"));
    from..to
}

/// Runs a scenario as the command does, and writes its directory.
fn run(scenario: &RandomScenario, directory: &Path) -> Result<(), String> {
    let prepared = netflow::scenario::from_str("random.toml", &scenario.text, ".".as_ref(), &[])
        .map_err(|problems| format!("refused: {problems}"))?;
    let network = prepared.network;
    let again = network.to_builder().build();
    let again = again.map_err(|errors| format!("refused when built again: {errors:?}"))?;
    if format!("{:?}", again.tables()) != format!("{:?}", network.tables()) {
        return Err("it is another network when built again".to_owned());
    }
    let began = Instant::now();
    let mut simulation =
        Simulation::new(network.clone(), prepared.options).map_err(|e| format!("refused: {e}"))?;
    let mut writer =
        Writer::create(directory, &network, Format::Csv, true).map_err(|e| e.to_string())?;
    let late = Cell::new(false);
    let outcome = simulation.run(scenario.every_s, &mut writer, || {
        late.set(began.elapsed() > PATIENCE);
        late.get()
    });
    match outcome {
        Ok(Outcome::Finished) => {}
        Ok(Outcome::Stopped) => return Err(format!("still running after {PATIENCE:?}")),
        Err(error) => return Err(error.to_string()),
    }
    let users = [simulation
        .experiences(&|| false)
        .map_err(|e| e.to_string())?];
    let mut summary = Summary::of(&simulation, Vec::new());
    summary.add_users(&network, &users);
    writer.waits(&users).map_err(|e| e.to_string())?;
    let manifest = Manifest {
        program: "netflow".to_owned(),
        version: String::new(),
        format_version: Manifest::FORMAT_VERSION,
        scenario: "random.toml".to_owned(),
        digest: String::new(),
        sources: Vec::new(),
        scenario_copy: None,
        overrides: Vec::new(),
        allow_outside: false,
        seed: prepared.options.seed,
        seeds: 1,
        options: prepared.options,
        interval_s: scenario.every_s,
        from_s: 0.0,
        to_s: None,
        format: Format::Csv,
        files: writer.files(),
        events: Vec::new(),
        steps: simulation.steps(),
        threads: 1,
        wall_time_s: 0.0,
        complete: true,
        stop: None,
    };
    writer
        .finish(&summary, &manifest)
        .map_err(|e| e.to_string())
}

/// Errors of a results directory.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        // A few errors suffice.
        if !holds && self.0.len() < 5 {
            self.0.push(what());
        }
    }

    /// Checks that two sums of the same packets agree.
    fn expect_equal(&mut self, what: &str, a: f64, b: f64, relative: f64, absolute: f64) {
        let allowed = relative * a.abs().max(b.abs()) + absolute;
        self.expect((a - b).abs() <= allowed, || format!("{what}: {a} and {b}"));
    }
}

/// Returns a series as rows by column.
fn series(directory: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(directory.join(name)).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn json(directory: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join(name)).unwrap()).unwrap()
}

/// Returns the number in a cell, or `None` if it is empty.
fn cell(row: &BTreeMap<String, String>, column: &str) -> Option<f64> {
    let text = &row[column];
    (!text.is_empty()).then(|| text.parse().unwrap_or(f64::NAN))
}

/// Checks that all numbers of a summary are finite (JSON has no others), and not negative where
/// impossible.
fn check_probabilities(faults: &mut Faults, value: &Value, path: &str) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                check_probabilities(faults, value, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                check_probabilities(faults, value, &format!("{path}[{i}]"));
            }
        }
        Value::Number(number) => {
            let x = number.as_f64().unwrap_or(f64::NAN);
            let is = |end: &str| path.ends_with(end);
            if is("utilization") || is("loss_probability") || is("fraction") {
                faults.expect((0.0..=1.0 + 1e-9).contains(&x), || format!("{path} is {x}"));
            } else if is("_pkts") || is("_s") || is("_pps") || is("_bps") {
                faults.expect(x >= -1e-6 && x.is_finite(), || format!("{path} is {x}"));
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn check(scenario: &RandomScenario, directory: &Path) -> Vec<String> {
    let mut faults = Faults::default();
    let summary = json(directory, "summary.json");
    check_probabilities(&mut faults, &summary, "summary");
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);

    // Packets balance: in total, and over the connections. The equations of the literal model do
    // not conserve them, and the run reports this.
    let conserves = summary["model"] != "fluid-literal";
    for totals in ["totals", "acks"].into_iter().filter(|_| conserves) {
        let t = &summary[totals];
        let parts = [
            "delivered_pkts",
            "lost_pkts",
            "unrouted_pkts",
            "queued_pkts",
            "in_flight_pkts",
        ];
        let accounted: f64 = parts.iter().map(|part| number(t, part)).sum();
        faults.expect_equal(totals, number(t, "offered_pkts"), accounted, 1e-9, 1e-6);
    }
    let connections = summary["connections"].as_array().unwrap();
    for part in ["offered_pkts", "delivered_pkts", "lost_pkts"] {
        let sum: f64 = connections.iter().map(|c| number(c, part)).sum();
        faults.expect_equal(part, sum, number(&summary["totals"], part), 1e-9, 1e-6);
    }

    // Buffer sizes, as pictures use them. A buffer in bytes counts each packet's size;
    // acknowledgements have 40 B. With a managed queue, one more packet is in service.
    let topology = json(directory, "network.json");
    let sizes = topology["connections"].as_array().unwrap().iter();
    let smallest_bytes = sizes.map(|c| number(c, "packet_size_bytes"));
    let smallest_bytes = smallest_bytes.fold(40.0, f64::min);
    let room = |link: &Value| match link["buffer_bytes"].as_f64() {
        Some(bytes) => 1.0 + bytes / smallest_bytes,
        None => number(link, "buffer_pkts"),
    };
    let rooms: BTreeMap<&str, f64> = topology["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| (l["link"].as_str().unwrap(), room(l)))
        .collect();

    let mut time_s = 0.0;
    let mut sums: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for (name, first) in [
        ("links.csv", "link"),
        ("connections.csv", "connection"),
        ("classes.csv", "link"),
    ] {
        let rows = series(directory, name);
        let mut before_s: BTreeMap<String, f64> = BTreeMap::new();
        for row in &rows {
            time_s = cell(row, "time_s").unwrap();
            let thing = match name {
                "classes.csv" => format!("{} {}", row["link"], row["connection"]),
                _ => row[first].clone(),
            };
            let last_s = before_s.insert(thing.clone(), time_s).unwrap_or(0.0);
            faults.expect(time_s > last_s, || {
                format!("{name}: {thing} goes from {last_s} s to {time_s} s")
            });
            for (column, text) in row {
                let Some(x) = (column != first && column != "connection")
                    .then(|| cell(row, column))
                    .flatten()
                else {
                    continue;
                };
                let most = match column.as_str() {
                    "utilization" | "loss_probability" => 1.0 + 1e-6,
                    "queue_pkts" => rooms[row.get("link").unwrap().as_str()] * (1.0 + 1e-6),
                    _ => f64::MAX,
                };
                faults.expect((0.0..=most).contains(&x), || {
                    format!("{name}: {column} of {thing} at {time_s} s is {text}, at most {most}")
                });
            }
            if name == "connections.csv" {
                let sum = sums.entry(thing).or_default();
                let length_s = time_s - last_s;
                sum[0] += cell(row, "send_pps").unwrap_or(0.0) * length_s;
                sum[1] += cell(row, "goodput_pps").unwrap_or(0.0) * length_s;
            }
        }
        if !rows.is_empty() {
            faults.expect_equal(
                &format!("{name} ends"),
                time_s,
                scenario.duration_s,
                1e-8,
                2e-9,
            );
        }
    }
    // Seven digits are written, and nine decimals of times.
    let relative = 1e-5 + 2e-9 / scenario.every_s;
    for c in connections {
        let [sent, got] = sums
            .get(c["connection"].as_str().unwrap())
            .copied()
            .unwrap_or_default();
        let name = &c["connection"];
        faults.expect_equal(
            &format!("{name} sent"),
            sent,
            number(c, "offered_pkts"),
            relative,
            1e-3,
        );
        let got_pkts = number(c, "mean_goodput_pps") * number(&summary, "duration_s");
        faults.expect_equal(&format!("{name} got"), got, got_pkts, relative, 1e-3);
    }
    faults.0
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .map(|name| {
            (
                name.to_string_lossy().into_owned(),
                std::fs::read(directory.join(&name)).unwrap(),
            )
        })
        .collect()
}

/// Returns the errors of a scenario.
fn try_one(seed: u64, pools: &[rayon::ThreadPool; 3]) -> Result<(), String> {
    let scenario = random_scenario(seed);
    let directory = tempfile::tempdir().unwrap();
    let to = |threads: usize| directory.path().join(threads.to_string());
    for pool in pools {
        let threads = pool.current_num_threads();
        pool.install(|| run(&scenario, &to(threads)))?;
        if threads > 1 && files(&to(1)) != files(&to(threads)) {
            return Err(format!("{threads} threads give other files than one"));
        }
    }
    match check(&scenario, &to(1)) {
        faults if faults.is_empty() => Ok(()),
        faults => Err(faults.join("\n  ")),
    }
}

#[test]
fn results_of_random_scenarios_are_consistent() {
    let began = Instant::now();
    let seeds = seeds();
    let count = seeds.clone().count();
    if count == 1 {
        let RandomScenario { text, every_s, .. } = random_scenario(seeds.start);
        println!("# netflow run FILE --interval \"{every_s} s\"\n{text}");
    }
    let next = AtomicU64::new(seeds.start);
    let bad = Mutex::new(BTreeMap::new());
    let work = || {
        let pool = |threads| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
            builder.build().unwrap()
        };
        let pools = [1, 2, 3].map(pool);
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            if let Err(fault) = try_one(seed, &pools) {
                bad.lock().unwrap().insert(seed, fault);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let bad = bad.into_inner().unwrap();
    println!(
        "{count} scenarios in {:.0?}, {} with faults",
        began.elapsed(),
        bad.len()
    );
    let first: Vec<_> = bad.iter().take(20).collect();
    assert!(
        bad.is_empty(),
        "{} scenarios with faults:\n{first:#?}",
        bad.len()
    );
}
