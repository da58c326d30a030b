//! Series as Parquet: times as doubles, names as dictionaries, values in single precision.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float32Array, Float64Array, Int32Array, RecordBatch,
    StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::read::{Interner, malformed};
use crate::{Error, Exporter, Names, Row, Table};
use netflow_files::PartialFile;

/// Rows in a batch: few enough that their numbers stay near the processor.
const BATCH: usize = 8 * 1024;

/// Columns are gathered and handed on a batch at a time.
pub(crate) struct Parquet {
    writer: ArrowWriter<PartialFile>,
    schema: Arc<Schema>,
    names: Vec<Arc<StringArray>>,
    time_s: f64,
    times: Vec<f64>,
    keys: Vec<Vec<i32>>,
    /// Row by row.
    values: Vec<f32>,
    columns: usize,
}

impl Parquet {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> Result<Parquet, Error> {
        let name = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut fields = vec![Field::new("time_s", DataType::Float64, false)];
        fields.extend(
            table
                .keys
                .iter()
                .map(|key| Field::new(*key, name.clone(), false)),
        );
        fields.extend(
            table
                .values
                .iter()
                .map(|column| Field::new(column.name, DataType::Float32, true)),
        );
        let schema = Arc::new(Schema::new(fields));
        let path = file.path().to_owned();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // Measured numbers hardly repeat; who looks for a row looks for its time.
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_statistics_enabled("time_s".into(), EnabledStatistics::Chunk);
        let properties = table.keys.iter().fold(properties, |properties, &key| {
            properties.set_column_dictionary_enabled(key.into(), true)
        });
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))
            .map_err(|error| write_error(&path, error))?;
        Ok(Parquet {
            writer,
            schema,
            names: names
                .iter()
                .map(|column| Arc::new(StringArray::from_iter_values(column.iter())))
                .collect(),
            time_s: 0.0,
            times: Vec::new(),
            keys: vec![Vec::new(); table.keys.len()],
            values: Vec::new(),
            columns: table.values.len(),
        })
    }

    fn flush(&mut self) -> Result<(), Error> {
        let result = self
            .batch()
            .map_err(ParquetError::from)
            .and_then(|batch| self.writer.write(&batch));
        result.map_err(|error| write_error(self.writer.inner().path(), error))
    }

    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(std::mem::take(
            &mut self.times,
        )))];
        for (keys, names) in self.keys.iter_mut().zip(&self.names) {
            let keys = Int32Array::from(std::mem::take(keys));
            columns.push(Arc::new(DictionaryArray::<Int32Type>::try_new(
                keys,
                names.clone(),
            )?));
        }
        for column in 0..self.columns {
            let rows = self.values.chunks_exact(self.columns);
            columns.push(Arc::new(measured(rows.map(|row| row[column]).collect())));
        }
        self.values.clear();
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

/// Null where nothing was measured.
fn measured(values: Vec<f32>) -> Float32Array {
    let has_gaps = values.iter().any(|value| value.is_nan());
    let known: Option<Vec<bool>> =
        has_gaps.then(|| values.iter().map(|value| !value.is_nan()).collect());
    Float32Array::new(values.into(), known.map(Into::into))
}

fn write_error(path: &Path, error: ParquetError) -> Error {
    let source = std::io::Error::other(error);
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

impl Exporter for Parquet {
    fn interval(&mut self, time_s: f64) {
        self.time_s = (time_s * 1e9).round() / 1e9;
    }

    fn row(&mut self, keys: &[usize], values: &[f64]) -> Result<(), Error> {
        self.times.push(self.time_s);
        for (column, &key) in self.keys.iter_mut().zip(keys) {
            column.push(i32::try_from(key).unwrap_or(i32::MAX));
        }
        self.values.extend(values.iter().map(|&value| value as f32));
        if self.times.len() >= BATCH {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn finish(mut self: Box<Self>) -> Result<PartialFile, Error> {
        self.flush()?;
        let path = self.writer.inner().path().to_owned();
        self.writer
            .into_inner()
            .map_err(|error| write_error(&path, error))
    }
}

pub(crate) fn read<R: Row>(path: &Path) -> Result<Vec<R>, Error> {
    let file = File::open(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let batches = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(|error| malformed(path, None, error))?;
    let mut rows = Vec::new();
    let mut names = Interner::default();
    for batch in batches {
        let batch = batch.map_err(|error| malformed(path, None, error))?;
        read_batch(path, &batch, &mut names, &mut rows)?;
    }
    Ok(rows)
}

fn read_batch<R: Row>(
    path: &Path,
    batch: &RecordBatch,
    names: &mut Interner,
    rows: &mut Vec<R>,
) -> Result<(), Error> {
    let find = |column: &str| {
        batch
            .column_by_name(column)
            .ok_or_else(|| malformed(path, None, format!("no column `{column}`")))
    };
    let wrong = |column: &str| malformed(path, None, format!("column `{column}` has another type"));
    let times = find("time_s")?
        .as_primitive_opt::<Float64Type>()
        .ok_or_else(|| wrong("time_s"))?;
    let mut key_columns = Vec::new();
    for &key in R::TABLE.keys {
        let column = find(key)?
            .as_dictionary_opt::<Int32Type>()
            .ok_or_else(|| wrong(key))?;
        let texts = column
            .values()
            .as_string_opt::<i32>()
            .ok_or_else(|| wrong(key))?;
        let interned: Vec<Arc<str>> = texts
            .iter()
            .map(|text| names.intern(text.unwrap_or("")))
            .collect();
        key_columns.push((column.keys(), interned));
    }
    let mut value_columns = Vec::new();
    for column in R::TABLE.values {
        let value = column.name;
        if column.later && batch.column_by_name(value).is_none() {
            value_columns.push(None);
            continue;
        }
        let column = find(value)?.as_primitive_opt::<Float32Type>();
        value_columns.push(Some(column.ok_or_else(|| wrong(value))?));
    }
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        keys.clear();
        for (indices, texts) in &key_columns {
            let text = usize::try_from(indices.value(row))
                .ok()
                .and_then(|index| texts.get(index));
            keys.push(
                text.ok_or_else(|| malformed(path, None, "a name is missing"))?
                    .clone(),
            );
        }
        values.clear();
        values.extend(value_columns.iter().map(|column| match column {
            Some(column) if column.is_valid(row) => f64::from(column.value(row)),
            _ => f64::NAN,
        }));
        rows.push(R::from_columns(times.value(row), &keys, &values));
    }
    Ok(())
}
