//! Values from documents, cells or options, and readers of simple types.

use netflow_units::{Probability, UnitError};
use toml::Spanned as TomlSpanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use crate::csv::ColumnTree;
use crate::overrides::OverrideScope;
use crate::{FileId, Findings, Key, Place, ProblemKind, Row, Spanned};

/// The value of a key.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// Its type and content.
    pub kind: Kind<'a>,
    /// Its place.
    pub place: Place,
    /// For a table: its name in `--set` options, if there are any.
    pub(crate) scope: Option<OverrideScope<'a>>,
}

/// The types of values.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// Text of a CSV cell or a `--set` option, which can be read as any simple type.
    Cell(&'a str),
    /// A string.
    String(&'a str),
    /// A whole number.
    Integer(&'a DeInteger<'a>),
    /// A floating-point number.
    Float(&'a DeFloat<'a>),
    /// True or false.
    Boolean(bool),
    /// A date or time.
    Datetime,
    /// An array.
    Array {
        /// Its elements.
        array: &'a DeArray<'a>,
        /// The file that contains it.
        file: FileId,
    },
    /// A table.
    Table(Fields<'a>),
}

/// A source of the keys of a table.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'a> {
    /// A table of a document.
    Toml {
        /// Its keys.
        table: &'a DeTable<'a>,
        /// The file that contains it.
        file: FileId,
    },
    /// A nested table within a row of a CSV table.
    Row {
        /// The row.
        row: &'a Row<'a>,
        /// The nested table.
        node: &'a ColumnTree,
    },
    /// A keyword that abbreviates a table, which `--set` options extend.
    Word {
        /// Key of the keyword; empty if it is not set.
        key: &'static str,
        /// The keyword.
        text: &'a str,
        /// Its place.
        place: Place,
    },
    /// A table that contains only `--set` options.
    Empty,
}

impl<'a> Fields<'a> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        match *self {
            Fields::Toml { table, file } => table.get(key).map(|value| Value::toml(value, file)),
            Fields::Row { row, node } => row.get(node, key),
            Fields::Word {
                key: of,
                text,
                place,
            } => (of == key).then(|| Value::cell(text, place)),
            Fields::Empty => None,
        }
    }
}

