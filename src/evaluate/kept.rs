//! The scenario and all that it was read from, kept beside the results.

use std::fs;
use std::path::{Component, Path, PathBuf};

use netflow_files::{Kind, make_inside, read_text, write_own};
use netflow_results::{self as results, is_results, write_whole};
use netflow_scenario::{Prepared, digest};

/// The directory of the copies, within the results.
const DIRECTORY: &str = "scenario";

/// Copies that were made.
#[derive(Default)]
pub struct Kept {
    /// The copy of the scenario itself, relative to the results; nothing where there are no files to
    /// be copied (a pipe), or they are not what was read any more.
    pub scenario: Option<String>,
    /// Whether there are copies of an earlier run.
    replaces: bool,
    /// Files and directories that were not there before.
    made: Vec<PathBuf>,
}

impl Kept {
    /// Takes the copies away again, where results could not be written.
    pub fn undo(self) {
        for path in self.made.iter().rev() {
            // What cannot be removed is no worse than the failure that is told anyway.
            let _ = match path.is_dir() {
                true => fs::remove_dir(path),
                false => fs::remove_file(path),
            };
        }
    }

    fn copy(&mut self, directory: &Path, inner: &Path, text: &str) -> Result<(), results::Error> {
        let folders = inner.parent().unwrap_or(Path::new(""));
        let made = make_inside(directory, folders);
        let made = made.map_err(|(path, source)| results::Error::MakeDirectory { path, source })?;
        self.made.extend(made);
        let copy = &directory.join(inner);
        if !copy.exists() {
            self.made.push(copy.to_owned());
        }
        if self.replaces {
            return write_whole(copy, text.as_bytes());
        }
        write_own(copy, text.as_bytes(), None).map_err(|source| results::Error::Write {
            path: copy.to_owned(),
            source,
        })
    }
}

/// Copies every file of a scenario beside its results, placed to each other as they were, so that
/// relative paths in them still lead to each other.
///
/// # Errors
/// If they cannot be written; nothing is left of them then.
pub fn keep(scenario: &Prepared, directory: &Path) -> Result<Kept, results::Error> {
    let mut kept = Kept {
        replaces: is_results(directory),
        ..Kept::default()
    };
    let Some(places) = places(scenario) else {
        return Ok(kept);
    };
    let read = |path: &PathBuf| read_text(path, Kind::Table).ok();
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
        // The scenario itself was read first.
        kept.scenario
            .get_or_insert_with(|| inner.display().to_string());
    }
    Ok(kept)
}

/// Where the files are, from the root on and without `..`.
fn places(scenario: &Prepared) -> Option<Vec<PathBuf>> {
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
