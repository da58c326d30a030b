//! The subcommands: arguments and implementation.

pub mod availability;
pub mod check;
pub mod compare;
pub mod completions;
pub mod demands;
pub mod demo;
pub mod explain;
pub mod export;
pub mod failures;
pub mod import;
pub mod ipb;
pub mod latency;
#[cfg(target_os = "linux")]
pub mod link;
pub mod man;
pub mod mark;
pub mod new;
pub mod plan;
mod planned_network;
pub mod profile;
pub mod report;
pub mod run;
pub mod schema;
pub mod solve;
pub mod sweep;
#[cfg(target_os = "linux")]
pub mod testbed;
pub mod trace;
pub mod weights;
