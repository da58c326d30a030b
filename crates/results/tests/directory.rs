//! Tests that a results directory is written, read back, replaced and rejected.

use netflow_simulation::Run;
use std::fs;
use std::path::Path;

use netflow_results::{Error, Format, Manifest, Results, Stop, Summary, Writer, std_of};
use netflow_simulation::{
    FluidOptions, ModelName, Network, NetworkBuilder, Options, Simulation, Source, Step,
};

/// Returns `a -- b` with 100 packets/s and one constant source of 40 packets/s named `x,"y"`.
fn network() -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(netflow_problems::link(from, to, 800_000.0, 0.01, 50.0));
    }
    builder.connection(netflow_problems::one_way(
        "x,\"y\"",
        a,
        b,
        Source::Constant { rate_pps: 40.0 },
    ));
    builder.build().unwrap()
}

fn manifest(
    simulation: &Simulation,
    writer: &Writer,
    format: Format,
    stop: Option<Stop>,
) -> Manifest {
    Manifest {
        program: "netflow".to_owned(),
        version: "0".to_owned(),
        format_version: Manifest::FORMAT_VERSION,
        scenario: "x.toml".to_owned(),
        digest: "0".to_owned(),
        sources: vec!["x.toml".to_owned()],
        scenario_copy: None,
        overrides: Vec::new(),
        allow_outside: false,
        seed: 1,
        seeds: 1,
        options: *simulation.options(),
        interval_s: 0.5,
        from_s: 0.0,
        to_s: None,
        format,
        files: writer.files(),
        events: Vec::new(),
        steps: simulation.steps(),
        threads: 1,
        wall_time_s: 0.0,
        complete: stop.is_none(),
        stop,
    }
}

/// Runs for 10 s with intervals of 0.5 s.
fn run(directory: &Path, format: Format, classes: bool) -> Result<Summary, Error> {
    let network = network();
    let mut writer = Writer::create(directory, &network, format, classes)?;
    let options = Options {
        duration_s: 10.0,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    simulation
        .run(0.5, &mut writer, || false)
        .map_err(|error| match error {
            netflow_simulation::RunError::Record(error) => error,
            other => panic!("{other}"),
        })?;
    let summary = Summary::of(&simulation, vec!["careful".to_owned()]);
    let manifest = manifest(&simulation, &writer, format, None);
    writer.finish(&summary, &manifest)?;
    Ok(summary)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn all_formats_read_back_equal() {
    let mut read = Vec::new();
    for format in Format::ALL
        .into_iter()
        .filter(|format| format.is_available())
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made/on/the/way");
        let summary = run(&path, format, true).unwrap();
        let results = Results::open(&path).unwrap();
        assert_eq!(results.summary, summary);
        assert!(results.manifest.complete);
        assert_eq!(results.manifest.files[0], format!("links.{format}"));
        let (links, connections) = (results.links().unwrap(), results.connections().unwrap());
        assert_eq!((links.len(), connections.len()), (40, 20));
        assert_eq!(links[39].time_s, 10.0);
        assert_eq!(&*links[38].link, "a->b");
        assert_eq!(&*connections[0].connection, "x,\"y\"");
        let classes = results.classes().unwrap().unwrap();
        assert!(!classes.is_empty());
        read.push((links, connections, classes));
    }
    for pair in read.windows(2) {
        for (a, b) in pair[0].0.iter().zip(&pair[1].0) {
            assert_eq!((a.time_s, &a.link), (b.time_s, &b.link));
            let gap = (a.values.queue_pkts - b.values.queue_pkts).abs();
            assert!(gap <= 1e-6 * a.values.queue_pkts, "{a:?} {b:?}");
        }
    }
}

#[test]
fn directory_contains_network_json() {
    let directory = tempfile::tempdir().unwrap();
    let network = network();
    let mut writer = Writer::create(directory.path(), &network, Format::Csv, false).unwrap();
    let b = network.nodes().nth(1).unwrap();
    writer
        .topology()
        .set_node_details(b, Some("Bonn".to_owned()), Some((7.1, 50.7)));
    let simulation = Simulation::new(network, Options::default()).unwrap();
    let manifest = manifest(&simulation, &writer, Format::Csv, None);
    let summary = Summary::of(&simulation, Vec::new());
    writer.finish(&summary, &manifest).unwrap();

    let results = Results::open(directory.path()).unwrap();
    let topology = results.topology().unwrap().unwrap();
    assert_eq!(topology.nodes[0].position, None);
    assert_eq!(topology.nodes[1].label.as_deref(), Some("Bonn"));
    assert_eq!(topology.nodes[1].position, Some((7.1, 50.7)));
    let link = &topology.links[0];
    assert_eq!((&*link.link, &*link.from, &*link.to), ("a->b", "a", "b"));
    assert_eq!((link.bandwidth_bps, link.buffer_pkts), (800_000.0, 50.0));
    let connection = &topology.connections[0];
    assert_eq!(connection.source, "constant rate");
    assert_eq!(
        (&*connection.path, &*connection.return_path),
        (&[0][..], &[1][..])
    );
    fs::remove_file(directory.path().join("network.json")).unwrap();
    assert!(results.topology().unwrap().is_none());
}

#[test]
fn columns_match_documentation() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), Format::Csv, true).unwrap();
    let header = |name: &str| {
        let text = fs::read_to_string(directory.path().join(name)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        header("links.csv"),
        "time_s,link,arrival_pps,departure_pps,queue_pkts,loss_probability,utilization,sojourn_time_s"
    );
    assert_eq!(
        header("connections.csv"),
        "time_s,connection,send_pps,goodput_pps,rtt_s,loss_probability,delay_s"
    );
    assert_eq!(
        header("classes.csv"),
        "time_s,link,connection,queue_pkts,arrival_pps"
    );
}

