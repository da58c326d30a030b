//! Interface of reference simulators and systems.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use netflow_scenario::CompiledScenario;
use netflow_scenario::export::Ns2Tcp;

use crate::{Error, ReferenceSystem, Run};

/// Settings of the reference runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of runs, each with its own seed.
    pub seeds: u32,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Maximum random delay of connection starts in seconds, which makes the runs differ. The fluid models
    /// delay starts by half of it.
    pub start_jitter_s: f64,
    /// Maximum random delay in seconds before TCP sends a packet (ns-2 only).
    pub overhead_s: f64,
    /// TCP variant of all connections (ns-2 only); `None` uses that of their profiles.
    pub tcp: Option<Ns2Tcp>,
    /// Length of the intervals in seconds.
    pub every_s: f64,
    /// Start of delay measurements in seconds (ns-3 only).
    pub delays_from_s: f64,
}

impl Default for Settings {
    /// Ten runs on all cores, with starts delayed by up to 0.5 s.
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

/// Cost of runs in seconds: CPU time, or elapsed time for real-time runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Costs {
    /// Mean over the runs.
    pub plain_s: f64,
    /// Cost of one run that traces every packet to `/dev/null`.
    pub with_trace_s: Option<f64>,
}

/// Reference that runs scenarios. A new one requires a variant of [`ReferenceSystem`] and an implementation of this
/// trait.
pub trait Runner: Sync {
    /// Returns the reference that it implements.
    fn reference_system(&self) -> ReferenceSystem;

    /// Checks that it can run the scenario, before any work.
    ///
    /// # Errors
    /// The part of the scenario that it does not support.
    fn check(&self, scenario: &CompiledScenario, settings: &Settings) -> Result<(), Error>;

    /// Runs the scenario with the seed of number `run`, from 0. `stop` is polled.
    ///
    /// # Errors
    /// Those of [`Runner::check`]; also if the run fails or is stopped.
    fn run_one(
        &self,
        scenario: &CompiledScenario,
        settings: &Settings,
        run: u32,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Run, Error>;

    /// Returns true if its runs with packet traces can be timed.
    fn has_traces(&self) -> bool {
        false
    }

    /// Returns the cost in seconds of a run that traces every packet to `/dev/null`, or `None` if it has no
    /// such traces.
    ///
    /// # Errors
    /// Those of [`Runner::run_one`].
    fn time_with_trace(
        &self,
        _scenario: &CompiledScenario,
        _settings: &Settings,
        _stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<f64>, Error> {
        Ok(None)
    }

    /// Runs the scenario once per seed, several at a time. `done` is called with the number of finished runs,
    /// and `stop` is polled.
    ///
    /// # Errors
    /// The first error of the runs.
    fn run_seeds(
        &self,
        scenario: &CompiledScenario,
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
