//! What a run writes.

mod common;

use std::fs;

use common::{Workplace, names, text};
use netflow::results::Results;

#[test]
fn a_directory_has_what_is_promised() {
    let place = Workplace::new();
    place.expect("run dumbbell.toml -o out --classes", 0);
    let files = [
        "classes.csv",
        "connections.csv",
        "links.csv",
        "manifest.json",
        "network.json",
        "summary.json",
    ];
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
        .map(|row| row.queue_pkts);
    let mean = series.sum::<f64>() / 40.0;
    assert!(
        (mean - bottleneck.mean_queue_pkts).abs() < 1e-3 * mean,
        "{mean} and {bottleneck:?}"
    );
}

/// Names that other tools rely on.
#[test]
fn the_summary_has_the_promised_names() {
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
            "outside_profile_fraction",
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
fn the_bytes_do_not_depend_on_the_threads() {
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

#[test]
fn quiet_is_quiet() {
    let output = Workplace::new().expect("run dumbbell.toml --quiet -o out", 0);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        (String::new(), String::new())
    );
}

#[test]
fn a_setting_can_be_changed_on_the_command_line() {
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
fn json_lines_hold_the_same_as_csv() {
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
