//! The results directory of a run: written during the run, read back into types.
//!
//! | file | content |
//! |---|---|
//! | `links.csv` | [`LinkRow`]s: every link in every recording interval |
//! | `connections.csv` | [`ConnectionRow`]s: every connection in every recording interval |
//! | `classes.csv` | [`ClassRow`]s: every connection at every link it crosses; only if requested |
//! | `waits.csv` | [`WaitRow`]s: the response times of every user; only with workloads |
//! | `links_std.csv`, `connections_std.csv` | standard deviations, with several seeds; the above are then means |
//! | `links_ci95.csv`, `connections_ci95.csv` | half the width of the 95 % confidence interval of each mean |
//! | `whole.csv` | [`WholeRow`]s: network totals, with several seeds; means of links do not give them |
//! | `network.json` | [`Topology`]: the constant properties of nodes, links and connections, for drawings |
//! | `summary.json` | [`Summary`]: means, maxima and totals over the whole run |
//! | `manifest.json` | [`Manifest`]: the scenario, the options and whether the run finished |
//!
//! The series are CSV, JSON lines (`links.jsonl`) or Parquet (`links.parquet`, in a build with the
//! feature `parquet`): see [`Format`].
//!
//! - **A file is complete or absent under its name.** It is written as `.links.csv.partial` and renamed
//!   when the whole directory is ready, the manifest last. Files of an earlier run under one of the names
//!   above are replaced or removed, so that a directory always contains one run. Other files are kept.
//! - **The series have seven significant digits** (single precision in Parquet); times are exact
//!   to the nanosecond, and `summary.json` has full double precision.
//! - **Rows are in time order**, and within an interval in the order of the scenario.
//!
//! To write: a [`Writer`] is a [`netflow_network::Recorder`]. Runs with several seeds are kept as
//! [`Series`] and written as an [`Ensemble`].
//!
//! To read: [`Results::open`] for a run, [`SweepResults::open`] for the tables of a sweep, which another
//! crate writes.

pub mod columns;
mod delimited;
mod detect;
mod ensemble;
mod error;
mod exporter;
mod format;
mod json_lines;
mod lines;
mod manifest;
mod moments;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod partial;
mod peaks;
mod read;
mod referee;
mod row;
mod rows;
mod scope;
mod sheet;
mod summary;
mod sweep;
mod table;
mod topology;
mod trust;
mod users;
mod whole;
mod writer;

pub use delimited::quote;
pub use detect::{is_results, is_sweep};
pub use ensemble::{Ensemble, Series};
pub use error::Error;
pub use exporter::{Exporter, Names, export};
pub use format::{Format, UnknownFormat};
pub use manifest::{Manifest, Stop};
pub use moments::Moments;
pub use netflow_network::Column;
pub use partial::write_whole;
pub use peaks::{Peaks, SATURATED};
pub use read::{Results, each_csv_row};
pub use referee::Referee;
pub use row::{
    CLASSES, CONNECTIONS, ClassRow, ConnectionRow, LINKS, LinkRow, Row, WAITS, WHOLE, WaitNumbers,
    WaitRow, WholeNumbers, WholeRow,
};
pub use rows::write_csv;
pub use scope::{Scope, Users, Watch, Watched};
pub use summary::{
    AggregateSummary, Beside, ConnectionSummary, ESTIMATE, EventSummary, LinkSummary,
    PrecedenceSummary, Spread, Summary, TotalsSummary, ci95_of, rounded_time, seeds_of, std_of,
};
pub use sweep::{
    FAILED, SEED, SWEEP_FILE, SWEEP_RECEIPTS, SweepColumns, SweepResults, SweepTable, Varied,
    chunk_file, sweep_mark,
};
pub use table::{CONNECTIONS_CI95, CONNECTIONS_STD, LINKS_CI95, LINKS_STD, Table};
pub use topology::{Topology, TopologyConnection, TopologyLink, TopologyNode, TopologyWay};
pub use trust::{LOSS_BY_SIZE, Within, reason};
pub use users::{WaitSummary, WorkloadSummary, wait_rows};
pub use whole::Whole;
pub use writer::Writer;
