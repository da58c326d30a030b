//! Parser of a captured packet: link layer, IP and TCP headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::bytes::{be16, be32};
use crate::{Endpoint, Packet, Segment, Transport};

/// Result of parsing a captured packet.
pub(super) enum ParsedPacket {
    /// IP packet, stored in the [`Packet`].
    Ip,
    /// Other packet, for example ARP.
    Other,
    Malformed(&'static str),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Maximum number of IPv6 extension headers.
const MAX_EXTENSIONS: usize = 16;

/// Returns whether packets of this link layer are supported.
pub(super) fn is_known(link_type: u32) -> bool {
    link_payload(link_type, &[]).is_some()
}

/// Parses a frame of this link layer; `length` is the length of the frame on the wire.
pub(super) fn read(link_type: u32, frame: &[u8], length: u32, packet: &mut Packet) -> ParsedPacket {
    let Some((start, kind)) = link_payload(link_type, frame) else {
        return ParsedPacket::Malformed(
            "the link layer of the packet's interface is not supported",
        );
    };
    let (Some(payload), Some(kind)) = (frame.get(start..), kind) else {
        return ParsedPacket::Malformed("the packet ends within the header of its link layer");
    };
    let on_wire = length.saturating_sub(start as u32);
    match kind {
        IPV4 => ipv4(payload, on_wire, packet),
        IPV6 => ipv6(payload, on_wire, packet),
        _ => ParsedPacket::Other,
    }
}

/// Returns the offset of a frame's payload and its EtherType, if the frame is long enough; `None` for
/// unsupported link layers.
fn link_payload(link_type: u32, frame: &[u8]) -> Option<(usize, Option<u16>)> {
    Some(match link_type {
        1 => ethernet(frame),
        113 => (16, be16(frame, 14)),
        276 => (20, be16(frame, 0)),
        12 | 14 | 101 => (0, version(frame)),
        228 => (0, Some(IPV4)),
        229 => (0, Some(IPV6)),
        0 | 108 => (4, family(frame)),
        _ => return None,
    })
}

/// Returns the offset and EtherType of an Ethernet frame's payload, after any VLAN tags.
fn ethernet(frame: &[u8]) -> (usize, Option<u16>) {
    let mut at = 12;
    while let Some(kind) = be16(frame, at) {
        at += 2;
        match kind {
            0x8100 | 0x88a8 | 0x9100 => at += 2,
            _ => return (at, Some(kind)),
        }
    }
    (frame.len(), None)
}

fn version(bytes: &[u8]) -> Option<u16> {
    Some(match bytes.first()? >> 4 {
        4 => IPV4,
        6 => IPV6,
        _ => 0,
    })
}

/// Returns the address family of a loopback frame, in either byte order.
fn family(frame: &[u8]) -> Option<u16> {
    let family = be32(frame, 0)?;
    Some(match family.min(family.swap_bytes()) {
        2 => IPV4,
        10 | 24 | 28 | 30 => IPV6,
        _ => 0,
    })
}

fn ipv4(bytes: &[u8], on_wire: u32, packet: &mut Packet) -> ParsedPacket {
    let Some(header) = bytes.first_chunk::<20>() else {
        return ParsedPacket::Malformed("the packet ends within the IPv4 header");
    };
    let header_length = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_length < 20 {
        return ParsedPacket::Malformed("the IPv4 header has a wrong version or length");
    }
    let total = match u32::from(u16::from_be_bytes([header[2], header[3]])) {
        // With segmentation offload the length is 0; only the length on the wire is known.
        0 => on_wire,
        total => total,
    };
    if (total as usize) < header_length {
        return ParsedPacket::Malformed("the IPv4 packet is shorter than its header");
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
    let target = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
    packet.bytes = total;
    let payload = IpPayload {
        protocol: header[9],
        bytes: match fragment {
            0 => bytes.get(header_length..).unwrap_or_default(),
            _ => &[],
        },
        length: total - header_length as u32,
        congested: header[1] & 3 == 3,
        first: fragment == 0,
    };
    let (from, to) = match payload.read(packet) {
        Ok(ports) => ports,
        Err(what) => return ParsedPacket::Malformed(what),
    };
    packet.from = Endpoint::V4(source, from);
    packet.to = Endpoint::V4(target, to);
    ParsedPacket::Ip
}

fn ipv6(bytes: &[u8], on_wire: u32, packet: &mut Packet) -> ParsedPacket {
    let Some(header) = bytes.first_chunk::<40>() else {
        return ParsedPacket::Malformed("the packet ends within the IPv6 header");
    };
    if header[0] >> 4 != 6 {
        return ParsedPacket::Malformed("the IPv6 header has a wrong version");
    }
    let length = match u32::from(u16::from_be_bytes([header[4], header[5]])) {
        0 => on_wire.saturating_sub(40),
        length => length,
    };
    let address = |at: usize| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk::<16>());
        bytes.map_or(Ipv6Addr::UNSPECIFIED, |bytes| Ipv6Addr::from(*bytes))
    };
    let mut protocol = header[6];
    let mut at = 40;
    let mut first = true;
    for _ in 0..MAX_EXTENSIONS {
        let extension = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        let Some(extension) = extension else {
            break;
        };
        let size = match protocol {
            0 | 43 | 60 | 135 => 8 * (usize::from(extension[1]) + 1),
            51 => 4 * (usize::from(extension[1]) + 2),
            44 => {
                first &= u16::from_be_bytes([extension[2], extension[3]]) & 0xfff8 == 0;
                8
            }
            _ => break,
        };
        protocol = extension[0];
        at += size;
    }
    packet.bytes = length.saturating_add(40);
    let congestion = (u16::from_be_bytes([header[0], header[1]]) >> 4) & 3;
    let payload = IpPayload {
        protocol,
        bytes: if first {
            bytes.get(at..).unwrap_or_default()
        } else {
            &[]
        },
        length: length.saturating_sub(at as u32 - 40),
        congested: congestion == 3,
        first,
    };
    let (from, to) = match payload.read(packet) {
        Ok(ports) => ports,
        Err(what) => return ParsedPacket::Malformed(what),
    };
    packet.from = Endpoint::V6(address(8), from);
    packet.to = Endpoint::V6(address(24), to);
    ParsedPacket::Ip
}

/// Payload of an IP packet.
struct IpPayload<'a> {
    protocol: u8,
    /// Captured bytes; empty for a later fragment.
    bytes: &'a [u8],
    /// Length on the wire, in bytes.
    length: u32,
    /// True for congestion experienced (CE) in the IP header.
    congested: bool,
    first: bool,
}

