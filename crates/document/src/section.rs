//! Reader of one table: look-up of keys and rejection of unknown ones.

use std::fmt;

use crate::key::distinct_keys;
use crate::overrides::OverrideScope;
use crate::{
    Allowed, Element, Fields, Findings, Key, Overrides, ProblemKind, Read, SourceSpan, Spanned,
    Table, Value, ValueKind, suggest,
};

/// A reader of the settings of one element.
pub struct Section<'r, 'a> {
    /// Diagnostics collected so far.
    pub findings: &'r mut Findings,
    /// Name in messages, for example `[[link]]`.
    what: String,
    fields: Fields<'a>,
    place: SourceSpan,
    keys: &'static [&'static [Key]],
    /// The `--set` options, if there are any.
    overrides: Option<&'a Overrides>,
    /// Name of this table in the `--set` options.
    scope: Option<OverrideScope<'a>>,
    /// Number among the elements of its kind, from 1; 0 for a single table.
    number: usize,
    /// Number of errors before this table.
    errors: usize,
}

impl<'r, 'a> Section<'r, 'a> {
    /// Returns a reader of a table or a row. `what` is its name in messages.
    pub fn new(
        findings: &'r mut Findings,
        what: impl Into<String>,
        fields: Fields<'a>,
        place: SourceSpan,
        keys: &'static [&'static [Key]],
    ) -> Self {
        let errors = findings.errors();
        Section {
            findings,
            what: what.into(),
            fields,
            place,
            keys,
            overrides: None,
            scope: None,
            number: 0,
            errors,
        }
    }

    /// Returns a reader of a value that must be a table.
    pub fn of(
        value: &Value<'a>,
        key: &str,
        keys: &'static [&'static [Key]],
        findings: &'r mut Findings,
    ) -> Option<Self> {
        let ValueKind::Table(fields) = value.kind else {
            value.report_wrong_type(key, "a table", findings);
            return None;
        };
        let mut section = Section::new(findings, format!("`{key}`"), fields, value.place, keys);
        section.scope = value.scope.clone();
        section.overrides = value.scope.as_ref().map(|scope| scope.overrides);
        Some(section)
    }

    /// Returns the place of its beginning.
    pub fn place(&self) -> SourceSpan {
        self.place
    }

    /// Enables `--set` options, which apply once it has a [name](Self::set_override_name).
    pub fn with_overrides(mut self, overrides: &'a Overrides) -> Self {
        self.overrides = (!overrides.is_empty()).then_some(overrides);
        self
    }

    /// Sets its number among the elements of its kind, from 1.
    pub fn with_number(mut self, number: usize) -> Self {
        self.number = number;
        self
    }

    /// Returns its number among the elements of its kind, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Sets its name in `--set` options, which apply from now on.
    pub fn set_override_name(&mut self, name: String) {
        // Without matching options, keys need no look-up among them.
        let concerned = self
            .overrides
            .filter(|it| it.first_place_of(&name).is_some());
        self.scope = concerned.map(|overrides| OverrideScope {
            overrides,
            name,
            path: String::new(),
        });
    }

    /// Returns whether there are `--set` options.
    pub(crate) fn has_overrides(&self) -> bool {
        self.overrides.is_some()
    }

    /// Returns the text of a key in the document, without options.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        text(&self.fields, key)
    }

    /// Returns whether options select another variant of a tagged union than the fields in the document.
    fn selects_other_variant(
        &self,
        key: &str,
        inner: &OverrideScope<'_>,
        fields: &Fields<'_>,
    ) -> bool {
        let kinds = self.key(key).map_or(&[][..], |declared| declared.kinds);
        kinds.iter().any(|kind| {
            let of_kind = inner.inner(kind);
            let overrides = inner.overrides;
            let asked =
                overrides.is_set(&of_kind) || overrides.first_inner_place(&of_kind).is_some();
            asked && fields.get(kind).is_none()
        })
    }

    /// Returns the declaration of a key.
    fn key(&self, name: &str) -> Option<&'static Key> {
        distinct_keys(self.keys).find(|key| key.name == name)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        distinct_keys(self.keys).map(|key| key.name)
    }

    /// Returns the value of a key, with `--set` options applied.
    pub fn get(&mut self, key: &str) -> Option<Value<'a>> {
        debug_assert!(
            self.key(key).is_some(),
            "{key} is not declared for {}",
            self.what
        );
        if let Fields::Row { row, node } = self.fields
            && let Some(place) = row.conflicting_cell(node, key)
        {
            let message =
                format!("column `{key}` and its columns `{key}.…` are both filled in this row");
            self.findings
                .error(ProblemKind::Conflict, place, message)
                .set_help(format!(
                    "leave either `{key}` or the columns `{key}.…` empty"
                ));
        }
        let written = self.fields.get(key);
        let Some(scope) = &self.scope else {
            return written;
        };
        let inner = scope.inner(key);
        let replaced = inner.overrides.replacing_place(&inner);
        let first_below = inner.overrides.first_inner_place(&inner);
        let below = replaced.or(first_below);
        let taken = inner.overrides.take(&inner);
        if below.is_none() && taken.is_some() {
            return taken;
        }
        let written = taken.or(written);
        match below {
            None => written,
            Some(place) => {
                let is_other =
                    |fields: &Fields<'_>| self.selects_other_variant(key, &inner, fields);
                let fields = match written.as_ref().map(|value| value.kind) {
                    Some(ValueKind::Table(fields)) if replaced.is_none() && !is_other(&fields) => {
                        fields
                    }
                    Some(ValueKind::String(text) | ValueKind::Cell(text)) if replaced.is_none() => {
                        Fields::Word {
                            key: "",
                            text,
                            place: written.as_ref().map_or(place, |value| value.place),
                        }
                    }
                    _ => Fields::Empty,
                };
                Some(Value {
                    kind: ValueKind::Table(fields),
                    place: written.map_or(place, |value| value.place),
                    scope: Some(inner),
                })
            }
        }
    }

    /// Reads an optional setting.
    pub fn optional<T: Read>(
        &mut self,
        key: &'static str,
        allowed: &Allowed<T>,
    ) -> Option<Spanned<T>> {
        let value = self.get(key)?;
        value.setting(key, allowed, self.findings)
    }

    /// Reads a setting from `--set` options only, ignoring the document.
    pub fn set<T: Read>(&mut self, key: &'static str, allowed: &Allowed<T>) -> Option<Spanned<T>> {
        let inner = self.scope.as_ref()?.inner(key);
        let overrides = inner.overrides;
        let is_set = overrides.is_set(&inner) || overrides.first_inner_place(&inner).is_some();
        is_set.then(|| self.optional(key, allowed)).flatten()
    }

    /// Reads a required setting. `example` is a value for the help.
    pub fn required<T: Read>(
        &mut self,
        key: &'static str,
        allowed: &Allowed<T>,
        example: &str,
        fallback: impl FnOnce() -> T,
    ) -> Spanned<T> {
        let Some(value) = self.get(key) else {
            self.report_missing(key, example);
            return fallback().into();
        };
        value
            .setting(key, allowed, self.findings)
            .unwrap_or_else(|| fallback().into())
    }

    /// Reports a missing key.
    pub fn report_missing(&mut self, key: &str, example: &str) {
        if self.is_misspelt(key) {
            return; // `finish` reports it
        }
        let (message, help) = match self.fields {
            Fields::Row { row, node } => (
                format!("no `{key}` in this row"),
                row.missing_key_help(node, self.key(key)),
            ),
            _ => (
                format!("{} has no `{key}`", self.what),
                format!("add `{key} = {example}`"),
            ),
        };
        let place = self.place;
        self.findings
            .error(ProblemKind::Missing, place, message)
            .set_help(help);
    }

    /// Returns whether an unknown key is likely a misspelling of this one.
    pub fn is_misspelt(&self, key: &str) -> bool {
        let Fields::Toml { table, .. } = self.fields else {
            return false;
        };
        let unknown = table
            .keys()
            .map(|key| key.get_ref().as_ref())
            .filter(|name| self.key(name).is_none());
        /// Maximum number of unknown keys that are compared.
        const MAX_UNKNOWN_KEYS: usize = 1000;
        let mut unknown = unknown.take(MAX_UNKNOWN_KEYS);
        unknown.any(|name| suggest::nearest(name, self.names()) == Some(key))
    }

    /// Returns whether this table has no errors so far.
    pub fn is_valid(&self) -> bool {
        self.findings.errors() == self.errors
    }

    /// Returns the place of the value of a key, if there is one.
    pub fn value_place(&self, key: &str) -> Option<SourceSpan> {
        Some(self.fields.get(key)?.place)
    }

    /// Returns the place of a key in the document, if it is there.
    pub fn key_place(&self, key: &str) -> Option<SourceSpan> {
        match self.fields {
            Fields::Toml { table, file } => {
                let (key, _) = table.get_key_value(key)?;
                Some(SourceSpan::new(file, key.span()))
            }
            _ => None,
        }
    }

    /// Returns whether `--set` options refer to the element of this name.
    pub fn is_set(&self, name: &str) -> bool {
        let overrides = self.overrides;
        overrides.is_some_and(|overrides| overrides.first_place_of(name).is_some())
    }

    /// Reads a nested table. It exists if the document or a `--set` option has it.
    pub fn table<T: Element>(&mut self) -> Option<T> {
        let options = self.overrides.and_then(|it| it.first_place_of(T::NAME));
        let value = self.get(T::NAME).or_else(|| {
            Some(Value {
                kind: ValueKind::Table(Fields::Empty),
                place: options?,
                scope: None,
            })
        })?;
        let Some(fields) = value.table() else {
            let name = T::NAME;
            let place = self.key_place(name).unwrap_or(value.place);
            let message = format!("`{name}` must be a table, not {}", value.type_name());
            let help = format!("write [{name}] in single brackets, then its keys");
            self.findings
                .error(ProblemKind::WrongType, place, message)
                .set_help(help);
            return None;
        };
        let what = format!("[{}]", T::NAME);
        let mut section = Section::new(self.findings, what, fields, value.place, tables::<T>());
        section.overrides = self.overrides;
        section.set_override_name(T::NAME.to_owned());
        Some(T::read_section(section))
    }

    /// Reads a required nested table.
    pub fn required_table<T: Element>(&mut self) -> T {
        let (found, name) = (self.table(), T::NAME);
        if self.key_place(name).is_none() && !self.is_misspelt(name) {
            let message = format!("{} has no `{name}`", self.what);
            let place = self.place;
            self.findings
                .error(ProblemKind::Missing, place, message)
                .set_help(format!("add `[{name}]` and {}", T::example()));
        }
        found.unwrap_or_else(T::stand_in)
    }

    /// Reads all tables of an array of tables. The `--set` key of a nested element contains its `name`:
    /// `link.A->B.class.voice`.
    pub fn list<T: Element>(&mut self) -> Vec<T> {
        let Some(value) = self.fields.get(T::NAME) else {
            return Vec::new();
        };
        let (name, title) = (T::NAME, T::TITLE);
        let ValueKind::Array { array, file } = value.kind else {
            let place = self.key_place(name).unwrap_or(value.place);
            let message = format!(
                "`{name}` must be written [[{title}]], in double brackets, because there can be several"
            );
            self.findings
                .error(ProblemKind::WrongType, place, message)
                .set_help(format!(
                    "write [[{title}]], then keys such as {}",
                    T::example()
                ));
            return Vec::new();
        };
        let mut list = Vec::with_capacity(array.len());
        for element in array.iter() {
            let element = Value::from_toml(element, file);
            let Some(fields) = element.table() else {
                element.report_wrong_type(name, "tables", self.findings);
                continue;
            };
            let section = self.element::<T>(fields, element.place, text(&fields, NAME));
            list.push(T::read_section(section.with_number(list.len() + 1)));
        }
        list
    }

    /// Applies `--set` options under the current name to tables that were already read.
    pub fn override_list<T: Element + Clone>(&mut self, list: &[T]) -> Vec<T> {
        let Some(ValueKind::Array { array, file }) = self.fields.get(T::NAME).map(|it| it.kind)
        else {
            return list.to_vec();
        };
        let set = |(element, written): (&T, _)| {
            let written = Value::from_toml(written, file);
            let (Some(fields), true) = (written.table(), self.scope.is_some()) else {
                return element.clone();
            };
            let mut section = self.element::<T>(fields, written.place, element.own_name());
            element.overridden(&mut section)
        };
        list.iter().zip(array.iter()).map(set).collect()
    }

    /// Returns a reader of an element of a nested array of tables.
    fn element<T: Element>(
        &mut self,
        fields: Fields<'a>,
        place: SourceSpan,
        name: Option<&str>,
    ) -> Section<'_, 'a> {
        let outer = self.scope.as_ref();
        let scope = outer.and_then(|outer| Some(outer.inner(T::NAME).inner(name?)));
        let what = format!("this [[{}]]", T::TITLE);
        let mut section = Section::new(self.findings, what, fields, place, tables::<T>());
        (section.overrides, section.scope) = (self.overrides, scope);
        section
    }

    /// Reads a table whose keys are merged into this one, if its first key is present.
    pub fn beside<T: Table>(&mut self, what: &str) -> Option<Spanned<T>> {
        let (first, rest) = T::KEYS.split_first()?;
        if let Some(value) = self.get(first.name) {
            return Some(Spanned::new(T::fields(self), value.place));
        }
        for key in rest {
            // Most of them are neither in the document nor in an option.
            if self.scope.is_none() && self.fields.get(key.name).is_none() {
                continue;
            }
            // Merged tables may share keys.
            let owners: Vec<&str> = self.owning_variants(key.name).collect();
            let is_first = owners.first() == Some(&first.name);
            if is_first && !owners.iter().any(|owner| self.get(owner).is_some()) {
                let owners = owners.join("` or `");
                self.reject(&[key.name], &format!("it needs {what} with `{owners}`"));
            }
        }
        None
    }

    /// Returns the first keys of the merged tables that have this key in another position.
    fn owning_variants(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let tables = self.keys.iter();
        tables.filter_map(move |table| {
            let (first, rest) = table.split_first()?;
            let has = rest.iter().any(|key| key.name == name);
            has.then_some(first.name)
        })
    }

    /// Rejects every key except one.
    pub fn reject_all_except(&mut self, wanted: &str, why: &str) {
        let others: Vec<&str> = self.names().filter(|key| *key != wanted).collect();
        self.reject(&others, why);
    }

    /// Rejects some keys.
    pub fn reject(&mut self, keys: &[&str], why: &str) {
        for key in keys {
            if let Some(value) = self.get(key) {
                let message = format!("unexpected `{key}`: {why}");
                self.findings
                    .error(ProblemKind::Conflict, value.place, message);
            }
        }
    }

    /// Reports unknown keys. This must be called after all keys are read.
    pub fn finish(self) {
        // Columns were already checked with the header.
        let Fields::Toml { table, file } = self.fields else {
            return;
        };
        for key in table.keys() {
            let name: &str = key.get_ref();
            if self.key(name).is_some() {
                continue;
            }
            let message = format!("unknown key `{name}` in {}", self.what);
            let mut help = self
                .findings
                .allowed_names_help(name, "allowed here", self.names());
            if let Some(place) = suggest::misplaced(name) {
                help = format!("{place}; {help}");
            }
            self.findings
                .error(
                    ProblemKind::UnknownKey,
                    SourceSpan::new(file, key.span()),
                    message,
                )
                .set_help(help);
        }
    }
}

impl fmt::Debug for Section<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("what", &self.what)
            .finish_non_exhaustive()
    }
}

/// The key with the name of a nested element.
pub(crate) const NAME: &str = "name";

/// Returns the text of a key.
fn text<'a>(fields: &Fields<'a>, key: &str) -> Option<&'a str> {
    match fields.get(key)?.kind {
        ValueKind::String(text) | ValueKind::Cell(text) => Some(text),
        _ => None,
    }
}

/// Returns the keys of a table that is not merged from others.
fn tables<T: Table>() -> &'static [&'static [Key]] {
    const { &[T::KEYS] }
}
