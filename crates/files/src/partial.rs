//! A file that is complete or absent under its name.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

/// The files of this process that have no name yet. Whoever holds it may give them theirs.
static PARTIAL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn partial() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what this process has not finished, for it ends at once: files that are getting their
/// names get all of them first, and none does afterwards.
pub fn abandon() {
    let paths = partial();
    for path in paths.iter() {
        let _ = fs::remove_file(path);
    }
    // Nobody goes on: the process ends.
    std::mem::forget(paths);
}

/// Writes a file that is there as a whole or not at all: beside it, and renamed. What is no file (a
/// pipe, a device such as `/dev/stdout`) is written to as it is.
///
/// # Errors
/// If it cannot be written; what had the name before still has it then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match path.file_name() {
        Some(name) if !path.exists() || path.is_file() => {
            let mut file = PartialFile::create(directory, &name.to_string_lossy())?;
            file.write_all(bytes)?;
            publish(&[], [file]).map_err(|(_, error)| error)
        }
        _ => OpenOptions::new().write(true).open(path)?.write_all(bytes),
    }
}

/// A file written beside its place under a name that nobody else knows, `.NAME.….partial`. It gets
/// its own by [`publish`]; dropped without, it is removed.
#[derive(Debug)]
pub struct PartialFile {
    file: Option<File>,
    /// Without one once it has its name.
    partial: Option<TempPath>,
    path: PathBuf,
}

/// What the names of files end with that have not got theirs.
const ENDING: &str = ".partial";

impl PartialFile {
    /// Starts the file `NAME` of a directory that is there.
    ///
    /// # Errors
    /// If it cannot be created, or `NAME` is a directory.
    pub fn create(directory: &Path, name: &str) -> io::Result<PartialFile> {
        let path = directory.join(name);
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (file, partial) = new_file(directory, name)?.into_parts();
        self::partial().insert(partial.to_path_buf());
        Ok(PartialFile {
            file: Some(file),
            partial: Some(partial),
            path,
        })
    }

    /// A whole file at once.
    ///
    /// # Errors
    /// As [`create`](PartialFile::create), and if it cannot be written.
    pub fn of(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<PartialFile> {
        let mut file = PartialFile::create(directory, name)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what processes that were killed have left of a file, in a directory that nobody else
    /// writes to now.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn clear(directory: &Path, name: &str) -> io::Result<()> {
        let begin = format!(".{name}.");
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let file = entry.file_name();
            let Some(file) = file.to_str() else { continue };
            if file.starts_with(&begin) && file.ends_with(ENDING) && !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// A new file that is no link, and that nobody could know before.
fn new_file(directory: &Path, name: &str) -> io::Result<NamedTempFile> {
    let begin = format!(".{name}.");
    let mut how = tempfile::Builder::new();
    how.prefix(&begin).suffix(ENDING);
    // As of any file, without what the user's mask takes away.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        how.permissions(fs::Permissions::from_mode(0o666));
    }
    how.tempfile_in(directory).map_err(|error| {
        // The system's words, without the name of a file that nobody asked for.
        match fs::metadata(directory) {
            Err(of_directory) => of_directory,
            Ok(_) => without_path(&error),
        }
    })
}

/// Removes the name of the temporary file from an error of `tempfile`.
fn without_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), reason)
}

/// Removes files that are `obsolete`, if they are there, and gives others their names, one after the
/// other, replacing what has them now: all of them, even if the process is told to end meanwhile.
///
/// # Errors
/// The path that the system refuses, and why; what came before has its name.
pub fn publish(
    obsolete: &[PathBuf],
    files: impl IntoIterator<Item = PartialFile>,
) -> Result<(), (PathBuf, io::Error)> {
    let mut names = partial();
    let mut left = files.into_iter();
    for path in obsolete {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                drop(names);
                return Err((path.clone(), error));
            }
            _ => {}
        }
    }
    let result = left.by_ref().try_for_each(|mut file| {
        file.file = None;
        let Some(partial) = file.partial.take() else {
            return Ok(());
        };
        names.remove(&*partial);
        let path = std::mem::take(&mut file.path);
        partial
            .persist(&path)
            .map_err(|refused| (path, refused.error))
    });
    drop(names); // the rest asks for it when it is dropped
    drop(left);
    result
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
        if let Some(path) = self.partial.take() {
            self.file = None;
            partial().remove(&*path);
            // Nothing can be done about a file that does not go away; it has no final name.
            let _ = path.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut all: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.csv");
        fs::write(&path, "old").unwrap();
        let dropped = PartialFile::of(directory.path(), "links.csv", b"half").unwrap();
        assert_eq!(names(directory.path()).len(), 2);
        drop(dropped);
        assert_eq!(names(directory.path()), ["links.csv"]);
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(directory.path()), ["links.csv"]);
    }

    /// `.links.csv.partial`, a link to somebody's file, was followed.
    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let place = directory.path().join("place");
        fs::create_dir(&place).unwrap();
        std::os::unix::fs::symlink(&victim, place.join(".links.csv.partial")).unwrap();
        std::os::unix::fs::symlink(&victim, place.join("links.csv")).unwrap();
        write_whole(&place.join("links.csv"), b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(place.join("links.csv")).unwrap(), "new");
    }

    #[test]
    fn what_was_left_by_the_killed_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let left = new_file(directory.path(), "links.csv").unwrap();
        left.keep().unwrap();
        fs::write(directory.path().join(".links.csv.mine"), "").unwrap();
        PartialFile::clear(directory.path(), "links.csv").unwrap();
        assert_eq!(names(directory.path()), [".links.csv.mine"]);
    }
}
