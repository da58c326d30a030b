//! Parquet table writer: numbers in double precision; names and case columns as dictionaries.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use netflow_results::columns::{Column, ColumnData, ColumnType, array, schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::Encoder;
use crate::tables::CASE;

pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
}

impl<W: Write + Send> Parquet<W> {
    /// Returns a writer. The first `case_columns` columns belong to the case and repeat over many rows.
    pub(super) fn new(to: W, columns: &[Column], case_columns: usize) -> io::Result<Parquet<W>> {
        let schema = Arc::new(schema(columns));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // Results rarely repeat, and readers select rows by case.
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_statistics_enabled(CASE.into(), EnabledStatistics::Chunk);
        let repeated = columns.iter().enumerate();
        let repeated =
            repeated.filter(|(i, column)| *i < case_columns || column.kind == ColumnType::Text);
        let properties = repeated.fold(properties, |properties, (_, column)| {
            let path = vec![column.name.clone()];
            properties.set_column_dictionary_enabled(path.into(), true)
        });
        // Without Arrow metadata, readers see names as plain strings.
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(to, schema.clone(), options);
        Ok(Parquet {
            writer: writer.map_err(io::Error::other)?,
            schema,
        })
    }
}

impl<W: Write + Send> Encoder<W> for Parquet<W> {
    fn write_batch(&mut self, _: &[Column], data: &[ColumnData]) -> io::Result<()> {
        let columns = data.iter().map(array).collect::<Result<Vec<_>, _>>();
        let batch = columns.and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        let written = batch
            .map_err(ParquetError::from)
            .and_then(|batch| self.writer.write(&batch));
        written.map_err(io::Error::other)
    }

    fn finish(self: Box<Self>) -> io::Result<W> {
        self.writer.into_inner().map_err(io::Error::other)
    }
}
