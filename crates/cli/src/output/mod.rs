//! Output functions shared by commands.

pub mod answer_options;
pub mod csv;
pub mod escape_control_characters;
pub mod file;
pub mod format;
pub mod json;
pub mod notes;
pub mod progress;
pub mod scenario_schema_file;
pub mod table;
