//! Options of a run.

use std::net::SocketAddr;

use netflow_workload::Workload;

use crate::error::Error;

/// A workload and the arrival rate of its users.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Workload of the users.
    pub workload: Workload,
    /// Mean arrival rate, in users/s.
    pub users_per_s: f64,
}

/// Stop condition for new users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopCondition {
    /// Number of users of all loads together; each finishes its session.
    Users(u64),
    /// Duration in seconds. Users still active then complete their current page and leave.
    Seconds(f64),
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Address of the server.
    pub server: SocketAddr,
    /// Loads, at least one.
    pub loads: Vec<Load>,
    /// Stop condition.
    pub until: StopCondition,
    /// Factor on all pauses: 0.01 makes them 1 % as long. After a pause TCP may restart with a small
    /// window, which happens less often after shorter pauses.
    pub think_scale: f64,
    /// Maximum number of simultaneous connections; users who arrive beyond it wait.
    pub connections: usize,
    /// Timeout for a connection, and for a reply since the previous one, in seconds. A user who waits
    /// longer has failed, and that wait is not among the response times.
    pub timeout_s: f64,
    /// Congestion control of requests; `None` for the system's default.
    pub congestion: Option<String>,
}

impl RunOptions {
    /// Returns options for a run of one minute with at most 20 connections and a timeout of one minute.
    pub fn new(server: SocketAddr, loads: Vec<Load>) -> Self {
        Self {
            server,
            loads,
            until: StopCondition::Seconds(60.0),
            think_scale: 1.0,
            connections: 20,
            timeout_s: 60.0,
            congestion: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |what, value: f64, (least, most): (f64, f64), allowed| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::Option {
                    what,
                    value,
                    allowed,
                })
            }
        };
        match self.until {
            StopCondition::Users(users) => {
                within("number of users", users as f64, (1.0, 1e6), "1 to 1e6")?;
            }
            StopCondition::Seconds(s) => within(
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
