//! Values from documents, cells or options, and readers of simple types.

use netflow_units::{Probability, UnitError};
use toml::Spanned as TomlSpanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use crate::csv::ColumnTree;
use crate::overrides::OverrideScope;
use crate::{CsvRow, FileId, Findings, Key, ProblemKind, SourceSpan, Spanned};

/// The value of a key.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// Its type and content.
    pub kind: ValueKind<'a>,
    /// Its place.
    pub place: SourceSpan,
    /// For a table: its name in `--set` options, if there are any.
    pub(crate) scope: Option<OverrideScope<'a>>,
}

/// The types of values.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind<'a> {
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
        row: &'a CsvRow<'a>,
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
        place: SourceSpan,
    },
    /// A table that contains only `--set` options.
    Empty,
}

impl<'a> Fields<'a> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        match *self {
            Fields::Toml { table, file } => {
                table.get(key).map(|value| Value::from_toml(value, file))
            }
            Fields::Row { row, node } => row.get(node, key),
            Fields::Word {
                key: of,
                text,
                place,
            } => (of == key).then(|| Value::from_cell(text, place)),
            Fields::Empty => None,
        }
    }
}

impl<'a> Value<'a> {
    /// Returns a value of a TOML document.
    pub(crate) fn from_toml(value: &'a TomlSpanned<DeValue<'a>>, file: FileId) -> Value<'a> {
        let kind = match value.get_ref() {
            DeValue::String(text) => ValueKind::String(text),
            DeValue::Integer(number) => ValueKind::Integer(number),
            DeValue::Float(number) => ValueKind::Float(number),
            DeValue::Boolean(flag) => ValueKind::Boolean(*flag),
            DeValue::Datetime(_) => ValueKind::Datetime,
            DeValue::Array(array) => ValueKind::Array { array, file },
            DeValue::Table(table) => ValueKind::Table(Fields::Toml { table, file }),
        };
        Value {
            kind,
            place: SourceSpan::new(file, value.span()),
            scope: None,
        }
    }

    /// Returns a text that can be read as any simple type.
    pub(crate) fn from_cell(text: &'a str, place: SourceSpan) -> Value<'a> {
        Value {
            kind: ValueKind::Cell(text),
            place,
            scope: None,
        }
    }

    /// Returns the name of its type: "a string", "a table" ...
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            ValueKind::Cell(_) => "text",
            ValueKind::String(_) => "a string",
            ValueKind::Integer(_) | ValueKind::Float(_) => "a number",
            ValueKind::Boolean(_) => "true or false",
            ValueKind::Datetime => "a date",
            ValueKind::Array { .. } => "an array",
            ValueKind::Table(_) => "a table",
        }
    }

    /// Returns the place of some bytes of a string value.
    pub fn inner_place(&self, text: &str, span: std::ops::Range<usize>) -> SourceSpan {
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
        SourceSpan::new(self.place.file(), start + span.start..start + span.end)
    }

    /// Reports a text that is not a valid quantity.
    pub(crate) fn report_invalid_quantity(
        &self,
        text: &str,
        key: &str,
        error: &UnitError,
        findings: &mut Findings,
    ) {
        let place = self.inner_place(text, error.span());
        let message = format!("`{key}`: {error}");
        findings
            .error(ProblemKind::BadValue, place, message)
            .set_help(error.help());
    }

    /// Reports a wrong type.
    pub fn report_wrong_type(&self, key: &str, wanted: &str, findings: &mut Findings) {
        let message = format!("`{key}` must be {wanted}, not {}", self.type_name());
        findings.error(ProblemKind::WrongType, self.place, message);
    }

    /// Reads all elements of an array; `None` if any of them is invalid.
    pub(crate) fn elements<T: Read>(
        &self,
        key: &str,
        findings: &mut Findings,
    ) -> Option<Vec<Spanned<T>>> {
        let ValueKind::Array { array, file } = self.kind else {
            self.report_wrong_type(key, "an array", findings);
            return None;
        };
        let elements: Vec<_> = array
            .iter()
            .map(|element| {
                let element = Value::from_toml(element, file);
                Some(Spanned::new(
                    T::read(&element, key, findings)?,
                    element.place,
                ))
            })
            .collect();
        elements.into_iter().collect()
    }

    /// Returns the elements of an array as values.
    pub fn array_elements(&self) -> Option<impl Iterator<Item = Value<'a>> + use<'a>> {
        match self.kind {
            ValueKind::Array { array, file } => Some(
                array
                    .iter()
                    .map(move |element| Value::from_toml(element, file)),
            ),
            _ => None,
        }
    }

    /// Returns the string. For another type, returns `None` and reports an error.
    pub fn text(&self, key: &str, wanted: &str, findings: &mut Findings) -> Option<&'a str> {
        match self.kind {
            ValueKind::String(text) | ValueKind::Cell(text) => Some(text),
            _ => {
                self.report_wrong_type(key, wanted, findings);
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
            ValueKind::String(text) | ValueKind::Cell(text) => text,
            _ => {
                value.report_wrong_type(key, "a string", findings);
                if let ValueKind::Integer(number) = value.kind {
                    findings.set_last_help(format!("write `{key} = \"{}\"`", number.as_str()));
                }
                return None;
            }
        };
        let wrong = if text.trim().is_empty() {
            "empty"
        } else if text.trim() != text {
            "a text with leading or trailing blanks"
        } else if text.contains(char::is_control) {
            "a text with control characters"
        } else if text.len() > MAX_TEXT_CHARS {
            "longer than 1000 bytes"
        } else {
            return Some(text.to_owned());
        };
        let message = format!("`{key}` is {wrong}");
        findings
            .error(ProblemKind::BadValue, value.place, message)
            .set_help("allowed: 1 to 1000 bytes, without leading or trailing blanks and control characters");
        None
    }

    fn shown(&self) -> String {
        format!("\"{self}\"")
    }

    fn fallback() -> Self {
        String::new()
    }
}

