//! Parser of the replies that a user receives.

use std::collections::VecDeque;

use crate::Failure;
use crate::protocol::filler;
use crate::protocol::head::with_head;

/// A reply that is due.
#[derive(Clone, Copy, Debug)]
pub enum ExpectedReply {
    /// Reply to a web request, with its length in bytes unless its head is longer.
    File(u32),
    /// Echo of a keystroke, with its length in bytes.
    Echo(u32),
}

/// Parser of the replies of one connection, in portions of any size.
#[derive(Debug, Default)]
pub struct ReplyParser {
    expected: VecDeque<ExpectedReply>,
    /// Incomplete head.
    head: Vec<u8>,
    /// Missing bytes of the first expected reply, once known.
    remaining_bytes: Option<u64>,
}

impl ReplyParser {
    pub fn expect(&mut self, reply: ExpectedReply) {
        self.expected.push_back(reply);
    }

    pub fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// Consumes all input. Returns the number of replies that it completed.
    ///
    /// # Errors
    /// The failure, if the input is not the expected replies.
    pub fn feed(&mut self, mut input: &[u8]) -> Result<usize, Failure> {
        let mut complete = 0;
        while !input.is_empty() {
            let expected = *self.expected.front().ok_or(Failure::Surplus)?;
            let Some(left_bytes) = self.start_reply_bytes(expected, &mut input)? else {
                return Ok(complete);
            };
            let here =
                usize::try_from(left_bytes).map_or(input.len(), |left| left.min(input.len()));
            let (part, rest) = input.split_at(here);
            if matches!(expected, ExpectedReply::Echo(_)) && part.iter().any(|&b| b != filler::ECHO)
            {
                return Err(Failure::Malformed);
            }
            input = rest;
            self.remaining_bytes = match left_bytes - here as u64 {
                0 => {
                    self.expected.pop_front();
                    complete += 1;
                    None
                }
                left_bytes => Some(left_bytes),
            };
        }
        Ok(complete)
    }

    /// Returns the missing bytes of the first reply; `None` if its head is incomplete.
    fn start_reply_bytes(
        &mut self,
        expected: ExpectedReply,
        input: &mut &[u8],
    ) -> Result<Option<u64>, Failure> {
        match (self.remaining_bytes, expected) {
            (Some(left_bytes), _) => Ok(Some(left_bytes)),
            (None, ExpectedReply::Echo(bytes)) => Ok(Some(u64::from(bytes))),
            (None, ExpectedReply::File(bytes)) => {
                match with_head(&mut self.head, input, |head| body_bytes(head, bytes)) {
                    Ok(Some(body_bytes)) => body_bytes.map(Some),
                    Ok(None) => check_reply_prefix(&self.head).map(|()| None),
                    Err(_) => Err(Failure::Malformed),
                }
            }
        }
    }
}

fn check_reply_prefix(head: &[u8]) -> Result<(), Failure> {
    const START: &[u8] = b"HTTP/1.1 200 ";
    let length = START.len().min(head.len());
    if head.get(..length) == START.get(..length) {
        Ok(())
    } else {
        Err(Failure::Malformed)
    }
}

/// Returns the length of the body after a head, in a reply that must have `whole_bytes`.
fn body_bytes(head: &[u8], whole_bytes: u32) -> Result<u64, Failure> {
    check_reply_prefix(head)?;
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut reply = httparse::Response::new(&mut headers);
    let complete = reply.parse(head).is_ok_and(|status| status.is_complete());
    if !complete || reply.code != Some(200) {
        return Err(Failure::Malformed);
    }
    let length = reply
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok())
        .and_then(|value| value.parse::<u64>().ok())
        .ok_or(Failure::Malformed)?;
    let (head_bytes, whole_bytes) = (head.len() as u64, u64::from(whole_bytes));
    let shortest = length == 0 && whole_bytes < head_bytes;
    if head_bytes.checked_add(length) == Some(whole_bytes) || shortest {
        Ok(length)
    } else {
        Err(Failure::WrongLength)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::reply_head;
    use proptest::prelude::*;

    fn failure(expected: ExpectedReply, bytes: &[u8]) -> Failure {
        let mut replies = ReplyParser::default();
        replies.expect(expected);
        replies.feed(bytes).unwrap_err()
    }

    #[test]
    fn invalid_replies_have_distinct_failures() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
        let whole = head.len() as u32 + 10;
        let file = ExpectedReply::File;
        assert_eq!(failure(file(whole - 1), head), Failure::WrongLength);
        assert_eq!(failure(file(whole + 1), head), Failure::WrongLength);
        let surplus = [head.as_slice(), b"xxxxxxxxxxx"].concat();
        assert_eq!(failure(file(whole), &surplus), Failure::Surplus);
        assert_eq!(failure(file(whole), b"hello"), Failure::Malformed);
        let missing = b"HTTP/1.1 404 Not Found\r\n\r\n";
        assert_eq!(failure(file(whole), missing), Failure::Malformed);
        let endless = [b"HTTP/1.1 200 ".to_vec(), vec![b'x'; 10_000]].concat();
        assert_eq!(failure(file(whole), &endless), Failure::Malformed);
        assert_eq!(failure(ExpectedReply::Echo(3), b"eex"), Failure::Malformed);
        assert_eq!(failure(ExpectedReply::Echo(3), b"eeee"), Failure::Surplus);
    }

    proptest! {
        #[test]
        fn replies_parse_in_any_fragmentation(
            lengths in prop::collection::vec((any::<bool>(), 1..5000_u32), 1..10),
            cut in 1..700_usize,
        ) {
            let mut bytes = Vec::new();
            let mut replies = ReplyParser::default();
            for &(file, length) in &lengths {
                if file {
                    let (head, body) = reply_head(length);
                    bytes.extend(head);
                    bytes.resize(bytes.len() + body as usize, filler::BODY);
                    replies.expect(ExpectedReply::File(length));
                } else {
                    bytes.resize(bytes.len() + length as usize, filler::ECHO);
                    replies.expect(ExpectedReply::Echo(length));
                }
            }
            let mut complete = 0;
            for portion in bytes.chunks(cut) {
                complete += replies.feed(portion).unwrap();
            }
            prop_assert_eq!(complete, lengths.len());
            prop_assert!(replies.is_empty());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for expected in [ExpectedReply::File(100), ExpectedReply::Echo(100)] {
                let mut replies = ReplyParser::default();
                replies.expect(expected);
                let _ = replies.feed(&bytes);
            }
        }
    }
}
