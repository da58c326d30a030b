//! Keywords: enums whose variants are words.

use crate::{Findings, ProblemKind, Value};

/// An enum with the attribute [`keyword_enum`](crate::keyword_enum). Its variants are words in kebab-case, or
/// in lower case with `lowercase`. `#[key(name = "…")]` sets the word of a variant.
pub trait Words: Copy + PartialEq + 'static {
    /// All words.
    const WORDS: &'static [Word<Self>];

    /// Returns the word.
    fn name(&self) -> &'static str {
        let mut all = Self::WORDS.iter();
        all.find(|it| it.meaning == *self).map_or("", |it| it.word)
    }

    /// Returns the variant of a word, if there is one.
    fn named(word: &str) -> Option<Self> {
        let mut all = Self::WORDS.iter();
        all.find(|it| it.word == word).map(|it| it.meaning)
    }

    /// Returns all words.
    fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::WORDS.iter().map(|it| it.word)
    }
}

/// A keyword.
#[derive(Clone, Copy, Debug)]
pub struct Word<T> {
    /// The word in documents.
    pub word: &'static str,
    /// The variant.
    pub meaning: T,
    /// Documentation of the variant.
    pub about: &'static str,
}

/// Reads a keyword.
pub fn word<T: Words>(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<T> {
    read_keyword(value, key, T::names(), T::named, findings)
}

/// Reads one of these words, which `named` maps to values.
pub fn read_keyword<T>(
    value: &Value<'_>,
    key: &str,
    names: impl Iterator<Item = &'static str> + Clone,
    named: impl FnOnce(&str) -> Option<T>,
    findings: &mut Findings,
) -> Option<T> {
    let list: Vec<String> = names.clone().map(|name| format!("\"{name}\"")).collect();
    let text = value.text(key, &format!("one of {}", list.join(", ")), findings)?;
    let found = named(text);
    if found.is_none() {
        let message = format!("unknown {key} `{text}`");
        let help = findings.allowed_names_help(text, "allowed", names);
        findings
            .error(ProblemKind::BadValue, value.place, message)
            .set_help(help);
    }
    found
}
