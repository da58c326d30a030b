//! Tagged unions: values with exactly one of several variants.

use crate::{Findings, Key, ProblemKind, Section, Value, ValueKind};

/// The declaration of a tagged union.
#[derive(Clone, Copy, Debug)]
pub struct UnionDeclaration {
    /// Its name with an article: `"a source"`.
    pub what: &'static str,
    /// Keys of its variants.
    pub names: &'static [&'static str],
    /// All keys of its table.
    pub tables: &'static [&'static [Key]],
    /// Function that returns the help for a value that is not a table; empty for none.
    pub instead: fn(key: &str, value: &Value<'_>) -> String,
}

/// Reads a tagged union. `read` returns the variants that are present.
pub fn one_of<T>(
    kinds: &UnionDeclaration,
    value: &Value<'_>,
    key: &str,
    findings: &mut Findings,
    read: impl FnOnce(&mut Section<'_, '_>) -> Vec<T>,
) -> Option<T> {
    let what = kinds.what;
    if !matches!(value.kind, ValueKind::Table(_)) {
        let message = format!("`{key}` must be a table, not {}", value.type_name());
        let help = (kinds.instead)(key, value);
        let finding = findings.error(ProblemKind::WrongType, value.place, message);
        if !help.is_empty() {
            finding.set_help(help);
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
        (Some(_), Some(_)) => format!("{what} must have one kind, but this one has several"),
        // The invalid content was already reported.
        (None, _) if findings.errors() > before => return None,
        (None, _) => format!("`{key}` is empty"),
    };
    findings
        .error(ProblemKind::Conflict, value.place, wrong)
        .set_help(format!("give one of: {}", kinds.names.join(", ")));
    None
}
