//! Reader of the tables of a sweep, and the layout of its directory.

use std::path::{Path, PathBuf};

use netflow_files::FileKind;
use serde::{Deserialize, Serialize};

use crate::columns::{Cell, Column, ColumnType};
use crate::read::{CsvTable, malformed, read_json, read_text};
use crate::{Error, Format};

/// Name of the file that describes a sweep.
pub const SWEEP_FILE: &str = "sweep.json";
/// Name of the directory with a receipt for every chunk whose tables are complete.
pub const SWEEP_RECEIPTS: &str = "chunks";
/// Name of the column with the seed of a case.
pub const SEED: &str = "seed";
/// Name of the column with the link that is down in a case.
pub const FAILED: &str = "failed";

/// One of the three tables of a sweep, each a directory of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepTable {
    /// A row for every case and link.
    Links,
    /// A row for every case and connection.
    Connections,
    /// A row for every case.
    Network,
}

impl SweepTable {
    /// All tables, in the order in which they are listed everywhere.
    pub const ALL: [SweepTable; 3] = [
        SweepTable::Links,
        SweepTable::Connections,
        SweepTable::Network,
    ];

    /// Returns the name of its directory.
    pub fn name(self) -> &'static str {
        match self {
            SweepTable::Links => "links",
            SweepTable::Connections => "connections",
            SweepTable::Network => "network",
        }
    }

    /// Returns the column that identifies a row within a case.
    pub fn key(self) -> Option<&'static str> {
        match self {
            SweepTable::Links => Some("link"),
            SweepTable::Connections => Some("connection"),
            SweepTable::Network => None,
        }
    }
}

/// The columns of the three tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepColumns {
    /// A row for every case and link.
    pub links: Vec<Column>,
    /// A row for every case and connection.
    pub connections: Vec<Column>,
    /// A row for every case.
    pub network: Vec<Column>,
}

impl SweepColumns {
    /// Returns the columns of one table.
    pub fn of(&self, table: SweepTable) -> &[Column] {
        match table {
            SweepTable::Links => &self.links,
            SweepTable::Connections => &self.connections,
            SweepTable::Network => &self.network,
        }
    }
}

/// A setting that a sweep varies.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SweepAxis {
    /// Its key, which is the name of its column.
    pub key: String,
    /// Unit of its numbers, empty if they have none; `None` for texts.
    pub unit: Option<String>,
    /// Its values as given on the command line.
    pub values: Vec<String>,
}

/// A complete sweep, read from its directory. The description is read at once, the tables on request.
#[derive(Clone, Debug)]
pub struct SweepResults {
    directory: PathBuf,
    description: Description,
}

#[derive(Clone, Debug, Deserialize)]
struct Description {
    digest: String,
    format: Format,
    chunks: u64,
    vary: Vec<SweepAxis>,
    tables: SweepColumns,
}

/// Returns the file name of a chunk: its number, the sweep mark and the extension.
pub fn chunk_file(chunk: u64, mark: &str, extension: &str) -> String {
    format!("{chunk:06}-{mark}.{extension}")
}

/// Returns the sweep mark: the first 12 characters of its digest, which are part of its file names.
pub fn sweep_mark(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

impl SweepResults {
    /// Opens the directory of a sweep.
    ///
    /// # Errors
    /// If it does not contain a sweep, or if the sweep is incomplete.
    pub fn open(directory: impl Into<PathBuf>) -> Result<SweepResults, Error> {
        let directory = directory.into();
        let file = directory.join(SWEEP_FILE);
        if !file.exists() {
            return Err(Error::NoSweep { path: directory });
        }
        let description: Description = read_json(&file)?;
        let sweep = SweepResults {
            directory,
            description,
        };
        let chunks = 0..sweep.description.chunks;
        let receipts = sweep.directory.join(SWEEP_RECEIPTS);
        let missing = chunks.filter(|&chunk| !receipts.join(sweep.file(chunk, "json")).exists());
        match missing.count() as u64 {
            0 => Ok(sweep),
            missing => Err(Error::SweepIncomplete {
                path: sweep.directory,
                missing,
                chunks: sweep.description.chunks,
            }),
        }
    }

    /// Returns the settings that it varies.
    pub fn varied(&self) -> &[SweepAxis] {
        &self.description.vary
    }

    /// Returns the columns of a table.
    pub fn columns(&self, table: SweepTable) -> &[Column] {
        self.description.tables.of(table)
    }

    fn file(&self, chunk: u64, extension: &str) -> String {
        chunk_file(chunk, sweep_mark(&self.description.digest), extension)
    }

    /// Calls `on_row` with the requested columns of every row of a table, case by case.
    ///
    /// # Errors
    /// If a column does not exist, or a file cannot be read or is invalid.
    pub fn for_each_row(
        &self,
        table: SweepTable,
        columns: &[&str],
        mut on_row: impl FnMut(&[Cell<'_>]),
    ) -> Result<(), Error> {
        let own = self.columns(table);
        let find = |name: &&str| {
            let found = own.iter().find(|column| column.name == *name);
            let file = self.directory.join(SWEEP_FILE);
            found.ok_or_else(|| malformed(&file, None, format!("missing column `{name}`")))
        };
        let columns = columns.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let format = self.description.format;
        for chunk in 0..self.description.chunks {
            let name = self.file(chunk, format.name());
            let path = self.directory.join(table.name()).join(name);
            match format {
                Format::Csv => for_each_csv_row_of_chunk(&path, &columns, &mut on_row)?,
                #[cfg(feature = "parquet")]
                Format::Parquet => crate::parquet::for_each_row(&path, &columns, &mut on_row)?,
                format => return Err(Error::FormatMissing { format }),
            }
        }
        Ok(())
    }
}

fn for_each_csv_row_of_chunk(
    path: &Path,
    columns: &[&Column],
    on_row: &mut dyn FnMut(&[Cell<'_>]),
) -> Result<(), Error> {
    let text = read_text(path, FileKind::Series)?;
    let mut table = CsvTable::new(path, &text)?;
    let places = columns
        .iter()
        .map(|column| table.column_index(&column.name));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let mut row = csv::StringRecord::new();
    while table.next(&mut row)? {
        let cell = |(column, &place): (&&Column, &usize)| {
            let cell = cell(column.kind, &row[place]);
            cell.ok_or_else(|| {
                table.field_error(&row, place, "does not match the type of its column")
            })
        };
        let cells = columns.iter().zip(&places).map(cell);
        on_row(&cells.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

/// Parses a cell of a column of this type. Returns `None` if the text is invalid.
fn cell(kind: ColumnType, text: &str) -> Option<Cell<'_>> {
    match (kind, text) {
        (_, "") => Some(Cell::Nothing),
        (ColumnType::Number, text) => text.parse().ok().map(Cell::Number),
        (ColumnType::Whole, text) => text.parse().ok().map(Cell::Whole),
        (ColumnType::Flag, text) => text.parse().ok().map(Cell::Flag),
        (ColumnType::Text, text) => Some(Cell::Text(text)),
    }
}
