//! Newtypes of the quantities.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::str::FromStr;

use crate::dimension::Dimension;
use crate::error::UnitError;
use crate::print::print;
use crate::read::read;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $dimension:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl $name {
            /// Returns the number of base units.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl From<$name> for f64 {
            fn from(quantity: $name) -> f64 {
                quantity.0
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                read(text, &[$dimension]).map(|(_, value)| Self(value))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(self.0, $dimension, f)
            }
        }
    };
}

macro_rules! arithmetic {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
    )*};
}

quantity!(
    /// A time in seconds, written `50 ms`, `1.5 s`, `2 min`.
    Seconds,
    Dimension::Time
);
quantity!(
    /// A time between failures or to repair in seconds, written `4 h` or `2000 d`. It may exceed the longest
    /// [`Seconds`].
    LongSeconds,
    Dimension::LongTime
);
quantity!(
    /// A rate in bits per second, written `8 Mbit/s` or `1 MB/s`.
    BitsPerSecond,
    Dimension::BitRate
);
quantity!(
    /// A rate in packets per second, written `1000 pkt/s`.
    PacketsPerSecond,
    Dimension::PacketRate
);
quantity!(
    /// A size in bytes, written `1500 B`, `10 KB`, `64 KiB`.
    Bytes,
    Dimension::Bytes
);
quantity!(
    /// A number of packets, not necessarily whole, written `100 pkt`.
    Packets,
    Dimension::Packets
);
quantity!(
    /// A probability between 0 and 1, written `5%` or `0.05`. The parser rejects other values; the
    /// field itself can hold any number.
    Probability,
    Dimension::Probability
);
arithmetic!(Seconds, BitsPerSecond, PacketsPerSecond, Bytes, Packets);

impl BitsPerSecond {
    /// Converts to packets of the given size.
    pub fn in_packets(self, packet: Bytes) -> PacketsPerSecond {
        PacketsPerSecond(self.0 / (8.0 * packet.0))
    }
}

impl PacketsPerSecond {
    /// Converts to bits, with packets of the given size.
    pub fn in_bits(self, packet: Bytes) -> BitsPerSecond {
        BitsPerSecond(self.0 * (8.0 * packet.0))
    }
}

impl Bytes {
    /// Converts to packets of the given size, not rounded.
    pub fn in_packets(self, packet: Bytes) -> Packets {
        Packets(self.0 / packet.0)
    }
}

