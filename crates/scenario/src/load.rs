//! From a file to a network.

use std::path::Path;

use netflow_files::{Kind, Refusal, read_text};
use netflow_workload::Application;
use toml::de::DeTable;

use crate::file::{Scenario, Workload};
use crate::memory;
use crate::place::{FileId, Place};
use crate::prepared::Prepared;
use crate::problem::{Findings, ProblemKind, Problems};
use crate::read::Overrides;
use crate::sources::Sources;
use crate::validate::{Surroundings, application, not_utf8, plain, validate};

/// Which files a scenario may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those below its own folder: a scenario from somebody else reads nothing else.
    #[default]
    Below,
    /// All that can be read.
    Anywhere,
}

/// Reads a scenario file, or the standard input if the path is `-`, and everything it includes from
/// below its folder, checks it, and builds its network.
///
/// `overrides` are settings that are different this time, each as `KEY=VALUE`:
/// `simulation.duration=10 s`, `link.A->B.bandwidth=4 Mbit/s`, `connection.c1.max-window=20 pkt`.
///
/// # Errors
/// Everything that is wrong, and everything suspicious beside it.
pub fn load(path: &Path, overrides: &[String]) -> Result<Prepared, Problems> {
    load_within(path, overrides, Reach::Below)
}

/// As [`load`], with files from where they may be.
///
/// # Errors
/// As [`load`].
pub fn load_within(path: &Path, overrides: &[String], reach: Reach) -> Result<Prepared, Problems> {
    match read_text(path, Kind::Scenario) {
        Ok(text) => {
            let directory = path.parent().unwrap_or(Path::new(""));
            prepare(path, text, directory, overrides, reach)
        }
        Err(refusal) => Err(unread(path, refusal)),
    }
}

/// The same for a text; `name` is what messages call it, and paths in it are relative to
/// `directory`.
///
/// # Errors
/// As [`load`].
pub fn from_str(
    name: &str,
    text: &str,
    directory: &Path,
    overrides: &[String],
) -> Result<Prepared, Problems> {
    let text = text.to_owned();
    prepare(Path::new(name), text, directory, overrides, Reach::Below)
}

/// Reads what a scenario's text says, without its includes, and without asking whether it makes
/// sense.
///
/// # Errors
/// Everything that cannot be read.
pub fn parse(name: &str, text: &str) -> Result<Scenario, Problems> {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (_, text) = sources.add(Path::new(name), text.to_owned());
    let scenario = read(&text, &Overrides::default(), &mut findings);
    match scenario {
        Some(scenario) if !findings.has_errors() => Ok(scenario),
        _ => Err(findings.into_problems(sources)),
    }
}

/// Users of a file, outside of any network.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWorkload {
    /// What they are called.
    pub name: String,
    /// What they do.
    pub application: Application,
    /// Mean time from one's coming to the next's, in seconds.
    pub interarrival_s: f64,
}

/// Reads nothing but the `[[workload]]` tables of a file, which may be a whole scenario or contain
/// only those; clients and servers, if any, are passed over.
///
/// # Errors
/// Everything that is wrong with them; and that there are none.
pub fn workloads(path: &Path) -> Result<Vec<FileWorkload>, Problems> {
    let text = read_text(path, Kind::Scenario).map_err(|refusal| unread(path, refusal))?;
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (_, text) = sources.add(path, text);
    let found = document(&text, &mut findings, |document, findings| {
        Scenario::read_workloads(document, findings)
            .iter()
            .filter_map(|workload| {
                Some(FileWorkload {
                    name: workload.name.to_string(),
                    application: application(workload, findings)?,
                    interarrival_s: workload.interarrival.get(),
                })
            })
            .collect::<Vec<_>>()
    });
    match found {
        Some(found) if !found.is_empty() && !findings.has_errors() => Ok(found),
        _ => {
            if !findings.has_errors() {
                let start = Place::new(FileId::SCENARIO, 0..0);
                let message = "there are no workloads in this file";
                let finding = findings.error(ProblemKind::Missing, start, message);
                finding.help(format!(
                    "add one: [[workload]], and below it {}",
                    Workload::EXAMPLE
                ));
            }
            Err(findings.into_problems(sources))
        }
    }
}

