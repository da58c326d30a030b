//! What is wrong with a document, or suspicious about it.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use crate::place::{FileId, Place};
use crate::sources::Sources;
use crate::suggest;

/// Whether a scenario can be run in spite of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but its author should look at this.
    Warning,
}

impl Severity {
    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// What sort of thing a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A file that cannot be read.
    Unreadable,
    /// A file that is too large, or a network that memory would not hold.
    TooLarge,
    /// Text that is no UTF-8, no TOML or no CSV table.
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
    /// Something that this version does not have.
    NotAvailable,
    /// A setting that changes nothing.
    WithoutEffect,
    /// A value that can be read, and is often a slip of the pen.
    Suspicious,
    /// A default that is not what it was when the scenario was written.
    Changed,
    /// A `--set` option that fits nothing.
    Override,
    /// There are more problems than are listed.
    More,
}

/// One thing that is wrong or suspicious: what, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Whether the scenario can be run in spite of it.
    pub severity: Severity,
    /// What sort of thing it is.
    #[serde(skip)]
    pub kind: ProblemKind,
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// In which file. `None` if a `--set` option is wrong; the message then names it.
    pub file: Option<PathBuf>,
    /// Which bytes of the file are wrong.
    pub span: Option<Range<usize>>,
    /// Line of the span's beginning, from 1.
    pub line: Option<usize>,
    /// Column of the span's beginning in characters, from 1.
    pub column: Option<usize>,
    /// What to do: what is allowed, the corrected line, the nearest name.
    pub help: Option<String>,
}

