//! Source texts of a scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source_span::FileId;

/// The source files of a scenario in the order of reading: the scenario, its tables, and the profile
/// files that it refers to.
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
    /// Returns the paths of the files, in the order of reading.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        let files = self.list.iter().filter(|source| source.role == Role::File);
        files.map(|source| source.path.as_path())
    }

    /// Returns the text of a file if it was kept. Texts without problems are dropped.
    pub fn text(&self, file: FileId) -> Option<&str> {
        self.list
            .get(file.0 as usize)?
            .text
            .as_deref()
            .map(String::as_str)
    }

    /// Returns the path of a file; `None` for a `--set` option.
    pub fn path(&self, file: FileId) -> Option<&Path> {
        let source = self.list.get(file.0 as usize)?;
        (source.role == Role::File).then_some(source.path.as_path())
    }

    /// Returns whether it is a `--set` option.
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

    /// Adds a file whose text could not be read.
    pub fn add_unreadable(&mut self, path: &Path) -> FileId {
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

    /// Drops texts that no problem refers to.
    pub fn retain_texts(&mut self, wanted: impl Fn(FileId) -> bool) {
        for (i, source) in self.list.iter_mut().enumerate() {
            if !wanted(FileId(i as u32)) {
                source.text = None;
            }
        }
    }

    /// Returns the texts of the files, in the order of reading.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let files = self.list.iter().filter(|source| source.role == Role::File);
        files.filter_map(|source| source.text.as_ref().map(|text| text.as_str()))
    }
}
