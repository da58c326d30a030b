//! Capture reader, common to pcap and pcapng.

use super::buffer::Buffer;
use super::packet::{self, ParsedPacket};
use crate::{Error, Event, EventKind, Faults, MAX_REORDERING_NS, Position};

/// Record of one captured packet.
pub(super) struct Record {
    pub time_ns: i64,
    pub link_type: u32,
    /// Index of the interface, from 0.
    pub interface: u32,
    /// Number of captured bytes, which are next in the buffer.
    pub captured: usize,
    /// Length on the wire, in bytes.
    pub length: u32,
    /// Number of the packet in the file, from 1.
    pub number: u64,
    /// Offset of its record in the file, in bytes.
    pub offset: u64,
}

/// File of packet records.
pub(super) trait Records {
    /// Returns the next record; `None` at the end. The caller must take the packet's bytes from the
    /// buffer.
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Record>, Error>;

    fn buffer(&mut self) -> &mut Buffer;

    fn offset(&self) -> u64;
}

pub(super) struct Capture<R> {
    records: R,
    faults: Faults,
    /// Time of the last packet at each interface; `i64::MIN` before the first.
    before_ns: Vec<i64>,
    done: bool,
}

impl<R: Records> Capture<R> {
    pub fn new(records: R) -> Capture<R> {
        Capture {
            records,
            faults: Faults::default(),
            before_ns: Vec::new(),
            done: false,
        }
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn offset(&self) -> u64 {
        self.records.offset()
    }

    /// Reads the next packet into `event`; `false` at the end.
    pub fn next(&mut self, event: &mut Event) -> Result<bool, Error> {
        while !self.done {
            let Some(record) = self.records.next(&mut self.faults)? else {
                self.done = true;
                let buffer = self.records.buffer();
                if let Some(broken) = buffer.corruption() {
                    let message = format!("the compressed data is damaged or incomplete: {broken}");
                    let position = Position::Byte(buffer.offset());
                    self.faults.truncated = true;
                    self.faults.add(position, message);
                }
                break;
            };
            let interface = record.interface as usize;
            if self.before_ns.len() <= interface {
                self.before_ns.resize(interface + 1, i64::MIN);
            }
            let before_ns = std::mem::replace(&mut self.before_ns[interface], record.time_ns);
            let back_ns = before_ns.saturating_sub(record.time_ns);
            // Simple packet blocks of pcapng have no time.
            if back_ns > MAX_REORDERING_NS && record.time_ns != 0 {
                let position = Position::Packet {
                    number: record.number,
                    offset: record.offset,
                };
                let back_ms = back_ns / 1_000_000;
                let message = format!(
                    "it was captured {back_ms} ms before the previous packet: the clock was set back"
                );
                self.faults.add(position, message);
            }
            let buffer = self.records.buffer();
            let bytes = buffer.peek(record.captured)?;
            let bytes = bytes.get(..record.captured).unwrap_or(bytes);
            event.time_ns = record.time_ns;
            event.kind = EventKind::Captured;
            event.link = None;
            event.packet.id = record.number - 1;
            event.packet.flow = 0;
            let seen = packet::read(record.link_type, bytes, record.length, &mut event.packet);
            buffer.take(record.captured);
            match seen {
                ParsedPacket::Ip => return Ok(true),
                ParsedPacket::Other => self.faults.skipped += 1,
                ParsedPacket::Malformed(what) => {
                    let position = Position::Packet {
                        number: record.number,
                        offset: record.offset,
                    };
                    self.faults.add(position, what);
                }
            }
        }
        Ok(false)
    }
}
