//! Evaluation of a scenario in one call, as in `netflow run`: one or several seeds, summarized,
//! with the series in memory or in a results directory.
//!
//! ```
//! use netflow::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"
//!     simulation = { duration = "10 s" }
//!     link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
//!     connection = [{ from = "A", to = "B", source = { ns2-tcp = "reno" } }]
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

mod calibrated_scenario;
mod directory;
mod divided_traffic;
mod error;
mod explain;
mod load;
mod overload;
mod packet_model_time;
mod run_seed;
mod scenario_copies;
mod series_size;
mod steady;
mod unused_equal_paths;
mod warnings;

use std::convert::Infallible;
use std::thread;
use std::time::Instant;

use netflow_network::{ClassInterval, UserStats};
use netflow_results::{Ensemble, MeasurementWindow, Series, Summary, UserExperiences};
use netflow_scenario::CompiledScenario;
use netflow_simulation::check_interval;
use rayon::prelude::*;

pub use calibrated_scenario::calibrated;
pub use directory::Directory;
pub use divided_traffic::{TrafficPart, shares_of_links, traffic_parts};
pub use error::{Error, PeriodError};
pub use explain::explain;
pub use load::{load, warning_texts};
pub use overload::overload;
pub use packet_model_time::max_packet_model_s;
pub use series_size::MOST_ROWS;
pub use steady::{steady_demands, steady_notes, steady_warnings};
pub use unused_equal_paths::{equal_paths_note, on_one_of_several_paths};

/// Settings of an evaluation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of seeds, counted from the scenario's seed; one is used if nothing is random.
    pub seeds: u32,
    /// Length of a recording interval in seconds.
    pub every_s: f64,
    /// Start of the summarized period in seconds; `None`: the end of the scenario's warm-up.
    pub from_s: Option<f64>,
    /// End of the summarized period in seconds; `None`: the end of the run.
    pub to_s: Option<f64>,
    /// If true, also summarize each period between the scenario's events.
    pub by_event: bool,
    /// Maximum number of threads; `None`: all cores. Results do not depend on it.
    pub threads: Option<usize>,
    /// If true, keep the series and the users' response times in memory.
    pub keep_series: bool,
    /// If true, also keep the series of every connection at every link; one seed only.
    pub keep_classes: bool,
    /// Results directory; `None`: results are not written.
    pub directory: Option<Directory>,
}

impl Default for Settings {
    /// Returns one seed, intervals of 0.5 s, the whole run, and nothing kept.
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
    /// Returns the maximum number of threads. rayon is not queried, because that would start its
    /// pool, which not all runs need and not all machines allow.
    pub(super) fn max_threads(&self) -> usize {
        let asked = self.threads.filter(|&threads| threads > 0);
        let said = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
        let said = || said().filter(|&threads: &usize| threads > 0);
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        asked.or_else(said).unwrap_or_else(cores)
    }

    /// Returns the number of seeds. It is more than one only if the scenario is random (packet
    /// model or users).
    pub fn seeds_of(&self, scenario: &CompiledScenario) -> u32 {
        if scenario.is_random() {
            self.seeds.max(1)
        } else {
            1
        }
    }

    /// Returns the period of the run that is summarized.
    ///
    /// # Errors
    /// If the run does not contain the period.
    pub fn measurement_window_of(
        &self,
        scenario: &CompiledScenario,
    ) -> Result<MeasurementWindow, PeriodError> {
        let duration_s = scenario.options.duration_s;
        let scope = MeasurementWindow {
            from_s: self.from_s.unwrap_or(scenario.warmup_s),
            to_s: self.to_s.unwrap_or(duration_s),
            by_event: self.by_event,
        };
        let MeasurementWindow { from_s, to_s, .. } = scope;
        if from_s >= duration_s {
            return Err(PeriodError::AfterTheEnd { from_s, duration_s });
        }
        if to_s > duration_s {
            return Err(PeriodError::TooLong { to_s, duration_s });
        }
        if from_s < to_s {
            Ok(scope)
        } else {
            Err(PeriodError::Empty { from_s, to_s })
        }
    }
}

/// Result of an evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Means, maxima and totals; for several seeds, their means.
    pub summary: Summary,
    /// Warnings about the run, which the summary contains, too.
    pub warnings: Vec<String>,
    /// Series, if kept; for several seeds, their means.
    pub series: Option<Series>,
    /// If kept: end of the interval in seconds, and a connection at a link.
    pub classes: Vec<(f64, ClassInterval)>,
    /// If kept: for every seed, the response times of each workload's users.
    pub response_times: Vec<Vec<UserStats>>,
    /// Summarized period.
    pub measurement_window: MeasurementWindow,
    /// Simulated time reached, in seconds.
    pub time_s: f64,
    /// Number of steps of all seeds together.
    pub steps: u64,
    /// Shortest and longest step in seconds, for one seed with variable steps.
    pub steps_s: Option<(f64, f64)>,
    /// Reason for the end.
    pub end: End,
}

