//! JSON of an object with a line for every field, and for every item of a list that is one.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// The text, with an end of the last line.
pub(crate) fn to_lines(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let lines = Lines::default();
    // Cannot fail: string keys, numbers that are none become null, and memory takes every byte.
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, lines));
    debug_assert!(written.is_ok());
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}

/// Lines end in the outermost object, and in the lists that are its fields.
#[derive(Default)]
struct Lines {
    /// Objects and lists that have begun and not ended.
    depth: usize,
    /// Whether the list that is a field has items.
    has_items: bool,
}

impl Lines {
    fn separate<W: Write + ?Sized>(
        &self,
        to: &mut W,
        first: bool,
        in_lines_at: usize,
    ) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        match self.depth == in_lines_at {
            true => write!(to, "\n{:1$}", "", 2 * in_lines_at),
            false => Ok(()),
        }
    }
}

impl Formatter for Lines {
    fn begin_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"{")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.separate(to, first, 1)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.depth == 1 { b": " } else { b":" })
    }

    fn end_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        to.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.has_items &= self.depth != 2;
        to.write_all(b"[")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.has_items |= self.depth == 2;
        self.separate(to, first, 2)
    }

    fn end_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        let ends_line = self.depth == 1 && self.has_items;
        to.write_all(if ends_line { b"\n  ]" } else { b"]" })
    }
}
