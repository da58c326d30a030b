//! ns-2's trace of wired links.
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
//! With `show_tcphdr_` there follow the acknowledged number, TCP's flags in hexadecimal, the length
//! of the header and that of the SACK blocks.

use super::buffer::{Buffer, Line};
use super::names::NodeNames;
use crate::{Endpoint, Error, Event, Faults, Link, Position, Segment, Transport, What};

/// Lines that are wrong before any that is right: then it is no trace.
const PATIENCE: u64 = 100;

pub(super) struct Ns2 {
    buffer: Buffer,
    faults: Faults,
    names: NodeNames,
    line: u64,
    events: u64,
    /// First letters of lines to read.
    wanted: [bool; 256],
}

/// Why a line is no event: what is wrong, and at which byte of it.
struct Wrong(&'static str, usize);

enum Parsed {
    Event,
    /// Another kind of line.
    Other,
}

const KINDS: [(u8, What); 4] = [
    (b'+', What::Enqueued),
    (b'-', What::Dequeued),
    (b'r', What::Received),
    (b'd', What::Dropped),
];

impl Ns2 {
    pub fn new(mut buffer: Buffer) -> Result<Ns2, Error> {
        let start = buffer.peek(1)?;
        let text = &start[..start.len().min(4096)];
        if let Some(at) = text.iter().position(|&b| b == 0) {
            return Err(Error::NotATrace {
                name: buffer.name().to_owned(),
                reason: format!("it is no text (byte {at} is 0)"),
            });
        }
        Ok(Ns2 {
            buffer,
            faults: Faults::default(),
            names: NodeNames::new(),
            line: 0,
            events: 0,
            wanted: [true; 256],
        })
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

    pub fn only(&mut self, kinds: &[What]) {
        for (letter, kind) in KINDS {
            self.wanted[usize::from(letter)] = kinds.contains(&kind);
        }
    }

    /// The next event into `event`; false at the end.
    #[inline]
    pub fn next(&mut self, event: &mut Event) -> Result<bool, Error> {
        loop {
            let (range, last) = match self.buffer.line()? {
                Line::Whole { range, last } => (range, last),
                Line::TooLong => {
                    self.line += 1;
                    self.fault(0, "longer than any line of a trace".to_owned());
                    continue;
                }
                Line::End => return self.end(),
            };
            self.line += 1;
            let line = self.buffer.bytes(range);
            let Some(&first) = line.first() else {
                continue;
            };
            if !self.wanted[usize::from(first)] {
                continue;
            }
            match parse(line, event) {
                Ok(Parsed::Event) => {
                    self.events += 1;
                    return Ok(true);
                }
                Ok(Parsed::Other) => {
                    if first == b'#' {
                        self.names.take_comment(trimmed(line));
                    } else if !trimmed(line).is_empty() {
                        self.faults.skipped += 1;
                    }
                }
                Err(Wrong(what, at)) => {
                    self.faults.truncated |= last;
                    let what = match last {
                        true => format!("{what}; the trace ends here, without the end of the line"),
                        false => what.to_owned(),
                    };
                    self.fault(at, what);
                    self.give_up_on_other_texts()?;
                }
            }
        }
    }

    #[cold]
    fn fault(&mut self, at: usize, message: String) {
        let position = Position::Line {
            line: self.line,
            column: at + 1,
        };
        self.faults.add(position, message);
    }

    #[cold]
    fn give_up_on_other_texts(&self) -> Result<(), Error> {
        if self.events > 0 || self.faults.count < PATIENCE {
            return Ok(());
        }
        let first = self.faults.first.first();
        Err(Error::NotATrace {
            name: self.buffer.name().to_owned(),
            reason: first.map_or(String::new(), ToString::to_string),
        })
    }

    #[cold]
    fn end(&mut self) -> Result<bool, Error> {
        if let Some(broken) = self.buffer.broken()
            && !self.faults.truncated
        {
            let message = format!("the compressed data breaks off: {broken}");
            self.faults.truncated = true;
            self.faults
                .add(Position::Byte(self.buffer.offset()), message);
        }
        // A short text of which nothing was right.
        let whole = self.buffer.broken().is_none();
        if whole && self.events == 0 && self.faults.count > 0 && self.faults.skipped == 0 {
            let first = self.faults.first.first();
            return Err(Error::NotATrace {
                name: self.buffer.name().to_owned(),
                reason: first.map_or(String::new(), ToString::to_string),
            });
        }
        Ok(false)
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

#[inline]
fn parse(line: &[u8], event: &mut Event) -> Result<Parsed, Wrong> {
    let first = line.first().copied().unwrap_or(b' ');
    let what = match first {
        b'+' => What::Enqueued,
        b'-' => What::Dequeued,
        b'r' => What::Received,
        b'd' => What::Dropped,
        // Comments, variables (which begin with their time), nam's lines, blanks.
        b'#'
        | b'v'
        | b'f'
        | b'E'
        | b'e'
        | b'h'
        | b'n'
        | b'l'
        | b'q'
        | b'a'
        | b'c'
        | b'V'
        | b'W'
        | b'A'
        | b'T'
        | b' '
        | b'\t'
        | b'\r'
        | b'0'..=b'9' => return Ok(Parsed::Other),
        _ => return Err(Wrong("a line of a trace begins with +, -, r or d", 0)),
    };
    if line.get(1) != Some(&b' ') {
        return Err(Wrong("there is no space after the first letter", 1));
    }
    if line.get(2..4) == Some(b"-t") {
        return Err(Wrong(
            "this is a line for nam; the trace is another file",
            2,
        ));
    }
    let mut fields = Fields { line, at: 2 };
    event.what = what;
    event.time_ns = fields.time()?;
    let from = fields.node("the node where the link starts is no number")?;
    let to = fields.node("the node where the link ends is no number")?;
    event.link = Some(Link { from, to });
    let kind = fields.word("the kind of the packet is missing")?;
    let packet = &mut event.packet;
    packet.bytes = fields.number("the size of the packet is no number")?;
    let flags = fields.word("the flags are missing")?;
    packet.flow = fields.flow()?;
    packet.from = fields.endpoint("the sender is not NODE.PORT")?;
    packet.to = fields.endpoint("the receiver is not NODE.PORT")?;
    let seq = fields.signed("the sequence number is no number")?;
    packet.id = fields.number("the packet's number is no number")?;
    packet.transport = match kind {
        b"tcp" | b"ack" => Transport::Tcp,
        b"cbr" | b"udp" | b"exp" | b"pareto" | b"poisson" | b"rtp" | b"rap" | b"message" => {
            Transport::Udp
        }
        b"audio" | b"video" | b"telnet" | b"ftp" | b"realaudio" | b"encap" => Transport::Udp,
        _ => Transport::Other,
    };
    packet.segment = match packet.transport {
        Transport::Tcp => Some(segment(kind, flags, seq, packet.bytes, &mut fields)?),
        _ => None,
    };
    Ok(Parsed::Event)
}

#[inline]
fn segment(
    kind: &[u8],
    flags: &[u8],
    seq: i64,
    bytes: u32,
    fields: &mut Fields<'_>,
) -> Result<Segment, Wrong> {
    let ecn = flags.first() == Some(&b'C') || flags.get(4) == Some(&b'E');
    if fields.is_done() {
        let seq = seq as u32;
        return Ok(match kind {
            b"ack" => Segment {
                seq: 0,
                len: 0,
                ack: Some(seq.wrapping_add(1)),
                ecn,
                ..Segment::default()
            },
            _ => Segment {
                seq,
                len: 1,
                ecn,
                ..Segment::default()
            },
        });
    }
    // Both ways carry everything: a FullTcp agent.
    let ack = fields.signed("the acknowledged number is no number")?;
    let header_flags = fields.hexadecimal("TCP's flags are no hexadecimal number")?;
    let header: u32 = fields.number("the length of the header is no number")?;
    Ok(Segment {
        seq: seq as u32,
        len: bytes.saturating_sub(header),
        ack: (header_flags & 0x10 != 0).then_some(ack as u32),
        syn: header_flags & 0x02 != 0,
        fin: header_flags & 0x01 != 0,
        rst: header_flags & 0x04 != 0,
        ecn,
        ..Segment::default()
    })
}

/// What stands in a line, from left to right.
struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    #[inline]
    fn byte(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Passes the space behind a field.
    #[inline]
    fn next_field(&mut self, what: &'static str) -> Result<(), Wrong> {
        match self.byte() {
            b' ' => {
                self.at += 1;
                while self.byte() == b' ' {
                    self.at += 1;
                }
                Ok(())
            }
            b'\n' | b'\r' | b'\t' => Ok(()),
            _ => Err(Wrong(what, self.at)),
        }
    }

    fn is_done(&self) -> bool {
        self.line[self.at.min(self.line.len())..]
            .trim_ascii()
            .is_empty()
    }

    #[inline]
    fn digits(&mut self, what: &'static str) -> Result<u64, Wrong> {
        let start = self.at;
        let mut value = 0_u64;
        while let digit @ 0..=9 = self.byte().wrapping_sub(b'0') {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        // 19 digits fit.
        if self.at == start || self.at - start > 19 {
            return Err(Wrong(what, start));
        }
        Ok(value)
    }

    #[inline]
    fn number<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, Wrong> {
        let start = self.at;
        let value = self.digits(what)?;
        self.next_field(what)?;
        T::try_from(value).map_err(|_| Wrong(what, start))
    }

    #[inline]
    fn node(&mut self, what: &'static str) -> Result<u32, Wrong> {
        self.number(what)
    }

    #[inline]
    fn signed(&mut self, what: &'static str) -> Result<i64, Wrong> {
        let negative = self.byte() == b'-';
        self.at += usize::from(negative);
        let start = self.at;
        let value = self.digits(what)?;
        self.next_field(what)?;
        let value = i64::try_from(value).map_err(|_| Wrong(what, start))?;
        Ok(if negative { -value } else { value })
    }

    #[inline]
    fn flow(&mut self) -> Result<u32, Wrong> {
        self.signed("the flow id is no number")
            .map(|flow| flow as u32)
    }

    #[inline]
    fn word(&mut self, what: &'static str) -> Result<&'a [u8], Wrong> {
        let start = self.at;
        while !matches!(self.byte(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        let word = &self.line[start..self.at];
        if word.is_empty() {
            return Err(Wrong(what, start));
        }
        self.next_field(what)?;
        Ok(word)
    }

    fn hexadecimal(&mut self, what: &'static str) -> Result<u32, Wrong> {
        let start = self.at;
        let word = self.word(what)?;
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        let text = std::str::from_utf8(digits).map_err(|_| Wrong(what, start))?;
        u32::from_str_radix(text, 16).map_err(|_| Wrong(what, start))
    }

    /// `NODE.PORT`; of a hierarchical address `A.B.C.PORT`, the node is A·2²⁰ + B·2¹⁰ + C, which
    /// tells those apart that have fewer than 1024 of each.
    #[inline]
    fn endpoint(&mut self, what: &'static str) -> Result<Endpoint, Wrong> {
        let start = self.at;
        let part = |fields: &mut Self| -> Result<u32, Wrong> {
            let negative = fields.byte() == b'-';
            fields.at += usize::from(negative);
            let value = fields.digits(what)?;
            let value = u32::try_from(value).map_err(|_| Wrong(what, start))?;
            Ok(if negative {
                value.wrapping_neg()
            } else {
                value
            })
        };
        let mut node = part(self)?;
        if self.byte() != b'.' {
            return Err(Wrong(what, start));
        }
        self.at += 1;
        let mut port = part(self)?;
        while self.byte() == b'.' {
            self.at += 1;
            node = node.wrapping_mul(1024).wrapping_add(port);
            port = part(self)?;
        }
        self.next_field(what)?;
        Ok(Endpoint::Node { node, port })
    }

    /// Seconds to nanoseconds, exactly (what is finer is rounded down).
    #[inline]
    fn time(&mut self) -> Result<i64, Wrong> {
        const WHAT: &str = "the time is no number of seconds";
        let start = self.at;
        let seconds = self.digits(WHAT)?;
        let mut nanoseconds = 0_u64;
        if self.byte() == b'.' {
            self.at += 1;
            let mut scale = 1_000_000_000_u64;
            while let digit @ 0..=9 = self.byte().wrapping_sub(b'0') {
                scale /= 10;
                nanoseconds += u64::from(digit) * scale;
                self.at += 1;
            }
        }
        if matches!(self.byte(), b'e' | b'E') {
            return self.scientific(start);
        }
        self.next_field(WHAT)?;
        // 292 years
        if seconds > 9_223_372_035 {
            return Err(Wrong("the time is out of range", start));
        }
        Ok((seconds * 1_000_000_000 + nanoseconds) as i64)
    }

    /// Very small and very large times: `1e-05`.
    #[cold]
    fn scientific(&mut self, start: usize) -> Result<i64, Wrong> {
        const WHAT: &str = "the time is no number of seconds";
        self.at = start;
        let word = self.word(WHAT)?;
        let text = std::str::from_utf8(word).map_err(|_| Wrong(WHAT, start))?;
        let seconds: f64 = text.parse().map_err(|_| Wrong(WHAT, start))?;
        match seconds {
            0.0..9.2e9 => Ok((seconds * 1e9).round() as i64),
            _ => Err(Wrong("the time is out of range", start)),
        }
    }
}
