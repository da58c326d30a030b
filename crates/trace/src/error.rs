//! Errors of reading a trace, and faults in parts of it.

use std::fmt;
use std::io;

/// Reason why reading cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Failure to open the file.
    #[error("cannot open {name}: {source}")]
    Open {
        /// Path of the file.
        name: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Failure to read the input.
    #[error("cannot read {name} after byte {offset}: {source}")]
    Read {
        /// Path of the file.
        name: String,
        /// Number of bytes read (after decompression).
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// File of an unknown format.
    #[error("{name} is neither an ns-2 trace nor a capture (pcap, pcapng): {reason}")]
    NotATrace {
        /// Path of the file.
        name: String,
        /// Reason for the rejection.
        reason: String,
    },
    /// Capture of an unsupported link layer.
    #[error(
        "{name} has the unsupported link layer type {link_type}; supported: Ethernet (1), raw IP (12, 14, 101, 228, 229), Linux cooked (113, 276) and loopback (0, 108)"
    )]
    LinkLayer {
        /// Path of the file.
        name: String,
        /// Number of the link layer in the file header.
        link_type: u32,
    },
}

/// Maximum number of faults stored with their positions; the others are only counted.
pub const MAX_STORED_FAULTS: usize = 20;

/// Malformed parts of a trace that was read nevertheless.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Number of malformed lines, records or packets.
    pub count: u64,
    /// First malformed parts.
    pub first: Vec<Fault>,
    /// True if the trace ends within a line, record or packet.
    pub truncated: bool,
    /// Number of lines and packets without relevant content: variables in ns-2 traces, packets other than
    /// IP in captures.
    pub skipped: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, position: Position, message: impl Into<String>) {
        self.count += 1;
        if self.first.len() < MAX_STORED_FAULTS {
            let message = message.into();
            self.first.push(Fault { position, message });
        }
    }
}

/// One malformed part.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Position of the fault.
    pub position: Position,
    /// Description of the fault.
    pub message: String,
}

/// Position in a trace (after decompression).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Line and column of an ns-2 trace, both from 1.
    Line {
        /// Line number, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: usize,
    },
    /// Packet of a capture.
    Packet {
        /// Number of the packet, from 1.
        number: u64,
        /// Offset of its record in the file, in bytes.
        offset: u64,
    },
    /// Offset in the file, in bytes.
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
