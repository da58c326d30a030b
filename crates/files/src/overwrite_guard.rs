//! Protection of files that netflow did not write.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::write_atomically;

/// Maximum distance of the mark from the beginning or end of a file, in bytes.
const MARK_SEARCH_BYTES: u64 = 64 << 10;

/// Checks whether a file may be written to `path`.
///
/// It may if the path does not exist, is empty, or is not a regular file (a pipe, a device). It
/// also may if the file contains `mark` near its beginning or end, because netflow writes that
/// mark. Without a `mark`, no non-empty file may be replaced.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the file is not netflow's, or the error of reading it.
pub fn check_overwrite(path: &Path, mark: Option<&str>) -> io::Result<()> {
    if is_foreign(path, mark)? {
        Err(foreign_file_error(mark))
    } else {
        Ok(())
    }
}

/// Writes as [`write_atomically`] if [`check_overwrite`] permits it, or if the contents are the same.
///
/// # Errors
/// As those of both.
pub fn write_unless_foreign(path: &Path, bytes: &[u8], mark: Option<&str>) -> io::Result<()> {
    if is_foreign(path, mark)? {
        let same = fs::metadata(path)?.len() == bytes.len() as u64 && fs::read(path)? == bytes;
        return if same {
            Ok(())
        } else {
            Err(foreign_file_error(mark))
        };
    }
    write_atomically(path, bytes)
}

fn foreign_file_error(mark: Option<&str>) -> io::Error {
    let whose = match mark {
        Some(_) => "netflow did not write it",
        None => "netflow cannot check that it wrote it",
    };
    let said = format!("it already exists, and {whose}: remove it or choose another name");
    io::Error::new(io::ErrorKind::AlreadyExists, said)
}

fn is_foreign(path: &Path, mark: Option<&str>) -> io::Result<bool> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    let Some(mark) = mark else { return Ok(true) };
    let search_bytes = MARK_SEARCH_BYTES.max(mark.len() as u64);
    let mut file = File::open(path)?;
    let has_mark = |part: &[u8]| part.windows(mark.len()).any(|it| it == mark.as_bytes());
    let mut part = Vec::new();
    file.by_ref().take(search_bytes).read_to_end(&mut part)?;
    if has_mark(&part) {
        return Ok(false);
    }
    part.clear();
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(search_bytes)))?;
    file.take(search_bytes).read_to_end(&mut part)?;
    Ok(!has_mark(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Option<&str> = Some("# Ours.\n");

    /// Regression: drawing a figure replaced a table of measurements with the same name.
    #[test]
    fn foreign_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        write_unless_foreign(&path, b"# Ours.\n1\n", MARK).unwrap();
        write_unless_foreign(&path, b"# Ours.\n2\n", MARK).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Ours.\n2\n");
        fs::write(&path, "theirs").unwrap();
        for mark in [MARK, None] {
            let refused = write_unless_foreign(&path, b"# Ours.\n3\n", mark).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        }
        write_unless_foreign(&path, b"theirs", MARK).unwrap();
    }

    #[test]
    fn a_mark_is_found_at_either_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let much = "x".repeat(3 * MARK_SEARCH_BYTES as usize);
        for (text, own) in [
            (format!("# Ours.\n{much}"), true),
            (format!("{much}# Ours.\n"), true),
            (format!("{much}# Ours.\n{much}"), false),
            (String::new(), true),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(check_overwrite(&path, MARK).is_ok(), own);
        }
        assert!(check_overwrite(directory.path(), None).is_ok());
    }
}
