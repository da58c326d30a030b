//! Routing metrics of scenarios: the written scenario, its files, and its loads.

use std::fs;
use std::path::{Path, PathBuf};

use netflow::scenario::{CompiledScenario, FileAccess, load, load_within};
use netflow::scenario_edit::{EditError, ScenarioFile};
use netflow::steady::{
    FailureOptions, LinkUnderFailure, SteadyOptions, WeightSetting, Weights, failures,
    optimize_weights, solve,
};
use netflow::weights::{Error, ScenarioMetrics};
use tempfile::TempDir;

const SIMULATION: &str = "[simulation]\nduration = \"10 s\"\necmp = true\n";

/// 12 Mbit/s from A to C, which a metric of 3 puts on both paths.
const DEMAND: &str = r#"
[[demand]]
from = "A"
to   = "C"
kind = "poisson"
rate = "12 Mbit/s"
"#;

const TABLES: &str = r#"
# The detour.
[[link]]
from = "A"
to = "B"
bandwidth = "20 Mbit/s"
metric = 1    # leased

[[link]]
from = 'B'
to = 'C'
bandwidth = "20 Mbit/s"
metric = 2
reverse = { metric = 7 }

[[link]]
from = "A"
to = "C"
bandwidth = "20 Mbit/s"
metric = 2
"#;

struct Files {
    directory: TempDir,
}

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        Files { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn metrics(&self) -> (CompiledScenario, ScenarioMetrics) {
        let path = self.path("network.toml");
        let scenario = load(&path, &[]).unwrap();
        let metrics =
            ScenarioMetrics::new(ScenarioFile::read(&path, &scenario).unwrap(), &scenario).unwrap();
        (scenario, metrics)
    }
}

fn search(
    scenario: &CompiledScenario,
    metrics: &ScenarioMetrics,
    failures: Option<FailureOptions>,
) -> Weights {
    let options = metrics.options(failures, None, 50, 1);
    optimize_weights(&scenario.network, 10.0, &options, &|| false, &mut |_| ()).unwrap()
}

fn reload(path: &Path) -> CompiledScenario {
    load_within(path, &[], FileAccess::BelowDirectory).unwrap()
}

fn largest_load(scenario: &CompiledScenario) -> f64 {
    let steady = solve(&scenario.network, 10.0, &SteadyOptions::default()).unwrap();
    steady.links.iter().map(|it| it.load).fold(0.0, f64::max)
}

fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-3 * b, "{a} for {b}");
}

#[test]
fn one_metric_splits_the_traffic_and_comments_stay() {
    let files = Files::new(&[("network.toml", &format!("{SIMULATION}{TABLES}{DEMAND}"))]);
    let (scenario, metrics) = files.metrics();
    // Both directions of B-C have a metric of their own.
    assert_eq!(metrics.groups().len(), 4);
    let found = search(&scenario, &metrics, None);
    assert_close(found.present().max_load, 0.6);
    assert_close(found.chosen().max_load, 0.3);
    assert_eq!(found.chosen().changes, 1);
    assert!((0.299..=0.3).contains(&found.lower_bound));
    let files_written = metrics
        .write(&scenario, found.chosen(), &files.path("better.toml"))
        .unwrap();
    assert_eq!(files_written, [files.path("better.toml")]);
    let text = fs::read_to_string(files.path("better.toml")).unwrap();
    assert!(text.starts_with("# Written by netflow weights; largest load 0.3"));
    assert!(text.contains("# The detour.") && text.contains("# leased"));
    assert_close(largest_load(&reload(&files.path("better.toml"))), 0.3);
    assert_close(
        largest_load(&metrics.load(&scenario.network, found.chosen()).unwrap()),
        0.3,
    );
}

#[test]
fn tables_of_links_are_written_next_to_the_scenario() {
    let text = format!("{SIMULATION}[include]\nlinks = \"links.csv\"\n{DEMAND}");
    let links = "from,to,bandwidth,metric\nA,B,20 Mbit/s,1\nB,C,20 Mbit/s,\"2\"\nA,C,20 Mbit/s,2\n";
    let files = Files::new(&[("network.toml", &text), ("links.csv", links)]);
    let (scenario, metrics) = files.metrics();
    let found = search(&scenario, &metrics, None);
    metrics
        .write(&scenario, found.chosen(), &files.path("better.toml"))
        .unwrap();
    assert_eq!(fs::read_to_string(files.path("links.csv")).unwrap(), links);
    assert_close(largest_load(&reload(&files.path("better.toml"))), 0.3);
    let elsewhere = tempfile::tempdir().unwrap();
    let error = metrics.write(
        &scenario,
        found.chosen(),
        &elsewhere.path().join("better.toml"),
    );
    assert!(
        matches!(error, Err(Error::Edit(EditError::Write(_)))),
        "{error:?}"
    );
}

