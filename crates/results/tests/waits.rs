//! Tests that the response times of users are written and read back.

use netflow_results::{Format, Manifest, Results, Summary, WaitRow, Writer};
use netflow_simulation::Run;
use netflow_simulation::{
    Model, Network, NetworkBuilder, Options, ResponseEvent, Simulation, UserStats, WindowSource,
    WorkloadSpec,
};
use netflow_workload::{Application, Http, Telnet};

/// Returns a network with two kinds of users between `a` and `b`.
fn network() -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(netflow_problems::link(from, to, 1e7, 0.01, 50.0));
    }
    for (name, application) in [
        ("web, mostly", Application::Http(Http::default())),
        ("terminals", Application::Telnet(Telnet::default())),
    ] {
        builder.workload(WorkloadSpec {
            source: Some(WindowSource::default()),
            ..netflow_problems::workload(name, application, 1.0, [a, b])
        });
    }
    builder.build().unwrap()
}

fn experiences(network: &Network, seed: u64) -> (Simulation, Vec<UserStats>) {
    let options = Options {
        duration_s: 20.0,
        model: Model::PACKETS,
        seed,
    };
    let mut simulation = Simulation::new(network.clone(), options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    let experiences = simulation.experiences(&|| false).unwrap();
    (simulation, experiences)
}

#[test]
fn waits_of_all_seeds_have_rows() {
    let network = network();
    let (simulation, first) = experiences(&network, 1);
    let seeds = [first, experiences(&network, 2).1];
    for format in [Format::Csv, Format::Jsonl] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(directory.path(), &network, format, false).unwrap();
        assert!(writer.files().contains(&format!("waits.{format}")));
        writer.waits(&seeds).unwrap();
        let mut summary = Summary::of(&simulation, Vec::new());
        summary.add_users(&network, &seeds);
        let manifest = Manifest {
            program: "netflow".to_owned(),
            version: "0".to_owned(),
            format_version: Manifest::FORMAT_VERSION,
            scenario: "x.toml".to_owned(),
            digest: "0".to_owned(),
            sources: Vec::new(),
            scenario_copy: None,
            overrides: Vec::new(),
            allow_outside: false,
            seed: 1,
            seeds: 2,
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
            complete: true,
            stop: None,
        };
        writer.finish(&summary, &manifest).unwrap();

        let results = Results::open(directory.path()).unwrap();
        assert_eq!(results.summary.workloads, summary.workloads);
        let rows = results.waits().unwrap().unwrap();
        assert!(rows.is_sorted_by(|a, b| a.time_s <= b.time_s));
        let all = || seeds.iter().flatten();
        assert_eq!(rows.len(), all().map(|one| one.waits.len()).sum::<usize>());
        for (w, users) in results.summary.workloads.iter().enumerate() {
            for wait in &users.waits {
                let mine =
                    |row: &&WaitRow| *row.workload == *users.workload && *row.wait == *wait.wait;
                let waits_s: Vec<f64> = rows
                    .iter()
                    .filter(mine)
                    .map(|row| row.values.wait_s)
                    .collect();
                assert_eq!(waits_s.len() as u64, wait.times.count);
                // The series has seven significant digits.
                let mean_s = waits_s.iter().sum::<f64>() / waits_s.len() as f64;
                assert!((mean_s / wait.times.mean_s - 1.0).abs() < 1e-6);
            }
            let arrived: u64 = seeds.iter().map(|seed| seed[w].arrived).sum();
            assert_eq!(users.arrived, arrived);
        }
        let echoes = rows
            .iter()
            .filter(|row| &*row.wait == ResponseEvent::Echo.name());
        assert!(echoes.clone().count() > 100);
        assert!(echoes.clone().all(|row| &*row.workload == "terminals"));
        assert!(
            echoes
                .clone()
                .any(|row| row.values.run == 1.0 && row.values.user > 0.0)
        );
    }
}

/// Without users, the file does not exist.
#[test]
fn network_without_users_has_no_waits() {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    builder.link(netflow_problems::link(a, b, 1e7, 0.01, 50.0));
    let network = builder.build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let writer = Writer::create(directory.path(), &network, Format::Csv, false).unwrap();
    assert!(!writer.files().iter().any(|file| file.starts_with("waits")));
}
