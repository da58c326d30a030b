//! A row buffer that is written to a file in large blocks.

use netflow_files::PartialFile;

use crate::Error;
use crate::number::{MAX_NUMBER_BYTES, put_value};
use crate::partial_files::{WRITE_CHUNK_BYTES, append};

/// A file with its buffer.
pub(crate) struct RowBuffer {
    file: PartialFile,
    buffer: Vec<u8>,
    used: usize,
}

impl RowBuffer {
    pub(crate) fn new(file: PartialFile) -> RowBuffer {
        RowBuffer {
            file,
            buffer: vec![0; WRITE_CHUNK_BYTES],
            used: 0,
        }
    }

    /// Starts a row of at most `texts` bytes of text and `values` values.
    #[inline]
    pub(crate) fn row(&mut self, texts: usize, values: usize) -> Result<RowBuilder<'_>, Error> {
        let room = texts + values * MAX_NUMBER_BYTES + MAX_NUMBER_BYTES;
        if self.buffer.len() - self.used < room {
            self.flush_for(room)?;
        }
        Ok(RowBuilder {
            free: &mut self.buffer[self.used..],
            at: 0,
            used: &mut self.used,
        })
    }

    #[cold]
    fn flush_for(&mut self, required_bytes: usize) -> Result<(), Error> {
        append(&mut self.file, &self.buffer[..self.used])?;
        self.used = 0;
        if self.buffer.len() < required_bytes {
            self.buffer.resize(required_bytes, 0);
        }
        Ok(())
    }

    /// Writes the rest of the buffer.
    pub(crate) fn finish(mut self) -> Result<PartialFile, Error> {
        self.flush_for(0)?;
        Ok(self.file)
    }
}

/// A row under construction. It is added to the buffer when it is ended.
pub(crate) struct RowBuilder<'a> {
    free: &'a mut [u8],
    at: usize,
    used: &'a mut usize,
}

impl RowBuilder<'_> {
    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) {
        self.free[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.free[self.at] = byte;
        self.at += 1;
    }

    /// Appends a value as [`put_value`] does. Returns whether anything was written.
    #[inline]
    pub(crate) fn value(&mut self, value: f64) -> bool {
        let before = self.at;
        self.at = put_value(self.free, self.at, value);
        self.at > before
    }

    #[inline]
    pub(crate) fn end(self) {
        *self.used += self.at;
    }
}
