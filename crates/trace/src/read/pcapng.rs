//! Reader of pcapng files: sections of blocks, with interfaces of different properties.

use super::buffer::{Buffer, MAX_CAPTURED_BYTES};
use super::bytes::ByteOrder;
use super::capture::{Record, Records};
use super::packet;
use crate::{Error, Faults, Position};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Maximum number of interfaces stored for a section.
const MAX_INTERFACES: usize = 1 << 16;

pub(super) struct Pcapng {
    buffer: Buffer,
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Current block.
    block: Option<Block>,
    packets: u64,
}

#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    /// Total length, in bytes.
    length: u32,
    position: Position,
    /// Offset of the block in the file, in bytes.
    offset: u64,
    /// Number of bytes not yet taken, including the length field at its end.
    left: u64,
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: u32,
    /// Resolution of timestamps.
    resolution: Resolution,
    offset_s: i64,
    snap_length: u32,
}

#[derive(Clone, Copy)]
enum Resolution {
    /// 10⁻ⁿ s.
    Decimal(u32),
    /// 2⁻ⁿ s.
    Binary(u32),
}

impl Resolution {
    fn nanoseconds(self, count: u64) -> i128 {
        let count = i128::from(count);
        match self {
            Resolution::Decimal(n @ 0..=9) => count * 10_i128.pow(9 - n),
            Resolution::Decimal(n) => count / 10_i128.pow((n - 9).min(30)),
            Resolution::Binary(n) => (count * 1_000_000_000) >> n.min(100),
        }
    }
}

/// Content of a packet block.
enum PacketBlock {
    Packet(Record),
    /// Malformed packet, with its fault.
    Malformed(String),
    /// End of the capture within the block.
    Truncated,
}

impl Pcapng {
    pub fn new(mut buffer: Buffer) -> Result<Pcapng, Error> {
        if byte_order(buffer.peek(12)?).is_none() {
            return Err(Error::NotATrace {
                name: buffer.name().to_owned(),
                reason: "the pcapng file has no byte-order magic".to_owned(),
            });
        }
        Ok(Pcapng {
            buffer,
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            block: None,
            packets: 0,
        })
    }

    /// Starts a block; `None` at the end, or if the next block cannot be found.
    fn begin(&mut self, faults: &mut Faults) -> Result<Option<Block>, Error> {
        let offset = self.buffer.offset();
        let position = Position::Byte(offset);
        let mut damaged = |message: String| {
            faults.truncated = true;
            faults.add(position, message);
            Ok(None)
        };
        let header = self.buffer.peek(12)?;
        if header.is_empty() {
            return Ok(None);
        }
        let (Some(kind), Some(_)) = (self.order.u32(header, 0), header.get(11)) else {
            return damaged("the capture ends within the header of a block".to_owned());
        };
        if kind == SECTION {
            let Some(order) = byte_order(header) else {
                return damaged(
                    "a section has no byte-order magic: the rest cannot be read".to_owned(),
                );
            };
            self.order = order;
            self.interfaces.clear();
        }
        let length = self.order.u32(header, 4).unwrap_or(0);
        if length < 12 || !length.is_multiple_of(4) {
            return damaged(format!(
                "invalid block length of {length} bytes: the capture is damaged here, and the rest cannot be read"
            ));
        }
        self.buffer.take(8);
        let mut block = Block {
            kind,
            length,
            position,
            offset,
            left: u64::from(length) - 8,
        };
        if matches!(kind, ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET) {
            self.packets += 1;
            block.position = Position::Packet {
                number: self.packets,
                offset,
            };
        }
        Ok(Some(block))
    }

    /// Skips the rest of a block; `false` if the next block cannot be found.
    fn finish(&mut self, block: Block, faults: &mut Faults) -> Result<bool, Error> {
        let body = block.left.saturating_sub(4);
        let passed = self.buffer.skip(body)?;
        let at_end = self.order.u32(self.buffer.peek(4)?, 0);
        self.buffer.take(4);
        let message = match at_end {
            Some(length) if passed == body && length == block.length => return Ok(true),
            Some(length) if passed == body => format!(
                "a block of {} bytes has a different length of {length} at its end: the capture is damaged here, and the rest cannot be read",
                block.length
            ),
            _ => format!(
                "the capture ends within this block of {} bytes",
                block.length
            ),
        };
        faults.truncated = true;
        faults.add(block.position, message);
        Ok(false)
    }

    fn interface(&mut self, block: Block) -> Result<(), Error> {
        // Options are short; further bytes are irrelevant.
        let length = (block.left - 4).min(MAX_CAPTURED_BYTES as u64) as usize;
        let body = self.buffer.peek(length)?;
        let body = body.get(..length).unwrap_or(body);
        let order = self.order;
        let mut interface = Interface {
            link_type: u32::from(order.u16(body, 0).unwrap_or(0)),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
            snap_length: order.u32(body, 4).unwrap_or(0),
        };
        let mut at = 8;
        while let (Some(code), Some(size)) = (order.u16(body, at), order.u16(body, at + 2)) {
            let size = usize::from(size);
            let value = body.get(at + 4..at + 4 + size).unwrap_or_default();
            match (code, value) {
                (0, _) => break,
                (9, [exponent]) if exponent & 0x80 != 0 => {
                    interface.resolution = Resolution::Binary(u32::from(exponent & 0x7f));
                }
                (9, [exponent]) => interface.resolution = Resolution::Decimal(u32::from(*exponent)),
                (14, [_, _, _, _, _, _, _, _]) => {
                    let (low, high) = match order {
                        ByteOrder::Little => (order.u32(value, 0), order.u32(value, 4)),
                        ByteOrder::Big => (order.u32(value, 4), order.u32(value, 0)),
                    };
                    let bits = u64::from(high.unwrap_or(0)) << 32 | u64::from(low.unwrap_or(0));
                    interface.offset_s = bits as i64;
                }
                _ => {}
            }
            at += 4 + size.next_multiple_of(4);
        }
        if self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
        Ok(())
    }

