//! Send buffer: the messages that a connection still has to send.

use std::collections::VecDeque;

/// Bytes per write to the kernel.
const CHUNK: usize = 32 << 10;

/// Messages in sending order. Fillers are generated when they are sent, so that a long message takes no
/// memory.
#[derive(Debug, Default)]
pub struct SendBuffer {
    pieces: VecDeque<Piece>,
    remaining_bytes: u64,
    current_chunk: Vec<u8>,
    written: usize,
}

#[derive(Debug)]
struct Piece {
    head: Vec<u8>,
    filler: u8,
    filler_bytes: u64,
}

impl SendBuffer {
    /// Appends a message: a head, followed by `filler_bytes` copies of the byte `filler`.
    pub fn push(&mut self, head: Vec<u8>, filler: u8, filler_bytes: u64) {
        self.remaining_bytes += head.len() as u64 + filler_bytes;
        match self.pieces.back_mut() {
            Some(last) if head.is_empty() && last.filler == filler => {
                last.filler_bytes += filler_bytes;
            }
            _ => self.pieces.push_back(Piece {
                head,
                filler,
                filler_bytes,
            }),
        }
    }

    /// Returns the bytes still to be sent.
    pub fn remaining_bytes(&self) -> u64 {
        self.remaining_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.remaining_bytes == 0
    }

    /// Returns the next bytes to send; empty if nothing is pending.
    pub fn chunk(&mut self) -> &[u8] {
        if self.written == self.current_chunk.len() {
            self.current_chunk.clear();
            self.written = 0;
            self.fill();
        }
        self.current_chunk.get(self.written..).unwrap_or_default()
    }

    fn fill(&mut self) {
        while let Some(piece) = self.pieces.front_mut() {
            self.current_chunk.append(&mut piece.head);
            let room = CHUNK.saturating_sub(self.current_chunk.len());
            let fill = room.min(usize::try_from(piece.filler_bytes).unwrap_or(usize::MAX));
            self.current_chunk
                .resize(self.current_chunk.len() + fill, piece.filler);
            piece.filler_bytes -= fill as u64;
            if piece.filler_bytes > 0 {
                return;
            }
            self.pieces.pop_front();
            if self.current_chunk.len() >= CHUNK {
                return;
            }
        }
    }

    /// Marks the first `bytes` of the [chunk](Self::chunk) as sent.
    pub fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.current_chunk.len() - self.written);
        self.written += bytes;
        self.remaining_bytes -= bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks that are taken in odd portions add up to the messages.
    #[test]
    fn messages_leave_in_order() {
        let mut outbox = SendBuffer::default();
        outbox.push(b"head".to_vec(), b'x', 100_000);
        outbox.push(Vec::new(), b'x', 5);
        outbox.push(Vec::new(), b'e', 3);
        outbox.push(b"tail".to_vec(), b'x', 0);
        let mut expected = b"head".to_vec();
        expected.resize(100_009, b'x');
        expected.extend(b"eeetail");
        let mut sent = Vec::new();
        let mut portion = 1;
        while !outbox.is_empty() {
            assert_eq!(
                outbox.remaining_bytes() as usize,
                expected.len() - sent.len()
            );
            let chunk = outbox.chunk();
            assert!(chunk.len() <= CHUNK + 4);
            let take = portion.min(chunk.len());
            sent.extend_from_slice(&chunk[..take]);
            outbox.advance(take);
            portion = portion % 997 + 13;
        }
        assert!(outbox.chunk().is_empty());
        assert!(sent == expected);
    }
}
