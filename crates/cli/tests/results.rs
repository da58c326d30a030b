//! Tests of the files that a run writes.

mod common;

use std::fs;

use common::{RESULTS, Workplace, names, text};
use netflow::results::Results;
use serde_json::Value;

#[test]
fn directory_has_documented_files() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -o out --classes", 0);
    let files: Vec<_> = ["classes.csv"].into_iter().chain(RESULTS).collect();
    assert_eq!(names(&place.path("out")), files);

    let results = Results::open(place.path("out")).unwrap();
    let (links, connections) = (results.links().unwrap(), results.connections().unwrap());
    assert_eq!(
        links.len(),
        40 * 6,
        "20 s every half second, six directed links"
    );
    assert_eq!(connections.len(), 40 * 2);
    assert!(
        links
            .windows(2)
            .all(|pair| pair[0].time_s <= pair[1].time_s)
    );
    assert!(!results.classes().unwrap().unwrap().is_empty());

    let manifest = &results.manifest;
    assert!(manifest.complete && manifest.stop.is_none());
    assert_eq!(manifest.scenario, "dumbbell.toml");
    assert_eq!(
        manifest.files,
        ["links.csv", "connections.csv", "classes.csv"]
    );
    assert_eq!(manifest.options.duration_s, 20.0);

    let summary = &results.summary;
    assert_eq!((summary.duration_s, summary.seeds), (20.0, 1));
    assert!(summary.totals.offered_pkts > 100.0);
    assert!(summary.totals.imbalance() < 1e-9, "{:?}", summary.totals);
    assert!(summary.acks.imbalance() < 1e-9, "{:?}", summary.acks);
    let bottleneck = summary
        .links
        .iter()
        .find(|link| link.link == "R->S")
        .unwrap();
    let series = links
        .iter()
        .filter(|row| &*row.link == "R->S")
        .map(|row| row.values.queue_pkts);
    let mean = series.sum::<f64>() / 40.0;
    assert!(
        (mean - bottleneck.mean_queue_pkts).abs() < 1e-3 * mean,
        "{mean} and {bottleneck:?}"
    );
}

/// Other tools rely on these names.
#[test]
fn summary_has_documented_names() {
    let place = Workplace::new();
    let output = place.expect("run dumbbell.toml --json", 0);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let has = |value: &serde_json::Value, names: &[&str]| {
        let keys = keys(value);
        for name in names {
            assert!(keys.iter().any(|key| key == name), "no {name} in {keys:?}");
        }
    };
    has(
        &summary,
        &[
            "duration_s",
            "model",
            "seeds",
            "links",
            "connections",
            "totals",
            "acks",
            "warnings",
        ],
    );
    has(
        &summary["links"][0],
        &[
            "link",
            "mean_queue_pkts",
            "max_queue_pkts",
            "loss_probability",
            "utilization",
            "offered_pkts",
            "lost_pkts",
        ],
    );
    has(
        &summary["connections"][0],
        &[
            "connection",
            "mean_send_pps",
            "mean_goodput_pps",
            "delivered_pkts",
            "lost_pkts",
            "mean_rtt_s",
            "loss_probability",
            "extrapolated_fraction",
        ],
    );
    has(
        &summary["totals"],
        &[
            "offered_pkts",
            "delivered_pkts",
            "lost_pkts",
            "queued_pkts",
            "in_flight_pkts",
        ],
    );
    assert_eq!(summary["model"], "fluid");
}

#[test]
fn results_are_independent_of_threads() {
    let place = Workplace::new();
    for threads in [1, 2, 8] {
        place.expect(
            &format!("run dumbbell.toml -q --classes --threads {threads} -o out{threads}"),
            0,
        );
    }
    for file in [
        "links.csv",
        "connections.csv",
        "classes.csv",
        "summary.json",
    ] {
        let bytes = |threads: u32| fs::read(place.path(&format!("out{threads}/{file}"))).unwrap();
        assert!(bytes(1) == bytes(2) && bytes(1) == bytes(8), "{file}");
    }
}

