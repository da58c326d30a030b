//! Why a trace cannot be read, and what was wrong with parts of it.

use std::fmt;
use std::io;

/// Why reading cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened.
    #[error("cannot open {name}: {source}")]
    Open {
        /// Its path.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The input could not be read on.
    #[error("cannot read {name} after byte {offset}: {source}")]
    Read {
        /// Its path.
        name: String,
        /// Bytes that were read (after decompression).
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// It is no trace of a kind that is known.
    #[error("{name} is neither an ns-2 trace nor a capture (pcap, pcapng): {reason}")]
    NotATrace {
        /// Its path.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A capture of a link layer that is not known.
    #[error(
        "{name} was captured on a link layer of type {link_type}; known are Ethernet (1), raw IP (12, 14, 101, 228, 229), Linux cooked (113, 276) and loopback (0, 108)"
    )]
    LinkLayer {
        /// Its path.
        name: String,
        /// The number in its header.
        link_type: u32,
    },
}

/// Faults that are kept with their positions; the others are counted.
pub const KEPT_FAULTS: usize = 20;

/// What was malformed in a trace that was read all the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// How many lines, records or packets were malformed.
    pub count: u64,
    /// The first of them.
    pub first: Vec<Fault>,
    /// Whether the trace ends in the middle of something.
    pub truncated: bool,
    /// Lines and packets of kinds that say nothing here: variables in ns-2 traces, packets that are
    /// not IP in captures.
    pub skipped: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, position: Position, message: impl Into<String>) {
        self.count += 1;
        if self.first.len() < KEPT_FAULTS {
            let message = message.into();
            self.first.push(Fault { position, message });
        }
    }
}

/// Something malformed.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where.
    pub position: Position,
    /// What is wrong with it.
    pub message: String,
}

/// A place in a trace (after decompression).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A line of an ns-2 trace, from 1, and a column in it, from 1.
    Line {
        /// Number of the line.
        line: u64,
        /// Number of the byte in it.
        column: usize,
    },
    /// A packet of a capture.
    Packet {
        /// Its number, from 1.
        number: u64,
        /// The byte of the file where its record begins, from 0.
        offset: u64,
    },
    /// A byte of the file, from 0.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line { line, column } => write!(f, "line {line}, column {column}"),
            Position::Packet { number, offset } => write!(f, "packet {number} (byte {offset})"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}
