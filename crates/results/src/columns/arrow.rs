//! Conversion of columns to Arrow arrays: numbers in double precision, strings as dictionaries.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::{Column, ColumnData, ColumnType, TextColumn};

/// Returns the Arrow schema of these columns.
pub fn schema(columns: &[Column]) -> Schema {
    let fields = columns.iter().map(|column| {
        let kind = match column.kind {
            ColumnType::Number => DataType::Float64,
            ColumnType::Whole => DataType::UInt64,
            ColumnType::Flag => DataType::Boolean,
            ColumnType::Text => name(),
        };
        Field::new(&column.name, kind, true)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Returns the Arrow type of repeated strings: a dictionary.
pub fn name() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Returns an array of numbers. NaN becomes null.
pub fn numbers(list: Vec<f64>) -> ArrayRef {
    let has_gaps = list.iter().any(|number| number.is_nan());
    let known: Option<Vec<bool>> =
        has_gaps.then(|| list.iter().map(|number| !number.is_nan()).collect());
    Arc::new(Float64Array::new(list.into(), known.map(Into::into)))
}

/// Returns a dictionary array. `places` are indices into `names`; a negative index becomes null.
///
/// # Errors
/// If an index is out of range.
pub fn texts(names: &[String], places: &[i32]) -> Result<ArrayRef, ArrowError> {
    let places = places.iter().map(|&place| (place >= 0).then_some(place));
    let names = Arc::new(StringArray::from_iter_values(names));
    let places: Int32Array = places.collect();
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        places, names,
    )?))
}

/// Returns the values of a column as an array. Missing values become null.
///
/// # Errors
/// If there are more distinct strings than an Arrow dictionary can index.
pub fn array(data: &ColumnData) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        ColumnData::Numbers(list) => numbers(list.clone()),
        ColumnData::Wholes(list) => Arc::new(UInt64Array::from(list.clone())),
        ColumnData::Flags(list) => Arc::new(BooleanArray::from(list.clone())),
        ColumnData::Texts(TextColumn {
            names,
            indices: places,
            ..
        }) => texts(names, places)?,
    })
}
