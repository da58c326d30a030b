//! Reader of a results directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netflow_files::{FileKind, ReadError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::former_names::former_name;
use crate::{
    CLASSES, CONNECTIONS, CONNECTIONS_CI95, ClassRow, ConnectionRow, Error, Format, LINKS,
    LINKS_CI95, LinkRow, Manifest, NETWORK_TOTALS, NetworkTotalsRow, Row, Summary, Table, Topology,
    WAITS, WaitRow, is_sweep,
};

/// The results of a run, read from their directory.
///
/// The summary and the manifest are read at once, a series on request.
#[derive(Clone, Debug)]
pub struct Results {
    directory: PathBuf,
    /// The content of `summary.json`.
    pub summary: Summary,
    /// The content of `manifest.json`.
    pub manifest: Manifest,
}

impl Results {
    /// Opens a results directory.
    ///
    /// # Errors
    /// If its summary or its manifest cannot be read or is invalid.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Results, Error> {
        let directory = directory.into();
        if !directory.join(Summary::FILE).exists() {
            return Err(match (directory.is_dir(), directory.exists()) {
                (true, _) if is_sweep(&directory) => Error::IsSweep { path: directory },
                (true, _) => Error::NoResults { path: directory },
                (false, true) => Error::IsFile { path: directory },
                (false, false) => Error::NoDirectory { path: directory },
            });
        }
        let summary = read_json(&directory.join(Summary::FILE))?;
        let path = directory.join(Manifest::FILE);
        let manifest: Manifest = read_json(&path)?;
        if manifest.format_version > Manifest::FORMAT_VERSION {
            let version = manifest.format_version;
            let reason = format!(
                "results format {version} is of a later version of netflow: update netflow"
            );
            return Err(malformed(&path, None, reason));
        }
        Ok(Results {
            directory,
            summary,
            manifest,
        })
    }

    /// Returns the path of the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the series of the links, in time order.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn links(&self) -> Result<Vec<LinkRow>, Error> {
        let rows = self.series(LINKS)?;
        let names = self.summary.links.len();
        self.check_complete(
            LINKS,
            rows.len(),
            names,
            rows.last().map(|row: &LinkRow| row.time_s),
        )?;
        Ok(rows)
    }

    /// Returns the series of the connections, in time order.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn connections(&self) -> Result<Vec<ConnectionRow>, Error> {
        let rows = self.series(CONNECTIONS)?;
        let names = self.summary.connections.len();
        let last_s = rows.last().map(|row: &ConnectionRow| row.time_s);
        self.check_complete(CONNECTIONS, rows.len(), names, last_s)?;
        Ok(rows)
    }

    /// Rejects a truncated series. Every interval has a row for each of `names` names, and the last
    /// interval ends with the run.
    fn check_complete(
        &self,
        table: Table,
        rows: usize,
        names: usize,
        last_s: Option<f64>,
    ) -> Result<(), Error> {
        let path = self.directory.join(table.file(self.manifest.format));
        let end_s = self.manifest.end_s();
        let last_s = last_s.unwrap_or(0.0);
        let missing = end_s - last_s > 1e-6 * end_s.max(self.manifest.interval_s);
        if names > 0 && (missing || !rows.is_multiple_of(names)) {
            let reason = format!(
                "the file is truncated: its {rows} rows, {names} for each interval, end at {last_s} s, \
                 but the run ends at {end_s} s"
            );
            return Err(malformed(&path, None, reason));
        }
        Ok(())
    }

    /// Returns the series of the classes, in time order; `None` if the run did not write one.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn classes(&self) -> Result<Option<Vec<ClassRow>>, Error> {
        none_if_missing(self.series(CLASSES))
    }

    /// Returns half the widths of the 95 % confidence intervals of the means of links; `None` for one
    /// seed.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn links_ci95(&self) -> Result<Option<Vec<LinkRow>>, Error> {
        none_if_missing(self.series(LINKS_CI95))
    }

    /// Returns half the widths of the 95 % confidence intervals of the means of connections; `None` for
    /// one seed.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn connections_ci95(&self) -> Result<Option<Vec<ConnectionRow>>, Error> {
        none_if_missing(self.series(CONNECTIONS_CI95))
    }

    /// Returns the totals of the network over the seeds; `None` for one seed.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn network_totals(&self) -> Result<Option<Vec<NetworkTotalsRow>>, Error> {
        none_if_missing(self.series(NETWORK_TOTALS))
    }

    /// Returns the content of `network.json`; `None` if old versions of netflow, which lack the file,
    /// wrote the directory.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn topology(&self) -> Result<Option<Topology>, Error> {
        let path = self.directory.join(Topology::FILE);
        if path.exists() {
            read_json(&path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns the response times of users, in order of their arrival; `None` without workloads.
    ///
    /// # Errors
    /// If its file cannot be read or is invalid.
    pub fn waits(&self) -> Result<Option<Vec<WaitRow>>, Error> {
        none_if_missing(self.series(WAITS))
    }

    fn series<R: Row>(&self, table: Table) -> Result<Vec<R>, Error> {
        let former = former_name(table.name).map(|name| Table { name, ..table });
        for table in [Some(table), former].into_iter().flatten() {
            for format in Format::ALL {
                let path = self.directory.join(table.file(format));
                if path.exists() {
                    return match format {
                        Format::Csv => read_csv(&path),
                        Format::Jsonl => read_json_lines(&path),
                        #[cfg(feature = "parquet")]
                        Format::Parquet => crate::parquet::read(&path),
                        #[cfg(not(feature = "parquet"))]
                        Format::Parquet => Err(Error::FormatMissing { format }),
                    };
                }
            }
        }
        Err(Error::NoSeries {
            path: self.directory.clone(),
            table: table.name,
        })
    }
}

/// Maps a missing series to `None`.
fn none_if_missing<R>(series: Result<Vec<R>, Error>) -> Result<Option<Vec<R>>, Error> {
    match series {
        Ok(rows) => Ok(Some(rows)),
        Err(Error::NoSeries { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Interning of names: each distinct name is stored once.
#[derive(Default)]
pub(crate) struct Interner(HashMap<String, Arc<str>>);

impl Interner {
    pub(crate) fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.to_string(), name.clone());
        name
    }
}

pub(crate) fn malformed(path: &Path, line: Option<u64>, reason: impl ToString) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        line,
        reason: reason.to_string(),
    }
}

pub(crate) fn read_text(path: &Path, kind: FileKind) -> Result<String, Error> {
    netflow_files::read_text(path, kind).map_err(|refusal| match refusal {
        ReadError::NotUtf8 { .. } => malformed(path, None, "not UTF-8"),
        refusal => Error::Read {
            path: path.to_owned(),
            source: refusal.into(),
        },
    })
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    serde_json::from_str(&read_text(path, FileKind::Summary)?).map_err(|error| {
        malformed(
            path,
            Some(error.line() as u64).filter(|&line| line > 0),
            error,
        )
    })
}

/// Rejects a file that does not end with a newline, because a truncated number is still a valid number.
fn check_last_line(path: &Path, text: &str) -> Result<(), Error> {
    if text.is_empty() || text.ends_with('\n') {
        return Ok(());
    }
    let line = text.lines().count() as u64;
    Err(malformed(
        path,
        Some(line),
        "the last line of the file is truncated",
    ))
}

fn read_csv<R: Row>(path: &Path) -> Result<Vec<R>, Error> {
    let columns = R::TABLE.values.iter();
    let columns: Vec<(&str, bool)> = columns.map(|it| (it.name, it.later)).collect();
    let mut rows = Vec::new();
    for_each_csv_row(path, R::TABLE.keys, &columns, |time_s, keys, values| {
        rows.push(R::from_columns(time_s, keys, values));
    })?;
    Ok(rows)
}

/// A CSV table whose header is read.
pub(crate) struct CsvTable<'t> {
    path: &'t Path,
    header: csv::StringRecord,
    reader: csv::Reader<&'t [u8]>,
}

