//! From texts to what they say: TOML documents, CSV tables and `--set` options, read by the same
//! functions, every value with its place.
//!
//! The document is walked by hand instead of being deserialized: reading goes on after an error,
//! so that all of them are found at once.

mod overrides;
mod quantity;
mod section;
mod table;
mod value;

pub(crate) use overrides::{Names, Overrides, Scope};
pub use quantity::Quantity;
pub(crate) use section::{Allowed, Section, Shown, any, not_available};
pub(crate) use table::{Row, open};
pub(crate) use value::{Fields, Kind, Read, Value, word};

/// An element of a scenario: a table of the document, or a row of a CSV table.
pub(crate) trait Element: Sized {
    /// The name of its table.
    const NAME: &'static str;
    /// What messages call it.
    const TITLE: &'static str = Self::NAME;
    /// Every key it may have.
    const KEYS: &'static [&'static str];
    /// Keys that a later version will know, and what they are.
    const LATER: &'static [(&'static str, &'static str)] = &[];
    /// Every column that a CSV table of such elements may have, nested keys with a dot.
    const COLUMNS: &'static [&'static str] = &[];
    /// The columns that such a CSV table must have.
    const REQUIRED_COLUMNS: &'static [&'static str] = &[];

    /// Columns that may be named without the `source.` in front.
    const SHORT_COLUMNS: &'static [&'static str] = &[];

    /// Reads it; what cannot be read is reported and replaced.
    fn read(section: Section<'_, '_>) -> Self;
}
