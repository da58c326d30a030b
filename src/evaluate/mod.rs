//! A scenario evaluated in one call, as `netflow run` does it: one seed or many at a time, summarized,
//! with its series kept or written to a results directory.
//!
//! ```
//! use netflow::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"
//!     simulation = { duration = "10 s" }
//!     link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
//!     connection = [{ from = "A", to = "B", source = { window = "reno" } }]
//! "#;
//! let scenario = netflow::scenario::from_str("bottleneck.toml", text, ".".as_ref(), &[])
//!     .map_err(|problems| problems.into_vec().remove(0).message)?;
//! let place = tempfile::tempdir()?;
//! let settings = Settings {
//!     seeds: 4,
//!     keep_series: true,
//!     directory: Some(Directory::at(place.path().join("results"))),
//!     ..Settings::default()
//! };
//! let evaluation = netflow::evaluate(&scenario, &settings)?;
//!
//! let link = &evaluation.summary.links[0];
//! println!("{}: {:.1} packets on average", link.link, link.mean_queue_pkts);
//! assert_eq!((evaluation.end, evaluation.summary.seeds), (End::Finished, 4));
//! // Every half second of both directions of the link, in memory as in the file.
//! let rows = evaluation.series.unwrap_or_default().links(&scenario.network);
//! assert_eq!(rows.len(), 20 * 2);
//! let results = Results::open(place.path().join("results"))?;
//! assert_eq!(results.links()?.len(), rows.len());
//! # Ok(())
//! # }
//! ```

mod calibrate;
mod directory;
mod equal_paths;
mod error;
mod explain;
mod kept;
mod load;
mod overload;
mod packets;
mod play;
mod rows;
mod steady;
mod warnings;

use std::convert::Infallible;
use std::thread;
use std::time::Instant;

use netflow_network::{ClassInterval, Experience};
use netflow_results::{Ensemble, Scope, Series, Summary, Users};
use netflow_scenario::Prepared;
use netflow_simulation::check_interval;
use rayon::prelude::*;

pub use calibrate::calibrated;
pub use directory::Directory;
pub use equal_paths::{equal_paths_note, on_one_of_several_paths};
pub use error::{Error, ScopeError};
pub use explain::explain;
pub use load::{load, warning_texts};
pub use overload::overload;
pub use packets::packets_take_at_most_s;
pub use rows::MOST_ROWS;
pub use steady::steady_notes;

/// How a scenario is evaluated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Runs with the scenario's seed and those that follow it; one, if nothing in it is random.
    pub seeds: u32,
    /// Length of a recording interval in seconds.
    pub every_s: f64,
    /// Where the part begins that is summarized, in seconds; after the scenario's warmup without.
    pub from_s: Option<f64>,
    /// Where it ends; with the run without.
    pub to_s: Option<f64>,
    /// Whether every period between the scenario's events is summarized by itself, too.
    pub by_event: bool,
    /// Threads to use at most; all cores without. Results do not depend on it.
    pub threads: Option<usize>,
    /// Whether the series are kept in memory, and what users waited.
    pub keep_series: bool,
    /// Whether those of every connection at every link are, too; several seeds have none.
    pub keep_classes: bool,
    /// Where results are written.
    pub directory: Option<Directory>,
}

impl Default for Settings {
    /// One seed, half a second, everything, nothing kept.
    fn default() -> Settings {
        Settings {
            seeds: 1,
            every_s: 0.5,
            from_s: None,
            to_s: None,
            by_event: false,
            threads: None,
            keep_series: false,
            keep_classes: false,
            directory: None,
        }
    }
}

impl Settings {
    /// How many threads may be used. (To ask rayon would start its pool, which not all runs need, nor every
    /// machine allows.)
    pub(super) fn most_threads(&self) -> usize {
        let asked = self.threads.filter(|&threads| threads > 0);
        let said = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
        let said = || said().filter(|&threads: &usize| threads > 0);
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        asked.or_else(said).unwrap_or_else(cores)
    }

