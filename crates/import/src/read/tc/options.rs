//! Options of the qdiscs and classes of `tc`.

use netflow_document::ProblemKind;

use super::objects::{Object, Word};
use super::units::{count, integer, is_number};
use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Options of an object, read one after the other.
pub(super) struct Options<'o> {
    pub(super) object: &'o Object,
    pub(super) rest: &'o [Word],
}

impl<'o> Options<'o> {
    pub(super) fn of(object: &'o Object) -> Options<'o> {
        let rest = &object.options;
        Options { object, rest }
    }

    pub(super) fn next(&mut self) -> Option<&'o Word> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Returns the value that follows a key.
    pub(super) fn value(&mut self, key: &Word) -> ReadResult<&'o Word> {
        self.next().ok_or_else(|| {
            let message = format!("`{}` has no value", truncate_text(&key.text));
            ImportError::new(ProblemKind::Missing, key.span.clone(), message)
        })
    }

    /// Returns the next word if it is a number.
    pub(super) fn next_number(&mut self) -> Option<&'o Word> {
        let first = self.rest.first()?;
        is_number(&first.text).then(|| self.next()).flatten()
    }

    /// Returns the value of the next word if this is one of the names.
    pub(super) fn named(&mut self, name: &str) -> ReadResult<Option<&'o Word>> {
        match self.rest.first() {
            Some(key) if key.text == name => {
                self.next();
                self.value(key).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn unknown(&self, key: &Word) -> ImportError {
        let message = format!(
            "option `{}` of {} is not supported",
            truncate_text(&key.text),
            self.object.kind
        );
        ImportError::new(ProblemKind::NotAvailable, key.span.clone(), message)
            .help("remove the option, and describe its effect in the scenario if it has one there")
    }
}

/// Returns the error of a feature that links of a scenario do not have.
pub(super) fn refused(word: &Word, message: impl Into<String>, help: &str) -> ImportError {
    ImportError::new(ProblemKind::NotAvailable, word.span.clone(), message).help(help)
}

/// Keys of a table of a scenario, with their values as TOML.
pub(super) type Keys = Vec<(&'static str, String)>;

/// Returns a quantity as TOML.
pub(super) fn quoted(value: impl std::fmt::Display) -> String {
    format!("\"{value}\"")
}

/// Returns keys as an inline table.
pub(super) fn inline_table(keys: &Keys) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

/// Bytes of a packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) bytes: i64,
    pub(super) minimum: u64,
    pub(super) cells: Option<&'static str>,
}

/// Reads a size table (`tc-stab`): bytes on top of the frame that Linux counts.
pub(super) fn size_table(object: &Object) -> ReadResult<Frame> {
    let mut options = Options {
        object,
        rest: &object.size_table,
    };
    let mut frame = Frame::default();
    while let Some(key) = options.next() {
        let value = options.value(key)?;
        match key.text.as_str() {
            "overhead" => frame.bytes = integer(value)?,
            "mpu" => frame.minimum = count(value)?,
            "linklayer" => match value.text.as_str() {
                "atm" | "adsl" => frame.cells = Some("atm"),
                "ethernet" | "unspec" => {}
                _ => return Err(options.unknown(key)),
            },
            _ => {}
        }
    }
    Ok(frame)
}
