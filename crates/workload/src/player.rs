//! State machine of a user session, driven by events, without a clock, a network or a socket.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::{Exchange, Kind, Session};

/// Event that a user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitFor {
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

impl WaitFor {
    /// All events, in the order of results.
    pub const ALL: [WaitFor; 6] = [
        WaitFor::Connect,
        WaitFor::File,
        WaitFor::Page,
        WaitFor::Echo,
        WaitFor::Play,
        WaitFor::Stall,
    ];

    /// Returns its name: `connect`, `file`, `page`, `echo`, `play` or `stall`.
    pub fn name(self) -> &'static str {
        match self {
            WaitFor::Connect => "connect",
            WaitFor::File => "file",
            WaitFor::Page => "page",
            WaitFor::Echo => "echo",
            WaitFor::Play => "play",
            WaitFor::Stall => "stall",
        }
    }
}

/// Timestamp type of the driver.
pub trait Moment: Copy {
    /// Returns the seconds from `other` to `self`; negative if `self` is earlier.
    fn seconds_since(self, other: Self) -> f64;
    /// Returns the time `seconds` later; `seconds` must not be negative.
    fn later(self, seconds: f64) -> Self;
}

/// Nanoseconds.
impl Moment for u64 {
    fn seconds_since(self, other: u64) -> f64 {
        (self as f64 - other as f64) * 1e-9
    }

    fn later(self, seconds: f64) -> u64 {
        self.saturating_add((seconds * 1e9).round() as u64)
    }
}

impl Moment for Instant {
    fn seconds_since(self, other: Instant) -> f64 {
        match self.checked_duration_since(other) {
            Some(after) => after.as_secs_f64(),
            None => -other.duration_since(self).as_secs_f64(),
        }
    }

    fn later(self, seconds: f64) -> Instant {
        self + Duration::from_secs_f64(seconds)
    }
}

/// State machine of one user session over a connection; `T` is the timestamp type of the driver.
#[derive(Clone, Debug)]
pub struct Player<T> {
    session: Session,
    /// Number of turns that have begun.
    begun: usize,
    /// Number of exchanges requested in the present turn, and the time of the first.
    asked_of_turn: usize,
    turn_at: Option<T>,
    /// Request times of the replies that are not complete, in order.
    asked: VecDeque<T>,
    /// For a video, the time at which the playback buffer is empty.
    plays_until: Option<T>,
}

/// Action of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Act<'a> {
    /// Requests to send now.
    pub asks: &'a [Exchange],
    /// Delay in seconds until the next turn; `None` while replies are pending, or after the last turn.
    pub pause_s: Option<f64>,
}

/// Result of a complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<'a, T> {
    /// Finished waits with their start times: a file or an echo, and a page with its last file or a video
    /// with a chunk.
    pub waits: [Option<(WaitFor, T)>; 2],
    /// Next action of the user.
    pub act: Act<'a>,
}

impl<T: Moment> Player<T> {
    /// Returns a user at the start of a session.
    pub fn new(session: Session) -> Player<T> {
        Player {
            session,
            begun: 0,
            asked_of_turn: 0,
            turn_at: None,
            asked: VecDeque::new(),
            plays_until: None,
        }
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Records that the connection is open, and returns the delay in seconds until the first turn.
    pub fn connected(&self) -> Option<f64> {
        self.pause_s()
    }

    /// Begins the next turn after the pause.
    ///
    /// For a page, only the first file is requested; for keystrokes, all at once. After the last turn there
    /// is no request.
    pub fn begin_turn(&mut self, now: T) -> Act<'_> {
        if self.begun == self.session.turns.len() {
            return self.act(self.asked_of_turn, None);
        }
        self.begun += 1;
        self.turn_at = Some(now);
        self.asked_of_turn = 0;
        let goes_on = match self.session.kind {
            Kind::Http => {
                self.ask(now, 1);
                self.exchanges().is_empty()
            }
            Kind::Telnet => {
                self.ask(now, usize::MAX);
                true
            }
            Kind::Video => {
                self.ask(now, usize::MAX);
                self.exchanges().is_empty()
            }
        };
        self.act(0, self.pause_s().filter(|_| goes_on))
    }

