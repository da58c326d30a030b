//! A JSON formatter with one line per field of an object and per item of its lists.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Returns the value as text, which ends with a newline.
pub(crate) fn to_lines(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let lines = Lines::default();
    // Cannot fail: keys are strings, numbers that are not finite become null, and memory accepts every
    // byte.
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, lines));
    debug_assert!(written.is_ok());
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}

/// Formatter with line ends in the outermost object and in the lists that are its fields.
#[derive(Default)]
struct Lines {
    /// Depth of nesting of open objects and lists.
    depth: usize,
    /// True if the current list has items.
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
        if self.depth == in_lines_at {
            write!(to, "\n{:1$}", "", 2 * in_lines_at)
        } else {
            Ok(())
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
