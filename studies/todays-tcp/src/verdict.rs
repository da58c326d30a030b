//! Tolerances of each experiment, and their checks.

use crate::cell::{Cell, Group};
use crate::row::Row;

/// Maximum error of the mean queue: the sum of errors divided by the sum, for each congestion
/// control.
pub const QUEUE_ERROR: f64 = 0.1;
/// Maximum error of the utilization.
pub const UTILIZATION_ERROR: f64 = 0.02;
/// Maximum factor between losses above [`NOTABLE_LOSS`].
pub const LOSS_FACTOR: f64 = 1.3;
/// Minimum loss, as a fraction of packets.
pub const NOTABLE_LOSS: f64 = 1e-3;
/// Maximum error of Jain's fairness index.
pub const JAIN_ERROR: f64 = 0.05;
/// Maximum relative error of the losses in the first two seconds.
pub const OVERSHOOT_ERROR: f64 = 0.2;
/// Maximum error of the first of two senders' share.
pub const SHARE_ERROR: f64 = 0.1;

/// The 97.5 % quantiles of Student's t distribution with two or more degrees of freedom. With two
/// runs the interval would be too wide.
const STUDENT_T_975: [f64; 3] = [4.303, 3.182, 2.776];

/// One quantity of an experiment: the means of Linux and netflow.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Linux.
    pub measured: f64,
    /// Half of the 95 % confidence interval of that mean; `None` for fewer than three runs.
    pub confidence_half_width: Option<f64>,
    /// netflow.
    pub modelled: f64,
}

impl Pair {
    /// Returns netflow's mean minus Linux's mean.
    pub fn error(&self) -> f64 {
        self.modelled - self.measured
    }

    /// Checks that the error is within `limit`, or within Linux's confidence interval.
    pub fn within(&self, limit: f64) -> Verdict {
        self.verdict(self.error().abs() <= limit)
    }

    /// Returns the verdict: by the limit, or else by Linux's confidence interval.
    fn verdict(&self, by_limit: bool) -> Verdict {
        match self.confidence_half_width {
            _ if by_limit => Verdict::WithinLimit,
            Some(half) if self.error().abs() <= half => Verdict::WithinConfidence,
            _ => Verdict::Outside,
        }
    }
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the limit.
    WithinLimit,
    /// Outside the limit, but within Linux's 95 % confidence interval.
    WithinConfidence,
    /// Outside both.
    Outside,
}

impl Verdict {
    /// Returns whether the check passed.
    pub fn holds(self) -> bool {
        self != Verdict::Outside
    }
}

/// Experiment with the results of both.
pub struct ComparedCell<'a> {
    /// Experiment.
    pub cell: &'a Cell,
    measured: Vec<&'a Row>,
    modelled: Vec<&'a Row>,
}

impl<'a> ComparedCell<'a> {
    /// Collects the results of an experiment; `None` if either is missing.
    pub fn of(
        cell: &'a Cell,
        measured: &'a [Row],
        modelled: &'a [Row],
    ) -> Option<ComparedCell<'a>> {
        let pick = |rows: &'a [Row]| -> Vec<&'a Row> {
            rows.iter().filter(|row| row.cell == *cell).collect()
        };
        let (measured, modelled) = (pick(measured), pick(modelled));
        let known = !measured.is_empty() && !modelled.is_empty();
        known.then_some(ComparedCell {
            cell,
            measured,
            modelled,
        })
    }

    /// Returns the number of measurements.
    pub fn runs(&self) -> usize {
        self.measured.len()
    }

    /// Returns a quantity of both.
    pub fn pair(&self, of: impl Fn(&Row) -> f64) -> Pair {
        let mean = |rows: &[&Row]| rows.iter().map(|row| of(row)).sum::<f64>() / rows.len() as f64;
        let measured = mean(&self.measured);
        let runs = self.measured.len();
        let squares = self.measured.iter().map(|row| (of(row) - measured).powi(2));
        let half = STUDENT_T_975.get(runs.wrapping_sub(3)).map(|student| {
            let variance = squares.sum::<f64>() / (runs - 1) as f64;
            student * (variance / runs as f64).sqrt()
        });
        Pair {
            measured,
            confidence_half_width: half,
            modelled: mean(&self.modelled),
        }
    }

    /// Returns the mean queue in packets.
    pub fn queue(&self) -> Pair {
        self.pair(|row| row.found.queue_pkts)
    }

    /// Returns the rules that apply to this experiment, with their verdicts.
    pub fn verdicts(&self) -> Vec<(Rule, Verdict)> {
        if self.cell.group() != Group::Identical {
            return vec![(Rule::Share, self.pair(Row::share).within(SHARE_ERROR))];
        }
        let utilization = self.pair(|row| row.found.utilization);
        let mut verdicts = vec![
            (Rule::Utilization, utilization.within(UTILIZATION_ERROR)),
            (Rule::Jain, self.pair(Row::jain).within(JAIN_ERROR)),
        ];
        let loss = self.pair(Row::loss);
        if loss.measured > NOTABLE_LOSS {
            let factor = loss.modelled / loss.measured;
            let near = (1.0 / LOSS_FACTOR..=LOSS_FACTOR).contains(&factor);
            verdicts.push((Rule::Loss, loss.verdict(near)));
        }
        let early = self.pair(|row| row.found.early_drops_pkts as f64);
        // Two packets, because 20 % of a small number is less than one packet.
        let limit = (OVERSHOOT_ERROR * early.measured).max(2.0);
        verdicts.push((Rule::Overshoot, early.within(limit)));
        verdicts
    }
}

/// Rule with its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Within 2 points.
    Utilization,
    /// Within a factor of 1.3 where it is above 0.1 %.
    Loss,
    /// Within 0.05.
    Jain,
    /// Losses in the first two seconds, within 20 % or two packets.
    Overshoot,
    /// Share of the first of two senders, within 10 points.
    Share,
}

impl Rule {
    /// All rules, in the order of the page.
    pub const ALL: [Rule; 5] = [
        Rule::Utilization,
        Rule::Loss,
        Rule::Jain,
        Rule::Overshoot,
        Rule::Share,
    ];
}