/// Reason for the end of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All runs are complete.
    Finished,
    /// It was stopped; the text contains the time. Results cover the time before.
    Stopped(String),
    /// The engine failed with this error. Results cover the time before.
    Failed(String),
}

/// Evaluates a scenario to its end.
///
/// # Errors
/// As [`evaluate_with`].
pub fn evaluate(scenario: &CompiledScenario, settings: &Settings) -> Result<Evaluation, Error> {
    evaluate_with(scenario, settings, &mut |_| {}, &|| false)
}

/// Evaluates a scenario and reports the completed fraction (0–1) regularly. After `stop` becomes
/// true, it ends soon with the results so far.
///
/// # Errors
/// If the settings do not fit the scenario, the engine rejects it, results cannot be written, or it
/// was stopped before there were results. If a single run fails later, the results so far are
/// returned, and [`Evaluation::end`] has the reason.
pub fn evaluate_with(
    scenario: &CompiledScenario,
    settings: &Settings,
    on_progress: &mut (dyn FnMut(f64) + Send),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Evaluation, Error> {
    let scope = settings.measurement_window_of(scenario)?;
    // Checked before anything is written.
    check_interval::<Infallible>(&scenario.options, settings.every_s)?;
    settings.check_rows(scenario)?;
    let began = settings.directory.as_ref().and_then(|it| it.began);
    let began = began.unwrap_or_else(Instant::now);
    let Some(ready) = calibrated(scenario, stop)? else {
        return Err(Error::Stopped(
            "stopped during calibration with the packet model".to_owned(),
        ));
    };
    let task = EvaluationRun {
        scenario: &ready,
        settings,
        seeds: settings.seeds_of(scenario),
        measurement_window: scope,
        began,
        stop,
    };
    let work = || match task.seeds {
        1 => task.run_single(on_progress),
        _ => task.run_ensemble(on_progress),
    };
    on_threads(settings.threads, work)?
}

/// Runs `work` in a rayon pool with `threads` threads, or in the current pool without a number.
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

/// Evaluation in progress.
struct EvaluationRun<'a> {
    scenario: &'a CompiledScenario,
    settings: &'a Settings,
    seeds: u32,
    measurement_window: MeasurementWindow,
    began: Instant,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl EvaluationRun<'_> {
    fn if_kept<T: Default>(&self, it: T) -> T {
        if self.settings.keep_series {
            it
        } else {
            T::default()
        }
    }

    fn run_single(&self, on_progress: &mut dyn FnMut(f64)) -> Result<Evaluation, Error> {
        let duration_s = self.scenario.options.duration_s;
        let on_interval = &mut |time_s| on_progress(time_s / duration_s);
        let played = self.run_seed(self.scenario.options.seed, on_interval)?;
        let mut writer = played.writer;
        let mut summary = played.summary;
        let network = &self.scenario.network;
        UserExperiences::add_to(&mut summary, network, std::slice::from_ref(&played.users));
        let waits = vec![played.response_times];
        if let Some(writer) = &mut writer {
            writer.waits(&waits)?;
        }
        let evaluation = Evaluation {
            summary,
            warnings: played.warnings,
            series: played.series,
            classes: played.classes,
            response_times: self.if_kept(waits),
            measurement_window: self.measurement_window,
            time_s: played.time_s,
            steps: played.steps,
            steps_s: played.steps_s,
            end: played.end,
        };
        self.finish(evaluation, writer)
    }

    /// Runs several seeds in parallel and averages their results.
    fn run_ensemble(&self, on_progress: &mut dyn FnMut(f64)) -> Result<Evaluation, Error> {
        let seeds = self.seeds;
        let mut writer = self.writer()?;
        let run = |i: u32| {
            let seed = self.scenario.options.seed.wrapping_add(i.into());
            self.run_seed(seed, &mut |_| {})
        };
        // A few seeds at a time, so that not all series must be in memory.
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
                waits.push(run.response_times);
            }
            on_progress(ensemble.seeds() as f64 / f64::from(seeds));
        }
        let done = ensemble.seeds();
        let stopped = format!("stopped after {done} of {seeds} seeds");
        let Some(mut summary) = ensemble.summary() else {
            return Err(Error::Stopped(stopped));
        };
        let network = &self.scenario.network;
        UserExperiences::add_to(&mut summary, network, &users);
        if let Some(writer) = &mut writer {
            writer.ensemble(network, &ensemble)?;
            writer.waits(&waits)?;
        }
        let evaluation = Evaluation {
            summary,
            warnings,
            series: self.settings.keep_series.then(|| ensemble.mean_series()),
            classes: Vec::new(),
            response_times: self.if_kept(waits),
            measurement_window: self.measurement_window,
            time_s,
            steps,
            steps_s: None,
            end: if done == seeds as usize {
                End::Finished
            } else {
                End::Stopped(stopped)
            },
        };
        self.finish(evaluation, writer)
    }
}
