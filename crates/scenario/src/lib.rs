//! Scenario files: a network, its traffic and how to evaluate it, read from TOML.
//!
//! [`load`] parses a file into a [`Scenario`](file::Scenario) (its contents, each value with its
//! location) and reads its CSV tables. It validates everything and builds a
//! [`Network`](netflow_network::Network). Later stages do not check the input again.
//!
//! All problems are reported at once as [`Problems`], each with file, line and column, the allowed
//! values, and the nearest valid name for a misspelt one. This crate does not panic on any input.
//!
//! ```
//! let text = r#"
//!     [simulation]
//!     duration = "10 s"
//!
//!     [[link]]
//!     from = "A"
//!     to = "B"
//!     bandwidth = "8 Mbq"
//!
//!     [[connection]]
//!     from = "A"
//!     to = "B"
//!     source = { profile = "ns-reno" }
//! "#;
//! let problems = netflow_scenario::from_str("lab.toml", text, ".".as_ref(), &[]).unwrap_err();
//! let first = &problems.into_vec()[0];
//! assert_eq!((first.line, first.message.as_str()), (Some(8), "`bandwidth`: unknown unit `Mbq`"));
//! ```
//!
//! [`schema`] describes the format for editors, [`reference()`] for people. [`generate`] generates
//! scenarios.
#![warn(missing_docs)]

mod compiled_scenario;
pub mod default_changes;
pub mod export;
pub mod file;
mod fluid_validated_range;
mod former_names;
pub mod generate;
mod json_schema;
mod linux_tcp_validated_range;
mod load;
mod memory_limit;
mod reference_page;
mod validate;

pub use compiled_scenario::{
    CompiledScenario, LinkPlaces, NodeAnnotation, SplitTraffic, TransferDemand, digest,
    for_steady_state,
};
pub use file::planning_tables;
pub use former_names::FORMER_NAMES;
pub use json_schema::schema;
pub use load::{
    FileAccess, FileWorkload, from_str, load, load_text, load_within, parse, workloads,
};
pub use netflow_document::{
    FileId, Problem, ProblemKind, Problems, Quantity, Severity, SourceSpan, Sources, Spanned,
};
pub use reference_page::reference;
