//! Input buffer with access to lines and bytes.

use std::io::{self, Read};
use std::ops::Range;

use crate::Error;

/// Maximum length of a line of an ns-2 trace, in bytes.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// Maximum length of a captured packet, in bytes.
pub const MAX_CAPTURED_BYTES: usize = 512 << 10;

const BUFFER_BYTES: usize = 1 << 20;

pub(super) struct Buffer {
    name: String,
    input: Box<dyn Read + Send>,
    compressed: bool,
    bytes: Vec<u8>,
    /// Bounds of the bytes read but not yet taken: `bytes[start..end]`.
    start: usize,
    end: usize,
    /// Position of `start` in the input.
    offset: u64,
    finished: bool,
    /// Error of compressed data that is cut off or damaged.
    corruption: Option<String>,
}

/// Result of reading a line.
pub(super) enum Line {
    /// Complete line without its terminator; `last` if the input ended without one.
    Complete { range: Range<usize>, last: bool },
    /// Line above the maximum length, which was skipped.
    TooLong,
    /// End of the input.
    End,
}

impl Buffer {
    pub fn new(name: &str, input: Box<dyn Read + Send>) -> Buffer {
        Buffer {
            name: name.to_owned(),
            input,
            compressed: false,
            bytes: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            finished: false,
            corruption: None,
        }
    }

    pub fn compressed(name: &str, input: Box<dyn Read + Send>) -> Buffer {
        Buffer {
            compressed: true,
            ..Buffer::new(name, input)
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes taken.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the error of the compressed data, if it is cut off or damaged.
    pub fn corruption(&self) -> Option<&str> {
        self.corruption.as_deref()
    }

    /// Returns the input, preceded by the bytes read but not yet taken.
    pub fn into_input(self) -> Box<dyn Read + Send> {
        let ahead = self.bytes[self.start..self.end].to_vec();
        Box::new(io::Cursor::new(ahead).chain(self.input))
    }

    /// Returns the next bytes: at least `count`, unless the input ends before.
    pub fn peek(&mut self, count: usize) -> Result<&[u8], Error> {
        while self.end - self.start < count && !self.finished {
            self.fill()?;
        }
        Ok(&self.bytes[self.start..self.end])
    }

    /// Returns the bytes of a range, which is valid until the buffer reads on.
    #[inline]
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Takes up to `count` of the buffered bytes.
    #[inline]
    pub fn take(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Skips `count` bytes, buffered or not. Returns the number of skipped bytes.
    pub fn skip(&mut self, mut count: u64) -> Result<u64, Error> {
        let wanted = count;
        loop {
            let here = ((self.end - self.start) as u64).min(count);
            self.take(here as usize);
            count -= here;
            if count == 0 || self.finished {
                return Ok(wanted - count);
            }
            self.fill()?;
        }
    }

    /// Takes and returns the next line.
    #[inline]
    pub fn line(&mut self) -> Result<Line, Error> {
        let mut searched = 0;
        loop {
            let there = &self.bytes[self.start + searched..self.end];
            if let Some(length) = memchr::memchr(b'\n', there) {
                let length = searched + length;
                let range = self.start..self.start + length;
                self.take(length + 1);
                if length > MAX_LINE_BYTES {
                    return Ok(Line::TooLong);
                }
                return Ok(Line::Complete { range, last: false });
            }
            searched = self.end - self.start;
            if self.finished {
                let range = self.start..self.end;
                self.take(searched);
                return Ok(match searched {
                    0 => Line::End,
                    n if n > MAX_LINE_BYTES => Line::TooLong,
                    _ => Line::Complete { range, last: true },
                });
            }
            if searched > MAX_LINE_BYTES {
                self.skip_line()?;
                return Ok(Line::TooLong);
            }
            self.fill()?;
        }
    }

    fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let there = &self.bytes[self.start..self.end];
            match memchr::memchr(b'\n', there) {
                Some(length) => {
                    self.take(length + 1);
                    return Ok(());
                }
                None => self.take(self.end - self.start),
            }
            if self.finished {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Reads more input, after moving the bytes not yet taken to the front.
    fn fill(&mut self) -> Result<(), Error> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            // No caller requests more than the buffer's size.
            self.finished = true;
            return Ok(());
        }
        match self.input.read(&mut self.bytes[self.end..]) {
            Ok(0) => self.finished = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if self.compressed && is_corruption(&error) => {
                self.finished = true;
                self.corruption = Some(error.to_string());
            }
            Err(source) => {
                return Err(Error::Read {
                    name: self.name.clone(),
                    offset: self.offset + (self.end - self.start) as u64,
                    source,
                });
            }
        }
        Ok(())
    }
}

/// Returns whether the error of the decompressor means data that is cut off or damaged.
fn is_corruption(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
