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
//! | `network_totals.csv` | [`NetworkTotalsRow`]s: network totals, with several seeds; means of links do not give them |
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

mod accuracy;
pub mod columns;
mod csv_rows;
mod delimited;
mod detect;
mod ensemble;
mod error;
mod exporter;
mod format;
mod former_names;
mod json_lines;
mod json_pretty;
mod manifest;
mod measurement_window;
mod network_totals;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod partial_files;
mod read;
mod reference_system;
mod row;
mod row_buffer;
mod running_variance;
mod summary;
mod sweep;
mod table;
mod topology;
mod users;
mod utilization_peaks;
mod writer;

pub use accuracy::{AccuracyBounds, SIZE_DEPENDENT_LOSS_NOTE, TestedTcp, estimate_reason};
pub use csv_rows::write_csv;
pub use delimited::quote;
pub use detect::{is_results, is_sweep};
pub use ensemble::{Ensemble, Series};
pub use error::Error;
pub use exporter::{Exporter, Names, export};
pub use format::{Format, UnknownFormat};
pub use former_names::present_name;
pub use manifest::{Manifest, Stop};
pub use measurement_window::{MeasurementWindow, SummaryRecorder, UserExperiences, WithSummary};
pub use netflow_network::Column;
pub use network_totals::NetworkQuantity;
pub use partial_files::write_atomically;
pub use read::{Results, for_each_csv_row};
pub use reference_system::ReferenceSystem;
pub use row::{
    CLASSES, CONNECTIONS, ClassRow, ConnectionRow, LINKS, LinkRow, NETWORK_TOTALS,
    NetworkTotalsNumbers, NetworkTotalsRow, Row, WAITS, WaitNumbers, WaitRow,
};
pub use running_variance::RunningVariance;
pub use summary::{
    AggregateSummary, ConnectionSummary, ESTIMATE, EventSummary, LinkSummary, PrecedenceSummary,
    Spread, SpreadValue, Summary, TotalsSummary, ci95_of, rounded_time, seeds_of, std_of,
};
pub use sweep::{
    FAILED, SEED, SWEEP_FILE, SWEEP_RECEIPTS, SweepAxis, SweepColumns, SweepResults, SweepTable,
    chunk_file, sweep_mark,
};
pub use table::{CONNECTIONS_CI95, CONNECTIONS_STD, LINKS_CI95, LINKS_STD, Table};
pub use topology::{Topology, TopologyConnection, TopologyLink, TopologyNode, TopologyPath};
pub use users::{WaitSummary, WorkloadSummary, wait_rows};
pub use utilization_peaks::{LinkPeaks, SATURATION_UTILIZATION};
pub use writer::Writer;
