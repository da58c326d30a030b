//! Whom to play, against which server.

use std::net::SocketAddr;

use netflow_workload::Workload;

use crate::error::Error;

/// Users of one kind, and how often they come.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What they do.
    pub workload: Workload,
    /// How many come in a second, on average.
    pub users_per_s: f64,
}

/// When no more users come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// After so many, of all loads together; each does all there is to do.
    Users(u64),
    /// After so many seconds. Users who are there then complete the page they wait for, and leave.
    Seconds(f64),
}

/// What to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// The server.
    pub server: SocketAddr,
    /// The users.
    pub loads: Vec<Load>,
    /// When to end.
    pub until: Until,
    /// Pauses take this many times as long: 0.01 for a hundredth. Where TCP begins anew after a pause,
    /// with a small window, it does so less often after shorter ones.
    pub think_scale: f64,
    /// Connections at a time; who comes when there are so many has to wait.
    pub connections: usize,
    /// How long to wait for a connection, and for a reply since the one before, in seconds. Who waits
    /// longer has failed, and that wait is not among the times.
    pub timeout_s: f64,
    /// The congestion control of requests; the system's if not given.
    pub congestion: Option<String>,
}

impl RunOptions {
    /// For a minute, at most 20 users at a time who wait up to a minute.
    pub fn new(server: SocketAddr, loads: Vec<Load>) -> Self {
        Self {
            server,
            loads,
            until: Until::Seconds(60.0),
            think_scale: 1.0,
            connections: 20,
            timeout_s: 60.0,
            congestion: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |what, value: f64, (least, most): (f64, f64), allowed| match (least..=most)
            .contains(&value)
        {
            true => Ok(()),
            false => Err(Error::Option {
                what,
                value,
                allowed,
            }),
        };
        match self.until {
            Until::Users(users) => {
                within("number of users", users as f64, (1.0, 1e6), "1 to 1e6")?;
            }
            Until::Seconds(s) => within(
                "duration",
                s,
                (f64::MIN_POSITIVE, 1e6),
                "above 0 s and at most 1e6 s",
            )?,
        }
        let allowed = "at least one";
        within(
            "number of workloads",
            self.loads.len() as f64,
            (1.0, 1e3),
            allowed,
        )?;
        within(
            "scale of think times",
            self.think_scale,
            (0.0, 1e3),
            "0 to 1000",
        )?;
        let connections = self.connections as f64;
        within(
            "number of connections",
            connections,
            (1.0, 1e4),
            "1 to 10000",
        )?;
        within("timeout", self.timeout_s, (1e-3, 1e6), "1 ms to 1e6 s")
    }
}
