//! Changes of a scenario file that keep everything else as it is, with its comments.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use netflow_document::{FileId, Problems, SourceSpan};
use netflow_files::{FileKind, STANDARD_INPUT, check_overwrite, read_text, write_unless_foreign};
use netflow_scenario::{CompiledScenario, FileAccess, for_steady_state, load_text};

/// Reason why a changed scenario was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The scenario was read from the standard input, which can be read only once.
    #[error("the scenario is read again, which the standard input does not allow")]
    StandardInput,
    /// The changed scenario is not valid.
    #[error("the changed scenario is not valid: {}", first_message(.0))]
    Invalid(Problems),
    /// The changed scenario cannot be written.
    #[error("{0}")]
    Write(String),
}

fn first_message(problems: &Problems) -> String {
    let mut all = problems.clone().into_vec().into_iter();
    all.next()
        .map_or_else(String::new, |it| it.location() + &it.message)
}

/// Text that replaces a range of bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// Value that replaces the one at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Replacement {
    pub place: SourceSpan,
    pub value: String,
    /// Name of the setting, for errors: `the bandwidth of A->B`.
    pub setting: String,
}

/// Text of a scenario with the settings of its evaluation.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    overrides: Vec<String>,
    file_access: FileAccess,
}

impl ScenarioFile {
    /// Reads the file of a scenario again.
    ///
    /// # Errors
    /// [`EditError::StandardInput`], and [`EditError::Write`] if it cannot be read.
    pub fn read(path: &Path, scenario: &CompiledScenario) -> Result<ScenarioFile, EditError> {
        if path == Path::new(STANDARD_INPUT) {
            return Err(EditError::StandardInput);
        }
        let text = read_text(path, FileKind::Scenario)
            .map_err(|refusal| EditError::Write(format!("{}: {refusal}", path.display())))?;
        Ok(ScenarioFile::of_text(path.to_owned(), text, scenario))
    }

    /// Takes the text of a scenario. Paths in it are relative to the directory of `path`.
    pub fn of_text(path: PathBuf, text: String, scenario: &CompiledScenario) -> ScenarioFile {
        ScenarioFile {
            path,
            text,
            overrides: scenario.overrides.clone(),
            file_access: scenario.file_access,
        }
    }

    /// Checks whether the paths in the scenario stay valid in a file at `path`.
    ///
    /// # Errors
    /// [`EditError::Write`]: the scenario includes tables and `path` is in another directory.
    pub fn check_directory(
        &self,
        scenario: &CompiledScenario,
        path: &Path,
    ) -> Result<(), EditError> {
        let has_tables = scenario.sources.iter().count() > 1;
        if has_tables && directory(path) != directory(&self.path) {
            return Err(EditError::Write(format!(
                "{} includes other files: write the result to the same directory",
                self.path.display()
            )));
        }
        Ok(())
    }

    /// Loads the scenario for the steady state, with an edit of its text and with further settings.
    pub(crate) fn load(
        &self,
        edit: Option<Edit>,
        settings: Vec<String>,
    ) -> Result<CompiledScenario, EditError> {
        let text = edited(&self.text, edit.into_iter().collect());
        let overrides = [&*self.overrides, &settings].concat();
        let load =
            |overrides: &[String]| load_text(&self.path, text.clone(), overrides, self.file_access);
        let scenario = load(&overrides).map_err(EditError::Invalid)?;
        Ok(for_steady_state(scenario, |more| {
            load(&[&*overrides, more].concat())
        }))
    }

    /// Returns the scenario as the syntax describes it, without a check of its values.
    pub(crate) fn parsed(&self) -> Option<netflow_scenario::file::Scenario> {
        netflow_scenario::parse(&self.path.to_string_lossy(), &self.text).ok()
    }

    /// Returns whether links are `[[link]]` tables, and not `link = [ … ]`.
    pub(crate) fn has_link_tables(&self) -> bool {
        let is_header = |line: &str| {
            let words: String = line.split_whitespace().collect();
            words.starts_with("[[link]]")
        };
        self.text.lines().any(is_header)
    }

    /// Writes the changed scenario to `path`, and its table of links, if a value in it changes, to a file next to it. Each
    /// begins with `mark` and `remark`; a file that exists is replaced only if it begins with `mark`. Returns the
    /// files and the scenario that they contain.
    pub(crate) fn write(
        &self,
        scenario: &CompiledScenario,
        replacements: Vec<Replacement>,
        edits: Vec<Edit>,
        (mark, remark): (&str, &str),
        path: &Path,
    ) -> Result<(Vec<PathBuf>, CompiledScenario), EditError> {
        let refuse = |message: String| Err(EditError::Write(message));
        self.check_directory(scenario, path)?;
        let first_line = format!("{mark}{remark}");
        let mut own = edits;
        let mut by_table: BTreeMap<PathBuf, Vec<Edit>> = BTreeMap::new();
        for replacement in replacements {
            let edit = Edit {
                range: replacement.place.span(),
                text: replacement.value,
            };
            if replacement.place.file() == FileId::FIRST {
                own.push(edit);
                continue;
            }
            let Some(source) = scenario.sources.path(replacement.place.file()) else {
                return refuse(format!(
                    "{} is in --set: write it to the scenario first",
                    replacement.setting
                ));
            };
            by_table.entry(source.to_owned()).or_default().push(edit);
        }
        let mut written = Vec::new();
        for (source, edits) in by_table {
            let table = read_text(&source, FileKind::Table)
                .map_err(|refusal| EditError::Write(format!("{}: {refusal}", source.display())))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}-links.csv");
            written.push((
                path.with_file_name(&name),
                format!("{first_line}\n{}", edited(&table, edits)),
            ));
            let Some(range) = self.place_of_link_table() else {
                return refuse(format!("{} is not in [include]", source.display()));
            };
            let text = format!("\"{name}\"");
            own.push(Edit { range, text });
        }
        written.push((
            path.to_owned(),
            format!("{first_line}\n{}", edited(&self.text, own)),
        ));
        let cannot_write = |path: &Path, error: &dyn std::fmt::Display| {
            EditError::Write(format!("cannot write {}: {error}", path.display()))
        };
        // Nothing is written if one of them cannot be.
        for (path, _) in &written {
            check_overwrite(path, Some(mark)).map_err(|error| cannot_write(path, &error))?;
        }
        for (path, text) in &written {
            write_unless_foreign(path, text.as_bytes(), Some(mark))
                .map_err(|error| cannot_write(path, &error))?;
        }
        let result = netflow_scenario::load_within(path, &self.overrides, self.file_access)
            .map_err(EditError::Invalid)?;
        Ok((written.into_iter().rev().map(|it| it.0).collect(), result))
    }

    /// Returns the place of `links` in `[include]`.
    fn place_of_link_table(&self) -> Option<Range<usize>> {
        Some(
            self.parsed()?
                .include
                .as_ref()?
                .links
                .as_ref()?
                .place()
                .span(),
        )
    }
}

fn directory(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    parent.canonicalize().ok()
}

/// Applies edits to a text; equal ones count once. A value in quotes stays in quotes.
fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|it| it.range.start);
    edits.dedup();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for Edit { range, text: value } in edits {
        result += &text[at..range.start];
        match text[range.clone()].chars().next() {
            Some(quote @ ('"' | '\'')) if !value.starts_with(quote) => {
                result.push(quote);
                result += &value;
                result.push(quote);
            }
            _ => result += &value,
        }
        at = range.end;
    }
    result + &text[at..]
}
