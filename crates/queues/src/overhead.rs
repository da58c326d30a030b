//! Bytes of a packet on the wire of a link, beyond those of IP.

use serde::{Deserialize, Serialize};

/// Payload and size of an ATM cell in bytes.
const ATM: (f64, f64) = (48.0, 53.0);
/// Bytes that PTM transmits with one byte of its own.
const PTM_BLOCK_BYTES: f64 = 64.0;

/// Cells or blocks that a link divides frames into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// None: frames are transmitted as they are.
    #[default]
    None,
    /// ATM cells of 53 bytes with a payload of 48 bytes; the last one is padded (ADSL).
    Atm,
    /// PTM with 64b/65b coding: one byte more for each 64 bytes, rounded up (VDSL).
    Ptm,
}

/// Link-layer overhead: the bytes that a link transmits for a packet beyond those of IP.
///
/// The steps are those of Linux (tc-stab, CAKE): [`bytes`](Self::bytes) are added to the packet, a frame
/// shorter than [`minimum_bytes`](Self::minimum_bytes) is padded to it, and the frame is divided into [`cells`](Self::cells).
///
/// ```
/// use netflow_queues::{Cells, Overhead};
///
/// let ethernet = Overhead { bytes: 38.0, minimum_bytes: 84.0, ..Overhead::NONE };
/// assert_eq!(ethernet.wire_bytes(1500.0), 1538.0);
/// assert_eq!(ethernet.wire_bytes(40.0), 84.0);
///
/// let adsl = Overhead { bytes: 10.0, cells: Cells::Atm, ..Overhead::NONE };
/// assert_eq!(adsl.wire_bytes(1500.0), 32.0 * 53.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Bytes added to each packet, not negative.
    pub bytes: f64,
    /// Size of the smallest frame in bytes, not negative.
    pub minimum_bytes: f64,
    /// Cells that the frame is divided into.
    pub cells: Cells,
}

impl Overhead {
    /// No overhead: a packet takes its IP bytes.
    pub const NONE: Overhead = Overhead {
        bytes: 0.0,
        minimum_bytes: 0.0,
        cells: Cells::None,
    };

    /// The same number of bytes for each packet.
    pub const fn of(bytes: f64) -> Overhead {
        Overhead {
            bytes,
            ..Overhead::NONE
        }
    }

    /// Whether packets take their IP bytes.
    pub fn is_none(&self) -> bool {
        *self == Overhead::NONE
    }

    /// Bytes on the wire of a packet with this number of IP bytes.
    pub fn wire_bytes(&self, ip_bytes: f64) -> f64 {
        let frame = (ip_bytes + self.bytes).max(self.minimum_bytes);
        match self.cells {
            Cells::None => frame,
            Cells::Atm => (frame / ATM.0).ceil() * ATM.1,
            Cells::Ptm => frame + (frame / PTM_BLOCK_BYTES).ceil(),
        }
    }

    /// Bits on the wire of a packet with this number of IP bits.
    pub fn wire_bits(&self, ip_bits: f64) -> f64 {
        if self.is_none() {
            ip_bits
        } else {
            8.0 * self.wire_bytes(ip_bits / 8.0)
        }
    }

    /// Wire bits over IP bits of packets with this number of IP bits; 1 without overhead.
    pub fn factor(&self, ip_bits: f64) -> f64 {
        if self.is_none() {
            1.0
        } else {
            self.wire_bits(ip_bits) / ip_bits
        }
    }
}

/// In words: `38 B per packet, at least 84 B, ATM cells`.
impl std::fmt::Display for Overhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} B per packet", self.bytes)?;
        if self.minimum_bytes > 0.0 {
            write!(f, ", at least {} B", self.minimum_bytes)?;
        }
        match self.cells {
            Cells::None => Ok(()),
            Cells::Atm => f.write_str(", ATM cells"),
            Cells::Ptm => f.write_str(", PTM"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_without_overhead_transmits_ip_bytes() {
        for bytes in [0.3, 40.0, 577.7, 1500.0, 9000.0] {
            assert_eq!(Overhead::NONE.wire_bytes(bytes), bytes);
            assert_eq!(Overhead::NONE.wire_bits(8.0 * bytes), 8.0 * bytes);
            assert_eq!(Overhead::NONE.factor(8.0 * bytes), 1.0);
        }
        assert!(Overhead::default().is_none() && Overhead::of(0.0).is_none());
    }

    #[test]
    fn bytes_are_added_before_the_frame_is_padded() {
        let ethernet = Overhead {
            bytes: 38.0,
            minimum_bytes: 84.0,
            cells: Cells::None,
        };
        for (ip, wire) in [(20.0, 84.0), (46.0, 84.0), (47.0, 85.0), (1500.0, 1538.0)] {
            assert_eq!(ethernet.wire_bytes(ip), wire);
            assert_eq!(ethernet.wire_bits(8.0 * ip), 8.0 * wire);
        }
    }

    /// The examples of RFC 2684 and of tc-stab: a full cell more as soon as a byte does not fit.
    #[test]
    fn atm_pads_the_last_cell() {
        let adsl = |bytes| Overhead {
            bytes,
            minimum_bytes: 0.0,
            cells: Cells::Atm,
        };
        for (overhead, ip, cells) in [
            (10.0, 1500.0, 32.0), // 1510 B of 1536 B
            (10.0, 38.0, 1.0),    // 48 B exactly
            (10.0, 39.0, 2.0),
            (0.0, 48.0, 1.0),
            (40.0, 40.0, 2.0), // an acknowledgement over PPPoE, LLC
            // Sizes that `tc` shows for CAKE with `atm overhead 10`: 53 B and 1643 B (dtaht/sch_cake, issue 142).
            (10.0, 28.0, 1.0),
            (10.0, 1478.0, 31.0),
        ] {
            assert_eq!(adsl(overhead).wire_bytes(ip), 53.0 * cells);
        }
        assert_eq!(adsl(10.0).factor(12_000.0), 1696.0 / 1500.0);
    }

    #[test]
    fn ptm_adds_a_byte_for_each_64() {
        let vdsl = Overhead {
            bytes: 30.0,
            minimum_bytes: 0.0,
            cells: Cells::Ptm,
        };
        assert_eq!(vdsl.wire_bytes(1500.0), 1530.0 + 24.0);
        assert_eq!(vdsl.wire_bytes(34.0), 65.0);
        assert_eq!(vdsl.wire_bytes(35.0), 67.0);
    }

    #[test]
    fn display_includes_all_parts() {
        assert_eq!(Overhead::of(38.0).to_string(), "38 B per packet");
        let adsl = Overhead {
            bytes: 10.0,
            minimum_bytes: 84.0,
            cells: Cells::Atm,
        };
        assert_eq!(
            adsl.to_string(),
            "10 B per packet, at least 84 B, ATM cells"
        );
    }
}
