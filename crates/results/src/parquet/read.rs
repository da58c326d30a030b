//! Reader of Parquet tables.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::columns::{Cell, Column, ColumnType};
use crate::former_names::former_name;
use crate::read::{Interner, malformed};
use crate::{Error, Row};

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
    let present = |column: &str| {
        let former = || batch.column_by_name(former_name(column)?);
        batch.column_by_name(column).or_else(former)
    };
    let find = |column: &str| {
        present(column).ok_or_else(|| malformed(path, None, format!("missing column `{column}`")))
    };
    let wrong = |column: &str| {
        malformed(
            path,
            None,
            format!("column `{column}` has an unexpected type"),
        )
    };
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
        if column.later && present(value).is_none() {
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

/// Calls `on_row` with the requested columns of every row of a table that [`columns`](crate::columns)
/// describes.
pub(crate) fn for_each_row(
    path: &Path,
    columns: &[&Column],
    on_row: &mut dyn FnMut(&[Cell<'_>]),
) -> Result<(), Error> {
    let file = File::open(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let wrong = |error: ParquetError| malformed(path, None, error);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(wrong)?;
    // Keys of settings contain points, which a mask by name would read as nesting. So the mask is by
    // index.
    let fields = builder.schema().fields().iter().enumerate();
    let wanted = fields.filter(|(_, field)| columns.iter().any(|it| it.name == *field.name()));
    let wanted: Vec<usize> = wanted.map(|(place, _)| place).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
    let batches = builder.with_projection(mask).build().map_err(wrong)?;
    for batch in batches {
        let batch = batch.map_err(|error| malformed(path, None, error))?;
        let find = |column: &&Column| {
            let found = batch.column_by_name(&column.name);
            found.ok_or_else(|| malformed(path, None, format!("missing column `{}`", column.name)))
        };
        let arrays = columns.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let mut cells = Vec::with_capacity(columns.len());
        for row in 0..batch.num_rows() {
            cells.clear();
            for (column, &array) in columns.iter().zip(&arrays) {
                let Some(cell) = cell(column.kind, array, row) else {
                    let reason = format!("column `{}` has an unexpected type", column.name);
                    return Err(malformed(path, None, reason));
                };
                cells.push(cell);
            }
            on_row(&cells);
        }
    }
    Ok(())
}

/// Returns the cell of a row, or `None` if the column has another type.
fn cell(kind: ColumnType, array: &ArrayRef, row: usize) -> Option<Cell<'_>> {
    if array.is_null(row) {
        return Some(Cell::Nothing);
    }
    Some(match kind {
        ColumnType::Number => Cell::Number(array.as_primitive_opt::<Float64Type>()?.value(row)),
        ColumnType::Whole => Cell::Whole(array.as_primitive_opt::<UInt64Type>()?.value(row)),
        ColumnType::Flag => Cell::Flag(array.as_boolean_opt()?.value(row)),
        ColumnType::Text => Cell::Text(array.as_string_opt::<i32>()?.value(row)),
    })
}
