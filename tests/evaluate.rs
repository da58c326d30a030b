//! Evaluations by the library: results in memory equal those in files, runs report progress and can
//! be stopped, and unsupported requests are rejected. Another test compares with `netflow run`.

use std::fs;
use std::path::Path;

use netflow::evaluate::{Error, PeriodError, evaluate_with};
use netflow::prelude::*;
use netflow::scenario::{CompiledScenario, FileAccess};
use netflow_problems::SHARED_QUEUE;

fn scenario(directory: &Path) -> CompiledScenario {
    let path = directory.join("scenario.toml");
    fs::write(&path, SHARED_QUEUE).unwrap();
    let settings = ["simulation.duration=12 s", "simulation.warmup=1 s"].map(str::to_owned);
    netflow::evaluate::load(&path, &settings, FileAccess::BelowDirectory).unwrap()
}

#[test]
fn in_memory_series_equal_files() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario(place.path());
    for seeds in [1, 3] {
        let directory = place.path().join(format!("of-{seeds}"));
        let settings = Settings {
            seeds,
            keep_series: true,
            by_event: true,
            directory: Some(Directory::at(&directory)),
            ..Settings::default()
        };
        let evaluation = evaluate(&scenario, &settings).unwrap();
        assert_eq!(evaluation.end, End::Finished);
        let results = Results::open(&directory).unwrap();
        assert_eq!(results.summary, evaluation.summary);
        assert_eq!(
            (evaluation.summary.from_s, evaluation.summary.seeds),
            (1.0, seeds)
        );
        assert_eq!(evaluation.summary.periods.len(), 2);
        let series = evaluation.series.unwrap();
        // Files have seven digits, and times a resolution of one nanosecond.
        let close = |kept: f64, read: f64| (kept - read).abs() <= 1e-6 * kept.abs().max(1e-9);
        let (kept, read) = (series.links(&scenario.network), results.links().unwrap());
        assert_eq!((kept.len(), read.len()), (2 * 24, 2 * 24));
        for (kept, read) in kept.iter().zip(&read) {
            assert!(close(kept.time_s, read.time_s) && kept.link == read.link);
            assert!(close(kept.values.queue_pkts, read.values.queue_pkts));
        }
        let (kept, read) = (
            series.connections(&scenario.network),
            results.connections().unwrap(),
        );
        assert_eq!((kept.len(), read.len()), (2 * 24, 2 * 24));
        for (kept, read) in kept.iter().zip(&read) {
            assert!(close(kept.time_s, read.time_s) && kept.connection == read.connection);
            assert!(close(kept.values.goodput_pps, read.values.goodput_pps));
        }
    }
}

#[test]
fn evaluation_reports_progress_and_can_be_stopped() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario(place.path());
    for seeds in [1, 3] {
        let mut told = Vec::new();
        let settings = Settings {
            seeds,
            ..Settings::default()
        };
        evaluate_with(&scenario, &settings, &mut |part| told.push(part), &|| false).unwrap();
        assert!(told.is_sorted() && told.last().is_some_and(|last| (last - 1.0).abs() < 1e-9));
    }
    let stopped = evaluate_with(&scenario, &Settings::default(), &mut |_| {}, &|| true).unwrap();
    assert!(matches!(stopped.end, End::Stopped(_)), "{:?}", stopped.end);
    let several = Settings {
        seeds: 3,
        ..Settings::default()
    };
    let stopped = evaluate_with(&scenario, &several, &mut |_| {}, &|| true);
    assert!(matches!(stopped, Err(Error::Stopped(_))), "{stopped:?}");
}

