//! A built-in stack's name or a stack file's path.

use netflow::find::{self, FindError};
use netflow::tcpmodel::{Stack, builtin_names};

use crate::failure::Failure;
use crate::input::unknown;

/// What an argument says that takes one.
pub fn help() -> String {
    let names = builtin_names().join(", ");
    format!("The TCP implementation: {names}, or a stack file's path")
}

pub fn find(name: &str) -> Result<Stack, Failure> {
    find::stack(name).map_err(|error| match error {
        FindError::Wrong(problems) => Failure::Input(problems.into()),
        FindError::Unknown(all) => {
            let more = format!("all are {}; or give a stack file's path", all.join(", "));
            let message = format!("there is no stack `{name}`");
            unknown(message, name, all.into_iter(), Some(more))
        }
    })
}
