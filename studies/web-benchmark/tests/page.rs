//! The page matches the measurements and predictions, and all criteria hold.

use std::path::Path;

use netflow_testbed::Outcome;
use study_web_benchmark::page::{Study, page};

fn study() -> Study {
    Study::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Repeats the predictions of recorded measurements: medians within 5 %, means within 15 %, 95th
/// percentiles within 25 %, and all other criteria of the page.
#[test]
fn criteria_hold() {
    let study = study();
    let checks = study.checks();
    assert_eq!(checks.len(), 82);
    for check in checks {
        assert_eq!(check.outcome, Outcome::Passed, "{}", check.what);
    }
}

#[test]
fn page_matches_measurements() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let written = std::fs::read_to_string(path).unwrap();
    assert_eq!(written, page(&study()), "`-- --page` writes it again");
}