impl Problem {
    /// Where it is, before a message: `topology.toml:5:13: `, as far as it is known.
    pub fn at(&self) -> String {
        match (&self.file, self.line, self.column) {
            (None, ..) => String::new(),
            // A text that stands in no file.
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

/// `topology.toml:12:1: error: unknown key ...`, and the help on a second line.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at())?;
        write!(f, "{}: {}", self.severity.name(), self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a scenario, and everything suspicious about it, in the order of
/// the files and of the places in them.
#[derive(Clone, Debug)]
pub struct Problems {
    list: Vec<Problem>,
    sources: Sources,
}

impl Problems {
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Problem> {
        self.list
    }

    /// The texts that were read.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether a file could not be read at all, which is not the same as reading something wrong.
    pub fn unreadable(&self) -> bool {
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

/// Nobody reads more than this; the rest is counted.
const MOST_PROBLEMS: usize = 200;
/// Nobody waits longer than this takes for help with spelling: about a second.
const MOST_COMPARED: usize = 1_000_000;

/// A problem on its way: still without line and column.
#[derive(Debug)]
pub struct Finding {
    severity: Severity,
    kind: ProblemKind,
    message: String,
    help: Option<String>,
    place: Place,
}

impl Finding {
    /// What to do about it.
    pub fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }
}

/// Problems as they are found.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    errors: usize,
    left_out: usize,
    /// With how many names others were compared.
    compared: usize,
    /// The last finding, if it is not kept.
    last: Option<Finding>,
}

impl Findings {
    /// Adds something that is wrong.
    pub fn error(
        &mut self,
        kind: ProblemKind,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.errors += 1;
        self.push(Severity::Error, kind, place, message.into())
    }

    /// Adds something that is suspicious.
    pub fn warning(
        &mut self,
        kind: ProblemKind,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.push(Severity::Warning, kind, place, message.into())
    }

    fn push(
        &mut self,
        severity: Severity,
        kind: ProblemKind,
        place: Place,
        message: String,
    ) -> &mut Finding {
        let finding = Finding {
            severity,
            kind,
            message,
            help: None,
            place,
        };
        // What stands nowhere took the place of something that was refused already.
        if place.is_nowhere() {
            return self.last.insert(finding);
        }
        // A setting of many elements is wrong once.
        let same = |it: &Finding| it.place == place && it.message == finding.message;
        if self.list.iter().any(same) {
            return self.last.insert(finding);
        }
        if self.list.len() >= MOST_PROBLEMS {
            self.left_out += 1;
            return self.last.insert(finding);
        }
        self.last = None;
        self.list.push(finding);
        let end = self.list.len() - 1;
        &mut self.list[end]
    }

    /// ``did you mean `link`? allowed: ...`` for the finding that comes next; nothing if it will not be kept. Of
    /// very many names only the first findings are compared with.
    pub fn allowed<'a>(
        &mut self,
        name: &str,
        what: &str,
        allowed: impl Iterator<Item = &'a str> + Clone,
    ) -> String {
        if self.is_full() {
            return String::new();
        }
        let near = self.nearest(name, allowed.clone());
        suggest::listed(near, what, allowed)
    }

    /// The same of names that the document gives, of which there may be very many: not all are listed.
    pub fn given<'a>(
        &mut self,
        name: &str,
        what: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> String {
        if self.is_full() {
            return String::new();
        }
        let near = self.nearest(name, names.clone());
        suggest::given(near, what, names)
    }

    /// The one of the names that was meant, likewise.
    pub fn nearest<'a>(
        &mut self,
        name: &str,
        allowed: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<&'a str> {
        let names = allowed.clone().take(MOST_COMPARED + 1).count();
        if self.is_full() || self.compared + names > MOST_COMPARED {
            return None;
        }
        self.compared += names;
        suggest::nearest(name, allowed)
    }

    /// Adds help to the last finding.
    pub fn amend(&mut self, help: impl Into<String>) {
        let kept = self.list.last_mut().filter(|_| self.last.is_none());
        if let Some(finding) = kept {
            finding.help(help);
        }
    }

    /// Adds help to the last finding if it has none.
    pub(crate) fn fill(&mut self, help: impl FnOnce() -> String) {
        let kept = self.list.last_mut().filter(|_| self.last.is_none());
        if let Some(finding) = kept
            && finding.help.is_none()
        {
            finding.help(help());
        }
    }

    /// Adds something that is suspicious, unless the same was said of the file before: one habit is one warning.
    pub fn warn_once(&mut self, place: Place, message: String, help: &str) {
        let same = |it: &Finding| it.place.file() == place.file() && it.message == message;
        if !self.list.iter().any(same) {
            self.warning(ProblemKind::Suspicious, place, message)
                .help(help);
        }
    }

    /// Whether anything is wrong.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How much is wrong.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Whether keys were refused, so that what they were meant to say is missing.
    pub fn has_refused_keys(&self) -> bool {
        let refused = [ProblemKind::UnknownKey, ProblemKind::WrongType];
        self.list
            .iter()
            .any(|finding| refused.contains(&finding.kind))
    }

    /// Whether further findings are only counted.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST_PROBLEMS
    }

    /// Which files problems were found in.
    pub fn is_about(&self, file: FileId) -> bool {
        self.list.iter().any(|finding| finding.place.file() == file)
    }

    /// With lines and columns, in the order of files and places.
    pub fn finish(mut self, sources: &Sources) -> Vec<Problem> {
        self.list.sort_by_key(|finding| finding.place);
        let mut counter = LineCounter::default();
        let mut problems: Vec<Problem> = self
            .list
            .into_iter()
            .map(|finding| finding.finish(sources, &mut counter))
            .collect();
        if self.left_out > 0 {
            problems.push(Problem {
                severity: if self.errors > 0 {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                kind: ProblemKind::More,
                message: format!("{} more problems are not listed", self.left_out),
                file: sources.path(FileId::FIRST).map(ToOwned::to_owned),
                span: None,
                line: None,
                column: None,
                help: None,
            });
        }
        problems
    }

    /// With lines and columns, and the texts they are counted in.
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
        let message = match is_override {
            true => format!("--set `{text}`: {message}"),
            false => message,
        };
        let file = sources.path(place.file()).map(ToOwned::to_owned);
        // There is no line in a file that could not be read.
        let is_read = kind != ProblemKind::Unreadable || place.span() != (0..0);
        let known = file.is_some() && !place.is_nowhere() && is_read;
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

/// Finds lines in one pass over each text, if asked in order.
#[derive(Default)]
struct LineCounter {
    file: Option<FileId>,
    byte: usize,
    line: usize,
}

impl LineCounter {
    fn at(&mut self, place: Place, text: &str) -> (usize, usize) {
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
        // Columns count characters; a byte-order mark is none.
        let column = String::from_utf8_lossy(&bytes[from..byte])
            .trim_start_matches('\u{feff}')
            .chars()
            .count();
        (self.line, column + 1)
    }
}