impl<'t> CsvTable<'t> {
    pub(crate) fn new(path: &'t Path, text: &'t str) -> Result<CsvTable<'t>, Error> {
        check_last_line(path, text)?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| csv_error(path, error))?;
        Ok(CsvTable {
            path,
            header: header.clone(),
            reader,
        })
    }

    /// Returns the index of a column.
    pub(crate) fn column_index(&self, column: &str) -> Result<usize, Error> {
        let place = |column| self.header.iter().position(|name| name == column);
        let found = place(column).or_else(|| place(former_name(column)?));
        found.ok_or_else(|| malformed(self.path, Some(1), format!("missing column `{column}`")))
    }

    /// Reads the next row. Returns whether there is one.
    pub(crate) fn next(&mut self, row: &mut csv::StringRecord) -> Result<bool, Error> {
        let read = self.reader.read_record(row);
        read.map_err(|error| csv_error(self.path, error))
    }

    /// Returns the error of an invalid cell.
    pub(crate) fn field_error(&self, row: &csv::StringRecord, column: usize, what: &str) -> Error {
        let line = row.position().map(csv::Position::line);
        let reason = format!("`{}` in {} {what}", &row[column], &self.header[column]);
        malformed(self.path, line, reason)
    }
}

fn csv_error(path: &Path, error: csv::Error) -> Error {
    malformed(path, error.position().map(csv::Position::line), error)
}

