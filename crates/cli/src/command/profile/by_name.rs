//! Look-up of profiles by name.

use std::sync::Arc;

use netflow::profile::Profile;
use netflow::resolve_name::{self, ResolveError};

use crate::failure::Failure;
use crate::input::unknown_name;

/// Returns the profile of this name or alias, or of this file.
pub fn find(name: &str) -> Result<Arc<dyn Profile>, Failure> {
    resolve_name::profile(name).map_err(|error| match error {
        ResolveError::Invalid(problems) => Failure::Input(problems.into()),
        ResolveError::Unknown(names) => {
            let more = "`netflow profile list` lists all; or give the path of a profile file";
            let message = format!("unknown profile `{name}`");
            unknown_name(message, name, names.into_iter(), Some(more.to_owned()))
        }
    })
}
