//! Lookup of profiles and stacks by a built-in name or a file's path.

use std::path::Path;
use std::sync::Arc;

use netflow_document::Problems;
use netflow_files::FileKind;
use netflow_profile::Profile;
use netflow_tcpmodel::Stack;

/// Reason why nothing was found.
#[derive(Debug)]
pub enum ResolveError {
    /// Neither a known name nor a path; contains all known names.
    Unknown(Vec<&'static str>),
    /// The file is invalid, or cannot be read.
    Invalid(Problems),
}

/// Returns a built-in profile by its name or alias, or the profile of a file.
///
/// # Errors
/// If the name is unknown, or the file is invalid.
pub fn profile(name: &str) -> Result<Arc<dyn Profile>, ResolveError> {
    if let Some(profile) = netflow_profile::builtin(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    let has_folders = path.extension().is_some() && path.components().count() > 1;
    if path.exists() || has_folders || name.ends_with(".toml") {
        return netflow_profile::load(path).map_err(ResolveError::Invalid);
    }
    let aliases = netflow_profile::aliases().iter().map(|(alias, _)| *alias);
    let names = netflow_profile::builtin_names().iter().copied();
    Err(ResolveError::Unknown(names.chain(aliases).collect()))
}

/// Returns a built-in stack, or the stack of a file.
///
/// # Errors
/// As [`profile`].
pub fn stack(name: &str) -> Result<Stack, ResolveError> {
    if let Some(stack) = Stack::builtin(name) {
        return Ok(stack);
    }
    let path = Path::new(name);
    if path.exists() || name.ends_with(".toml") {
        let loaded = netflow_document::load(path, FileKind::Stack, Stack::read_in);
        return loaded.map_err(ResolveError::Invalid);
    }
    Err(ResolveError::Unknown(
        netflow_tcpmodel::builtin_names().to_vec(),
    ))
}
