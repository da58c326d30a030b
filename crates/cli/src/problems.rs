//! Output of problems in input files, with their location.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};
use netflow::scenario::{CompiledScenario, Problem, ProblemKind, Problems, Severity};
use netflow_files::{FileKind, read_text};

use crate::output::escape_control_characters::{EscapingWriter, escape_controls, mask_controls};

/// All problems of the input.
#[derive(Debug)]
pub struct Report {
    pub problems: Vec<Problem>,
    /// True if a file could not be read.
    pub unreadable: bool,
}

impl From<Problems> for Report {
    fn from(problems: Problems) -> Report {
        Report {
            unreadable: problems.is_unreadable(),
            problems: problems.into_vec(),
        }
    }
}

/// Prints the warnings of a scenario on the standard error. `netflow check` reports former names.
pub fn warn(scenario: &CompiledScenario) {
    let warnings = scenario.warnings.iter();
    let warnings = warnings.filter(|it| it.kind != ProblemKind::Renamed);
    warn_all(&warnings.cloned().collect::<Vec<_>>());
}

/// Prints these warnings on the standard error.
pub fn warn_all(warnings: &[Problem]) {
    // An error of the standard error cannot be reported anywhere.
    let _ = print_all(warnings, &mut io::stderr().lock());
}

/// Prints a warning without a location.
pub fn warn_message(message: &str) {
    let _ = writeln!(
        EscapingWriter::new(io::stderr().lock()),
        "warning: {message}"
    );
}

/// Prints every problem and their number.
pub fn print(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    print_all(&report.problems, to)?;
    let errors = report
        .problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    if errors > 1 {
        writeln!(to, "{errors} errors")
    } else {
        Ok(())
    }
}

/// Returns the problem with control characters escaped.
fn with_escaped_controls(problem: &Problem) -> Problem {
    let shown = |text: &String| escape_controls(text).into_owned();
    let file = problem.file.as_ref().map(|file| file.display().to_string());
    Problem {
        message: shown(&problem.message),
        file: file.as_ref().map(shown).map(PathBuf::from),
        help: problem.help.as_ref().map(shown),
        ..problem.clone()
    }
}

/// Prints problems with graphics on a terminal, otherwise as text that editors and grep can parse.
fn print_all(problems: &[Problem], to: &mut dyn Write) -> io::Result<()> {
    let terminal = io::stderr().is_terminal();
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let theme = if colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
    let mut texts = FileTexts::default();
    for problem in problems {
        let text = texts.of(problem);
        let problem = &with_escaped_controls(problem);
        let mut picture = String::new();
        if terminal
            && handler
                .render_report(&mut picture, &MietteReport::new(problem, text))
                .is_ok()
        {
            writeln!(to, "{picture}")?;
        } else {
            print_plain(problem, text, to)?;
        }
    }
    Ok(())
}

/// Prints a problem in this form:
///
/// ```text
/// topology.toml:5:13: error: unknown unit `Mbq`
///   | bandwidth = "8 Mbq"
///   |             ^^^^^^^
///   help: write "8 Mbit/s"
/// ```
fn print_plain(problem: &Problem, text: Option<&str>, to: &mut dyn Write) -> io::Result<()> {
    writeln!(
        to,
        "{}{}: {}",
        problem.location(),
        problem.severity.name(),
        problem.message
    )?;
    if let (Some(text), Some(span)) = (text, &problem.span)
        && let Some((line, marks)) = excerpt(text, span)
    {
        writeln!(to, "  | {line}")?;
        writeln!(to, "  | {marks}")?;
    }
    match &problem.help {
        Some(help) => writeln!(to, "  help: {}", help.replace('\n', "\n        ")),
        None => Ok(()),
    }
}

/// Maximum length of a quoted line in characters.
const MAX_QUOTED_LINE_CHARS: usize = 200;

/// Returns the line in which a span begins, and a line that marks the part of the span within it.
fn excerpt(text: &str, span: &Range<usize>) -> Option<(String, String)> {
    let start = span.start.min(text.len());
    let before = text.get(..start)?;
    let from = before.rfind('\n').map_or(0, |end| end + 1);
    let to = text[start..]
        .find('\n')
        .map_or(text.len(), |end| start + end);
    let line = text[from..to].trim_end_matches('\r');
    if line.trim().is_empty() || line.len() > MAX_QUOTED_LINE_CHARS {
        return None;
    }
    let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
    let mut marks: String = text[from..start].chars().map(blank).collect();
    let marked = text
        .get(start..span.end.min(to))
        .map_or(1, |part| part.trim_end().chars().count());
    marks.extend(std::iter::repeat_n('^', marked.max(1)));
    Some((line.to_owned(), marks))
}

/// Cache of the texts of files with problems.
#[derive(Default)]
struct FileTexts(HashMap<PathBuf, Option<String>>);

impl FileTexts {
    fn of(&mut self, problem: &Problem) -> Option<&str> {
        if problem.kind == ProblemKind::TooLarge {
            return None; // it may not fit into memory
        }
        let file = problem.file.as_ref()?;
        let read = || {
            let text = read_text(file, FileKind::Table).ok()?;
            Some(mask_controls(&text).into_owned())
        };
        self.0.entry(file.clone()).or_insert_with(read).as_deref()
    }
}

/// Adapter of a problem to miette.
#[derive(Debug)]
struct MietteReport<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
}

impl<'a> MietteReport<'a> {
    fn new(problem: &'a Problem, text: Option<&str>) -> MietteReport<'a> {
        let name = problem
            .file
            .as_deref()
            .map(|file| file.display().to_string())
            .unwrap_or_default();
        let source = text
            .filter(|text| {
                problem
                    .span
                    .as_ref()
                    .is_some_and(|span| span.start <= span.end && span.end <= text.len())
            })
            .map(|text| NamedSource::new(name, text.to_owned()).with_language("TOML"));
        MietteReport { problem, source }
    }
}

impl fmt::Display for MietteReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(_) => f.write_str(&self.problem.message),
            None => write!(f, "{}{}", self.problem.location(), self.problem.message),
        }
    }
}

impl std::error::Error for MietteReport<'_> {}

impl Diagnostic for MietteReport<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span.clone()?;
        self.source.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::underline(span))))
    }
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn marks_are_below_the_span() {
        let text = "a = 1\n\tdelay = \"ü\" # x\nb";
        let start = text.find('"').unwrap();
        let (line, marks) = excerpt(text, &(start..start + 4)).unwrap();
        assert_eq!(line, "\tdelay = \"ü\" # x");
        assert_eq!(marks, "\t        ^^^");
    }

    #[test]
    fn invalid_spans_cause_no_panic() {
        for span in [0..0, 5..5, 3..1000, 900..1000, 1..2] {
            let _ = excerpt("ä\n\nb = 1", &span);
        }
        assert_eq!(excerpt("", &(0..0)), None);
    }
}
