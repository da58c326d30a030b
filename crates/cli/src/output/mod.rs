//! Output functions shared by commands.

pub mod csv;
pub mod file;
pub mod format;
pub mod json;
pub mod progress;
pub mod table;
pub mod visible;
