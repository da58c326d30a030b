//! Compact set of names.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// List of distinct names in one allocation.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    /// End offset of each name.
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Names {
    pub(super) fn reserve(&mut self, additional: usize) {
        let Names {
            ends,
            table,
            hasher,
            text,
            ..
        } = self;
        ends.reserve(additional);
        table.reserve(additional, |&i| hasher.hash_one(name(text, ends, i)));
    }

    /// Adds a name and returns its index, or the index of the existing one as an error.
    pub(super) fn add(&mut self, new: &str) -> Result<usize, usize> {
        let Names {
            text,
            ends,
            table,
            hasher,
        } = self;
        let hash = hasher.hash_one(new);
        if let Some(&known) = table.find(hash, |&i| name(text, ends, i) == new) {
            return Err(known as usize);
        }
        let id = ends.len();
        text.push_str(new);
        ends.push(text.len());
        table.insert_unique(hash, id as u32, |&i| hasher.hash_one(name(text, ends, i)));
        Ok(id)
    }

    pub(super) fn find(&self, wanted: &str) -> Option<usize> {
        let hash = self.hasher.hash_one(wanted);
        let found = self
            .table
            .find(hash, |&i| name(&self.text, &self.ends, i) == wanted);
        found.map(|&i| i as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.ends.len()).map(|i| name(&self.text, &self.ends, i as u32))
    }
}

fn name<'a>(text: &'a str, ends: &[usize], i: u32) -> &'a str {
    let i = i as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] };
    &text[start..ends[i]]
}
