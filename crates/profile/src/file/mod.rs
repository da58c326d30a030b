//! Profile files: a profile as a small TOML document; the crate's documentation shows the format.

mod error;
mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use error::{ProfileFileError, ProfileFileErrorKind};

use netflow_files::{Kind, read_text};

use crate::{Analytic, Grid, PowerLaw, Profile};

/// The version of the format that is read and written.
const FORMAT: &str = "1";

/// The kinds of profile that a file can describe.
const KINDS: &[&str] = &[
    "grid",
    "power-law",
    "mathis",
    "pftk-approximate",
    "pftk-full",
];

/// What a profile is, for saving it; see [`Profile::definition`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Definition<'a> {
    /// A table of A and B.
    PowerLaw(&'a PowerLaw),
    /// A measured surface.
    Grid(&'a Grid),
    /// A formula with parameters.
    Analytic(&'a Analytic),
}

/// Reads the profile file at `path`.
///
/// # Errors
/// The file cannot be read, or [`from_toml`]'s errors; the message begins with path, line and
/// column.
pub fn load(path: &Path) -> Result<Arc<dyn Profile>, ProfileFileError> {
    let text = read_text(path, Kind::Profile)
        .map_err(|refusal| ProfileFileError::unreadable(path, refusal.into()))?;
    from_toml(&text).map_err(|error| error.in_file(path))
}

/// Reads a profile from the text of a profile file.
///
/// # Errors
/// The text is no TOML, has an unknown key or kind, lacks a key, or has values that a profile
/// cannot have (axes that do not increase, values that are not positive, rows of the wrong
/// length); each with its line and column.
pub fn from_toml(text: &str) -> Result<Arc<dyn Profile>, ProfileFileError> {
    read::read(text).map_err(|error| error.placed_in(text))
}

/// Writes a profile as the text of a profile file, which reads back as the same profile.
///
/// `None` if its [`definition`](Profile::definition) is unknown.
pub fn to_toml(profile: &dyn Profile) -> Option<String> {
    profile.definition().map(write::write)
}
