//! Scenarios run with ns-2, with values computed from its files in another manner.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use netflow_compare::{
    Comparison, Ensemble, Error, LinkInterval, NetflowRun, Ns2, ReferenceSystem, Run, Runner,
    Settings, from_trace, write_ensemble,
};
use netflow_needs::{Need, skip};
use netflow_results::Summary;
use netflow_scenario::export::{Ns2Options, Ns2Trace, ns2};
use netflow_scenario::{CompiledScenario, load};
use netflow_units::SplitMix64;

fn scenario() -> CompiledScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/topology.toml");
    let shorter = [
        "simulation.duration=25 s".to_owned(),
        "connection.c4.stop=24 s".to_owned(),
    ];
    load(&path, &shorter).unwrap_or_else(|problems| panic!("{problems}"))
}

fn find_ns2() -> Option<Ns2> {
    let found = Ns2::find().ok();
    if found.is_none() {
        skip(Need::Ns2, "ns is not installed");
    }
    found
}

fn settings() -> Settings {
    Settings {
        seeds: 3,
        start_jitter_s: 0.0,
        ..Settings::default()
    }
}

/// Runs a scenario `seeds` times with ns-2 and with netflow, with a start jitter of one second.
fn run_both(ns: &Ns2, text: &str, seeds: u32) -> (Vec<Run>, NetflowRun) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("scenario.toml");
    std::fs::write(&path, text).unwrap();
    let scenario = load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let jittered = Settings {
        seeds,
        start_jitter_s: 1.0,
        ..settings()
    };
    let runs = ns
        .run_seeds(&scenario, &jittered, &|_| {}, &|| false)
        .unwrap();
    let side = NetflowRun::evaluate(&scenario, &jittered).unwrap();
    (runs, side)
}

#[test]
fn runs_are_counted_and_differ_by_seed() {
    let Some(ns) = find_ns2() else { return };
    let scenario = scenario();
    let done = AtomicU32::new(0);
    let told = |count| done.store(count, Ordering::Relaxed);
    let jittered = Settings {
        start_jitter_s: 0.5,
        ..settings()
    };
    let runs = ns
        .run_seeds(&scenario, &jittered, &told, &|| false)
        .unwrap();
    assert_eq!((runs.len(), done.load(Ordering::Relaxed)), (3, 3));
    assert!(runs[0].links != runs[1].links, "seeds matter");
    assert!(runs.iter().all(|run| run.cost_s.is_some_and(|s| s > 0.0)));
    let again = ns
        .run_seeds(&scenario, &jittered, &|_| {}, &|| false)
        .unwrap();
    assert!(
        runs.iter().zip(&again).all(|(a, b)| a.links == b.links),
        "and nothing else"
    );
}

