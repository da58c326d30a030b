//! Profiles as files.

use std::path::Path;

use crate::failure::Failure;
use crate::output::file;

/// The first line of a profile that was fitted, or measured, here.
const MARK: &str = "# A profile, written by netflow.";

/// Refuses to write it there, before there is one.
pub fn allow(path: &Path) -> Result<(), Failure> {
    file::allow_ending(path, "a profile", &["toml"])?;
    file::allow(path, Some(MARK))
}

/// Writes what [`to_toml`](netflow::profile::to_toml) made.
pub fn write(path: &Path, profile: &str) -> Result<(), Failure> {
    file::write(path, format!("{MARK}\n{profile}"), Some(MARK))
}
