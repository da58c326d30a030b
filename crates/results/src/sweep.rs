//! The tables of a sweep: where they stand in its directory, and how they are read back.

use std::path::{Path, PathBuf};

use netflow_files::Kind as FileKind;
use serde::{Deserialize, Serialize};

use crate::columns::{Cell, Column, Kind};
use crate::read::{CsvTable, malformed, read_json, read_text};
use crate::{Error, Format};

/// What describes a sweep in its directory.
pub const SWEEP_FILE: &str = "sweep.json";
/// The directory in it with a receipt for every chunk whose tables are complete.
pub const SWEEP_RECEIPTS: &str = "chunks";
/// The column with the seed of a case.
pub const SEED: &str = "seed";
/// The column with the link that is down in a case.
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
    /// All of them, in the order in which everything about them stands.
    pub const ALL: [SweepTable; 3] = [
        SweepTable::Links,
        SweepTable::Connections,
        SweepTable::Network,
    ];

    /// Its directory.
    pub fn name(self) -> &'static str {
        match self {
            SweepTable::Links => "links",
            SweepTable::Connections => "connections",
            SweepTable::Network => "network",
        }
    }

    /// The column that says what a row is about, beside its case.
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
    /// Those of one table.
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
pub struct Varied {
    /// Its key, which is the name of its column.
    pub key: String,
    /// What its numbers are in, empty where they have no unit; nothing where it is a text.
    pub unit: Option<String>,
    /// Its values as they were given.
    pub values: Vec<String>,
}

/// A complete sweep, read from its directory: what it is of at once, its tables when they are asked for.
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
    vary: Vec<Varied>,
    tables: SweepColumns,
}

/// The name of a file of a chunk: its number, the beginning of the sweep's digest, and what the file is.
pub fn chunk_file(chunk: u64, mark: &str, extension: &str) -> String {
    format!("{chunk:06}-{mark}.{extension}")
}

/// The beginning of a sweep's digest, which stands in the names of its files.
pub fn sweep_mark(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

impl SweepResults {
    /// Opens the directory of a sweep.
    ///
    /// # Errors
    /// If it holds none, or one that is not complete.
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

    /// The settings that it varies.
    pub fn varied(&self) -> &[Varied] {
        &self.description.vary
    }

    /// The columns of one of its tables.
    pub fn columns(&self, table: SweepTable) -> &[Column] {
        self.description.tables.of(table)
    }

    fn file(&self, chunk: u64, extension: &str) -> String {
        chunk_file(chunk, sweep_mark(&self.description.digest), extension)
    }

    /// Hands over these columns of every row of a table, case by case.
    ///
    /// # Errors
    /// If there is no such column, or a file cannot be read, or is not what it should be.
    pub fn each_row(
        &self,
        table: SweepTable,
        columns: &[&str],
        mut on_row: impl FnMut(&[Cell<'_>]),
    ) -> Result<(), Error> {
        let own = self.columns(table);
        let find = |name: &&str| {
            let found = own.iter().find(|column| column.name == *name);
            let file = self.directory.join(SWEEP_FILE);
            found.ok_or_else(|| malformed(&file, None, format!("no column `{name}`")))
        };
        let columns = columns.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let format = self.description.format;
        for chunk in 0..self.description.chunks {
            let name = self.file(chunk, format.name());
            let path = self.directory.join(table.name()).join(name);
            match format {
                Format::Csv => each_csv_row(&path, &columns, &mut on_row)?,
                #[cfg(feature = "parquet")]
                Format::Parquet => crate::parquet::each_row(&path, &columns, &mut on_row)?,
                format => return Err(Error::FormatMissing { format }),
            }
        }
        Ok(())
    }
}

fn each_csv_row(
    path: &Path,
    columns: &[&Column],
    on_row: &mut dyn FnMut(&[Cell<'_>]),
) -> Result<(), Error> {
    let text = read_text(path, FileKind::Series)?;
    let mut table = CsvTable::new(path, &text)?;
    let places = columns.iter().map(|column| table.place(&column.name));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let mut row = csv::StringRecord::new();
    while table.next(&mut row)? {
        let cell = |(column, &place): (&&Column, &usize)| {
            let cell = cell(column.kind, &row[place]);
            cell.ok_or_else(|| table.wrong(&row, place, "is not what it should be"))
        };
        let cells = columns.iter().zip(&places).map(cell);
        on_row(&cells.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

/// What a text says in a column of this kind, if it says anything.
fn cell(kind: Kind, text: &str) -> Option<Cell<'_>> {
    match (kind, text) {
        (_, "") => Some(Cell::Nothing),
        (Kind::Number, text) => text.parse().ok().map(Cell::Number),
        (Kind::Whole, text) => text.parse().ok().map(Cell::Whole),
        (Kind::Flag, text) => text.parse().ok().map(Cell::Flag),
        (Kind::Text, text) => Some(Cell::Text(text)),
    }
}
