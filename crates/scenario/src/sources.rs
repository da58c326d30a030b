//! The texts that a scenario was read from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::place::FileId;

/// The files that a scenario was read from, in the order of reading: the scenario itself, its
/// tables, and the profile files it names.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    text: Option<Arc<String>>,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    File,
    /// The text of a `--set` option.
    Override,
}

impl Sources {
    /// Paths of the files, in the order of reading.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        let files = self.list.iter().filter(|source| source.role == Role::File);
        files.map(|source| source.path.as_path())
    }

    /// The text of a file, if it was kept: texts in which no problem was found are not.
    pub fn text(&self, file: FileId) -> Option<&str> {
        self.list
            .get(file.0 as usize)?
            .text
            .as_deref()
            .map(String::as_str)
    }

    /// The path of a file; `None` for the text of a `--set` option.
    pub fn path(&self, file: FileId) -> Option<&Path> {
        let source = self.list.get(file.0 as usize)?;
        (source.role == Role::File).then_some(source.path.as_path())
    }

    pub(crate) fn is_override(&self, file: FileId) -> bool {
        self.list
            .get(file.0 as usize)
            .is_some_and(|source| source.role == Role::Override)
    }

    pub(crate) fn add(&mut self, path: &Path, text: String) -> (FileId, Arc<String>) {
        self.push(path.to_owned(), text, Role::File)
    }

    pub(crate) fn add_override(&mut self, text: &str) -> (FileId, Arc<String>) {
        self.push(PathBuf::new(), text.to_owned(), Role::Override)
    }

    /// For a file that problems are about although its text could not be had.
    pub(crate) fn add_unread(&mut self, path: &Path) -> FileId {
        self.push(path.to_owned(), String::new(), Role::File).0
    }

    fn push(&mut self, path: PathBuf, text: String, role: Role) -> (FileId, Arc<String>) {
        let id = FileId(self.list.len() as u32);
        let text = Arc::new(text);
        self.list.push(Source {
            path,
            text: Some(text.clone()),
            role,
        });
        (id, text)
    }

    /// Forgets the texts that nobody will point into.
    pub(crate) fn keep_texts(&mut self, wanted: impl Fn(FileId) -> bool) {
        for (i, source) in self.list.iter_mut().enumerate() {
            if !wanted(FileId(i as u32)) {
                source.text = None;
            }
        }
    }

    /// SHA-256 of all files one after the other, in hex.
    pub(crate) fn digest(&self) -> String {
        let files = self.list.iter().filter(|source| source.role == Role::File);
        digest(files.filter_map(|source| source.text.as_ref().map(|text| text.as_str())))
    }
}

/// SHA-256 of some texts one after the other, in hex: what [`Prepared::digest`](crate::Prepared)
/// is of the files of a scenario in the order of reading.
pub fn digest<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
