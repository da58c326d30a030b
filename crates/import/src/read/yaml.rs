//! YAML parsing with limits, and access to values with their places.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use netflow_document::ProblemKind;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Maximum depth of nested values. Topologies need about 10.
const MAX_DEPTH: usize = 64;
/// Maximum number of values after the expansion of aliases.
const MAX_VALUES: usize = 5_000_000;

/// A value and its byte range, which ends in its first line.
pub(super) struct Yaml<'t> {
    value: Value<'t>,
    pub(super) span: Range<usize>,
    /// Number of values in it after the expansion of aliases.
    size: usize,
}

enum Value<'t> {
    Null,
    Scalar(Cow<'t, str>),
    List(Vec<Rc<Yaml<'t>>>),
    Map(Vec<(Rc<Yaml<'t>>, Rc<Yaml<'t>>)>),
}

/// A list or a mapping under construction. Keys and values of a mapping alternate.
struct Open<'t> {
    items: Vec<Rc<Yaml<'t>>>,
    is_map: bool,
    anchor: usize,
    start: usize,
}

/// Parses a file with one document.
pub(super) fn parse(text: &str) -> ReadResult<Rc<Yaml<'_>>> {
    let bare = text.trim_start_matches('\u{feff}');
    let skipped = text.len() - bare.len();
    let starts = LineStarts::of(bare);
    let byte = |at: &Marker| skipped + starts.byte(at);
    let mut anchors: HashMap<usize, Rc<Yaml<'_>>> = HashMap::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(bare) {
        let (event, span) = event.map_err(|error| {
            let at = byte(error.marker());
            ImportError::syntax(at..at, format!("invalid YAML: {}", error.info()))
        })?;
        let start = byte(&span.start);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |end| start + end);
        let line = start..byte(&span.end).clamp(start, line_end);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let value = if is_null {
                    Value::Null
                } else {
                    Value::Scalar(text)
                };
                let size = 1;
                let span = line;
                (Rc::new(Yaml { value, span, size }), anchor)
            }
            Event::Alias(anchor) => match anchors.get(&anchor) {
                Some(value) => (Rc::clone(value), 0),
                None => {
                    return Err(ImportError::value(
                        line,
                        "this alias is inside its own anchor",
                    ));
                }
            },
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if open.len() == MAX_DEPTH {
                    let message = format!("values are nested deeper than {MAX_DEPTH} levels");
                    return Err(ImportError::new(ProblemKind::TooLarge, line, message));
                }
                let is_map = matches!(event, Event::MappingStart(..));
                let items = Vec::new();
                open.push(Open {
                    items,
                    is_map,
                    anchor,
                    start,
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open {
                    items,
                    is_map,
                    anchor,
                    start,
                }) = open.pop()
                else {
                    continue;
                };
                let line_end = text[start..]
                    .find('\n')
                    .map_or(text.len(), |end| start + end);
                let span = start..line_end.min(line.end.max(start));
                let sizes = items.iter().map(|item| item.size);
                let size = sizes.fold(1, usize::saturating_add);
                if size > MAX_VALUES {
                    let message = "the aliases expand to more than 5 million values";
                    return Err(ImportError::new(ProblemKind::TooLarge, span, message));
                }
                let value = if is_map {
                    Value::Map(pairs(items)?)
                } else {
                    Value::List(items)
                };
                (Rc::new(Yaml { value, span, size }), anchor)
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(ImportError::syntax(
                    line,
                    "the file has a second YAML document",
                ));
            }
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, Rc::clone(&value));
        }
        match open.last_mut() {
            Some(open) => open.items.push(value),
            None => root = Some(value),
        }
    }
    root.ok_or_else(|| ImportError::syntax(0..0, "the file has no YAML document"))
}

