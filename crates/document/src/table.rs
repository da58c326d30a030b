//! Tables: structures whose fields are keys.

use toml::de::DeTable;

use crate::{
    Allowed, Fields, FileId, Findings, Key, Kind, Place, ProblemKind, Read, Section, Spanned, Value,
};

/// A table: a structure with [`table`](crate::table) above it, whose fields are the keys.
///
/// A field is a [`Setting`], an `Option` of one where the key may be absent, or a `Vec` of
/// [`Element`]s where there is an array of tables. `#[key(…)]` above it says what else there is to
/// say: `allowed = CONST` an [`Allowed`], `example = "20 ms"` a value as documents write it,
/// `name = "class"` the key where it is not the field's name, `element` that it is an [`Element`] of
/// which there is one, `fallback = EXPR` what stands in for a
/// value that cannot be read, `flat` that columns of a CSV table need not name it, `fixed` that
/// [`Table::overridden`] leaves it as it is, `skip` that it is
/// no key.
pub trait Table: Sized {
    /// Every key it may have.
    const KEYS: &'static [Key];

    /// Reads the keys; what cannot be read is reported and replaced.
    fn fields(section: &mut Section<'_, '_>) -> Self;

    /// The same with what `--set` options say instead, whatever the document has.
    fn overridden(&self, section: &mut Section<'_, '_>) -> Self;

    /// In the place of one that cannot be read.
    fn stand_in() -> Self;
}

/// A table of the document with a name of its own, or a row of a CSV table.
pub trait Element: Table {
    /// The name of its table.
    const NAME: &'static str;
    /// What messages call it.
    const TITLE: &'static str = Self::NAME;

    /// The keys that it must have, with values for them.
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

    /// What `--set` options call it: `link.A->B`; nothing if they cannot change it.
    fn called(_: &Section<'_, '_>) -> Option<String> {
        None
    }

    /// What stands for its `name`, by which `--set` options call it inside of another element; nothing if it has none.
    fn own_name(&self) -> Option<&str> {
        None
    }

    /// Reads it; what cannot be read is reported and replaced.
    fn read_section(mut section: Section<'_, '_>) -> Self {
        if section.has_overrides()
            && let Some(name) = Self::called(&section)
        {
            section.call(name);
        }
        let it = Self::fields(&mut section);
        section.finish();
        it
    }
}

/// What a field of a table holds: a value, with its place or without.
pub trait Setting: Sized {
    /// The value.
    type Value: Read;

    /// From the value and where it stands.
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

/// Reads a table that stands for a key; `None` if something else does.
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

/// One syntax error brings others with it that are none.
const MOST_SYNTAX_ERRORS: usize = 5;

/// What `read` makes of a text in TOML; `None` if it is none, and the findings say why.
pub fn parse<T>(
    text: &str,
    file: FileId,
    findings: &mut Findings,
    read: impl FnOnce(Fields<'_>, &mut Findings) -> T,
) -> Option<T> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let table = document.get_ref();
        return Some(read(Fields::Toml { table, file }, findings));
    }
    for error in errors.into_iter().take(MOST_SYNTAX_ERRORS) {
        let place = Place::new(file, error.span().unwrap_or(0..0));
        let message = format!("not valid TOML: {}", error.message().replace('\n', "; "));
        findings.error(ProblemKind::Syntax, place, message);
    }
    None
}

/// Reads a document that is one table; `None` if something is wrong with it, which the findings say.
pub fn read_document<T: Table>(text: &str, file: FileId, findings: &mut Findings) -> Option<T> {
    let before = findings.errors();
    let found = parse(text, file, findings, |fields, findings| {
        let start = Place::new(file, 0..0);
        let mut section = Section::new(findings, "the file", fields, start, &[T::KEYS]);
        let it = T::fields(&mut section);
        section.finish();
        it
    });
    found.filter(|_| findings.errors() == before)
}

impl<'a> Value<'a> {
    /// Reads it, and asks whether it is allowed.
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
                    .help(format!("allowed: {}", allowed.text));
            }
            None => {}
        }
        if let Some(percent) = self.percent(allowed) {
            findings.amend(format!("write {percent}; allowed: {}", allowed.text));
        }
        // What is wrong inside a table or an array is told there.
        let is_simple = !matches!(self.kind, Kind::Table(_) | Kind::Array { .. });
        let text = [allowed.text, T::ALLOWED];
        if let Some(text) = text.into_iter().find(|text| !text.is_empty())
            && is_simple
            && findings.errors() > before
        {
            findings.fill(|| format!("allowed: {text}"));
        }
        None
    }

    /// What to write for a number that is meant in percent: `"5 %" or 0.05` of 5, where a fraction is wanted.
    fn percent<T: Read>(&self, allowed: &Allowed<T>) -> Option<String> {
        let number: f64 = match self.kind {
            Kind::Cell(text) | Kind::String(text) => text.trim().parse().ok()?,
            Kind::Integer(number) => number.as_str().parse().ok()?,
            Kind::Float(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        let allows = |number| T::fraction(number).map(|it| (allowed.test)(&it));
        let is_fraction = allows(1.5) == Some(false) && allows(number) == Some(false);
        let is_percent = (1.0..=100.0).contains(&number) && allows(number / 100.0) == Some(true);
        (is_fraction && is_percent).then(|| format!("\"{number} %\" or {}", number / 100.0))
    }

    /// The same, where a word that options add to stands for this key of its table.
    pub fn with_word_for(&self, key: &'static str) -> Value<'a> {
        let mut value = self.clone();
        if let Kind::Table(Fields::Word { key: of, .. }) = &mut value.kind {
            *of = key;
        }
        value
    }

    /// The fields, if it is a table.
    pub fn table(&self) -> Option<Fields<'a>> {
        match self.kind {
            Kind::Table(fields) => Some(fields),
            _ => None,
        }
    }
}
