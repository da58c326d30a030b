//! Benchmark run: many users against one server.

mod failure;
mod measured;
mod options;

use std::future;
use std::iter::Peekable;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netflow_workload::{Session, Sessions};
use tokio::runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

pub use failure::Failure;
pub use measured::{MAX_P99_LATENESS_S, Measured, Progress, QueuedUsers, Users};
pub use options::{Load, RunOptions, StopCondition};

use crate::error::Error;
use crate::server::{seconds, set_congestion};
use crate::user::{End, run_session};

/// Simulates the users of workloads in this thread and measures their response times. Calls `on` ten
/// times a second with the progress; the run stops if it returns `false`.
///
/// # Errors
/// If the options or a workload are invalid, the system lacks the congestion control, or sockets cannot
/// be polled. Faults of the server are counted, not returned.
pub fn run(options: &RunOptions, on: &mut dyn FnMut(&Progress) -> bool) -> Result<Measured, Error> {
    options.check()?;
    if options.congestion.is_some() {
        let domain = socket2::Domain::for_address(options.server);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None);
        let socket = socket.map_err(Error::System)?;
        set_congestion(&socket, options.congestion.as_deref())?;
    }
    let mut arrivals = Arrivals::new(&options.loads)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::System)?;
    Ok(runtime.block_on(run_users(options, &mut arrivals, on)))
}

/// Users of all loads in arrival order, each with the index of its load.
pub struct Arrivals {
    loads: Vec<Peekable<Sessions>>,
}

impl Arrivals {
    /// Creates the iterator at the first arrival.
    ///
    /// # Errors
    /// If a workload or its rate is invalid.
    pub fn new(loads: &[Load]) -> Result<Self, Error> {
        let sessions = |load: &Load| Ok(load.workload.sessions(load.users_per_s)?.peekable());
        let loads: Result<_, Error> = loads.iter().map(sessions).collect();
        Ok(Self { loads: loads? })
    }
}

impl Iterator for Arrivals {
    type Item = (usize, Session);

    fn next(&mut self) -> Option<(usize, Session)> {
        let start_s = |sessions: &mut Peekable<Sessions>| sessions.peek().map(|s| s.start_s);
        let starts = self.loads.iter_mut().map(start_s).enumerate();
        let starts = starts.filter_map(|(load, start_s)| Some((load, start_s?)));
        let (load, _) = starts.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let session = self.loads.get_mut(load)?.next()?;
        Some((load, session))
    }
}

/// State shared by all users of a run.
pub(crate) struct Shared {
    pub options: RunOptions,
    /// Time after which users begin nothing more.
    end_time: Option<Instant>,
    measured: Mutex<Measured>,
}

impl Shared {
    fn measured(&self) -> MutexGuard<'_, Measured> {
        // Every update is complete under the lock, so a poisoned lock is usable.
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the counts of a load's users.
    pub fn tally(&self, load: usize, change: impl FnOnce(&mut Users)) {
        if let Some(users) = self.measured().users.get_mut(load) {
            change(users);
        }
    }

    /// Returns a pause scaled by `think_scale`.
    pub fn pause(&self, pause_s: f64) -> Duration {
        seconds(pause_s * self.options.think_scale)
    }

    /// Returns the end of the run, if it is not after `time`.
    pub fn end_if_before(&self, time: Instant) -> Option<Instant> {
        self.end_time.filter(|over| *over <= time)
    }

    /// Records the lateness of an event that was due at `then`.
    pub fn record_lateness(&self, then: Instant) {
        let late_s = Instant::now().saturating_duration_since(then).as_secs_f64();
        self.measured().late_s.push(late_s);
    }
}

/// The next user to arrive.
struct NextUser {
    load: usize,
    session: Session,
    due: Instant,
    /// True if all connections were in use at the arrival.
    has_waited: bool,
}

