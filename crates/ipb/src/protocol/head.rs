//! Heads of HTTP messages, assembled from portions of any size.

use super::MAX_HEAD_BYTES;

const END: &[u8] = b"\r\n\r\n";

/// Error for a head above the maximum length.
#[derive(Debug)]
pub struct TooLong;

/// Passes the head that `input` completes to `read` and advances `input` past it. `kept` contains the
/// portions received before. Returns `None` if the head is incomplete; all input is then kept. A head
/// that is complete in `input` is read without a copy.
pub fn with_head<T>(
    kept: &mut Vec<u8>,
    input: &mut &[u8],
    read: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, TooLong> {
    if kept.is_empty()
        && let Some(at) = find_end(input)
        && at <= MAX_HEAD_BYTES
    {
        let (head, rest) = input.split_at(at);
        *input = rest;
        return Ok(Some(read(head)));
    }
    let before = kept.len();
    let searched = before.saturating_sub(END.len() - 1);
    let room = (MAX_HEAD_BYTES + 1).saturating_sub(before);
    kept.extend(input.iter().take(room));
    match find_end(kept.get(searched..).unwrap_or_default()) {
        Some(at) if searched + at <= MAX_HEAD_BYTES => {
            let end = searched + at;
            *input = input.get(end - before..).unwrap_or_default();
            let kept = std::mem::take(kept);
            Ok(Some(read(kept.get(..end).unwrap_or_default())))
        }
        _ if kept.len() > MAX_HEAD_BYTES => Err(TooLong),
        _ => {
            *input = &[];
            Ok(None)
        }
    }
}

/// Returns the position after the end of the head.
fn find_end(bytes: &[u8]) -> Option<usize> {
    let mut windows = bytes.windows(END.len());
    windows
        .position(|window| window == END)
        .map(|at| at + END.len())
}
