//! Reader with a limit on the length of a line.

use std::io::{self, Read};

/// Reader of lines of at most 1 MiB each, so that a caller that keeps one line uses little memory.
#[derive(Debug)]
pub struct BoundedLines<R> {
    inner: R,
    /// Bytes since the last line end.
    line_bytes: usize,
}

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

impl<R: Read> BoundedLines<R> {
    /// Creates a reader of `inner`.
    pub fn new(inner: R) -> BoundedLines<R> {
        BoundedLines {
            inner,
            line_bytes: 0,
        }
    }
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let mut line_bytes = self.line_bytes;
        for line in buffer[..n].split_inclusive(|&byte| byte == b'\n') {
            line_bytes += line.len();
            if line_bytes > MAX_LINE_BYTES {
                let reason = "a line is longer than 1 MB: this is not a file of this kind";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            if line.ends_with(b"\n") {
                line_bytes = 0;
            }
        }
        self.line_bytes = line_bytes;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlong_line_is_rejected() {
        let lines = "0123456789\n".repeat(MAX_LINE_BYTES / 5);
        let mut all = String::new();
        let mut reader = BoundedLines::new(lines.as_bytes());
        assert_eq!(reader.read_to_string(&mut all).unwrap(), lines.len());
        let endless = io::copy(&mut BoundedLines::new(io::repeat(b'x')), &mut io::sink());
        assert_eq!(endless.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
