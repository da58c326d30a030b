//! Files of a results directory while they are written, with errors that name them.

use std::io::Write;
use std::path::Path;

use netflow_files::PartialFile;

use crate::Error;

/// Bytes handed to the system at once.
pub(crate) const CHUNK: usize = 256 * 1024;

/// Writes a file that is there as a whole or not at all.
///
/// # Errors
/// If it cannot be written; what had the name before still has it then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    netflow_files::write_whole(path, bytes).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

/// Starts a file in a directory that is there.
pub(crate) fn create(directory: &Path, name: &str) -> Result<PartialFile, Error> {
    PartialFile::create(directory, name).map_err(|source| Error::Write {
        path: directory.join(name),
        source,
    })
}

/// A whole file at once.
pub(crate) fn of(directory: &Path, name: &str, bytes: &[u8]) -> Result<PartialFile, Error> {
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
