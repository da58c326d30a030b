//! Errors of netflow relative to a reference, compared with the spread of the reference's own runs.

use crate::cell::Cell;
use crate::row::{Row, System};

/// Compared quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Mean queue.
    Queue,
    /// Fraction of the time that the link was busy.
    Utilization,
    /// Lost fraction of arrived packets.
    Loss,
    /// Marked fraction of arrived packets.
    Marks,
    /// Jain's fairness index of goodputs.
    Jain,
    /// 95th percentile of the one-way delay.
    Delay,
}

impl Measure {
    /// Quantities that Linux reports from [`WARMUP_S`](crate::cell::WARMUP_S) on.
    pub const LINUX_MEASURES: [Measure; 5] = [
        Measure::Queue,
        Measure::Utilization,
        Measure::Loss,
        Measure::Marks,
        Measure::Jain,
    ];

    /// All quantities, in the order of the page.
    pub const ALL: [Measure; 6] = [
        Measure::Queue,
        Measure::Utilization,
        Measure::Loss,
        Measure::Marks,
        Measure::Jain,
        Measure::Delay,
    ];

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Queue => "queue",
            Measure::Utilization => "utilization",
            Measure::Loss => "lost",
            Measure::Marks => "marked",
            Measure::Jain => "Jain",
            Measure::Delay => "delay p95",
        }
    }

    /// Returns the value of a run.
    pub fn of(self, row: &Row) -> f64 {
        match self {
            Measure::Queue => row.queue_pkts,
            Measure::Utilization => row.utilization,
            Measure::Loss => row.loss,
            Measure::Marks => row.marks,
            Measure::Jain => row.jain,
            Measure::Delay => row.delay_p95_ms,
        }
    }

    /// Returns the difference that counts as zero, whatever the spread.
    pub fn negligible_error(self) -> f64 {
        match self {
            Measure::Queue => 0.25,
            Measure::Utilization | Measure::Jain => 0.005,
            Measure::Loss | Measure::Marks => 2e-4,
            Measure::Delay => 0.25,
        }
    }

    /// Returns whether the quantity applies: marks only with ECN, fairness only with several
    /// transfers.
    pub fn applies(self, cell: &Cell) -> bool {
        match self {
            Measure::Marks => cell.ecn,
            Measure::Jain => cell.transfers > 1,
            _ => true,
        }
    }
}

/// Spread in standard deviations of the runs.
pub const SPREAD_STDS: f64 = 2.0;

/// Mean and standard deviation of a system's runs.
#[derive(Clone, Copy, Debug)]
pub struct MeanAndStd {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; 0 for one run.
    pub std: f64,
}

impl MeanAndStd {
    fn of(values: &[f64]) -> MeanAndStd {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let std = match values.len() {
            0 | 1 => 0.0,
            _ => (squares / (n - 1.0)).sqrt(),
        };
        MeanAndStd { mean, std }
    }
}

/// One quantity of an experiment in both systems.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// netflow.
    pub netflow: MeanAndStd,
    /// Reference.
    pub reference: MeanAndStd,
    negligible: f64,
}

impl Pair {
    /// Returns netflow's mean minus the reference's mean.
    pub fn error(&self) -> f64 {
        self.netflow.mean - self.reference.mean
    }

    /// Returns whether the error is within the spread of the reference, or negligible.
    pub fn is_within(&self) -> bool {
        self.error().abs() <= (SPREAD_STDS * self.reference.std).max(self.negligible)
    }
}

/// Experiment with results of netflow and a reference.
pub struct ComparedCell {
    /// Experiment.
    pub cell: Cell,
    netflow: Vec<Row>,
    other: Vec<Row>,
}

impl ComparedCell {
    /// Collects the results of an experiment; `None` if a system has none.
    pub fn of(cell: &Cell, rows: &[Row], other: System) -> Option<ComparedCell> {
        let name = cell.name();
        let pick = |who: System| -> Vec<Row> {
            let own = rows.iter().filter(|row| row.who == who && row.cell == name);
            own.cloned().collect()
        };
        let (netflow, other) = (pick(System::Netflow), pick(other));
        let known = !netflow.is_empty() && !other.is_empty();
        known.then(|| ComparedCell {
            cell: cell.clone(),
            netflow,
            other,
        })
    }

    /// Returns a quantity of both systems.
    pub fn pair(&self, measure: Measure) -> Pair {
        let each = |rows: &[Row]| -> Vec<f64> { rows.iter().map(|it| measure.of(it)).collect() };
        Pair {
            netflow: MeanAndStd::of(&each(&self.netflow)),
            reference: MeanAndStd::of(&each(&self.other)),
            negligible: measure.negligible_error(),
        }
    }
}

/// Sums of one quantity over experiments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Number of experiments to which the quantity applies.
    pub cells: usize,
    /// Number of those within the spread.
    pub within: usize,
    /// Sum of |error|.
    pub errors: f64,
    /// Sum of the reference's means.
    pub reference_means: f64,
    /// Sum of the reference's standard deviations.
    pub stds: f64,
}

impl Sums {
    /// Computes the sums of these experiments.
    pub fn of<'a>(cells: impl Iterator<Item = &'a ComparedCell>, measure: Measure) -> Sums {
        let mut sums = Sums::default();
        for both in cells.filter(|it| measure.applies(&it.cell)) {
            let pair = both.pair(measure);
            sums.cells += 1;
            sums.within += usize::from(pair.is_within());
            sums.errors += pair.error().abs();
            sums.reference_means += pair.reference.mean;
            sums.stds += pair.reference.std;
        }
        sums
    }

    /// Returns Σ|error| / Σ; `None` if the sum is 0.
    pub fn error(&self) -> Option<f64> {
        (self.reference_means > 0.0).then(|| self.errors / self.reference_means)
    }

    /// Returns Σ of standard deviations / Σ.
    pub fn spread(&self) -> Option<f64> {
        (self.reference_means > 0.0).then(|| self.stds / self.reference_means)
    }
}
