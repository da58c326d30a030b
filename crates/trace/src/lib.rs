//! Packet traces of ns-2 and captures (pcap, pcapng) as one stream of typed [`Event`]s, and what
//! can be computed from them.
#![warn(missing_docs)]

pub mod analysis;
mod event;
pub mod read;
pub mod sender;

pub use event::{Endpoint, Event, Link, Packet, Segment, Transport, What};
