//! A built-in stack's name or a stack file's path.

use std::path::Path;

use netflow::tcpmodel::{Stack, builtin_names};
use netflow::units::nearest_name;
use netflow_files::Kind;

use crate::failure::Failure;

pub fn find(name: &str) -> Result<Stack, Failure> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        return netflow::document::load(path, Kind::Stack, Stack::read_in)
            .map_err(|problems| Failure::Input(problems.into()));
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