    /// How many seeds are run: several only where something is random, which are the window model and
    /// users.
    pub fn seeds_of(&self, scenario: &Prepared) -> u32 {
        if scenario.is_random() {
            self.seeds.max(1)
        } else {
            1
        }
    }

    /// Which part of a run is summarized.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn scope_of(&self, scenario: &Prepared) -> Result<Scope, ScopeError> {
        let duration_s = scenario.options.duration_s;
        let scope = Scope {
            from_s: self.from_s.unwrap_or(scenario.warmup_s),
            to_s: self.to_s.unwrap_or(duration_s),
            by_event: self.by_event,
        };
        let Scope { from_s, to_s, .. } = scope;
        if from_s >= duration_s {
            return Err(ScopeError::AfterTheEnd { from_s, duration_s });
        }
        if to_s > duration_s {
            return Err(ScopeError::TooLong { to_s, duration_s });
        }
        match from_s < to_s {
            true => Ok(scope),
            false => Err(ScopeError::Empty { from_s, to_s }),
        }
    }
}

/// What an evaluation has come to.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Means, maxima and totals; of several seeds, means over them.
    pub summary: Summary,
    /// What the run has shown to be suspicious, which is among the summary's warnings, too.
    pub warnings: Vec<String>,
    /// If they were to be kept; of several seeds, the means over them.
    pub series: Option<Series>,
    /// Likewise: by the ends of intervals in seconds, every connection at every link.
    pub classes: Vec<(f64, ClassInterval)>,
    /// Likewise: of every seed, what the users of each workload waited.
    pub waits: Vec<Vec<Experience>>,
    /// Which part was summarized.
    pub scope: Scope,
    /// How far the runs came, in seconds.
    pub time_s: f64,
    /// Steps taken, of all seeds together.
    pub steps: u64,
    /// The shortest and the longest step in seconds, of one seed whose steps are chosen.
    pub steps_s: Option<(f64, f64)>,
    /// How it ended.
    pub end: End,
}

/// How an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At the end of all runs.
    Finished,
    /// Earlier, because it was asked to: when, in words. Everything is of the time until then.
    Stopped(String),
    /// With an error of the engine, in words. Everything is of the time until then.
    Failed(String),
}

/// Evaluates a scenario to its end.
///
/// # Errors
/// As [`evaluate_with`].
pub fn evaluate(scenario: &Prepared, settings: &Settings) -> Result<Evaluation, Error> {
    evaluate_with(scenario, settings, &mut |_| {}, &|| false)
}

