//! The seam between what is recorded and how it is written.

use std::path::Path;

use netflow_files::PartialFile;

use crate::partial;
use crate::{Error, Format, Table, delimited, json_lines};

/// The names a key column can hold; a row gives the place in this list.
pub type Names = Vec<String>;

/// Writes one series row by row, as the rows come.
pub trait Exporter: Send {
    /// Starts the interval that ends at `time_s`: the rows until the next call belong to it.
    fn interval(&mut self, time_s: f64);

    /// Writes a row: for every key column a place in its [`Names`], for every value column a value.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn row(&mut self, keys: &[usize], values: &[f64]) -> Result<(), Error>;

    /// Writes what is still buffered; the file gets its name later, with all the others.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(self: Box<Self>) -> Result<PartialFile, Error>;
}

/// Starts the file of a series in a directory that is there, under a name that nobody knows.
///
/// # Errors
/// If the file cannot be made, or the format is not in this build.
pub fn export(
    directory: &Path,
    table: Table,
    format: Format,
    names: &[&Names],
) -> Result<Box<dyn Exporter>, Error> {
    if !format.is_available() {
        return Err(Error::FormatMissing { format });
    }
    let file = partial::create(directory, &table.file(format))?;
    match format {
        Format::Csv => Ok(Box::new(delimited::Csv::new(file, table, names)?)),
        Format::Jsonl => Ok(Box::new(json_lines::JsonLines::new(file, table, names))),
        #[cfg(feature = "parquet")]
        Format::Parquet => Ok(Box::new(crate::parquet::Parquet::new(file, table, names)?)),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::FormatMissing { format }),
    }
}
