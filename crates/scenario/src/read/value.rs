//! A value of whatever origin, and reading simple types from it.

use toml::Spanned as TomlSpanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use super::{Row, Scope, not_available};
use crate::place::{FileId, Place, Spanned};
use crate::problem::{Findings, ProblemKind};

/// What stands for a key.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) place: Place,
    /// For a table: what `--set` options call it, if there are any.
    pub(crate) scope: Option<Scope<'a>>,
}

/// The types a value can have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    /// Text of a CSV cell or a `--set` option, which may turn out to be of any simple type.
    Cell(&'a str),
    String(&'a str),
    Integer(&'a DeInteger<'a>),
    Float(&'a DeFloat<'a>),
    Boolean(bool),
    Datetime,
    Array(&'a DeArray<'a>),
    Table(Fields<'a>),
}

/// Where the keys of a table are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fields<'a> {
    Toml(&'a DeTable<'a>),
    /// A CSV row, and which of its tables: empty for the element itself.
    Row {
        row: &'a Row<'a>,
        table: &'static str,
    },
    /// Nothing but what `--set` options add.
    Empty,
}

impl<'a> Value<'a> {
    pub(crate) fn toml(value: &'a TomlSpanned<DeValue<'a>>) -> Value<'a> {
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::String(text),
            DeValue::Integer(number) => Kind::Integer(number),
            DeValue::Float(number) => Kind::Float(number),
            DeValue::Boolean(flag) => Kind::Boolean(*flag),
            DeValue::Datetime(_) => Kind::Datetime,
            DeValue::Array(array) => Kind::Array(array),
            DeValue::Table(table) => Kind::Table(Fields::Toml(table)),
        };
        Value {
            kind,
            place: Place::new(FileId::SCENARIO, value.span()),
            scope: None,
        }
    }

    pub(crate) fn cell(text: &'a str, place: Place) -> Value<'a> {
        Value {
            kind: Kind::Cell(text),
            place,
            scope: None,
        }
    }

    /// "a string", "a table" ...
    pub(crate) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Cell(_) => "text",
            Kind::String(_) => "a string",
            Kind::Integer(_) | Kind::Float(_) => "a number",
            Kind::Boolean(_) => "true or false",
            Kind::Datetime => "a date",
            Kind::Array(_) => "an array",
            Kind::Table(_) => "a table",
        }
    }

    /// The place of some bytes of a string value.
    pub(crate) fn place_inside(&self, text: &str, span: std::ops::Range<usize>) -> Place {
        let whole = self.place.span();
        let offset = match whole.len().checked_sub(text.len()) {
            Some(0) => 0,
            Some(2) => 1,           // between quotes
            _ => return self.place, // escapes moved the bytes
        };
        if span.is_empty() || span.end > text.len() {
            return self.place;
        }
        let start = whole.start + offset;
        Place::new(self.place.file, start + span.start..start + span.end)
    }

    pub(crate) fn wrong_type(&self, key: &str, wanted: &str, findings: &mut Findings) {
        let message = format!("`{key}` must be {wanted}, not {}", self.type_name());
        findings.error(ProblemKind::WrongType, self.place, message);
    }

    /// The string, or `None` and an error.
    pub(crate) fn text(&self, key: &str, wanted: &str, findings: &mut Findings) -> Option<&'a str> {
        match self.kind {
            Kind::String(text) | Kind::Cell(text) => Some(text),
            _ => {
                self.wrong_type(key, wanted, findings);
                None
            }
        }
    }
}

/// A type that settings can have.
pub(crate) trait Read: Sized {
    /// Reads it; `None` if it cannot be read, and the reader's findings say why.
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self>;
}

/// A name of a node or a connection, or a text for people.
impl Read for String {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<String> {
        let text = match value.kind {
            Kind::String(text) | Kind::Cell(text) => text,
            _ => {
                value.wrong_type(key, "a string", findings);
                if let Kind::Integer(number) = value.kind {
                    findings.amend(format!("write `{key} = \"{}\"`", number.as_str()));
                }
                return None;
            }
        };
        let wrong = if text.trim().is_empty() {
            "empty"
        } else if text.trim() != text {
            "a text with blanks around it"
        } else if text.contains(char::is_control) {
            "a text with control characters"
        } else if text.len() > LONGEST_TEXT {
            "longer than 1000 bytes"
        } else {
            return Some(text.to_owned());
        };
        let message = format!("`{key}` is {wrong}");
        findings.error(ProblemKind::BadValue, value.place, message);
        None
    }
}

const LONGEST_TEXT: usize = 1000;