/// The same script run directly, with its files summed by awk.
#[test]
fn totals_match_the_output_files() {
    let Some(ns) = find_ns2() else { return };
    let scenario = scenario();
    let runs = ns
        .run_seeds(
            &scenario,
            &Settings {
                seeds: 1,
                ..settings()
            },
            &|_| {},
            &|| false,
        )
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("s.tcl");
    std::fs::write(&script, ns2(&scenario, &Ns2Options::default()).unwrap()).unwrap();
    let run = Command::new("ns")
        .arg(&script)
        .arg(Ns2::seed(0).to_string())
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(run.success());
    let awk = r#"-F, $2=="N5->N7" {a+=$3; d+=$4; w+=$7*($1-t); b+=$6; t=$1} END {print a, d, w/t, 8*b/8e6/t}"#;
    let (flag, program) = awk.split_once(' ').unwrap();
    let output = Command::new("awk")
        .args([flag, program])
        .arg(folder.path().join("ns-links.csv"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let awk: Vec<f64> = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let side = NetflowRun::evaluate(&scenario, &settings()).unwrap();
    let comparison = Comparison::new(&side, &Ensemble::of(ReferenceSystem::Ns2, &runs));
    let link = comparison
        .links
        .iter()
        .find(|link| link.link == "N5->N7")
        .unwrap();
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-4 * b.abs(), "{a} {b}");
    near(link.offered_pkts.referee.mean, awk[0]);
    near(link.lost_pkts.referee.mean, awk[1]);
    near(link.utilization.referee.mean, awk[3]);
    near(link.queue_pkts.referee.mean, awk[2] + awk[3]);
    assert_eq!(
        link.queue_pkts.referee.std, None,
        "a single run has no spread"
    );
    assert_eq!(link.trajectory_sigmas, None);
}

/// A trace of a run agrees with the monitors of the script.
#[test]
fn trace_matches_queue_monitors() {
    let Some(ns) = find_ns2() else { return };
    let scenario = scenario();
    let runs = ns
        .run_seeds(
            &scenario,
            &Settings {
                seeds: 1,
                ..settings()
            },
            &|_| {},
            &|| false,
        )
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = Ns2Options {
        trace: Ns2Trace::All,
        ..Ns2Options::default()
    };
    let script = folder.path().join("s.tcl");
    std::fs::write(&script, ns2(&scenario, &options).unwrap()).unwrap();
    let run = Command::new("ns")
        .arg(&script)
        .arg(Ns2::seed(0).to_string())
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(run.success());
    let side = NetflowRun::evaluate(&scenario, &settings()).unwrap();
    let traced = from_trace(&folder.path().join("ns-trace.tr"), &side).unwrap();
    let monitored: HashMap<_, _> = runs[0].links.iter().map(|(n, i)| (n.as_str(), i)).collect();
    for (name, intervals) in &traced.links {
        for (traced, monitored) in intervals.iter().zip(monitored[name.as_str()]) {
            // A packet that arrives at the end of an interval may count in the next.
            let (a, b) = (traced.arrived_pkts, monitored.arrived_pkts);
            assert!((a - b).abs() <= 3.0, "{name}: {a} {b}");
        }
        let sum = |of: fn(&LinkInterval) -> f64| {
            let traced: f64 = intervals.iter().map(of).sum();
            let monitored: f64 = monitored[name.as_str()].iter().map(of).sum();
            (traced, monitored)
        };
        let (a, b) = sum(|i| i.arrived_pkts);
        assert!((a - b).abs() <= 1.0, "{name}: {a} {b}");
        let (a, b) = sum(|i| i.lost_pkts);
        assert_eq!(a, b, "{name}");
        for of in [
            |i: &LinkInterval| i.queue_pkts,
            |i: &LinkInterval| i.utilization,
        ] {
            let (a, b) = sum(of);
            assert!((a - b).abs() <= 2e-3 * b, "{name}: {a} {b}");
        }
    }
    for ((name, traced), (_, acked)) in traced.connections.iter().zip(&runs[0].connections) {
        let delivered: f64 = traced.iter().map(|i| i.delivered_pkts).sum();
        let acked: f64 = acked.iter().map(|i| i.delivered_pkts).sum();
        // Packets acknowledged a round trip later, and duplicates.
        assert!(
            (delivered - acked).abs() <= 100.0,
            "{name}: {delivered} {acked}"
        );
    }
}

#[test]
fn running_ns2_can_be_interrupted() {
    let Some(ns) = find_ns2() else { return };
    let result = ns.run_seeds(&scenario(), &settings(), &|_| {}, &|| true);
    assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
}

#[test]
fn ensemble_is_written_as_csv() {
    let Some(ns) = find_ns2() else { return };
    let runs = ns
        .run_seeds(&scenario(), &settings(), &|_| {}, &|| false)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_ensemble(&Ensemble::of(ReferenceSystem::Ns2, &runs), folder.path()).unwrap();
    let links = std::fs::read_to_string(folder.path().join("ns2-links.csv")).unwrap();
    // 50 intervals of 14 links, and the header.
    assert_eq!(links.lines().count(), 1 + 50 * 14);
    let connections = std::fs::read_to_string(folder.path().join("ns2-connections.csv")).unwrap();
    assert_eq!(connections.lines().count(), 1 + 50 * 4);
}

/// Two runs with queues of 2 and 4 and netflow with 6. Over time the runs have 1, 3 (mean 2 ± √2) and 3, 5 (4
/// ± √2), and netflow has 6 and 6. The errors are (4 + 2) / (2 + 4), and √((4² + 2²)/2 / 2) deviations.
#[test]
fn error_metrics_match_their_definitions() {
    let run = |queues: [f64; 2], delivered: f64| netflow_compare::Run {
        times_s: vec![1.0, 2.0],
        links: vec![(
            "a->b".to_owned(),
            queues
                .iter()
                .map(|&queue_pkts| LinkInterval {
                    marked_pkts: None,
                    arrived_pkts: 10.0,
                    lost_pkts: 1.0,
                    queue_pkts,
                    utilization: 0.5,
                })
                .collect(),
        )],
        connections: vec![(
            "c".to_owned(),
            vec![
                netflow_compare::ConnectionInterval {
                    sent_pkts: delivered,
                    delivered_pkts: delivered,
                };
                2
            ],
        )],
        ..Run::default()
    };
    let summary: Summary = serde_json::from_str(
        r#"{"duration_s": 2, "model": "fluid", "seeds": 1,
            "links": [{"link": "a->b", "mean_queue_pkts": 6, "max_queue_pkts": 6, "loss_probability": 0.2,
                       "utilization": 0.5, "offered_pkts": 20, "lost_pkts": 4}],
            "connections": [{"connection": "c", "mean_send_pps": 12, "mean_goodput_pps": 12, "delivered_pkts": 24,
                             "lost_pkts": 0, "mean_rtt_s": 0, "loss_probability": 0, "extrapolated_fraction": 0}],
            "totals": {"offered_pkts": 0, "delivered_pkts": 0, "lost_pkts": 0, "queued_pkts": 0, "in_flight_pkts": 0},
            "acks": {"offered_pkts": 0, "delivered_pkts": 0, "lost_pkts": 0, "queued_pkts": 0, "in_flight_pkts": 0},
            "warnings": []}"#,
    )
    .unwrap();
    let side = NetflowRun {
        run: run([6.0, 6.0], 12.0),
        summary,
        network: None,
        took_s: None,
    };
    let ensemble = Ensemble::of(
        ReferenceSystem::Ns2,
        &[run([1.0, 3.0], 9.0), run([3.0, 5.0], 11.0)],
    );
    let comparison = Comparison::new(&side, &ensemble);
    let link = &comparison.links[0];
    assert_eq!(
        (link.queue_pkts.referee.mean, link.queue_pkts.netflow),
        (3.0, 6.0)
    );
    assert!((link.queue_pkts.referee.std.unwrap() - 2_f64.sqrt()).abs() < 1e-12);
    assert_eq!(link.trajectory_error, Some(1.0));
    assert!((link.trajectory_sigmas.unwrap() - 5_f64.sqrt()).abs() < 1e-12);
    assert_eq!(link.lost_pkts.referee.mean, 2.0);
    let totals = &comparison.totals;
    assert_eq!((totals.queue_error, totals.busiest_queue_error), (1.0, 1.0));
    // The error of one run is 1 of 3.
    assert!((totals.referee_busiest_queue_error.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((totals.median_goodput_error - 0.2).abs() < 1e-12);
    assert!((totals.referee_median_goodput_error.unwrap() - 0.1).abs() < 1e-12);
    assert_eq!(totals.lost_ratio, Some(2.0));
    assert!((totals.goodput_ratio - 1.2).abs() < 1e-12);
}

/// Random buffers in bytes or as a time, with packets of 60 to 1500 B and acknowledgements: each packet uses
/// its own bytes, as in ns-2. Three times as many packets are lost if each uses the size of a TCP packet.
#[test]
fn byte_buffers_match_ns2() {
    let Some(ns) = find_ns2() else { return };
    let mut random = SplitMix64::new(1);
    let mut between = |low: f64, high: f64| low * (high / low).powf(random.uniform());
    let (mut wrong, mut queues, mut lost) = (0.0, 0.0, [0.0; 2]);
    for case in 0..8 {
        let (mbps, ms) = (between(1.0, 10.0), between(5.0, 50.0));
        let room = match case % 2 {
            0 => format!("{:.0} B", between(10e3, 100e3)),
            _ => format!("{:.0} ms", between(40.0, 200.0)),
        };
        let (call_bytes, tcp_bytes) = (between(60.0, 400.0), between(500.0, 1500.0));
        let call = between(0.03, 0.3) * mbps;
        let text = format!(
            r#"
            [simulation]
            duration = "60 s"
            model = "packet"
            packet-size = "{tcp_bytes:.0} B"
            [[link]]
            from = "a"
            to = "r"
            bandwidth = "200 Mbit/s"
            delay = "2 ms"
            buffer = "1000 pkt"
            duplex = true
            [[link]]
            from = "r"
            to = "b"
            bandwidth = "{mbps:.3} Mbit/s"
            delay = "{ms:.3} ms"
            buffer = "{room}"
            duplex = true
            [[connection]]
            name = "down"
            from = "a"
            to = "b"
            source = {{ ns2-tcp = "newreno" }}
            count = 2
            [[connection]]
            name = "up"
            from = "b"
            to = "a"
            source = {{ ns2-tcp = "newreno" }}
            [[connection]]
            name = "call"
            from = "a"
            to = "b"
            packet-size = "{call_bytes:.0} B"
            source = {{ poisson = "{call:.3} Mbit/s" }}
            "#
        );
        let (runs, side) = run_both(&ns, &text, 4);
        let comparison = Comparison::new(&side, &Ensemble::of(ReferenceSystem::Ns2, &runs));
        for link in &comparison.links {
            let (queue, loss) = (&link.queue_pkts, &link.lost_pkts);
            println!(
                "{case} {room} {}: queue {:.2} ns-2 {:.2}, lost {} ns-2 {}",
                link.link, queue.netflow, queue.referee.mean, loss.netflow, loss.referee.mean
            );
            wrong += (queue.netflow - queue.referee.mean).abs();
            queues += queue.referee.mean;
            lost[0] += loss.netflow;
            lost[1] += loss.referee.mean;
        }
    }
    println!("queues {wrong} of {queues}, lost {lost:?}");
    assert!(wrong < 0.1 * queues);
    assert!((lost[0] / lost[1] - 1.0).abs() < 0.15);
}

/// One link whose delay changes from 10 to 60 and to 20 ms, filled by TCP. Compares goodput and queue of each
/// 40 s, without the first 5 s after a change.
#[test]
fn windows_track_delay_changes_as_in_ns2() {
    let Some(ns) = find_ns2() else { return };
    for variant in ["tahoe", "reno", "newreno"] {
        let text = format!(
            r#"
            [simulation]
            duration = "120 s"
            model = "packet"
            packet-size = "1000 B"
            [[link]]
            from = "a"
            to = "b"
            bandwidth = "3 Mbit/s"
            delay = "10 ms"
            buffer = "12 pkt"
            [[connection]]
            name = "c"
            from = "a"
            to = "b"
            count = 2
            source = {{ ns2-tcp = "{variant}" }}
            [[event]]
            at = "40 s"
            link = "a<->b"
            set = {{ delay = "60 ms" }}
            [[event]]
            at = "80 s"
            link = "a<->b"
            set = {{ delay = "20 ms" }}
            "#
        );
        let (runs, side) = run_both(&ns, &text, 5);
        for from_s in [0.0, 40.0, 80.0] {
            // Delivered packets per interval, and the mean queue.
            let told = |run: &Run| {
                let within = |time_s: &f64| *time_s > from_s + 5.0 && *time_s <= from_s + 40.0;
                let times = run.times_s.iter().map(within);
                let each = times.zip(&run.links[0].1).zip(&run.connections[0].1);
                let each: Vec<_> = each.filter(|((within, _), _)| *within).collect();
                let n = each.len() as f64;
                let queue = each
                    .iter()
                    .map(|((_, link), _)| link.queue_pkts)
                    .sum::<f64>()
                    / n;
                let delivered = each.iter().map(|(_, it)| it.delivered_pkts).sum::<f64>();
                [delivered / n, queue]
            };
            let theirs: Vec<[f64; 2]> = runs.iter().map(told).collect();
            let mean = |i: usize| theirs.iter().map(|it| it[i]).sum::<f64>() / theirs.len() as f64;
            let ours = told(&side.run);
            println!("{variant} from {from_s} s: {ours:?}, ns-2 {theirs:?}");
            assert!(
                (ours[0] / mean(0) - 1.0).abs() < 0.01,
                "{ours:?} {theirs:?}"
            );
            assert!((ours[1] - mean(1)).abs() < 0.3, "{ours:?} {theirs:?}");
        }
    }
}
