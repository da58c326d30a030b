//! File input and output shared by all crates.
//!
//! - [`read`] and [`read_text`] read a whole file of a [`Kind`], which limits its size. They accept
//!   regular files, and `-` for the standard input.
//! - [`ShortLines`] limits the length of lines of files that are read line by line.
//! - [`PartialFile`] and [`write_whole`] write to a temporary file with an unpredictable name and
//!   rename it: the file is complete or absent.
//! - [`write_own`] and [`may_write`] refuse to replace files that netflow did not write.
//! - [`make_inside`] creates folders inside a directory and follows no symbolic link.
//! - [`Claim`] locks a directory for one process.
//! - [`abandon`] removes unfinished files of a process that must end at once.

mod claim;
mod inside;
mod lines;
mod partial;
mod read;
mod replace;

pub use claim::Claim;
pub use inside::make_inside;
pub use lines::ShortLines;
pub use partial::{PartialFile, abandon, publish, write_whole};
pub use read::{Kind, Refusal, STANDARD_INPUT, read, read_text};
pub use replace::{may_write, write_own};
