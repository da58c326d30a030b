//! Copies of the scenario and its files, kept with the results.

use std::fs;
use std::path::{Component, Path, PathBuf};

use netflow_files::{FileKind, create_dirs_inside, read_text, write_unless_foreign};
use netflow_results::{self as results, is_results, write_atomically};
use netflow_scenario::{CompiledScenario, digest};

/// Directory of the copies within the results.
const DIRECTORY: &str = "scenario";

/// Copies written for one run.
#[derive(Default)]
pub struct ScenarioCopies {
    /// Copy of the scenario file, relative to the results. `None` if there is no file to copy (a
    /// pipe) or if a file has changed since it was read.
    pub scenario: Option<String>,
    /// True if copies of an earlier run exist.
    replaces: bool,
    /// Files and directories created for the copies.
    created: Vec<PathBuf>,
}

impl ScenarioCopies {
    /// Removes the copies after results could not be written.
    pub fn undo(self) {
        for path in self.created.iter().rev() {
            // An error here is ignored, because the original error is reported.
            let _ = if path.is_dir() {
                fs::remove_dir(path)
            } else {
                fs::remove_file(path)
            };
        }
    }

    fn copy(&mut self, directory: &Path, inner: &Path, text: &str) -> Result<(), results::Error> {
        let folders = inner.parent().unwrap_or(Path::new(""));
        let made = create_dirs_inside(directory, folders);
        let made = made.map_err(|(path, source)| results::Error::MakeDirectory { path, source })?;
        self.created.extend(made);
        let copy = &directory.join(inner);
        if !copy.exists() {
            self.created.push(copy.to_owned());
        }
        if self.replaces {
            return write_atomically(copy, text.as_bytes());
        }
        write_unless_foreign(copy, text.as_bytes(), None).map_err(|source| results::Error::Write {
            path: copy.to_owned(),
            source,
        })
    }
}

/// Copies every file of a scenario to its results, in the same relative positions, so that relative
/// paths in them remain valid.
///
/// # Errors
/// If they cannot be written; new copies are then removed.
pub fn copy_scenario(
    scenario: &CompiledScenario,
    directory: &Path,
) -> Result<ScenarioCopies, results::Error> {
    let mut kept = ScenarioCopies {
        replaces: is_results(directory),
        ..ScenarioCopies::default()
    };
    let Some(places) = absolute_paths(scenario) else {
        return Ok(kept);
    };
    let read = |path: &PathBuf| read_text(path, FileKind::Table).ok();
    let texts: Option<Vec<String>> = places.iter().map(read).collect();
    let same = |texts: &Vec<String>| digest(texts.iter().map(String::as_str)) == scenario.digest;
    let Some(texts) = texts.filter(same) else {
        return Ok(kept);
    };
    let parent = |path: &PathBuf| path.parent().unwrap_or(Path::new("/")).to_owned();
    let Some(mut common) = places.first().map(parent) else {
        return Ok(kept);
    };
    while !places.iter().all(|path| path.starts_with(&common)) {
        common.pop();
    }
    for (path, text) in places.iter().zip(&texts) {
        let inner = Path::new(DIRECTORY).join(path.strip_prefix(&common).unwrap_or(path));
        if let Err(error) = kept.copy(directory, &inner, text) {
            kept.undo();
            return Err(error);
        }
        // The scenario file was read first.
        kept.scenario
            .get_or_insert_with(|| inner.display().to_string());
    }
    Ok(kept)
}

/// Returns the absolute paths of the files without root and `..`.
fn absolute_paths(scenario: &CompiledScenario) -> Option<Vec<PathBuf>> {
    let place = |path: &Path| {
        let mut place = PathBuf::new();
        for component in std::path::absolute(path).ok()?.components() {
            match component {
                Component::ParentDir => _ = place.pop(),
                other => place.push(other),
            }
        }
        Some(place)
    };
    scenario.sources.iter().map(place).collect()
}
