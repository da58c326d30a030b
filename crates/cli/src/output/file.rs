//! Answers that go into files.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

/// Refuses a file that others have written, before there is anything to write: one that does not have the
/// `mark` of its kind.
pub fn allow(path: &Path, mark: Option<&str>) -> Result<(), Failure> {
    netflow_files::may_write(path, mark).map_err(cannot(path))
}

/// Writes a file that is there as a whole or not at all, and replaces only those with the `mark`.
pub fn write(path: &Path, text: impl AsRef<[u8]>, mark: Option<&str>) -> Result<(), Failure> {
    netflow_files::write_own(path, text.as_ref(), mark).map_err(cannot(path))
}

/// Writes a file that is there as a whole or not at all, whatever it replaces.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    netflow_files::write_whole(path, text.as_ref()).map_err(cannot(path))
}

/// Writes a table, whose mark is its first line.
pub fn table(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, text, text.split_inclusive('\n').next())
}

/// Writes what stands for `value` on the standard output.
pub fn json(path: &Path, value: &impl Serialize, mark: &str) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    super::json::write(value, &mut bytes).map_err(cannot(path))?;
    write(path, bytes, Some(mark))
}

fn cannot(path: &Path) -> impl Fn(io::Error) -> Failure {
    |source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    }
}

/// Refuses a name that says that the file is something else than `what`.
pub fn allow_ending(path: &Path, what: &str, allowed: &[&str]) -> Result<(), Failure> {
    let Some(ending) = path.extension() else {
        return Ok(());
    };
    if allowed.iter().any(|it| ending.eq_ignore_ascii_case(it)) {
        return Ok(());
    }
    Err(Failure::Usage {
        message: format!("{what} is not written as `.{}`", ending.display()),
        help: Some(format!("end the name with .{}", allowed.join(" or ."))),
    })
}
