//! YAML parsing with limits, and access to values with their places.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use netflow_document::ProblemKind;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Maximum depth of nested values after the expansion of aliases. Topologies need about 10.
const MAX_DEPTH: usize = 64;
/// Maximum number of values after the expansion of aliases.
const MAX_VALUES: usize = 1_000_000;

/// A value and its byte range, which ends in its first line.
pub(super) struct Yaml<'t> {
    value: Value<'t>,
    pub(super) span: Range<usize>,
    /// Number of values in it after the expansion of aliases.
    size: usize,
    /// Depth of nested values in it after the expansion of aliases.
    depth: usize,
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
    start: Marker,
}

/// Parses a file with one document.
pub(super) fn parse(text: &str) -> ReadResult<Rc<Yaml<'_>>> {
    let places = Places::of(text);
    let mut anchors: HashMap<usize, Rc<Yaml<'_>>> = HashMap::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(&text[places.skipped..]) {
        let (event, span) = event.map_err(|error| {
            let at = places.byte(error.marker());
            ImportError::syntax(at..at, format!("invalid YAML: {}", error.info()))
        })?;
        let place = places.span(&span.start, &span.end);
        let too_large = |message: String| {
            Err(ImportError::new(
                ProblemKind::TooLarge,
                place.clone(),
                message,
            ))
        };
        let too_deep = || too_large(format!("values are nested deeper than {MAX_DEPTH} levels"));
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let scalar = Yaml {
                    value: if is_null {
                        Value::Null
                    } else {
                        Value::Scalar(text)
                    },
                    span: place,
                    size: 1,
                    depth: 1,
                };
                (Rc::new(scalar), anchor)
            }
            Event::Alias(anchor) => match anchors.get(&anchor) {
                Some(value) => (Rc::clone(value), 0),
                None => {
                    return Err(ImportError::value(
                        place,
                        "this alias is inside its own anchor",
                    ));
                }
            },
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if open.len() == MAX_DEPTH {
                    return too_deep();
                }
                open.push(Open {
                    items: Vec::new(),
                    is_map: matches!(event, Event::MappingStart(..)),
                    anchor,
                    start: span.start,
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
                let size = items
                    .iter()
                    .map(|item| item.size)
                    .fold(1, usize::saturating_add);
                let depth = 1 + items.iter().map(|item| item.depth).max().unwrap_or(0);
                if size > MAX_VALUES {
                    return too_large(format!(
                        "the aliases expand to more than {MAX_VALUES} values"
                    ));
                }
                if depth > MAX_DEPTH {
                    return too_deep();
                }
                let value = if is_map {
                    Value::Map(pairs(items)?)
                } else {
                    Value::List(items)
                };
                let span = places.span(&start, &span.end);
                (
                    Rc::new(Yaml {
                        value,
                        span,
                        size,
                        depth,
                    }),
                    anchor,
                )
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(ImportError::syntax(
                    place,
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

/// Conversion of the positions of the parser, which counts characters after the byte order mark.
struct Places {
    /// Number of bytes of the byte order mark.
    skipped: usize,
    /// Byte offsets of all characters, and of the end; empty if each has one byte.
    offsets: Vec<usize>,
    /// Byte offsets of the ends of lines, and of the text.
    line_ends: Vec<usize>,
}

impl Places {
    fn of(text: &str) -> Places {
        let bare = text.trim_start_matches('\u{feff}');
        let skipped = text.len() - bare.len();
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let offsets = bare.char_indices().map(|(at, _)| skipped + at);
        Places {
            skipped,
            offsets: if bare.is_ascii() {
                Vec::new()
            } else {
                offsets.chain([text.len()]).collect()
            },
            line_ends: newlines.map(|(at, _)| at).chain([text.len()]).collect(),
        }
    }

    fn byte(&self, at: &Marker) -> usize {
        let end = self.line_ends.last().copied().unwrap_or_default();
        let byte = match self.offsets.get(at.index()) {
            Some(byte) => *byte,
            None if self.offsets.is_empty() => self.skipped + at.index(),
            None => end,
        };
        byte.min(end)
    }

    /// Returns the byte range between two positions, up to the end of the first line.
    fn span(&self, start: &Marker, end: &Marker) -> Range<usize> {
        let [start, end] = [start, end].map(|at| self.byte(at));
        let line = self.line_ends.partition_point(|&line_end| line_end < start);
        let line_end = self.line_ends.get(line).copied().unwrap_or(start);
        start..end.min(line_end).max(start)
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
        let text = "\u{feff}ä: [ö, x]\r\nb:\r\n  - c: 1\r\n";
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
        let chain =
            (1..100_000).map(|level| format!("a{level}: &a{level} {{<<: *a{}}}\n", level - 1));
        assert!(parse(&format!("a0: &a0 {{x: 1}}\n{}", chain.collect::<String>())).is_err());
        assert!(parse("a: 1\na: 2\n").is_err());
        assert!(parse("a: &a [*a]\n").is_err());
        assert!(parse("a: 1\n---\nb: 2\n").is_err());
    }
}