/// Calls `on` for every row of a table with a column `time_s`. Its arguments are the time, the texts of
/// `keys` and the numbers of `values`.
///
/// An empty cell is NaN. A value column whose flag is set may be missing.
///
/// # Errors
/// If the file cannot be read, a column is missing, or a cell is not a number.
pub fn for_each_csv_row(
    path: &Path,
    keys: &[&str],
    values: &[(&str, bool)],
    mut on: impl FnMut(f64, &[Arc<str>], &[f64]),
) -> Result<(), Error> {
    let text = read_text(path, FileKind::Series)?;
    let mut table = CsvTable::new(path, &text)?;
    let time = table.column_index("time_s")?;
    let key_columns = keys.iter().map(|key| table.column_index(key));
    let key_columns = key_columns.collect::<Result<Vec<_>, _>>()?;
    let value_columns = values
        .iter()
        .map(|(column, later)| match table.column_index(column) {
            Err(_) if *later => Ok(None),
            place => place.map(Some),
        });
    let value_columns = value_columns.collect::<Result<Vec<_>, _>>()?;

    let mut names = Interner::default();
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let mut row = csv::StringRecord::new();
    while table.next(&mut row)? {
        let number = |column: usize| match &row[column] {
            // Values that are not finite were written as empty cells.
            "" => Ok(f64::NAN),
            text => (text.parse::<f64>())
                .map_err(|_| table.field_error(&row, column, "is not a number")),
        };
        keys.clear();
        keys.extend(key_columns.iter().map(|&it| names.intern(&row[it])));
        values.clear();
        for &column in &value_columns {
            values.push(column.map_or(Ok(f64::NAN), number)?);
        }
        on(number(time)?, &keys, &values);
    }
    Ok(())
}

fn read_json_lines<R: Row>(path: &Path) -> Result<Vec<R>, Error> {
    let text = read_text(path, FileKind::Series)?;
    check_last_line(path, &text)?;
    let mut rows = Vec::new();
    let mut names = Interner::default();
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let bad = |reason: String| malformed(path, Some(index as u64 + 1), reason);
        let object: HashMap<String, Value> =
            serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        let value =
            |column: &str| (object.get(column)).or_else(|| object.get(former_name(column)?));
        let number = |column: &str, later: bool| match value(column) {
            Some(Value::Null) => Ok(f64::NAN),
            Some(value) => value
                .as_f64()
                .ok_or_else(|| bad(format!("`{value}` in {column} is not a number"))),
            None if later => Ok(f64::NAN),
            None => Err(bad(format!("missing key `{column}`"))),
        };
        keys.clear();
        for key in R::TABLE.keys {
            match object.get(*key) {
                Some(Value::String(name)) => keys.push(names.intern(name)),
                _ => return Err(bad(format!("missing name in `{key}`"))),
            }
        }
        values.clear();
        for column in R::TABLE.values {
            values.push(number(column.name, column.later)?);
        }
        rows.push(R::from_columns(number("time_s", false)?, &keys, &values));
    }
    Ok(rows)
}
