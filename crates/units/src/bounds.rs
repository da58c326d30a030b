//! Bounds of quantities. Values beyond them are likely mistakes, or would overflow later.

/// Range of the magnitude of a quantity. Zero is always allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Minimum magnitude, in base units.
    pub min: f64,
    /// Maximum magnitude, in base units.
    pub max: f64,
    /// Both bounds in words, for messages.
    pub text: &'static str,
}

impl Bounds {
    /// Times in seconds. Packet clocks count nanoseconds, which an `f64` resolves up to the
    /// maximum.
    pub const TIME: Bounds = Bounds {
        min: 1e-9,
        max: 30.0 * 86_400.0,
        text: "0.001 us to 720 h",
    };
    /// Times between failures and to repair, in seconds.
    pub const LONG_TIME: Bounds = Bounds {
        min: 1e-9,
        max: 1e6 * 86_400.0,
        text: "0.001 us to 1000000 d",
    };
    /// Rates in bit/s.
    pub const BIT_RATE: Bounds = Bounds {
        min: 1.0,
        max: 1e14,
        text: "1 bit/s to 100000 Gbit/s",
    };
    /// Rates in packets per second.
    pub const PACKET_RATE: Bounds = Bounds {
        min: 1e-6,
        max: 1e12,
        text: "0.000001 pkt/s to 1e12 pkt/s",
    };
    /// Sizes in bytes.
    pub const BYTES: Bounds = Bounds {
        min: 1e-3,
        max: 1e18,
        text: "0.001 B to 1000000000 GB",
    };
    /// Numbers of packets.
    pub const PACKETS: Bounds = Bounds {
        min: 1e-9,
        max: 1e18,
        text: "0.000000001 pkt to 1e18 pkt",
    };

    /// Returns whether the value is within the bounds, or 0.
    pub fn contains(&self, value: f64) -> bool {
        value == 0.0 || (self.min..=self.max).contains(&value.abs())
    }
}

impl crate::dimension::Dimension {
    /// Returns the bounds of the dimension; `None` for probabilities, which have their own range.
    pub(crate) fn bounds(self) -> Option<&'static Bounds> {
        match self {
            Self::Time => Some(&Bounds::TIME),
            Self::LongTime => Some(&Bounds::LONG_TIME),
            Self::BitRate => Some(&Bounds::BIT_RATE),
            Self::PacketRate => Some(&Bounds::PACKET_RATE),
            Self::Bytes => Some(&Bounds::BYTES),
            Self::Packets => Some(&Bounds::PACKETS),
            Self::Probability => None,
        }
    }
}
