//! Parquet: numbers in double precision, names and what a case has in common as dictionaries.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::Encoder;
use crate::columns::{Column, Data, Kind, Texts};
use crate::tables::CASE;

pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
}

impl<W: Write + Send> Parquet<W> {
    /// The first columns are those of a case, each of which stands in many rows.
    pub(super) fn new(to: W, columns: &[Column], of_case: usize) -> io::Result<Parquet<W>> {
        let fields = columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Number => DataType::Float64,
                Kind::Whole => DataType::UInt64,
                Kind::Flag => DataType::Boolean,
                Kind::Text => {
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
                }
            };
            Field::new(&column.name, kind, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // Computed numbers hardly repeat; who looks for a row looks for its case.
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_statistics_enabled(CASE.into(), EnabledStatistics::Chunk);
        let repeated = columns.iter().enumerate();
        let repeated = repeated.filter(|(i, column)| *i < of_case || column.kind == Kind::Text);
        let properties = repeated.fold(properties, |properties, (_, column)| {
            let path = vec![column.name.clone()];
            properties.set_column_dictionary_enabled(path.into(), true)
        });
        // For readers names are texts.
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

fn array(data: &Data) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        Data::Numbers(list) => {
            let has_gaps = list.iter().any(|number| number.is_nan());
            let known: Option<Vec<bool>> =
                has_gaps.then(|| list.iter().map(|number| !number.is_nan()).collect());
            Arc::new(Float64Array::new(
                list.clone().into(),
                known.map(Into::into),
            ))
        }
        Data::Wholes(list) => Arc::new(UInt64Array::from(list.clone())),
        Data::Flags(list) => Arc::new(BooleanArray::from(list.clone())),
        Data::Texts(Texts { names, places, .. }) => {
            let places = places.iter().map(|&place| (place >= 0).then_some(place));
            let names = Arc::new(StringArray::from_iter_values(names));
            let places: Int32Array = places.collect();
            Arc::new(DictionaryArray::<Int32Type>::try_new(places, names)?)
        }
    })
}

impl<W: Write + Send> Encoder<W> for Parquet<W> {
    fn batch(&mut self, _: &[Column], data: &[Data]) -> io::Result<()> {
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
