//! The interface of the writers of series, independent of the file format.

use std::path::Path;

use netflow_files::PartialFile;

use crate::partial_files;
use crate::{Error, Format, Table, delimited, json_lines};

/// The values of a key column. A row refers to them by index.
pub type Names = Vec<String>;

/// A writer of one series, row by row.
pub trait Exporter: Send {
    /// Starts the interval that ends at `time_s`. The rows until the next call belong to it.
    fn interval(&mut self, time_s: f64);

    /// Writes a row: for every key column an index into its [`Names`], for every value column a value.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn row(&mut self, keys: &[usize], values: &[f64]) -> Result<(), Error>;

    /// Writes buffered data. The file is renamed to its final name later, together with all the others.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(self: Box<Self>) -> Result<PartialFile, Error>;
}

/// Starts the file of a series in an existing directory, under a temporary name.
///
/// # Errors
/// If the file cannot be created, or this build does not support the format.
pub fn export(
    directory: &Path,
    table: Table,
    format: Format,
    names: &[&Names],
) -> Result<Box<dyn Exporter>, Error> {
    if !format.is_available() {
        return Err(Error::FormatMissing { format });
    }
    let file = partial_files::create(directory, &table.file(format))?;
    match format {
        Format::Csv => Ok(Box::new(delimited::Csv::new(file, table, names)?)),
        Format::Jsonl => Ok(Box::new(json_lines::JsonLines::new(file, table, names))),
        #[cfg(feature = "parquet")]
        Format::Parquet => Ok(Box::new(crate::parquet::Parquet::new(file, table, names)?)),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::FormatMissing { format }),
    }
}
