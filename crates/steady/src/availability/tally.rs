//! Weighted sums over states, and the intervals that follow from them.

use super::{ProbabilityRange, Traffic, is_unserved};

/// Quantile of the normal distribution for a confidence of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Demand in a state.
pub(super) struct DemandState {
    pub demand: u32,
    /// Share of its rate that is lost.
    pub lost: f64,
    pub is_unserved: bool,
    pub has_failed_end: bool,
}

/// Sums of one demand.
#[derive(Clone, Default)]
struct DemandSums {
    /// Share lost, and 1 if unserved, in the intact network.
    intact: [f64; 2],
    /// Weight of the states with other results.
    changed: f64,
    /// Share lost and probability that it is unserved in these states, if the end nodes work.
    in_transit: [f64; 2],
    /// The same if an end node has failed.
    at_ends: [f64; 2],
}

/// Weighted sums over states with a steady state.
pub(super) struct Tally {
    demands: Vec<DemandSums>,
    intact_unserved: usize,
    /// Weight of all states, and of those without a steady state.
    pub weight: f64,
    pub unsolved: f64,
    pub unsolved_count: usize,
    pub moved_whole: usize,
    /// Weight of the states in which at least one demand is not served, and of those in which the end nodes of such a
    /// demand work.
    pub any_unserved: f64,
    pub any_unserved_in_transit: f64,
}

impl Tally {
    pub fn new(traffic: &Traffic<'_>, served: f64) -> Tally {
        let demands = traffic.active.iter().map(|it| DemandSums {
            intact: [
                it.intact_lost,
                f64::from(u8::from(is_unserved(it.intact_lost, served))),
            ],
            ..DemandSums::default()
        });
        let demands: Vec<DemandSums> = demands.collect();
        Tally {
            intact_unserved: demands.iter().filter(|it| it.intact[1] > 0.0).count(),
            demands,
            weight: 0.0,
            unsolved: 0.0,
            unsolved_count: 0,
            moved_whole: 0,
            any_unserved: 0.0,
            any_unserved_in_transit: 0.0,
        }
    }

    /// Adds a state by the demands that differ from the intact network.
    pub fn add(&mut self, weight: f64, changed: &[DemandState]) {
        self.weight += weight;
        let (mut intact_unserved, mut any, mut any_in_transit) =
            (self.intact_unserved, false, false);
        for it in changed {
            let sums = &mut self.demands[it.demand as usize];
            sums.changed += weight;
            let unserved = f64::from(u8::from(it.is_unserved));
            let part = if it.has_failed_end {
                &mut sums.at_ends
            } else {
                &mut sums.in_transit
            };
            part[0] += weight * it.lost;
            part[1] += weight * unserved;
            intact_unserved -= usize::from(sums.intact[1] > 0.0);
            any |= it.is_unserved;
            any_in_transit |= it.is_unserved && !it.has_failed_end;
        }
        if any || intact_unserved > 0 {
            self.any_unserved += weight;
        }
        if any_in_transit || intact_unserved > 0 {
            self.any_unserved_in_transit += weight;
        }
    }

    /// Adds a state without a steady state.
    pub fn add_unsolved(&mut self, weight: f64) {
        self.weight += weight;
        self.unsolved += weight;
        self.unsolved_count += 1;
    }

    fn in_transit(&self, demand: usize, i: usize) -> f64 {
        let it = &self.demands[demand];
        let unchanged = self.weight - self.unsolved - it.changed;
        it.in_transit[i] + unchanged.max(0.0) * it.intact[i]
    }

    pub fn lost_in_transit(&self, demand: usize) -> f64 {
        self.in_transit(demand, 0)
    }

    pub fn unserved_in_transit(&self, demand: usize) -> f64 {
        self.in_transit(demand, 1)
    }

    pub fn lost(&self, demand: usize) -> f64 {
        self.in_transit(demand, 0) + self.demands[demand].at_ends[0]
    }

    pub fn unserved(&self, demand: usize) -> f64 {
        self.in_transit(demand, 1) + self.demands[demand].at_ends[1]
    }
}

/// Sums over the states evaluated one by one, and over a sample of the others.
pub(super) struct Combined<'a> {
    pub exact: &'a Tally,
    pub sampled: &'a Tally,
    /// Probability of the others.
    pub rest: f64,
}

impl Combined<'_> {
    /// Returns the interval of a quantity between 0 and 1 whose sums this function returns.
    pub fn range(&self, sum: impl Fn(&Tally) -> f64) -> ProbabilityRange {
        let low = sum(self.exact);
        let high = low + self.exact.unsolved;
        let drawn = self.sampled.weight;
        let (least, most) = if drawn > 0.0 {
            let least = sum(self.sampled);
            let most = least + self.sampled.unsolved;
            (
                wilson(least / drawn, drawn).low,
                wilson(most / drawn, drawn).high,
            )
        } else {
            (0.0, 1.0)
        };
        ProbabilityRange {
            low: low + self.rest * least,
            high: (high + self.rest * most).min(1.0),
        }
    }
}

/// Returns the 95 % confidence interval of a mean of `n` draws between 0 and 1 (Wilson's score interval, JASA 22 (1927)
/// 209). For draws other than 0 and 1 it is too wide, because their variance is smaller.
fn wilson(mean: f64, n: f64) -> ProbabilityRange {
    let mean = mean.clamp(0.0, 1.0);
    let scale = 1.0 + Z * Z / n;
    let centre = (mean + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * libm::sqrt(mean * (1.0 - mean) / n + Z * Z / (4.0 * n * n));
    ProbabilityRange {
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
    }
}