impl<'a> Value<'a> {
    /// Returns a value of a TOML document.
    pub(crate) fn toml(value: &'a TomlSpanned<DeValue<'a>>, file: FileId) -> Value<'a> {
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::String(text),
            DeValue::Integer(number) => Kind::Integer(number),
            DeValue::Float(number) => Kind::Float(number),
            DeValue::Boolean(flag) => Kind::Boolean(*flag),
            DeValue::Datetime(_) => Kind::Datetime,
            DeValue::Array(array) => Kind::Array { array, file },
            DeValue::Table(table) => Kind::Table(Fields::Toml { table, file }),
        };
        Value {
            kind,
            place: Place::new(file, value.span()),
            scope: None,
        }
    }

    /// Returns a text that can be read as any simple type.
    pub(crate) fn cell(text: &'a str, place: Place) -> Value<'a> {
        Value {
            kind: Kind::Cell(text),
            place,
            scope: None,
        }
    }

    /// Returns the name of its type: "a string", "a table" ...
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Cell(_) => "text",
            Kind::String(_) => "a string",
            Kind::Integer(_) | Kind::Float(_) => "a number",
            Kind::Boolean(_) => "true or false",
            Kind::Datetime => "a date",
            Kind::Array { .. } => "an array",
            Kind::Table(_) => "a table",
        }
    }

    /// Returns the place of some bytes of a string value.
    pub fn place_inside(&self, text: &str, span: std::ops::Range<usize>) -> Place {
        let whole = self.place.span();
        let offset = match whole.len().checked_sub(text.len()) {
            Some(0) => 0,
            Some(2) => 1,           // in quotes
            _ => return self.place, // escapes shift the bytes
        };
        if span.is_empty() || span.end > text.len() {
            return self.place;
        }
        let start = whole.start + offset;
        Place::new(self.place.file(), start + span.start..start + span.end)
    }

    /// Reports a text that is not a valid quantity.
    pub(crate) fn bad_unit(
        &self,
        text: &str,
        key: &str,
        error: &UnitError,
        findings: &mut Findings,
    ) {
        let place = self.place_inside(text, error.span());
        let message = format!("`{key}`: {error}");
        findings
            .error(ProblemKind::BadValue, place, message)
            .help(error.help());
    }

    /// Reports a wrong type.
    pub fn wrong_type(&self, key: &str, wanted: &str, findings: &mut Findings) {
        let message = format!("`{key}` must be {wanted}, not {}", self.type_name());
        findings.error(ProblemKind::WrongType, self.place, message);
    }

    /// Reads all elements of an array; `None` if any of them is invalid.
    pub(crate) fn elements<T: Read>(
        &self,
        key: &str,
        findings: &mut Findings,
    ) -> Option<Vec<Spanned<T>>> {
        let Kind::Array { array, file } = self.kind else {
            self.wrong_type(key, "an array", findings);
            return None;
        };
        let elements: Vec<_> = array
            .iter()
            .map(|element| {
                let element = Value::toml(element, file);
                Some(Spanned::new(
                    T::read(&element, key, findings)?,
                    element.place,
                ))
            })
            .collect();
        elements.into_iter().collect()
    }

    /// Returns the elements of an array as values.
    pub fn each(&self) -> Option<impl Iterator<Item = Value<'a>> + use<'a>> {
        match self.kind {
            Kind::Array { array, file } => {
                Some(array.iter().map(move |element| Value::toml(element, file)))
            }
            _ => None,
        }
    }

    /// Returns the string. For another type, returns `None` and reports an error.
    pub fn text(&self, key: &str, wanted: &str, findings: &mut Findings) -> Option<&'a str> {
        match self.kind {
            Kind::String(text) | Kind::Cell(text) => Some(text),
            _ => {
                self.wrong_type(key, wanted, findings);
                None
            }
        }
    }
}

/// The type of a setting.
pub trait Read: Sized {
    /// Name of the type: `"time"`.
    const KIND: &'static str;
    /// True if a cell of a CSV table can contain a value.
    const IS_CELL: bool = true;
    /// Keys of its tables, if some of its values are tables.
    const TABLES: &'static [&'static [Key]] = &[];
    /// Keys that select the variant of a tagged union; empty for other types.
    const KINDS: &'static [&'static str] = &[];
    /// Description of all values, for messages about invalid ones.
    const ALLOWED: &'static str = "";

    /// Reads a value. If it is invalid, returns `None` and adds findings.
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self>;

    /// Formats a value that is not allowed, for messages.
    fn shown(&self) -> String {
        "this".to_owned()
    }

    /// Converts a fraction to the type; `None` if the type is not a number.
    fn fraction(_: f64) -> Option<Self> {
        None
    }

    /// Returns the placeholder for an invalid value.
    fn fallback() -> Self;
}

/// A name of a node or a connection, or a descriptive text.
impl Read for String {
    const KIND: &'static str = "text";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<String> {
        let text = match value.kind {
            Kind::String(text) | Kind::Cell(text) => text,
            _ => {
                value.wrong_type(key, "a string", findings);
                if let Kind::Integer(number) = value.kind {
                    findings.set_last_help(format!("write `{key} = \"{}\"`", number.as_str()));
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
        findings
            .error(ProblemKind::BadValue, value.place, message)
            .help("allowed: 1 to 1000 bytes, without blanks around them and without control characters");
        None
    }

    fn shown(&self) -> String {
        format!("\"{self}\"")
    }

    fn fallback() -> Self {
        String::new()
    }
}

const LONGEST_TEXT: usize = 1000;

/// Any text, unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbatim(pub String);

impl std::ops::Deref for Verbatim {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}

impl Read for Verbatim {
    const KIND: &'static str = "text";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Verbatim> {
        let text = value.text(key, "a string", findings)?;
        Some(Verbatim(text.to_owned()))
    }

    fn fallback() -> Verbatim {
        Verbatim(String::new())
    }
}

/// An array of values.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Vec<Spanned<T>>);

impl<T> std::ops::Deref for List<T> {
    type Target = Vec<Spanned<T>>;