#[test]
fn own_files_are_replaced_and_foreign_files_kept() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    fs::write(
        directory.path().join(".links.csv.partial"),
        "left by a killed run",
    )
    .unwrap();
    run(directory.path(), Format::Csv, true).unwrap();
    run(directory.path(), Format::Jsonl, false).unwrap();
    let kept = [
        "connections.jsonl",
        "links.jsonl",
        "manifest.json",
        "network.json",
        "notes.txt",
        "summary.json",
    ];
    assert_eq!(names(directory.path()), kept);
    assert!(
        Results::open(directory.path())
            .unwrap()
            .classes()
            .unwrap()
            .is_none()
    );
}

#[test]
fn early_stop_is_recorded_in_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let network = network();
    let mut writer = Writer::create(directory.path(), &network, Format::Csv, false).unwrap();
    let mut simulation = Simulation::new(network, Options::default()).unwrap();
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    simulation.run(0.5, &mut writer, stop).unwrap();
    let stop = Stop {
        stopped_at_s: simulation.time_s(),
        reason: "interrupted".to_owned(),
    };
    let manifest = manifest(&simulation, &writer, Format::Csv, Some(stop.clone()));
    writer
        .finish(&Summary::of(&simulation, Vec::new()), &manifest)
        .unwrap();

    let json = fs::read_to_string(directory.path().join("manifest.json")).unwrap();
    assert!(
        json.contains("\"complete\": false") && json.contains("\"stopped_at_s\": "),
        "{json}"
    );
    let results = Results::open(directory.path()).unwrap();
    assert_eq!(results.manifest.stop, Some(stop));
    let last = results.links().unwrap().last().unwrap().time_s;
    assert!(last > 0.0 && last <= results.summary.duration_s + 1e-9);
}

/// Regression: two runs that wrote into one directory left a mixture that was marked as complete.
#[test]
fn directory_is_locked_by_one_run() {
    let directory = tempfile::tempdir().unwrap();
    let claim = netflow_files::DirectoryLock::acquire(directory.path()).unwrap();
    let error = run(directory.path(), Format::Csv, false).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains("another run is writing to"));
    assert_eq!(names(directory.path()), Vec::<String>::new());
    drop(claim);
    run(directory.path(), Format::Csv, false).unwrap();
}

/// The sum of an empty list is -0.
#[test]
fn blocked_pkts_without_outage_are_positive_zero() {
    let directory = tempfile::tempdir().unwrap();
    let summary = run(directory.path(), Format::Csv, false).unwrap();
    let blocked = summary.connections[0].unrouted_pkts;
    assert!(blocked == 0.0 && blocked.is_sign_positive(), "{blocked}");
}

#[test]
fn leftovers_of_killed_runs_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(".links.csv.Ab12Cd.partial"), "half").unwrap();
    fs::write(directory.path().join(".mine.partial"), "").unwrap();
    run(directory.path(), Format::Csv, false).unwrap();
    let hidden: Vec<String> = names(directory.path())
        .into_iter()
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(hidden, [".mine.partial"]);
}

#[test]
fn file_at_directory_path_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        run(&file, Format::Csv, false),
        Err(Error::MakeDirectory { .. })
    ));
    assert!(matches!(
        run(&file.join("below"), Format::Csv, false),
        Err(Error::MakeDirectory { .. })
    ));
    fs::create_dir(directory.path().join("links.csv")).unwrap();
    assert!(matches!(
        run(directory.path(), Format::Csv, false),
        Err(Error::Write { .. })
    ));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_says_how_to_get_it() {
    let directory = tempfile::tempdir().unwrap();
    let error = run(directory.path(), Format::Parquet, false).unwrap_err();
    assert!(error.to_string().contains("--features parquet"), "{error}");
    assert!(names(directory.path()).is_empty());
}

