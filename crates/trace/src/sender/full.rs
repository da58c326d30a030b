//! What a full packet carries: a network card cuts segments that are longer than that, after they were captured.

use crate::LONGEST_PACKET;

/// What is known of that for one sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Full {
    /// Every event is a packet, however long: ns-2's.
    Uncut,
    /// The least that both SYNs allow, of those that were captured.
    Announced(u16),
    /// No SYN was captured.
    Seen(Seen),
}

/// What payloads tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// The longest that is within [`ETHERNET`].
    short: u16,
    /// The greatest common divisor of those that are not; 0 of none.
    divisor: u32,
}

/// The most that a packet of Ethernet carries (1500 bytes with the headers of IPv4 and TCP).
const ETHERNET: u32 = 1460;
/// What a full packet carries at least where anything more than [`MINIMUM`] can be told of it: 1280 bytes (RFC 8200
/// §5) with the headers of IPv6 and TCP, and timestamps.
const PLAUSIBLE: u16 = 1208;
/// RFC 9293 §3.7.1 has 536 bytes, less options.
const MINIMUM: u32 = 500;
/// Linux has no segments that are shorter (`net.ipv4.tcp_min_snd_mss`), whatever is announced.
const LEAST_MSS: u16 = 48;
/// What timestamps take of every packet.
const STAMPS: u32 = 12;

impl Full {
    /// Of a sender that is captured, with what its SYNs announced.
    pub(super) fn captured(mss: Option<u16>) -> Full {
        mss.map_or(Full::Seen(Seen::default()), Full::Announced)
    }

    /// Takes the payload of a segment.
    pub(super) fn learn(&mut self, payload: u32) {
        let Full::Seen(seen) = self else { return };
        match u16::try_from(payload) {
            Ok(short) if payload <= ETHERNET => seen.short = seen.short.max(short),
            _ => {
                let divisor = common_divisor(payload, seen.divisor);
                if seen.divisor == 0 || divisor >= MINIMUM {
                    seen.divisor = divisor;
                }
            }
        }
    }

    /// What each packet of this segment carries but the last; `None` if it is one packet. `stamps`: whether packets
    /// carry timestamps.
    pub(super) fn payload(&self, segment: u32, stamps: bool) -> Option<u32> {
        let payload = match *self {
            Full::Announced(mss) => u32::from(mss.max(LEAST_MSS)) - if stamps { STAMPS } else { 0 },
            Full::Seen(_) if segment <= ETHERNET => return None,
            Full::Seen(seen) if seen.short >= PLAUSIBLE => seen.short.into(),
            Full::Seen(seen) if seen.divisor > 0 => seen.divisor,
            Full::Seen(_) | Full::Uncut => return None,
        };
        // No card cuts what is longer than any captured packet.
        (segment > payload && segment as usize <= LONGEST_PACKET).then_some(payload)
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        b => common_divisor(b, a % b),
    }
}
