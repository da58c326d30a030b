//! Answers that go into files.

use std::path::Path;

use netflow::results::{Error, write_whole};
use serde::Serialize;

use crate::failure::Failure;

/// Writes a file that is there as a whole or not at all.
pub fn text(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Error> {
    write_whole(path, text.as_ref())
}

/// The same with what stands for `value` on the standard output.
pub fn json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut bytes = Vec::new();
    super::json::write(value, &mut bytes).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })?;
    text(path, bytes)
}

/// Refuses a name that says that the file is something else.
pub fn allow_ending(path: &Path, allowed: &[&str]) -> Result<(), Failure> {
    let Some(ending) = path.extension() else {
        return Ok(());
    };
    if allowed.iter().any(|it| ending.eq_ignore_ascii_case(it)) {
        return Ok(());
    }
    let what = match allowed.contains(&"svg") {
        true => "a figure",
        false => "a page",
    };
    Err(Failure::Usage {
        message: format!("{what} is not written as `.{}`", ending.display()),
        help: Some(format!("end the name with .{}", allowed.join(" or ."))),
    })
}
