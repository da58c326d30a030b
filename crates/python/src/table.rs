//! Tables, exported as Arrow streams without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use netflow::results::columns::{DataFrame, array, name, numbers, schema, texts};
use netflow::results::{Table as Layout, present_name};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyImportError, PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use serde::Serialize;

use crate::errors;

/// Rows of named columns.
#[pyclass(frozen, module = "netflow_evaluator")]
#[derive(Clone)]
pub struct Table(RecordBatch);

impl Table {
    /// Creates a table from rows; `every` is a row in which every field is present.
    pub fn of<R: Serialize>(every: &impl Serialize, rows: &[R]) -> PyResult<Table> {
        let frame = DataFrame::of(every, rows);
        let arrays: Result<Vec<ArrayRef>, ArrowError> = frame.data.iter().map(array).collect();
        Table::from_arrays(schema(&frame.columns), arrays)
    }

    /// Creates the table of a series: times; for every key column its names and the index of each
    /// row; then the values by column.
    pub fn series(
        layout: Layout,
        times_s: Vec<f64>,
        keys: Vec<(Vec<String>, Vec<i32>)>,
        values: Vec<Vec<f64>>,
    ) -> PyResult<Table> {
        let mut fields = vec![Field::new("time_s", DataType::Float64, false)];
        let of_key = |key: &&str| Field::new(*key, name(), false);
        fields.extend(layout.keys.iter().map(of_key));
        let of_value =
            |column: &netflow::results::Column| Field::new(column.name, DataType::Float64, true);
        fields.extend(layout.values.iter().map(of_value));
        let mut arrays: Vec<Result<ArrayRef, ArrowError>> =
            vec![Ok(Arc::new(Float64Array::from(times_s)))];
        arrays.extend(keys.iter().map(|(names, places)| texts(names, places)));
        arrays.extend(values.into_iter().map(|column| Ok(numbers(column))));
        Table::from_arrays(Schema::new(fields), arrays.into_iter().collect())
    }

    fn from_arrays(schema: Schema, arrays: Result<Vec<ArrayRef>, ArrowError>) -> PyResult<Table> {
        let batch = arrays.and_then(|arrays| RecordBatch::try_new(Arc::new(schema), arrays));
        let failed = |error: ArrowError| errors::InternalError::new_err(error.to_string());
        batch.map(Table).map_err(failed)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn column_index(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let schema = self.0.schema();
        if let Some(present) = present_name(name)
            && let Ok(place) = schema.index_of(&present)
        {
            errors::warn_renamed(py, &format!("column `{name}`"), &format!("`{present}`"))?;
            return Ok(place);
        }
        // Failures: the former name of a column that other tables still have.
        if name == "load_bps"
            && schema.index_of(name).is_err()
            && let Ok(place) = schema.index_of("max_load_bps")
        {
            errors::warn_renamed(py, "column `load_bps`", "`max_load_bps`")?;
            return Ok(place);
        }
        schema.index_of(name).map_err(|_| {
            let known = schema.fields().iter().map(|field| field.name().as_str());
            PyKeyError::new_err(errors::is_unknown("column", name, known))
        })
    }

    fn cell<'py>(&self, py: Python<'py>, column: usize, row: usize) -> PyResult<Bound<'py, PyAny>> {
        cell(py, self.0.column(column), row)
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (i, field) in self.0.schema().fields().iter().enumerate() {
            dict.set_item(field.name(), self.cell(py, i, row)?)?;
        }
        Ok(dict)
    }

    fn list<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in 0..self.0.num_rows() {
            list.append(self.cell(py, column, row)?)?;
        }
        Ok(list)
    }
}

fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::UInt64 => column
            .as_primitive::<UInt64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Dictionary(..) => {
            let dictionary = column.as_dictionary::<Int32Type>();
            let names = dictionary.values().as_string::<i32>();
            let place = usize::try_from(dictionary.keys().value(row)).unwrap_or(0);
            names.value(place).into_bound_py_any(py)
        }
        other => Err(errors::InternalError::new_err(format!(
            "unsupported column type {other}"
        ))),
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema();
        schema.fields().iter().map(|it| it.name().clone()).collect()
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.num_rows(), self.0.num_columns())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns a column by name as a list, or a row by index as a dict.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Ok(name) = key.extract::<String>() {
            return Ok(self.list(py, self.column_index(py, &name)?)?.into_any());
        }
        let rows = self.0.num_rows();
        let place: isize = key.extract()?;
        let from_start = match usize::try_from(place) {
            Ok(place) => Some(place),
            Err(_) => rows.checked_sub(place.unsigned_abs()),
        };
        match from_start.filter(|&place| place < rows) {
            Some(place) => Ok(self.row(py, place)?.into_any()),
            None => Err(PyIndexError::new_err(format!(
                "no row {key}: the table has {rows} rows"
            ))),
        }
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (i, field) in self.0.schema().fields().iter().enumerate() {
            dict.set_item(field.name(), self.list(py, i)?)?;
        }
        Ok(dict)
    }

    fn to_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in 0..self.0.num_rows() {
            list.append(self.row(py, row)?)?;
        }
        Ok(list)
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let polars = import_optional(slf.py(), "polars")?;
        polars.getattr("DataFrame")?.call1((slf,))
    }

    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = import_optional(slf.py(), "pyarrow")?;
        pyarrow.getattr("table")?.call1((slf,))
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_optional(slf.py(), "pandas")?;
        Table::to_arrow(slf)?.call_method0("to_pandas")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| errors::InternalError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Exports the rows. A requested schema is ignored, as Arrow's protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = std::iter::once(Ok(self.0.clone()));
        let reader = RecordBatchIterator::new(batches, self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = self.shape();
        let names = self.column_names().join(", ");
        format!("<Table of {rows} rows and {columns} columns: {names}>")
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("netflow_evaluator._html")?;
        html.getattr("table")?.call1((slf,))?.extract()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let again = py.get_type::<Table>().getattr("_again")?;
        let mut bytes = Vec::new();
        let batch = &slf.get().0;
        let failed = |error: ArrowError| errors::InternalError::new_err(error.to_string());
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema())
            .map_err(failed)?;
        writer.write(batch).map_err(failed)?;
        writer.finish().map_err(failed)?;
        drop(writer);
        let bytes = pyo3::types::PyBytes::new(py, &bytes);
        (again, (bytes,)).into_pyobject(py)
    }

    #[staticmethod]
    fn _again(bytes: &[u8]) -> PyResult<Table> {
        let failed = |error: ArrowError| {
            errors::value(format!("cannot convert the data to a table: {error}"))
        };
        let mut reader = arrow_ipc::reader::StreamReader::try_new(bytes, None).map_err(failed)?;
        match reader.next() {
            Some(batch) => batch.map(Table).map_err(failed),
            None => Err(errors::value(
                "cannot convert the data to a table: it is empty",
            )),
        }
    }
}

/// Imports an optional package.
fn import_optional<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        if error.is_instance_of::<PyImportError>(py) {
            PyImportError::new_err(format!(
                "{name} is not installed: pip install 'netflow-evaluator[{name}]'"
            ))
        } else {
            error
        }
    })
}
