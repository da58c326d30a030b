//! Response times of web users: Linux over an emulated link, and netflow's prediction.
#![warn(missing_docs)]

pub mod cell;
pub mod checks;
pub mod measure;
#[cfg(target_os = "linux")]
mod namespaces;
pub mod page;
pub mod predict;
pub mod row;
