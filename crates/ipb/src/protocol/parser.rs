//! Incremental parser of the requests that a server receives.

use std::collections::VecDeque;

use netflow_workload::UserKind;

use super::head::{TooLong, with_head};
use super::keystrokes::{KeystrokeRun, Reader, SCRIPT_TAG};
use crate::DropReason;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 32;

/// A complete request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind of user.
    pub kind: UserKind,
    /// Length in bytes, without scripts.
    pub request_bytes: u64,
    /// Length of the requested reply, in bytes.
    pub reply_bytes: u32,
    /// Bytes of scripts before the request.
    pub script_bytes: u64,
}

/// Parser of the requests of one connection, in portions of any size. It keeps at most a head of
/// [`MAX_HEAD_BYTES`](super::MAX_HEAD_BYTES) or a script of [`MAX_RUNS`](super::MAX_RUNS).
#[derive(Debug)]
pub struct Parser {
    most_bytes: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No input yet.
    Start,
    /// Incomplete head.
    Head(Vec<u8>),
    /// Request whose body is incomplete.
    Body { asked: Request, left_bytes: u64 },
    /// Scripts and keystrokes.
    Terminal(TelnetParser),
    /// Earlier input was invalid.
    Broken(DropReason),
}

impl Parser {
    /// Creates a parser that accepts messages of up to `most_bytes`.
    pub fn new(most_bytes: u32) -> Self {
        Self {
            most_bytes,
            state: State::Start,
        }
    }

    /// Returns the next request and advances `input` past it; `None` if all input was consumed.
    ///
    /// # Errors
    /// The reason to drop the peer. All later calls return it again.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Request>, DropReason> {
        let result = self.advance(input);
        if let Err(reason) = result {
            self.state = State::Broken(reason);
        }
        result
    }

    /// Returns the missing bytes of an incomplete request, or 0 while the length is unknown; `None`
    /// between requests.
    pub fn remaining_bytes(&self) -> Option<u64> {
        match &self.state {
            State::Start => None,
            State::Head(head) => (!head.is_empty()).then_some(0),
            State::Body { left_bytes, .. } => Some(*left_bytes),
            State::Terminal(terminal) => terminal.remaining_script_bytes(),
            State::Broken(_) => None,
        }
    }

    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Request>, DropReason> {
        loop {
            match &mut self.state {
                State::Start => match input.first() {
                    None => return Ok(None),
                    Some(&SCRIPT_TAG) => self.state = State::Terminal(TelnetParser::default()),
                    Some(_) => self.state = State::Head(Vec::new()),
                },
                State::Head(head) => {
                    let Some((asked, body_bytes)) = take_head(head, input, self.most_bytes)? else {
                        return Ok(None);
                    };
                    if body_bytes == 0 {
                        return Ok(Some(asked));
                    }
                    self.state = State::Body {
                        asked,
                        left_bytes: body_bytes,
                    };
                }
                State::Body { asked, left_bytes } => {
                    *left_bytes -= skip(input, *left_bytes);
                    if *left_bytes > 0 {
                        return Ok(None);
                    }
                    let asked = *asked;
                    self.state = State::Head(Vec::new());
                    return Ok(Some(asked));
                }
                State::Terminal(terminal) => return terminal.next(input, self.most_bytes),
                State::Broken(reason) => return Err(*reason),
            }
        }
    }
}

/// Skips up to `bytes` of the input. Returns the number of skipped bytes.
fn skip(input: &mut &[u8], bytes: u64) -> u64 {
    let taken = input
        .len()
        .min(usize::try_from(bytes).unwrap_or(usize::MAX));
    *input = input.get(taken..).unwrap_or_default();
    taken as u64
}

/// Returns the next request and the length of its body, once its head is complete.
fn take_head(
    kept: &mut Vec<u8>,
    input: &mut &[u8],
    most_bytes: u32,
) -> Result<Option<(Request, u64)>, DropReason> {
    match with_head(kept, input, |head| read_head(head, most_bytes)) {
        Ok(Some(read)) => read.map(Some),
        // Invalid input is rejected without waiting for the end of the head.
        Ok(None) => check_request_prefix(kept).map(|()| None),
        Err(TooLong) => Err(DropReason::HeadTooLong),
    }
}

fn check_request_prefix(head: &[u8]) -> Result<(), DropReason> {
    let begins = |method: &[u8]| {
        let length = method.len().min(head.len());
        head.get(..length) == method.get(..length)
    };
    if begins(b"GET /") || begins(b"POST /") {
        Ok(())
    } else {
        Err(DropReason::Malformed)
    }
}

