//! A built-in stack's name or a stack file's path.

use std::path::Path;

use netflow::tcpmodel::{Stack, StackError, builtin_names};
use netflow::units::nearest_name;
use netflow_files::Kind;

use crate::failure::Failure;
use crate::input::read_text;
use crate::problems::{Problem, Report, Severity};

pub fn find(name: &str) -> Result<Stack, Failure> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        return read(path);
    }
    let all = builtin_names().join(", ");
    let nearest = match nearest_name(name, builtin_names().iter().copied(), &[]) {
        Some(nearest) => format!("the nearest name is `{nearest}`; "),
        None => String::new(),
    };
    Err(Failure::Usage {
        message: format!("there is no stack `{name}`"),
        help: Some(format!(
            "{nearest}all are {all}; or give a stack file's path"
        )),
    })
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