const MAX_TEXT_CHARS: usize = 1000;

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
            ValueKind::Boolean(flag) => return Some(flag),
            ValueKind::Cell("true") => return Some(true),
            ValueKind::Cell("false") => return Some(false),
            ValueKind::Cell(text) => {
                let message = format!("`{key}` must be true or false, not `{text}`");
                findings.error(ProblemKind::WrongType, value.place, message);
            }
            ValueKind::String(text) => {
                value.report_wrong_type(key, "true or false", findings);
                if matches!(text, "true" | "false") {
                    let help = format!("write `{key} = {text}`, without quotes");
                    findings.set_last_help(help);
                }
            }
            _ => value.report_wrong_type(key, "true or false", findings),
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
            ValueKind::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                (number.as_str(), parsed.ok())
            }
            ValueKind::Cell(text) => (text, text.parse::<i64>().ok()),
            ValueKind::Float(number) => (number.as_str(), None),
            _ => {
                value.report_wrong_type(key, "a whole number", findings);
                if let ValueKind::String(text) = value.kind
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
                    "is too large"
                }
                None => "must be a whole number",
            };
            let message = format!("`{key}` {wrong}: {text}");
            let finding = findings.error(ProblemKind::OutOfRange, value.place, message);
            let near = text.parse::<f64>().ok();
            if let Some(near) = near.filter(|near| (0.0..1e15).contains(near) && near.fract() > 0.0)
            {
                finding.set_help(format!("write {} or {}", near.floor(), near.ceil()));
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
            ValueKind::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix()).ok();
                whole.map(|number| number as f64)
            }
            ValueKind::Float(number) => number.as_str().parse().ok(),
            ValueKind::Cell(text) | ValueKind::String(text) if text.trim_end().ends_with('%') => {
                return parse_percent(text, value, key, findings);
            }
            ValueKind::Cell(text) => text.parse().ok(),
            ValueKind::String(text) => {
                value.report_wrong_type(key, "a number", findings);
                if text.parse::<f64>().is_ok() {
                    findings.set_last_help(format!("write `{key} = {text}`, without quotes"));
                } else if let Some(help) = suggest_percent_sign(text) {
                    findings.set_last_help(help);
                }
                return None;
            }
            _ => {
                value.report_wrong_type(key, "a number", findings);
                return None;
            }
        };
        if number.is_none_or(|number| !number.is_finite()) {
            let message = format!("`{key}` must be a finite number");
            findings.error(ProblemKind::BadValue, value.place, message);
            if let ValueKind::Cell(text) = value.kind
                && let Some(help) = suggest_percent_sign(text)
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
fn suggest_percent_sign(text: &str) -> Option<String> {
    let words = ["percent", "per cent", "pct"];
    let number = words.iter().find_map(|word| text.trim().strip_suffix(word));
    let number = number.map(str::trim)?;
    number.parse::<f64>().ok()?;
    Some(format!("write \"{number} %\""))
}

/// Parses a percentage: `"2 %"` is 0.02.
fn parse_percent(text: &str, value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<f64> {
    match text.parse::<Probability>() {
        Ok(probability) => Some(probability.get()),
        Err(error) => {
            value.report_invalid_quantity(text, key, &error, findings);
            None
        }
    }
}

/// Node names from first to last: an array of strings, or one text with `>` between them.
impl Read for Vec<Spanned<String>> {
    const KIND: &'static str = "names of nodes";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Self> {
        match value.kind {
            ValueKind::Array { .. } => value.elements(key, findings),
            ValueKind::Cell(text) => {
                let mut elements = Vec::new();
                let mut start = 0;
                for part in text.split('>') {
                    let name = part.trim();
                    let from = start + (part.len() - part.trim_start().len());
                    let place = value.inner_place(text, from..from + name.len());
                    if name.is_empty() {
                        let message = format!("`{key}` has an empty node name next to a `>`");
                        findings.error(ProblemKind::BadValue, place, message);
                        return None;
                    }
                    elements.push(Spanned::new(name.to_owned(), place));
                    start += part.len() + 1;
                }
                Some(elements)
            }
            ValueKind::String(text) => {
                value.report_wrong_type(key, "an array of node names", findings);
                let names: Vec<String> = text
                    .split('>')
                    .map(|name| format!("{:?}", name.trim()))
                    .collect();
                findings.set_last_help(format!("write `{key} = [{}]`", names.join(", ")));
                None
            }
            _ => {
                value.report_wrong_type(key, "an array of node names", findings);
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
