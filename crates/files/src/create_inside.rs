//! Creation of folders inside a directory that the user names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Creates the missing folders of `inner` inside the existing `directory` and returns them.
///
/// A symbolic link is not followed, because it would lead out of the directory.
///
/// # Errors
/// The path with [`io::ErrorKind::AlreadyExists`] if it is a symbolic link,
/// [`io::ErrorKind::NotADirectory`] if it is a file, or the system's error if it cannot be created.
pub fn create_dirs_inside(
    directory: &Path,
    inner: &Path,
) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut path = directory.to_owned();
    let mut made = Vec::new();
    for component in inner.components() {
        path.push(component);
        let cannot = |error| (path.clone(), error);
        match fs::symlink_metadata(&path) {
            Ok(it) if it.is_symlink() => {
                let message = "it is a symbolic link, and netflow does not follow it: remove it or choose another directory";
                let error = io::Error::new(io::ErrorKind::AlreadyExists, message);
                return Err(cannot(error));
            }
            Ok(it) if it.is_dir() => {}
            Ok(_) => return Err(cannot(io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match fs::create_dir(&path) {
                    Ok(()) => made.push(path.clone()),
                    // Another process has created it in the meantime.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(cannot(error)),
                }
            }
            Err(error) => return Err(cannot(error)),
        }
    }
    Ok(made)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn symlinked_folders_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&other).unwrap();
        let made = create_dirs_inside(&own, Path::new("a/b")).unwrap();
        assert_eq!(made, [own.join("a"), own.join("a/b")]);
        assert!(
            create_dirs_inside(&own, Path::new("a/b"))
                .unwrap()
                .is_empty()
        );
        std::os::unix::fs::symlink(&other, own.join("linked")).unwrap();
        let (path, error) = create_dirs_inside(&own, Path::new("linked/c")).unwrap_err();
        assert_eq!(
            (path, error.kind()),
            (own.join("linked"), io::ErrorKind::AlreadyExists)
        );
        assert!(!other.join("c").exists());
        fs::write(own.join("file"), "").unwrap();
        let (_, error) = create_dirs_inside(&own, Path::new("file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        // The directory itself may be a link, because the user named it.
        assert!(create_dirs_inside(&own.join("linked"), Path::new("d")).is_ok());
    }
}
