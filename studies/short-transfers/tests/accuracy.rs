//! Simulated transfers match measured ones, and the page matches the models.

use study_short_transfers::models::{self, EvaluatedRow, TRIALS};
use study_short_transfers::page::{formula_cells, line, question_cells};
use study_short_transfers::reference::{self, Row};
use study_short_transfers::root;

const PAGE: &str = include_str!("../README.md");

fn ns2() -> Vec<Row> {
    let rows = reference::ns2(&root()).unwrap();
    assert_eq!(rows.len(), 168);
    rows
}

fn linux() -> Vec<Row> {
    let rows = reference::linux(&root()).unwrap();
    assert_eq!(rows.len(), 144);
    rows
}

/// Returns mean absolute relative errors: of the mean at up to 5 % loss and above, and of the
/// median at up to 2 %. Fewer transfers than on the page suffice, because their random variation is
/// small compared with that of the measurements.
fn errors(rows: Vec<Row>) -> [f64; 3] {
    let mut sums = [(0.0, 0); 3];
    let mut add = |i: usize, played_s: f64, measured_s: f64| {
        sums[i].0 += (played_s / measured_s - 1.0).abs();
        sums[i].1 += 1;
    };
    for row in rows {
        let EvaluatedRow { row, delivered, .. } = models::evaluate_row(row, 4000).unwrap();
        let many = usize::from(row.loss > 0.05);
        add(many, delivered.mean_s, row.delivered.mean_s);
        if row.loss <= 0.02 {
            add(2, delivered.median_s, row.delivered.median_s);
        }
    }
    sums.map(|(sum, rows)| sum / f64::from(rows))
}

#[test]
fn simulated_transfer_times_match_ns2() {
    let [few, many, median] = errors(ns2());
    assert!(few <= 0.05, "{few}");
    assert!(many <= 0.12, "{many}");
    assert!(median <= 0.03, "{median}");
}

#[test]
fn simulated_transfer_times_match_linux() {
    let [few, many, median] = errors(linux());
    assert!(few <= 0.05, "{few}");
    assert!(many <= 0.12, "{many}");
    assert!(median <= 0.03, "{median}");
}

/// The page contains every row, with the results of the formulas.
#[test]
fn the_page_has_every_row() {
    for row in ns2().into_iter().chain(linux()) {
        let begin = format!("| {} | ", question_cells(&row));
        let end = format!(
            " | {} |",
            formula_cells(&row, &models::formulas(&row).unwrap())
        );
        let found = PAGE
            .lines()
            .any(|line| line.starts_with(&begin) && line.ends_with(&end));
        assert!(found, "{begin}…{end}");
    }
}

/// The simulated results on the page are reproduced, where that is fast.
#[test]
fn simulated_results_of_page_are_reproduced() {
    let mut lines = 0;
    for row in ns2().into_iter().chain(linux()) {
        if row.loss != 0.02 || row.packets > 6 || row.delay_s < 0.05 {
            continue;
        }
        let line = line(&models::evaluate_row(row, TRIALS).unwrap());
        assert!(PAGE.contains(&format!("\n{line}\n")), "{line}");
        lines += 1;
    }
    assert_eq!(lines, 4 + 6);
}
