//! Values that are one of some words.

use crate::{Findings, ProblemKind, Value};

/// An enumeration with [`words`](crate::words) above it: its variants are words, in kebab-case unless
/// it says `lowercase`, or `#[key(name = "…")]` above a variant another word.
pub trait Words: Copy + PartialEq + 'static {
    /// All words.
    const WORDS: &'static [Word<Self>];
    /// Other words for the same, which are read and not written.
    const ALSO: &'static [(&'static str, Self)];

    /// The word.
    fn name(&self) -> &'static str {
        let mut all = Self::WORDS.iter();
        all.find(|it| it.meaning == *self).map_or("", |it| it.word)
    }

    /// What a word means, if it is one.
    fn named(word: &str) -> Option<Self> {
        let words = Self::WORDS.iter().map(|it| (it.word, it.meaning));
        let mut all = words.chain(Self::ALSO.iter().copied());
        all.find(|(name, _)| *name == word).map(|(_, it)| it)
    }

    /// Every word that can be read.
    fn names() -> impl Iterator<Item = &'static str> + Clone {
        let words = Self::WORDS.iter().map(|it| it.word);
        words.chain(Self::ALSO.iter().map(|(name, _)| *name))
    }
}

/// One of some words.
#[derive(Clone, Copy, Debug)]
pub struct Word<T> {
    /// As documents have it.
    pub word: &'static str,
    /// The variant.
    pub meaning: T,
    /// What the variant's documentation says.
    pub about: &'static str,
}

/// Reads a word.
pub fn word<T: Words>(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<T> {
    word_of(value, key, T::names(), T::named, findings)
}

/// Reads one of these words, which mean what `named` says.
pub fn word_of<T>(
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
        let help = findings.allowed(text, "allowed", names);
        findings
            .error(ProblemKind::BadValue, value.place, message)
            .help(help);
    }
    found
}