    /// Records that the oldest pending reply is complete. Returns `None` if no reply is pending.
    ///
    /// After the first file of a page, all others are requested; after the last, the user pauses. After a
    /// chunk, the player pauses until it needs the next one.
    pub fn answered(&mut self, now: T) -> Option<Answered<'_, T>> {
        let since = self.asked.pop_front()?;
        let (asked, pending) = (self.asked_of_turn, self.asked.len());
        let wait = match self.session.kind {
            Kind::Telnet => WaitFor::Echo,
            Kind::Http | Kind::Video => WaitFor::File,
        };
        let (mut whole, mut pause_s) = (None, None);
        match self.session.kind {
            Kind::Http if pending == 0 => {
                self.ask(now, usize::MAX);
                if self.asked.is_empty() {
                    whole = self.turn_at.map(|at| (WaitFor::Page, at));
                    pause_s = self.pause_s();
                }
            }
            Kind::Video if pending == 0 => {
                let playback = self.session.playback.unwrap_or_default();
                whole = self.loaded(now, since, playback.chunk_s);
                let left_s = self
                    .plays_until
                    .map_or(0.0, |until| until.seconds_since(now));
                let pause = (left_s - playback.ahead_s).max(0.0);
                pause_s = self.pause_s().map(|_| pause);
            }
            Kind::Http | Kind::Telnet | Kind::Video => {}
        }
        Some(Answered {
            waits: [Some((wait, since)), whole],
            act: self.act(asked, pause_s),
        })
    }

    /// Adds a complete chunk of `chunk_s`, requested at `since`, to the playback buffer. Returns the wait
    /// that ends with it, if the video was not playing.
    fn loaded(&mut self, now: T, since: T, chunk_s: f64) -> Option<(WaitFor, T)> {
        let (plays_from, waited) = match self.plays_until {
            None => (now, Some((WaitFor::Play, since))),
            Some(until) if now.seconds_since(until) > 0.0 => (now, Some((WaitFor::Stall, until))),
            Some(until) => (until, None),
        };
        self.plays_until = Some(plays_from.later(chunk_s));
        waited
    }

    /// Returns the request time of the oldest incomplete reply.
    pub fn waits_since(&self) -> Option<T> {
        self.asked.front().copied()
    }

    /// Returns true if all requests have been sent and answered.
    pub fn is_over(&self) -> bool {
        self.begun == self.session.turns.len() && self.asked.is_empty()
    }

    /// Returns the exchanges of the present turn.
    fn exchanges(&self) -> &[Exchange] {
        let turn = self.begun.checked_sub(1);
        let turn = turn.and_then(|turn| self.session.turns.get(turn));
        turn.map_or(&[], |turn| &turn.exchanges)
    }

    /// Requests at most `most` more exchanges of the turn.
    fn ask(&mut self, now: T, most: usize) {
        let more = (self.exchanges().len() - self.asked_of_turn).min(most);
        self.asked.extend(std::iter::repeat_n(now, more));
        self.asked_of_turn += more;
    }

    /// Returns the action with the requests of this turn from number `from` on.
    fn act(&self, from: usize, pause_s: Option<f64>) -> Act<'_> {
        Act {
            asks: self
                .exchanges()
                .get(from..self.asked_of_turn)
                .unwrap_or_default(),
            pause_s,
        }
    }

    /// Returns the pause before the next turn.
    fn pause_s(&self) -> Option<f64> {
        self.session.turns.get(self.begun).map(|turn| turn.pause_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Turn;

    fn session(kind: Kind, turns: &[(f64, usize)]) -> Session {
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
    fn a_video_stalls_when_there_is_nothing_to_play() {
        let s = |seconds: u64| seconds * 1_000_000_000;
        let mut user = Player::new(Session {
            playback: Some(crate::Playback {
                chunk_s: 4.0,
                ahead_s: 6.0,
            }),
            ..session(Kind::Video, &[(0.0, 1); 5])
        });
        assert_eq!(user.connected(), Some(0.0));
        let mut load = |asked, loaded| {
            let act = user.begin_turn(asked);
            assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
            let answered = user.answered(loaded).unwrap();
            assert_eq!(answered.waits[0], Some((WaitFor::File, asked)));
            assert!(answered.act.asks.is_empty());
            (answered.waits[1], answered.act.pause_s)
        };
        // Playback lasts until 14 s.
        assert_eq!(load(s(9), s(10)), (Some((WaitFor::Play, s(9))), Some(0.0)));
        // Until 18 s, with 7 s left.
        assert_eq!(load(s(10), s(11)), (None, Some(1.0)));
        // Stalls from 18 s to 23 s, and plays until 27 s.
        assert_eq!(
            load(s(12), s(23)),
            (Some((WaitFor::Stall, s(18))), Some(0.0))
        );
        assert_eq!(load(s(23), s(24)), (None, Some(1.0)));
        assert_eq!(load(s(25), s(26)), (None, None));
        assert!(user.is_over());
    }

    fn sizes(act: &Act<'_>) -> Vec<u32> {
        act.asks.iter().map(|it| it.request_bytes).collect()
    }

    #[test]
    fn a_page_is_one_file_and_then_all_others() {
        let mut user = Player::new(session(Kind::Http, &[(0.0, 3), (7.0, 1)]));
        assert_eq!(user.connected(), Some(0.0));
        let act = user.begin_turn(10);
        assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
        let first = user.answered(20).unwrap();
        assert_eq!(first.waits, [Some((WaitFor::File, 10)), None]);
        assert_eq!((sizes(&first.act), first.act.pause_s), (vec![2, 3], None));
        let second = user.answered(30).unwrap();
        assert_eq!(second.waits, [Some((WaitFor::File, 20)), None]);
        assert!(second.act.asks.is_empty() && second.act.pause_s.is_none());
        let third = user.answered(40).unwrap();
        let page = Some((WaitFor::Page, 10));
        assert_eq!(third.waits, [Some((WaitFor::File, 20)), page]);
        assert_eq!(third.act.pause_s, Some(7.0));
        assert!(!user.is_over() && user.answered(45).is_none());
        user.begin_turn(50);
        let last = user.answered(60).unwrap();
        assert_eq!(last.waits[1], Some((WaitFor::Page, 50)));
        assert!(user.is_over());
    }

    #[test]
    fn keystrokes_that_come_together_are_all_sent() {
        let mut user = Player::new(session(Kind::Telnet, &[(1.0, 2), (0.5, 1)]));
        assert_eq!(user.connected(), Some(1.0));
        let act = user.begin_turn(10);
        assert_eq!((sizes(&act), act.pause_s), (vec![1, 2], Some(0.5)));
        let act = user.begin_turn(11);
        assert_eq!((sizes(&act), act.pause_s), (vec![1], None));
        let act = user.begin_turn(12);
        assert_eq!((sizes(&act), act.pause_s), (vec![], None));
        for since in [10, 10, 11] {
            assert!(!user.is_over());
            assert_eq!(user.waits_since(), Some(since));
            let answered = user.answered(20).unwrap();
            assert_eq!(answered.waits, [Some((WaitFor::Echo, since)), None]);
        }
        assert!(user.is_over());
    }
}
