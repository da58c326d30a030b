//! Profile files: profiles as small TOML documents; the crate's documentation shows the format.

mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

use netflow_document::{FileId, Findings, Problems, Sources};
use netflow_files::FileKind;

use crate::{Analytic, Grid, PowerLaw, Profile};

/// Version of the format that is read and written.
const FORMAT: &str = "1";

/// Contents of a profile file; see [`Profile::definition`].
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
/// The file cannot be read, or as [`from_toml`].
pub fn load(path: &Path) -> Result<Arc<dyn Profile>, Problems> {
    netflow_document::load(path, FileKind::Profile, read_in)
}

/// Reads a profile from the text of a profile file.
///
/// # Errors
/// All problems with their line and column: the text is not TOML, has an unknown key or kind, lacks
/// a key, or has invalid values (axes that do not increase, values that are not positive, rows of
/// the wrong length).
pub fn from_toml(text: &str) -> Result<Arc<dyn Profile>, Problems> {
    Sources::read_text(text, read_in)
}

/// Reads a profile from one of several files; `None` if it has a problem, which `findings`
/// contains.
pub fn read_in(text: &str, file: FileId, findings: &mut Findings) -> Option<Arc<dyn Profile>> {
    read::read(text, file, findings)
}

/// Writes a profile as the text of a profile file, which reads back as the same profile.
///
/// `None` if its [`definition`](Profile::definition) is unknown.
pub fn to_toml(profile: &dyn Profile) -> Option<String> {
    profile.definition().map(write::write)
}
