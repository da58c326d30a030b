//! Scenarios with what is known about them besides.

use std::path::{Path, PathBuf};

use netflow_files::{Kind, read_text};
use netflow_results::Manifest;
use netflow_scenario::changes::Version;
use netflow_scenario::{Prepared, Problems, Reach, load_within};
use serde::Deserialize;

/// Reads and checks a scenario. One that an older version kept beside its results is read as that
/// version would have, as defaults may have changed since.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &Path, overrides: &[String], reach: Reach) -> Result<Prepared, Problems> {
    // What is asked for comes after it, and counts.
    let mut all: Vec<String> = older_keeper(path).into_iter().collect();
    all.extend_from_slice(overrides);
    load_within(path, &all, reach)
}

/// The warnings of a scenario, each with its place, as its summary keeps them.
pub fn warning_texts(scenario: &Prepared) -> Vec<String> {
    let warnings = scenario.warnings.iter();
    warnings
        .map(|warning| warning.at() + &warning.message)
        .collect()
}

/// What the manifest of a run says of the copy of its scenario that it keeps.
#[derive(Deserialize)]
struct Keeper {
    version: String,
    kept: Option<PathBuf>,
}

/// As what the version is set that kept this file beside its results, if it was an older one.
fn older_keeper(path: &Path) -> Option<String> {
    // However it is named, and from wherever.
    let path = path.canonicalize().ok()?;
    path.ancestors().skip(1).find_map(|results| {
        let manifest = read_text(&results.join(Manifest::FILE), Kind::Summary).ok()?;
        let keeper: Keeper = serde_json::from_str(&manifest).ok()?;
        let is_older = keeper.version.parse::<Version>().ok()? < Version::current();
        let is_kept = results.join(keeper.kept?).canonicalize().ok()? == path;
        (is_older && is_kept).then(|| format!("simulation.written-for={:?}", keeper.version))
    })
}
