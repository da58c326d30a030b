//! Errors of reading a file.

use std::ops::Range;

use netflow_document::{FileId, Findings, ProblemKind, SourceSpan};

/// An error: kind, place, message and help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImportError {
    kind: ProblemKind,
    span: Range<usize>,
    message: String,
    help: String,
}

/// Result of parsing a text.
pub(crate) type ReadResult<T> = Result<T, ImportError>;

impl ImportError {
    pub(crate) fn new(
        kind: ProblemKind,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> ImportError {
        ImportError {
            kind,
            span,
            message: message.into(),
            help: String::new(),
        }
    }

    /// Returns a syntax error.
    pub(crate) fn syntax(span: Range<usize>, message: impl Into<String>) -> ImportError {
        ImportError::new(ProblemKind::Syntax, span, message)
    }

    /// Returns the error of an invalid value.
    pub(crate) fn value(span: Range<usize>, message: impl Into<String>) -> ImportError {
        ImportError::new(ProblemKind::BadValue, span, message)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> ImportError {
        self.help = help.into();
        self
    }

    /// Reports the error for this file.
    pub(crate) fn report(self, file: FileId, findings: &mut Findings) {
        let place = SourceSpan::new(file, self.span);
        let finding = findings.error(self.kind, place, self.message);
        if !self.help.is_empty() {
            finding.set_help(self.help);
        }
    }
}
