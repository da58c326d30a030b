//! Transfers that come and go, one connection each.

use crate::Distribution;

/// How long transfers are, and what carries them.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Bytes of a transfer.
    size: Distribution,
    /// Payload of a full packet, in bytes.
    payload_bytes: f64,
    /// Packets that a sender begins with.
    initial_window_pkts: f64,
    /// Counting them takes a moment.
    mean_pkts: f64,
}

impl Transfers {
    /// Of this size, in packets with so much payload, from senders that begin with so many packets.
    pub fn new(size: Distribution, payload_bytes: f64, initial_window_pkts: f64) -> Transfers {
        Transfers {
            mean_pkts: size.mean_packets(payload_bytes),
            size,
            payload_bytes,
            initial_window_pkts,
        }
    }

    /// Bytes of a transfer.
    pub fn size(&self) -> &Distribution {
        &self.size
    }

    /// Payload of a full packet, in bytes.
    pub fn payload_bytes(&self) -> f64 {
        self.payload_bytes
    }

    /// Packets that a sender begins with.
    pub fn initial_window_pkts(&self) -> f64 {
        self.initial_window_pkts
    }

    /// Mean of the packets of a transfer.
    pub fn mean_pkts(&self) -> f64 {
        self.mean_pkts
    }

    /// Mean of the bytes that a transfer sends, with headers of so many bytes at each packet.
    pub fn mean_wire_bytes(&self, header_bytes: f64) -> f64 {
        self.size.mean().max(1.0) + header_bytes * self.mean_pkts
    }
}
