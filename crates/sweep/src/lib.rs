//! One scenario in very many variants: settings that vary, links that fail, seeds.
//!
//! A [`Sweep`] is made of a [`Request`] and a function that loads the scenario with given settings. It has
//! [`Cases`] by index, which stand in [`Chunks`]; both depend on nothing but the request, so that any
//! number of threads, of processes that share the work ([`Shard`]), and of interruptions leads to the
//! same files, to the bit. [`Sweep::write`] evaluates them into a directory:
//!
//! | file | holds |
//! |---|---|
//! | `links/*.parquet` | a row for every case and link |
//! | `connections/*.parquet` | a row for every case and connection |
//! | `network/*.parquet` | a row for every case, with its `status`: `ok`, or why there is nothing else |
//! | `chunks/*.json` | a receipt for every chunk whose files are complete |
//! | `sweep.json` | what the sweep is: settings, columns, units, how many cases and chunks |
//!
//! Columns are those that a steady state, or a run's summary, has anyway; before them stand the index of
//! the case, a column for every setting that varies, `failed` and `seed`.
#![warn(missing_docs)]

mod axis;
mod cases;
mod chunks;
mod directory;
mod error;
mod estimate;
mod sheet;
mod sweep;
mod tables;
mod worker;
mod write;

pub use axis::{Axis, AxisError, MOST_VALUES};
pub use cases::{Case, Cases, MOST_CASES};
pub use chunks::{Chunks, Shard};
pub use error::Error;
pub use estimate::Estimate;
pub use netflow_results::SweepColumns;
pub use netflow_results::columns::{Column, Kind};
pub use sweep::{Load, Model, Request, Sweep, Tried, default_format};
pub use write::{Writing, Written};
