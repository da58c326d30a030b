//! JSON parsing with places.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::errors::{ImportError, ReadResult};

/// Parses a document. `what` names it in the error.
pub(super) fn parse<'t, T: Deserialize<'t>>(text: &'t str, what: &str) -> ReadResult<T> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let at = byte_of(text, error.line(), error.column());
        let message = error.to_string();
        // The position is reported separately.
        let message = message.split(" at line ").next().unwrap_or_default();
        ImportError::syntax(at, format!("invalid {what}: {message}"))
    })
}

/// Parses a value inside a text, and returns its byte range, which ends in its first line.
pub(super) fn parse_part<'t, T: Deserialize<'t>>(
    text: &str,
    raw: &'t RawValue,
    what: &str,
) -> ReadResult<(T, Range<usize>)> {
    let start = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let first_line = raw.get().lines().next().map_or(0, str::len);
    let span = start..start + first_line;
    match serde_json::from_str(raw.get()) {
        Ok(value) => Ok((value, span)),
        Err(error) => {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Err(ImportError::value(
                span,
                format!("invalid {what}: {message}"),
            ))
        }
    }
}

/// Returns the byte at a line and a byte column, both from 1.
fn byte_of(text: &str, line: usize, column: usize) -> Range<usize> {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = lines.map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at..at
}
