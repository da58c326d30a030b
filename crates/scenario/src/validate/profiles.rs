//! Profiles by name or from files, each loaded once.

use netflow_document::{ProblemKind, Spanned};
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use netflow_files::{FileKind, read_text};
use netflow_profile::{Profile, aliases, builtin, builtin_names, read_in};

use super::{Validator, tables};

/// Profiles requested so far; `None` for a profile that does not exist.
#[derive(Default)]
pub(super) struct Profiles {
    loaded: HashMap<String, Option<Arc<dyn Profile>>>,
}

impl Validator<'_> {
    pub(super) fn profile(&mut self, name: &Spanned<String>) -> Option<Arc<dyn Profile>> {
        match self.profiles.loaded.get(name.as_str()) {
            Some(Some(profile)) => return Some(profile.clone()),
            Some(None) if is_path(name) => return None, // said once
            _ => {}
        }
        let profile = builtin(name).or_else(|| {
            if is_path(name) {
                self.profile_file(name)
            } else {
                self.unknown_profile(name);
                None
            }
        });
        self.profiles
            .loaded
            .insert(name.to_string(), profile.clone());
        profile
    }

    fn unknown_profile(&mut self, name: &Spanned<String>) {
        let message = format!("unknown profile `{}`", **name);
        let names = builtin_names().iter().copied();
        let names = names.chain(aliases().iter().map(|(alias, _)| *alias));
        let help = self
            .findings
            .allowed_names_help(name, "built-in profiles", names);
        let help = format!("{help}; a profile file's name ends with .toml");
        self.error(ProblemKind::UnknownName, name.place(), message, &help);
    }

    fn profile_file(&mut self, name: &Spanned<String>) -> Option<Arc<dyn Profile>> {
        let path = self.resolve_path(name)?;
        let text = match read_text(&path, FileKind::Profile) {
            Ok(text) => text,
            Err(refusal) => {
                tables::report_unreadable(
                    self.sources,
                    self.findings,
                    &path,
                    name.place(),
                    "the profile",
                    refusal,
                );
                return None;
            }
        };
        let (file, text) = self.sources.add(&path, text);
        read_in(&text, file, self.findings)
    }
}

/// Returns whether a name is a path of a file; names of built-in profiles never are.
pub(super) fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    name.contains(['/', '\\'])
        || path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}
