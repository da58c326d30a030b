//! A table of settings: looking keys up, and refusing what does not belong there.

use std::fmt::Display;

use super::value::{Fields, Kind, Read, Value};
use super::{Element, Overrides, Scope};
use crate::place::{FileId, Place, Spanned};
use crate::problem::{Findings, ProblemKind};
use crate::suggest;

/// Which values a setting may have.
pub(crate) struct Allowed<T> {
    pub(crate) test: fn(&T) -> bool,
    pub(crate) text: &'static str,
}

/// Every value that can be read is allowed.
pub(crate) const fn any<T>() -> Allowed<T> {
    Allowed {
        test: |_| true,
        text: "",
    }
}

/// The settings of one element.
pub(crate) struct Section<'r, 'a> {
    pub(crate) findings: &'r mut Findings,
    /// What messages call it: `[[link]]`.
    what: String,
    fields: Fields<'a>,
    place: Place,
    keys: &'static [&'static str],
    /// Keys that a later version will know, and what they are.
    pub(crate) later: &'static [(&'static str, &'static str)],
    /// The `--set` options, if there are any.
    overrides: Option<&'a Overrides>,
    /// What they call this.
    scope: Option<Scope<'a>>,
    /// Which of its kind it is, counted from 1; 0 of what there is one of.
    number: usize,
}