    fn deref(&self) -> &Vec<Spanned<T>> {
        &self.0
    }
}

impl<T: Read> Read for List<T> {
    const KIND: &'static str = "an array";
    const IS_CELL: bool = false;

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<List<T>> {
        value.elements(key, findings).map(List)
    }

    fn fallback() -> List<T> {
        List(Vec::new())
    }
}

impl Read for bool {
    const KIND: &'static str = "true or false";

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
                    findings.set_last_help(help);
                }
            }
            _ => value.wrong_type(key, "true or false", findings),
        }
        None
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn fallback() -> Self {
        false
    }
}

/// A whole number from 0 to 2^63 - 1.
impl Read for u64 {
    const KIND: &'static str = "whole number";
    const ALLOWED: &'static str = "whole numbers from 0 to 9223372036854775807";

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
                    findings.set_last_help(format!("write `{key} = {text}`, without quotes"));
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
            let finding = findings.error(ProblemKind::OutOfRange, value.place, message);
            let near = text.parse::<f64>().ok();
            if let Some(near) = near.filter(|near| (0.0..1e15).contains(near) && near.fract() > 0.0)
            {
                finding.help(format!("write {} or {}", near.floor(), near.ceil()));
            }
        }
        whole
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn fallback() -> Self {
        1
    }
}

/// A dimensionless number. A text may have a percent sign.
impl Read for f64 {
    const KIND: &'static str = "number";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<f64> {
        let number = match value.kind {
            Kind::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix()).ok();
                whole.map(|number| number as f64)
            }
            Kind::Float(number) => number.as_str().parse().ok(),
            Kind::Cell(text) | Kind::String(text) if text.trim_end().ends_with('%') => {
                return percent(text, value, key, findings);
            }
            Kind::Cell(text) => text.parse().ok(),
            Kind::String(text) => {
                value.wrong_type(key, "a number", findings);
                if text.parse::<f64>().is_ok() {
                    findings.set_last_help(format!("write `{key} = {text}`, without quotes"));
                } else if let Some(help) = percent_in_words(text) {
                    findings.set_last_help(help);
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
            if let Kind::Cell(text) = value.kind
                && let Some(help) = percent_in_words(text)
            {
                findings.set_last_help(help);
            }
            return None;
        }
        number
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn fraction(number: f64) -> Option<f64> {
        Some(number)
    }

    fn fallback() -> f64 {
        1.0
    }
}

/// Suggests a correction for `1 percent`.
fn percent_in_words(text: &str) -> Option<String> {
    let words = ["percent", "per cent", "pct"];
    let number = words.iter().find_map(|word| text.trim().strip_suffix(word));
    let number = number.map(str::trim)?;
    number.parse::<f64>().ok()?;
    Some(format!("write \"{number} %\""))
}

/// Parses a percentage: `"2 %"` is 0.02.
fn percent(text: &str, value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<f64> {
    match text.parse::<Probability>() {
        Ok(probability) => Some(probability.get()),
        Err(error) => {
            value.bad_unit(text, key, &error, findings);
            None
        }
    }
}

/// Node names from first to last: an array of strings, or one text with `>` between them.
impl Read for Vec<Spanned<String>> {
    const KIND: &'static str = "names of nodes";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        match value.kind {
            Kind::Array { .. } => value.elements(key, findings),
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
                findings.set_last_help(format!("write `{key} = [{}]`", names.join(", ")));
                None
            }
            _ => {
                value.wrong_type(key, "an array of node names", findings);
                None
            }
        }
    }

    fn shown(&self) -> String {
        match self.as_slice() {
            [] => "empty".to_owned(),
            [one] => format!("only \"{}\"", **one),
            many => format!("a list of {}", many.len()),
        }
    }

    fn fallback() -> Self {
        Vec::new()
    }
}
