//! Files as everything in netflow reads and writes them.
//!
//! - [`read`] and [`read_text`] take a whole file of a [`Kind`], which has a largest size: regular
//!   files, or the standard input under the name `-`. Nothing else is waited for, and nothing grows
//!   without end.
//! - [`ShortLines`] is for files that are read line by line, however long they are.
//! - [`PartialFile`] and [`write_whole`] write a file under a name that nobody knows, which cannot be
//!   a link to somewhere else, and rename it: it is there whole, or not at all.
//! - [`write_own`] and [`may_write`] keep what others have written under a name that a user gives.
//! - [`make_inside`] makes folders inside a directory, and follows no symbolic link.
//! - [`Claim`] keeps a directory to one process at a time.
//! - [`abandon`] is for a process that has to end at once.

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