/// The packet model also gives equal results. It uses several threads at this traffic volume.
#[test]
fn packet_model_is_independent_of_threads() {
    let place = Workplace::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/hundred-nodes");
    for threads in [1, 2, 3] {
        let out = place.path(&format!("out{threads}"));
        let mut command = place.netflow(["run", "-q", "--set", "simulation.model=packet"]);
        command.arg(format!("{shipped}/topology.toml"));
        command.args([
            "--set",
            "include.connections=windows.csv",
            "--interval",
            "0.1s",
        ]);
        command.args(["--set", "simulation.duration=20 s", "--threads"]);
        let output = command
            .arg(threads.to_string())
            .arg("-o")
            .arg(&out)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    for file in ["links.csv", "connections.csv", "summary.json"] {
        let bytes = |threads: u32| fs::read(place.path(&format!("out{threads}/{file}"))).unwrap();
        assert!(bytes(1) == bytes(2) && bytes(1) == bytes(3), "{file}");
    }
}

/// Intervals of a fluid model end with its steps. A warning reports if the requested interval is shorter.
#[test]
fn lengthened_intervals_are_reported() {
    let place = Workplace::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/topology.toml");
    let said = |out: &str, more: &[&str]| {
        let mut command = place.netflow(["run", shipped, "--interval", "0.01s", "-o", out]);
        text(&command.args(more).output().unwrap().stderr)
    };
    let told = "recording intervals cannot be shorter than time steps: some last 50.0 ms instead of 10.0 ms";
    assert!(said("coarse", &[]).contains(told));
    assert!(!said("fine", &["--set", "simulation.step=10 ms"]).contains("intervals"));
    let summary = fs::read_to_string(place.path("coarse/summary.json")).unwrap();
    assert!(summary.contains(told));
}

#[test]
fn quiet_run_prints_nothing() {
    let output = Workplace::new().expect("run dumbbell.toml --quiet -o out", 0);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        (String::new(), String::new())
    );
}

#[test]
fn set_option_changes_a_setting() {
    let place = Workplace::new();
    let arguments = [
        "run",
        "dumbbell.toml",
        "-o",
        "out",
        "--set",
        "simulation.duration=5 s",
    ];
    assert!(place.netflow(arguments).status().unwrap().success());
    let results = Results::open(place.path("out")).unwrap();
    assert_eq!(results.summary.duration_s, 5.0);
    assert_eq!(results.manifest.overrides, ["simulation.duration=5 s"]);
}

#[test]
fn json_lines_equal_csv() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o csv", 0);
    place.expect("run dumbbell.toml -q -o jsonl --format jsonl", 0);
    let read = |name: &str| Results::open(place.path(name)).unwrap();
    assert_eq!(read("csv").links().unwrap(), read("jsonl").links().unwrap());
    assert_eq!(
        read("csv").connections().unwrap(),
        read("jsonl").connections().unwrap()
    );
}

/// Scenario: 100 Mbit/s and 20 ms without other traffic, and a buffer of one bandwidth-delay product.
const IDLE: &str = r#"
[simulation]
duration = "60 s"
step = "2 ms"

[[link]]
from = "A"
to = "B"
bandwidth = "100 Mbit/s"
delay = "10 ms"
buffer = "200 pkt"

[[connection]]
name = "c"
from = "A"
to = "B"
packet-size = "1500 B"
source = { profile = "linux-cubic" }
"#;

