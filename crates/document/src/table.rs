//! Traits of tables: structs whose fields are keys.

use toml::de::DeTable;

use crate::{
    Allowed, Fields, FileId, Findings, FormerNames, Key, ProblemKind, Read, Section, SourceSpan,
    Spanned, Value, ValueKind,
};

/// A table: a struct with the attribute [`table`](crate::table), whose fields are the keys.
///
/// The type of a field is a [`Setting`], an `Option` of one if the key is optional, or a `Vec` of
/// [`Element`]s for an array of tables. `#[key(…)]` of a field can contain:
///
/// - `allowed = CONST`: an [`Allowed`]
/// - `example = "20 ms"`: an example value in the notation of documents
/// - `name = "class"`: the key, if it differs from the name of the field
/// - `element`: the field is a single [`Element`]
/// - `fallback = EXPR`: the placeholder for a value that cannot be read
/// - `flat`: columns of a CSV table may omit its name
/// - `fixed`: [`Table::overridden`] does not change it
/// - `skip`: the field is not a key
pub trait Table: Sized {
    /// All its keys.
    const KEYS: &'static [Key];

    /// Reads the keys. Invalid values are reported and replaced by placeholders.
    fn fields(section: &mut Section<'_, '_>) -> Self;

    /// Returns a copy with `--set` options applied, regardless of the document.
    fn overridden(&self, section: &mut Section<'_, '_>) -> Self;

    /// Returns the placeholder for a table that cannot be read.
    fn stand_in() -> Self;
}

/// A table of the document with a name, or a row of a CSV table.
pub trait Element: Table {
    /// The name of its table.
    const NAME: &'static str;
    /// Its name in messages.
    const TITLE: &'static str = Self::NAME;

    /// Returns its required keys with example values.
    fn example() -> String {
        let keys = Self::KEYS.iter().filter(|key| key.required);
        let lines: Vec<String> = keys
            .map(|key| format!("`{} = {}`", key.name, key.example))
            .collect();
        match lines.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} and {last}", first.join(", ")),
            None => String::new(),
        }
    }

    /// Returns its name in `--set` options, such as `link.A->B`; `None` if they cannot change it.
    fn called(_: &Section<'_, '_>) -> Option<String> {
        None
    }

    /// Returns the value of its `name`, which identifies it in `--set` options within another element;
    /// `None` without one.
    fn own_name(&self) -> Option<&str> {
        None
    }

    /// Reads the element. Invalid values are reported and replaced by placeholders.
    fn read_section(mut section: Section<'_, '_>) -> Self {
        if section.has_overrides()
            && let Some(name) = Self::called(&section)
        {
            section.set_override_name(name);
        }
        let it = Self::fields(&mut section);
        section.finish();
        it
    }
}

/// The type of a field of a table: a value with or without its place.
pub trait Setting: Sized {
    /// Type of the value.
    type Value: Read;

    /// Returns the setting for a value with its place.
    fn of(value: Spanned<Self::Value>) -> Self;
}

impl<T: Read> Setting for Spanned<T> {
    type Value = T;

    fn of(value: Spanned<T>) -> Self {
        value
    }
}

impl<T: Setting> Setting for Box<T> {
    type Value = T::Value;

    fn of(value: Spanned<T::Value>) -> Self {
        Box::new(T::of(value))
    }
}

/// Reads a table as the value of a key; `None` for a value of another type.
pub fn read_table<T: Table + 'static>(
    value: &Value<'_>,
    key: &str,
    findings: &mut Findings,
) -> Option<T> {
    let mut section = Section::of(value, key, &[T::KEYS], findings)?;
    let it = T::fields(&mut section);
    section.finish();
    Some(it)
}

/// Maximum number of syntax errors that are reported, because one causes others.
const MAX_SYNTAX_ERRORS: usize = 5;

