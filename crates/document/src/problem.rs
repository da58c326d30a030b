//! Diagnostics: errors and warnings about a document.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use crate::source_span::{FileId, SourceSpan};
use crate::sources::Sources;
use crate::suggest;

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// The scenario can be run, but should be checked.
    Warning,
}

impl Severity {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A file that cannot be read.
    Unreadable,
    /// A file that is too large, or a network that exceeds the memory.
    TooLarge,
    /// Text that is not valid UTF-8, TOML or CSV.
    Syntax,
    /// A key or a column that does not exist.
    UnknownKey,
    /// A key, a column or a whole element that must be there.
    Missing,
    /// A value of the wrong type.
    WrongType,
    /// A value that cannot be read: a number without unit, an unknown unit, an unknown word.
    BadValue,
    /// A number outside its range.
    OutOfRange,
    /// A name of something that does not exist.
    UnknownName,
    /// Something that exists twice.
    Duplicate,
    /// A connection whose receiver, or sender, cannot be reached.
    Unreachable,
    /// Settings that exclude each other.
    Conflict,
    /// A feature that this version does not have.
    NotAvailable,
    /// A setting that changes nothing.
    WithoutEffect,
    /// A value that is valid, but often a mistake.
    Suspicious,
    /// A default that has changed since the scenario was written.
    Changed,
    /// A key or a word that has a new name.
    Renamed,
    /// A `--set` option that matches nothing.
    Override,
    /// A count of problems that are not listed.
    More,
}

/// An error or a warning: message, place and help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// Its kind.
    #[serde(skip)]
    pub kind: ProblemKind,
    /// The message: a lower-case fragment.
    pub message: String,
    /// Its file. `None` for a `--set` option, which the message names.
    pub file: Option<PathBuf>,
    /// Its byte range in the file.
    pub span: Option<Range<usize>>,
    /// Line of the span's beginning, from 1.
    pub line: Option<usize>,
    /// Column of the span's beginning in characters, from 1.
    pub column: Option<usize>,
    /// Help: the allowed values, the corrected line, or the most similar name.
    pub help: Option<String>,
}

impl Problem {
    /// Returns the location as a prefix of a message: `topology.toml:5:13: `, as far as it is known.
    pub fn location(&self) -> String {
        match (&self.file, self.line, self.column) {
            (None, ..) => String::new(),
            // A text that does not come from a file.
            (Some(file), Some(line), Some(column)) if file.as_os_str().is_empty() => {
                format!("line {line}, column {column}: ")
            }
            (Some(file), Some(line), Some(column)) => {
                format!("{}:{line}:{column}: ", file.display())
            }
            (Some(file), Some(line), None) => format!("{}:{line}: ", file.display()),
            (Some(file), ..) => format!("{}: ", file.display()),
        }
    }
}

