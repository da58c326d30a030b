//! Reader of pcap files: a file header, then records.

use super::buffer::{Buffer, MAX_CAPTURED_BYTES};
use super::bytes::ByteOrder;
use super::capture::{Record, Records};
use super::packet;
use crate::{Error, Faults, Position};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

pub(super) struct Pcap {
    buffer: Buffer,
    order: ByteOrder,
    /// Nanoseconds per unit of the fractional part of a time.
    unit_ns: i64,
    link_type: u32,
    records: u64,
}

/// Returns whether a file with this start is a pcap file, in either byte order, with micro- or
/// nanoseconds.
pub(super) fn is_magic(start: [u8; 4]) -> bool {
    variant(start).is_some()
}

fn variant(start: [u8; 4]) -> Option<(ByteOrder, i64)> {
    Some(match start {
        [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, 1000),
        [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, 1000),
        [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, 1),
        [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, 1),
        _ => return None,
    })
}

impl Pcap {
    pub fn new(mut buffer: Buffer) -> Result<Pcap, Error> {
        let header = buffer.peek(FILE_HEADER)?;
        let found = header.first_chunk().and_then(|start| variant(*start));
        let (Some((order, unit_ns)), Some(link_type)) =
            (found, found.and_then(|(order, _)| order.u32(header, 20)))
        else {
            return Err(Error::NotATrace {
                name: buffer.name().to_owned(),
                reason: "the pcap file ends within its header".to_owned(),
            });
        };
        buffer.take(FILE_HEADER);
        // The upper bits describe checksums.
        let link_type = link_type & 0xffff;
        if !packet::is_known(link_type) {
            let name = buffer.name().to_owned();
            return Err(Error::LinkLayer { name, link_type });
        }
        Ok(Pcap {
            buffer,
            order,
            unit_ns,
            link_type,
            records: 0,
        })
    }
}

impl Records for Pcap {
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Record>, Error> {
        let offset = self.buffer.offset();
        let position = Position::Packet {
            number: self.records + 1,
            offset,
        };
        let header = self.buffer.peek(RECORD_HEADER)?;
        if header.is_empty() {
            return Ok(None);
        }
        let order = self.order;
        let field = |i: usize| order.u32(header, 4 * i);
        let (Some(seconds), Some(part), Some(captured), Some(length)) =
            (field(0), field(1), field(2), field(3))
        else {
            faults.truncated = true;
            faults.add(position, "the capture ends within the header of a record");
            return Ok(None);
        };
        let captured = captured as usize;
        if captured > MAX_CAPTURED_BYTES {
            faults.truncated = true;
            let message = format!(
                "invalid record length of {captured} bytes: the capture is damaged here, and the rest cannot be read"
            );
            faults.add(position, message);
            return Ok(None);
        }
        self.buffer.take(RECORD_HEADER);
        let there = self.buffer.peek(captured)?.len();
        if there < captured {
            faults.truncated = true;
            let message =
                format!("the capture ends after {there} of the packet's {captured} bytes");
            faults.add(position, message);
            return Ok(None);
        }
        self.records += 1;
        // The record is damaged, but its packet may be valid.
        if i64::from(part) * self.unit_ns >= 1_000_000_000 {
            faults.add(position, format!("a time with {part} parts of a second"));
        }
        Ok(Some(Record {
            time_ns: i64::from(seconds) * 1_000_000_000 + i64::from(part) * self.unit_ns,
            link_type: self.link_type,
            interface: 0,
            captured,
            length,
            number: self.records,
            offset,
        }))
    }

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn offset(&self) -> u64 {
        self.buffer.offset()
    }
}
