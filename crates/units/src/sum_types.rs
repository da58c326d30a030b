//! Settings that accept more than one dimension.

use std::fmt;
use std::str::FromStr;

use crate::dimension::Dimension;
use crate::error::UnitError;
use crate::quantity::{BitsPerSecond, Bytes, Packets, PacketsPerSecond, Seconds};
use crate::read::read;

/// A rate: `8 Mbit/s` or `1000 pkt/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Given in bits (or bytes) per second.
    BitsPerSecond(BitsPerSecond),
    /// Given in packets per second.
    PacketsPerSecond(PacketsPerSecond),
}

impl Rate {
    /// Converts to packets of the given size.
    pub fn packets_per_second(self, packet: Bytes) -> PacketsPerSecond {
        match self {
            Self::BitsPerSecond(rate) => rate.in_packets(packet),
            Self::PacketsPerSecond(rate) => rate,
        }
    }

    /// Returns the number of base units of either variant, for sign checks.
    pub fn get(self) -> f64 {
        match self {
            Self::BitsPerSecond(rate) => rate.get(),
            Self::PacketsPerSecond(rate) => rate.get(),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (dimension, value) = read(text, &[Dimension::BitRate, Dimension::PacketRate])?;
        Ok(match dimension {
            Dimension::PacketRate => Self::PacketsPerSecond(PacketsPerSecond(value)),
            _ => Self::BitsPerSecond(BitsPerSecond(value)),
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitsPerSecond(rate) => rate.fmt(f),
            Self::PacketsPerSecond(rate) => rate.fmt(f),
        }
    }
}

impl From<BitsPerSecond> for Rate {
    fn from(rate: BitsPerSecond) -> Self {
        Self::BitsPerSecond(rate)
    }
}

impl From<PacketsPerSecond> for Rate {
    fn from(rate: PacketsPerSecond) -> Self {
        Self::PacketsPerSecond(rate)
    }
}

/// A size: `150 KB` or `100 pkt`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// Given in bytes.
    Bytes(Bytes),
    /// Given in packets.
    Packets(Packets),
}

impl Size {
    /// Converts to packets of the given size, not rounded.
    pub fn packets(self, packet: Bytes) -> Packets {
        match self {
            Self::Bytes(size) => size.in_packets(packet),
            Self::Packets(size) => size,
        }
    }

    /// Converts to bytes, with packets of the given size.
    pub fn bytes(self, packet: Bytes) -> Bytes {
        match self {
            Self::Bytes(size) => size,
            Self::Packets(size) => size.in_bytes(packet),
        }
    }

    /// Returns the number of base units of either variant, for sign checks.
    pub fn get(self) -> f64 {
        match self {
            Self::Bytes(size) => size.get(),
            Self::Packets(size) => size.get(),
        }
    }
}

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (dimension, value) = read(text, &[Dimension::Bytes, Dimension::Packets])?;
        Ok(match dimension {
            Dimension::Packets => Self::Packets(Packets(value)),
            _ => Self::Bytes(Bytes(value)),
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(size) => size.fmt(f),
            Self::Packets(size) => size.fmt(f),
        }
    }
}

/// A buffer size: `150 KB`, `100 pkt`, or `50 ms` at the rate of its link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BufferSize {
    /// Given in bytes or packets.
    Size(Size),
    /// Given as the time that the link needs to send a full buffer.
    Time(Seconds),
}

impl BufferSize {
    /// Returns the size for this link rate; a time becomes bytes.
    pub fn at_rate(self, rate: BitsPerSecond) -> Size {
        match self {
            Self::Size(size) => size,
            Self::Time(time) => Size::Bytes(Bytes(time.get() * rate.get() / 8.0)),
        }
    }
}

impl FromStr for BufferSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (dimension, value) = read(
            text,
            &[Dimension::Bytes, Dimension::Packets, Dimension::Time],
        )?;
        Ok(match dimension {
            Dimension::Packets => Self::Size(Size::Packets(Packets(value))),
            Dimension::Time => Self::Time(Seconds(value)),
            _ => Self::Size(Size::Bytes(Bytes(value))),
        })
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Time(time) => time.fmt(f),
        }
    }
}

impl From<Size> for BufferSize {
    fn from(size: Size) -> Self {
        Self::Size(size)
    }
}

impl From<Bytes> for Size {
    fn from(size: Bytes) -> Self {
        Self::Bytes(size)
    }
}

impl From<Packets> for Size {
    fn from(size: Packets) -> Self {
        Self::Packets(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dimensions_are_read_and_printed() {
        for text in ["8 Mbit/s", "1000 pkt/s", "1.5 kbit/s"] {
            assert_eq!(text.parse::<Rate>().expect(text).to_string(), text);
        }
        for text in ["150 KB", "100 pkt", "512 B"] {
            assert_eq!(text.parse::<Size>().expect(text).to_string(), text);
        }
        assert_eq!(
            "8 Mbit/s"
                .parse::<Rate>()
                .unwrap()
                .packets_per_second(Bytes(1000.0))
                .get(),
            1000.0
        );
        assert_eq!(
            "100 pkt"
                .parse::<Size>()
                .unwrap()
                .bytes(Bytes(1500.0))
                .get(),
            150_000.0
        );
    }

    #[test]
    fn a_buffer_size_may_be_a_time() {
        for (text, bytes) in [("50 ms", 12_500.0), ("150 KB", 150_000.0)] {
            let room = text.parse::<BufferSize>().unwrap();
            assert_eq!(room.to_string(), text);
            let size = room.at_rate(BitsPerSecond(2e6));
            assert_eq!(size, Size::Bytes(Bytes(bytes)));
        }
    }

    #[test]
    fn a_bare_size_is_shown_in_both_dimensions() {
        let help = "100".parse::<Size>().unwrap_err().help().to_owned();
        assert!(
            help.starts_with(r#"write "100 KB" or "100 pkt"; units of size: B,"#),
            "{help}"
        );
    }
}
