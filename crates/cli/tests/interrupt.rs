//! Ctrl-C leaves complete files up to that time.
#![cfg(unix)]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Workplace, names, text};
use netflow::results::Results;

#[test]
fn an_interrupted_run_leaves_complete_files_up_to_then() {
    let place = Workplace::new();
    let endless = [
        "run",
        "dumbbell.toml",
        "--set",
        "simulation.duration=100000 h",
        "-o",
        "out",
        "--every",
        "10s",
    ];
    for signal in ["-INT", "-TERM"] {
        let child = place
            .netflow(endless)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let partial = place.path("out/.links.csv.partial");
        while !partial.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            assert!(Instant::now() < deadline, "the run does not write");
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();

        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("interrupted: stopped at "),
            "{}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stdout).contains("R->S"),
            "what was computed is shown"
        );
        assert_eq!(
            names(&place.path("out")),
            [
                "connections.csv",
                "links.csv",
                "manifest.json",
                "network.json",
                "scenario",
                "summary.json"
            ]
        );
        let results = Results::open(place.path("out")).unwrap();
        assert!(!results.manifest.complete);
        let stop = results.manifest.stop.clone().unwrap();
        assert!(stop.reason.contains("stopped at"), "{stop:?}");
        assert!(stop.stopped_at_s > 0.0 && stop.stopped_at_s == results.summary.duration_s);
        let (links, connections) = (results.links().unwrap(), results.connections().unwrap());
        let last = links.last().unwrap().time_s;
        assert_eq!(connections.last().unwrap().time_s, last);
        assert!(
            (last - stop.stopped_at_s).abs() < 10.0,
            "{last} and {stop:?}"
        );
        assert_eq!(links.len() % 6, 0, "every interval has all six links");
    }
}