/// Returns alternating keys and values as pairs. A key exists once.
fn pairs<'t>(items: Vec<Rc<Yaml<'t>>>) -> ReadResult<Vec<(Rc<Yaml<'t>>, Rc<Yaml<'t>>)>> {
    let mut items = items.into_iter();
    let mut pairs = Vec::with_capacity(items.len() / 2);
    let mut seen = HashSet::new();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        if let Some(text) = key.text().filter(|text| *text != "<<")
            && !seen.insert(text.to_owned())
        {
            let message = format!("key `{}` exists twice", truncate_text(text));
            return Err(ImportError::new(
                ProblemKind::Duplicate,
                key.span.clone(),
                message,
            ));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Beginnings of lines, to convert positions of the parser, which counts characters.
struct LineStarts<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl LineStarts<'_> {
    fn of(text: &str) -> LineStarts<'_> {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1));
        LineStarts {
            text,
            starts: starts.collect(),
        }
    }

    fn byte(&self, at: &Marker) -> usize {
        let Some(&start) = self.starts.get(at.line().saturating_sub(1)) else {
            return self.text.len();
        };
        let mut chars = self.text[start..].char_indices();
        start
            + chars
                .nth(at.col())
                .map_or(self.text.len() - start, |(at, _)| at)
    }
}

impl<'t> Yaml<'t> {
    /// Returns a text or a number; `None` for other values.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list; `None` for other values.
    pub(super) fn list(&self) -> Option<&[Rc<Yaml<'t>>]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the keys and values of a mapping; `None` for other values.
    pub(super) fn map(&self) -> Option<&[(Rc<Yaml<'t>>, Rc<Yaml<'t>>)]> {
        match &self.value {
            Value::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Returns the value of a key, if this is a mapping. `<<` merges other mappings.
    pub(super) fn get(&self, key: &str) -> Option<&Yaml<'t>> {
        let pairs = self.map()?;
        let of = |key: &str| pairs.iter().find(|(it, _)| it.text() == Some(key));
        if let Some((_, value)) = of(key) {
            return Some(value);
        }
        let (_, merged) = of("<<")?;
        match merged.list() {
            Some(list) => list.iter().find_map(|it| it.get(key)),
            None => merged.get(key),
        }
    }

    /// Returns the value of a required key.
    pub(super) fn required(&self, key: &str) -> ReadResult<&Yaml<'t>> {
        self.get(key).ok_or_else(|| {
            let message = format!("missing key `{key}`");
            ImportError::new(ProblemKind::Missing, self.span.clone(), message)
        })
    }

    /// Returns the text of a required key.
    pub(super) fn required_text(&self, key: &str) -> ReadResult<&str> {
        let value = self.required(key)?;
        value.text().ok_or_else(|| value.wrong_type("a text"))
    }

    /// Returns the error of another type than `expected`.
    pub(super) fn wrong_type(&self, expected: &str) -> ImportError {
        let found = match self.value {
            Value::Null => "nothing",
            Value::Scalar(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        };
        let message = format!("expected {expected}, found {found}");
        ImportError::new(ProblemKind::WrongType, self.span.clone(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bytes() {
        let text = "\u{feff}ä: [ö, x]\nb:\n  - c: 1\n";
        let root = parse(text).unwrap();
        let list = root.get("ä").and_then(|it| it.list()).unwrap();
        assert_eq!(&text[list[1].span.clone()], "x");
        let item = &root.get("b").and_then(|it| it.list()).unwrap()[0];
        assert_eq!(item.required_text("c"), Ok("1"));
        assert_eq!(&text[item.get("c").unwrap().span.clone()], "1");
    }

    #[test]
    fn merged_keys_are_found() {
        let root = parse("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n").unwrap();
        let b = root.get("b").unwrap();
        assert_eq!(
            (b.required_text("x"), b.required_text("y")),
            (Ok("3"), Ok("2"))
        );
    }

    #[test]
    fn aliases_that_expand_without_bound_are_rejected() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(9);
            text += &format!("a{level}: &a{level} [{before}]\n");
        }
        assert!(parse(&text).is_err());
        assert!(parse(&"[".repeat(100)).is_err());
        assert!(parse("a: 1\na: 2\n").is_err());
        assert!(parse("a: &a [*a]\n").is_err());
        assert!(parse("a: 1\n---\nb: 2\n").is_err());
    }
}
