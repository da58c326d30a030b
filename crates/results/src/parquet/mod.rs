//! Reader and exporter of series as Parquet: times as doubles, names as dictionaries, values in single
//! precision.

mod chunk;
mod read;
mod write;

pub(crate) use read::{for_each_row, read};
pub(crate) use write::Parquet;
