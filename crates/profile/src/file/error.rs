//! What can be wrong with a profile file.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use netflow_units::UnitError;

use crate::ProfileError;

/// A profile file that is no profile: what is wrong, where, and what to do about it.
#[derive(Debug)]
pub struct ProfileFileError(Box<Inner>);

/// Boxed, so that results stay small.
#[derive(Debug)]
struct Inner {
    kind: ProfileFileErrorKind,
    path: Option<PathBuf>,
    span: Option<Range<usize>>,
    /// Line and column of the span's beginning, from 1.
    place: Option<(usize, usize)>,
}

/// What is wrong with a profile file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileFileErrorKind {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The text is no TOML.
    #[error("not valid TOML: {0}")]
    Toml(String),
    /// The format's version is not the one known here.
    #[error("unknown format {found}: this program reads format 1")]
    Format {
        /// The version.
        found: String,
    },
    /// The kind is none that is known.
    #[error("unknown kind `{kind}`")]
    UnknownKind {
        /// What the file says.
        kind: String,
        /// The nearest kind.
        nearest: Option<&'static str>,
    },
    /// A key that this kind of profile does not have.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest key that is allowed.
        nearest: Option<&'static str>,
        /// All keys that are allowed.
        allowed: &'static [&'static str],
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
    /// A quantity that cannot be read.
    #[error("{key}: {error}")]
    Unit {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        error: UnitError,
    },
    /// A unit of throughput that is unknown.
    #[error("unknown unit of throughput `{unit}`")]
    ThroughputUnit {
        /// The unit.
        unit: String,
    },
    /// A round-trip time that is none of the grid's.
    #[error("this is none of the grid's round-trip times")]
    NotInGrid,
    /// Numbers that a profile cannot have.
    #[error(transparent)]
    Value(ProfileError),
}

impl ProfileFileError {
    pub(super) fn new(kind: ProfileFileErrorKind, span: Option<Range<usize>>) -> Self {
        Self(Box::new(Inner {
            kind,
            path: None,
            span,
            place: None,
        }))
    }

    pub(super) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        Self::new(ProfileFileErrorKind::Unreadable(error), None).in_file(path)
    }

    pub(super) fn in_file(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_owned());
        self
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
    pub fn kind(&self) -> &ProfileFileErrorKind {
        &self.0.kind
    }

    /// The file, where it is known.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
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
        let like = |nearest: &Option<&str>, allowed: &[&str]| {
            let allowed = allowed.join(", ");
            match nearest {
                Some(nearest) => format!("did you mean `{nearest}`? allowed: {allowed}"),
                None => format!("allowed: {allowed}"),
            }
        };
        match &self.0.kind {
            ProfileFileErrorKind::UnknownKind { nearest, .. } => Some(like(nearest, super::KINDS)),
            ProfileFileErrorKind::UnknownKey {
                nearest, allowed, ..
            } => Some(like(nearest, allowed)),
            ProfileFileErrorKind::Unit { error, .. } => Some(error.help().to_owned()),
            ProfileFileErrorKind::ThroughputUnit { .. } => {
                Some("allowed: pkt/s, pkt/ms".to_owned())
            }
            ProfileFileErrorKind::MissingKey { key: "format" } => {
                Some("write `format = 1`".to_owned())
            }
            ProfileFileErrorKind::MissingKey { key: "kind" } => Some(format!(
                "write `kind = \"…\"`, one of {}",
                super::KINDS.join(", ")
            )),
            _ => None,
        }
    }
}

impl fmt::Display for ProfileFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.path, self.0.place) {
            (Some(path), Some((line, column))) => {
                write!(f, "{}:{line}:{column}: ", path.display())?
            }
            (Some(path), None) => write!(f, "{}: ", path.display())?,
            (None, Some((line, column))) => write!(f, "line {line}, column {column}: ")?,
            (None, None) => {}
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for ProfileFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ProfileFileErrorKind::Unreadable(error) => Some(error),
            ProfileFileErrorKind::Unit { error, .. } => Some(error),
            ProfileFileErrorKind::Value(error) => Some(error),
            _ => None,
        }
    }
}
