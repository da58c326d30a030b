//! Whoever runs a scenario beside netflow.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use netflow_scenario::Prepared;
use netflow_scenario::export::Tcp;

use crate::{Error, Referee, Run};

/// How a referee runs the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many runs, with as many seeds.
    pub seeds: u32,
    /// How many at a time.
    pub jobs: usize,
    /// Connections start up to this many seconds later, at random: what makes the runs differ.
    /// netflow's start half of it later.
    pub start_jitter_s: f64,
    /// In ns-2, TCP waits up to this many seconds before it sends a packet, at random.
    pub overhead_s: f64,
    /// In ns-2, the TCP of all connections; else that of their profiles.
    pub tcp: Option<Tcp>,
    /// Length of the intervals in seconds.
    pub every_s: f64,
    /// In ns-3, packets that are sent before this time count for no delay, in seconds.
    pub delays_from_s: f64,
}

impl Default for Settings {
    /// Ten runs on all cores, starts up to 0.5 s later.
    fn default() -> Settings {
        Settings {
            seeds: 10,
            jobs: thread::available_parallelism().map_or(1, usize::from),
            start_jitter_s: 0.5,
            overhead_s: 0.0,
            tcp: None,
            every_s: 0.5,
            delays_from_s: 0.0,
        }
    }
}

/// What runs cost a referee in seconds: of processors, or by the clock where it is that which passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Costs {
    /// Mean over the runs.
    pub plain_s: f64,
    /// One run that traces every packet, to `/dev/null`.
    pub with_trace_s: Option<f64>,
}

/// Something that runs scenarios. To add one: its name among [`Referee`]s, and a file with this.
pub trait Runner: Sync {
    /// Who it is.
    fn referee(&self) -> Referee;

    /// Whether it can run this scenario, before anything is made.
    ///
    /// # Errors
    /// What of the scenario it cannot have.
    fn check(&self, scenario: &Prepared, settings: &Settings) -> Result<(), Error>;

    /// Runs it with the seed of this number, from 0. `stop` is asked again and again.
    ///
    /// # Errors
    /// As [`Runner::check`], and if the run fails or is stopped.
    fn run_one(
        &self,
        scenario: &Prepared,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error>;

    /// Whether it has traces, to be timed.
    fn has_traces(&self) -> bool {
        false
    }

    /// Seconds that a run costs which traces every packet, to `/dev/null`; `None` if it has no such traces.
    ///
    /// # Errors
    /// As [`Runner::run_one`].
    fn time_with_trace(
        &self,
        _scenario: &Prepared,
        _settings: &Settings,
        _stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<f64>, Error> {
        Ok(None)
    }

    /// Runs the scenario once per seed, several at a time; `done` is told of each that is
    /// finished, `stop` is asked again and again.
    ///
    /// # Errors
    /// The first of the runs'.
    fn run_seeds(
        &self,
        scenario: &Prepared,
        settings: &Settings,
        done: &(dyn Fn(u32) + Sync),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Run>, Error> {
        let next = AtomicUsize::new(0);
        let finished = AtomicUsize::new(0);
        let seeds = settings.seeds as usize;
        let results: Mutex<Vec<Option<Result<Run, Error>>>> =
            Mutex::new((0..seeds).map(|_| None).collect());
        let failed = || lock(&results).iter().flatten().any(Result::is_err);
        thread::scope(|scope| {
            for _ in 0..settings.jobs.clamp(1, seeds.max(1)) {
                scope.spawn(|| {
                    loop {
                        let run = next.fetch_add(1, Ordering::Relaxed);
                        if run >= seeds || failed() {
                            return;
                        }
                        let result = self.run_one(scenario, settings, run as u32, stop);
                        lock(&results)[run] = Some(result);
                        done(finished.fetch_add(1, Ordering::Relaxed) as u32 + 1);
                    }
                });
            }
        });
        let results = results
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        results.into_iter().flatten().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
