//! The measurement window of a summary, and the periods between events within it.

use netflow_network::{Interval, Network, Period, Recorder, Run, RunError, UserStats};

use crate::{LinkPeaks, Summary};

/// The measurement window of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementWindow {
    /// Its start in seconds.
    pub from_s: f64,
    /// Its end in seconds, at most the end of the run.
    pub to_s: f64,
    /// True if the periods between events are summarized, too.
    pub by_event: bool,
}

impl MeasurementWindow {
    /// Returns the window of a whole run of this length.
    pub fn whole(duration_s: f64) -> MeasurementWindow {
        MeasurementWindow {
            from_s: 0.0,
            to_s: duration_s,
            by_event: false,
        }
    }

    /// Returns the boundaries of its periods in order. The first and the last are those of the window.
    pub fn boundaries_s(&self, network: &Network) -> Vec<f64> {
        let events_s = network.events().map(|event| event.at_s);
        let within = events_s.filter(|at_s| (self.from_s..self.to_s).contains(at_s));
        let mut bounds_s = vec![self.from_s];
        bounds_s.extend(within.filter(|_| self.by_event));
        bounds_s.push(self.to_s);
        bounds_s.dedup();
        bounds_s
    }
}

/// The experiences of users in the measurement window and in each of its periods, by workload.
#[derive(Clone, Debug, Default)]
pub struct UserExperiences {
    /// Experiences in the whole window.
    pub in_window: Vec<UserStats>,
    /// Experiences in each period, if periods are summarized.
    pub in_periods: Vec<Vec<UserStats>>,
}

impl UserExperiences {
    /// Adds the users of one or several seeds to their summary.
    pub fn add_to(summary: &mut Summary, network: &Network, seeds: &[UserExperiences]) {
        let of_scope: Vec<_> = seeds.iter().map(|seed| seed.in_window.clone()).collect();
        summary.add_users(network, &of_scope);
        for (i, period) in summary.periods.iter_mut().enumerate() {
            let of_period = seeds.iter().filter_map(|seed| seed.in_periods.get(i));
            period.add_users(network, &of_period.cloned().collect::<Vec<_>>());
        }
    }
}

/// A recorder combined with a [`SummaryRecorder`] that summarizes the same run.
pub struct WithSummary<'a, R> {
    /// The recorder of the run.
    pub recorder: R,
    /// The summarizer.
    pub summary_recorder: SummaryRecorder<'a>,
}

impl<R: Recorder> Recorder for WithSummary<'_, R> {
    type Error = R::Error;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), R::Error> {
        self.recorder.interval(interval)
    }

    fn partial_interval(&mut self, piece: &Interval<'_>) {
        self.summary_recorder.partial_interval(piece);
    }

    fn next_checkpoint_s(&self) -> Option<f64> {
        self.summary_recorder.next_boundary_s()
    }

    fn checkpoint(&mut self, simulation: &mut dyn Run) -> Result<(), RunError> {
        self.summary_recorder.on_boundary(simulation)
    }
}

/// Observer that summarizes the measurement window of a run. [`WithSummary`] combines it with a recorder.
pub struct SummaryRecorder<'a> {
    window: MeasurementWindow,
    boundaries_s: Vec<f64>,
    /// Number of boundaries that the run has passed.
    passed_boundaries: usize,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    window_stats: PeriodStats,
    period_stats: PeriodStats,
    summary: Option<Summary>,
    periods: Vec<Summary>,
    users: UserExperiences,
}

/// Statistics of a period that has begun and not ended.
#[derive(Clone, Debug, Default)]
struct PeriodStats {
    period: Period,
    peaks: LinkPeaks,
}

impl PeriodStats {
    fn begin(simulation: &mut dyn Run) -> PeriodStats {
        PeriodStats {
            period: simulation.begin_period(),
            peaks: LinkPeaks::default(),
        }
    }

    fn end(&self, simulation: &mut dyn Run) -> Summary {
        simulation.resume_period(&self.period);
        let mut summary = Summary::of(simulation, Vec::new());
        summary.add_peaks(&self.peaks);
        summary
    }
}

impl<'a> SummaryRecorder<'a> {
    /// Returns a watch of a run of this network. Once `interrupted` returns true, users are not simulated
    /// further.
    pub fn new(
        scope: MeasurementWindow,
        network: &Network,
        interrupted: &'a (dyn Fn() -> bool + Sync),
    ) -> SummaryRecorder<'a> {
        SummaryRecorder {
            window: scope,
            boundaries_s: scope.boundaries_s(network),
            passed_boundaries: 0,
            interrupted,
            window_stats: PeriodStats::default(),
            period_stats: PeriodStats::default(),
            summary: None,
            periods: Vec::new(),
            users: UserExperiences::default(),
        }
    }

    fn partial_interval(&mut self, piece: &Interval<'_>) {
        if (1..self.boundaries_s.len()).contains(&self.passed_boundaries) {
            self.window_stats.peaks.add(piece);
            self.period_stats.peaks.add(piece);
        }
    }

    fn next_boundary_s(&self) -> Option<f64> {
        self.boundaries_s.get(self.passed_boundaries).copied()
    }

    fn on_boundary(&mut self, simulation: &mut dyn Run) -> Result<(), RunError> {
        self.passed_boundaries += 1;
        if self.passed_boundaries == 1 {
            self.window_stats = PeriodStats::begin(simulation);
            self.period_stats = self.window_stats.clone();
            return Ok(());
        }
        self.end_period(simulation)?;
        if self.passed_boundaries == self.boundaries_s.len() {
            self.end(simulation)
        } else {
            self.period_stats = PeriodStats::begin(simulation);
            Ok(())
        }
    }

    fn end_period(&mut self, simulation: &mut dyn Run) -> Result<(), RunError> {
        if self.boundaries_s.len() > 2 {
            self.periods.push(self.period_stats.end(simulation));
            let users = simulation.experiences(self.interrupted)?;
            self.users.in_periods.push(users);
        }
        Ok(())
    }

    fn end(&mut self, simulation: &mut dyn Run) -> Result<(), RunError> {
        let mut summary = self.window_stats.end(simulation);
        summary.periods = std::mem::take(&mut self.periods);
        self.summary = Some(summary);
        self.users.in_window = simulation.experiences(self.interrupted)?;
        simulation.resume_period(&Period::default());
        Ok(())
    }

    /// Returns the summary without users, and the users.
    ///
    /// If the run stopped within the window, the summary covers the time until then. If it stopped
    /// before, the summary is empty.
    ///
    /// # Errors
    /// As [`Run::experiences`].
    pub fn finish(
        mut self,
        simulation: &mut dyn Run,
        warnings: Vec<String>,
    ) -> Result<(Summary, UserExperiences), RunError> {
        if self.passed_boundaries == 0 {
            self.on_boundary(simulation)?;
        }
        if self.summary.is_none() {
            self.end_period(simulation)?;
            self.end(simulation)?;
        }
        let mut summary = match self.summary {
            Some(summary) => summary,
            None => Summary::of(simulation, Vec::new()),
        };
        summary.warnings = warnings;
        Ok((summary, self.users))
    }

    /// Returns whether the window covers a whole run of this length.
    pub fn is_whole(&self, duration_s: f64) -> bool {
        self.window.from_s <= 0.0 && self.window.to_s >= duration_s
    }
}
