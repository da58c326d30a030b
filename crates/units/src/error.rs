//! Errors of parsing a quantity.

use std::ops::Range;

/// Text that is not a quantity of the expected dimension: the error, its position and a correction.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct UnitError {
    pub(crate) kind: UnitErrorKind,
    pub(crate) span: Range<usize>,
    pub(crate) help: String,
}

impl UnitError {
    /// Returns the kind of error.
    pub fn kind(&self) -> &UnitErrorKind {
        &self.kind
    }

    /// Returns the byte range of the error in the text; empty where something is missing.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the correction: the corrected text if it can be guessed, and the allowed units.
    pub fn help(&self) -> &str {
        &self.help
    }
}

/// Kind of error in a quantity's text.
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
    /// The number is followed by digits, points or signs that are not part of it.
    #[error("`{number}` is not a number")]
    BadNumber {
        /// The text in place of the number.
        number: String,
    },
    /// The number has a thousands separator or a decimal comma.
    #[error("`{number}` has a thousands separator or a decimal comma")]
    Separator {
        /// The number with its separators.
        number: String,
    },
    /// The number is NaN, infinite, or too large for an `f64`.
    #[error("`{number}` is not a finite number")]
    NotFinite {
        /// The text in place of the number.
        number: String,
    },
    /// The number has no unit.
    #[error("missing unit after `{number}`")]
    MissingUnit {
        /// The number.
        number: String,
    },
    /// The unit does not exist.
    #[error("unknown unit `{unit}`")]
    UnknownUnit {
        /// The text in place of the unit.
        unit: String,
        /// The nearest allowed unit.
        nearest: Option<&'static str>,
    },
    /// The unit is of another dimension.
    #[error("`{unit}` is a unit of {found}, not of {wanted}")]
    WrongDimension {
        /// The unit.
        unit: String,
        /// Dimension of the unit.
        found: &'static str,
        /// Expected dimension.
        wanted: &'static str,
    },
    /// Something follows the unit.
    #[error("unexpected `{text}` after the unit")]
    Trailing {
        /// The text after the unit.
        text: String,
    },
    /// The number is outside the bounds of its dimension.
    #[error("`{text}` is not a valid {noun}: out of range")]
    OutOfBounds {
        /// The number and its unit.
        text: String,
        /// Noun of the dimension.
        noun: &'static str,
    },
    /// A probability below 0 or above 1.
    #[error("`{text}` is not a probability")]
    NotAProbability {
        /// The number and its unit.
        text: String,
    },
}
