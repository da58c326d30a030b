//! Packet traces of ns-2 and captures (pcap, pcapng) as one stream of typed [`Event`]s, and their
//! analysis.
//!
//! ```no_run
//! use netflow_trace::{EventKind, open};
//!
//! let mut trace = open("out.tr.gz".as_ref())?;
//! let mut drops = 0;
//! while let Some(event) = trace.next()? {
//!     drops += u64::from(event.kind == EventKind::Dropped);
//! }
//! println!("{drops} packets were dropped; {} lines are malformed", trace.faults().count);
//! # Ok::<(), netflow_trace::Error>(())
//! ```
#![warn(missing_docs)]

pub mod analysis;
mod error;
mod event;
pub mod read;
pub mod sender;

pub use error::{Error, Fault, Faults, MAX_STORED_FAULTS, Position};
pub use event::{Endpoint, Event, EventKind, Link, Packet, Segment, Transport};
pub use read::{Format, MAX_CAPTURED_BYTES, MAX_LINE_BYTES, NodeNames, Reader, from_reader, open};

/// Tolerated reordering in ns, for packets of several queues of a network card. A larger step is a clock
/// that was set back.
const MAX_REORDERING_NS: i64 = 100_000_000;
