//! One process at a time in a directory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// A directory that this process alone writes to, as long as it holds the claim: a lock of the
/// operating system, which goes with the process, however that ends.
#[derive(Debug)]
pub struct Claim {
    _locked: Option<File>,
}

impl Claim {
    /// Claims a directory that is there. Where the system has no locks for directories, as some
    /// network file systems, every claim succeeds.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if another process, or this one, has claimed it.
    pub fn of(directory: &Path) -> io::Result<Claim> {
        // A directory that cannot be read can be written to without a claim.
        let Ok(file) = File::open(directory) else {
            return Ok(Claim { _locked: None });
        };
        match file.try_lock() {
            Ok(()) => Ok(Claim {
                _locked: Some(file),
            }),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run is writing to it",
            )),
            Err(TryLockError::Error(_)) => Ok(Claim { _locked: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_claimed_once() {
        let directory = tempfile::tempdir().unwrap();
        let first = Claim::of(directory.path()).unwrap();
        let second = Claim::of(directory.path()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::ResourceBusy);
        drop(first);
        Claim::of(directory.path()).unwrap();
    }
}
