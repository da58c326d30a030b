//! Payload of a full-sized packet. It splits captured super-segments into packets, as segmentation
//! offload does after the capture.

use crate::MAX_CAPTURED_BYTES;

/// Segment size of one sender, by the source of the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SegmentSize {
    /// Every event is one packet of any length (ns-2).
    SinglePackets,
    /// Minimum of the MSS values of the captured SYNs, in bytes.
    Announced(u16),
    /// Estimate from payloads, because no SYN was captured.
    PayloadStatistics(PayloadStatistics),
}

/// Payload statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PayloadStatistics {
    /// Longest payload up to [`ETHERNET_MSS`], in bytes.
    longest_payload: u16,
    /// Greatest common divisor of the longer payloads, in bytes; 0 if there are none.
    divisor: u32,
}

/// Maximum TCP payload of Ethernet, in bytes (1500 bytes less the headers of IPv4 and TCP).
const ETHERNET_MSS: u32 = 1460;
/// Minimum plausible payload of a full-sized packet, in bytes: 1280 bytes (RFC 8200 §5) less the headers
/// of IPv6 and TCP, and timestamps.
const MIN_FULL_PAYLOAD: u16 = 1208;
/// Minimum divisor in bytes: RFC 9293 §3.7.1 has 536 bytes, less options.
const MIN_DIVISOR: u32 = 500;
/// Minimum segment size of Linux in bytes (`net.ipv4.tcp_min_snd_mss`), regardless of the MSS.
const MIN_MSS: u16 = 48;
/// Bytes of the timestamp option in every packet.
const TIMESTAMP_OPTION_BYTES: u32 = 12;

impl SegmentSize {
    /// Returns the estimate for a captured sender, with the MSS of its SYNs if captured.
    pub(super) fn from_mss(mss: Option<u16>) -> SegmentSize {
        mss.map_or(
            SegmentSize::PayloadStatistics(PayloadStatistics::default()),
            SegmentSize::Announced,
        )
    }

    /// Updates the estimate with the payload of a segment.
    pub(super) fn observe_payload(&mut self, payload: u32) {
        let SegmentSize::PayloadStatistics(seen) = self else {
            return;
        };
        match u16::try_from(payload) {
            Ok(short) if payload <= ETHERNET_MSS => {
                seen.longest_payload = seen.longest_payload.max(short)
            }
            _ => {
                let divisor = greatest_common_divisor(payload, seen.divisor);
                if seen.divisor == 0 || divisor >= MIN_DIVISOR {
                    seen.divisor = divisor;
                }
            }
        }
    }

    /// Returns the payload of each packet of this segment except the last; `None` if the segment is one
    /// packet. `has_timestamps` states whether packets carry timestamps.
    pub(super) fn payload(&self, segment: u32, has_timestamps: bool) -> Option<u32> {
        let payload = match *self {
            SegmentSize::Announced(mss) => {
                u32::from(mss.max(MIN_MSS))
                    - if has_timestamps {
                        TIMESTAMP_OPTION_BYTES
                    } else {
                        0
                    }
            }
            SegmentSize::PayloadStatistics(_) if segment <= ETHERNET_MSS => return None,
            SegmentSize::PayloadStatistics(seen) if seen.longest_payload >= MIN_FULL_PAYLOAD => {
                seen.longest_payload.into()
            }
            SegmentSize::PayloadStatistics(seen) if seen.divisor > 0 => seen.divisor,
            SegmentSize::PayloadStatistics(_) | SegmentSize::SinglePackets => return None,
        };
        // Network cards do not split segments longer than the maximum captured packet.
        (segment > payload && segment as usize <= MAX_CAPTURED_BYTES).then_some(payload)
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}
