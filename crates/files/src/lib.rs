//! File input and output shared by all crates.
//!
//! - [`read`] and [`read_text`] read a whole file of a [`FileKind`], which limits its size. They accept
//!   regular files, and `-` for the standard input.
//! - [`BoundedLines`] limits the length of lines of files that are read line by line.
//! - [`PartialFile`] and [`write_atomically`] write to a temporary file with an unpredictable name and
//!   rename it: the file is complete or absent.
//! - [`write_unless_foreign`] and [`check_overwrite`] refuse to replace files that netflow did not write.
//! - [`create_dirs_inside`] creates folders inside a directory and follows no symbolic link.
//! - [`DirectoryLock`] locks a directory for one process.
//! - [`remove_temp_files`] removes unfinished files of a process that must end at once.

mod atomic_write;
mod bounded_lines;
mod create_inside;
mod directory_lock;
mod overwrite_guard;
mod read;

pub use atomic_write::{PartialFile, publish, remove_temp_files, write_atomically};
pub use bounded_lines::BoundedLines;
pub use create_inside::create_dirs_inside;
pub use directory_lock::DirectoryLock;
pub use overwrite_guard::{check_overwrite, write_unless_foreign};
pub use read::{FileKind, ReadError, STANDARD_INPUT, read, read_text};
