//! Writer of profile files.

use std::path::Path;

use crate::failure::Failure;
use crate::output::file;

/// The first line of a profile file that netflow fitted or measured.
const MARK: &str = "# A profile, written by netflow.";

/// Rejects the path of a profile before it is computed.
pub fn check_overwrite_profile(path: &Path) -> Result<(), Failure> {
    file::check_extension(path, "a profile", &["toml"])?;
    file::check_overwrite(path, Some(MARK))
}

/// Writes the result of [`to_toml`](netflow::profile::to_toml).
pub fn write(path: &Path, profile: &str) -> Result<(), Failure> {
    file::write(path, format!("{MARK}\n{profile}"), Some(MARK))
}