/// Evaluates a scenario, and tells again and again what part of it is done, from 0 to 1. Once `stop` says
/// so, it ends soon, with what there is until then.
///
/// # Errors
/// If the settings do not fit the scenario, the engine refuses it, results cannot be written, or nothing
/// was there when it was stopped. A single run that fails on its way is none: [`Evaluation::end`] says so.
pub fn evaluate_with(
    scenario: &Prepared,
    settings: &Settings,
    on_progress: &mut (dyn FnMut(f64) + Send),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Evaluation, Error> {
    let scope = settings.scope_of(scenario)?;
    // Of what cannot be recorded so nothing is written.
    check_interval::<Infallible>(&scenario.options, settings.every_s)?;
    settings.check_rows(scenario)?;
    let began = settings.directory.as_ref().and_then(|it| it.began);
    let began = began.unwrap_or_else(Instant::now);
    let Some(ready) = calibrated(scenario, stop)? else {
        return Err(Error::Stopped(
            "stopped while packets were calibrating".to_owned(),
        ));
    };
    let task = Task {
        scenario: &ready,
        settings,
        seeds: settings.seeds_of(scenario),
        scope,
        began,
        stop,
    };
    let work = || match task.seeds {
        1 => task.one(on_progress),
        _ => task.several(on_progress),
    };
    on_threads(settings.threads, work)?
}

/// Does some work that is shared among the threads of the current rayon pool, with so many of them; with those
/// that there are without a number.
///
/// # Errors
/// [`Error::Threads`]
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Error> {
    let Some(threads) = threads else {
        return Ok(work());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Threads {
        threads,
        reason: error.to_string(),
    })?;
    Ok(pool.install(work))
}

/// All that an evaluation is asked for.
struct Task<'a> {
    scenario: &'a Prepared,
    settings: &'a Settings,
    seeds: u32,
    scope: Scope,
    began: Instant,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Task<'_> {
    fn kept<T: Default>(&self, it: T) -> T {
        match self.settings.keep_series {
            true => it,
            false => T::default(),
        }
    }

    fn one(&self, on_progress: &mut dyn FnMut(f64)) -> Result<Evaluation, Error> {
        let duration_s = self.scenario.options.duration_s;
        let on_interval = &mut |time_s| on_progress(time_s / duration_s);
        let played = self.play(self.scenario.options.seed, on_interval)?;
        let mut writer = played.writer;
        let mut summary = played.summary;
        let network = &self.scenario.network;
        Users::add_to(&mut summary, network, std::slice::from_ref(&played.users));
        let waits = vec![played.waits];
        if let Some(writer) = &mut writer {
            writer.waits(&waits)?;
        }
        let evaluation = Evaluation {
            summary,
            warnings: played.warnings,
            series: played.series,
            classes: played.classes,
            waits: self.kept(waits),
            scope: self.scope,
            time_s: played.time_s,
            steps: played.steps,
            steps_s: played.steps_s,
            end: played.end,
        };
        self.finish(evaluation, writer)
    }

    /// Runs with different seeds, at the same time; what they say on average.
    fn several(&self, on_progress: &mut dyn FnMut(f64)) -> Result<Evaluation, Error> {
        let seeds = self.seeds;
        let mut writer = self.writer()?;
        let run = |i: u32| {
            let seed = self.scenario.options.seed.wrapping_add(i.into());
            self.play(seed, &mut |_| {})
        };
        // A few at a time, so that series need not all be kept.
        let some = 4 * rayon::current_num_threads() as u32;
        let mut ensemble = Ensemble::default();
        let (mut steps, mut time_s) = (0, 0.0);
        let (mut users, mut waits, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..seeds).step_by(some as usize) {
            if (self.stop)() {
                break;
            }
            let last = seeds.min(first + some);
            let runs: Vec<_> = (first..last).into_par_iter().map(run).collect();
            for run in runs {
                let run = match run {
                    Err(Error::Stopped(_)) => continue,
                    run => run?,
                };
                ensemble.add(run.series.unwrap_or_default(), run.summary);
                steps += run.steps;
                for warning in run.warnings {
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
                time_s = run.time_s;
                users.push(run.users);
                waits.push(run.waits);
            }
            on_progress(ensemble.seeds() as f64 / f64::from(seeds));
        }
        let done = ensemble.seeds();
        let stopped = format!("stopped after {done} of {seeds} seeds");
        let Some(mut summary) = ensemble.summary() else {
            return Err(Error::Stopped(stopped));
        };
        let network = &self.scenario.network;
        Users::add_to(&mut summary, network, &users);
        if let Some(writer) = &mut writer {
            writer.ensemble(network, &ensemble)?;
            writer.waits(&waits)?;
        }
        let evaluation = Evaluation {
            summary,
            warnings,
            series: self.settings.keep_series.then(|| ensemble.mean_series()),
            classes: Vec::new(),
            waits: self.kept(waits),
            scope: self.scope,
            time_s,
            steps,
            steps_s: None,
            end: match done == seeds as usize {
                true => End::Finished,
                false => End::Stopped(stopped),
            },
        };
        self.finish(evaluation, writer)
    }
}
