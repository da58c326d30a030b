//! Former names of keys and words, which documents, tables and options may still use, and removed keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::{FileId, Findings, ProblemKind, SourceSpan};

/// A key or a word that has a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerName {
    /// Key of the table that contains it, or for a word its own key.
    pub within: &'static str,
    /// Former name.
    pub former: &'static str,
    /// Present name.
    pub name: &'static str,
}

/// A key that is no longer supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedKey {
    /// Key of the table that contained it.
    pub within: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Advice on how to continue without it.
    pub help: &'static str,
}

/// The former names of the keys and words of a kind of document.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormerNames {
    /// Keys.
    pub keys: &'static [FormerName],
    /// Words, which are values.
    pub words: &'static [FormerName],
    /// Removed keys.
    pub removed: &'static [RemovedKey],
}

/// Difference between a document and its present form.
enum Change<'a> {
    /// A name, with the present one.
    Renamed(&'a str, &'static str),
    /// A removed key, with the end of its value.
    Removed(&'static RemovedKey, usize),
}

impl FormerNames {
    fn key(&self, within: &str, former: &str) -> Option<&'static str> {
        name_of(self.keys, within, former)
    }

    fn word(&self, key: &str, former: &str) -> Option<&'static str> {
        name_of(self.words, key, former)
    }

    fn removed(&self, within: &str, name: &str) -> Option<&'static RemovedKey> {
        let mut removed = self.removed.iter();
        removed.find(|it| it.within == within && it.name == name)
    }

    /// Renames the keys of a document, with a warning for each, and reports removed keys.
    pub(crate) fn rename_document(
        self,
        table: &mut DeTable<'_>,
        file: FileId,
        findings: &mut Findings,
    ) {
        self.rename_table("", table, &mut |place, change| {
            let place = SourceSpan::new(file, place);
            match change {
                Change::Renamed(former, name) => {
                    let message = format!("`{former}` is now `{name}`");
                    findings
                        .warning(ProblemKind::Renamed, place, message)
                        .set_help("`netflow check --fix` rewrites the file");
                }
                Change::Removed(key, _) => {
                    findings
                        .error(ProblemKind::UnknownKey, place, key.message())
                        .set_help(key.help);
                }
            }
        });
    }

    /// Returns the text of a document with present names and without removed keys, and the number of changes. A
    /// text that is not TOML is returned as it is. A removed key stays if its line contains other keys.
    pub fn renew(self, text: &str) -> (String, usize) {
        let Ok(mut document) = DeTable::parse(text) else {
            return (text.to_owned(), 0);
        };
        let mut changes = Vec::new();
        self.rename_table("", document.get_mut(), &mut |place, change| match change {
            Change::Renamed(former, name) => {
                // Quotes remain.
                let written = text.get(place.clone());
                if let Some(at) = written.and_then(|written| written.find(former)) {
                    let start = place.start + at;
                    changes.push((start..start + former.len(), name));
                }
            }
            Change::Removed(key, end) => {
                changes.extend(key.lines(text, place.start..end).map(|lines| (lines, "")));
            }
        });
        changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let mut renewed = text.to_owned();
        for (place, new) in &changes {
            renewed.replace_range(place.clone(), new);
        }
        (renewed, changes.len())
    }

    fn rename_table(
        self,
        within: &str,
        table: &mut DeTable<'_>,
        on_change: &mut dyn FnMut(Range<usize>, Change<'_>),
    ) {
        let renamed: Vec<(String, &'static str)> = table
            .keys()
            .filter_map(|key| {
                let former: &str = key.get_ref();
                let name = self.key(within, former)?;
                // If the document has both, the former one is an unknown key.
                let is_free = table.get(name).is_none();
                is_free.then(|| (former.to_owned(), name))
            })
            .collect();
        for (former, name) in renamed {
            if let Some((key, value)) = table.remove_entry(former.as_str()) {
                on_change(key.span(), Change::Renamed(&former, name));
                table.insert(Spanned::new(key.span(), DeString::Borrowed(name)), value);
            }
        }
        let removed: Vec<&'static RemovedKey> = table
            .keys()
            .filter_map(|key| self.removed(within, key.get_ref()))
            .collect();
        for removed in removed {
            if let Some((key, value)) = table.remove_entry(removed.name) {
                on_change(key.span(), Change::Removed(removed, value.span().end));
            }
        }
        for (key, value) in table.iter_mut() {
            self.rename_value(key.get_ref(), value, on_change);
        }
    }

    fn rename_value(
        self,
        key: &str,
        value: &mut Spanned<DeValue<'_>>,
        on_change: &mut dyn FnMut(Range<usize>, Change<'_>),
    ) {
        let place = value.span();
        match value.get_mut() {
            DeValue::Table(table) => self.rename_table(key, table, on_change),
            DeValue::Array(array) => {
                for element in array.iter_mut() {
                    self.rename_value(key, element, on_change);
                }
            }
            DeValue::String(text) => {
                if let Some(name) = self.word(key, text) {
                    on_change(place, Change::Renamed(text, name));
                    *text = DeString::Borrowed(name);
                }
            }
            _ => {}
        }
    }

    /// Returns a path of keys, separated by points, with present names. The name of an element at its start may
    /// contain points.
    pub(crate) fn rename_path(self, path: &str) -> String {
        let parts: Vec<&str> = path.split('.').collect();
        let renamed = parts.iter().enumerate().map(|(i, part)| {
            let within = if i == 0 { "" } else { parts[i - 1] };
            self.key(within, part).unwrap_or(part)
        });
        renamed.collect::<Vec<_>>().join(".")
    }

    /// Returns the removed key at a path of keys.
    pub(crate) fn removed_at(self, path: &str) -> Option<&'static RemovedKey> {
        let (within, name) = path.rsplit_once('.')?;
        self.removed(within, name)
    }

    /// Returns the present name of a word that is the value of a path of keys.
    pub(crate) fn rename_word(self, path: &str, word: String) -> String {
        let key = path.rsplit('.').next().unwrap_or(path);
        self.word(key, &word).map_or(word, str::to_owned)
    }

    /// Returns the present names that a column may have, if its last key has a former name. The column may omit
    /// the key of its table.
    pub(crate) fn column_names(self, column: &str) -> impl Iterator<Item = String> {
        let (start, last) = match column.rsplit_once('.') {
            Some((start, last)) => (Some(start), last),
            None => (None, column),
        };
        let within = start.map(|start| start.rsplit('.').next().unwrap_or(start));
        let of_column = self
            .keys
            .iter()
            .filter(move |it| it.former == last && within.is_none_or(|within| within == it.within));
        of_column.map(move |it| match start {
            Some(start) => format!("{start}.{}", it.name),
            None => it.name.to_owned(),
        })
    }
}

impl RemovedKey {
    pub(crate) fn message(&self) -> String {
        format!("`{}` is no longer supported", self.name)
    }

    /// Returns the whole lines of a key with its value, if they contain nothing else.
    fn lines(&self, text: &str, entry: Range<usize>) -> Option<Range<usize>> {
        let (before, after) = (text.get(..entry.start)?, text.get(entry.end..)?);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(text.len(), |at| entry.end + at + 1);
        let before = before[start..].trim();
        let after = after[..end - entry.end].trim();
        let is_alone = before.is_empty() || before.strip_suffix('.') == Some(self.within);
        (is_alone && (after.is_empty() || after.starts_with('#'))).then_some(start..end)
    }
}

fn name_of(names: &'static [FormerName], within: &str, former: &str) -> Option<&'static str> {
    let found = names
        .iter()
        .find(|it| it.former == former && it.within == within);
    found.map(|it| it.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: FormerNames = FormerNames {
        keys: &[FormerName {
            within: "source",
            former: "stack",
            name: "tcp",
        }],
        words: &[FormerName {
            within: "model",
            former: "window",
            name: "packet",
        }],
        removed: &[RemovedKey {
            within: "simulation",
            name: "coupling",
            help: "remove it",
        }],
    };

    #[test]
    fn former_names_are_rewritten_in_place() {
        let text = "# stack\n[simulation]\nmodel = \"window\"\n[[connection]]\nsource = { stack = \"linux-6\" }\n[[connection]]\n\
                    source.\"stack\" = 'stack'\nstack = 1\n";
        let renewed = "# stack\n[simulation]\nmodel = \"packet\"\n[[connection]]\nsource = { tcp = \"linux-6\" }\n[[connection]]\n\
                       source.\"tcp\" = 'stack'\nstack = 1\n";
        assert_eq!(NAMES.renew(text), (renewed.to_owned(), 3));
        assert_eq!(NAMES.renew(renewed), (renewed.to_owned(), 0));
        assert_eq!(NAMES.renew("= no"), ("= no".to_owned(), 0));
    }

    #[test]
    fn lines_of_removed_keys_are_deleted() {
        for (text, renewed) in [
            (
                "[simulation]\ncoupling = 'a' # b\nseed = 1",
                "[simulation]\nseed = 1",
            ),
            ("simulation.coupling = \"a\"", ""),
            ("[simulation]\n  coupling = {\n}\n", "[simulation]\n"),
        ] {
            assert_eq!(NAMES.renew(text), (renewed.to_owned(), 1));
        }
        for text in ["simulation = { coupling = 1 }", "coupling = 1"] {
            assert_eq!(NAMES.renew(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn both_names_remain() {
        let text = "source = { stack = 1, tcp = 2 }\n";
        assert_eq!(NAMES.renew(text), (text.to_owned(), 0));
    }

    #[test]
    fn paths_and_columns_have_present_names() {
        assert_eq!(
            NAMES.rename_path("connection.a.source.stack"),
            "connection.a.source.tcp"
        );
        assert_eq!(
            NAMES.rename_path("connection.stack.count"),
            "connection.stack.count"
        );
        let names = |column: &str| NAMES.column_names(column).collect::<Vec<_>>();
        assert_eq!(names("source.stack"), ["source.tcp"]);
        assert_eq!(names("stack"), ["tcp"]);
        assert!(names("other.stack").is_empty());
    }
}
