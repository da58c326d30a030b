//! What can be wrong with a stack's description.

use std::fmt;
use std::ops::Range;

use netflow_units::UnitError;

/// A text that describes no stack: what is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct StackError(Box<Inner>);

/// Boxed, so that results stay small.
#[derive(Debug, Clone, PartialEq)]
struct Inner {
    kind: StackErrorKind,
    span: Option<Range<usize>>,
    /// Line and column of the span's beginning, from 1.
    place: Option<(usize, usize)>,
}

/// What is wrong with a stack's description.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StackErrorKind {
    /// The text is no TOML.
    #[error("not valid TOML: {0}")]
    Toml(String),
    /// A key that a stack does not have.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest key.
        nearest: Option<&'static str>,
    },
    /// A key that must be there.
    #[error("missing key `{key}`")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {wanted}, not {found}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// The type it must have.
        wanted: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// A word that is none of those that are known.
    #[error("unknown {key} `{word}`")]
    UnknownWord {
        /// The key.
        key: &'static str,
        /// What the text says.
        word: String,
        /// The words that are known.
        allowed: &'static [&'static str],
    },
    /// A quantity that cannot be read.
    #[error("{key}: {error}")]
    Unit {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        error: UnitError,
    },
    /// A number that a stack cannot have.
    #[error(transparent)]
    Value(crate::Error),
}

impl StackError {
    pub(super) fn new(kind: StackErrorKind, span: Option<Range<usize>>) -> Self {
        Self(Box::new(Inner {
            kind,
            span,
            place: None,
        }))
    }

    /// Finds line and column in the text that the span refers to.
    pub(super) fn placed_in(mut self, text: &str) -> Self {
        self.0.place = self.0.span.as_ref().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            (line, column)
        });
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &StackErrorKind {
        &self.0.kind
    }

    /// The bytes of the text that are wrong.
    pub fn span(&self) -> Option<Range<usize>> {
        self.0.span.clone()
    }

    /// Line, from 1.
    pub fn line(&self) -> Option<usize> {
        self.0.place.map(|(line, _)| line)
    }

    /// Column in characters, from 1.
    pub fn column(&self) -> Option<usize> {
        self.0.place.map(|(_, column)| column)
    }

    /// What to do about it, where that is not obvious.
    pub fn help(&self) -> Option<String> {
        match &self.0.kind {
            StackErrorKind::UnknownKey { nearest, .. } => {
                let allowed = super::read::KEYS.join(", ");
                Some(match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`? allowed: {allowed}"),
                    None => format!("allowed: {allowed}"),
                })
            }
            StackErrorKind::UnknownWord { allowed, .. } => {
                Some(format!("allowed: {}", allowed.join(", ")))
            }
            StackErrorKind::Unit { error, .. } => Some(error.help().to_owned()),
            StackErrorKind::MissingKey { key: "like" } => Some(format!(
                "write `like = \"…\"`, the built-in stack that everything else is taken from: {}",
                super::builtin_names().join(", ")
            )),
            _ => None,
        }
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.0.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for StackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            StackErrorKind::Unit { error, .. } => Some(error),
            StackErrorKind::Value(error) => Some(error),
            _ => None,
        }
    }
}
