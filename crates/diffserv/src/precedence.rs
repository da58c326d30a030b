//! Drop precedences, and how a stream is divided among them.

use std::fmt;

/// How early a packet is dropped when a queue fills (RFC 2597 §2): the colours of the RFCs' markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropPrecedence {
    /// Dropped last: within the committed rate; green.
    Dp0,
    /// Dropped before DP0: within what is tolerated; yellow.
    Dp1,
    /// Dropped first; red.
    Dp2,
}

impl DropPrecedence {
    /// All of them, in order.
    pub const ALL: [DropPrecedence; 3] = [
        DropPrecedence::Dp0,
        DropPrecedence::Dp1,
        DropPrecedence::Dp2,
    ];

    /// 0, 1 or 2.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// This one's of three values, in order. (There are three of each, so this cannot fail.)
    #[inline]
    pub(crate) fn of<T>(self, values: &[T; 3]) -> &T {
        &values[self as usize]
    }

    /// This one's of three values, in order.
    #[inline]
    pub(crate) fn of_mut<T>(self, values: &mut [T; 3]) -> &mut T {
        &mut values[self as usize]
    }
}

impl fmt::Display for DropPrecedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.of::<&str>(&["DP0", "DP1", "DP2"]))
    }
}

/// The parts of a stream that have each precedence; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fractions {
    /// Fraction that is DP0, green.
    pub dp0: f64,
    /// Fraction that is DP1, yellow.
    pub dp1: f64,
    /// Fraction that is DP2, red.
    pub dp2: f64,
}

impl Fractions {
    /// All of it DP0.
    pub const GREEN: Fractions = Fractions {
        dp0: 1.0,
        dp1: 0.0,
        dp2: 0.0,
    };

    /// As DP0, DP1, DP2.
    pub fn to_array(self) -> [f64; 3] {
        [self.dp0, self.dp1, self.dp2]
    }

    /// The part with this precedence.
    pub fn of(self, precedence: DropPrecedence) -> f64 {
        *precedence.of(&self.to_array())
    }
}
