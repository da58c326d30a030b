//! Escaping of untrusted text. Names, headers and lines of files may contain control characters of
//! terminals, and marks that change the direction of writing.

use std::borrow::Cow;
use std::io::{self, Write};

/// Returns whether a terminal would interpret the character instead of showing it.
fn is_terminal_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces characters that a terminal would interpret by escapes such as `\u001b`, as in JSON.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    replaced(text, is_terminal_control, |c| {
        format!("\\u{:04x}", u32::from(c))
    })
}

/// Replaces each byte of such characters by `?`, which keeps byte offsets.
pub fn mask_controls(text: &str) -> Cow<'_, str> {
    // Line ends may have two bytes.
    replaced(
        text,
        |c| c != '\r' && is_terminal_control(c),
        |c| "?".repeat(c.len_utf8()),
    )
}

fn replaced(text: &str, which: fn(char) -> bool, by: fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(which) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if which(c) {
            shown += &by(c)
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// A writer that makes each text [`escape_controls`].
pub struct EscapingWriter<W> {
    inner: W,
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    /// Returns a writer to `inner`.
    pub fn new(inner: W) -> EscapingWriter<W> {
        EscapingWriter {
            inner,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.begun);
        let mut rest = all.as_slice();
        loop {
            let (text, after) = match str::from_utf8(rest) {
                Ok(text) => (text, [].as_slice()),
                Err(error) => {
                    let (text, after) = rest.split_at(error.valid_up_to());
                    let text = str::from_utf8(text).unwrap_or_default();
                    match error.error_len() {
                        // The byte is not valid text. The terminal decides how to show it.
                        Some(n) => {
                            self.inner.write_all(escape_controls(text).as_bytes())?;
                            self.inner.write_all("\u{fffd}".as_bytes())?;
                            rest = &after[n..];
                            continue;
                        }
                        None => (text, after),
                    }
                }
            };
            self.inner.write_all(escape_controls(text).as_bytes())?;
            self.begun = after.to_vec();
            return Ok(bytes.len());
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key, header, name or quoted line could colour, clear or rename the terminal.
    #[test]
    fn terminal_controls_are_escaped() {
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{9b}d\re\u{7}f\tg\nh";
        let shown = "a\\u001b[2Jb\\u202ec\\u009bd\\u000de\\u0007f\tg\nh";
        assert_eq!(escape_controls(hostile), shown);
        assert_eq!(escape_controls("Zürich → ≥ 3"), "Zürich → ≥ 3");
        assert_eq!(mask_controls(hostile).len(), hostile.len());
        assert!(!mask_controls(hostile).contains(['\u{1b}', '\u{202e}', '\u{9b}']));
        // The result does not depend on where the text is split.
        for cut in 0..=hostile.len() {
            let mut to = EscapingWriter::new(Vec::new());
            to.write_all(&hostile.as_bytes()[..cut]).unwrap();
            to.write_all(&hostile.as_bytes()[cut..]).unwrap();
            assert_eq!(String::from_utf8(to.inner).unwrap(), shown, "{cut}");
        }
        let mut to = EscapingWriter::new(Vec::new());
        to.write_all(b"a\xffb\x9b").unwrap();
        assert_eq!(String::from_utf8(to.inner).unwrap(), "a\u{fffd}b\u{fffd}");
    }
}
