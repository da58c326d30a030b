//! Invalid scenarios in `tests/invalid`, each of which must give the message stored next to it.
//!
//! `UPDATE=1 cargo test -p netflow-scenario --test invalid` rewrites the messages; review them
//! before a commit. A first line `# --set KEY=VALUE` is an option.

use std::fmt::Write;
use std::path::Path;

use netflow_scenario::{Severity, load};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/invalid");

#[test]
fn invalid_scenarios_are_rejected_with_expected_message() {
    // Messages name files as they were given.
    std::env::set_current_dir(FOLDER).expect("the folder of broken scenarios");
    let mut names: Vec<String> = std::fs::read_dir(".")
        .expect("the folder of broken scenarios")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name in UTF-8")
        })
        .filter(|name| name.ends_with(".toml") && !name.ends_with(".profile.toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 60, "only {} broken scenarios", names.len());

    let update = std::env::var_os("UPDATE").is_some();
    let mut failures = String::new();
    for name in &names {
        let found = error_message(Path::new(name));
        let file = Path::new(name).with_extension("expected");
        if update {
            std::fs::write(&file, &found).expect("a written expectation");
        }
        let expected =
            std::fs::read_to_string(&file).unwrap_or_else(|_| format!("(no {})\n", file.display()));
        if found != expected {
            let _ = write!(failures, "\n{name}: expected\n{expected}but found\n{found}");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Returns the message about a scenario, which must be an error with a location.
fn error_message(path: &Path) -> String {
    let text = std::fs::read(path).expect("a scenario");
    let text = String::from_utf8_lossy(&text);
    let option = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# --set "));
    let options: Vec<String> = option.map(ToOwned::to_owned).into_iter().collect();
    let Err(problems) = load(path, &options) else {
        return "accepted\n".to_owned();
    };
    let mut errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .peekable();
    assert!(
        errors.peek().is_some(),
        "{} is refused without an error",
        path.display()
    );
    for error in errors {
        if error.message.starts_with("--set ") {
            continue;
        }
        assert!(error.file.is_some(), "no file: {error}");
        assert!(
            error.line.is_some() && error.column.is_some() && error.span.is_some(),
            "no place: {error}"
        );
    }
    let said = format!("{problems}\n");
    assert!(!said.contains(FOLDER), "{said}");
    said
}
