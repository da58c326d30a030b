//! Parser of ns-2's trace of wired links.
//!
//! ```text
//! + 0.083224 0 1 tcp 40 ------- 0 0.0 6.0 0 0
//! | |        | | |   |  |       | |   |   | number of the packet
//! | |        | | |   |  |       | |   |   sequence number
//! | |        | | |   |  |       | sender, receiver (node.port)
//! | |        | | |   |  flags   flow id
//! | |        | | kind and bytes
//! | time (s) from to
//! ```
//!
//! With `show_tcphdr_`, four more fields follow: the acknowledged number, TCP's flags in hexadecimal, the
//! header length and the number of SACK blocks. One-way agents (`Agent/TCP`) leave the header length 0
//! and count packets; FullTcp counts bytes.

use std::ops::Range;

use super::buffer::{Buffer, Line};
use super::names::NodeNames;
use crate::{Endpoint, Error, Event, EventKind, Faults, Link, Position, Segment, Transport};

/// Number of malformed lines before any valid one after which the file is rejected.
const MAX_FAULTS_BEFORE_FIRST_EVENT: u64 = 100;

pub(super) struct Ns2 {
    buffer: Buffer,
    faults: Faults,
    names: NodeNames,
    line: u64,
    /// Number of valid lines, and of lines that were filtered out.
    good: u64,
    /// True if a line for nam was among the malformed ones.
    for_nam: bool,
    /// First letters of the lines to parse.
    parsed_kinds: [bool; 256],
}

