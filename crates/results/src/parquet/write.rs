//! Exporter of series as Parquet.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use netflow_files::PartialFile;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescPtr;

use super::chunk::{Chunk, bit_width, put_packed, put_run};
use crate::{Error, Exporter, Names, Table};

/// Rows per page. The numbers of a page fit into the processor cache.
const PAGE_ROWS: usize = 8 * 1024;
/// Pages per row group. A row group fits into the cache, and its 131 072 rows are a usual batch size of
/// readers.
const PAGES_PER_GROUP: usize = 16;

/// Bytes for the header and the definition levels of a page.
const HEADER_BYTES: usize = PAGE_ROWS / 8 + 64;

/// Capacity of a column of a page. The extra rows keep equal rows of different columns out of the same
/// cache set.
const COLUMN_STRIDE: usize = PAGE_ROWS + 16;

/// The Parquet exporter. Rows are collected by column and encoded a page at a time.
pub(crate) struct Parquet {
    writer: SerializedFileWriter<PartialFile>,
    columns: SchemaDescPtr,
    /// Dictionary page content and number of names, for each key column.
    names: Vec<(Vec<u8>, usize)>,
    time_s: f64,
    /// Rows in the current page.
    rows: usize,
    /// Name indices and numbers by column, with a stride of `COLUMN_STRIDE`.
    keys: Vec<u32>,
    values: Vec<f32>,
    group: RowGroup,
    /// Scratch buffer for the content of a page.
    page: Vec<u8>,
}

/// A row group under construction.
#[derive(Default)]
struct RowGroup {
    pages: usize,
    /// Times, and the number of rows of each.
    times: Vec<(f64, usize)>,
    keys: Vec<Chunk>,
    values: Vec<Chunk>,
}

impl Parquet {
    pub(crate) fn new(file: PartialFile, table: Table, names: &[&Names]) -> Result<Parquet, Error> {
        let name = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut fields = vec![Field::new("time_s", DataType::Float64, false)];
        let keys = table.keys.iter();
        fields.extend(keys.map(|key| Field::new(*key, name.clone(), false)));
        let values = table.values.iter();
        fields.extend(values.map(|column| Field::new(column.name, DataType::Float32, true)));
        let schema = Schema::new(fields);
        let path = file.path().to_owned();
        let mut properties = WriterProperties::builder().build();
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let started = ArrowSchemaConverter::new().convert(&schema);
        let started = started.and_then(|columns| {
            let root = columns.root_schema_ptr();
            let writer = SerializedFileWriter::new(file, root, Arc::new(properties))?;
            Ok((Arc::new(columns), writer))
        });
        let (columns, writer) = started.map_err(|error| write_error(&path, error))?;
        Ok(Parquet {
            writer,
            columns,
            names: names.iter().map(|column| dictionary(column)).collect(),
            time_s: 0.0,
            rows: 0,
            keys: vec![0; COLUMN_STRIDE * table.keys.len()],
            values: vec![0.0; COLUMN_STRIDE * table.values.len()],
            group: RowGroup::default(),
            page: Vec::new(),
        })
    }

    /// Ends the current page, and the row group if it was its last page.
    fn end_page(&mut self) -> Result<(), Error> {
        let ended = self.put_page();
        let ended = ended.and_then(|()| {
            if self.group.pages >= PAGES_PER_GROUP {
                self.end_group()
            } else {
                Ok(())
            }
        });
        ended.map_err(|error| write_error(self.writer.inner().path(), error))
    }

