//! Profiles by name.

use std::path::Path;
use std::sync::Arc;

use netflow::profile::{Profile, aliases, builtin, builtin_names, load};

use crate::failure::Failure;
use crate::input::unknown;

/// A built-in profile's name or alias, or a profile file's path.
pub fn find(name: &str) -> Result<Arc<dyn Profile>, Failure> {
    if let Some(profile) = builtin(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    if path.exists()
        || path.extension().is_some() && path.components().count() > 1
        || name.ends_with(".toml")
    {
        return load(path).map_err(|error| Failure::Input(error.into()));
    }
    let names = builtin_names()
        .iter()
        .chain(aliases().iter().map(|(alias, _)| alias))
        .copied();
    let more = "`netflow profile list` shows all; or give a profile file's path";
    let message = format!("there is no profile `{name}`");
    Err(unknown(message, name, names, Some(more.to_owned())))
}