fn prepare(
    path: &Path,
    text: String,
    directory: &Path,
    overrides: &[String],
    reach: Reach,
) -> Result<Prepared, Problems> {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (_, text) = sources.add(path, text);
    let overrides = Overrides::parse(overrides, &mut sources, &mut findings);
    let valid = read(&text, &overrides, &mut findings).and_then(|scenario| {
        let surroundings = Surroundings {
            directory,
            own_path: path,
            reach,
            overrides: &overrides,
        };
        validate(&scenario, &surroundings, &mut sources, &mut findings)
    });
    let Some(valid) = valid else {
        return Err(findings.into_problems(sources));
    };
    let digest = sources.digest();
    sources.keep_texts(|file| findings.is_about(file));
    Ok(Prepared {
        network: valid.network,
        options: valid.options,
        warmup_s: valid.warmup_s,
        seed: valid.seed,
        warnings: findings.finish(&sources),
        sources,
        digest,
        notes: valid.notes,
    })
}

/// One syntax error brings others with it that are none.
const MOST_SYNTAX_ERRORS: usize = 5;

/// What the text says; `None` if it is no TOML.
fn read(text: &str, overrides: &Overrides, findings: &mut Findings) -> Option<Scenario> {
    document(text, findings, |document, findings| {
        Scenario::read(document, overrides, findings)
    })
}

/// What `read` makes of a document; `None` if it is no TOML.
fn document<T>(
    text: &str,
    findings: &mut Findings,
    read: impl FnOnce(&DeTable<'_>, &mut Findings) -> T,
) -> Option<T> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let start = Place::new(FileId::SCENARIO, 0..0);
        let finding = findings.error(ProblemKind::Missing, start, "the scenario is empty");
        finding.help("`netflow new dumbbell` writes one to start from");
        return None;
    }
    if let Err(message) = memory::check_text(text) {
        let start = Place::new(FileId::SCENARIO, 0..0);
        let finding = findings.error(ProblemKind::TooLarge, start, message);
        finding.help(SMALLER);
        return None;
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Some(read(document.get_ref(), findings));
    }
    for error in errors.into_iter().take(MOST_SYNTAX_ERRORS) {
        let span = error.span().unwrap_or(0..0);
        let message = format!("not valid TOML: {}", error.message().replace('\n', "; "));
        findings.error(
            ProblemKind::Syntax,
            Place::new(FileId::SCENARIO, span),
            message,
        );
    }
    None
}

/// The problem of a scenario file that could not be had.
fn unread(path: &Path, refusal: Refusal) -> Problems {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    if let Refusal::NotUtf8 { before } = refusal {
        not_utf8(&mut sources, &mut findings, path, before);
        return findings.into_problems(sources);
    }
    let start = Place::new(sources.add_unread(path), 0..0);
    match refusal {
        Refusal::Unreadable(error) => {
            let message = format!("cannot be read: {}", plain(&error));
            findings.error(ProblemKind::Unreadable, start, message);
        }
        Refusal::Directory => {
            let message = "cannot be read: it is a directory";
            let finding = findings.error(ProblemKind::Unreadable, start, message);
            finding.help("name the scenario file in it");
        }
        Refusal::NotRegular(is) => {
            let message = format!("cannot be read: it is {is}");
            let finding = findings.error(ProblemKind::Unreadable, start, message);
            finding.help("name a file, or `-` for the standard input");
        }
        refusal @ Refusal::TooLarge(_) => {
            let finding = findings.error(ProblemKind::TooLarge, start, refusal.to_string());
            finding.help(SMALLER);
        }
        Refusal::NotUtf8 { .. } => {}
    }
    findings.into_problems(sources)
}

/// What helps a scenario that is too large.
const SMALLER: &str = "put links and connections into CSV tables and include them";