/// Regression: `linux-cubic` was measured from 1 % loss and 61 ms on. Clamped to that domain, it sent
/// 2.15 Mbit/s.
#[test]
fn lossless_path_is_extrapolated_from_profile() {
    let place = Workplace::new();
    fs::write(place.path("idle.toml"), IDLE).unwrap();
    let summary = |options: &str| {
        place.expect(&format!("run idle.toml -q -o out {options}"), 0);
        let text = fs::read_to_string(place.path("out/summary.json")).unwrap();
        fs::remove_dir_all(place.path("out")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        summary["connections"][0].clone()
    };
    let mbit_s = |it: &Value| it["mean_goodput_pps"].as_f64().unwrap() * 1500.0 * 8.0 / 1e6;
    let idle = summary("");
    // The packet model gives 98.7. The queue of the fluid model contains 31 packets on average, and is
    // empty for 3 % of the time.
    assert!(mbit_s(&idle) >= 94.0, "{idle}");
    assert_eq!(idle["profile_use"], "extrapolated");
    assert_eq!(idle["unreliable_fraction"], 0.0);

    // A window of 128 packets, and the round-trip time including queueing.
    let limited = summary("--set connection.c.max-window=128pkt");
    let window_pkts =
        limited["mean_goodput_pps"].as_f64().unwrap() * limited["mean_rtt_s"].as_f64().unwrap();
    assert!((window_pkts / 128.0 - 1.0).abs() < 0.01, "{limited}");
    assert!((mbit_s(&limited) / 75.0 - 1.0).abs() < 0.03, "{limited}");
}

/// A measurement of 1998 from 60 ms on does not apply to 4 ms.
#[test]
fn extrapolated_rates_are_marked() {
    let place = Workplace::new();
    fs::write(
        place.path("idle.toml"),
        IDLE.replace("linux-cubic", "nt").replace("10 ms", "2 ms"),
    )
    .unwrap();
    let output = place.expect("run idle.toml -o out", 0);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("100 %; rate unreliable"), "{out}");
    assert!(err.contains("that rates are unreliable"), "{err}");
    let written = fs::read_to_string(place.path("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(summary["connections"][0]["profile_use"], "unreliable");
    let page = place.path("page.html");
    place.expect(&format!("report out -o {}", page.display()), 0);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains(r#""profile_use":"unreliable""#)
    );
}

/// The directory is sufficient: it contains the scenario, the tables that it includes from elsewhere, and
/// the settings of the command line.
#[test]
fn run_is_reproducible_from_its_results() {
    let place = Workplace::new();
    fs::create_dir_all(place.path("mine")).unwrap();
    fs::create_dir_all(place.path("tables")).unwrap();
    let table = "from,to,bandwidth,delay\nA,B,2 Mbit/s,10 ms\nB,C,1 Mbit/s,20 ms\n";
    fs::write(place.path("tables/links.csv"), table).unwrap();
    let scenario = "[simulation]\nduration = \"9 s\"\n[include]\nlinks = \"../tables/links.csv\"\n\
        [[connection]]\nfrom = \"A\"\nto = \"C\"\nsource = { profile = \"own.toml\" }\n";
    fs::write(place.path("mine/scenario.toml"), scenario).unwrap();
    let profile = "format = 1\nkind = \"mathis\"\nname = \"own\"\nwindow = \"20 pkt\"\n";
    fs::write(place.path("mine/own.toml"), profile).unwrap();
    place.expect(
        "run mine/scenario.toml -q -o first --interval 0.7s --set connection.c1.count=3 --set simulation.seed=5 \
         --allow-outside",
        0,
    );
    // The original files are removed.
    fs::remove_dir_all(place.path("mine")).unwrap();
    fs::remove_dir_all(place.path("tables")).unwrap();

    let manifest = |name: &str| -> Value {
        let text = fs::read_to_string(place.path(name).join("manifest.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let first = manifest("first");
    assert_eq!(first["scenario_copy"], "scenario/mine/scenario.toml");
    let mut arguments = vec![
        "run".to_owned(),
        format!("first/{}", first["scenario_copy"].as_str().unwrap()),
        "-q".to_owned(),
        "-o".to_owned(),
        "second".to_owned(),
        format!("--interval={}s", first["interval_s"]),
    ];
    assert_eq!(first["allow_outside"], true);
    arguments.push("--allow-outside".to_owned());
    for setting in first["overrides"].as_array().unwrap() {
        arguments.push(format!("--set={}", setting.as_str().unwrap()));
    }
    let output = place.netflow(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let second = manifest("second");
    for key in [
        "digest",
        "seed",
        "options",
        "interval_s",
        "overrides",
        "steps",
    ] {
        assert_eq!(first[key], second[key], "{key}");
    }
    for file in [
        "links.csv",
        "connections.csv",
        "summary.json",
        "network.json",
    ] {
        let read = |name: &str| fs::read(place.path(name).join(file)).unwrap();
        assert!(read("first") == read("second"), "{file}");
    }
}

/// A scenario copied by an older version is read with the defaults of that version, for any path to the
/// copy.
#[test]
fn results_of_older_versions_are_read() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o out", 0);
    let said = |directory: &str, path: &str| {
        let mut check = place.netflow(["check", path]);
        let output = check.current_dir(place.path(directory)).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let copy = "out/scenario/dumbbell.toml";
    assert!(!said("", copy).contains("changed in"));
    let path = place.path("out/manifest.json");
    let old = fs::read_to_string(&path).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(old.contains(&version), "{old}");
    fs::write(&path, old.replace(&version, "\"version\": \"0.1.0\"")).unwrap();
    for (directory, path) in [
        ("", copy),
        ("", "./out/../out/./scenario/dumbbell.toml"),
        ("", place.path(copy).to_str().unwrap()),
        ("out", "scenario/dumbbell.toml"),
        ("out/scenario", "dumbbell.toml"),
        ("out/scenario", "../scenario/dumbbell.toml"),
    ] {
        let said = said(directory, path);
        assert!(
            said.contains("the default of `simulation.step` changed in 0.2"),
            "{path} from `{directory}`: {said}"
        );
    }
    // The results of the copy state the version in turn.
    place.expect(&format!("run {copy} -q -o again"), 0);
    let again = Results::open(place.path("again")).unwrap();
    assert_eq!(
        again.manifest.overrides,
        ["simulation.written-for=\"0.1.0\""]
    );
    // The original file is not a copy.
    assert!(!said("", "dumbbell.toml").contains("changed in"));
}

/// Regression: a report of a truncated series showed its beginning without a warning.
#[test]
fn truncated_series_is_rejected() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o out", 0);
    let whole = fs::read_to_string(place.path("out/links.csv")).unwrap();
    let cut = |keep: usize| {
        fs::write(place.path("out/links.csv"), &whole[..keep]).unwrap();
        text(&place.expect("report out -o page.html", 2).stderr)
    };
    let half = whole[..whole.len() / 2].rfind('\n').unwrap();
    let said = cut(half + 1);
    assert!(
        said.contains("links.csv") && said.contains("the file is truncated"),
        "{said}"
    );
    assert!(said.contains("the run ends at 20 s"), "{said}");
    let said = cut(half - 2);
    assert!(
        said.contains("the last line of the file is truncated"),
        "{said}"
    );
    // The last interval lacks a link.
    let said = cut(whole.trim_end().rfind('\n').unwrap() + 1);
    assert!(said.contains("the file is truncated"), "{said}");
    assert!(!place.path("page.html").exists());
}

/// Regression: SVG was written under the file extension of another format.
#[test]
fn figure_with_wrong_extension_is_rejected() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -q -o out", 0);
    for (arguments, said) in [
        (
            "report out --figure links -o fig.gif",
            "a figure cannot be written as `.gif`",
        ),
        (
            "report out --figure links -o fig.html",
            "end the name with .svg or .pdf or .png",
        ),
        (
            "report out --figure links --figure-format pdf -o fig.png",
            "`--figure-format pdf` contradicts the file ending .png",
        ),
        ("report out -o page.svg", "end the name with .html or .htm"),
    ] {
        let output = place.expect(arguments, 2);
        assert!(
            text(&output.stderr).contains(said),
            "{}",
            text(&output.stderr)
        );
    }
    assert_eq!(names(&place.path("")), ["dumbbell.toml", "out"]);
    place.expect("report out --figure links -o fig.SVG", 0);
    let starts = |file: &str| fs::read(place.path(file)).unwrap()[..4].to_vec();
    assert_eq!(starts("fig.SVG"), b"<svg");
    if cfg!(feature = "pdf") {
        place.expect("report out --figure links -o fig.pdf --data", 0);
        place.expect("report out --figure map --figure-format png -o fig", 0);
        assert_eq!(starts("fig.pdf"), b"%PDF");
        assert_eq!(starts("fig.csv"), b"pane");
        assert_eq!(starts("fig"), b"\x89PNG");
    }
    place.expect("report out -o page", 0);
}
