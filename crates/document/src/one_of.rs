//! Values of several kinds, of which exactly one is given.

use crate::{Findings, Key, Kind, ProblemKind, Section, Value};

/// What is declared of such a value.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// What it is, with an article: `"a source"`.
    pub what: &'static str,
    /// The keys of its kinds.
    pub names: &'static [&'static str],
    /// All keys of its table.
    pub tables: &'static [&'static [Key]],
    /// What to write in the place of a value that is no table; empty if there is nothing to say.
    pub instead: fn(key: &str, value: &Value<'_>) -> String,
}

/// Reads the table of such a value: `read` gives the kinds that are there.
pub fn one_of<T>(
    kinds: &Kinds,
    value: &Value<'_>,
    key: &str,
    findings: &mut Findings,
    read: impl FnOnce(&mut Section<'_, '_>) -> Vec<T>,
) -> Option<T> {
    let what = kinds.what;
    if !matches!(value.kind, Kind::Table(_)) {
        let message = format!("`{key}` must be a table, not {}", value.type_name());
        let help = (kinds.instead)(key, value);
        let finding = findings.error(ProblemKind::WrongType, value.place, message);
        if !help.is_empty() {
            finding.help(help);
        }
        return None;
    }
    let mut section = Section::of(value, key, kinds.tables, findings)?;
    let before = section.findings.errors();
    let mut found = read(&mut section).into_iter();
    section.finish();
    let first = found.next();
    let wrong = match (&first, found.next()) {
        (Some(_), None) => return first,
        (Some(_), Some(_)) => format!("{what} has one kind, this one has several"),
        // What it has was refused already.
        (None, _) if findings.errors() > before => return None,
        (None, _) => format!("`{key}` is empty"),
    };
    findings
        .error(ProblemKind::Conflict, value.place, wrong)
        .help(format!("give one of: {}", kinds.names.join(", ")));
    None
}
