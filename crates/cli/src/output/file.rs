//! Answers that go into files.

use std::path::Path;

use netflow::results::{Error, write_whole};
use serde::Serialize;

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
