//! State machine of a user session, driven by events, without a clock, a network or a socket.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::{Exchange, Session, UserKind};

/// Event that a user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResponseEvent {
    /// Connection: from the attempt until requests can be sent.
    Connect,
    /// File: from sending its request until its reply is complete. For a pipelined file, this includes the
    /// replies ahead of it.
    File,
    /// Page: from sending its first request until its last reply is complete, without connection
    /// establishment.
    Page,
    /// Echo: from sending a keystroke until its echo is complete.
    Echo,
    /// Start of a video: from requesting its first chunk until it is complete.
    Play,
    /// Stall of a video: from an empty playback buffer until the next chunk is complete.
    Stall,
}

impl ResponseEvent {
    /// All events, in the order of results.
    pub const ALL: [ResponseEvent; 6] = [
        ResponseEvent::Connect,
        ResponseEvent::File,
        ResponseEvent::Page,
        ResponseEvent::Echo,
        ResponseEvent::Play,
        ResponseEvent::Stall,
    ];

    /// Returns its name: `connect`, `file`, `page`, `echo`, `play` or `stall`.
    pub fn name(self) -> &'static str {
        match self {
            ResponseEvent::Connect => "connect",
            ResponseEvent::File => "file",
            ResponseEvent::Page => "page",
            ResponseEvent::Echo => "echo",
            ResponseEvent::Play => "play",
            ResponseEvent::Stall => "stall",
        }
    }
}

/// Timestamp type of the driver.
pub trait Timestamp: Copy {
    /// Returns the seconds from `other` to `self`; negative if `self` is earlier.
    fn seconds_since(self, other: Self) -> f64;
    /// Returns the time `seconds` later; `seconds` must not be negative.
    fn plus(self, seconds: f64) -> Self;
}

/// Nanoseconds.
impl Timestamp for u64 {
    fn seconds_since(self, other: u64) -> f64 {
        (self as f64 - other as f64) * 1e-9
    }

    fn plus(self, seconds: f64) -> u64 {
        self.saturating_add((seconds * 1e9).round() as u64)
    }
}

impl Timestamp for Instant {
    fn seconds_since(self, other: Instant) -> f64 {
        match self.checked_duration_since(other) {
            Some(after) => after.as_secs_f64(),
            None => -other.duration_since(self).as_secs_f64(),
        }
    }

    fn plus(self, seconds: f64) -> Instant {
        self + Duration::from_secs_f64(seconds)
    }
}

/// State machine of one user session over a connection; `T` is the timestamp type of the driver.
#[derive(Clone, Debug)]
pub struct SessionStateMachine<T> {
    session: Session,
    /// Number of turns that have begun.
    turns_begun: usize,
    /// Number of exchanges requested in the present turn, and the time of the first.
    requests_sent_in_turn: usize,
    next_turn_at: Option<T>,
    /// Request times of the replies that are not complete, in order.
    pending_since: VecDeque<T>,
    /// For a video, the time at which the playback buffer is empty.
    buffer_empty_at: Option<T>,
}

/// Action of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionAction<'a> {
    /// Requests to send now.
    pub requests: &'a [Exchange],
    /// Delay in seconds until the next turn; `None` while replies are pending, or after the last turn.
    pub pause_s: Option<f64>,
}

/// Result of a complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyEvent<'a, T> {
    /// Finished waits with their start times: a file or an echo, and a page with its last file or a video
    /// with a chunk.
    pub waits: [Option<(ResponseEvent, T)>; 2],
    /// Next action of the user.
    pub action: SessionAction<'a>,
}

impl<T: Timestamp> SessionStateMachine<T> {
    /// Returns a user at the start of a session.
    pub fn new(session: Session) -> SessionStateMachine<T> {
        SessionStateMachine {
            session,
            turns_begun: 0,
            requests_sent_in_turn: 0,
            next_turn_at: None,
            pending_since: VecDeque::new(),
            buffer_empty_at: None,
        }
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Records that the connection is open, and returns the delay in seconds until the first turn.
    pub fn on_connected(&self) -> Option<f64> {
        self.pause_s()
    }

    /// Begins the next turn after the pause.
    ///
    /// For a page, only the first file is requested; for keystrokes, all at once. After the last turn there
    /// is no request.
    pub fn begin_turn(&mut self, now: T) -> SessionAction<'_> {
        if self.turns_begun == self.session.turns.len() {
            return self.action(self.requests_sent_in_turn, None);
        }
        self.turns_begun += 1;
        self.next_turn_at = Some(now);
        self.requests_sent_in_turn = 0;
        let goes_on = match self.session.kind {
            UserKind::Http => {
                self.send_requests(now, 1);
                self.exchanges().is_empty()
            }
            UserKind::Telnet => {
                self.send_requests(now, usize::MAX);
                true
            }
            UserKind::Video => {
                self.send_requests(now, usize::MAX);
                self.exchanges().is_empty()
            }
        };
        self.action(0, self.pause_s().filter(|_| goes_on))
    }