    fn put_page(&mut self) -> Written<()> {
        // The next row starts a new page, even if this page fails.
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(());
        }
        if self.group.pages == 0 {
            let first_value = 1 + self.names.len();
            let columns = &self.columns;
            let chunks = |places: Range<usize>, room: usize| {
                let chunk = |place| Chunk::new(columns.column(place), room);
                places.map(chunk).collect()
            };
            self.group.keys = chunks(1..first_value, 0);
            let room = PAGES_PER_GROUP * (PAGE_ROWS * size_of::<f32>() + HEADER_BYTES);
            self.group.values = chunks(first_value..columns.num_columns(), room);
            for (chunk, (names, count)) in self.group.keys.iter_mut().zip(&self.names) {
                chunk.dictionary(names, *count)?;
            }
        }
        self.group.pages += 1;
        let keys = self.keys.chunks_exact(COLUMN_STRIDE).zip(&self.names);
        for (chunk, (places, (_, count))) in self.group.keys.iter_mut().zip(keys) {
            let width = bit_width(*count);
            self.page.clear();
            self.page.push(width as u8);
            put_packed(&places[..rows], width, &mut self.page);
            chunk.page(&self.page, rows, Encoding::RLE_DICTIONARY)?;
        }
        let values = self.values.chunks_exact(COLUMN_STRIDE);
        for (chunk, values) in self.group.values.iter_mut().zip(values) {
            self.page.clear();
            put_values(&values[..rows], &mut self.page);
            chunk.page(&self.page, rows, Encoding::PLAIN)?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Written<()> {
        if self.group.pages == 0 {
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        let mut to = self.writer.next_row_group()?;
        let (times, span) = times(Chunk::new(self.columns.column(0), 0), &group.times)?;
        let mut append = |chunk: Chunk, statistics| {
            let (bytes, closed) = chunk.close(statistics)?;
            to.append_column(&bytes, closed)
        };
        append(times, Some(span))?;
        for chunk in group.keys.into_iter().chain(group.values) {
            append(chunk, None)?;
        }
        to.close()?;
        Ok(())
    }
}

/// Returns names in the plain encoding of a dictionary: each with its length as a prefix.
fn dictionary(names: &Names) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    (bytes, names.len())
}

/// Encodes the times of a row group, each of which is in many rows. Returns the first and last as
/// statistics.
fn times(mut chunk: Chunk, times: &[(f64, usize)]) -> Written<(Chunk, Statistics)> {
    let values: Vec<u8> = times
        .iter()
        .flat_map(|(time_s, _)| time_s.to_le_bytes())
        .collect();
    chunk.dictionary(&values, times.len())?;
    let width = bit_width(times.len());
    let mut page = vec![width as u8];
    for (place, (_, rows)) in times.iter().enumerate() {
        put_run(place as u32, *rows, width, &mut page);
    }
    let rows = times.iter().map(|(_, rows)| rows).sum();
    chunk.page(&page, rows, Encoding::RLE_DICTIONARY)?;
    let all = || times.iter().map(|(time_s, _)| *time_s);
    let (first, last) = (all().reduce(f64::min), all().reduce(f64::max));
    let span = Statistics::new(first, last, None, Some(0), false);
    Ok((chunk, span))
}

/// Encodes definition levels and values. NaN is a missing value.
fn put_values(values: &[f32], page: &mut Vec<u8>) {
    const LENGTH: usize = 4;
    page.extend_from_slice(&[0; LENGTH]);
    let gaps = values.iter().filter(|value| value.is_nan()).count();
    match gaps {
        0 => put_run(1, values.len(), 1, page),
        _ => {
            let known: Vec<u32> = values.iter().map(|it| u32::from(!it.is_nan())).collect();
            put_packed(&known, 1, page);
        }
    }
    let levels = (page.len() - LENGTH) as u32;
    page[..LENGTH].copy_from_slice(&levels.to_le_bytes());
    match gaps {
        0 => put_plain(values, page),
        _ => {
            let known = values.iter().copied().filter(|value| !value.is_nan());
            put_plain(&known.collect::<Vec<f32>>(), page);
        }
    }
}

/// Appends values in plain encoding.
fn put_plain(values: &[f32], page: &mut Vec<u8>) {
    let start = page.len();
    page.resize(start + size_of_val(values), 0);
    for (to, value) in page[start..].chunks_exact_mut(4).zip(values) {
        to.copy_from_slice(&value.to_le_bytes());
    }
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
        match self.group.times.last_mut() {
            Some((time_s, rows)) if *time_s == self.time_s => *rows += 1,
            _ => self.group.times.push((self.time_s, 1)),
        }
        for (column, &key) in self.keys.chunks_exact_mut(COLUMN_STRIDE).zip(keys) {
            column[self.rows] = key as u32;
        }
        for (column, &value) in self.values.chunks_exact_mut(COLUMN_STRIDE).zip(values) {
            column[self.rows] = value as f32;
        }
        self.rows += 1;
        if self.rows >= PAGE_ROWS {
            self.end_page()
        } else {
            Ok(())
        }
    }

    fn finish(mut self: Box<Self>) -> Result<PartialFile, Error> {
        let path = self.writer.inner().path().to_owned();
        let ended = self.put_page().and_then(|()| self.end_group());
        let ended = ended.and_then(|()| self.writer.into_inner());
        ended.map_err(|error| write_error(&path, error))
    }
}
