//! Loading of scenario files: reading, validation and construction of the network.

use std::path::Path;

use netflow_document::{
    Element, Fields, FileId, Findings, Overrides, ProblemKind, Problems, SourceSpan, Sources,
    unreadable_file,
};
use netflow_files::{FileKind, read_text};
use netflow_workload::Application;

use crate::compiled_scenario::{CompiledScenario, digest};
use crate::file::{Scenario, Workload};
use crate::former_names::FORMER_NAMES;
use crate::memory_limit;
use crate::validate::{Environment, application, validate};

/// Directories from which a scenario may read files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Those below its own directory, so that a scenario from an untrusted source reads no other
    /// files.
    #[default]
    BelowDirectory,
    /// Any readable file.
    Unrestricted,
}

/// Reads a scenario file, or the standard input if the path is `-`, with all its includes from
/// below its directory. It validates the scenario and builds its network.
///
/// `overrides` are settings that replace those of the file, each as `KEY=VALUE`:
/// `simulation.duration=10 s`, `link.A->B.bandwidth=4 Mbit/s`, `connection.c1.max-window=20 pkt`.
///
/// # Errors
/// All errors, together with all warnings.
pub fn load(path: &Path, overrides: &[String]) -> Result<CompiledScenario, Problems> {
    load_within(path, overrides, FileAccess::BelowDirectory)
}

/// Works as [`load`], with files from the given range.
///
/// # Errors
/// As [`load`].
pub fn load_within(
    path: &Path,
    overrides: &[String],
    reach: FileAccess,
) -> Result<CompiledScenario, Problems> {
    match read_text(path, FileKind::Scenario) {
        Ok(text) => {
            let directory = path.parent().unwrap_or(Path::new(""));
            compile(path, text, directory, overrides, reach)
        }
        Err(refusal) => Err(unreadable_file(path, refusal, TOO_LARGE_HELP)),
    }
}

/// Reads a scenario from a text. `name` is its name in messages, and paths in it are relative to
/// `directory`.
///
/// # Errors
/// As [`load`].
pub fn from_str(
    name: &str,
    text: &str,
    directory: &Path,
    overrides: &[String],
) -> Result<CompiledScenario, Problems> {
    let text = text.to_owned();
    compile(
        Path::new(name),
        text,
        directory,
        overrides,
        FileAccess::BelowDirectory,
    )
}

/// Works as [`load_within`], with `text` instead of the contents of the file at `path`.
///
/// # Errors
/// As [`load`].
pub fn load_text(
    path: &Path,
    text: String,
    overrides: &[String],
    reach: FileAccess,
) -> Result<CompiledScenario, Problems> {
    let directory = path.parent().unwrap_or(Path::new(""));
    compile(path, text, directory, overrides, reach)
}

/// Parses a scenario's text without its includes and without validation.
///
/// # Errors
/// Everything that cannot be parsed.
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

/// Workload of a file, independent of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWorkload {
    /// Name of the workload.
    pub name: String,
    /// Behaviour of a user.
    pub application: Application,
    /// Mean interarrival time of users in seconds.
    pub interarrival_s: f64,
}

/// Reads only the `[[workload]]` tables of a file, which may be a whole scenario or only these
/// tables. Clients and servers are ignored.
///
/// # Errors
/// All errors in them; and a file without any.
pub fn workloads(path: &Path) -> Result<Vec<FileWorkload>, Problems> {
    let text = read_text(path, FileKind::Scenario)
        .map_err(|refusal| unreadable_file(path, refusal, TOO_LARGE_HELP))?;
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
                let start = SourceSpan::new(FileId::FIRST, 0..0);
                let message = "the file has no workloads";
                let finding = findings.error(ProblemKind::Missing, start, message);
                finding.set_help(format!(
                    "add one: [[workload]] with {}",
                    Workload::example()
                ));
            }
            Err(findings.into_problems(sources))
        }
    }
}

fn compile(
    path: &Path,
    text: String,
    directory: &Path,
    settings: &[String],
    reach: FileAccess,
) -> Result<CompiledScenario, Problems> {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (_, text) = sources.add(path, text);
    let overrides = Overrides::parse(settings, FORMER_NAMES, &mut sources, &mut findings);
    let valid = read(&text, &overrides, &mut findings).and_then(|scenario| {
        let surroundings = Environment {
            directory,
            own_path: path,
            file_access: reach,
            overrides: &overrides,
        };
        validate(&scenario, &surroundings, &mut sources, &mut findings)
    });
    let Some(valid) = valid else {
        return Err(findings.into_problems(sources));
    };
    let digest = digest(sources.texts());
    sources.retain_texts(|file| findings.has_findings_in(file));
    Ok(CompiledScenario {
        network: valid.network,
        options: valid.options,
        warmup_s: valid.warmup_s,
        seed: valid.seed,
        warnings: findings.finish(&sources),
        sources,
        overrides: settings.to_vec(),
        file_access: reach,
        digest,
        node_annotations: valid.node_annotations,
        demands: valid.demands,
        split: valid.split,
        has_mean_traffic: valid.has_means,
        link_places: valid.link_places,
        packet_model_reason: valid.packet_model_reason,
        ecmp: valid.ecmp,
        packet_size: valid.packet_size,
    })
}

/// Parses a scenario; `None` if the text is not TOML.
fn read(text: &str, overrides: &Overrides, findings: &mut Findings) -> Option<Scenario> {
    document(text, findings, |document, findings| {
        Scenario::read(document, overrides, findings)
    })
}

/// Applies `read` to a document; `None` if the text is not TOML.
fn document<T>(
    text: &str,
    findings: &mut Findings,
    read: impl FnOnce(Fields<'_>, &mut Findings) -> T,
) -> Option<T> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let start = SourceSpan::new(FileId::FIRST, 0..0);
        let finding = findings.error(ProblemKind::Missing, start, "the scenario is empty");
        finding.set_help("`netflow new dumbbell` writes an example");
        return None;
    }
    if let Err(message) = memory_limit::check_text(text) {
        let start = SourceSpan::new(FileId::FIRST, 0..0);
        let finding = findings.error(ProblemKind::TooLarge, start, message);
        finding.set_help(TOO_LARGE_HELP);
        return None;
    }
    netflow_document::parse_renamed(text, FileId::FIRST, FORMER_NAMES, findings, read)
}

/// Help for a scenario that is too large.
const TOO_LARGE_HELP: &str = "put links and connections into CSV tables and include them";
