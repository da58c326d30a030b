//! Each case equals the same case evaluated alone.

use std::collections::BTreeMap;

use netflow_network::{Change, EventSpec};
use netflow_results::{MeasurementWindow, Summary, SummaryRecorder, WithSummary};
use netflow_scenario::from_str;
use netflow_simulation::{Options, Simulation};
use netflow_steady::{SteadyOptions, solve};
use netflow_sweep::{Model, ScenarioLoader, Sweep, SweepRequest, WriteOptions};

use crate::common::{axes, load, request, sweep};

type Row = BTreeMap<String, String>;

/// Returns all rows of a table, in the order of cases.
fn table(sweep: &Sweep, name: &str) -> Vec<Row> {
    table_of(sweep, &load, name)
}

/// Returns all rows of a table for a scenario loaded with `load`.
fn table_of(sweep: &Sweep, load: &ScenarioLoader<'_>, name: &str) -> Vec<Row> {
    let place = tempfile::tempdir().unwrap();
    let writing = WriteOptions::default();
    sweep
        .write(place.path(), &writing, load, &mut |_| {}, &|| false)
        .unwrap();
    let files = crate::common::files(&place.path().join(name));
    let mut rows = Vec::new();
    for text in files.values() {
        let text = String::from_utf8(text.clone()).unwrap();
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        rows.extend(lines.map(|line| {
            let cells = line.split(',').map(str::to_owned);
            names
                .iter()
                .map(|name| (*name).to_owned())
                .zip(cells)
                .collect::<Row>()
        }));
    }
    rows
}

fn number(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap()
}

/// Regression test: the table had `4.0` for a count, which is not a valid `count`.
#[test]
fn cells_of_counts_can_be_set() {
    let key = "connection.c2.count";
    let sweep = sweep(SweepRequest {
        axes: axes(&["connection.c2.count=1..3/3"]),
        each_link_fails: false,
        ..request()
    });
    for (row, count) in table(&sweep, "network").iter().zip(["1", "2", "3"]) {
        assert_eq!(row[key], count);
        let set = [format!("{key}={}", row[key])];
        let case = sweep.cases().case(number(row, "case") as u64);
        assert_eq!(sweep.settings_of(&case), set);
        load(&set).unwrap();
    }
}

#[test]
fn steady_state_matches_its_settings() {
    let sweep = sweep(request());
    let links = table(&sweep, "links");
    let network = table(&sweep, "network");
    assert_eq!(network.len(), 60);
    for index in 0..60 {
        let case = sweep.cases().case(index);
        let scenario = load(&sweep.settings_of(&case)).unwrap();
        let mut builder = scenario.network.to_builder();
        if let Some(failed) = case.failed {
            let (link, back) = scenario.network.physical_links().nth(failed).unwrap();
            for link in [Some(link), back].into_iter().flatten() {
                builder.event(EventSpec {
                    at_s: 0.0,
                    link,
                    change: Change::Down,
                });
            }
        }
        let alone = builder.build().unwrap();
        let rest = solve(
            &alone,
            scenario.options.duration_s,
            &SteadyOptions::default(),
        )
        .unwrap();
        let row = &network[index as usize];
        assert_eq!(row["status"], "ok");
        assert_eq!(number(row, "goodput_bps"), rest.totals.goodput_bps);
        let of_case = links
            .iter()
            .filter(|row| number(row, "case") == index as f64);
        let utilizations: Vec<f64> = of_case.map(|row| number(row, "utilization")).collect();
        let expected: Vec<f64> = rest.links.iter().map(|link| link.utilization).collect();
        assert_eq!(utilizations, expected);
    }
    // Failures and settings have an effect.
    assert_eq!(network[1]["failed"], "A<->B");
    assert_eq!(network[3]["failed"], "A->C");
    assert_eq!(number(&network[59], "connection.c1.source.constant"), 3.5);
    assert_eq!(network[59]["link.*.buffer"], "50 ms");
    assert_ne!(network[0]["goodput_bps"], network[2]["goodput_bps"]);
}

