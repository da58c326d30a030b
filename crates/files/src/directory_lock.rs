//! Exclusive access of one process to a directory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Advisory lock on a directory, held as long as this value exists. The operating system releases
/// it when the process ends, for whatever reason.
#[derive(Debug)]
pub struct DirectoryLock {
    _locked: Option<File>,
}

impl DirectoryLock {
    /// Locks an existing directory.
    ///
    /// Where the system cannot lock directories (some network file systems), every claim succeeds.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if this process or another one holds the lock.
    pub fn acquire(directory: &Path) -> io::Result<DirectoryLock> {
        // A directory without read permission may still be writable, so it is used without a lock.
        let Ok(file) = File::open(directory) else {
            return Ok(DirectoryLock { _locked: None });
        };
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock {
                _locked: Some(file),
            }),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run is writing to it",
            )),
            Err(TryLockError::Error(_)) => Ok(DirectoryLock { _locked: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_locked_once() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(directory.path()).unwrap();
        let second = DirectoryLock::acquire(directory.path()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::ResourceBusy);
        drop(first);
        DirectoryLock::acquire(directory.path()).unwrap();
    }
}
