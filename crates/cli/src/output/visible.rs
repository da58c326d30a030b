//! What others wrote, made harmless to look at: names, headers and lines of files may hold bytes that
//! a terminal obeys, and marks that turn the direction of writing around.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a terminal would do something else than show it.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with what a terminal would obey as `\u001b`, the way JSON writes it.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, is_obeyed, |c| format!("\\u{:04x}", u32::from(c)))
}

/// The same, with every place where it was: `?` for each byte.
pub fn masked(text: &str) -> Cow<'_, str> {
    // Ends of lines may have two bytes.
    replaced(
        text,
        |c| c != '\r' && is_obeyed(c),
        |c| "?".repeat(c.len_utf8()),
    )
}

fn replaced(text: &str, which: fn(char) -> bool, by: fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(which) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match which(c) {
            true => shown += &by(c),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A writer of texts, each of which is made [`visible`].
pub struct Visible<W> {
    inner: W,
    /// The beginning of a character whose end has not been written yet.
    begun: Vec<u8>,
}

impl<W: Write> Visible<W> {
    /// Writes there.
    pub fn new(inner: W) -> Visible<W> {
        Visible {
            inner,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Visible<W> {
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
                        // Not a text; a terminal decides what to make of such a byte.
                        Some(n) => {
                            self.inner.write_all(visible(text).as_bytes())?;
                            self.inner.write_all("\u{fffd}".as_bytes())?;
                            rest = &after[n..];
                            continue;
                        }
                        None => (text, after),
                    }
                }
            };
            self.inner.write_all(visible(text).as_bytes())?;
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

    /// A key, a header, a name, a quoted line could colour, clear or rename the terminal.
    #[test]
    fn what_a_terminal_obeys_is_shown() {
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{9b}d\re\u{7}f\tg\nh";
        let shown = "a\\u001b[2Jb\\u202ec\\u009bd\\u000de\\u0007f\tg\nh";
        assert_eq!(visible(hostile), shown);
        assert_eq!(visible("Zürich → ≥ 3"), "Zürich → ≥ 3");
        assert_eq!(masked(hostile).len(), hostile.len());
        assert!(!masked(hostile).contains(['\u{1b}', '\u{202e}', '\u{9b}']));
        // However it is cut.
        for cut in 0..=hostile.len() {
            let mut to = Visible::new(Vec::new());
            to.write_all(&hostile.as_bytes()[..cut]).unwrap();
            to.write_all(&hostile.as_bytes()[cut..]).unwrap();
            assert_eq!(String::from_utf8(to.inner).unwrap(), shown, "{cut}");
        }
        let mut to = Visible::new(Vec::new());
        to.write_all(b"a\xffb\x9b").unwrap();
        assert_eq!(String::from_utf8(to.inner).unwrap(), "a\u{fffd}b\u{fffd}");
    }
}
