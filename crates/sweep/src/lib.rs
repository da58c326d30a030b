//! Parameter sweeps: one scenario with varied settings, link failures and seeds.
//!
//! A [`Sweep`] is built from a [`SweepRequest`] and a function that loads the scenario with given settings. Its
//! [`Cases`] have indices and are grouped in [`Chunks`]. Both depend only on the request. Any number of
//! threads, of cooperating processes ([`Shard`]) and of interruptions therefore gives the same files, bit by
//! bit. [`Sweep::load_statistics`] returns percentiles of link loads. [`Sweep::write`] evaluates the cases into a
//! directory:
//!
//! | file | contents |
//! |---|---|
//! | `links/*.parquet` | a row for every case and link |
//! | `connections/*.parquet` | a row for every case and connection |
//! | `network/*.parquet` | a row for every case, with its `status`: `ok`, or the reason for a missing result |
//! | `chunks/*.json` | a receipt for every complete chunk |
//! | `sweep.json` | description of the sweep: settings, columns, units, number of cases and chunks |
//!
//! The columns are those of a steady state or of the summary of a run. They are preceded by the index of the
//! case, a column per varied setting, `failed` and `seed`.
#![warn(missing_docs)]

mod axis;
mod cases;
mod chunks;
mod directory;
mod error;
mod estimate;
mod evaluate_chunks;
mod evaluator;
mod load_statistics;
mod sweep;
mod table_writer;
mod tables;

pub use axis::{Axis, AxisError, MAX_VALUES};
pub use cases::{Case, Cases, MAX_CASES};
pub use chunks::{Chunks, Shard};
pub use error::Error;
pub use estimate::Estimate;
pub use evaluate_chunks::{WriteOptions, WriteSummary};
pub use load_statistics::{LinkLoads, LoadStatistics};
pub use netflow_results::SweepColumns;
pub use netflow_results::columns::{Column, ColumnType};
pub use sweep::{Model, Prechecked, ScenarioLoader, Sweep, SweepRequest, default_format};
