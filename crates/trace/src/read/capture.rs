//! Captures: records with packets in them.

use super::buffer::Buffer;
use super::packet::{self, Seen};
use crate::{Error, Event, Faults, Position, What};

/// One captured packet.
pub(super) struct Record {
    pub time_ns: i64,
    pub link_type: u32,
    /// What was captured of it: this many bytes that the buffer shows next.
    pub captured: usize,
    /// How long it was.
    pub length: u32,
    /// Its place in the file, from 1.
    pub number: u64,
    /// Where its record began.
    pub offset: u64,
}

/// A file of records.
pub(super) trait Records {
    /// The next one; `None` at the end. Whoever gets it takes its bytes.
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Record>, Error>;

    fn buffer(&mut self) -> &mut Buffer;

    fn offset(&self) -> u64;
}

pub(super) struct Capture<R> {
    records: R,
    faults: Faults,
    done: bool,
}

impl<R: Records> Capture<R> {
    pub fn new(records: R) -> Capture<R> {
        Capture {
            records,
            faults: Faults::default(),
            done: false,
        }
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn offset(&self) -> u64 {
        self.records.offset()
    }

    /// The next packet into `event`; false at the end.
    pub fn next(&mut self, event: &mut Event) -> Result<bool, Error> {
        while !self.done {
            let Some(record) = self.records.next(&mut self.faults)? else {
                self.done = true;
                let buffer = self.records.buffer();
                if let Some(broken) = buffer.broken() {
                    let message = format!("the compressed data breaks off: {broken}");
                    let position = Position::Byte(buffer.offset());
                    self.faults.truncated = true;
                    self.faults.add(position, message);
                }
                break;
            };
            let buffer = self.records.buffer();
            let bytes = buffer.peek(record.captured)?;
            let bytes = bytes.get(..record.captured).unwrap_or(bytes);
            event.time_ns = record.time_ns;
            event.what = What::Captured;
            event.link = None;
            event.packet.id = record.number - 1;
            event.packet.flow = 0;
            let seen = packet::read(record.link_type, bytes, record.length, &mut event.packet);
            buffer.take(record.captured);
            match seen {
                Seen::Ip => return Ok(true),
                Seen::Other => self.faults.skipped += 1,
                Seen::Malformed(what) => {
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