impl<'r, 'a> Section<'r, 'a> {
    pub(crate) fn new(
        findings: &'r mut Findings,
        what: impl Into<String>,
        fields: Fields<'a>,
        place: Place,
        keys: &'static [&'static str],
    ) -> Self {
        Section {
            findings,
            what: what.into(),
            fields,
            place,
            keys,
            later: &[],
            overrides: None,
            scope: None,
            number: 0,
        }
    }

    /// The settings of a value that must be a table.
    pub(crate) fn of(
        value: &Value<'a>,
        key: &str,
        keys: &'static [&'static str],
        findings: &'r mut Findings,
    ) -> Option<Self> {
        let Kind::Table(fields) = value.kind else {
            value.wrong_type(key, "a table", findings);
            return None;
        };
        let mut section = Section::new(findings, format!("`{key}`"), fields, value.place, keys);
        section.scope = value.scope.clone();
        section.overrides = value.scope.as_ref().map(|scope| scope.overrides);
        Some(section)
    }

    /// Where it begins.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Lets `--set` options change it, once it is [called](Self::call) something.
    pub(crate) fn with(mut self, overrides: &'a Overrides) -> Self {
        self.overrides = (!overrides.is_empty()).then_some(overrides);
        self
    }

    /// Says which of its kind it is, counted from 1.
    pub(crate) fn numbered(mut self, number: usize) -> Self {
        self.number = number;
        self
    }

    /// Which of its kind it is, counted from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// From now on, `--set` options of this name change it.
    pub(crate) fn call(&mut self, name: impl FnOnce() -> String) {
        self.scope = self.overrides.map(|overrides| Scope {
            overrides,
            name: name(),
            path: String::new(),
        });
    }

    /// What stands for a key.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Value<'a>> {
        debug_assert!(
            self.keys.contains(&key),
            "{key} is not declared for {}",
            self.what
        );
        let written = match self.fields {
            Fields::Toml(table) => table.get(key).map(Value::toml),
            Fields::Row { row, table } => row.get(table, key),
            Fields::Empty => None,
        };
        let Some(scope) = &self.scope else {
            return written;
        };
        let inner = scope.inner(key);
        let replaced = inner.overrides.replaces(&inner);
        if let Some(value) = inner.overrides.take(&inner) {
            return Some(value);
        }
        match replaced.or_else(|| inner.overrides.first_below(&inner)) {
            None => written,
            Some(place) => {
                // A source of another kind replaces the one in the file.
                let fields = match written.as_ref().map(|value| value.kind) {
                    Some(Kind::Table(fields)) if key != "source" && replaced.is_none() => fields,
                    _ => Fields::Empty,
                };
                Some(Value {
                    kind: Kind::Table(fields),
                    place: written.map_or(place, |value| value.place),
                    scope: Some(inner),
                })
            }
        }
    }

    /// A setting that may be absent.
    pub(crate) fn optional<T: Read + Shown>(
        &mut self,
        key: &'static str,
        allowed: &Allowed<T>,
    ) -> Option<Spanned<T>> {
        let value = self.get(key)?;
        self.read_in(&value, key, allowed)
    }

    /// A setting of `--set` options alone, whatever the file says.
    pub(crate) fn set<T: Read + Shown>(
        &mut self,
        key: &'static str,
        allowed: &Allowed<T>,
    ) -> Option<Spanned<T>> {
        let inner = self.scope.as_ref()?.inner(key);
        let overrides = inner.overrides;
        let is_set = overrides.is_set(&inner) || overrides.first_below(&inner).is_some();
        is_set.then(|| self.optional(key, allowed)).flatten()
    }

    /// A setting that must be there; `example` is a line that sets it.
    pub(crate) fn required<T: Read + Shown>(
        &mut self,
        key: &'static str,
        allowed: &Allowed<T>,
        example: &str,
        fallback: T,
    ) -> Spanned<T> {
        let Some(value) = self.get(key) else {
            self.missing(key, example);
            return fallback.into();
        };
        self.read_in(&value, key, allowed)
            .unwrap_or_else(|| fallback.into())
    }

    /// Says that a key must be there.
    pub(crate) fn missing(&mut self, key: &str, example: &str) {
        if self.is_misspelt(key) {
            return; // `finish` says so
        }
        let (message, help) = match self.fields {
            Fields::Row { table, .. } => {
                (format!("no `{key}` in this row"), column_help(table, key))
            }
            _ => (
                format!("{} has no `{key}`", self.what),
                format!("add `{example}`"),
            ),
        };
        let place = self.place;
        self.findings
            .error(ProblemKind::Missing, place, message)
            .help(help);
    }

    fn read_in<T: Read + Shown>(
        &mut self,
        value: &Value<'a>,
        key: &str,
        allowed: &Allowed<T>,
    ) -> Option<Spanned<T>> {
        let found = T::read(value, key, self.findings)?;
        if !(allowed.test)(&found) {
            let message = format!("`{key}` cannot be {}", found.shown());
            let finding = self
                .findings
                .error(ProblemKind::OutOfRange, value.place, message);
            finding.help(format!("allowed: {}", allowed.text));
            return None;
        }
        Some(Spanned::new(found, value.place))
    }

    /// Whether an unknown key is likely meant to be this one.
    pub(crate) fn is_misspelt(&self, key: &str) -> bool {
        let Fields::Toml(table) = self.fields else {
            return false;
        };
        let unknown = table
            .keys()
            .map(|key| key.get_ref().as_ref())
            .filter(|name| !self.is_known(name));
        /// One of the first, if it was meant.
        const LOOKED_AT: usize = 1000;
        let mut unknown = unknown.take(LOOKED_AT);
        unknown.any(|name| suggest::nearest(name, self.keys.iter().copied()) == Some(key))
    }

    fn is_known(&self, name: &str) -> bool {
        self.keys.contains(&name) || self.later.iter().any(|(later, _)| *later == name)
    }

    /// Where a key itself stands, if it does in the document.
    pub(crate) fn key_place(&self, key: &str) -> Option<Place> {
        match self.fields {
            Fields::Toml(table) => {
                let (key, _) = table.get_key_value(key)?;
                Some(Place::new(FileId::SCENARIO, key.span()))
            }
            _ => None,
        }
    }

    /// Whether `--set` options have something to say about the element of this name.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        let overrides = self.overrides;
        overrides.is_some_and(|overrides| overrides.first_of(name).is_some())
    }

    /// A table inside this one; one that only `--set` options speak of is there as well.
    pub(crate) fn table<T: Element>(&mut self) -> Option<Section<'_, 'a>> {
        let options = self.overrides.and_then(|it| it.first_of(T::NAME));
        let value = self.get(T::NAME).or_else(|| {
            Some(Value {
                kind: Kind::Table(Fields::Empty),
                place: options?,
                scope: None,
            })
        })?;
        let Kind::Table(fields) = value.kind else {
            let name = T::NAME;
            let place = self.key_place(name).unwrap_or(value.place);
            let message = format!("`{name}` must be a table, not {}", value.type_name());
            let help = format!("write [{name}] in single brackets, and its keys below");
            self.findings
                .error(ProblemKind::WrongType, place, message)
                .help(help);
            return None;
        };
        let what = format!("[{}]", T::NAME);
        let mut section = Section::new(self.findings, what, fields, value.place, T::KEYS);
        section.overrides = self.overrides;
        section.later = T::LATER;
        section.call(|| T::NAME.to_owned());
        Some(section)
    }

    /// All tables of an array of tables.
    pub(crate) fn list<T: Element>(&mut self, examples: &str) -> Vec<T> {
        let Some(value) = self.get(T::NAME) else {
            return Vec::new();
        };
        let (name, title) = (T::NAME, T::TITLE);
        let Kind::Array(array) = value.kind else {
            let place = self.key_place(name).unwrap_or(value.place);
            let message = format!(
                "`{name}` must be written [[{title}]], in double brackets: there can be many of them"
            );
            let finding = self.findings.error(ProblemKind::WrongType, place, message);
            finding.help(format!(
                "write [[{title}]], and below it keys such as {examples}"
            ));
            return Vec::new();
        };
        let mut list = Vec::with_capacity(array.len());
        for element in array.iter() {
            let element = Value::toml(element);
            let Kind::Table(fields) = element.kind else {
                element.wrong_type(name, "tables", self.findings);
                continue;
            };
            let mut section = Section::new(
                self.findings,
                format!("this [[{title}]]"),
                fields,
                element.place,
                T::KEYS,
            );
            section.overrides = self.overrides;
            section.later = T::LATER;
            list.push(T::read(section.numbered(list.len() + 1)));
        }
        list
    }

    /// Refuses every key but one.
    pub(crate) fn only(&mut self, wanted: &str, why: &str) {
        let others: Vec<&str> = self
            .keys
            .iter()
            .copied()
            .filter(|key| *key != wanted)
            .collect();
        self.refuse(&others, why);
    }

    /// Refuses some keys.
    pub(crate) fn refuse(&mut self, keys: &[&'static str], why: &str) {
        for key in keys {
            if let Some(value) = self.get(key) {
                let message = format!("unexpected `{key}`: {why}");
                self.findings
                    .error(ProblemKind::Conflict, value.place, message);
            }
        }
    }

    /// Refuses keys that do not belong here. To be called when everything is read.
    pub(crate) fn finish(self) {
        // Columns are checked once, with the header.
        let Fields::Toml(table) = self.fields else {
            return;
        };
        for key in table.keys() {
            let name: &str = key.get_ref();
            if self.keys.contains(&name) {
                continue;
            }
            let place = Place::new(FileId::SCENARIO, key.span());
            if let Some((_, what)) = self.later.iter().find(|(later, _)| *later == name) {
                not_available(self.findings, place, what);
                continue;
            }
            let message = format!("unknown key `{name}` in {}", self.what);
            let help = self
                .findings
                .allowed(name, "allowed here", self.keys.iter().copied());
            self.findings
                .error(ProblemKind::UnknownKey, place, message)
                .help(help);
        }
    }
}

fn column_help(table: &str, key: &str) -> String {
    match (table, key) {
        ("", "source") => {
            "fill one of the columns profile, window, constant and poisson".to_owned()
        }
        ("", _) => format!("fill the column `{key}`"),
        _ => format!("fill the column `{table}.{key}`"),
    }
}

/// Says that something is planned but not there yet.
pub(crate) fn not_available(findings: &mut Findings, place: Place, what: &str) {
    let message = format!("{what} not available in this version");
    findings.error(ProblemKind::NotAvailable, place, message);
}

/// How a value appears in messages.
pub(crate) trait Shown {
    fn shown(&self) -> String;
}

macro_rules! shown {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
shown!(f64, u64, bool);

impl<T: Display> Shown for super::Quantity<T> {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for String {
    fn shown(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Shown for Vec<Spanned<String>> {
    fn shown(&self) -> String {
        match self.as_slice() {
            [] => "empty".to_owned(),
            [one] => format!("only \"{}\"", **one),
            many => format!("a list of {}", many.len()),
        }
    }
}
