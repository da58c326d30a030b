//! Readers: one stream of events above every format.
//!
//! All of them stream, in constant memory: a buffer of a megabyte, whatever the length of the
//! trace. (What is computed from a trace takes more: see [`analysis`](crate::analysis).) Formats are recognised by their content, and gzip is taken off first.
//!
//! What is malformed is counted in [`Faults`] with its place, and reading goes on with the next
//! line or record where that is safe. Bounds: a line of an ns-2 trace has at most
//! [`LONGEST_LINE`] bytes, a captured packet at most [`LONGEST_PACKET`].
//!
//! Captures are taken apart here and not by a library, as they have to be read on behind damage,
//! cut to any snap length, and with every interface's own clock.

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
use crate::{Endpoint, Error, Event, Faults, Packet, Transport, What};

pub use self::buffer::{LONGEST_LINE, LONGEST_PACKET};
pub use self::names::NodeNames;

/// What a trace was written by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ns-2's trace of wired links: `+`, `-`, `r` and `d` lines.
    Ns2,
    /// libpcap's capture file.
    Pcap,
    /// Its successor.
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
/// [`Error::Open`], [`Error::Read`], [`Error::NotATrace`] where its beginning is of no kind that is
/// known, or [`Error::LinkLayer`].
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

/// Reads a trace or a capture from anywhere; `name` is what errors call it.
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
    if is_empty && buffer.broken().is_none() {
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
        event: nothing_yet(),
    })
}

/// A trace that is being read.
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
    /// The next event, in the order of the trace; `None` at its end.
    ///
    /// # Errors
    /// Where reading cannot go on: [`Error::Read`], and [`Error::NotATrace`] for a text of which no
    /// line is one of a trace.
    #[allow(clippy::should_implement_trait)] // it lends
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

    /// What it was written by.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it was compressed by gzip.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// What was malformed so far.
    pub fn faults(&self) -> &Faults {
        match &self.source {
            Source::Ns2(trace) => trace.faults(),
            Source::Pcap(capture) => capture.faults(),
            Source::Pcapng(capture) => capture.faults(),
        }
    }

    /// The names of the nodes of an ns-2 trace that names them in comments at its head
    /// (`# netflow node NUMBER NAME`); else their numbers.
    pub fn names(&self) -> &NodeNames {
        static NUMBERS: NodeNames = NodeNames::new();
        match &self.source {
            Source::Ns2(trace) => trace.names(),
            _ => &NUMBERS,
        }
    }

    /// Reads only events of these kinds from an ns-2 trace, which is faster: lines of other kinds
    /// are passed over by their first letter and not checked any further. Captures know one kind.
    pub fn only(&mut self, kinds: &[What]) {
        if let Source::Ns2(trace) = &mut self.source {
            trace.only(kinds);
        }
    }

    /// Bytes read so far, after decompression.
    pub fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Ns2(trace) => trace.offset(),
            Source::Pcap(capture) => capture.offset(),
            Source::Pcapng(capture) => capture.offset(),
        }
    }
}

fn nothing_yet() -> Event {
    let nobody = Endpoint::Node { node: 0, port: 0 };
    Event {
        time_ns: 0,
        what: What::Captured,
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