#[test]
fn malformed_files_are_reported_with_line() {
    let cases = [
        (
            "links.csv",
            "time_s,link\n",
            "links.csv:1: missing column `arrival_pps`",
        ),
        (
            "links.csv",
            "time_s,link,arrival_pps,departure_pps,queue_pkts,loss_probability,utilization\n1,a,1,1,one,1,1\n",
            "links.csv:2: `one` in queue_pkts is not a number",
        ),
        (
            "links.csv",
            "time_s,link,arrival_pps,departure_pps,queue_pkts,loss_probability,utilization\n1,a,1,1\n",
            "links.csv:2: ",
        ),
        (
            "summary.json",
            "{\n  \"duration_s\": 60,\n",
            "summary.json:",
        ),
        (
            "manifest.json",
            "{}",
            "manifest.json:1: missing field `program`",
        ),
    ];
    for (name, text, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        run(directory.path(), Format::Csv, false).unwrap();
        fs::write(directory.path().join(name), text).unwrap();
        let error = Results::open(directory.path())
            .and_then(|results| results.links())
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        Results::open(empty.path()),
        Err(Error::NoResults { .. })
    ));
}

/// Columns that earlier versions did not write are empty. They are not an error.
#[test]
fn newer_columns_are_optional() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), Format::Csv, false).unwrap();
    let file = directory.path().join("links.csv");
    let earlier: String = fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(|line| line.split(',').take(7).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    assert!(earlier.starts_with("time_s,") && earlier.contains(",utilization\n"));
    fs::write(&file, earlier).unwrap();
    let rows = Results::open(directory.path()).unwrap().links().unwrap();
    assert!(rows.iter().all(|row| row.values.sojourn_time_s.is_none()));
}

/// Options of earlier versions have more keys, and may have error-controlled steps.
#[test]
fn options_of_earlier_versions_are_read() {
    let text = r#"{ "duration_s": 60.0, "model": "fluid", "transport": "well-mixed", "coupling": "implicit",
        "step": { "adaptive": { "tolerance": 1e-3, "min_s": 1e-3, "max_s": 0.02 } },
        "seed": 1, "burstiness_interval_s": 0.1 }"#;
    let options: Options = serde_json::from_str(text).unwrap();
    let step = Step::auto(0.02);
    assert_eq!(options.model, FluidOptions::Standard { step }.into());
}

/// Directories of netflow 0.1 have other names.
#[test]
fn format_1_is_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    let results = Results::open(&directory).unwrap();
    let (manifest, summary) = (&results.manifest, &results.summary);
    assert_eq!(manifest.format_version, 1);
    assert_eq!(manifest.interval_s, 0.5);
    assert_eq!(
        manifest.scenario_copy.as_deref(),
        Some("scenario/small.toml")
    );
    assert_eq!(summary.model, ModelName::Packets);
    let link = &summary.links[0];
    assert_eq!(link.sojourn_time_s, Some(0.030295626865954356));
    assert_eq!(std_of(&link.spread, "sojourn_time_s"), Some(0.001));
    assert_eq!(link.at_capacity_s, Some(0.0));
    assert!(link.loss_is_size_dependent);
    let connection = &summary.connections[0];
    assert_eq!(connection.unrouted_intervals_s, [(1.0, 1.5)]);
    assert_eq!(connection.generated_pkts, Some(300.0));
    assert_eq!(connection.in_network_pkts, 6.0);
    assert_eq!(connection.extrapolated_fraction, 0.25);
    assert_eq!(connection.unreliable_fraction, 0.125);
    assert_eq!(connection.profile_use.as_deref(), Some("extrapolated"));
    let users = &summary.workloads[0];
    assert_eq!((users.arrived, users.finished), (6, 6));
    assert_eq!(users.waits[0].clusters.len(), 2);
    let topology = results.topology().unwrap().unwrap();
    assert_eq!(topology.links[0].buffer_pkts, 20.0);
    let delay_s = results.links().unwrap()[0].values.sojourn_time_s;
    assert!(delay_s.is_some_and(|it| it > 0.0), "{delay_s:?}");
    let totals = results.network_totals().unwrap().unwrap();
    assert_eq!(totals[0].values.mean, 9.5);

    // A new run removes the files of the former names.
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    run(place.path(), Format::Csv, false).unwrap();
    let results = Results::open(place.path()).unwrap();
    assert_eq!(results.network_totals().unwrap(), None);
}

#[test]
fn later_formats_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), Format::Csv, false).unwrap();
    let path = directory.path().join(Manifest::FILE);
    let text = fs::read_to_string(&path).unwrap();
    let later = text.replace("\"format_version\": 2", "\"format_version\": 3");
    assert_ne!(later, text);
    fs::write(&path, later).unwrap();
    let error = Results::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("update netflow"), "{error}");
}