/// After the failure of A->C, its demand is divided over both links from A to B. Earlier, one of them carried
/// all of it.
#[test]
fn failure_reassigns_demands() {
    const SCENARIO: &str = r#"
simulation = { duration = "5 s", ecmp = true }
link = [
    { from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "10 ms" },
    { from = "A", to = "B", circuit = "2", bandwidth = "10 Mbit/s", delay = "10 ms" },
    { from = "B", to = "C", bandwidth = "10 Mbit/s", delay = "10 ms" },
    { from = "A", to = "C", bandwidth = "10 Mbit/s", delay = "10 ms" },
]
demand = [{ from = "A", to = "C", rate = "4 Mbit/s", kind = "poisson" }]
"#;
    let load = |settings: &[String]| from_str("lab.toml", SCENARIO, ".".as_ref(), settings);
    let request = SweepRequest {
        axes: axes(&["simulation.demand-scale=1,2"]),
        ..request()
    };
    let sweep = Sweep::new(request, &load, &|| false).unwrap();
    assert_eq!(sweep.notes(), Vec::<String>::new());
    let rows = table_of(&sweep, &load, "links");
    let offered = |scale: &str, failed: &str, link: &str| {
        let of = |row: &&Row| {
            row["simulation.demand-scale"] == scale
                && row["failed"] == failed
                && row["link"] == link
        };
        number(rows.iter().find(of).unwrap(), "offered_bps")
    };
    for (scale, bps) in [("1", 2e6), ("2", 4e6)] {
        assert_eq!(offered(scale, "", "A->B"), 0.0);
        for link in ["A->B", "A->B#2"] {
            let error = offered(scale, "A<->C", link) / bps - 1.0;
            assert!(error.abs() < 1e-9, "{link}: {error}");
        }
    }
}

#[test]
fn run_matches_its_seed() {
    let sweep = sweep(SweepRequest {
        axes: axes(&["link.B->C.bandwidth=2..3 Mbit/s/2"]),
        settings: vec!["connection.c2.source={ ns2-tcp = \"reno\" }".to_owned()],
        model: Model::Packets,
        seeds: 3,
        each_link_fails: false,
        ..request()
    });
    let rows = table(&sweep, "connections");
    for index in 0..6 {
        let case = sweep.cases().case(index);
        let scenario = load(&sweep.settings_of(&case)).unwrap();
        let options = Options {
            seed: scenario.options.seed + case.seed,
            ..scenario.options
        };
        let mut simulation = Simulation::new(scenario.network.clone(), options).unwrap();
        let mut watched = WithSummary {
            recorder: NullRecorder,
            summary_recorder: SummaryRecorder::new(
                MeasurementWindow::whole(options.duration_s),
                &scenario.network,
                &|| false,
            ),
        };
        simulation.run(0.5, &mut watched, || false).unwrap();
        let summary: Summary = watched
            .summary_recorder
            .finish(&mut simulation, Vec::new())
            .unwrap()
            .0;
        let of_case = rows
            .iter()
            .filter(|row| number(row, "case") == index as f64);
        let goodputs: Vec<f64> = of_case.map(|row| number(row, "mean_goodput_pps")).collect();
        let expected: Vec<f64> = summary
            .connections
            .iter()
            .map(|it| it.mean_goodput_pps)
            .collect();
        assert_eq!(goodputs, expected);
        let seeds = rows
            .iter()
            .filter(|row| number(row, "seed") == options.seed as f64);
        assert_eq!(seeds.count(), 2 * 2);
    }
}

struct NullRecorder;

impl netflow_simulation::Recorder for NullRecorder {
    type Error = std::convert::Infallible;

    fn interval(&mut self, _: &netflow_simulation::Interval<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// An invalid case has a row with the reason.
#[test]
fn case_without_result_has_a_row() {
    let sweep = sweep(SweepRequest {
        settings: vec![
            "link.A->B.queue={ discipline = \"red\", min = \"5 pkt\", max = \"15 pkt\" }"
                .to_owned(),
        ],
        axes: axes(&[
            "link.A->B.queue.min=5 pkt,10 pkt",
            "link.A->B.queue.max=15 pkt,8 pkt",
        ]),
        each_link_fails: false,
        ..request()
    });
    let rows = table(&sweep, "network");
    let status: Vec<&str> = rows.iter().map(|row| row["status"].as_str()).collect();
    assert_eq!(status[..3], ["ok"; 3]);
    assert!(status[3].contains("`max` is 8 pkt"), "{}", status[3]);
    let links = table(&sweep, "links");
    assert!(links.iter().all(|row| number(row, "case") < 3.0));
}
