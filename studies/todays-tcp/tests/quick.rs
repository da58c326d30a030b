//! The claims of the page hold, it matches the measurements, and the model reproduces its results.

use std::path::Path;
use std::process::Command;

use netflow_needs::{Need, skip};
use study_todays_tcp::cell::{CONGESTION, cells};
use study_todays_tcp::model;
use study_todays_tcp::page::{Count, Study, page};
use study_todays_tcp::row;
use study_todays_tcp::verdict::{QUEUE_ERROR, Rule};

fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn study() -> Study {
    Study::read(directory()).unwrap()
}

#[test]
fn page_matches_recorded_results() {
    let written = std::fs::read_to_string(directory().join("README.md")).unwrap();
    assert_eq!(
        written,
        page(&study()),
        "the study's command writes it again"
    );
}

/// Every experiment has been measured and modelled.
#[test]
fn no_cell_is_missing() {
    assert_eq!(study().cells().len(), cells().len());
}

/// Evaluates some experiments again.
#[test]
fn model_results_are_reproduced() {
    let modelled = row::read(&directory().join("modelled.csv")).unwrap();
    for cell in cells().iter().step_by(23) {
        let again = model::run(cell, 1).unwrap();
        let before = modelled
            .iter()
            .find(|row| row.cell == *cell && row.found.repetition == 1);
        assert_eq!(
            Some(&again),
            before,
            "the study's command models all cells again"
        );
    }
}

/// Number of experiments in which each rule holds; it must not decrease.
#[test]
fn accuracy_criteria_still_hold() {
    let study = study();
    for congestion in CONGESTION {
        let queue = study.queue_error(congestion, false);
        assert!(queue <= 0.6 * QUEUE_ERROR, "{congestion}: {queue}");
        for rule in Rule::ALL {
            let Count {
                by_limit,
                held,
                all,
            } = study.holds(congestion, rule);
            println!("{congestion} {rule:?}: {held} ({by_limit}) of {all}");
            let (least_by_limit, least) = match rule {
                Rule::Utilization => (0.8, 0.94),
                Rule::Loss => (0.72, 0.85),
                Rule::Jain => (0.74, 0.85),
                Rule::Overshoot => (0.5, 0.8),
                Rule::Share => (0.0, 0.0),
            };
            for (held, least) in [(by_limit, least_by_limit), (held, least)] {
                assert!(
                    held as f64 >= least * all as f64,
                    "{congestion} {rule:?}: {held} of {all}"
                );
            }
        }
    }
    let Count { by_limit, all, .. } = study.shares();
    assert!(by_limit + 1 >= all, "shares: {by_limit} of {all}");
}

#[test]
fn a_cell_can_be_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_study-todays-tcp"))
        .arg("--quick")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if text.contains("skipped") || errors.contains("not available") {
        skip(Need::Namespaces, &text);
        return;
    }
    assert!(output.status.success(), "{text}{errors}");
    if text.contains("inconclusive") {
        skip(Need::Quiet, &text);
        return;
    }
    assert!(
        text.contains("congestion: \"reno\"") && text.contains("passed"),
        "{text}{errors}"
    );
}
