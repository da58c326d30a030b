//! User sessions: arrival times and requests.

use crate::{
    Application,
    error::{Error, ensure},
    random_streams::{Purpose, Random},
};

/// Kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserKind {
    /// Web user.
    Http,
    /// User of a remote terminal.
    Telnet,
    /// Video viewer.
    Video,
}

impl UserKind {
    /// Returns its name: `http`, `telnet` or `video`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Telnet => "telnet",
            Self::Video => "video",
        }
    }
}

/// Users of one kind, generated from a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Application of each user.
    pub application: Application,
    /// Random seed: the same seed gives the same users.
    pub seed: u64,
}

impl Workload {
    /// Returns an infinite sequence of sessions with Poisson arrivals at rate `users_per_s`.
    ///
    /// # Errors
    /// A parameter of the workload or the rate is out of its range.
    pub fn sessions(&self, users_per_s: f64) -> Result<Sessions, Error> {
        self.application.check()?;
        ensure(
            users_per_s > 0.0 && users_per_s <= 1e6,
            "users per second",
            users_per_s,
            "above 0 and at most 1e6",
        )?;
        Ok(Sessions {
            workload: self.clone(),
            users_per_s,
            arrivals: Random::new(self.seed, Purpose::Arrivals),
            now_s: 0.0,
            next: 0,
        })
    }

    /// Returns the session of user `number`, which starts at `start_s` seconds. Its content does not depend
    /// on the start.
    fn session(&self, number: u64, start_s: f64) -> Session {
        let mut random = Random::new(self.seed, Purpose::Session(number));
        Session {
            number,
            kind: self.application.kind(),
            start_s,
            turns: self.application.turns(&mut random),
            playback: self.application.playback(),
        }
    }
}

/// Iterator over sessions in the order of arrival; see [`Workload::sessions`].
#[derive(Clone, Debug)]
pub struct Sessions {
    workload: Workload,
    users_per_s: f64,
    arrivals: Random,
    now_s: f64,
    next: u64,
}

impl Iterator for Sessions {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        self.now_s -= libm::log1p(-self.arrivals.uniform()) / self.users_per_s;
        let session = self.workload.session(self.next, self.now_s);
        self.next += 1;
        Some(session)
    }
}

/// Session of one user, over one connection that is opened at the start and closed at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Number of the user, from 0.
    pub number: u64,
    /// Kind of user.
    pub kind: UserKind,
    /// Arrival time of the user in seconds.
    pub start_s: f64,
    /// Turns in order; at least one.
    pub turns: Vec<Turn>,
    /// Playback settings, for [`UserKind::Video`].
    pub playback: Option<Playback>,
}

/// Playback settings of a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playback {
    /// Duration of a chunk in seconds.
    pub chunk_s: f64,
    /// Playback buffer in seconds at or below which the next chunk is requested.
    pub ahead_s: f64,
}

impl Default for Playback {
    /// Chunks of 4 s and a playback buffer of 20 s.
    fn default() -> Playback {
        Playback {
            chunk_s: 4.0,
            ahead_s: 20.0,
        }
    }
}

/// A page, a keystroke or a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Pause before the turn in seconds. For [`UserKind::Http`] it starts when the previous page is complete. For
    /// [`UserKind::Telnet`] it starts when the previous keystroke is sent, answered or not. Before the first turn
    /// it starts when the connection is open. For [`UserKind::Video`] the playback buffer determines the pause.
    pub pause_s: f64,
    /// Exchanges of the turn; at least one. For [`UserKind::Http`] the first is requested alone; when its reply
    /// is complete, all others are requested at once (pipelined). For [`UserKind::Telnet`] all are requested at
    /// once. Replies are in order.
    pub exchanges: Vec<Exchange>,
}

/// Request and reply of a file, a keystroke or a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Length of the request in bytes; at least 1.
    pub request_bytes: u32,
    /// Length of the reply in bytes; at least 1.
    pub reply_bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Http, Telnet};

    fn workload(seed: u64) -> Workload {
        Workload {
            application: Application::Http(Http::default()),
            seed,
        }
    }

    /// n Poisson arrivals take n/λ on average, with a standard deviation of √n/λ.
    #[test]
    fn users_arrive_at_the_given_rate() {
        let n = 10_000;
        let last = workload(3).sessions(4.0).unwrap().nth(n - 1).unwrap();
        let expected_s = n as f64 / 4.0;
        assert!((last.start_s - expected_s).abs() < 5.0 * (n as f64).sqrt() / 4.0);
    }

    /// At a higher rate users arrive earlier, with the same content.
    #[test]
    fn sessions_are_independent_of_other_users() {
        let workload = workload(3);
        let slow = workload.sessions(1.0).unwrap().nth(7).unwrap();
        let fast = workload.sessions(100.0).unwrap().nth(7).unwrap();
        assert_eq!(slow.turns, fast.turns);
        assert!(slow.start_s > fast.start_s);
    }

    /// Bytes per session: the mean over 4000 users is within five standard errors.
    #[test]
    fn sessions_have_the_mean_bytes() {
        for application in [
            Application::Http(Http::default()),
            Application::Telnet(Telnet::default()),
        ] {
            let (requests, replies) = application.mean_bytes();
            let workload = Workload {
                application,
                seed: 5,
            };
            let n = 4000;
            let sessions: Vec<Session> = workload.sessions(1.0).unwrap().take(n).collect();
            type Length = fn(&Exchange) -> u32;
            let sides: [(f64, Length); 2] = [
                (requests, |exchange| exchange.request_bytes),
                (replies, |exchange| exchange.reply_bytes),
            ];
            for (expected, length) in sides {
                let of_each: Vec<f64> = sessions
                    .iter()
                    .map(|session| {
                        let exchanges = session.turns.iter().flat_map(|turn| &turn.exchanges);
                        exchanges.map(|exchange| f64::from(length(exchange))).sum()
                    })
                    .collect();
                let mean = of_each.iter().sum::<f64>() / n as f64;
                let squares: f64 = of_each.iter().map(|x| (x - mean).powi(2)).sum();
                let error = squares.sqrt() / n as f64;
                // Rounding up adds at most one byte per exchange: at most 1/400.
                assert!(
                    (mean - expected).abs() < 5.0 * error + expected / 200.0,
                    "{mean} {expected} {error}"
                );
            }
        }
    }

    #[test]
    fn zero_arrival_rate_yields_no_sessions() {
        assert_eq!(
            workload(1).sessions(0.0).unwrap_err().to_string(),
            "users per second is 0, allowed is above 0 and at most 1e6"
        );
    }
}