fn read_head(head: &[u8], most_bytes: u32) -> Result<(Request, u64), DropReason> {
    check_request_prefix(head)?;
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let complete = request.parse(head).is_ok_and(|status| status.is_complete());
    let known = matches!(request.method, Some("GET" | "POST")) && request.version == Some(1);
    if !complete || !known {
        return Err(DropReason::Malformed);
    }
    let path = request.path.unwrap_or_default();
    let reply = path.strip_prefix('/').ok_or(DropReason::Malformed)?;
    let reply = reply.split_once('?').map_or(reply, |(reply, _)| reply);
    let reply_bytes = number(reply.as_bytes())?;
    let mut body_bytes = 0;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(DropReason::Malformed);
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            body_bytes = number(header.value)?;
        }
    }
    let request_bytes = head.len() as u64 + body_bytes;
    let most_bytes = u64::from(most_bytes);
    if reply_bytes > most_bytes || request_bytes > most_bytes {
        return Err(DropReason::MessageTooLong);
    }
    let asked = Request {
        kind: UserKind::Http,
        request_bytes,
        reply_bytes: reply_bytes as u32,
        script_bytes: 0,
    };
    Ok((asked, body_bytes))
}

/// Parses a number of 1 to 12 digits.
fn number(digits: &[u8]) -> Result<u64, DropReason> {
    if digits.is_empty() || digits.len() > 12 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(DropReason::Malformed);
    }
    let add = |sum: u64, digit: &u8| 10 * sum + u64::from(digit - b'0');
    Ok(digits.iter().fold(0, add))
}

#[derive(Debug, Default)]
struct TelnetParser {
    /// Parser of an incomplete script.
    reader: Option<Reader>,
    script_bytes: u64,
    script: VecDeque<KeystrokeRun>,
    /// Received bytes of an incomplete keystroke.
    taken_bytes: u32,
}

