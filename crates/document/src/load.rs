//! Loading of documents from files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use netflow_files::{FileKind, ReadError, read_text};

use crate::{FileId, Findings, ProblemKind, Problems, SourceSpan, Sources};

/// Reads a file and parses its text by `read`, which returns `None` after an error.
///
/// # Errors
/// The file cannot be read, or its content is invalid.
pub fn load<T>(
    path: &Path,
    kind: FileKind,
    read: impl FnOnce(&str, FileId, &mut Findings) -> Option<T>,
) -> Result<T, Problems> {
    let text = read_text(path, kind).map_err(|refusal| unreadable_file(path, refusal, ""))?;
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    let (file, text) = sources.add(path, text);
    read(&text, file, &mut findings).ok_or_else(|| findings.into_problems(sources))
}

impl Sources {
    /// Parses a text that does not come from a file.
    ///
    /// # Errors
    /// The text is invalid.
    pub fn read_text<T>(
        text: &str,
        read: impl FnOnce(&str, FileId, &mut Findings) -> Option<T>,
    ) -> Result<T, Problems> {
        let mut sources = Sources::default();
        let mut findings = Findings::default();
        let (file, text) = sources.add(Path::new(""), text.to_owned());
        read(&text, file, &mut findings).ok_or_else(|| findings.into_problems(sources))
    }
}

/// Returns the problem of a document that cannot be read. `too_large_help` is the help for one that is too
/// large.
pub fn unreadable_file(path: &Path, refusal: ReadError, too_large_help: &str) -> Problems {
    let mut sources = Sources::default();
    let mut findings = Findings::default();
    if let ReadError::NotUtf8 {
        valid_prefix: before,
        utf16,
    } = refusal
    {
        report_not_utf8(&mut sources, &mut findings, path, before, utf16);
        return findings.into_problems(sources);
    }
    let place = SourceSpan::new(sources.add_unreadable(path), 0..0);
    let beside = match &refusal {
        ReadError::Unreadable(error) if error.kind() == ErrorKind::NotFound => nearest_file(path),
        _ => None,
    };
    let (kind, message, help) = match refusal {
        ReadError::Unreadable(error) => (ProblemKind::Unreadable, io_error_text(&error), ""),
        ReadError::Directory => (
            ProblemKind::Unreadable,
            "it is a directory".to_owned(),
            "name the file in it",
        ),
        ReadError::NotRegular(is) => (
            ProblemKind::Unreadable,
            format!("it is {is}"),
            "name a file, or `-` for the standard input",
        ),
        refusal => (ProblemKind::TooLarge, refusal.to_string(), too_large_help),
    };
    let message = match kind {
        ProblemKind::Unreadable => format!("cannot be read: {message}"),
        _ => message,
    };
    let finding = findings.error(kind, place, message);
    let help = match beside {
        Some(beside) => format!("did you mean {}?", beside.display()),
        None => help.to_owned(),
    };
    if !help.is_empty() {
        finding.set_help(help);
    }
    findings.into_problems(sources)
}

/// Returns the file of the most similar name in the same folder.
fn nearest_file(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let files = files.filter(|it| it.path().is_file());
    let mut names: Vec<String> = files
        .filter_map(|it| it.file_name().into_string().ok())
        .collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    let near = netflow_units::nearest_name(wanted, names.iter().map(String::as_str), &[])?;
    Some(path.with_file_name(near))
}

/// Reports a file that is not UTF-8, at its first invalid byte.
pub fn report_not_utf8(
    sources: &mut Sources,
    findings: &mut Findings,
    path: &Path,
    before: String,
    utf16: bool,
) {
    let (file, text) = sources.add(path, before);
    let byte = text.len();
    let place = SourceSpan::new(file, byte..byte);
    let message = if utf16 {
        "the file is UTF-16, not UTF-8".to_owned()
    } else {
        format!("not UTF-8 at byte {byte}")
    };
    findings
        .error(ProblemKind::Syntax, place, message)
        .set_help("save the file as UTF-8");
}

/// Returns the text of an operating system error without its number.
pub fn io_error_text(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error")
                .next()
                .unwrap_or_default()
                .to_lowercase()
        }
    }
}
