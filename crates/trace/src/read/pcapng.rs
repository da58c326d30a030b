//! pcapng: sections of blocks, with interfaces that differ.

use super::buffer::{Buffer, LONGEST_PACKET};
use super::bytes::Order;
use super::capture::{Record, Records};
use crate::{Error, Faults, Position};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Interfaces of a section that are remembered.
const MOST_INTERFACES: usize = 1 << 16;

pub(super) struct Pcapng {
    buffer: Buffer,
    order: Order,
    interfaces: Vec<Interface>,
    /// Bytes of the current block behind its packet.
    behind: usize,
    packets: u64,
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: u32,
    /// Units of a second.
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

impl Pcapng {
    pub fn new(buffer: Buffer) -> Result<Pcapng, Error> {
        let mut file = Pcapng {
            buffer,
            order: Order::Little,
            interfaces: Vec::new(),
            behind: 0,
            packets: 0,
        };
        let header = file.buffer.peek(12)?;
        if order_of(header).is_none() {
            return Err(Error::NotATrace {
                name: file.buffer.name().to_owned(),
                reason: "it begins like a pcapng file, but has no byte-order magic".to_owned(),
            });
        }
        Ok(file)
    }

    fn position(&self) -> Position {
        Position::Byte(self.buffer.offset())
    }

    /// Passes over what is left of a block.
    fn pass(&mut self, bytes: u64, faults: &mut Faults) -> Result<bool, Error> {
        let passed = self.buffer.skip(bytes)?;
        if passed < bytes {
            faults.truncated = true;
            faults.add(self.position(), "the capture ends within a block");
        }
        Ok(passed == bytes)
    }

    fn interface(&mut self, length: usize) -> Result<(), Error> {
        // Its options are short; what is beyond is of no interest.
        let there = self.buffer.peek(length.min(LONGEST_PACKET))?;
        let body = &there[8..length.saturating_sub(4).clamp(8, there.len().max(8))];
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
                        Order::Little => (order.u32(value, 0), order.u32(value, 4)),
                        Order::Big => (order.u32(value, 4), order.u32(value, 0)),
                    };
                    let bits = u64::from(high.unwrap_or(0)) << 32 | u64::from(low.unwrap_or(0));
                    interface.offset_s = bits as i64;
                }
                _ => {}
            }
            at += 4 + size.next_multiple_of(4);
        }
        if self.interfaces.len() < MOST_INTERFACES {
            self.interfaces.push(interface);
        }
        Ok(())
    }

    /// The packet of a block of this type and length, whose header has been looked at.
    fn packet(
        &mut self,
        kind: u32,
        length: usize,
        faults: &mut Faults,
    ) -> Result<Option<Record>, Error> {
        let offset = self.buffer.offset();
        let position = Position::Packet {
            number: self.packets + 1,
            offset,
        };
        let order = self.order;
        let head = if kind == SIMPLE_PACKET { 12 } else { 28 };
        let header = self.buffer.peek(head)?;
        let (interface, time, captured, original) = match kind {
            SIMPLE_PACKET => {
                let original = order.u32(header, 8);
                let snap = self.interfaces.first().map_or(0, |i| i.snap_length);
                let most = (length - 16) as u32;
                let captured = original.map(|n| n.min(most).min(if snap == 0 { n } else { snap }));
                (Some(0), Some(0), captured, original)
            }
            _ => {
                let interface = match kind {
                    OLD_PACKET => order.u16(header, 8).map(u32::from),
                    _ => order.u32(header, 8),
                };
                let (high, low) = (order.u32(header, 12), order.u32(header, 16));
                let time = high
                    .zip(low)
                    .map(|(h, l)| u64::from(h) << 32 | u64::from(l));
                (
                    interface,
                    time,
                    order.u32(header, 20),
                    order.u32(header, 24),
                )
            }
        };
        let (Some(interface), Some(time), Some(captured), Some(original)) =
            (interface, time, captured, original)
        else {
            faults.truncated = true;
            faults.add(position, "the capture ends within the header of a packet");
            return Ok(None);
        };
        let captured = captured as usize;
        if captured > length - head - 4 {
            let message = format!("{captured} captured bytes do not fit into a block of {length}");
            faults.add(position, message);
            self.pass(length as u64, faults)?;
            return Ok(None);
        }
        if captured > LONGEST_PACKET {
            faults.add(position, format!("a packet of {captured} bytes cannot be"));
            self.pass(length as u64, faults)?;
            return Ok(None);
        }
        let Some(&Interface {
            link_type,
            resolution,
            offset_s,
            ..
        }) = self.interfaces.get(interface as usize)
        else {
            let known = self.interfaces.len();
            let message = format!("interface {interface} was not described (there are {known})");
            faults.add(position, message);
            self.pass(length as u64, faults)?;
            return Ok(None);
        };
        if self.buffer.peek(head + captured)?.len() < head + captured {
            faults.truncated = true;
            faults.add(position, "the capture ends within a packet");
            self.buffer.skip(u64::MAX)?;
            return Ok(None);
        }
        self.buffer.take(head);
        self.packets += 1;
        self.behind = length - head - captured;
        let time_ns = resolution.nanoseconds(time) + i128::from(offset_s) * 1_000_000_000;
        Ok(Some(Record {
            time_ns: time_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
            link_type,
            captured,
            length: original,
            offset,
        }))
    }
}

/// The byte order of a section, from its first 12 bytes.
fn order_of(header: &[u8]) -> Option<Order> {
    match *header.get(8..12)? {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Order::Big),
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Order::Little),
        _ => None,
    }
}

impl Records for Pcapng {
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Record>, Error> {
        loop {
            let position = self.position();
            let header = self.buffer.peek(12)?;
            if header.is_empty() {
                return Ok(None);
            }
            let (Some(kind), Some(_)) = (self.order.u32(header, 0), header.get(11)) else {
                faults.truncated = true;
                faults.add(position, "the capture ends within the header of a block");
                return Ok(None);
            };
            if kind == SECTION {
                match order_of(header) {
                    Some(order) => self.order = order,
                    None => {
                        faults.truncated = true;
                        let message =
                            "a section without byte-order magic: what follows cannot be read";
                        faults.add(position, message);
                        return Ok(None);
                    }
                }
                self.interfaces.clear();
            }
            let length = self.order.u32(header, 4).unwrap_or(0) as usize;
            if length < 12 || length % 4 != 0 {
                faults.truncated = true;
                let message = format!(
                    "a block of {length} bytes cannot be: the capture is damaged here, and what follows cannot be found"
                );
                faults.add(position, message);
                return Ok(None);
            }
            let head = if kind == SIMPLE_PACKET { 16 } else { 32 };
            match kind {
                INTERFACE if length >= 20 => self.interface(length)?,
                ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET if length >= head => {
                    let before = self.buffer.offset();
                    match self.packet(kind, length, faults)? {
                        Some(record) => return Ok(Some(record)),
                        None if self.buffer.offset() == before => return Ok(None),
                        None => continue,
                    }
                }
                INTERFACE | ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET => {
                    faults.add(
                        position,
                        format!("a block of {length} bytes is too short for its type"),
                    );
                }
                _ => {}
            }
            if !self.pass(length as u64, faults)? {
                return Ok(None);
            }
        }
    }

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    fn padding(&self, _captured: usize) -> usize {
        self.behind
    }
}
