//! Run of one seed, with summary and recording.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use netflow_network::{ClassInterval, Interval, Options, Recorder, Run, RunError, UserStats};
use netflow_results::{
    self as results, Series, Summary, SummaryRecorder, UserExperiences, WithSummary, Writer,
};
use netflow_simulation::{Outcome, Simulation};

use super::{End, Error, EvaluationRun, warning_texts, warnings};
use crate::number::plain;

/// Result of a run.
pub struct SeedResult {
    pub writer: Option<Writer>,
    pub series: Option<Series>,
    pub classes: Vec<(f64, ClassInterval)>,
    /// Summary without the users.
    pub summary: Summary,
    pub users: UserExperiences,
    /// Response times of all users of the run by workload, if written or kept.
    pub response_times: Vec<UserStats>,
    pub time_s: f64,
    pub steps: u64,
    pub steps_s: Option<(f64, f64)>,
    /// Warnings about the run.
    pub warnings: Vec<String>,
    pub end: End,
}

impl EvaluationRun<'_> {
    /// Runs one seed. One of several seeds must finish; a single one may be stopped or fail.
    pub fn run_seed(
        &self,
        seed: u64,
        on_interval: &mut dyn FnMut(f64),
    ) -> Result<SeedResult, Error> {
        let scenario = self.scenario;
        let options = Options {
            seed,
            ..scenario.options
        };
        // Created before the writer, so that nothing is written if the network is rejected.
        let mut simulation = Simulation::new(scenario.network.clone(), options)?;
        simulation.set_threads(self.settings.max_threads() / self.seeds as usize);
        let is_single = self.seeds == 1;
        let recording = Recording {
            writer: if is_single { self.writer()? } else { None },
            series: (!is_single || self.settings.keep_series).then(Series::default),
            classes: (is_single && self.settings.keep_classes).then(Vec::new),
            on_interval,
        };
        let stop_playing = stop_replay(self.stop);
        let mut watched = WithSummary {
            recorder: recording,
            summary_recorder: SummaryRecorder::new(
                self.measurement_window,
                &scenario.network,
                &stop_playing,
            ),
        };
        let outcome = simulation.run(self.settings.every_s, &mut watched, self.stop);
        let WithSummary {
            recorder,
            summary_recorder: watch,
        } = watched;
        let time_s = simulation.time_s();
        let mut end = match outcome {
            Ok(Outcome::Finished) => End::Finished,
            Ok(Outcome::Stopped) => {
                End::Stopped(format!("stopped at {} s of simulated time", plain(time_s)))
            }
            Err(RunError::Record(error)) => return Err(error.into()),
            Err(error) => End::Failed(error.to_string()),
        };
        self.check_finished(seed, &end)?;
        let is_whole = watch.is_whole(options.duration_s);
        let (summary, users) = watch.finish(&mut simulation, warning_texts(scenario))?;
        let is_wanted = self.settings.directory.is_some() || self.settings.keep_series;
        let waits = match (is_wanted, is_whole) {
            (false, _) => Vec::new(),
            // The summarized period is the whole run.
            (_, true) => users.in_window.clone(),
            (_, false) => simulation.experiences(&stop_playing)?,
        };
        if end == End::Finished && (self.stop)() {
            end = End::Stopped("stopped during the simulation of users".to_owned());
            self.check_finished(seed, &end)?;
        }
        let is_fluid = matches!(simulation.options().model, netflow_network::Model::Fluid(_));
        let loss = |link| simulation.link_totals(link).loss_probability;
        let lost_acks = is_fluid.then(|| warnings::lost_acks(simulation.network(), time_s, loss));
        let lost_acks = lost_acks.flatten();
        Ok(SeedResult {
            writer: recorder.writer,
            series: recorder.series,
            classes: recorder.classes.unwrap_or_default(),
            summary,
            users,
            response_times: waits,
            time_s,
            steps: simulation.steps(),
            steps_s: simulation.step_range_s(),
            warnings: (warnings::limited_by_default_window(&simulation).into_iter())
                .chain(lost_acks)
                .collect(),
            end,
        })
    }

    /// Returns an error if one of several seeds did not finish.
    fn check_finished(&self, seed: u64, end: &End) -> Result<(), Error> {
        match end {
            End::Stopped(reason) if self.seeds > 1 => Err(Error::Stopped(reason.clone())),
            End::Failed(reason) if self.seeds > 1 => Err(Error::Seed {
                seed,
                reason: reason.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the stop predicate of the session replay, which allows 300 ms of replay after an
/// interrupt.
fn stop_replay(stop: &(dyn Fn() -> bool + Sync)) -> impl Fn() -> bool + Sync {
    const REPLAY_TIMEOUT: Duration = Duration::from_millis(300);
    let noticed: OnceLock<Instant> = OnceLock::new();
    move || stop() && noticed.get_or_init(Instant::now).elapsed() > REPLAY_TIMEOUT
}

/// Recorder that stores or writes the series and reports progress.
struct Recording<'a> {
    writer: Option<Writer>,
    series: Option<Series>,
    classes: Option<Vec<(f64, ClassInterval)>>,
    on_interval: &'a mut dyn FnMut(f64),
}

impl Recorder for Recording<'_> {
    type Error = results::Error;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), results::Error> {
        (self.on_interval)(interval.time_s);
        if let Some(series) = &mut self.series {
            let Ok::<(), Infallible>(()) = series.interval(interval);
        }
        if let Some(classes) = &mut self.classes {
            classes.extend(interval.classes().map(|it| (interval.time_s, it)));
        }
        match &mut self.writer {
            Some(writer) => writer.interval(interval),
            None => Ok(()),
        }
    }
}
