//! Profile files: a profile as a small TOML document; the crate's documentation shows the format.

mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

use netflow_document::{FileId, Findings, Problems, Sources};
use netflow_files::Kind;

use crate::{Analytic, Grid, PowerLaw, Profile};

/// The version of the format that is read and written.
const FORMAT: &str = "1";

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
/// The file cannot be read, or [`from_toml`]'s errors.
pub fn load(path: &Path) -> Result<Arc<dyn Profile>, Problems> {
    netflow_document::load(path, Kind::Profile, read_in)
}

/// Reads a profile from the text of a profile file.
///
/// # Errors
/// Everything that is wrong: the text is no TOML, has an unknown key or kind, lacks a key, or has
/// values that a profile cannot have (axes that do not increase, values that are not positive, rows of
/// the wrong length); each with its line and column.
pub fn from_toml(text: &str) -> Result<Arc<dyn Profile>, Problems> {
    Sources::read_text(text, read_in)
}

/// The same for a file among others; `None` if something is wrong with it, which the findings say.
pub fn read_in(text: &str, file: FileId, findings: &mut Findings) -> Option<Arc<dyn Profile>> {
    read::read(text, file, findings)
}

/// Writes a profile as the text of a profile file, which reads back as the same profile.
///
/// `None` if its [`definition`](Profile::definition) is unknown.
pub fn to_toml(profile: &dyn Profile) -> Option<String> {
    profile.definition().map(write::write)
}
