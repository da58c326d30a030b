//! Packet traces of ns-2 and captures (pcap, pcapng) as one stream of typed [`Event`]s, and their
//! analysis.
//!
//! ```no_run
//! use netflow_trace::{What, open};
//!
//! let mut trace = open("out.tr.gz".as_ref())?;
//! let mut drops = 0;
//! while let Some(event) = trace.next()? {
//!     drops += u64::from(event.what == What::Dropped);
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

pub use error::{Error, Fault, Faults, KEPT_FAULTS, Position};
pub use event::{Endpoint, Event, Link, Packet, Segment, Transport, What};
pub use read::{Format, LONGEST_LINE, LONGEST_PACKET, NodeNames, Reader, from_reader, open};

/// Tolerated reordering in ns, for packets of several queues of a network card. A larger step is a clock
/// that was set back.
const SET_BACK_NS: i64 = 100_000_000;
