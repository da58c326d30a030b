//! Table writer of a chunk, which buffers rows by column and writes them in batches.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};

use netflow_results::Format;
use serde::Serialize;

use netflow_results::columns::{Cell, Column, ColumnData, RowAppender};

/// Rows per batch, small enough that the batches of all threads fit in memory.
const BATCH_ROWS: usize = 16 * 1024;

/// Encoder of batches of rows in a file format.
trait Encoder<W> {
    fn write_batch(&mut self, columns: &[Column], data: &[ColumnData]) -> io::Result<()>;
    /// Returns the output with all data written.
    fn finish(self: Box<Self>) -> io::Result<W>;
}

/// A table that is being written.
pub(crate) struct TableWriter<W> {
    columns: Vec<Column>,
    data: Vec<ColumnData>,
    /// Number of case columns, which are first.
    case_columns: usize,
    encoder: Box<dyn Encoder<W>>,
    /// Rows so far.
    pub rows: u64,
}

impl<W: Write + Send + 'static> TableWriter<W> {
    pub(crate) fn new(
        to: W,
        format: Format,
        columns: &[Column],
        case_columns: usize,
    ) -> io::Result<TableWriter<W>> {
        let encoder: Box<dyn Encoder<W>> = match format {
            Format::Csv => Box::new(csv::Csv::new(to, columns)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(parquet::Parquet::new(to, columns, case_columns)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(TableWriter {
            data: columns
                .iter()
                .map(|column| ColumnData::new(column.kind))
                .collect(),
            columns: columns.to_vec(),
            case_columns,
            encoder,
            rows: 0,
        })
    }

    /// Adds rows of one case with the case columns `case`.
    pub(crate) fn add<R: Serialize>(&mut self, case: &[Cell<'_>], rows: &[R]) -> io::Result<()> {
        let (case_columns, row_columns) = self.data.split_at_mut(self.case_columns);
        for row in rows {
            RowAppender::add(&self.columns[self.case_columns..], row_columns, row);
        }
        let gathered = row_columns.first().map_or(0, ColumnData::len);
        for (data, cell) in case_columns.iter_mut().zip(case) {
            data.fill_to(gathered, *cell);
        }
        self.rows += rows.len() as u64;
        if gathered >= BATCH_ROWS {
            self.flush_batch()
        } else {
            Ok(())
        }
    }

    fn flush_batch(&mut self) -> io::Result<()> {
        self.encoder.write_batch(&self.columns, &self.data)?;
        self.data.iter_mut().for_each(ColumnData::clear);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.flush_batch()?;
        self.encoder.finish()
    }
}
