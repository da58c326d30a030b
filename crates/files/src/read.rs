//! Reading of whole files with a size limit.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Path argument that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// File type: its size limit and its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A scenario. Larger ones should use tables.
    Scenario,
    /// A table that a scenario includes.
    Table,
    /// A profile.
    Profile,
    /// A TCP stack.
    Stack,
    /// Any file of a results directory except its series.
    Summary,
    /// A series of a results directory.
    Series,
    /// A table of samples, measurements or external results.
    Samples,
    /// A topology in the format of another program.
    Topology,
}

impl FileKind {
    /// Returns the maximum size in bytes.
    pub const fn max_bytes(self) -> u64 {
        match self {
            FileKind::Stack => 1 << 20,
            FileKind::Scenario | FileKind::Profile | FileKind::Topology => 64 << 20,
            FileKind::Summary | FileKind::Table => 512 << 20,
            FileKind::Samples => 1 << 30,
            // One day of a network of 1000 links at 1 s intervals.
            FileKind::Series => 8 << 30,
        }
    }

    /// Returns the name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::Scenario => "a scenario",
            FileKind::Table => "a table",
            FileKind::Profile => "a profile",
            FileKind::Stack => "a stack",
            FileKind::Summary => "a file of this kind",
            FileKind::Series => "a series",
            FileKind::Samples => "a table of samples",
            FileKind::Topology => "a file with a network",
        }
    }
}

/// Reason for not reading a file.
#[derive(Debug)]
pub enum ReadError {
    /// System error.
    Unreadable(io::Error),
    /// The path is a directory.
    Directory,
    /// A device, pipe or socket; the value names which.
    NotRegular(&'static str),
    /// The file is larger than its kind allows.
    TooLarge(FileKind),
    /// The file is not a UTF-8 text.
    NotUtf8 {
        /// Text before the first invalid byte.
        valid_prefix: String,
        /// True if the file is UTF-16.
        utf16: bool,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("there is no such file")
            }
            ReadError::Unreadable(error) => write!(f, "{error}"),
            ReadError::Directory => f.write_str("it is a directory"),
            ReadError::NotRegular(is) => {
                write!(
                    f,
                    "it is {is}; use a regular file, or `-` for the standard input"
                )
            }
            ReadError::TooLarge(kind) => {
                let megabytes = kind.max_bytes() >> 20;
                write!(
                    f,
                    "it is too large: {} has at most {megabytes} MB",
                    kind.name()
                )
            }
            ReadError::NotUtf8 { utf16: true, .. } => f.write_str("it is UTF-16, not UTF-8"),
            ReadError::NotUtf8 {
                valid_prefix: before,
                ..
            } => {
                let line = before.matches('\n').count() + 1;
                write!(f, "it is not UTF-8: see line {line}")
            }
        }
    }
}

impl From<ReadError> for io::Error {
    fn from(refusal: ReadError) -> io::Error {
        match refusal {
            ReadError::Unreadable(error) => error,
            ReadError::Directory => io::ErrorKind::IsADirectory.into(),
            ReadError::TooLarge(_) => {
                io::Error::new(io::ErrorKind::FileTooLarge, refusal.to_string())
            }
            ReadError::NotRegular(_) | ReadError::NotUtf8 { .. } => {
                io::Error::new(io::ErrorKind::InvalidData, refusal.to_string())
            }
        }
    }
}

/// Returns the bytes of a regular file, or of the standard input if the path is `-`.
///
/// # Errors
/// If it cannot be read, is a device, pipe or other unbounded file, or is larger than its kind
/// allows.
pub fn read(path: &Path, kind: FileKind) -> Result<Vec<u8>, ReadError> {
    if path == Path::new(STANDARD_INPUT) {
        return read_bounded(io::stdin().lock(), 0, kind);
    }
    // Checked before opening, because opening a pipe blocks until there is a writer.
    let metadata = fs::metadata(path).map_err(ReadError::Unreadable)?;
    if metadata.is_dir() {
        return Err(ReadError::Directory);
    }
    if let Some(is) = special_file_name(metadata.file_type()) {
        return Err(ReadError::NotRegular(is));
    }
    if metadata.len() > kind.max_bytes() {
        return Err(ReadError::TooLarge(kind));
    }
    let file = File::open(path).map_err(ReadError::Unreadable)?;
    read_bounded(file, metadata.len(), kind)
}

/// Returns the text of a file, read as [`read`] does.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, kind: FileKind) -> Result<String, ReadError> {
    let bytes = read(path, kind)?;
    if is_utf16(&bytes) {
        let before = String::new();
        return Err(ReadError::NotUtf8 {
            valid_prefix: before,
            utf16: true,
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(end);
        ReadError::NotUtf8 {
            valid_prefix: String::from_utf8(bytes).unwrap_or_default(),
            utf16: false,
        }
    })
}

/// Returns whether the bytes begin with the UTF-16 byte order mark (RFC 2781, section 3.2) or with
/// two ASCII characters in UTF-16.
fn is_utf16(bytes: &[u8]) -> bool {
    let [a, b, ..] = *bytes else { return false };
    let ascii = match *bytes {
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => a != 0 && b != 0,
        _ => false,
    };
    ascii || matches!([a, b], [0xff, 0xfe] | [0xfe, 0xff])
}

fn read_bounded(from: impl Read, expected: u64, kind: FileKind) -> Result<Vec<u8>, ReadError> {
    let unreadable = |error: io::Error| ReadError::Unreadable(error);
    let mut bytes = Vec::new();
    let reserved = bytes.try_reserve(usize::try_from(expected).unwrap_or(usize::MAX));
    reserved.map_err(|_| unreadable(io::ErrorKind::OutOfMemory.into()))?;
    let mut from = from.take(kind.max_bytes() + 1);
    from.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > kind.max_bytes() {
        Err(ReadError::TooLarge(kind))
    } else {
        Ok(bytes)
    }
}

/// Returns the name of a file type that is neither a file nor a directory.
fn special_file_name(is: FileType) -> Option<&'static str> {
    if is.is_file() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if is.is_fifo() {
            return Some("a pipe");
        }
        if is.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path, FileKind::Stack).unwrap(), "text");
        fs::write(&path, b"one\ntw\xff").unwrap();
        let refusal = read_text(&path, FileKind::Stack).unwrap_err();
        assert_eq!(refusal.to_string(), "it is not UTF-8: see line 2");
        let refusal = read(directory.path(), FileKind::Stack).unwrap_err();
        assert!(matches!(refusal, ReadError::Directory));
        let refusal = read(&directory.path().join("none"), FileKind::Stack).unwrap_err();
        assert_eq!(refusal.to_string(), "there is no such file");
    }

    /// Regression: `run /dev/zero` used up all memory.
    #[test]
    fn endless_file_is_rejected() {
        let refusal = read_bounded(io::repeat(0), 0, FileKind::Stack).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "it is too large: a stack has at most 1 MB"
        );
        if cfg!(unix) {
            let refusal = read(Path::new("/dev/zero"), FileKind::Scenario).unwrap_err();
            assert!(matches!(refusal, ReadError::NotRegular("a device")));
        }
    }

    #[test]
    fn a_file_of_maximum_size_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let largest = FileKind::Stack.max_bytes();
        File::create(&path).unwrap().set_len(largest).unwrap();
        assert_eq!(read(&path, FileKind::Stack).unwrap().len() as u64, largest);
        File::create(&path).unwrap().set_len(largest + 1).unwrap();
        let refusal = read(&path, FileKind::Stack).unwrap_err();
        assert!(matches!(refusal, ReadError::TooLarge(FileKind::Stack)));
    }
}
