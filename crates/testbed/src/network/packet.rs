//! IPv4 header fields that the emulator uses.

use std::hash::Hasher;
use std::net::Ipv4Addr;

use fnv::FnvHasher;
use netflow_queues::{Dscp, EcnCodepoint, PacketDetails, TcpAck};

/// Parsed fields of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    /// Hash of the flow: addresses, protocol and ports.
    pub flow: u64,
    /// ECN field.
    pub ecn: EcnCodepoint,
    /// True for a TCP segment with a payload, and for any packet that is not TCP.
    pub has_data: bool,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Header {
    /// Parses a whole packet; `None` if it is not IPv4.
    pub fn parse(packet: &[u8]) -> Option<Header> {
        let fixed = packet.first_chunk::<20>()?;
        if fixed[0] >> 4 != 4 {
            return None;
        }
        let address =
            |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        let header_bytes = 4 * usize::from(fixed[0] & 0x0f);
        let protocol = fixed[9];
        let ports = match protocol {
            TCP | UDP => packet.get(header_bytes..header_bytes + 4),
            _ => None,
        };
        let mut hash = FnvHasher::default();
        hash.write(&fixed[12..20]);
        hash.write(&[protocol]);
        hash.write(ports.unwrap_or_default());
        let tcp_bytes = || Some(4 * usize::from(packet.get(header_bytes + 12)? >> 4));
        Some(Header {
            from: address(12),
            to: address(16),
            flow: hash.finish(),
            ecn: EcnCodepoint::from_bits(fixed[1]),
            has_data: match protocol {
                TCP => tcp_bytes().is_some_and(|bytes| packet.len() > header_bytes + bytes),
                _ => true,
            },
        })
    }
}

/// Flags of a TCP segment (RFC 9293, section 3.1; RFC 9768 for AE), as 16 bits with the header length in front.
mod flags {
    pub const ACK: u16 = 0x10;
    pub const SYN: u16 = 0x02;
    /// ECE and CWR.
    pub const ECN: u16 = 0xc0;
    /// All flags and reserved bits.
    pub const ALL: u16 = 0x0fff;
}

