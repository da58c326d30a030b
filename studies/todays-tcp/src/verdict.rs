//! What has to hold of each cell, and whether it does.

use crate::cell::{Cell, Group};
use crate::row::Row;

/// Mean queue: the sum of errors over the sum of all, for each congestion control.
pub const QUEUE_ERROR: f64 = 0.1;
/// Utilization.
pub const UTILIZATION_ERROR: f64 = 0.02;
/// The factor by which a loss may be off that is above [`NOTABLE_LOSS`].
pub const LOSS_FACTOR: f64 = 1.3;
/// Part of the packets.
pub const NOTABLE_LOSS: f64 = 1e-3;
/// Jain's index.
pub const JAIN_ERROR: f64 = 0.05;
/// Of what is lost in the first two seconds, as a part of it.
pub const OVERSHOOT_ERROR: f64 = 0.2;
/// Of the part that the first of two senders gets.
pub const SHARE_ERROR: f64 = 0.1;

/// The quantile 97.5 % of Student's distribution with n degrees of freedom, from two on: of two runs the
/// interval would be wider than anything.
const STUDENT: [f64; 3] = [4.303, 3.182, 2.776];

/// One quantity of a cell: Linux's and netflow's mean.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// By Linux.
    pub measured: f64,
    /// Half of the 95 % interval of that mean; none of fewer than three runs.
    pub half: Option<f64>,
    /// By netflow.
    pub modelled: f64,
}

impl Pair {
    /// netflow's is above Linux's by this.
    pub fn error(&self) -> f64 {
        self.modelled - self.measured
    }

    /// Whether they are as near as `limit`, or else as Linux's own interval.
    pub fn within(&self, limit: f64) -> Verdict {
        self.verdict(self.error().abs() <= limit)
    }

    /// By the limit, if it says so, or else by Linux's own interval.
    fn verdict(&self, by_limit: bool) -> Verdict {
        match self.half {
            _ if by_limit => Verdict::Limit,
            Some(half) if self.error().abs() <= half => Verdict::Interval,
            _ => Verdict::Outside,
        }
    }
}

/// What comes of comparing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the limit.
    Limit,
    /// Outside, but within Linux's own 95 % interval.
    Interval,
    /// Neither.
    Outside,
}

impl Verdict {
    /// Whether what has to hold holds.
    pub fn holds(self) -> bool {
        self != Verdict::Outside
    }
}

/// A cell by both.
pub struct Both<'a> {
    /// Which.
    pub cell: &'a Cell,
    measured: Vec<&'a Row>,
    modelled: Vec<&'a Row>,
}

impl<'a> Both<'a> {
    /// What is known of a cell; nothing if one side does not know it.
    pub fn of(cell: &'a Cell, measured: &'a [Row], modelled: &'a [Row]) -> Option<Both<'a>> {
        let pick = |rows: &'a [Row]| -> Vec<&'a Row> {
            rows.iter().filter(|row| row.cell == *cell).collect()
        };
        let (measured, modelled) = (pick(measured), pick(modelled));
        let known = !measured.is_empty() && !modelled.is_empty();
        known.then_some(Both {
            cell,
            measured,
            modelled,
        })
    }

    /// How often it was measured.
    pub fn runs(&self) -> usize {
        self.measured.len()
    }

    /// A quantity of it.
    pub fn pair(&self, of: impl Fn(&Row) -> f64) -> Pair {
        let mean = |rows: &[&Row]| rows.iter().map(|row| of(row)).sum::<f64>() / rows.len() as f64;
        let measured = mean(&self.measured);
        let runs = self.measured.len();
        let squares = self.measured.iter().map(|row| (of(row) - measured).powi(2));
        let half = STUDENT.get(runs.wrapping_sub(3)).map(|student| {
            let variance = squares.sum::<f64>() / (runs - 1) as f64;
            student * (variance / runs as f64).sqrt()
        });
        Pair {
            measured,
            half,
            modelled: mean(&self.modelled),
        }
    }

    /// Mean queue in packets.
    pub fn queue(&self) -> Pair {
        self.pair(|row| row.found.queue_pkts)
    }

    /// What has to hold of it alone, and whether it does.
    pub fn verdicts(&self) -> Vec<(Rule, Verdict)> {
        if self.cell.group() != Group::Alike {
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
        // Of next to nothing a fifth is less than a packet.
        let limit = (OVERSHOOT_ERROR * early.measured).max(2.0);
        verdicts.push((Rule::Overshoot, early.within(limit)));
        verdicts
    }
}

/// What has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Within 2 points.
    Utilization,
    /// Within a factor of 1.3 where it is above 0.1 %.
    Loss,
    /// Within 0.05.
    Jain,
    /// What is lost in the first two seconds, within 20 %, or two packets.
    Overshoot,
    /// What the first of two gets, within 10 points.
    Share,
}

impl Rule {
    /// All, as they are told.
    pub const ALL: [Rule; 5] = [
        Rule::Utilization,
        Rule::Loss,
        Rule::Jain,
        Rule::Overshoot,
        Rule::Share,
    ];
}
