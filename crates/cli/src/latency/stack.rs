//! A built-in stack's name or a stack file's path.

use std::fs;
use std::path::Path;

use netflow::tcpmodel::{Stack, StackError, builtin_names};

use crate::failure::Failure;
use crate::problems::{Problem, Report, Severity};

pub fn find(name: &str) -> Result<Stack, Failure> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        return read(path);
    }
    let nearest = builtin_names()
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min();
    Err(Failure::Usage {
        message: format!("there is no stack `{name}`"),
        help: nearest.map(|(_, nearest)| {
            let all = builtin_names().join(", ");
            format!("the nearest name is `{nearest}`; all are {all}; or give a stack file's path")
        }),
    })
}

fn read(path: &Path) -> Result<Stack, Failure> {
    let text = fs::read_to_string(path).map_err(|source| Failure::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
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