impl NextUser {
    /// Returns once the user has arrived and a connection is free.
    async fn wait_for_admission(
        &mut self,
        free_connections: &Arc<Semaphore>,
        shared: &Shared,
    ) -> OwnedSemaphorePermit {
        if self.due > Instant::now() {
            sleep_until(self.due).await;
            shared.record_lateness(self.due);
        }
        if let Ok(permit) = free_connections.clone().try_acquire_owned() {
            return permit;
        }
        self.has_waited = true;
        match free_connections.clone().acquire_owned().await {
            Ok(permit) => permit,
            // The semaphore is never closed.
            Err(_) => future::pending().await,
        }
    }
}

async fn run_users(
    options: &RunOptions,
    arrivals: &mut Arrivals,
    on: &mut dyn FnMut(&Progress) -> bool,
) -> Measured {
    let began = Instant::now();
    let (most_users, over) = match options.until {
        StopCondition::Users(users) => (users, None),
        StopCondition::Seconds(s) => (u64::MAX, Some(began + seconds(s))),
    };
    // All pending replies have arrived or timed out by then.
    let end = over.map(|over| over + seconds(options.timeout_s));
    let shared = Arc::new(Shared {
        options: options.clone(),
        end_time: over,
        measured: Mutex::new(Measured::of(&options.loads)),
    });
    let free_connections = Arc::new(Semaphore::new(options.connections));
    let mut running = JoinSet::new();
    let mut come = 0;
    let mut next_user = |come: u64| {
        let (load, session) = arrivals.next().filter(|_| come < most_users)?;
        let due = began + seconds(session.start_s);
        let next = NextUser {
            load,
            session,
            due,
            has_waited: false,
        };
        Some(next).filter(|next| shared.end_if_before(next.due).is_none())
    };
    let mut next = next_user(come);
    let mut ticks = interval(Duration::from_millis(100));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while next.is_some() || !running.is_empty() {
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                let now = Instant::now();
                let progress = shared.measured().progress(now.duration_since(began), options.until);
                if !on(&progress) {
                    shared.measured().interrupted = true;
                    break;
                }
                if end.is_some_and(|end| now > end) {
                    break;
                }
            }
            permit = wait_for_admission(&mut next, &free_connections, &shared) => {
                let Some(user) = next.take() else { continue };
                admit(user, permit, &shared, &mut running);
                come += 1;
                next = next_user(come);
                // Yields, so that many late users do not delay the last replies.
                task::yield_now().await;
            }
            _ = running.join_next(), if !running.is_empty() => {}
        }
    }
    running.shutdown().await;
    let mut measured = std::mem::take(&mut *shared.measured());
    measured.wall_s = began.elapsed().as_secs_f64();
    for users in &mut measured.users {
        // Users who were aborted count as left.
        users.left = users.come - users.finished - users.failed();
    }
    measured
}

/// Starts a user who has arrived and has a free connection, unless the run is over.
fn admit(
    user: NextUser,
    permit: OwnedSemaphorePermit,
    shared: &Arc<Shared>,
    running: &mut JoinSet<()>,
) {
    let now = Instant::now();
    // A user who arrives in time gets a connection, unless all stay in use.
    let too_late = shared.end_if_before(now).is_some();
    let mut measured = shared.measured();
    if user.has_waited || too_late {
        let wait_s = now.duration_since(user.due).as_secs_f64();
        measured.queued_users.add(wait_s, too_late);
    }
    if too_late {
        return;
    }
    if let Some(users) = measured.users.get_mut(user.load) {
        users.come += 1;
    }
    running.spawn(run_user(user, shared.clone(), permit));
}

/// Returns once there is a next user, the user has arrived and a connection is free.
async fn wait_for_admission(
    next: &mut Option<NextUser>,
    free_connections: &Arc<Semaphore>,
    shared: &Shared,
) -> OwnedSemaphorePermit {
    match next {
        Some(next) => next.wait_for_admission(free_connections, shared).await,
        None => future::pending().await,
    }
}

async fn run_user(user: NextUser, shared: Arc<Shared>, permit: OwnedSemaphorePermit) {
    let load = user.load;
    let ended = run_session(user.session, shared.clone(), load).await;
    drop(permit);
    shared.tally(load, |users| match ended {
        Ok(End::Finished) => users.finished += 1,
        Ok(End::Left) => users.left += 1,
        Err(failure) => users.fail(failure),
    });
}
