//! How far netflow is from another, and whether the other's own runs are as far from each other.

use crate::cell::Cell;
use crate::row::{Row, Who};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Mean queue.
    Queue,
    /// Fraction of the time that the link was busy.
    Utilization,
    /// Lost of what arrived.
    Loss,
    /// Marked of what arrived.
    Marks,
    /// Jain's index of goodputs.
    Jain,
    /// 95th percentile of one-way delay.
    Delay,
}

impl Measure {
    /// Those that Linux tells of from [`FROM_S`](crate::cell::FROM_S) on.
    pub const BY_LINUX: [Measure; 5] = [
        Measure::Queue,
        Measure::Utilization,
        Measure::Loss,
        Measure::Marks,
        Measure::Jain,
    ];

    /// All, as they are told.
    pub const ALL: [Measure; 6] = [
        Measure::Queue,
        Measure::Utilization,
        Measure::Loss,
        Measure::Marks,
        Measure::Jain,
        Measure::Delay,
    ];

    /// As tables call it.
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

    /// Of a run.
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

    /// What nobody would see: a smaller difference is none, however near runs are to each other.
    pub fn least(self) -> f64 {
        match self {
            Measure::Queue => 0.25,
            Measure::Utilization | Measure::Jain => 0.005,
            Measure::Loss | Measure::Marks => 2e-4,
            Measure::Delay => 0.25,
        }
    }

    /// Whether it is nothing where there is no ECN, or always there.
    pub fn applies(self, cell: &Cell) -> bool {
        match self {
            Measure::Marks => cell.ecn,
            Measure::Jain => cell.transfers > 1,
            _ => true,
        }
    }
}

/// So many standard deviations of runs are their spread.
pub const SPREAD: f64 = 2.0;

/// Mean and standard deviation of one side's runs.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; 0 of one run.
    pub std: f64,
}

impl Side {
    fn of(values: &[f64]) -> Side {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let std = match values.len() {
            0 | 1 => 0.0,
            _ => (squares / (n - 1.0)).sqrt(),
        };
        Side { mean, std }
    }
}

/// One measure of a cell by both.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// By netflow.
    pub netflow: Side,
    /// By the other.
    pub other: Side,
    least: f64,
}

impl Pair {
    /// netflow's mean is above the other's by this.
    pub fn error(&self) -> f64 {
        self.netflow.mean - self.other.mean
    }

    /// Whether that is within the spread of the other's runs, or too small to be seen.
    pub fn is_within(&self) -> bool {
        self.error().abs() <= (SPREAD * self.other.std).max(self.least)
    }
}

/// A cell by netflow and another.
pub struct Both {
    /// Which.
    pub cell: Cell,
    netflow: Vec<Row>,
    other: Vec<Row>,
}

impl Both {
    /// What is known of a cell; nothing if one side does not know it.
    pub fn of(cell: &Cell, rows: &[Row], other: Who) -> Option<Both> {
        let name = cell.name();
        let pick = |who: Who| -> Vec<Row> {
            let own = rows.iter().filter(|row| row.who == who && row.cell == name);
            own.cloned().collect()
        };
        let (netflow, other) = (pick(Who::Netflow), pick(other));
        let known = !netflow.is_empty() && !other.is_empty();
        known.then(|| Both {
            cell: cell.clone(),
            netflow,
            other,
        })
    }

    /// A measure of it.
    pub fn pair(&self, measure: Measure) -> Pair {
        let each = |rows: &[Row]| -> Vec<f64> { rows.iter().map(|it| measure.of(it)).collect() };
        Pair {
            netflow: Side::of(&each(&self.netflow)),
            other: Side::of(&each(&self.other)),
            least: measure.least(),
        }
    }
}

/// What several cells come to in one measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Cells where it is something.
    pub cells: usize,
    /// Of them those within the spread.
    pub within: usize,
    /// Sum of |error|.
    pub errors: f64,
    /// Sum of the other's means.
    pub of: f64,
    /// Sum of the other's standard deviations.
    pub stds: f64,
}

impl Sums {
    /// Of these cells.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Both>, measure: Measure) -> Sums {
        let mut sums = Sums::default();
        for both in cells.filter(|it| measure.applies(&it.cell)) {
            let pair = both.pair(measure);
            sums.cells += 1;
            sums.within += usize::from(pair.is_within());
            sums.errors += pair.error().abs();
            sums.of += pair.other.mean;
            sums.stds += pair.other.std;
        }
        sums
    }

    /// Σ|error| / Σ; nothing of nothing.
    pub fn error(&self) -> Option<f64> {
        (self.of > 0.0).then(|| self.errors / self.of)
    }

    /// Σ of standard deviations / Σ.
    pub fn spread(&self) -> Option<f64> {
        (self.of > 0.0).then(|| self.stds / self.of)
    }
}
