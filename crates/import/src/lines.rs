//! Lines and words of a text, with their byte offsets.

use std::ops::Range;

/// Byte offsets of the beginnings of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Lines {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines {
            starts: newlines.map(|(at, _)| at + 1).collect(),
        }
    }

    /// Returns the line number of a byte, from 1.
    pub(crate) fn line_of_byte(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start <= byte) + 1
    }
}

/// A word of a line, and its byte range in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) span: Range<usize>,
}

/// Returns the lines of a text with their byte offsets.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    })
}

/// Splits a line that begins at byte `start` into words at white space.
pub(crate) fn words(start: usize, line: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut from = None;
    let ends = line.char_indices().chain([(line.len(), ' ')]);
    for (at, c) in ends {
        match (c.is_whitespace(), from) {
            (false, None) => from = Some(at),
            (true, Some(begin)) => {
                found.push(Word {
                    text: &line[begin..at],
                    span: start + begin..start + at,
                });
                from = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_word_spans_are_correct() {
        let text = "a b\n\nü c\r\n";
        let of = Lines::of(text);
        assert_eq!(
            [of.line_of_byte(0), of.line_of_byte(4), of.line_of_byte(5)],
            [1, 2, 3]
        );
        let all: Vec<_> = lines(text).collect();
        assert_eq!(all, [(0, "a b"), (4, ""), (5, "ü c")]);
        let last = &words(5, "ü c")[1];
        assert_eq!((last.text, &text[last.span.clone()]), ("c", "c"));
    }
}