    /// Records that the oldest pending reply is complete. Returns `None` if no reply is pending.
    ///
    /// After the first file of a page, all others are requested; after the last, the user pauses. After a
    /// chunk, the player pauses until it needs the next one.
    pub fn on_reply(&mut self, now: T) -> Option<ReplyEvent<'_, T>> {
        let since = self.pending_since.pop_front()?;
        let (asked, pending) = (self.requests_sent_in_turn, self.pending_since.len());
        let wait = match self.session.kind {
            UserKind::Telnet => ResponseEvent::Echo,
            UserKind::Http | UserKind::Video => ResponseEvent::File,
        };
        let (mut whole, mut pause_s) = (None, None);
        match self.session.kind {
            UserKind::Http if pending == 0 => {
                self.send_requests(now, usize::MAX);
                if self.pending_since.is_empty() {
                    whole = self.next_turn_at.map(|at| (ResponseEvent::Page, at));
                    pause_s = self.pause_s();
                }
            }
            UserKind::Video if pending == 0 => {
                let playback = self.session.playback.unwrap_or_default();
                whole = self.on_chunk(now, since, playback.chunk_s);
                let left_s = self
                    .buffer_empty_at
                    .map_or(0.0, |until| until.seconds_since(now));
                let pause = (left_s - playback.ahead_s).max(0.0);
                pause_s = self.pause_s().map(|_| pause);
            }
            UserKind::Http | UserKind::Telnet | UserKind::Video => {}
        }
        Some(ReplyEvent {
            waits: [Some((wait, since)), whole],
            action: self.action(asked, pause_s),
        })
    }

    /// Adds a complete chunk of `chunk_s`, requested at `since`, to the playback buffer. Returns the wait
    /// that ends with it, if the video was not playing.
    fn on_chunk(&mut self, now: T, since: T, chunk_s: f64) -> Option<(ResponseEvent, T)> {
        let (playing_from, waited) = match self.buffer_empty_at {
            None => (now, Some((ResponseEvent::Play, since))),
            Some(until) if now.seconds_since(until) > 0.0 => {
                (now, Some((ResponseEvent::Stall, until)))
            }
            Some(until) => (until, None),
        };
        self.buffer_empty_at = Some(playing_from.plus(chunk_s));
        waited
    }

    /// Returns the request time of the oldest incomplete reply.
    pub fn oldest_request_time(&self) -> Option<T> {
        self.pending_since.front().copied()
    }

    /// Returns true if all requests have been sent and answered.
    pub fn is_over(&self) -> bool {
        self.turns_begun == self.session.turns.len() && self.pending_since.is_empty()
    }

    /// Returns the exchanges of the present turn.
    fn exchanges(&self) -> &[Exchange] {
        let turn = self.turns_begun.checked_sub(1);
        let turn = turn.and_then(|turn| self.session.turns.get(turn));
        turn.map_or(&[], |turn| &turn.exchanges)
    }

    /// Requests at most `limit` more exchanges of the turn.
    fn send_requests(&mut self, now: T, limit: usize) {
        let more = (self.exchanges().len() - self.requests_sent_in_turn).min(limit);
        self.pending_since.extend(std::iter::repeat_n(now, more));
        self.requests_sent_in_turn += more;
    }

    /// Returns the action with the requests of this turn from number `from` on.
    fn action(&self, from: usize, pause_s: Option<f64>) -> SessionAction<'_> {
        SessionAction {
            requests: self
                .exchanges()
                .get(from..self.requests_sent_in_turn)
                .unwrap_or_default(),
            pause_s,
        }
    }

    /// Returns the pause before the next turn.
    fn pause_s(&self) -> Option<f64> {
        self.session
            .turns
            .get(self.turns_begun)
            .map(|turn| turn.pause_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Turn;

    fn session(kind: UserKind, turns: &[(f64, usize)]) -> Session {
        let turn = |&(pause_s, count): &(f64, usize)| Turn {
            pause_s,
            exchanges: (1..=count as u32)
                .map(|bytes| Exchange {
                    request_bytes: bytes,
                    reply_bytes: 10 * bytes,
                })
                .collect(),
        };
        Session {
            number: 0,
            kind,
            start_s: 0.0,
            turns: turns.iter().map(turn).collect(),
            playback: None,
        }
    }

    /// Chunks of 4 s, requested when at most 6 s are left: the third arrives 5 s too late.
    #[test]
    fn a_video_stalls_on_an_empty_buffer() {
        let s = |seconds: u64| seconds * 1_000_000_000;
        let mut user = SessionStateMachine::new(Session {
            playback: Some(crate::Playback {
                chunk_s: 4.0,
                ahead_s: 6.0,
            }),
            ..session(UserKind::Video, &[(0.0, 1); 5])
        });
        assert_eq!(user.on_connected(), Some(0.0));
        let mut load = |asked, loaded| {
            let act = user.begin_turn(asked);
            assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
            let answered = user.on_reply(loaded).unwrap();
            assert_eq!(answered.waits[0], Some((ResponseEvent::File, asked)));
            assert!(answered.action.requests.is_empty());
            (answered.waits[1], answered.action.pause_s)
        };
        // Playback lasts until 14 s.
        assert_eq!(
            load(s(9), s(10)),
            (Some((ResponseEvent::Play, s(9))), Some(0.0))
        );
        // Until 18 s, with 7 s left.
        assert_eq!(load(s(10), s(11)), (None, Some(1.0)));
        // Stalls from 18 s to 23 s, and plays until 27 s.
        assert_eq!(
            load(s(12), s(23)),
            (Some((ResponseEvent::Stall, s(18))), Some(0.0))
        );
        assert_eq!(load(s(23), s(24)), (None, Some(1.0)));
        assert_eq!(load(s(25), s(26)), (None, None));
        assert!(user.is_over());
    }

    fn sizes(act: &SessionAction<'_>) -> Vec<u32> {
        act.requests.iter().map(|it| it.request_bytes).collect()
    }

    #[test]
    fn a_page_is_one_file_and_then_all_others() {
        let mut user = SessionStateMachine::new(session(UserKind::Http, &[(0.0, 3), (7.0, 1)]));
        assert_eq!(user.on_connected(), Some(0.0));
        let act = user.begin_turn(10);
        assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
        let first = user.on_reply(20).unwrap();
        assert_eq!(first.waits, [Some((ResponseEvent::File, 10)), None]);
        assert_eq!(
            (sizes(&first.action), first.action.pause_s),
            (vec![2, 3], None)
        );
        let second = user.on_reply(30).unwrap();
        assert_eq!(second.waits, [Some((ResponseEvent::File, 20)), None]);
        assert!(second.action.requests.is_empty() && second.action.pause_s.is_none());
        let third = user.on_reply(40).unwrap();
        let page = Some((ResponseEvent::Page, 10));
        assert_eq!(third.waits, [Some((ResponseEvent::File, 20)), page]);
        assert_eq!(third.action.pause_s, Some(7.0));
        assert!(!user.is_over() && user.on_reply(45).is_none());
        user.begin_turn(50);
        let last = user.on_reply(60).unwrap();
        assert_eq!(last.waits[1], Some((ResponseEvent::Page, 50)));
        assert!(user.is_over());
    }

    #[test]
    fn simultaneous_keystrokes_are_all_sent() {
        let mut user = SessionStateMachine::new(session(UserKind::Telnet, &[(1.0, 2), (0.5, 1)]));
        assert_eq!(user.on_connected(), Some(1.0));
        let act = user.begin_turn(10);
        assert_eq!((sizes(&act), act.pause_s), (vec![1, 2], Some(0.5)));
        let act = user.begin_turn(11);
        assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
        let act = user.begin_turn(12);
        assert_eq!((sizes(&act), act.pause_s), (vec![], None));
        for since in [10, 10, 11] {
            assert!(!user.is_over());
            assert_eq!(user.oldest_request_time(), Some(since));
            let answered = user.on_reply(20).unwrap();
            assert_eq!(answered.waits, [Some((ResponseEvent::Echo, since)), None]);
        }
        assert!(user.is_over());
    }
}
