//! A file that is complete or absent under its name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Bytes handed to the system at once.
pub(crate) const CHUNK: usize = 256 * 1024;

/// Writes a file that is there as a whole or not at all: beside it, and renamed. What is no file (a
/// pipe, a device such as `/dev/stdout`) is written to as it is.
///
/// # Errors
/// If it cannot be written; what had the name before still has it then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match path.file_name() {
        Some(name) if !path.exists() || path.is_file() => {
            let mut file = PartialFile::create(directory, &name.to_string_lossy())?;
            // Under the path that was given, which may have no directory.
            file.path = path.to_owned();
            file.append(bytes)?;
            file.publish()
        }
        _ => fs::write(path, bytes).map_err(|source| Error::Write {
            path: path.to_owned(),
            source,
        }),
    }
}

/// A file written as `.NAME.partial`. It gets its name by [`PartialFile::publish`]; dropped
/// without, it is removed.
#[derive(Debug)]
pub struct PartialFile {
    file: Option<File>,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// Starts the file `NAME` of a directory that is there.
    ///
    /// # Errors
    /// If it cannot be created, or `NAME` is a directory.
    pub fn create(directory: &Path, name: &str) -> Result<PartialFile, Error> {
        let path = directory.join(name);
        if path.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Error::Write { path, source });
        }
        let partial = directory.join(format!(".{name}.partial"));
        match File::create(&partial) {
            Ok(file) => Ok(PartialFile {
                file: Some(file),
                partial,
                path,
            }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    /// A whole file at once.
    pub(crate) fn of(directory: &Path, name: &str, bytes: &[u8]) -> Result<PartialFile, Error> {
        let mut file = PartialFile::create(directory, name)?;
        file.append(bytes)?;
        Ok(file)
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(bytes).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, replacing what has it now.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn publish(mut self) -> Result<(), Error> {
        self.file = None;
        fs::rename(&self.partial, &self.path).map_err(|source| Error::Replace {
            path: self.path.clone(),
            source,
        })?;
        self.partial.clear();
        Ok(())
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.partial.as_os_str().is_empty() {
            self.file = None;
            // Nothing can be done about a file that does not go away; it has no final name.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
