//! The texts that a scenario was read from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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

    /// Whether it is the text of a `--set` option.
    pub fn is_override(&self, file: FileId) -> bool {
        self.list
            .get(file.0 as usize)
            .is_some_and(|source| source.role == Role::Override)
    }

    /// Adds a file that was read.
    pub fn add(&mut self, path: &Path, text: String) -> (FileId, Arc<String>) {
        self.push(path.to_owned(), text, Role::File)
    }

    /// Adds a `--set` option.
    pub fn add_override(&mut self, text: &str) -> (FileId, Arc<String>) {
        self.push(PathBuf::new(), text.to_owned(), Role::Override)
    }

    /// For a file that problems are about although its text could not be had.
    pub fn add_unread(&mut self, path: &Path) -> FileId {
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
    pub fn keep_texts(&mut self, wanted: impl Fn(FileId) -> bool) {
        for (i, source) in self.list.iter_mut().enumerate() {
            if !wanted(FileId(i as u32)) {
                source.text = None;
            }
        }
    }

    /// The texts of the files, in the order of reading.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let files = self.list.iter().filter(|source| source.role == Role::File);
        files.filter_map(|source| source.text.as_ref().map(|text| text.as_str()))
    }
}
