//! Assured forwarding classes and their code points (RFC 2597).

use std::fmt;
use std::str::FromStr;

use crate::{DropPrecedence, Error};

/// Assured forwarding code point, one of AF11 … AF43: a forwarding class with a drop precedence (RFC 2597
/// §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Af {
    class: u8,
    precedence: DropPrecedence,
}

impl Af {
    /// Returns class 1 to 4 with this drop precedence.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for another class.
    pub fn new(class: u8, precedence: DropPrecedence) -> Result<Af, Error> {
        let good = (1..=4).contains(&class);
        crate::error::ensure(good, "forwarding class", class.into(), "1 to 4")?;
        Ok(Af { class, precedence })
    }

    /// Returns the class, 1 to 4. Packets of different classes wait in different queues.
    pub fn class(self) -> u8 {
        self.class
    }

    /// Returns the drop precedence within the class.
    pub fn precedence(self) -> DropPrecedence {
        self.precedence
    }

    /// Returns the six-bit code point `cccdd0` (RFC 2597 §6).
    pub fn dscp(self) -> u8 {
        self.class << 3 | self.precedence.of(&[1, 2, 3]) << 1
    }

    /// Returns the class with this code point, or `None` if the code point belongs to another per-hop
    /// behaviour.
    pub fn from_dscp(dscp: u8) -> Option<Af> {
        DropPrecedence::ALL
            .into_iter()
            .filter_map(|precedence| Af::new(dscp >> 3, precedence).ok())
            .find(|af| af.dscp() == dscp)
    }
}

impl fmt::Display for Af {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AF{}{}", self.class, self.precedence.of(&[1, 2, 3]))
    }
}

impl FromStr for Af {
    type Err = Error;

    /// Parses `AF11` … `AF43`, in upper or lower case.
    fn from_str(name: &str) -> Result<Af, Error> {
        let all = (1..=4).flat_map(|class| DropPrecedence::ALL.map(|p| Af::new(class, p)));
        all.flatten()
            .find(|af| af.to_string().eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::UnknownClass {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::Af;

    /// Table of RFC 2597 §6.
    #[test]
    fn code_points_match_the_rfc() {
        let table = [
            ("AF11", 0b001010),
            ("AF21", 0b010010),
            ("AF31", 0b011010),
            ("AF41", 0b100010),
            ("AF12", 0b001100),
            ("AF22", 0b010100),
            ("AF32", 0b011100),
            ("AF42", 0b100100),
            ("AF13", 0b001110),
            ("AF23", 0b010110),
            ("AF33", 0b011110),
            ("AF43", 0b100110),
        ];
        for (name, dscp) in table {
            let af: Af = name.parse().unwrap();
            assert_eq!(af.dscp(), dscp, "{name}");
            assert_eq!(af.to_string(), name);
            assert_eq!(Af::from_dscp(dscp), Some(af));
        }
        let known = (0..=255).filter(|&d| Af::from_dscp(d).is_some()).count();
        assert_eq!(known, table.len());
    }

    #[test]
    fn invalid_classes_are_rejected() {
        for name in ["AF10", "AF44", "AF51", "AF", "EF", "", "AF111"] {
            let error = name.parse::<Af>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("unknown forwarding class `{name}`; allowed: AF11 to AF43")
            );
        }
        assert!(Af::new(0, crate::DropPrecedence::Dp0).is_err());
        assert!(Af::new(5, crate::DropPrecedence::Dp0).is_err());
    }
}
