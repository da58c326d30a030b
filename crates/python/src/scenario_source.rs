//! Source and settings of a scenario, from which it is read again with other settings or in another
//! process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netflow::scenario::{CompiledScenario, FileAccess, Problems, from_str};
use netflow_files::{FileKind, STANDARD_INPUT, read_text};
use pyo3::prelude::*;

use crate::errors;

/// Path of a file or directory, independent of later changes of the working directory.
#[derive(Clone, Debug)]
pub struct StablePath {
    given: PathBuf,
    pub absolute: PathBuf,
}

impl StablePath {
    pub fn new(given: PathBuf) -> StablePath {
        let absolute = absolute(&given);
        StablePath { given, absolute }
    }

    /// Returns the path as given, if it is still valid in the working directory; otherwise the
    /// absolute path.
    pub fn path(&self) -> &Path {
        if absolute(&self.given) == self.absolute {
            &self.given
        } else {
            &self.absolute
        }
    }
}

/// Returns the absolute path, if there is a current directory.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Source of a scenario.
#[derive(Clone, Debug)]
pub enum Source {
    /// File.
    File(StablePath),
    /// Text, with the folder that its relative paths refer to.
    Text {
        name: String,
        text: Arc<str>,
        directory: StablePath,
    },
}

impl Source {
    /// Returns the file at a path, or the text of the standard input, which can be read only once.
    pub fn at(py: Python<'_>, path: PathBuf, reach: FileAccess) -> PyResult<Source> {
        if path != Path::new(STANDARD_INPUT) {
            return Ok(Source::File(StablePath::new(path)));
        }
        if reach == FileAccess::Unrestricted {
            let message = "`allow_outside` requires a file: a scenario from the standard input (`-`) can only use files below the current directory";
            return Err(errors::value(message));
        }
        Ok(Source::Text {
            name: STANDARD_INPUT.to_owned(),
            text: text(py, &path)?,
            directory: StablePath::new(PathBuf::from(".")),
        })
    }

    /// Returns the text of the scenario.
    pub fn text(&self, py: Python<'_>) -> PyResult<Arc<str>> {
        match self {
            Source::File(place) => text(py, place.path()),
            Source::Text { text, .. } => Ok(text.clone()),
        }
    }
}

fn text(py: Python<'_>, path: &Path) -> PyResult<Arc<str>> {
    let text = py.detach(|| read_text(path, FileKind::Scenario));
    text.map(Into::into)
        .map_err(|refusal| errors::unreadable(Some(path), format!("{}: {refusal}", path.display())))
}

/// Source, permissions and settings of a scenario.
#[derive(Clone, Debug)]
pub struct Spec {
    pub source: Source,
    pub file_access: FileAccess,
    /// Settings as `KEY=VALUE`; later ones take precedence.
    pub settings: Vec<String>,
}

impl Spec {
    /// Returns the path, or the name of a text, for messages.
    pub fn path(&self) -> &Path {
        match &self.source {
            Source::File(place) => place.path(),
            Source::Text { name, .. } => name.as_ref(),
        }
    }

    /// Reads the scenario with additional settings.
    pub fn load(&self, more: &[String]) -> Result<CompiledScenario, Problems> {
        let all: Vec<String> = self.settings.iter().chain(more).cloned().collect();
        match &self.source {
            Source::File(place) => netflow::evaluate::load(place.path(), &all, self.file_access),
            Source::Text {
                name,
                text,
                directory,
            } => from_str(name, text, directory.path(), &all),
        }
    }
}

/// Scenario with its specification.
#[derive(Clone)]
pub struct State {
    pub spec: Spec,
    pub prepared: Arc<CompiledScenario>,
    /// Text of the file, without the settings.
    pub text: Arc<str>,
}

/// Reason why a scenario cannot be read again.
pub enum ReloadError {
    /// The requested scenario is invalid.
    Invalid(Problems),
    /// A file can no longer be read.
    Unreadable(Problems),
    /// Files have changed; the path of the scenario.
    Changed(PathBuf),
}

impl ReloadError {
    pub fn to_py_err(&self, py: Python<'_>) -> PyErr {
        match self {
            ReloadError::Invalid(problems) | ReloadError::Unreadable(problems) => {
                errors::scenario(py, problems)
            }
            ReloadError::Changed(path) => errors::value(format!(
                "{}, or a file named in it, has changed since the scenario was read: load it again",
                path.display()
            )),
        }
    }
}

impl State {
    pub fn read(py: Python<'_>, spec: Spec) -> PyResult<State> {
        let prepared = py.detach(|| spec.load(&[]));
        let prepared = prepared.map_err(|problems| errors::scenario(py, &problems))?;
        Ok(State {
            text: spec.source.text(py)?,
            prepared: Arc::new(prepared),
            spec,
        })
    }

    /// Reads the scenario with additional settings.
    pub fn with(&self, more: &[String]) -> Result<CompiledScenario, ReloadError> {
        self.reload_with(&self.spec, more)
    }

    /// Reads another specification of the same source, if its files are unchanged.
    pub fn reload_with(
        &self,
        spec: &Spec,
        more: &[String],
    ) -> Result<CompiledScenario, ReloadError> {
        let loaded = spec.load(more);
        if matches!(&loaded, Ok(it) if it.digest == self.prepared.digest) {
            return loaded.map_err(ReloadError::Invalid);
        }
        // The settings may include other files.
        self.is_unchanged()?;
        loaded.map_err(ReloadError::Invalid)
    }

    /// Checks that the files are unchanged.
    pub fn is_unchanged(&self) -> Result<(), ReloadError> {
        match self.spec.load(&[]) {
            Ok(again) if again.digest == self.prepared.digest => Ok(()),
            Err(problems) if problems.is_unreadable() => Err(ReloadError::Unreadable(problems)),
            _ => Err(ReloadError::Changed(self.spec.path().to_owned())),
        }
    }
}
