//! Loading of scenarios, including copies kept by older versions.

use std::path::{Path, PathBuf};

use netflow_files::{FileKind, read_text};
use netflow_results::Manifest;
use netflow_scenario::default_changes::Version;
use netflow_scenario::{CompiledScenario, FileAccess, Problems, load_within};
use serde::Deserialize;

/// Reads and checks a scenario. A copy that an older version kept with its results is read with the
/// defaults of that version.
///
/// # Errors
/// All problems of the scenario.
pub fn load(
    path: &Path,
    overrides: &[String],
    reach: FileAccess,
) -> Result<CompiledScenario, Problems> {
    // The user's options come later, so that they take precedence.
    let mut all: Vec<String> = older_version_setting(path).into_iter().collect();
    all.extend_from_slice(overrides);
    load_within(path, &all, reach)
}

/// Returns the warnings of a scenario with their positions, as the summary stores them.
pub fn warning_texts(scenario: &CompiledScenario) -> Vec<String> {
    let warnings = scenario.warnings.iter();
    warnings
        .map(|warning| warning.location() + &warning.message)
        .collect()
}

/// Part of a manifest about the kept copy of the scenario.
#[derive(Deserialize)]
struct ManifestHeader {
    version: String,
    #[serde(alias = "kept")]
    scenario_copy: Option<PathBuf>,
}

/// Returns the setting of the older version that kept this file with its results, if any.
fn older_version_setting(path: &Path) -> Option<String> {
    // Independent of the path's spelling and the working directory.
    let path = path.canonicalize().ok()?;
    path.ancestors().skip(1).find_map(|results| {
        let manifest = read_text(&results.join(Manifest::FILE), FileKind::Summary).ok()?;
        let keeper: ManifestHeader = serde_json::from_str(&manifest).ok()?;
        let is_older = keeper.version.parse::<Version>().ok()? < Version::current();
        let is_kept = results.join(keeper.scenario_copy?).canonicalize().ok()? == path;
        (is_older && is_kept).then(|| format!("simulation.written-for={:?}", keeper.version))
    })
}
