//! Import of networks from files of other programs.
//!
//! A file in any [`Format`] is [`read`] into a [`Topology`]. Information that is missing from the file
//! stays undefined there. [`scenario::write`] converts it to a scenario file, [`graphml::write`] to
//! GraphML. [`Topology::of`] converts a scenario back. Every assumption is listed as an [`Assumption`]
//! with the parts and lines that it concerns. Invalid content is rejected with its line. [`measurements`] reads loads
//! of links.
//!
//! ```
//! use netflow_import::{Reading, from_text};
//!
//! let csv = "from,to,bandwidth,delay\nA,B,10 Mbit/s,5 ms\nB,C,OC-3,7 ms\n";
//! let topology = from_text("lab.csv", csv, &Reading::default())?;
//! assert_eq!((topology.nodes.len(), topology.links.len()), (3, 2));
//! assert_eq!(topology.links[1].bandwidth_bps, Some(155.52e6));
//! assert_eq!(
//!     topology.assumptions[1].full_text(&topology),
//!     "bandwidth 155.52 Mbit/s by the label \"OC-3\": B--C (line 3)"
//! );
//! # Ok::<(), netflow_document::Problems>(())
//! ```
#![warn(missing_docs)]

mod assumption;
mod attributes;
mod distance;
mod errors;
mod format;
mod from_scenario;
mod label_bandwidth;
mod lines;
pub mod measurements;
mod names;
mod read;
mod topology;
mod topology_builder;
mod write;

pub use assumption::{Assumption, Subject};
pub use distance::{fibre_delay_s, great_circle_km};
pub use format::Format;
pub use read::{Coordinates, Reading, from_text, read};
pub use topology::{Demand, Link, LinkSettings, Node, Position, Reverse, Topology};
pub use write::{demands, graphml, scenario};
