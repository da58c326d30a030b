//! What is wrong with a file that is read.

use std::ops::Range;

use netflow_document::{FileId, Findings, Place, ProblemKind};

/// Why a file is not read: what, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    kind: ProblemKind,
    span: Range<usize>,
    message: String,
    help: String,
}

/// What a reader makes of a text.
pub(crate) type Read<T> = Result<T, Wrong>;

impl Wrong {
    pub(crate) fn new(kind: ProblemKind, span: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong {
            kind,
            span,
            message: message.into(),
            help: String::new(),
        }
    }

    /// Text that is not of the format.
    pub(crate) fn syntax(span: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong::new(ProblemKind::Syntax, span, message)
    }

    /// A value that cannot be what it should.
    pub(crate) fn value(span: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong::new(ProblemKind::BadValue, span, message)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Wrong {
        self.help = help.into();
        self
    }

    /// Tells it of this file.
    pub(crate) fn tell(self, file: FileId, findings: &mut Findings) {
        let place = Place::new(file, self.span);
        let finding = findings.error(self.kind, place, self.message);
        if !self.help.is_empty() {
            finding.help(self.help);
        }
    }
}
