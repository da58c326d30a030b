//! The page matches the recorded runs, netflow still gives them, and a few experiments are repeated
//! in ns-3.

use std::path::Path;

use netflow_compare::Ns3;
use netflow_needs::{Need, skip};
use netflow_scenario::CompiledScenario;
use study_managed_queues::ablation;
use study_managed_queues::cell::{Cell, Queue, Set, cells};
use study_managed_queues::page::{both, page};
use study_managed_queues::row::{self, ABLATIONS, LINUX, NETFLOW, NS3, Row, System};
use study_managed_queues::run::{SEEDS, netflow, run_reference, settings};
use study_managed_queues::verdict::{ComparedCell, Measure, Sums};

fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows(name: &str) -> Vec<Row> {
    row::read(&directory().join(name)).unwrap()
}

#[test]
fn page_matches_recorded_runs() {
    let written = std::fs::read_to_string(directory().join("README.md")).unwrap();
    let again = page(directory()).unwrap();
    assert_eq!(written, again, "the study's command writes it again");
}

#[test]
fn no_run_is_missing() {
    let (own, other) = (rows(NETFLOW), rows(NS3));
    for cell in Set::ALL.into_iter().flat_map(cells) {
        for seed in 0..SEEDS {
            let known = |rows: &[Row], who| rows.iter().any(|row| row.is(&cell, who, seed));
            let name = cell.name();
            assert!(
                known(&own, System::Netflow) && known(&other, System::Ns3),
                "{name}"
            );
        }
    }
}

/// Repeats some experiments in netflow.
#[test]
fn netflow_results_are_reproduced() {
    let before = rows(NETFLOW);
    for cell in Set::ALL.into_iter().flat_map(cells).step_by(11) {
        let again = netflow(&cell, 1).unwrap();
        let before = before.iter().find(|row| row.is(&cell, System::Netflow, 1));
        let why = "the study's command runs all cells again";
        assert_eq!(Some(&again), before, "{}: {why}", cell.name());
    }
}

/// Compares with ns-3 with modified senders, and with Linux, for equivalent senders.
#[test]
fn accuracy_criteria_still_hold() {
    let with = |name: &str| [rows(name), rows(NETFLOW)].concat();
    let ablations = with(ABLATIONS);
    for set in [Set::Grid, Set::Test] {
        let all = both(&ablations, set);
        let error = |measure| Sums::of(all.iter(), measure).error().unwrap();
        for (measure, most) in [
            (Measure::Queue, 0.10),
            (Measure::Utilization, 0.02),
            (Measure::Loss, 0.12),
            (Measure::Jain, 0.02),
            (Measure::Delay, 0.05),
        ] {
            let found = error(measure);
            println!("{} {}: {found}", set.name(), measure.name());
            assert!(found < most, "{}, {}: {found}", set.name(), measure.name());
        }
    }
    let linux = with(LINUX);
    let known = |cell: &Cell| ComparedCell::of(cell, &linux, System::Linux);
    let all: Vec<ComparedCell> = cells(Set::Grid).iter().filter_map(known).collect();
    for (measure, most) in [
        (Measure::Queue, 0.08),
        (Measure::Utilization, 0.02),
        (Measure::Loss, 0.05),
        (Measure::Marks, 0.05),
    ] {
        let found = Sums::of(all.iter(), measure).error().unwrap();
        println!("Linux {}: {found}", measure.name());
        assert!(found < most, "Linux, {}: {found}", measure.name());
    }
}

/// Repeats Reno's experiments of the grid with ECN in ns-3, with one seed.
#[test]
fn ns3_results_are_reproduced() {
    let simulator = match Ns3::find() {
        Ok(simulator) => simulator,
        Err(error) => return skip(Need::Ns3, &error.to_string()),
    };
    let few: Vec<Cell> = cells(Set::Grid)
        .into_iter()
        .filter(|cell| cell.stack == "reno" && cell.ecn)
        .collect();
    assert_eq!(few.len(), Queue::ALL.len());
    let scenarios: Vec<CompiledScenario> =
        few.iter().map(|cell| cell.prepared(&[]).unwrap()).collect();
    let all: Vec<&CompiledScenario> = scenarios.iter().collect();
    simulator
        .compile(&all, &settings(), &ablation::change, &|| false)
        .unwrap();
    for (cell, scenario) in few.iter().zip(&scenarios) {
        let run = run_reference(&simulator, System::Ns3, cell, scenario, 0).unwrap();
        let rows = [run.unwrap(), netflow(cell, 0).unwrap()];
        let both = ComparedCell::of(cell, &rows, System::Ns3).unwrap();
        for (measure, most) in [
            (Measure::Queue, 0.15),
            (Measure::Utilization, 0.03),
            (Measure::Marks, 0.3),
            (Measure::Jain, 0.05),
            (Measure::Delay, 0.15),
        ] {
            let pair = both.pair(measure);
            let off = pair.error().abs() / pair.reference.mean;
            let what = format!("{}, {}", cell.description(), measure.name());
            println!("{what}: {off}");
            assert!(off < most, "{what}: {pair:?}");
        }
    }
}