#[test]
fn invalid_measurement_period_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario(place.path());
    let refused = |from_s, to_s| {
        let settings = Settings {
            from_s,
            to_s,
            ..Settings::default()
        };
        match evaluate(&scenario, &settings) {
            Err(Error::Period(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(
        refused(Some(12.0), None),
        PeriodError::AfterTheEnd { .. }
    ));
    assert!(matches!(
        refused(None, Some(13.0)),
        PeriodError::TooLong { .. }
    ));
    assert!(matches!(
        refused(Some(5.0), Some(5.0)),
        PeriodError::Empty { .. }
    ));
}

#[test]
fn rejected_simulation_leaves_no_files() {
    let place = tempfile::tempdir().unwrap();
    let mut scenario = scenario(place.path());
    // Congestion windows require the packet model.
    scenario.options.model = Model::FLUID;
    let settings = Settings {
        directory: Some(Directory::at(place.path().join("results"))),
        ..Settings::default()
    };
    let refused = evaluate(&scenario, &settings);
    assert!(
        matches!(refused, Err(Error::Run(RunError::BadOption { .. }))),
        "{refused:?}"
    );
    assert!(!place.path().join("results").exists());
}

/// The explanation includes the utilization and the loss of the interval that ends there.
#[test]
fn explanation_matches_rate_at_its_time() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario(place.path());
    let tcp = scenario.network.connection_by_name("tcp").unwrap();
    let at = |at_s| netflow::evaluate::explain(&scenario, tcp, at_s).unwrap();
    let start = at(0.0);
    assert_eq!((start.time_s, start.hops[0].utilization), (0.0, 0.0));
    // Two intervals, and twenty-four.
    for (at_s, every_s) in [(0.7, 0.35), (12.0, 0.5)] {
        let told = at(at_s);
        let settings = Settings {
            every_s,
            keep_series: true,
            ..Settings::default()
        };
        let series = evaluate(&scenario, &settings).unwrap().series.unwrap();
        let rows = series.links(&scenario.network);
        let near = |time_s: f64| (time_s - at_s).abs() < 1e-6;
        let row = rows
            .iter()
            .find(|row| near(row.time_s) && &*row.link == "a->b");
        let link = &row.unwrap().values;
        assert!(near(told.time_s) && link.utilization > 0.1, "{told:?}");
        let hop = &told.hops[0];
        let same = |told: f64, recorded: f64| {
            assert!((told - recorded).abs() < 1e-12, "{told} {recorded}")
        };
        same(hop.utilization, link.utilization);
        same(hop.loss_probability, link.loss_probability);
    }
}

/// A path with a BDP of 50 000 packets: without a warning, the default window would limit a sender
/// to a fifth of it unnoticed.
#[test]
fn limiting_default_window_is_warned() {
    let evaluated = |source: &str, rest: &str| {
        let text = format!(
            "[simulation]\nduration = \"2 s\"\nmodel = \"packet\"\n\n\
             [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"10 Gbit/s\"\ndelay = \"30 ms\"\nbuffer = \"200000 pkt\"\n\n\
             [[connection]]\nname = \"c\"\nfrom = \"A\"\nto = \"B\"\nsource = {source}\n{rest}"
        );
        let prepared =
            netflow::scenario::from_str("fat.toml", &text, "".as_ref(), &[] as &[String]);
        let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
        let told = |seeds| {
            let settings = Settings {
                seeds,
                ..Settings::default()
            };
            evaluate(&prepared, &settings).unwrap().warnings
        };
        let (one, several) = (told(1), told(2));
        assert_eq!(one, several);
        one
    };
    // A stack has a send buffer instead, and the path is outside the validated range.
    let of_stack = evaluated("{ tcp = \"linux-6\" }", "");
    assert!(
        of_stack.len() == 1 && of_stack[0].contains("outside the validated range"),
        "{of_stack:?}"
    );
    let source = "{ ns2-tcp = \"newreno\" }";
    let told = evaluated(source, "");
    let [warning] = &*told else {
        panic!("{source}: {told:?}")
    };
    assert!(
        warning.contains("10000 packets in flight, c first") && warning.contains("`max-window`"),
        "{warning}"
    );
    // No warning if the limit is explicit, or for a transfer of a few packets.
    assert_eq!(evaluated(source, "max-window = \"10000 pkt\"\n"), [""; 0]);
    assert_eq!(evaluated(source, "size = \"1 MB\"\n"), [""; 0]);
}

/// A home network with both directions full, compared with Linux 6.18 (`netflow compare
/// scenarios/home-gateway.toml --with linux --seeds 1`, twice with CUBIC and once with BBR for the
/// upload).
///
/// Acknowledgements wait behind the data of the other direction, so that the receiver's estimate of
/// the round-trip time limits its offered window. Regression: with the delay of data as the
/// estimate, BBR sent 20 % too little, and its queue had 5 packets instead of 474.
#[test]
fn bidirectional_home_gateway_matches_linux() {
    // Mean queues in packets, then goodputs in packets/s.
    for (congestion, linux) in [
        ("cubic", [462.0, 357.0, 1049.0, 92.7]),
        ("bbr", [474.0, 349.0, 1175.0, 87.5]),
    ] {
        let settings = [format!("connection.upload.source.congestion={congestion}")];
        let scenario = netflow::scenario::load("scenarios/home-gateway.toml".as_ref(), &settings);
        let settings = Settings {
            seeds: 4,
            ..Settings::default()
        };
        let summary = evaluate(&scenario.unwrap(), &settings).unwrap().summary;
        let queue = |name: &str| {
            let link = summary.links.iter().find(|it| it.link == name);
            link.unwrap().mean_queue_pkts
        };
        let goodput = |name: &str| {
            let connection = summary.connections.iter().find(|it| it.connection == name);
            connection.unwrap().mean_goodput_pps
        };
        let ours = [
            queue("gateway->ISP"),
            queue("ISP->gateway"),
            goodput("download"),
            goodput("upload"),
        ];
        for (ours, linux) in ours.iter().zip(linux) {
            let ratio = ours / linux;
            assert!((0.8..1.25).contains(&ratio), "{congestion}: {ours} {linux}");
        }
    }
}

/// Basis of the warning about `window = "cubic"`: over 600 ms it uses half of 20 Mbit/s, because it
/// repairs one lost packet per round trip. Reno, which has no losses after the start, and Linux's
/// CUBIC with SACK fill the link.
#[test]
fn cubic_without_sack_halves_long_path_throughput() {
    let text = "[simulation]\nduration = \"200 s\"\nwarmup = \"50 s\"\n\n\
                [[link]]\nfrom = \"A\"\nto = \"B\"\nbandwidth = \"20 Mbit/s\"\ndelay = \"300 ms\"\n\n\
                [[connection]]\nname = \"c\"\nfrom = \"A\"\nto = \"B\"\nsource = { ns2-tcp = \"reno\" }\n";
    let mbps = |source: &str| {
        let settings = [format!("connection.c.source={source}")];
        let prepared = netflow::scenario::from_str("long.toml", text, "".as_ref(), &settings);
        let found = evaluate(&prepared.unwrap(), &Settings::default()).unwrap();
        found.summary.connections[0].mean_goodput_pps * 12e-3
    };
    let [reno, cubic, linux] = [
        "{ ns2-tcp = \"reno\" }",
        "{ ns2-tcp = \"cubic\" }",
        "{ tcp = \"linux-6\" }",
    ]
    .map(mbps);
    assert!((8.0..12.0).contains(&cubic), "{cubic}");
    assert!(reno > 18.0 && linux > 16.0, "{reno} {linux}");
}
