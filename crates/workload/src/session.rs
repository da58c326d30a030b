//! Users: when they come, and what each of them does.

use crate::{
    Application,
    error::{Error, ensure},
    random::{Purpose, Random},
};

/// A kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Of the web.
    Http,
    /// Of a remote terminal.
    Telnet,
    /// Of a video.
    Video,
}

impl Kind {
    /// Its name: `http`, `telnet` or `video`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Telnet => "telnet",
            Self::Video => "video",
        }
    }
}

/// Users of one kind, for a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// What each of them does.
    pub application: Application,
    /// Names the random numbers: the same seed gives the same users.
    pub seed: u64,
}

impl Workload {
    /// Users as they come, `users_per_s` of them on average in a second (a Poisson process), without
    /// end.
    ///
    /// # Errors
    /// If a number of the workload is outside of what it may be, or the rate.
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

    /// What the user of this number does, coming at `start_s` seconds: the same whenever that is.
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

/// Users in the order they come; see [`Workload::sessions`].
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

/// What one user does, over one connection that is opened at the start and closed at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Users are counted from 0.
    pub number: u64,
    /// The kind of user.
    pub kind: Kind,
    /// When the user comes, in seconds.
    pub start_s: f64,
    /// What is asked for, in order; at least one.
    pub turns: Vec<Turn>,
    /// How it is played, for [`Kind::Video`].
    pub playback: Option<Playback>,
}

/// How a video is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playback {
    /// How long a chunk plays, in seconds.
    pub chunk_s: f64,
    /// The next chunk is asked for when no more than so much is left to play, in seconds.
    pub ahead_s: f64,
}

impl Default for Playback {
    /// Chunks of 4 s, 20 s ahead.
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
    /// Before it, in seconds: for [`Kind::Http`] since the page before was complete, for
    /// [`Kind::Telnet`] since the keystroke before was sent, whether answered or not; before the
    /// first since the connection was open. For [`Kind::Video`] what is loaded says when.
    pub pause_s: f64,
    /// What is asked for; at least one. For [`Kind::Http`] the first is asked for alone; when its reply
    /// is complete, all the others are, at once (they are pipelined). For [`Kind::Telnet`] all are at
    /// once. They are answered in order.
    pub exchanges: Vec<Exchange>,
}

/// A file, or a keystroke's echo: what is asked for and what is answered.
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

    /// n arrivals of a Poisson process take n/λ on average, give or take √n/λ.
    #[test]
    fn users_come_at_the_rate_asked_for() {
        let n = 10_000;
        let last = workload(3).sessions(4.0).unwrap().nth(n - 1).unwrap();
        let expected_s = n as f64 / 4.0;
        assert!((last.start_s - expected_s).abs() < 5.0 * (n as f64).sqrt() / 4.0);
    }

    /// More users a second come sooner, and do the same.
    #[test]
    fn what_a_user_does_depends_on_nobody_else() {
        let workload = workload(3);
        let slow = workload.sessions(1.0).unwrap().nth(7).unwrap();
        let fast = workload.sessions(100.0).unwrap().nth(7).unwrap();
        assert_eq!(slow.turns, fast.turns);
        assert!(slow.start_s > fast.start_s);
    }

    /// Bytes a session: 4000 users' within five standard errors of the mean.
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
                // Rounding up adds at most one byte an exchange: a part in 400 at most.
                assert!(
                    (mean - expected).abs() < 5.0 * error + expected / 200.0,
                    "{mean} {expected} {error}"
                );
            }
        }
    }

    #[test]
    fn nobody_is_a_rate_too() {
        assert_eq!(
            workload(1).sessions(0.0).unwrap_err().to_string(),
            "users per second is 0, allowed is above 0 and at most 1e6"
        );
    }
}
