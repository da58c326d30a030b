//! Output files.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

/// Rejects an existing file without the `mark` of its kind, which netflow has not written. This is called
/// before the content is computed.
pub fn check_overwrite(path: &Path, mark: Option<&str>) -> Result<(), Failure> {
    netflow_files::check_overwrite(path, mark).map_err(write_failure(path))
}

/// Writes a file atomically. An existing file must have the `mark`.
pub fn write(path: &Path, text: impl AsRef<[u8]>, mark: Option<&str>) -> Result<(), Failure> {
    netflow_files::write_unless_foreign(path, text.as_ref(), mark).map_err(write_failure(path))
}

/// Writes a file atomically, and replaces any existing file.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    netflow_files::write_atomically(path, text.as_ref()).map_err(write_failure(path))
}

/// Writes a table, whose mark is its first line.
pub fn table(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, text, text.split_inclusive('\n').next())
}

/// Writes the JSON that the standard output would show for `value`.
pub fn json(path: &Path, value: &impl Serialize, mark: &str) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    super::json::write(value, &mut bytes).map_err(write_failure(path))?;
    write(path, bytes, Some(mark))
}

fn write_failure(path: &Path) -> impl Fn(io::Error) -> Failure {
    |source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    }
}

/// Rejects a file extension of another type than that of `what`.
pub fn check_extension(path: &Path, what: &str, allowed: &[&str]) -> Result<(), Failure> {
    let Some(ending) = path.extension() else {
        return Ok(());
    };
    if allowed.iter().any(|it| ending.eq_ignore_ascii_case(it)) {
        return Ok(());
    }
    Err(Failure::Usage {
        message: format!("{what} cannot be written as `.{}`", ending.display()),
        help: Some(format!("end the name with .{}", allowed.join(" or ."))),
    })
}