impl Read for bool {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<bool> {
        match value.kind {
            Kind::Boolean(flag) => return Some(flag),
            Kind::Cell("true") => return Some(true),
            Kind::Cell("false") => return Some(false),
            Kind::Cell(text) => {
                let message = format!("`{key}` must be true or false, not `{text}`");
                findings.error(ProblemKind::WrongType, value.place, message);
            }
            Kind::String(text) => {
                value.wrong_type(key, "true or false", findings);
                if matches!(text, "true" | "false") {
                    let help = format!("write `{key} = {text}`, without quotes");
                    findings.amend(help);
                }
            }
            _ => value.wrong_type(key, "true or false", findings),
        }
        None
    }
}

/// A whole number from 0 to 2^63 - 1.
impl Read for u64 {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<u64> {
        let (text, number) = match value.kind {
            Kind::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                (number.as_str(), parsed.ok())
            }
            Kind::Cell(text) => (text, text.parse::<i64>().ok()),
            Kind::Float(number) => (number.as_str(), None),
            _ => {
                value.wrong_type(key, "a whole number", findings);
                if let Kind::String(text) = value.kind
                    && text.parse::<u64>().is_ok()
                {
                    findings.amend(format!("write `{key} = {text}`, without quotes"));
                }
                return None;
            }
        };
        let whole = number.and_then(|number| u64::try_from(number).ok());
        if whole.is_none() {
            let wrong = match number {
                Some(_) => "cannot be negative",
                None if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() => {
                    "is too large a number"
                }
                None => "must be a whole number",
            };
            let message = format!("`{key}` {wrong}: {text}");
            findings.error(ProblemKind::OutOfRange, value.place, message);
        }
        whole
    }
}

/// A number without dimension; as a text also with a percent sign.
impl Read for f64 {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<f64> {
        let number = match value.kind {
            Kind::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix()).ok();
                whole.map(|number| number as f64)
            }
            Kind::Float(number) => number.as_str().parse().ok(),
            Kind::Cell(text) => text.parse().ok(),
            Kind::String(text) => {
                value.wrong_type(key, "a number", findings);
                if text.parse::<f64>().is_ok() {
                    findings.amend(format!("write `{key} = {text}`, without quotes"));
                }
                return None;
            }
            _ => {
                value.wrong_type(key, "a number", findings);
                return None;
            }
        };
        if number.is_none_or(|number| !number.is_finite()) {
            let message = format!("`{key}` must be a finite number");
            findings.error(ProblemKind::BadValue, value.place, message);
            return None;
        }
        number
    }
}

/// Node names from the first to the last: an array of strings, or one text with `>` between them.
impl Read for Vec<Spanned<String>> {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        match value.kind {
            Kind::Array(array) => {
                let elements: Vec<_> = array
                    .iter()
                    .map(|element| {
                        let element = Value::toml(element);
                        Some(Spanned::new(
                            String::read(&element, key, findings)?,
                            element.place,
                        ))
                    })
                    .collect();
                elements.into_iter().collect()
            }
            Kind::Cell(text) => {
                let mut elements = Vec::new();
                let mut start = 0;
                for part in text.split('>') {
                    let name = part.trim();
                    let from = start + (part.len() - part.trim_start().len());
                    let place = value.place_inside(text, from..from + name.len());
                    if name.is_empty() {
                        let message = format!("`{key}` lacks a node's name beside a `>`");
                        findings.error(ProblemKind::BadValue, place, message);
                        return None;
                    }
                    elements.push(Spanned::new(name.to_owned(), place));
                    start += part.len() + 1;
                }
                Some(elements)
            }
            Kind::String(text) => {
                value.wrong_type(key, "an array of node names", findings);
                let names: Vec<String> = text
                    .split('>')
                    .map(|name| format!("{:?}", name.trim()))
                    .collect();
                findings.amend(format!("write `{key} = [{}]`", names.join(", ")));
                None
            }
            _ => {
                value.wrong_type(key, "an array of node names", findings);
                None
            }
        }
    }
}

/// One of a few words; those in `later` are refused as not available yet.
pub(crate) fn word<T: Copy>(
    value: &Value<'_>,
    key: &str,
    words: &[(&'static str, T)],
    later: &[(&str, &str)],
    findings: &mut Findings,
) -> Option<T> {
    let names = words.iter().map(|(name, _)| *name);
    let list: Vec<String> = names.clone().map(|name| format!("\"{name}\"")).collect();
    let text = value.text(key, &format!("one of {}", list.join(", ")), findings)?;
    if let Some((_, found)) = words.iter().find(|(name, _)| *name == text) {
        return Some(*found);
    }
    if let Some((_, what)) = later.iter().find(|(name, _)| *name == text) {
        not_available(findings, value.place, what);
        return None;
    }
    let message = format!("unknown {key} `{text}`");
    let help = findings.allowed(text, "allowed", names);
    findings
        .error(ProblemKind::BadValue, value.place, message)
        .help(help);
    None
}
