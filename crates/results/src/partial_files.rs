//! Partial files of a results directory, with errors that name the file.

use std::io::Write;
use std::path::Path;

use netflow_files::PartialFile;

use crate::Error;

/// Bytes per write to the operating system.
pub(crate) const WRITE_CHUNK_BYTES: usize = 256 * 1024;

/// Writes a file atomically.
///
/// # Errors
/// If the file cannot be written. An old file of that name is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    netflow_files::write_atomically(path, bytes).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

/// Starts a file in an existing directory.
pub(crate) fn create(directory: &Path, name: &str) -> Result<PartialFile, Error> {
    PartialFile::create(directory, name).map_err(|source| Error::Write {
        path: directory.join(name),
        source,
    })
}

/// Writes a partial file of the given bytes.
pub(crate) fn create_with_content(
    directory: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<PartialFile, Error> {
    let mut file = create(directory, name)?;
    append(&mut file, bytes)?;
    Ok(file)
}

pub(crate) fn append(file: &mut PartialFile, bytes: &[u8]) -> Result<(), Error> {
    file.write_all(bytes).map_err(|source| Error::Write {
        path: file.path().to_owned(),
        source,
    })
}