/// Fault of a line that is not an event: message and byte offset.
struct LineFault(&'static str, usize);

const KINDS: [(u8, EventKind); 4] = [
    (b'+', EventKind::Enqueued),
    (b'-', EventKind::Dequeued),
    (b'r', EventKind::Received),
    (b'd', EventKind::Dropped),
];

impl Ns2 {
    pub fn new(mut buffer: Buffer) -> Result<Ns2, Error> {
        // Only the first line is checked, because a crash or a damaged disk may leave zeros in a valid
        // trace.
        let start = buffer.peek(4096)?;
        let text = start.iter().take(4096).take_while(|&&b| b != b'\n');
        if let Some(at) = text.copied().position(|b| b == 0) {
            return Err(Error::NotATrace {
                name: buffer.name().to_owned(),
                reason: format!("it is not a text file (byte {at} is 0)"),
            });
        }
        let mut trace = Ns2 {
            buffer,
            faults: Faults::default(),
            names: NodeNames::new(),
            line: 0,
            good: 0,
            for_nam: false,
            parsed_kinds: [true; 256],
        };
        trace.read_head()?;
        Ok(trace)
    }

    /// Reads the comments at the start, so that the names are known before the first event.
    fn read_head(&mut self) -> Result<(), Error> {
        while self.buffer.peek(1)?.first() == Some(&b'#') {
            match self.buffer.line()? {
                Line::Complete { range, .. } => {
                    self.line += 1;
                    self.names.parse_comment(trimmed(self.buffer.bytes(range)));
                }
                Line::TooLong => self.on_long_line(),
                Line::End => break,
            }
        }
        Ok(())
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn names(&self) -> &NodeNames {
        &self.names
    }

    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    pub fn retain_kinds(&mut self, kinds: &[EventKind]) {
        for (letter, kind) in KINDS {
            self.parsed_kinds[usize::from(letter)] = kinds.contains(&kind);
        }
    }

    /// Reads the next event into `event`; `false` at the end.
    #[inline]
    pub fn next(&mut self, event: &mut Event) -> Result<bool, Error> {
        loop {
            let (range, last) = match self.buffer.line()? {
                Line::Complete { range, last } => (range, last),
                Line::TooLong => {
                    self.on_long_line();
                    continue;
                }
                Line::End => return self.end(),
            };
            self.line += 1;
            let line = self.buffer.bytes(range.clone());
            let first = line.first().copied().unwrap_or(b'#');
            if !self.parsed_kinds[usize::from(first)] {
                self.good += 1;
                continue;
            }
            match parse(line, event) {
                Ok(()) => {
                    self.good += 1;
                    return Ok(true);
                }
                Err(wrong) => self.on_malformed_line(range, last, wrong)?,
            }
        }
    }

    /// Handles a line that is not an event.
    #[cold]
    fn on_malformed_line(
        &mut self,
        range: Range<usize>,
        last: bool,
        wrong: LineFault,
    ) -> Result<(), Error> {
        let line = trimmed(self.buffer.bytes(range));
        if line.is_empty() || line.starts_with(b"#") {
            self.names.parse_comment(line);
        } else if is_skipped_line(line) {
            self.faults.skipped += 1;
        } else {
            let is_for_nam = line.get(1..4) == Some(b" -t");
            self.for_nam |= is_for_nam;
            let wrong = if is_for_nam {
                LineFault("this is a line of a nam file; use the trace file", 2)
            } else {
                wrong
            };
            let LineFault(what, at) = wrong;
            self.faults.truncated |= last;
            let what = if last {
                format!("{what}; the trace ends here within a line")
            } else {
                what.to_owned()
            };
            self.fault(at, what);
            if self.good == 0 && self.faults.count >= MAX_FAULTS_BEFORE_FIRST_EVENT {
                return Err(self.not_a_trace());
            }
        }
        Ok(())
    }

    #[cold]
    fn on_long_line(&mut self) {
        self.line += 1;
        self.fault(0, "the line is too long for a trace".to_owned());
    }

    fn fault(&mut self, at: usize, message: String) {
        let position = Position::Line {
            line: self.line,
            column: at + 1,
        };
        self.faults.add(position, message);
    }

    #[cold]
    fn end(&mut self) -> Result<bool, Error> {
        if let Some(broken) = self.buffer.corruption()
            && !self.faults.truncated
        {
            let message = format!("the compressed data is damaged or incomplete: {broken}");
            self.faults.truncated = true;
            self.faults
                .add(Position::Byte(self.buffer.offset()), message);
        }
        // A short text without a valid line.
        let whole = self.buffer.corruption().is_none();
        let nothing = self.good == 0 && (self.for_nam || self.faults.skipped == 0);
        if whole && nothing && self.faults.count > 0 {
            return Err(self.not_a_trace());
        }
        Ok(false)
    }

    fn not_a_trace(&self) -> Error {
        let first = self.faults.first.first();
        Error::NotATrace {
            name: self.buffer.name().to_owned(),
            reason: first.map_or(String::new(), ToString::to_string),
        }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

#[inline]
fn parse(line: &[u8], event: &mut Event) -> Result<(), LineFault> {
    let what = match line.first() {
        Some(b'+') => EventKind::Enqueued,
        Some(b'-') => EventKind::Dequeued,
        Some(b'r') => EventKind::Received,
        Some(b'd') => EventKind::Dropped,
        _ => return Err(LineFault("a line of a trace begins with +, -, r or d", 0)),
    };
    if line.get(1) != Some(&b' ') {
        return Err(LineFault("missing space after the first letter", 1));
    }
    let mut fields = Fields { line, at: 2 };
    event.kind = what;
    event.time_ns = fields.time()?;
    let from = fields.number("the node where the link starts is not a number")?;
    let to = fields.number("the node where the link ends is not a number")?;
    event.link = Some(Link { from, to });
    let kind = fields.packet_type_field()?;
    let packet = &mut event.packet;
    packet.bytes = fields.number("the size of the packet is not a number")?;
    let ecn = fields.flags()?;
    packet.flow = fields.signed("the flow id is not a number")? as u32;
    packet.from = fields.endpoint("the sender is not NODE.PORT")?;
    packet.to = fields.endpoint("the receiver is not NODE.PORT")?;
    let seq = fields.signed("the sequence number is not a number")? as u32;
    packet.id = fields.number("the packet's number is not a number")?;
    let one_way = Segment {
        ecn,
        ..Segment::default()
    };
    let segment = match kind {
        PacketType::Data => Segment {
            seq,
            len: 1,
            ..one_way
        },
        PacketType::Ack => Segment {
            ack: Some(seq.wrapping_add(1)),
            ..one_way
        },
        PacketType::Udp | PacketType::Other => {
            packet.transport = match kind {
                PacketType::Udp => Transport::Udp,
                _ => Transport::Other,
            };
            packet.segment = None;
            return Ok(());
        }
    };
    packet.transport = Transport::Tcp;
    packet.segment = Some(if fields.is_done() {
        segment
    } else {
        tcp_header_fields(segment, seq, packet.bytes, &mut fields)?
    });
    Ok(())
}

/// Packet types.
#[derive(Clone, Copy)]
enum PacketType {
    Data,
    Ack,
    Udp,
    Other,
}

fn packet_type(name: &[u8]) -> PacketType {
    match name {
        b"tcp" => PacketType::Data,
        b"ack" => PacketType::Ack,
        b"cbr" | b"udp" | b"exp" | b"pareto" | b"poisson" | b"rtp" | b"rap" | b"message"
        | b"audio" | b"video" | b"telnet" | b"ftp" | b"realaudio" | b"encap" => PacketType::Udp,
        _ => PacketType::Other,
    }
}

/// Parses the fields that `show_tcphdr_` adds.
fn tcp_header_fields(
    one_way: Segment,
    seq: u32,
    bytes: u32,
    fields: &mut Fields<'_>,
) -> Result<Segment, LineFault> {
    let ack = fields.signed("the acknowledged number is not a number")?;
    let flags = fields.hexadecimal("the TCP flags are not a hexadecimal number")?;
    let header: u32 = fields.number("the length of the header is not a number")?;
    fields.number::<u32>("the number of SACK blocks is not a number")?;
    if header == 0 {
        return Ok(one_way);
    }
    Ok(Segment {
        seq,
        len: bytes.saturating_sub(header),
        ack: (flags & 0x10 != 0).then_some(ack as u32),
        syn: flags & 0x02 != 0,
        fin: flags & 0x01 != 0,
        rst: flags & 0x04 != 0,
        ..one_way
    })
}

/// Returns whether a line is of a kind without a packet at a link. These are annotations (`v`), variables
/// (`0.2 0 0 1 0 cwnd_ 2.0`), events of agents (`E`) and of error models (`e`), and nam's lines about
/// nodes, links and colours.
fn is_skipped_line(line: &[u8]) -> bool {
    match line.first() {
        Some(b'v' | b'E' | b'e') => line.get(1) == Some(&b' '),
        Some(b'f' | b'h' | b'n' | b'l' | b'q' | b'a' | b'c' | b'V' | b'W' | b'A' | b'T') => {
            line.get(1..4) == Some(b" -t")
        }
        Some(b'0'..=b'9') => {
            let mut words = line.split(|b| *b == b' ').filter(|word| !word.is_empty());
            words.nth(5).is_some_and(|word| word.ends_with(b"_"))
        }
        _ => false,
    }
}

/// Cursor over the fields of a line.
///
/// It is fast because it branches: the processor predicts the end of a field and continues. A computed
/// position (eight digits at once, `at += usize::from(there)`) stalls it.
#[derive(Clone, Copy)]
struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    #[inline]
    fn byte(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn next<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.line.get(self.at..)?.first_chunk()
    }

    /// Skips the spaces after a field.
    #[inline]
    fn end_field(&mut self, what: &'static str) -> Result<(), LineFault> {
        match self.byte() {
            b' ' => {
                self.at += 1;
                while self.byte() == b' ' {
                    self.at += 1;
                }
                Ok(())
            }
            b'\n' | b'\r' | b'\t' => Ok(()),
            _ => Err(LineFault(what, self.at)),
        }
    }

    fn is_done(&self) -> bool {
        let rest = self.line.get(self.at..).unwrap_or_default();
        rest.trim_ascii().is_empty()
    }

    /// Parses digits. Returns the value and the number of digits.
    #[inline]
    fn digits(&mut self) -> (u64, usize) {
        let start = self.at;
        let mut value = 0_u64;
        while let digit @ 0..=9 = self.byte().wrapping_sub(b'0') {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        (value, self.at - start)
    }

    #[inline]
    fn unsigned(&mut self, what: &'static str) -> Result<u64, LineFault> {
        let (value, count) = self.digits();
        // 19 digits fit into 64 bits.
        if count == 0 || count > 19 {
            return Err(LineFault(what, self.at - count));
        }
        Ok(value)
    }

    #[inline]
    fn number<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, LineFault> {
        let start = self.at;
        let value = self.unsigned(what)?;
        self.end_field(what)?;
        T::try_from(value).map_err(|_| LineFault(what, start))
    }

    #[inline]
    fn signed(&mut self, what: &'static str) -> Result<i64, LineFault> {
        if self.byte() == b'-' {
            self.at += 1;
            return self.number::<u32>(what).map(|value| -i64::from(value));
        }
        self.number::<u32>(what).map(i64::from)
    }

    #[inline]
    fn word(&mut self, what: &'static str) -> Result<&'a [u8], LineFault> {
        let start = self.at;
        while self.byte() > b' ' {
            self.at += 1;
        }
        let word = self.line.get(start..self.at).unwrap_or_default();
        if word.is_empty() {
            return Err(LineFault(what, start));
        }
        self.end_field(what)?;
        Ok(word)
    }

    #[inline]
    fn packet_type_field(&mut self) -> Result<PacketType, LineFault> {
        let kind = match self.next() {
            Some(b"tcp ") => PacketType::Data,
            Some(b"ack ") => PacketType::Ack,
            _ => {
                return self
                    .word("the kind of the packet is missing")
                    .map(packet_type);
            }
        };
        self.at += 3;
        self.end_field("")?;
        Ok(kind)
    }

    /// Parses the flags. Returns whether they report congestion.
    #[inline]
    fn flags(&mut self) -> Result<bool, LineFault> {
        if self.next() == Some(b"------- ") {
            self.at += 7;
            self.end_field("")?;
            return Ok(false);
        }
        let flags = self.word("the flags are missing")?;
        Ok(flags.first() == Some(&b'C') || flags.get(4) == Some(&b'E'))
    }

    fn hexadecimal(&mut self, what: &'static str) -> Result<u32, LineFault> {
        let start = self.at;
        let word = self.word(what)?;
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        let text = std::str::from_utf8(digits).map_err(|_| LineFault(what, start))?;
        u32::from_str_radix(text, 16).map_err(|_| LineFault(what, start))
    }

    /// Parses `NODE.PORT`. For a hierarchical address `A.B.C.PORT` the node is A·2²⁰ + B·2¹⁰ + C, which
    /// is unique for parts below 1024.
    #[inline]
    fn endpoint(&mut self, what: &'static str) -> Result<Endpoint, LineFault> {
        let start = self.at;
        let mut node = self.endpoint_part(what)?;
        if self.byte() != b'.' {
            return Err(LineFault(what, start));
        }
        self.at += 1;
        let mut port = self.endpoint_part(what)?;
        while self.byte() == b'.' {
            self.at += 1;
            node = node.wrapping_mul(1024).wrapping_add(port);
            port = self.endpoint_part(what)?;
        }
        self.end_field(what)?;
        Ok(Endpoint::Node { node, port })
    }

    /// Parses a part of an address. ns-2 writes -1 for none, which becomes the largest number.
    #[inline]
    fn endpoint_part(&mut self, what: &'static str) -> Result<u32, LineFault> {
        let start = self.at;
        if self.byte() == b'-' {
            self.at += 1;
            let value = self.unsigned(what)?;
            let value = u32::try_from(value).map_err(|_| LineFault(what, start))?;
            return Ok(value.wrapping_neg());
        }
        let value = self.unsigned(what)?;
        u32::try_from(value).map_err(|_| LineFault(what, start))
    }

    /// Parses seconds to exact nanoseconds (finer digits are rounded down).
    #[inline]
    fn time(&mut self) -> Result<i64, LineFault> {
        let whole = *self;
        let start = self.at;
        let seconds = self.unsigned(INVALID_TIME)?;
        let mut nanoseconds = 0;
        if self.byte() == b'.' {
            self.at += 1;
            let (value, count) = self.digits();
            nanoseconds = match (NANOSECONDS.get(count), count) {
                (Some(unit), _) => value * unit,
                (None, 10..=19) => value / 10_u64.pow(count as u32 - 9),
                _ => return Err(LineFault(INVALID_TIME, start)),
            };
        }
        if matches!(self.byte(), b'e' | b'E') {
            *self = whole;
            return self.scientific();
        }
        self.end_field(INVALID_TIME)?;
        // Maximum: 292 years.
        if seconds > 9_223_372_035 {
            return Err(LineFault("the time is out of range", start));
        }
        Ok((seconds * 1_000_000_000 + nanoseconds) as i64)
    }

    /// Parses very small and very large times, for example `1e-05`.
    #[cold]
    fn scientific(&mut self) -> Result<i64, LineFault> {
        let start = self.at;
        let word = self.word(INVALID_TIME)?;
        let text = std::str::from_utf8(word).map_err(|_| LineFault(INVALID_TIME, start))?;
        let seconds: f64 = text.parse().map_err(|_| LineFault(INVALID_TIME, start))?;
        match seconds {
            0.0..9.2e9 => Ok((seconds * 1e9).round() as i64),
            _ => Err(LineFault("the time is out of range", start)),
        }
    }
}

const INVALID_TIME: &str = "the time is not a number of seconds";

/// Nanoseconds of a unit in the last decimal, by the number of decimals.
const NANOSECONDS: [u64; 10] = [
    1_000_000_000,
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1000,
    100,
    10,
    1,
];