#[test]
fn metrics_are_added_to_a_scenario_without_them() {
    let tables = TABLES.replace("reverse = { metric = 7 }\n", "");
    let tables: String = tables
        .lines()
        .filter(|it| !it.starts_with("metric"))
        .map(|it| format!("{it}\n"))
        .collect();
    let with_delays = tables.replace("bandwidth =", "delay = \"2.5 ms\"\nbandwidth =");
    let inline = "link = [\n  { from = \"A\", to = \"B\", bandwidth = \"20 Mbit/s\", delay = \"2.5 ms\" },\n  { from = \"B\", to = \"C\", bandwidth = \"20 Mbit/s\", delay = \"2.5 ms\" },\n  { from = \"A\", to = \"C\", bandwidth = \"20 Mbit/s\", delay = \"2.5 ms\" },\n]\n";
    for links in [
        format!("{SIMULATION}{with_delays}"),
        format!("{inline}{SIMULATION}"),
    ] {
        let files = Files::new(&[("network.toml", &format!("{links}{DEMAND}"))]);
        let (scenario, metrics) = files.metrics();
        assert_eq!(metrics.delay_unit_s(), Some(1e-5));
        assert_eq!(metrics.options(None, None, 1, 1).metrics, [250; 3]);
        let found = search(&scenario, &metrics, None);
        assert_close(found.chosen().max_load, 0.3);
        metrics
            .write(&scenario, found.chosen(), &files.path("better.toml"))
            .unwrap();
        assert_close(largest_load(&reload(&files.path("better.toml"))), 0.3);
    }
}

#[test]
fn invalid_scenarios_are_refused() {
    let scenario = |text: &str| {
        let files = Files::new(&[("network.toml", text)]);
        let path = files.path("network.toml");
        let scenario = load(&path, &[]).unwrap();
        ScenarioMetrics::new(ScenarioFile::read(&path, &scenario).unwrap(), &scenario).map(|_| ())
    };
    let text = format!("{SIMULATION}{TABLES}{DEMAND}");
    let without = scenario(&text.replace("ecmp = true", ""));
    assert!(matches!(without, Err(Error::WithoutEcmp)));
    for metric in ["1.5", "0", "20000000"] {
        let other = scenario(&text.replace("metric = 1 ", &format!("metric = {metric} ")));
        assert!(matches!(other, Err(Error::Metric { .. })), "{metric}");
    }
    let files = Files::new(&[("network.toml", &text)]);
    let path = files.path("network.toml");
    let overrides = ["link.*.metric=1".to_owned()];
    let scenario = load(&path, &overrides).unwrap();
    let metrics =
        ScenarioMetrics::new(ScenarioFile::read(&path, &scenario).unwrap(), &scenario).unwrap();
    let setting = WeightSetting {
        metrics: vec![2, 1, 1],
        ..search(&scenario, &metrics, None).present().clone()
    };
    let error = metrics
        .write(&scenario, &setting, &files.path("better.toml"))
        .unwrap_err();
    assert!(error.to_string().contains("is in --set"), "{error}");
    assert!(!files.path("better.toml").exists());
}

/// The largest loads of the search are those of the failure analysis, which routes and solves by itself. Numbers of
/// acknowledgements depend slightly on paths.
#[test]
fn loads_are_those_of_the_failure_analysis() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/abilene.toml");
    let overrides = ["simulation.ecmp=true".to_owned()];
    let scenario = netflow::scenario::for_steady_state(load(&path, &overrides).unwrap(), |more| {
        load(&path, &[&overrides, more].concat())
    });
    let metrics =
        ScenarioMetrics::new(ScenarioFile::read(&path, &scenario).unwrap(), &scenario).unwrap();
    let links = FailureOptions {
        nodes: false,
        groups: false,
        ..FailureOptions::default()
    };
    for kinds in [None, Some(links)] {
        let found = search(&scenario, &metrics, kinds);
        // After a failure, one link carries a coast alone.
        assert!(found.settings.len() > 1 || kinds.is_some());
        for setting in &found.settings {
            let changed = metrics.load(&scenario.network, setting).unwrap();
            let analysed = failures(&changed.network, 60.0, &links, &|| false);
            let analysed = analysed.unwrap().unwrap();
            let largest = |load: &dyn Fn(&LinkUnderFailure) -> f64| {
                analysed.links.iter().map(load).fold(0.0, f64::max)
            };
            assert_close(largest(&|it| it.intact_load), setting.intact_load);
            let max_load = match kinds {
                Some(_) => largest(&|it| it.max_load),
                None => setting.intact_load,
            };
            assert_close(max_load, setting.max_load);
        }
    }
}
