//! Measurements of a run.

use std::time::Duration;

use netflow_workload::{ResponseTimes, TimeSample, UserKind};
use serde::Serialize;

use super::{Failure, Load, StopCondition};

/// Maximum p99 lateness of timers in a conclusive run, in seconds. Beyond it, replies may have waited as
/// long before their arrival was seen. The timers' own resolution causes up to 2 ms.
pub const MAX_P99_LATENESS_S: f64 = 3e-3;

/// Measurements of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Counts and response times of the users, by load.
    pub users: Vec<Users>,
    /// Users who arrived when all connections were in use.
    pub queued_users: QueuedUsers,
    /// Lateness of the run at the end of each pause, in seconds, in any order.
    pub late_s: Vec<f64>,
    /// Duration of the run, in seconds.
    pub wall_s: f64,
    /// True if the run was stopped.
    pub interrupted: bool,
}

/// Users of one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// Kind of the users.
    pub kind: UserKind,
    /// Number of arrived users.
    pub come: u64,
    /// Number of users who finished their session.
    pub finished: u64,
    /// Number of users who left because the run ended or was stopped.
    pub left: u64,
    failed: [u64; Failure::ALL.len()],
    /// Number of requests: files or keystrokes.
    pub requests: u64,
    /// Bytes of these requests.
    pub request_bytes: u64,
    /// Bytes of the complete replies.
    pub reply_bytes: u64,
    /// Bytes of scripts.
    pub script_bytes: u64,
    /// Number of requests that, or whose replies, were longer than the workload's lengths, because no
    /// message is shorter than its head.
    pub padded_messages: u64,
    /// Response times.
    pub waits: ResponseTimes,
}

impl Users {
    /// Returns the number of users who failed.
    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Returns the failures that occurred, with the number of users.
    pub fn failures(&self) -> impl Iterator<Item = (Failure, u64)> + '_ {
        let counts = Failure::ALL.into_iter().zip(self.failed);
        counts.filter(|(_, count)| *count > 0)
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        if let Some(count) = self.failed.get_mut(failure as usize) {
            *count += 1;
        }
    }
}

/// Users who arrived when all connections were in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueuedUsers {
    /// Number of these users.
    pub users: u64,
    /// Number of them who were still waiting at the end of the run.
    pub turned_away: u64,
    /// Mean wait for a free connection, in seconds; 0 if there are none.
    pub mean_s: f64,
    /// Longest wait, in seconds.
    pub longest_s: f64,
}

impl QueuedUsers {
    pub(super) fn add(&mut self, wait_s: f64, too_late: bool) {
        self.users += 1;
        self.turned_away += u64::from(too_late);
        self.mean_s += (wait_s - self.mean_s) / self.users as f64;
        self.longest_s = self.longest_s.max(wait_s);
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Completed fraction, 0 to 1.
    pub share: f64,
    /// Number of users who have arrived.
    pub come: u64,
    /// Number of users who have finished, left or failed.
    pub gone: u64,
    /// Number of users who have failed.
    pub failed: u64,
}

impl Measured {
    pub(super) fn of(loads: &[Load]) -> Self {
        let users = |load: &Load| Users {
            kind: load.workload.application.kind(),
            come: 0,
            finished: 0,
            left: 0,
            failed: [0; Failure::ALL.len()],
            requests: 0,
            request_bytes: 0,
            reply_bytes: 0,
            script_bytes: 0,
            padded_messages: 0,
            waits: ResponseTimes::default(),
        };
        Self {
            users: loads.iter().map(users).collect(),
            ..Self::default()
        }
    }

    /// Returns the response times of all users.
    pub fn waits(&self) -> ResponseTimes {
        let mut waits = ResponseTimes::default();
        for users in &self.users {
            waits.extend(users.waits.clone());
        }
        waits
    }

    /// Returns whether the run kept up with its own timers, so that its response times are valid.
    pub fn is_conclusive(&self) -> bool {
        let late = TimeSample::new(self.late_s.clone());
        late.count() == 0 || late.quantile(0.99) <= MAX_P99_LATENESS_S
    }

    pub(super) fn progress(&self, elapsed: Duration, until: StopCondition) -> Progress {
        let sum = |of: fn(&Users) -> u64| self.users.iter().map(of).sum::<u64>();
        let gone = sum(|users| users.finished + users.left + users.failed());
        let share = match until {
            StopCondition::Users(users) => gone as f64 / users as f64,
            StopCondition::Seconds(s) => elapsed.as_secs_f64() / s,
        };
        Progress {
            share: share.min(1.0),
            come: sum(|users| users.come),
            gone,
            failed: sum(Users::failed),
        }
    }
}
