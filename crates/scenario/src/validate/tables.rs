//! Reader of CSV tables.

use netflow_document::{
    Element, Findings, ProblemKind, Section, SourceSpan, Sources, Spanned, io_error_text,
    read_header, report_not_utf8,
};
use std::path::{Component, Path, PathBuf};

use netflow_files::{FileKind, ReadError, STANDARD_INPUT, read_text};

use super::Validator;
use crate::former_names::FORMER_NAMES;
use crate::load::FileAccess;
use crate::memory_limit;

impl Validator<'_> {
    /// Reads a table, if given, row by row.
    pub(super) fn table<T: Element>(
        &mut self,
        name: Option<&Spanned<String>>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        let Some(name) = name else { return };
        let before = self.findings.errors();
        let Some(path) = self.resolve_path(name) else {
            self.is_incomplete = true;
            return;
        };
        if self.is_scenario(name, &path) {
            self.is_incomplete = true;
            return;
        }
        let text = match read_text(&path, FileKind::Table) {
            Ok(text) => text,
            Err(refusal) => {
                let what = format!("the table of {}s", T::NAME);
                report_unreadable(
                    self.sources,
                    self.findings,
                    &path,
                    name.place(),
                    &what,
                    refusal,
                );
                self.is_incomplete = true;
                return;
            }
        };
        let (file, text) = self.sources.add(&path, text);
        let rows = memory_limit::line_count(&text);
        if let Err(message) = memory_limit::check_rows(rows, T::NAME) {
            let help = "split the scenario, or describe identical connections by one connection with a `count`";
            self.error(ProblemKind::TooLarge, name.place(), message, help);
            self.is_incomplete = true;
            return;
        }
        if T::NAME == "connection" {
            self.reserve(rows);
        }
        let Some((mut csv, mut row)) = read_header::<T>(file, &text, FORMER_NAMES, self.findings)
        else {
            self.is_incomplete = true;
            return;
        };
        let overrides = self.environment.overrides;
        while csv.next(&mut row, self.findings) {
            let place = row.place().unwrap_or(SourceSpan::new(file, 0..0));
            // Connections are numbered across all files.
            let number = self.connections.declared_count + 1;
            let keys = const { &[T::KEYS] };
            let section = Section::new(self.findings, "this row", row.fields(), place, keys);
            let section = section.with_overrides(overrides).with_number(number);
            let element = T::read_section(section);
            each(self, element);
        }
        // Invalid rows were skipped.
        self.is_incomplete |= self.findings.errors() > before && T::NAME == "link";
    }

    /// Returns the path of a file that the scenario names; `None` if access is not allowed.
    pub(super) fn resolve_path(&mut self, name: &Spanned<String>) -> Option<PathBuf> {
        let here = self.environment.directory;
        let path = match name.as_str() {
            STANDARD_INPUT => Path::new(".").join(STANDARD_INPUT), // a file of that name
            name => here.join(name),
        };
        // Paths on the command line are those of the user.
        let own = self.environment.file_access == FileAccess::Unrestricted
            || self.sources.is_override(name.place().file());
        let here = if here.as_os_str().is_empty() {
            Path::new(".")
        } else {
            here
        };
        let below = match (here.canonicalize(), path.canonicalize()) {
            (Ok(here), Ok(path)) => path.starts_with(here),
            // The file does not exist; the check uses the text of its path.
            _ => Path::new(name.as_str())
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir)),
        };
        if own || below {
            return Some(path);
        }
        let message = format!("`{}` is not below the scenario's directory", **name);
        let help = "use `--allow-outside` to allow all files";
        self.error(ProblemKind::Unreadable, name.place(), message, help);
        None
    }

    /// Reports an included path that is the scenario itself or another one.
    fn is_scenario(&mut self, name: &Spanned<String>, path: &Path) -> bool {
        let same = |other: &Path| match (path.canonicalize(), other.canonicalize()) {
            (Ok(path), Ok(other)) => path == other,
            _ => path == other,
        };
        let help = "[include] needs CSV tables, such as links.csv";
        if same(self.environment.own_path) {
            let message = format!("cyclic include: `{}` is the scenario itself", **name);
            self.error(ProblemKind::Conflict, name.place(), message, help);
            return true;
        }
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        if is_toml {
            let message = format!(
                "`{}` is not a CSV table: scenarios cannot include scenarios",
                **name
            );
            self.error(ProblemKind::Conflict, name.place(), message, help);
        }
        is_toml
    }
}

/// Reports a file of a scenario that could not be read.
pub(super) fn report_unreadable(
    sources: &mut Sources,
    findings: &mut Findings,
    path: &Path,
    place: SourceSpan,
    what: &str,
    refusal: ReadError,
) {
    let shown = path.display();
    match refusal {
        ReadError::Unreadable(error) => {
            let message = format!("cannot read {what}, {shown}: {}", io_error_text(&error));
            let finding = findings.error(ProblemKind::Unreadable, place, message);
            if error.kind() == std::io::ErrorKind::NotFound {
                finding.set_help("paths are relative to the scenario's directory");
            }
        }
        ReadError::Directory => {
            let message = format!("{what} cannot be a directory: {shown}");
            let finding = findings.error(ProblemKind::Unreadable, place, message);
            finding.set_help("name a file in it");
        }
        ReadError::NotRegular(is) => {
            let message = format!("{what} cannot be {is}: {shown}");
            findings.error(ProblemKind::Unreadable, place, message);
        }
        refusal @ ReadError::TooLarge(_) => {
            let message = format!("cannot read {what}, {shown}: {refusal}");
            findings.error(ProblemKind::TooLarge, place, message);
        }
        ReadError::NotUtf8 {
            valid_prefix: before,
            utf16,
        } => report_not_utf8(sources, findings, path, before, utf16),
    }
}
