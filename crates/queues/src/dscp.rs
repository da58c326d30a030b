//! Differentiated services code points (DSCP) in IP headers (RFC 2474).

/// Code point of a packet: the first six bits of the second byte of the IPv4 header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

/// Names and code points: CS (RFC 2474), AF (RFC 2597), EF (RFC 3246), VA (RFC 5865), LE (RFC 8622). AF1 to AF4 have
/// the lowest drop precedence of their class.
const NAMES: [(&str, u8); 28] = [
    ("CS0", 0),
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF1", 10),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF2", 18),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF3", 26),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF4", 34),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// Returns the code point with these bits.
    pub fn from_bits(bits: u8) -> Dscp {
        Dscp(bits & 63)
    }

    /// Returns its bits, below 64.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Returns the code point with this name, such as `"EF"`.
    pub fn named(name: &str) -> Option<Dscp> {
        let (_, bits) = NAMES.into_iter().find(|(known, _)| *known == name)?;
        Some(Dscp(bits))
    }

    /// Returns all names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CSn has the bits n·8, and AFxy x·8 + y·2.
    #[test]
    fn names_follow_their_rules() {
        for name in Dscp::names() {
            let digits: Vec<u8> = name.bytes().filter(u8::is_ascii_digit).collect();
            let rule = match *digits {
                [class] if name.starts_with("CS") => 8 * (class - b'0'),
                [class] => 8 * (class - b'0') + 2,
                [class, precedence] => 8 * (class - b'0') + 2 * (precedence - b'0'),
                _ => continue,
            };
            assert_eq!(Dscp::named(name).map(Dscp::bits), Some(rule), "{name}");
        }
        let bits = ["DF", "LE", "VA", "EF"].map(|name| Dscp::named(name).map(Dscp::bits));
        assert_eq!(bits, [0, 1, 44, 46].map(Some));
        assert_eq!(Dscp::named("gold"), None);
        assert_eq!(Dscp::from_bits(0b1010_1110).bits(), 46);
    }
}
