//! Reader of CSV tables.

use netflow_document::{
    Element, Findings, Place, ProblemKind, Section, Sources, Spanned, not_utf8, open, plain,
};
use std::path::{Component, Path, PathBuf};

use netflow_files::{Kind, Refusal, STANDARD_INPUT, read_text};

use super::Validator;
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
        let Some(path) = self.reach(name) else {
            self.incomplete = true;
            return;
        };
        if self.is_scenario(name, &path) {
            self.incomplete = true;
            return;
        }
        let text = match read_text(&path, Kind::Table) {
            Ok(text) => text,
            Err(refusal) => {
                let what = format!("the table of {}s", T::NAME);
                refused(
                    self.sources,
                    self.findings,
                    &path,
                    name.place(),
                    &what,
                    refusal,
                );
                self.incomplete = true;
                return;
            }
        };
        let (file, text) = self.sources.add(&path, text);
        let rows = memory_limit::lines(&text);
        if let Err(message) = memory_limit::check_rows(rows, T::NAME) {
            let help =
                "split the scenario, or describe identical connections by one with a `count`";
            self.error(ProblemKind::TooLarge, name.place(), message, help);
            self.incomplete = true;
            return;
        }
        if T::NAME == "connection" {
            self.reserve(rows);
        }
        let Some((mut csv, mut row)) = open::<T>(file, &text, self.findings) else {
            self.incomplete = true;
            return;
        };
        let overrides = self.surroundings.overrides;
        while csv.next(&mut row, self.findings) {
            let place = row.place().unwrap_or(Place::new(file, 0..0));
            // Connections are numbered across all files.
            let number = self.connections.seen + 1;
            let keys = const { &[T::KEYS] };
            let section = Section::new(self.findings, "this row", row.fields(), place, keys);
            let section = section.with(overrides).numbered(number);
            let element = T::read_section(section);
            each(self, element);
        }
        // Invalid rows were skipped.
        self.incomplete |= self.findings.errors() > before && T::NAME == "link";
    }

    /// Returns the path of a file that the scenario names; `None` if access is not allowed.
    pub(super) fn reach(&mut self, name: &Spanned<String>) -> Option<PathBuf> {
        let here = self.surroundings.directory;
        let path = match name.as_str() {
            STANDARD_INPUT => Path::new(".").join(STANDARD_INPUT), // a file of that name
            name => here.join(name),
        };
        // Paths on the command line are those of the user.
        let own = self.surroundings.reach == FileAccess::Unrestricted
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
        let message = format!("`{}` is not below the scenario's folder", **name);
        let help = "`--allow-outside` lets a scenario read files from anywhere";
        self.error(ProblemKind::Unreadable, name.place(), message, help);
        None
    }

    /// Reports an included path that is the scenario itself or another one.
    fn is_scenario(&mut self, name: &Spanned<String>, path: &Path) -> bool {
        let same = |other: &Path| match (path.canonicalize(), other.canonicalize()) {
            (Ok(path), Ok(other)) => path == other,
            _ => path == other,
        };
        let help = "[include] takes CSV tables, such as links.csv";
        if same(self.surroundings.own_path) {
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
pub(super) fn refused(
    sources: &mut Sources,
    findings: &mut Findings,
    path: &Path,
    place: Place,
    what: &str,
    refusal: Refusal,
) {
    let shown = path.display();
    match refusal {
        Refusal::Unreadable(error) => {
            let message = format!("cannot read {what}, {shown}: {}", plain(&error));
            let finding = findings.error(ProblemKind::Unreadable, place, message);
            if error.kind() == std::io::ErrorKind::NotFound {
                finding.help("paths are relative to the scenario's directory");
            }
        }
        Refusal::Directory => {
            let message = format!("{what} cannot be a directory: {shown}");
            let finding = findings.error(ProblemKind::Unreadable, place, message);
            finding.help("name a file in it");
        }
        Refusal::NotRegular(is) => {
            let message = format!("{what} cannot be {is}: {shown}");
            findings.error(ProblemKind::Unreadable, place, message);
        }
        refusal @ Refusal::TooLarge(_) => {
            let message = format!("cannot read {what}, {shown}: {refusal}");
            findings.error(ProblemKind::TooLarge, place, message);
        }
        Refusal::NotUtf8 { before, utf16 } => not_utf8(sources, findings, path, before, utf16),
    }
}
