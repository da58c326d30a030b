//! JSON schema next to a written scenario, with which editors complete keys.

use std::path::{Path, PathBuf};

use super::file;
use crate::failure::Failure;

/// Name of the schema, which all scenarios of a folder share.
const NAME: &str = "netflow.schema.json";

/// Text that identifies a schema of netflow.
const MARK: &str = "\"title\": \"Scenario\"";

/// Schema next to a scenario that is to be written.
pub struct SchemaFile(Option<PathBuf>);

impl SchemaFile {
    /// Returns the schema next to `scenario`. There is none if the scenario is not a regular file (a pipe, a
    /// device), or if the folder contains another file of the same name.
    pub fn beside(scenario: &Path) -> SchemaFile {
        let is_special = scenario.exists() && !scenario.is_file();
        let path = scenario.with_file_name(NAME);
        let is_usable = !is_special && file::check_overwrite(&path, Some(MARK)).is_ok();
        SchemaFile(is_usable.then_some(path))
    }

    /// Returns the text of the scenario, with a first line that refers to the schema.
    pub fn with_reference(&self, scenario: &str) -> String {
        match self.0 {
            Some(_) => format!("#:schema {NAME}\n{scenario}"),
            None => scenario.to_owned(),
        }
    }

    /// Writes the schema.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.0 else {
            return Ok(());
        };
        file::write(path, netflow::scenario::schema() + "\n", Some(MARK))
    }
}
