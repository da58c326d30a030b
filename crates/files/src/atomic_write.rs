//! Atomic file writes: a temporary file that is renamed when it is complete.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

/// Temporary files of this process that are not renamed yet. Renames require the lock.
static TEMP_FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn temp_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMP_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of a process that ends at once. Renames in progress complete first;
/// none starts afterwards.
pub fn remove_temp_files() {
    let paths = temp_files();
    for path in paths.iter() {
        let _ = fs::remove_file(path);
    }
    // The lock stays locked, because the process ends.
    std::mem::forget(paths);
}

/// Writes a file atomically: to a temporary file in the same directory, which is renamed. A path
/// that is not a regular file (a pipe, a device such as `/dev/stdout`) is written to directly.
///
/// # Errors
/// If it cannot be written; a file that existed before is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
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

/// Temporary file `.NAME.….partial` next to its destination, with an unpredictable name.
/// [`publish`] renames it; dropping it removes it.
#[derive(Debug)]
pub struct PartialFile {
    file: Option<File>,
    /// Temporary name; `None` after the rename.
    partial: Option<TempPath>,
    path: PathBuf,
}

/// File name suffix of temporary files.
const TEMP_SUFFIX: &str = ".partial";

impl PartialFile {
    /// Creates the temporary file of `NAME` in an existing directory.
    ///
    /// # Errors
    /// If it cannot be created, or `NAME` is a directory.
    pub fn create(directory: &Path, name: &str) -> io::Result<PartialFile> {
        let path = directory.join(name);
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (file, partial) = create_temp_file(directory, name)?.into_parts();
        temp_files().insert(partial.to_path_buf());
        Ok(PartialFile {
            file: Some(file),
            partial: Some(partial),
            path,
        })
    }

    /// Creates the temporary file with these contents.
    ///
    /// # Errors
    /// As [`create`](PartialFile::create), and if it cannot be written.
    pub fn with_contents(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<PartialFile> {
        let mut file = PartialFile::create(directory, name)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Returns the destination path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the temporary files of `name` that killed processes have left. No other process may
    /// write to the directory at the same time.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn remove_stale(directory: &Path, name: &str) -> io::Result<()> {
        let prefix = format!(".{name}.");
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let file = entry.file_name();
            let Some(file) = file.to_str() else { continue };
            if file.starts_with(&prefix)
                && file.ends_with(TEMP_SUFFIX)
                && !entry.file_type()?.is_dir()
            {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Creates a file with an unpredictable name, never through a link.
fn create_temp_file(directory: &Path, name: &str) -> io::Result<NamedTempFile> {
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMP_SUFFIX);
    // The mode of ordinary files, reduced by the umask.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory).map_err(|error| {
        // The system's error without the temporary name, which the user did not choose.
        match fs::metadata(directory) {
            Err(of_directory) => of_directory,
            Ok(_) => without_temp_path(&error),
        }
    })
}

/// Removes the name of the temporary file from an error of `tempfile`.
fn without_temp_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), reason)
}

/// Removes the `obsolete` files that exist and renames `files` to their destinations, in order.
///
/// Existing files are replaced. Once started, all renames complete even if the process is asked to
/// end.
///
/// # Errors
/// The path that the system refuses, and the reason. Files before it are renamed.
pub fn publish(
    obsolete: &[PathBuf],
    files: impl IntoIterator<Item = PartialFile>,
) -> Result<(), (PathBuf, io::Error)> {
    let mut names = temp_files();
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
    drop(names); // dropping the remaining files locks again
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
            temp_files().remove(&*path);
            // A file that cannot be removed stays under its temporary name.
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
    fn a_file_is_complete_or_absent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.csv");
        fs::write(&path, "old").unwrap();
        let dropped = PartialFile::with_contents(directory.path(), "links.csv", b"half").unwrap();
        assert_eq!(names(directory.path()).len(), 2);
        drop(dropped);
        assert_eq!(names(directory.path()), ["links.csv"]);
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(directory.path()), ["links.csv"]);
    }

    /// Regression: a write followed `.links.csv.partial`, a symbolic link to a file of another
    /// user.
    #[cfg(unix)]
    #[test]
    fn symlinks_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let place = directory.path().join("place");
        fs::create_dir(&place).unwrap();
        std::os::unix::fs::symlink(&victim, place.join(".links.csv.partial")).unwrap();
        std::os::unix::fs::symlink(&victim, place.join("links.csv")).unwrap();
        write_atomically(&place.join("links.csv"), b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(place.join("links.csv")).unwrap(), "new");
    }

    #[test]
    fn stale_files_of_killed_processes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let left = create_temp_file(directory.path(), "links.csv").unwrap();
        left.keep().unwrap();
        fs::write(directory.path().join(".links.csv.mine"), "").unwrap();
        PartialFile::remove_stale(directory.path(), "links.csv").unwrap();
        assert_eq!(names(directory.path()), [".links.csv.mine"]);
    }
}
