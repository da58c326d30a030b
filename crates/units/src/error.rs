//! What can be wrong with a quantity's text.

use std::ops::Range;

/// A text that is not a quantity of the wanted dimension: what is wrong, where, and what to write
/// instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct UnitError {
    pub(crate) kind: UnitErrorKind,
    pub(crate) span: Range<usize>,
    pub(crate) help: String,
}

impl UnitError {
    /// What is wrong.
    pub fn kind(&self) -> &UnitErrorKind {
        &self.kind
    }

    /// The bytes of the text that are wrong; empty where something is missing.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What to write instead: the corrected text where it can be guessed, and the units allowed.
    pub fn help(&self) -> &str {
        &self.help
    }
}

/// What is wrong with a quantity's text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitErrorKind {
    /// There is no text, or only blanks.
    #[error("empty: a number and a unit are missing")]
    Empty,
    /// The text does not begin with a number.
    #[error("no number at the start of `{text}`")]
    NoNumber {
        /// The text.
        text: String,
    },
    /// The number is followed by more digits, points or signs that do not belong to it.
    #[error("`{number}` is not a number")]
    BadNumber {
        /// What stands where the number should be.
        number: String,
    },
    /// The number has a separator between groups of digits, or a decimal comma.
    #[error("`{number}` has a separator that a number cannot have")]
    Separator {
        /// The number with its separators.
        number: String,
    },
    /// The number is NaN, infinite, or too large for an `f64`.
    #[error("`{number}` is not a finite number")]
    NotFinite {
        /// What stands where the number should be.
        number: String,
    },
    /// A bare number.
    #[error("missing unit after `{number}`")]
    MissingUnit {
        /// The number.
        number: String,
    },
    /// The unit is none that is known here.
    #[error("unknown unit `{unit}`")]
    UnknownUnit {
        /// What stands where the unit should be.
        unit: String,
        /// The nearest unit that is allowed.
        nearest: Option<&'static str>,
    },
    /// The unit measures something else.
    #[error("`{unit}` is a unit of {found}, not of {wanted}")]
    WrongDimension {
        /// The unit.
        unit: String,
        /// What it measures.
        found: &'static str,
        /// What is wanted here.
        wanted: &'static str,
    },
    /// Something follows the unit.
    #[error("unexpected `{text}` after the unit")]
    Trailing {
        /// What follows.
        text: String,
    },
    /// A number that no network has, however it is meant.
    #[error("`{text}` is no {noun} that a network has")]
    OutOfBounds {
        /// The number and its unit.
        text: String,
        /// What it would be of.
        noun: &'static str,
    },
    /// A probability below 0 or above 1.
    #[error("`{text}` is not a probability")]
    NotAProbability {
        /// The number and its unit.
        text: String,
    },
}