impl Packets {
    /// Converts to bytes, with packets of the given size.
    pub fn in_bytes(self, packet: Bytes) -> Bytes {
        Bytes(self.0 * packet.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Bounds;

    #[test]
    fn quantities_are_read_exactly() {
        let seconds = |text: &str| text.parse::<Seconds>().expect(text).get();
        assert_eq!(seconds("20 ms"), 0.02);
        assert_eq!(seconds("20ms"), 0.02);
        assert_eq!(seconds("  0.1  us "), 1e-7);
        assert_eq!(seconds("-5 s"), -5.0);
        assert_eq!(seconds("1.5 min"), 90.0);
        assert_eq!(seconds("2 h"), 7200.0);
        assert_eq!(seconds("0.5 d"), 43_200.0);
        let long = |text: &str| text.parse::<LongSeconds>().expect(text).get();
        assert_eq!(long("100000 h"), 3.6e8);
        assert_eq!(long("1000 d"), 8.64e7);
        assert!("1000 d".parse::<Seconds>().is_err());
        let bits = |text: &str| text.parse::<BitsPerSecond>().expect(text).get();
        assert_eq!(bits("8 Mbit/s"), 8e6);
        assert_eq!(bits("8 Mbps"), 8e6);
        assert_eq!(bits("1 MB/s"), 8e6);
        assert_eq!(bits("10Gbit/s"), 1e10);
        let bytes = |text: &str| text.parse::<Bytes>().expect(text).get();
        assert_eq!(bytes("1.5 KB"), 1500.0);
        assert_eq!(bytes("64 KiB"), 65536.0);
        assert_eq!(bytes("1 GiB"), 1_073_741_824.0);
    }

    #[test]
    fn quantities_are_printed_readably() {
        assert_eq!(Seconds(0.05).to_string(), "50 ms");
        assert_eq!(Seconds(60.0).to_string(), "60 s");
        assert_eq!(Seconds(2.5e-7).to_string(), "0.25 us");
        assert_eq!(Seconds(0.0).to_string(), "0 s");
        assert_eq!(Seconds(-0.0015).to_string(), "-1.5 ms");
        assert_eq!(Seconds(1e-20).to_string(), "1e-14 us");
        assert_eq!(BitsPerSecond(8e6).to_string(), "8 Mbit/s");
        assert_eq!(BitsPerSecond(12_345_678.0).to_string(), "12.345678 Mbit/s");
        assert_eq!(Bytes(1500.0).to_string(), "1.5 KB");
        assert_eq!(Bytes(150_000.0).to_string(), "150 KB");
        assert_eq!(Packets(100.0).to_string(), "100 pkt");
        assert_eq!(PacketsPerSecond(1000.0).to_string(), "1000 pkt/s");
        assert_eq!(PacketsPerSecond(1e300).to_string(), "1e300 pkt/s");
        assert_eq!(Probability(0.05).to_string(), "5%");
        assert_eq!(Seconds(f64::NAN).to_string(), "NaN s");
    }

    #[test]
    fn bits_and_packets_convert() {
        assert_eq!(
            BitsPerSecond(8e6).in_packets(Bytes(1000.0)),
            PacketsPerSecond(1000.0)
        );
        assert_eq!(
            PacketsPerSecond(1000.0).in_bits(Bytes(1000.0)),
            BitsPerSecond(8e6)
        );
        assert_eq!(Bytes(150_000.0).in_packets(Bytes(1500.0)), Packets(100.0));
        assert_eq!(Packets(100.0).in_bytes(Bytes(1500.0)), Bytes(150_000.0));
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>(), -1e6..1e6f64, 1e-9..1e-3f64]
            .prop_filter("finite", |x| x.is_finite())
    }

    proptest! {
        #[test]
        fn printed_quantities_parse_to_the_same_bits(x in finite(), p in 0.0..=1.0f64) {
            macro_rules! reads_back {
                ($($quantity:ident: $bounds:expr),*) => {$(
                    // Values out of bounds are rejected even if netflow printed them.
                    match $quantity(x).to_string().parse::<$quantity>() {
                        Ok(read) => prop_assert_eq!(read.0.to_bits(), x.to_bits()),
                        Err(error) => prop_assert!(!$bounds.contains(x), "{x}: {error}"),
                    }
                )*};
            }
            reads_back!(
                Seconds: Bounds::TIME,
                LongSeconds: Bounds::LONG_TIME,
                BitsPerSecond: Bounds::BIT_RATE,
                Bytes: Bounds::BYTES,
                Packets: Bounds::PACKETS,
                PacketsPerSecond: Bounds::PACKET_RATE
            );
            prop_assert_eq!(Probability(p).to_string().parse::<Probability>().unwrap().0.to_bits(), p.to_bits());
        }

        #[test]
        fn any_text_parses_or_errors_inside_it(text in "\\PC{0,20}") {
            if let Err(error) = text.parse::<Seconds>() {
                prop_assert!(text.get(error.span()).is_some());
                prop_assert!(!error.help().is_empty());
            }
        }

        #[test]
        fn near_quantities_parse_or_are_rejected(text in "[-+]?[0-9.,_ e]{0,8} ?(m|M|k|K)?(s|b|B|bit/s|pkt|%)?.?") {
            if let Err(error) = text.parse::<Bytes>() {
                prop_assert!(text.get(error.span()).is_some());
                prop_assert!(!error.help().is_empty());
            }
        }
    }
}
