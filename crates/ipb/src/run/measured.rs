//! What a run measured.

use std::time::Duration;

use netflow_workload::{Kind, Times, Waits};
use serde::Serialize;

use super::{Failure, Load, Until};

/// Timers that are later than this, in seconds, at more than one time in a hundred make a run
/// inconclusive: replies may have waited as long before their arrival was seen. Up to 2 ms are the
/// timers' own coarseness.
pub const MOST_LATENESS_S: f64 = 3e-3;

/// What a run measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// For each load, what its users did and waited for.
    pub users: Vec<Users>,
    /// Users who came when there were too many already.
    pub held_back: HeldBack,
    /// How late the run itself was where a pause had ended, in seconds, in any order.
    pub late_s: Vec<f64>,
    /// How long the run took, in seconds.
    pub wall_s: f64,
    /// Whether it was stopped.
    pub interrupted: bool,
}

/// Users of one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// Their kind.
    pub kind: Kind,
    /// How many came.
    pub come: u64,
    /// How many did all there was to do.
    pub finished: u64,
    /// How many left since the run was over, or stopped.
    pub left: u64,
    failed: [u64; Failure::ALL.len()],
    /// Requests: files or keystrokes.
    pub requests: u64,
    /// Bytes of these requests.
    pub request_bytes: u64,
    /// Bytes of the replies that were complete.
    pub reply_bytes: u64,
    /// Bytes of scripts.
    pub script_bytes: u64,
    /// Requests that were longer than their workload says, or their replies: nothing is shorter than
    /// its head.
    pub lengthened: u64,
    /// What they waited for.
    pub waits: Waits,
}

impl Users {
    /// Users who failed, in all.
    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Why users failed, and how many did.
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

/// Users who came when there were too many already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HeldBack {
    /// How many.
    pub users: u64,
    /// Those of them who were still waiting when the run was over.
    pub turned_away: u64,
    /// How long they waited for a connection to become free, on average, in seconds; 0 if nobody did.
    pub mean_s: f64,
    /// The longest, in seconds.
    pub longest_s: f64,
}

impl HeldBack {
    pub(super) fn add(&mut self, wait_s: f64, too_late: bool) {
        self.users += 1;
        self.turned_away += u64::from(too_late);
        self.mean_s += (wait_s - self.mean_s) / self.users as f64;
        self.longest_s = self.longest_s.max(wait_s);
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What part of it is done, 0 to 1.
    pub share: f64,
    /// Users who have come.
    pub come: u64,
    /// Users who have finished, left or failed.
    pub gone: u64,
    /// Users who have failed.
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
            lengthened: 0,
            waits: Waits::default(),
        };
        Self {
            users: loads.iter().map(users).collect(),
            ..Self::default()
        }
    }

    /// What all users waited for.
    pub fn waits(&self) -> Waits {
        let mut waits = Waits::default();
        for users in &self.users {
            waits.extend(users.waits.clone());
        }
        waits
    }

    /// Whether the run kept up with its own timers, and its waits can be believed.
    pub fn is_conclusive(&self) -> bool {
        let late = Times::new(self.late_s.clone());
        late.count() == 0 || late.quantile(0.99) <= MOST_LATENESS_S
    }

    pub(super) fn progress(&self, elapsed: Duration, until: Until) -> Progress {
        let sum = |of: fn(&Users) -> u64| self.users.iter().map(of).sum::<u64>();
        let gone = sum(|users| users.finished + users.left + users.failed());
        let share = match until {
            Until::Users(users) => gone as f64 / users as f64,
            Until::Seconds(s) => elapsed.as_secs_f64() / s,
        };
        Progress {
            share: share.min(1.0),
            come: sum(|users| users.come),
            gone,
            failed: sum(Users::failed),
        }
    }
}
