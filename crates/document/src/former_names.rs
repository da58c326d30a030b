//! Former names of keys and words, which documents, tables and options may still use.

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

/// The former names of the keys and words of a kind of document.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormerNames {
    /// Keys.
    pub keys: &'static [FormerName],
    /// Words, which are values.
    pub words: &'static [FormerName],
}

impl FormerNames {
    fn key(&self, within: &str, former: &str) -> Option<&'static str> {
        name_of(self.keys, within, former)
    }

    fn word(&self, key: &str, former: &str) -> Option<&'static str> {
        name_of(self.words, key, former)
    }

    /// Renames the keys of a document, with a warning for each.
    pub(crate) fn rename_document(
        self,
        table: &mut DeTable<'_>,
        file: FileId,
        findings: &mut Findings,
    ) {
        self.rename_table("", table, &mut |place, former, name| {
            let place = SourceSpan::new(file, place);
            let message = format!("`{former}` is now `{name}`");
            findings
                .warning(ProblemKind::Renamed, place, message)
                .set_help("`netflow check --fix` rewrites the file");
        });
    }

    /// Returns the text of a document with present names, and the number of names that changed. A text that
    /// is not TOML is returned as it is.
    pub fn renew(self, text: &str) -> (String, usize) {
        let Ok(mut document) = DeTable::parse(text) else {
            return (text.to_owned(), 0);
        };
        let mut changes = Vec::new();
        self.rename_table("", document.get_mut(), &mut |place, former, name| {
            changes.push((place, former.to_owned(), name));
        });
        changes.sort_by_key(|(place, ..)| std::cmp::Reverse(place.start));
        let mut renewed = text.to_owned();
        let mut count = 0;
        for (place, former, name) in changes {
            let Some(written) = renewed.get(place.clone()) else {
                continue;
            };
            // Quotes remain.
            let Some(at) = written.find(&former) else {
                continue;
            };
            let start = place.start + at;
            renewed.replace_range(start..start + former.len(), name);
            count += 1;
        }
        (renewed, count)
    }

    fn rename_table(
        self,
        within: &str,
        table: &mut DeTable<'_>,
        on_change: &mut dyn FnMut(std::ops::Range<usize>, &str, &'static str),
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
                on_change(key.span(), &former, name);
                table.insert(Spanned::new(key.span(), DeString::Borrowed(name)), value);
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
        on_change: &mut dyn FnMut(std::ops::Range<usize>, &str, &'static str),
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
                    on_change(place, text, name);
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