/// Returns further properties of an IPv4 packet for queue disciplines.
pub(crate) fn details(packet: &[u8]) -> PacketDetails {
    let Some(fixed) = packet.first_chunk::<20>() else {
        return PacketDetails::default();
    };
    let address = |at: usize| read_u32(fixed, at).unwrap_or_default();
    let segment = packet.get(4 * usize::from(fixed[0] & 0x0f)..);
    PacketDetails {
        source: address(12),
        destination: address(16),
        dscp: Dscp::from_bits(fixed[1] >> 2),
        ack: segment
            .filter(|_| fixed[9] == TCP)
            .and_then(acknowledgement),
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    four.try_into().ok().map(u32::from_be_bytes)
}

/// Returns the acknowledgement of a TCP segment; none if it has no valid ACK, or opens a connection.
fn acknowledgement(segment: &[u8]) -> Option<TcpAck> {
    let bits = u16::from_be_bytes([*segment.get(12)?, *segment.get(13)?]);
    let header_bytes = 4 * usize::from(bits >> 12);
    let mut options = segment.get(20..header_bytes)?;
    if bits & (flags::ACK | flags::SYN) != flags::ACK {
        return None;
    }
    let mut ack = TcpAck {
        cumulative: read_u32(segment, 8)?,
        ecn_flags: ((bits & flags::ECN) >> 6) as u8,
        is_replaceable: segment.len() == header_bytes
            && bits & flags::ALL & !flags::ECN == flags::ACK,
        ..TcpAck::default()
    };
    while let [kind, rest @ ..] = options {
        // The lengths of options include kind and length (RFC 9293, section 3.1).
        let length = match (kind, rest) {
            (0, _) => break,
            (1, _) => {
                options = rest;
                continue;
            }
            (_, [length, ..]) => usize::from(*length),
            (_, []) => break,
        };
        let Some(option) = options.get(2..length) else {
            break;
        };
        match (kind, option.len()) {
            // Timestamps (RFC 7323).
            (8, 8) => ack.timestamps = read_u32(option, 0).zip(read_u32(option, 4)),
            // SACK (RFC 2018).
            (5, bytes) if bytes % 8 == 0 => {
                for (block, at) in ack.sacks.iter_mut().zip((0..bytes).step_by(8)) {
                    let ends = read_u32(option, at).zip(read_u32(option, at + 4));
                    *block = ends.unwrap_or_default();
                }
            }
            // MD5 signature (RFC 2385).
            (19, _) => {}
            _ => ack.is_replaceable = false,
        }
        options = &options[length..];
    }
    Some(ack)
}

/// Sets the CE mark of a packet (RFC 3168), and updates the header checksum (RFC 1624).
pub(crate) fn mark_ce(packet: &mut [u8]) {
    let Some(before) = packet.get(1).copied() else {
        return;
    };
    let after = before | 3;
    packet[1] = after;
    if let Some(sum) = packet.get_mut(10..12) {
        let old = u16::from_be_bytes([sum[0], sum[1]]);
        // HC' = ~(~HC + ~m + m'), where m is the header's first word; its other byte has not changed.
        let added = u32::from(!old) + u32::from(!u16::from(before)) + u32::from(after);
        let folded = (added & 0xffff) + (added >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        sum.copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    fn packet(tos: u8, id: u16) -> Vec<u8> {
        let mut packet = vec![0x45, tos, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0];
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet.extend([10, 128, 0, 3, 10, 128, 0, 2]);
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend([0x12, 0x34, 0, 9]);
        packet.extend([0; 8]);
        packet.push(0x50);
        packet.extend([0; 7]);
        packet.extend([1; 4]);
        packet
    }

    #[test]
    fn a_marked_packet_has_a_right_checksum() {
        for id in 0..=u16::MAX {
            for tos in [0b01, 0b10, 0xfd] {
                let mut packet = packet(tos, id);
                mark_ce(&mut packet);
                assert_eq!(packet[1], tos | 3);
                assert_eq!(checksum(&packet[..20]), 0, "{id}");
            }
        }
    }

    #[test]
    fn headers_are_read() {
        let mut segment = packet(2, 7);
        let header = Header::parse(&segment).unwrap();
        assert_eq!(header.from, Ipv4Addr::new(10, 128, 0, 3));
        assert_eq!(header.to, Ipv4Addr::new(10, 128, 0, 2));
        assert!(header.ecn.is_capable() && header.has_data);
        segment.truncate(40);
        assert!(!Header::parse(&segment).unwrap().has_data);
        segment[21] += 1;
        assert_ne!(Header::parse(&segment).unwrap().flow, header.flow);
        for bytes in 0..40 {
            let _ = Header::parse(&segment[..bytes]);
        }
        assert_eq!(Header::parse(&segment[..19]), None);
        segment[0] = 0x65;
        assert_eq!(Header::parse(&segment), None);
    }

    /// Returns an IPv4 packet with DSCP 46 and ECN 2, a TCP segment with these flags, options and payload.
    fn segment(flags: u16, options: &[u8], payload: usize) -> Vec<u8> {
        let words = (20 + options.len()) as u16 / 4;
        let mut segment = packet(46 << 2 | 2, 7);
        segment.truncate(20);
        segment.extend([0x1f, 0x90, 0xc0, 0x00, 0, 0, 0, 1, 0x12, 0x34, 0x56, 0x78]);
        segment.extend((words << 12 | flags).to_be_bytes());
        segment.extend([0; 6]);
        segment.extend(options);
        segment.resize(segment.len() + payload, 0);
        segment
    }

    #[test]
    fn details_of_acknowledgements_are_read() {
        let pure = details(&segment(0x10, &[], 0));
        assert_eq!((pure.source, pure.destination), (0x0a80_0003, 0x0a80_0002));
        assert_eq!(Some(pure.dscp), Dscp::named("EF"));
        let ack = |flags, options: &[u8], payload| details(&segment(flags, options, payload)).ack;
        let plain = TcpAck {
            cumulative: 0x1234_5678,
            is_replaceable: true,
            ..TcpAck::default()
        };
        assert_eq!(pure.ack, Some(plain));
        // Timestamps, and one SACK block.
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6, 1, 1, 5, 10];
        options.extend([0, 0, 0, 20, 0, 0, 0, 30]);
        let full = TcpAck {
            timestamps: Some((5, 6)),
            sacks: [(20, 30), (0, 0), (0, 0), (0, 0)],
            ..plain
        };
        assert_eq!(ack(0x10, &options, 0), Some(full));
        let kept = |ack: TcpAck| TcpAck {
            is_replaceable: false,
            ..ack
        };
        let with_flags = |ecn_flags| TcpAck { ecn_flags, ..plain };
        for (flags, options, payload, expected) in [
            (0x10, &[][..], 1, Some(kept(plain))),         // payload
            (0x50, &[], 0, Some(with_flags(1))),           // ECE
            (0x90, &[], 0, Some(with_flags(2))),           // CWR
            (0x150, &[], 0, Some(kept(with_flags(1)))),    // AE
            (0x11, &[], 0, Some(kept(plain))),             // FIN
            (0x10, &[172, 4, 0, 0], 0, Some(kept(plain))), // AccECN option
            (0x10, &[19, 4, 0, 0], 0, Some(plain)),        // signature
            (0x10, &[0, 172, 9, 9], 0, Some(plain)),       // nothing after the end
            (0x12, &[], 0, None),                          // SYN
            (0x02, &[], 0, None),
            (0x01, &[], 0, None),
        ] {
            assert_eq!(
                ack(flags, options, payload),
                expected,
                "{flags:x} {options:?}"
            );
        }
        // Damaged packets have no acknowledgement, or what fits.
        let whole = segment(0x10, &options, 0);
        for bytes in 0..whole.len() {
            let _ = details(&whole[..bytes]);
        }
        for length in [0, 1, 255] {
            assert!(ack(0x10, &[8, length, 0, 0], 0).is_some());
        }
        let udp = {
            let mut datagram = whole;
            datagram[9] = UDP;
            details(&datagram)
        };
        assert_eq!(udp.ack, None);
    }
}
