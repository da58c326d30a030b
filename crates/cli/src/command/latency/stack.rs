//! A built-in stack's name or a stack file's path.

use std::path::Path;

use netflow::tcpmodel::{Stack, StackError, builtin_names};
use netflow_files::Kind;

use crate::failure::Failure;
use crate::input::{read_text, unknown};
use crate::problems::{Problem, Report, Severity};

pub fn find(name: &str) -> Result<Stack, Failure> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        return read(path);
    }
    let all = builtin_names();
    let more = format!("all are {}; or give a stack file's path", all.join(", "));
    let message = format!("there is no stack `{name}`");
    Err(unknown(message, name, all.iter().copied(), Some(more)))
}

fn read(path: &Path) -> Result<Stack, Failure> {
    let text = read_text(path, Kind::Stack)?;
    Stack::from_toml(&text).map_err(|error| {
        Failure::Input(Report {
            problems: vec![problem(&error, path)],
            unreadable: false,
        })
    })
}

fn problem(error: &StackError, path: &Path) -> Problem {
    Problem {
        severity: Severity::Error,
        message: error.kind().to_string(),
        file: Some(path.to_owned()),
        span: error.span(),
        line: error.line(),
        column: error.column(),
        help: error.help(),
    }
}
