//! Selection of a TCP stack: the name of a built-in one, or the path of a file.

use clap::Args;
use netflow::document::Words;
use netflow::resolve_name::{self, ResolveError};
use netflow::tcpmodel::{CongestionControl, Stack, builtin_names};

use crate::failure::Failure;
use crate::input::unknown_name;
use crate::parse::word;

/// Which TCP, beside its stack.
#[derive(Args)]
pub struct StackChanges {
    /// Congestion control, instead of the default of the stack
    #[arg(long, value_parser = word::<CongestionControl>())]
    pub congestion: Option<CongestionControl>,
}

/// Returns the help of an argument that takes a stack.
pub fn help() -> String {
    let names = builtin_names().join(", ");
    format!("TCP implementation: {names}, or the path of a stack file")
}

/// Returns the stack of this name or file, with the changes applied.
pub fn find(name: &str, changes: &StackChanges) -> Result<Stack, Failure> {
    let mut stack = by_name(name)?;
    if let Some(congestion) = changes.congestion {
        if let Some(message) = stack.congestion_error(congestion) {
            return Err(Failure::Usage {
                message,
                help: Some("--stack linux-6 supports all of them".to_owned()),
            });
        }
        stack.set_congestion(congestion);
        stack.name = format!("{}, {}", stack.name, congestion.name());
    }
    Ok(stack)
}

fn by_name(name: &str) -> Result<Stack, Failure> {
    resolve_name::stack(name).map_err(|error| match error {
        ResolveError::Invalid(problems) => Failure::Input(problems.into()),
        ResolveError::Unknown(all) => {
            let more = format!(
                "the stacks are {}; or give the path of a stack file",
                all.join(", ")
            );
            let message = format!("unknown stack `{name}`");
            unknown_name(message, name, all.into_iter(), Some(more))
        }
    })
}