/// Parses a text as TOML and calls `read`. After a syntax error, returns `None` and adds findings.
pub fn parse<T>(
    text: &str,
    file: FileId,
    findings: &mut Findings,
    read: impl FnOnce(Fields<'_>, &mut Findings) -> T,
) -> Option<T> {
    parse_renamed(text, file, FormerNames::default(), findings, read)
}

/// Parses as [`parse`] a text that may use former names.
pub fn parse_renamed<T>(
    text: &str,
    file: FileId,
    former: FormerNames,
    findings: &mut Findings,
    read: impl FnOnce(Fields<'_>, &mut Findings) -> T,
) -> Option<T> {
    let (mut document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        former.rename_document(document.get_mut(), file, findings);
        let table = document.get_ref();
        return Some(read(Fields::Toml { table, file }, findings));
    }
    for error in errors.into_iter().take(MAX_SYNTAX_ERRORS) {
        let place = SourceSpan::new(file, error.span().unwrap_or(0..0));
        let message = format!("not valid TOML: {}", error.message().replace('\n', "; "));
        findings.error(ProblemKind::Syntax, place, message);
    }
    None
}

/// Reads a document that is a single table. After an error, returns `None` and adds findings.
pub fn read_document<T: Table>(text: &str, file: FileId, findings: &mut Findings) -> Option<T> {
    let before = findings.errors();
    let found = parse(text, file, findings, |fields, findings| {
        let start = SourceSpan::new(file, 0..0);
        let mut section = Section::new(findings, "the file", fields, start, &[T::KEYS]);
        let it = T::fields(&mut section);
        section.finish();
        it
    });
    found.filter(|_| findings.errors() == before)
}

impl<'a> Value<'a> {
    /// Reads the value and checks that it is allowed.
    pub fn setting<T: Read>(
        &self,
        key: &str,
        allowed: &Allowed<T>,
        findings: &mut Findings,
    ) -> Option<Spanned<T>> {
        let before = findings.errors();
        match T::read(self, key, findings) {
            Some(found) if (allowed.test)(&found) => {
                return Some(Spanned::new(found, self.place));
            }
            Some(found) => {
                let message = format!("`{key}` cannot be {}", found.shown());
                findings
                    .error(ProblemKind::OutOfRange, self.place, message)
                    .set_help(format!("allowed: {}", allowed.text));
            }
            None => {}
        }
        if let Some(percent) = self.suggest_percentage(allowed) {
            findings.set_last_help(format!("write {percent}; allowed: {}", allowed.text));
        }
        // Errors inside a table or an array are reported there.
        let is_simple = !matches!(self.kind, ValueKind::Table(_) | ValueKind::Array { .. });
        let text = [allowed.text, T::ALLOWED];
        if let Some(text) = text.into_iter().find(|text| !text.is_empty())
            && is_simple
            && findings.errors() > before
        {
            findings.set_missing_help(|| format!("allowed: {text}"));
        }
        None
    }

    /// Returns help for a percentage without its sign where a fraction is expected: `"5 %" or 0.05` for
    /// 5.
    fn suggest_percentage<T: Read>(&self, allowed: &Allowed<T>) -> Option<String> {
        let number: f64 = match self.kind {
            ValueKind::Cell(text) | ValueKind::String(text) => text.trim().parse().ok()?,
            ValueKind::Integer(number) => number.as_str().parse().ok()?,
            ValueKind::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        let allows = |number| T::fraction(number).map(|it| (allowed.test)(&it));
        let is_fraction = allows(1.5) == Some(false) && allows(number) == Some(false);
        let is_percent = (1.0..=100.0).contains(&number) && allows(number / 100.0) == Some(true);
        (is_fraction && is_percent).then(|| format!("\"{number} %\" or {}", number / 100.0))
    }

    /// Returns a copy in which a keyword that `--set` options extend is the value of `key` in its table.
    pub fn with_keyword_key(&self, key: &'static str) -> Value<'a> {
        let mut value = self.clone();
        if let ValueKind::Table(Fields::Word { key: of, .. }) = &mut value.kind {
            *of = key;
        }
        value
    }

    /// Returns the fields if it is a table.
    pub fn table(&self) -> Option<Fields<'a>> {
        match self.kind {
            ValueKind::Table(fields) => Some(fields),
            _ => None,
        }
    }
}