impl IpPayload<'_> {
    /// Parses the transport header. Returns the ports, or the fault.
    fn read(&self, packet: &mut Packet) -> Result<(u16, u16), &'static str> {
        packet.segment = None;
        packet.transport = match self.protocol {
            TCP => Transport::Tcp,
            UDP => Transport::Udp,
            _ => Transport::Other,
        };
        if packet.transport == Transport::Other {
            return Ok((0, 0));
        }
        if packet.transport == Transport::Tcp && self.first {
            packet.segment = segment(self.bytes, self.length, self.congested)?;
        }
        let port = |at| be16(self.bytes, at).unwrap_or(0);
        Ok((port(0), port(2)))
    }
}

/// Parses a TCP header; `None` if it was not captured completely.
fn segment(bytes: &[u8], length: u32, congested: bool) -> Result<Option<Segment>, &'static str> {
    let (Some(seq), Some(ack), Some([offset, flags])) = (
        be32(bytes, 4),
        be32(bytes, 8),
        bytes.get(12..).and_then(|rest| rest.first_chunk()),
    ) else {
        return Ok(None);
    };
    let header_length = u32::from(offset >> 4) * 4;
    if header_length < 20 {
        return Err("the TCP header has a wrong length");
    }
    if header_length > length {
        return Err("the packet is shorter than its TCP header");
    }
    let mut segment = Segment {
        seq,
        len: length - header_length,
        ack: (flags & 0x10 != 0).then_some(ack),
        syn: flags & 0x02 != 0,
        fin: flags & 0x01 != 0,
        rst: flags & 0x04 != 0,
        ecn: congested || flags & 0x40 != 0,
        ..Segment::default()
    };
    let end = (header_length as usize).min(bytes.len());
    options(bytes.get(20..end).unwrap_or_default(), &mut segment);
    Ok(Some(segment))
}

/// Parses the maximum segment size, SACK blocks and timestamps, until the end of the captured options.
fn options(mut bytes: &[u8], segment: &mut Segment) {
    while let Some((&kind, rest)) = bytes.split_first() {
        let size = match (kind, rest.first()) {
            (0, _) => return,
            (1, _) => {
                bytes = rest;
                continue;
            }
            (_, Some(&size)) if size >= 2 => usize::from(size),
            _ => return,
        };
        let Some(value) = bytes.get(2..size) else {
            return;
        };
        match kind {
            2 if value.len() == 2 && segment.syn => segment.mss = be16(value, 0),
            5 => {
                segment.sack_blocks = 0;
                for (block, edges) in segment.sack.iter_mut().zip(value.chunks_exact(8)) {
                    if let (Some(first), Some(end)) = (be32(edges, 0), be32(edges, 4)) {
                        *block = (first, end);
                        segment.sack_blocks += 1;
                    }
                }
            }
            8 if value.len() == 8 => segment.timestamps = be32(value, 0).zip(be32(value, 4)),
            _ => {}
        }
        bytes = &bytes[size..];
    }
}
