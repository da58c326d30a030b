//! The results directory of a run: written as the run goes, read back typed.
//!
//! | file | holds |
//! |---|---|
//! | `links.csv` | [`LinkRow`]s: every link in every recording interval |
//! | `connections.csv` | [`ConnectionRow`]s: every connection in every recording interval |
//! | `classes.csv` | [`ClassRow`]s: every connection at every link it crosses; only if asked for |
//! | `summary.json` | [`Summary`]: means, maxima and totals over the whole run |
//! | `manifest.json` | [`Manifest`]: what was run, with what, and whether it came to its end |
//!
//! The series are CSV, or JSON lines (`links.jsonl`), or Parquet (`links.parquet`, in a build
//! with the feature `parquet`): see [`Format`].
//!
//! - **A file is complete or absent under its name.** It is written beside as
//!   `.links.csv.partial` and renamed when the whole directory is ready, the manifest last.
//!   What an earlier run left in the directory under one of the names above is replaced or
//!   removed, so that a directory always tells of one run; other files are left alone.
//! - **The series have seven significant digits** (single precision in Parquet); times are exact
//!   to the nanosecond, and `summary.json` has full double precision.
//! - **Rows are in time order**, and within an interval in the order of the scenario.
//!
//! Writing: a [`Writer`] is a [`netflow_fluid::Recorder`]. Reading: [`Results::open`].

mod delimited;
mod error;
mod exporter;
mod format;
mod json_lines;
mod manifest;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod partial;
mod read;
mod row;
mod rows;
mod sheet;
mod summary;
mod table;
mod writer;

pub use error::Error;
pub use exporter::{Exporter, Names, export};
pub use format::{Format, UnknownFormat};
pub use manifest::{Manifest, Stop};
pub use partial::PartialFile;
pub use read::Results;
pub use row::{ClassRow, ConnectionRow, LinkRow, Row};
pub use rows::write_csv;
pub use summary::{
    AggregateSummary, ConnectionSummary, LinkSummary, PrecedenceSummary, Summary, TotalsSummary,
};
pub use table::{CLASSES, CONNECTIONS, LINKS, Table};
pub use writer::Writer;
