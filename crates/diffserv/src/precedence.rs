//! Drop precedences and the fractions of a stream with each.

use std::fmt;

/// Drop precedence of a packet in a filling queue (RFC 2597 §2): the colours of the markers in the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DropPrecedence {
    /// Dropped last: within the committed rate; green.
    #[default]
    Dp0,
    /// Dropped before DP0: within the tolerated excess; yellow.
    Dp1,
    /// Dropped first; red.
    Dp2,
}

impl DropPrecedence {
    /// All precedences, in order.
    pub const ALL: [DropPrecedence; 3] = [
        DropPrecedence::Dp0,
        DropPrecedence::Dp1,
        DropPrecedence::Dp2,
    ];

    /// Returns 0, 1 or 2.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the value of this precedence out of three, which cannot fail.
    #[inline]
    pub(crate) fn of<T>(self, values: &[T; 3]) -> &T {
        &values[self as usize]
    }

    /// Returns the value of this precedence out of three.
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

/// Fractions of a stream with each precedence; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fractions {
    /// Fraction of DP0, green.
    pub dp0: f64,
    /// Fraction of DP1, yellow.
    pub dp1: f64,
    /// Fraction of DP2, red.
    pub dp2: f64,
}

impl Fractions {
    /// DP0 only.
    pub const GREEN: Fractions = Fractions {
        dp0: 1.0,
        dp1: 0.0,
        dp2: 0.0,
    };

    /// Returns the fractions of DP0, DP1 and DP2.
    pub fn to_array(self) -> [f64; 3] {
        [self.dp0, self.dp1, self.dp2]
    }

    /// Returns the fraction with this precedence.
    pub fn of(self, precedence: DropPrecedence) -> f64 {
        *precedence.of(&self.to_array())
    }
}