    /// Parses the packet of a block; its bytes are then next in the buffer.
    fn packet(&mut self, block: &mut Block) -> Result<PacketBlock, Error> {
        let order = self.order;
        let head = if block.kind == SIMPLE_PACKET { 4 } else { 20 };
        let room = block.left.saturating_sub(4 + head as u64);
        let header = self.buffer.peek(head)?;
        let word = |i: usize| order.u32(header, 4 * i);
        let fields = match block.kind {
            SIMPLE_PACKET => {
                let snap = self.interfaces.first().map_or(0, |i| i.snap_length);
                let most = if snap == 0 { u32::MAX } else { snap };
                let captured = |length: u32| u64::from(length.min(most)).min(room);
                word(0).map(|length| (0, 0, captured(length), length))
            }
            kind => (|| {
                let interface = match kind {
                    OLD_PACKET => u32::from(order.u16(header, 0)?),
                    _ => word(0)?,
                };
                let time = u64::from(word(1)?) << 32 | u64::from(word(2)?);
                Some((interface, time, u64::from(word(3)?), word(4)?))
            })(),
        };
        let Some((number, time, captured, length)) = fields else {
            return Ok(PacketBlock::Truncated);
        };
        if captured > room {
            return Ok(PacketBlock::Malformed(format!(
                "{captured} captured bytes do not fit into a block of {}",
                block.length
            )));
        }
        if captured > MAX_CAPTURED_BYTES as u64 {
            return Ok(PacketBlock::Malformed(format!(
                "a packet of {captured} bytes exceeds the maximum of {MAX_CAPTURED_BYTES} bytes"
            )));
        }
        let Some(interface) = self.interfaces.get(number as usize) else {
            return Ok(PacketBlock::Malformed(format!(
                "interface {number} is not defined (number of interfaces: {})",
                self.interfaces.len()
            )));
        };
        if !packet::is_known(interface.link_type) {
            return Ok(PacketBlock::Malformed(format!(
                "interface {number} has the unsupported link layer type {}",
                interface.link_type
            )));
        }
        let offset_ns = i128::from(interface.offset_s) * 1_000_000_000;
        let Some(time_ns) = timestamp_ns(interface.resolution.nanoseconds(time) + offset_ns) else {
            return Ok(PacketBlock::Malformed(
                "the time is before 1824 or after 2116".to_owned(),
            ));
        };
        let captured = captured as usize;
        if self.buffer.peek(head + captured)?.len() < head + captured {
            return Ok(PacketBlock::Truncated);
        }
        self.buffer.take(head);
        block.left -= (head + captured) as u64;
        Ok(PacketBlock::Packet(Record {
            time_ns,
            link_type: interface.link_type,
            interface: number,
            captured,
            length,
            number: self.packets,
            offset: block.offset,
        }))
    }
}

/// Returns nanoseconds since 1970, if no difference of two such times can overflow.
fn timestamp_ns(time_ns: i128) -> Option<i64> {
    let time_ns = i64::try_from(time_ns).ok()?;
    (time_ns.unsigned_abs() <= i64::MAX.unsigned_abs() / 2).then_some(time_ns)
}

/// Returns the byte order of a section, from its first 12 bytes.
fn byte_order(header: &[u8]) -> Option<ByteOrder> {
    match *header.get(8..12)? {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(ByteOrder::Big),
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(ByteOrder::Little),
        _ => None,
    }
}

impl Records for Pcapng {
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Record>, Error> {
        loop {
            if let Some(block) = self.block.take()
                && !self.finish(block, faults)?
            {
                return Ok(None);
            }
            let Some(mut block) = self.begin(faults)? else {
                return Ok(None);
            };
            let shortest = match block.kind {
                SECTION => 28,
                INTERFACE => 20,
                SIMPLE_PACKET => 16,
                ENHANCED_PACKET | OLD_PACKET => 32,
                _ => 12,
            };
            if block.length < shortest {
                let message = format!(
                    "a block of {} bytes is too short for its type",
                    block.length
                );
                faults.add(block.position, message);
                self.block = Some(block);
                continue;
            }
            let held = match block.kind {
                INTERFACE => {
                    self.interface(block)?;
                    None
                }
                SIMPLE_PACKET | ENHANCED_PACKET | OLD_PACKET => Some(self.packet(&mut block)?),
                _ => None,
            };
            self.block = Some(block);
            match held {
                Some(PacketBlock::Packet(record)) => return Ok(Some(record)),
                Some(PacketBlock::Malformed(message)) => faults.add(block.position, message),
                Some(PacketBlock::Truncated) | None => {}
            }
        }
    }

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn offset(&self) -> u64 {
        self.buffer.offset()
    }
}
