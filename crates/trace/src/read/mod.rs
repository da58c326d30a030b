//! Trace readers, which produce one stream of events for every format.
//!
//! All readers stream in constant memory, with a buffer of a megabyte. (An [`analysis`](crate::analysis)
//! needs more memory.) Formats are recognized by their content, after gzip decompression.
//!
//! Malformed parts are counted in [`Faults`] with their positions. Reading continues with the next line
//! or record if that is safe. A line of an ns-2 trace has at most [`MAX_LINE_BYTES`] bytes, a captured
//! packet at most [`MAX_CAPTURED_BYTES`].
//!
//! Captures are parsed here and not by a library, because the reader must continue after damage. It also
//! supports any snap length and a clock for every interface.

mod buffer;
mod bytes;
mod capture;
mod names;
mod ns2;
mod packet;
mod pcap;
mod pcapng;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use self::buffer::Buffer;
use self::capture::Capture;
use self::ns2::Ns2;
use crate::{Endpoint, Error, Event, EventKind, Faults, Packet, Transport};

pub use self::buffer::{MAX_CAPTURED_BYTES, MAX_LINE_BYTES};
pub use self::names::NodeNames;

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Trace of wired links by ns-2: `+`, `-`, `r` and `d` lines.
    Ns2,
    /// Capture file of libpcap.
    Pcap,
    /// Successor of pcap.
    Pcapng,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Format::Ns2 => "ns-2 trace",
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        })
    }
}

/// Opens a trace or a capture; `-` is the standard input.
///
/// # Errors
/// [`Error::Open`], [`Error::Read`], [`Error::NotATrace`] for an unknown format, or [`Error::LinkLayer`].
pub fn open(path: &Path) -> Result<Reader, Error> {
    let name = path.display().to_string();
    if name == "-" {
        return from_reader("standard input", io::stdin());
    }
    match File::open(path) {
        Ok(file) => from_reader(&name, file),
        Err(source) => Err(Error::Open { name, source }),
    }
}

/// Reads a trace or a capture from any input; `name` is used in errors.
///
/// # Errors
/// As [`open`].
pub fn from_reader(name: &str, input: impl Read + Send + 'static) -> Result<Reader, Error> {
    let mut buffer = Buffer::new(name, Box::new(input));
    let compressed = buffer.peek(2)?.starts_with(&[0x1f, 0x8b]);
    if compressed {
        let decoder = MultiGzDecoder::new(buffer.into_input());
        buffer = Buffer::compressed(name, Box::new(decoder));
    }
    let is_empty = buffer.peek(4)?.is_empty();
    if is_empty && buffer.corruption().is_none() {
        return Err(Error::NotATrace {
            name: name.to_owned(),
            reason: "it is empty".to_owned(),
        });
    }
    let (format, source) = match *buffer.peek(4)? {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => {
            let blocks = pcapng::Pcapng::new(buffer)?;
            (
                Format::Pcapng,
                Source::Pcapng(Box::new(Capture::new(blocks))),
            )
        }
        [a, b, c, d, ..] if pcap::is_magic([a, b, c, d]) => {
            let records = pcap::Pcap::new(buffer)?;
            (Format::Pcap, Source::Pcap(Box::new(Capture::new(records))))
        }
        _ => (Format::Ns2, Source::Ns2(Box::new(Ns2::new(buffer)?))),
    };
    Ok(Reader {
        format,
        compressed,
        source,
        event: empty_event(),
    })
}

/// Reader of a trace.
pub struct Reader {
    format: Format,
    compressed: bool,
    source: Source,
    event: Event,
}

enum Source {
    Ns2(Box<Ns2>),
    Pcap(Box<Capture<pcap::Pcap>>),
    Pcapng(Box<Capture<pcapng::Pcapng>>),
}

impl Reader {
    /// Returns the next event, in the order of the trace; `None` at its end.
    ///
    /// # Errors
    /// If reading cannot continue: [`Error::Read`], or [`Error::NotATrace`] for a text without any line
    /// of a trace.
    #[allow(clippy::should_implement_trait)] // items borrow the reader
    #[inline]
    pub fn next(&mut self) -> Result<Option<&Event>, Error> {
        let event = &mut self.event;
        let more = match &mut self.source {
            Source::Ns2(trace) => trace.next(event)?,
            Source::Pcap(capture) => capture.next(event)?,
            Source::Pcapng(capture) => capture.next(event)?,
        };
        Ok(more.then_some(&self.event))
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns whether the input is compressed by gzip.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Returns the faults found so far.
    pub fn faults(&self) -> &Faults {
        match &self.source {
            Source::Ns2(trace) => trace.faults(),
            Source::Pcap(capture) => capture.faults(),
            Source::Pcapng(capture) => capture.faults(),
        }
    }

    /// Returns the node names of an ns-2 trace, from comments at its head (`# netflow node NUMBER NAME`).
    /// Other nodes have their numbers as names.
    pub fn names(&self) -> &NodeNames {
        static NUMBERS: NodeNames = NodeNames::new();
        match &self.source {
            Source::Ns2(trace) => trace.names(),
            _ => &NUMBERS,
        }
    }

    /// Restricts an ns-2 trace to events of these kinds, which is faster. Lines of other kinds are
    /// skipped by their first letter without further checks. Captures have one kind only.
    pub fn retain_kinds(&mut self, kinds: &[EventKind]) {
        if let Source::Ns2(trace) = &mut self.source {
            trace.retain_kinds(kinds);
        }
    }

    /// Returns the number of bytes read, after decompression.
    pub fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Ns2(trace) => trace.offset(),
            Source::Pcap(capture) => capture.offset(),
            Source::Pcapng(capture) => capture.offset(),
        }
    }
}

fn empty_event() -> Event {
    let nobody = Endpoint::Node { node: 0, port: 0 };
    Event {
        time_ns: 0,
        kind: EventKind::Captured,
        link: None,
        packet: Packet {
            id: 0,
            bytes: 0,
            from: nobody,
            to: nobody,
            flow: 0,
            transport: Transport::Other,
            segment: None,
        },
    }
}
