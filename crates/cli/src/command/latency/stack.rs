//! A built-in stack's name or a stack file's path.

use std::path::Path;

use netflow::tcpmodel::{Stack, builtin_names};
use netflow_files::Kind;

use crate::failure::Failure;
use crate::input::unknown;

/// What an argument says that takes one.
pub fn help() -> String {
    let names = builtin_names().join(", ");
    format!("The TCP implementation: {names}, or a stack file's path")
}

pub fn find(name: &str) -> Result<Stack, Failure> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        return netflow::document::load(path, Kind::Stack, Stack::read_in)
            .map_err(|problems| Failure::Input(problems.into()));
    }
    let all = builtin_names();
    let more = format!("all are {}; or give a stack file's path", all.join(", "));
    let message = format!("there is no stack `{name}`");
    Err(unknown(message, name, all.iter().copied(), Some(more)))
}