/// Formats `topology.toml:12:1: error: unknown key ...`, with the help on a second line.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.location())?;
        write!(f, "{}: {}", self.severity.name(), self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

/// All errors and warnings about a scenario, in the order of files and places.
#[derive(Clone, Debug)]
pub struct Problems {
    list: Vec<Problem>,
    sources: Sources,
}

impl Problems {
    /// Returns an iterator over the problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// Returns the list of problems.
    pub fn into_vec(self) -> Vec<Problem> {
        self.list
    }

    /// Returns the texts that were read.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns whether a file could not be read, in contrast to invalid content.
    pub fn is_unreadable(&self) -> bool {
        self.list
            .iter()
            .any(|problem| problem.kind == ProblemKind::Unreadable)
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Maximum number of problems that are listed; the rest are only counted.
const MAX_PROBLEMS: usize = 200;
/// Maximum number of name comparisons for suggestions, which takes about 1 s.
const MAX_NAME_COMPARISONS: usize = 1_000_000;

/// A problem without line and column yet.
#[derive(Debug)]
pub struct Finding {
    severity: Severity,
    kind: ProblemKind,
    message: String,
    help: Option<String>,
    place: SourceSpan,
}

impl Finding {
    /// Sets the help.
    pub fn set_help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }
}

/// The diagnostics collected so far.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    errors: usize,
    omitted: usize,
    /// Number of name comparisons so far.
    name_comparisons: usize,
    /// The last finding, if it is not in the list.
    last: Option<Finding>,
}

impl Findings {
    /// Adds an error.
    pub fn error(
        &mut self,
        kind: ProblemKind,
        place: SourceSpan,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.errors += 1;
        self.push(Severity::Error, kind, place, message.into())
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        kind: ProblemKind,
        place: SourceSpan,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.push(Severity::Warning, kind, place, message.into())
    }

    fn push(
        &mut self,
        severity: Severity,
        kind: ProblemKind,
        place: SourceSpan,
        message: String,
    ) -> &mut Finding {
        let finding = Finding {
            severity,
            kind,
            message,
            help: None,
            place,
        };
        // A value without a source is a placeholder for one that was already reported.
        if place.is_unknown() {
            return self.last.insert(finding);
        }
        // An override of many elements is reported once.
        let same = |it: &Finding| it.place == place && it.message == finding.message;
        if self.list.iter().any(same) {
            return self.last.insert(finding);
        }
        if self.list.len() >= MAX_PROBLEMS {
            self.omitted += 1;
            return self.last.insert(finding);
        }
        self.last = None;
        self.list.push(finding);
        let end = self.list.len() - 1;
        &mut self.list[end]
    }

    /// Returns ``did you mean `link`? allowed: ...`` for the next finding, or an empty text if it will
    /// not be kept. If there are many names, only the first findings are compared with them.
    pub fn allowed_names_help<'a>(
        &mut self,
        name: &str,
        what: &str,
        allowed: impl Iterator<Item = &'a str> + Clone,
    ) -> String {
        if self.is_full() {
            return String::new();
        }
        let near = self.nearest_name(name, allowed.clone());
        suggest::allowed_list_help(near, what, allowed)
    }

    /// Returns the same help for names from the document. Because there can be many, not all are listed.
    pub fn given_names_help<'a>(
        &mut self,
        name: &str,
        what: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> String {
        if self.is_full() {
            return String::new();
        }
        let near = self.nearest_name(name, names.clone());
        suggest::given_list_help(name, near, what, names)
    }

    /// Returns the most similar of the allowed names, with the same limits.
    pub fn nearest_name<'a>(
        &mut self,
        name: &str,
        allowed: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<&'a str> {
        let names = allowed.clone().take(MAX_NAME_COMPARISONS + 1).count();
        if self.is_full() || self.name_comparisons + names > MAX_NAME_COMPARISONS {
            return None;
        }
        self.name_comparisons += names;
        suggest::nearest(name, allowed)
    }

    /// Sets the help of the last finding.
    pub fn set_last_help(&mut self, help: impl Into<String>) {
        let kept = self.list.last_mut().filter(|_| self.last.is_none());
        if let Some(finding) = kept {
            finding.set_help(help);
        }
    }

    /// Sets the help of the last finding if it has none.
    pub(crate) fn set_missing_help(&mut self, help: impl FnOnce() -> String) {
        let kept = self.list.last_mut().filter(|_| self.last.is_none());
        if let Some(finding) = kept
            && finding.help.is_none()
        {
            finding.set_help(help());
        }
    }

    /// Adds a warning, unless the file already has the same one.
    pub fn warn_once(&mut self, place: SourceSpan, message: String, help: &str) {
        let same = |it: &Finding| it.place.file() == place.file() && it.message == message;
        if !self.list.iter().any(same) {
            self.warning(ProblemKind::Suspicious, place, message)
                .set_help(help);
        }
    }

    /// Returns whether there are errors.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns whether keys were rejected, so that their settings are missing.
    pub fn has_rejected_keys(&self) -> bool {
        let refused = [ProblemKind::UnknownKey, ProblemKind::WrongType];
        self.list
            .iter()
            .any(|finding| refused.contains(&finding.kind))
    }

    /// Returns whether the list is full, so that further findings are only counted.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    /// Returns whether the file has findings.
    pub fn has_findings_in(&self, file: FileId) -> bool {
        self.list.iter().any(|finding| finding.place.file() == file)
    }

    /// Returns the problems with lines and columns, in the order of files and places.
    pub fn finish(mut self, sources: &Sources) -> Vec<Problem> {
        self.list.sort_by_key(|finding| finding.place);
        let mut counter = LineCounter::default();
        let mut problems: Vec<Problem> = self
            .list
            .into_iter()
            .map(|finding| finding.finish(sources, &mut counter))
            .collect();
        if self.omitted > 0 {
            problems.push(Problem {
                severity: if self.errors > 0 {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                kind: ProblemKind::More,
                message: format!("{} more problems not shown", self.omitted),
                file: sources.path(FileId::FIRST).map(ToOwned::to_owned),
                span: None,
                line: None,
                column: None,
                help: None,
            });
        }
        problems
    }

    /// Returns the problems with lines and columns, and the texts.
    pub fn into_problems(self, sources: Sources) -> Problems {
        Problems {
            list: self.finish(&sources),
            sources,
        }
    }
}

impl Finding {
    fn finish(self, sources: &Sources, counter: &mut LineCounter) -> Problem {
        let Finding {
            severity,
            kind,
            message,
            help,
            place,
        } = self;
        let text = sources.text(place.file()).unwrap_or("");
        let is_override = sources.is_override(place.file());
        let message = if is_override {
            format!("--set `{text}`: {message}")
        } else {
            message
        };
        let file = sources.path(place.file()).map(ToOwned::to_owned);
        // A file that could not be read has no lines.
        let is_read = kind != ProblemKind::Unreadable || place.span() != (0..0);
        let known = file.is_some() && !place.is_unknown() && is_read;
        let (line, column) = counter.at(place, text);
        Problem {
            severity,
            kind,
            message,
            file,
            span: known.then(|| place.span()),
            line: known.then_some(line),
            column: known.then_some(column),
            help,
        }
    }
}

/// A converter of byte offsets to lines. Offsets in ascending order need one pass over each text.
#[derive(Default)]
struct LineCounter {
    file: Option<FileId>,
    byte: usize,
    line: usize,
}

impl LineCounter {
    fn at(&mut self, place: SourceSpan, text: &str) -> (usize, usize) {
        let byte = place.span().start.min(text.len());
        if self.file != Some(place.file()) || byte < self.byte {
            *self = LineCounter {
                file: Some(place.file()),
                byte: 0,
                line: 1,
            };
        }
        let bytes = text.as_bytes();
        self.line += bytes[self.byte..byte]
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        self.byte = byte;
        let from = bytes[..byte]
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |end| end + 1);
        // Columns count characters without the byte order mark.
        let column = String::from_utf8_lossy(&bytes[from..byte])
            .trim_start_matches('\u{feff}')
            .chars()
            .count();
        (self.line, column + 1)
    }
}
