//! Gravity model with given totals: the demand of a pair of nodes is a factor of its sender times one of its receiver.

use super::Pair;

/// Largest number of times that the factors are adjusted to the totals. They change little after ten.
const MAX_SWEEPS: usize = 100;

/// Relative change of a factor below which they are accurate enough.
const TOLERANCE: f64 = 1e-6;

/// Demand, relative to the mean, to which smaller ones are raised: a prior of 0 could not grow.
const MIN_SHARE: f64 = 1e-9;

/// Totals of the traffic that enters and leaves the network at each node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Totals {
    pub(super) entering: Vec<f64>,
    pub(super) leaving: Vec<f64>,
}

impl Totals {
    /// Returns the totals of demands.
    pub(super) fn of(nodes: usize, pairs: &[Pair], demands: &[f64]) -> Totals {
        let mut totals = Totals {
            entering: vec![0.0; nodes],
            leaving: vec![0.0; nodes],
        };
        for (pair, demand) in pairs.iter().zip(demands) {
            totals.entering[pair.from] += demand;
            totals.leaving[pair.to] += demand;
        }
        totals
    }

    /// Returns the sum of the differences to other totals, relative to the sum of these.
    pub(super) fn relative_change(&self, other: &Totals) -> f64 {
        let own = self.entering.iter().chain(&self.leaving);
        let others = other.entering.iter().chain(&other.leaving);
        let (sum, change) = own.zip(others).fold((0.0, 0.0), |(sum, change), (a, b)| {
            (sum + a, change + (a - b).abs())
        });
        change / sum
    }

    /// Returns demands above 0 by the gravity model with these totals. Only the given pairs have demands, so a node has
    /// no demand to itself. The factors are found by iterative proportional fitting (W. E. Deming, F. F. Stephan, Ann.
    /// Math. Stat. 11 (1940) 427).
    pub(super) fn gravity(&self, pairs: &[Pair]) -> Vec<f64> {
        let nodes = self.entering.len();
        let mut of_sender = vec![0.0; nodes];
        let mut of_receiver = self.leaving.clone();
        for _ in 0..MAX_SWEEPS {
            let mut sums = vec![0.0; nodes];
            for pair in pairs {
                sums[pair.from] += of_receiver[pair.to];
            }
            let change = adjust(&mut of_sender, &self.entering, &sums);
            sums.fill(0.0);
            for pair in pairs {
                sums[pair.to] += of_sender[pair.from];
            }
            let change = change.max(adjust(&mut of_receiver, &self.leaving, &sums));
            if change < TOLERANCE {
                break;
            }
        }
        let total: f64 = self.entering.iter().sum();
        let least = MIN_SHARE * total / pairs.len() as f64;
        let demand = |pair: &Pair| (of_sender[pair.from] * of_receiver[pair.to]).max(least);
        pairs.iter().map(demand).collect()
    }
}

/// Sets each factor to its total over the sum of the others' factors, and returns the largest relative change.
fn adjust(factors: &mut [f64], totals: &[f64], sums: &[f64]) -> f64 {
    let mut largest = 0.0_f64;
    for ((factor, total), sum) in factors.iter_mut().zip(totals).zip(sums) {
        let new = if *sum > 0.0 { total / sum } else { 0.0 };
        if new > 0.0 {
            largest = largest.max((new - *factor).abs() / new);
        }
        *factor = new;
    }
    largest
}
