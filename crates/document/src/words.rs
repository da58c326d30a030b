//! Values that are one of some words.

use crate::{Findings, ProblemKind, Value};

/// An enumeration with [`words`](crate::words) above it: its variants are words, in kebab-case unless
/// it says `lowercase`, or `#[key(name = "…")]` above a variant another word.
pub trait Words: Copy + PartialEq + 'static {
    /// All words, and what they mean.
    const WORDS: &'static [(&'static str, Self)];
    /// Other words for the same, which are read and not written.
    const ALSO: &'static [(&'static str, Self)];

    /// The word.
    fn name(&self) -> &'static str {
        let mut all = Self::WORDS.iter();
        all.find(|(_, it)| it == self).map_or("", |(word, _)| word)
    }

    /// What a word means, if it is one.
    fn named(word: &str) -> Option<Self> {
        let mut all = Self::WORDS.iter().chain(Self::ALSO);
        all.find(|(name, _)| *name == word).map(|(_, it)| *it)
    }
}

/// Reads a word.
pub fn word<T: Words>(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<T> {
    let names = || T::WORDS.iter().chain(T::ALSO).map(|(name, _)| *name);
    let list: Vec<String> = names().map(|name| format!("\"{name}\"")).collect();
    let text = value.text(key, &format!("one of {}", list.join(", ")), findings)?;
    let found = T::named(text);
    if found.is_none() {
        let message = format!("unknown {key} `{text}`");
        let help = findings.allowed(text, "allowed", names());
        findings
            .error(ProblemKind::BadValue, value.place, message)
            .help(help);
    }
    found
}