impl TelnetParser {
    fn next(&mut self, input: &mut &[u8], most_bytes: u32) -> Result<Option<Request>, DropReason> {
        while self.reader.is_some() || self.script.is_empty() {
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(None);
            };
            *input = rest;
            self.script_bytes += 1;
            let complete = match &mut self.reader {
                Some(reader) => reader.take(byte, &mut self.script)?,
                None if byte == SCRIPT_TAG => {
                    self.reader = Some(Reader::default());
                    false
                }
                None => return Err(DropReason::Malformed),
            };
            if complete {
                self.reader = None;
                let most = |run: &KeystrokeRun| run.keystroke_bytes.max(run.echo_bytes);
                if self.script.iter().map(most).max() > Some(most_bytes) {
                    return Err(DropReason::MessageTooLong);
                }
            }
        }
        let Some(run) = self.script.front_mut() else {
            return Ok(None);
        };
        let wanted = u64::from(run.keystroke_bytes - self.taken_bytes);
        self.taken_bytes += skip(input, wanted) as u32;
        if self.taken_bytes < run.keystroke_bytes {
            return Ok(None);
        }
        self.taken_bytes = 0;
        let asked = Request {
            kind: UserKind::Telnet,
            request_bytes: u64::from(run.keystroke_bytes),
            reply_bytes: run.echo_bytes,
            script_bytes: std::mem::take(&mut self.script_bytes),
        };
        run.keystrokes -= 1;
        if run.keystrokes == 0 {
            self.script.pop_front();
        }
        Ok(Some(asked))
    }

    fn remaining_script_bytes(&self) -> Option<u64> {
        match self.script.front() {
            _ if self.reader.is_some() => Some(0),
            Some(run) if self.taken_bytes > 0 => {
                Some(u64::from(run.keystroke_bytes - self.taken_bytes))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{request_head, write_script};
    use proptest::prelude::*;

    fn all(parser: &mut Parser, mut input: &[u8]) -> Result<Vec<Request>, DropReason> {
        let mut found = Vec::new();
        while let Some(asked) = parser.next(&mut input)? {
            found.push(asked);
        }
        assert!(input.is_empty());
        Ok(found)
    }

    fn refused(bytes: &[u8]) -> DropReason {
        all(&mut Parser::new(1 << 30), bytes).unwrap_err()
    }

    #[test]
    fn invalid_requests_are_rejected() {
        use DropReason::{HeadTooLong, Malformed, MessageTooLong};
        assert_eq!(refused(b"SSH-2.0-OpenSSH\r\n"), Malformed);
        assert_eq!(refused(b"GET /x HTTP/1.1\r\n\r\n"), Malformed);
        assert_eq!(refused(b"GET /-5 HTTP/1.1\r\n\r\n"), Malformed);
        assert_eq!(refused(b"GET / HTTP/1.1\r\n\r\n"), Malformed);
        assert_eq!(refused(b"GET /5 HTTP/1.0\r\n\r\n"), Malformed);
        assert_eq!(refused(b"PUT /5 HTTP/1.1\r\n\r\n"), Malformed);
        let chunked = b"POST /5 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(refused(chunked), Malformed);
        assert_eq!(refused(b"GET /1073741825 HTTP/1.1\r\n\r\n"), MessageTooLong);
        let long_body = b"POST /5 HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n";
        assert_eq!(refused(long_body), MessageTooLong);
        let endless = [b"GET /5?".to_vec(), vec![b'p'; 9000]].concat();
        assert_eq!(refused(&endless), HeadTooLong);
        assert_eq!(refused(b"T\x00"), Malformed);
        assert_eq!(refused(b"T\x01\x00"), Malformed);
        assert_eq!(refused(b"T\xff\xff\xff\xff\x10"), Malformed);
        assert_eq!(refused(b"T\x81\x20"), HeadTooLong);
        assert_eq!(
            refused(b"T\x01\x01\x01\xff\xff\xff\xff\x0f"),
            MessageTooLong
        );
        assert_eq!(refused(b"T\x01\x01\x01\x01kk"), Malformed);
    }

    #[test]
    fn requests_of_other_clients_are_accepted() {
        let asked = b"GET /500 HTTP/1.1\r\nHost: 127.0.0.1:4050\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n";
        let found = all(&mut Parser::new(1000), asked).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].request_bytes, found[0].reply_bytes),
            (asked.len() as u64, 500)
        );
    }

    proptest! {
        /// Encoded requests are parsed correctly for every split into portions.
        #[test]
        fn requests_parse_in_any_fragmentation(
            lengths in prop::collection::vec((35..9000_u32, 1..100_000_u32), 1..10),
            cut in 1..700_usize,
        ) {
            let mut bytes = Vec::new();
            for &(request, reply) in &lengths {
                let (head, body) = request_head(request.max(45), reply);
                bytes.extend(head);
                bytes.resize(bytes.len() + body as usize, b'x');
            }
            let mut parser = Parser::new(1 << 20);
            let mut found = Vec::new();
            for portion in bytes.chunks(cut) {
                found.extend(all(&mut parser, portion).unwrap());
            }
            prop_assert_eq!(parser.remaining_bytes(), None);
            let found: Vec<_> = found.iter().map(|a| (a.request_bytes, a.reply_bytes)).collect();
            let sent: Vec<_> = lengths.iter().map(|&(a, b)| (u64::from(a.max(45)), b)).collect();
            prop_assert_eq!(found, sent);
        }

        #[test]
        fn keystrokes_parse_in_any_fragmentation(
            runs in prop::collection::vec((1..4_u32, 1..300_u32, 1..70_000_u32), 1..20),
            cut in 1..50_usize,
        ) {
            let runs: Vec<KeystrokeRun> = runs.into_iter().map(|(keystrokes, keystroke_bytes, echo_bytes)| {
                KeystrokeRun { keystrokes, keystroke_bytes, echo_bytes }
            }).collect();
            let mut bytes = Vec::new();
            // The runs are written twice, because another script may follow.
            for _ in 0..2 {
                write_script(&runs, &mut bytes);
                for run in &runs {
                    let keys = run.keystrokes * run.keystroke_bytes;
                    bytes.resize(bytes.len() + keys as usize, b'k');
                }
            }
            let mut parser = Parser::new(1 << 20);
            let mut found = Vec::new();
            for portion in bytes.chunks(cut) {
                found.extend(all(&mut parser, portion).unwrap());
            }
            let sent = runs.iter().chain(&runs).flat_map(|run| {
                (0..run.keystrokes).map(|_| (u64::from(run.keystroke_bytes), run.echo_bytes))
            });
            prop_assert!(found.iter().map(|a| (a.request_bytes, a.reply_bytes)).eq(sent));
            let requests: u64 = found.iter().map(|a| a.request_bytes).sum();
            let scripts: u64 = found.iter().map(|a| a.script_bytes).sum();
            prop_assert_eq!(requests + scripts, bytes.len() as u64);
        }
    }
}
