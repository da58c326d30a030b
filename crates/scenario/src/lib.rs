//! Scenario files: a network, its traffic and how to evaluate it, read from TOML.
//!
//! [`load`] goes the whole way: the file is parsed into a [`Scenario`](file::Scenario) (what it
//! says, every value with its place), its CSV tables are read, everything is checked, and a
//! [`Network`](netflow_network::Network) comes out. Nothing after this looks at input again.
//!
//! Whatever is wrong is found at once and comes back as [`Problems`], each with its file, line and
//! column, what is allowed, and the nearest name where one was misspelt. No input makes this crate
//! panic.
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
//! [`schema`] describes the format for editors, [`reference()`] for people, [`new`] writes scenarios to start from.
#![warn(missing_docs)]

pub mod changes;
mod compared;
pub mod export;
pub mod file;
mod load;
mod memory;
pub mod new;
mod prepared;
mod reference;
mod schema;
mod untold;
mod validate;

pub use load::{FileWorkload, Reach, from_str, load, load_within, parse, workloads};
pub use netflow_document::{
    FileId, Place, Problem, ProblemKind, Problems, Quantity, Severity, Sources, Spanned,
};
pub use prepared::{DemandNote, Divided, NodeNote, Prepared, digest, for_steady};
pub use reference::reference;
pub use schema::schema;
