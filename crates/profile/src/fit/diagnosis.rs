//! Clusters of samples far from the fitted surface.

use super::Residual;
use super::trend::median;

/// Side of the surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResidualSign {
    /// Slower than the surface.
    Slow,
    /// Faster than the surface.
    Fast,
}

/// Successive samples of a flow far from the surface on one side, more than chance explains.
///
/// Such clusters have a cause that the surface does not model. \[Prof\] found SunOS's faulty
/// initial retransmission timer that way: its connections were slow only at their start, and only
/// with long round-trip times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// Index of the flow in the input.
    pub flow: usize,
    /// Side of the surface.
    pub sign: ResidualSign,
    /// End times of the first and the last sample, in seconds.
    pub time_s: (f64, f64),
    /// Number of samples.
    pub samples: usize,
    /// Geometric mean of throughput over surface.
    pub factor: f64,
    /// Mean loss probability of their conditions.
    pub loss: f64,
    /// Mean round-trip time in seconds.
    pub rtt_s: f64,
    /// True if it begins in its flow's start-up.
    pub startup: bool,
}

/// Smallest factor from the surface that counts as far.
const MIN_FACTOR: f64 = 2.0;

/// Smallest number of standard deviations, over samples at similar losses, that counts as far.
const MIN_DEVIATIONS: f64 = 2.0;

/// Significance level: expected number of clusters of that length by chance.
const SIGNIFICANCE: f64 = 0.01;

/// Number of samples at similar losses from which the scatter is estimated.
const NEIGHBOURS: usize = 300;

/// Returns the clusters, the one with most samples first. Residuals of a flow must be contiguous
/// and in order of time, as from [`residuals`](super::residuals).
pub fn diagnose(residuals: &[Residual]) -> Vec<Cluster> {
    // A sample whose packets all left at once has no throughput.
    let known: Vec<&Residual> = residuals
        .iter()
        .filter(|residual| residual.factor().is_finite() && residual.factor() > 0.0)
        .collect();
    let sides = residual_signs(&known);
    let mut clusters = Vec::new();
    for side in [ResidualSign::Slow, ResidualSign::Fast] {
        let chance = |i: usize| match sides[i] {
            Some((found, share)) if found == side => Some(share),
            _ => None,
        };
        let mut begin = 0;
        while begin < known.len() {
            let (mut end, mut by_chance) = (begin, known.len() as f64);
            while end < known.len() && known[end].flow == known[begin].flow {
                let Some(share) = chance(end) else {
                    break;
                };
                by_chance *= share;
                end += 1;
            }
            if end > begin + 1 && by_chance < SIGNIFICANCE {
                clusters.push(cluster(&known[begin..end], side));
            }
            begin = end.max(begin + 1);
        }
    }
    clusters.sort_by_key(|cluster| (std::cmp::Reverse(cluster.samples), cluster.flow));
    clusters
}

/// Returns for each sample the side on which it is far off, if any, with the fraction of its peers
/// that are too.
///
/// Distances are from the median of the peers, relative to their scatter, because samples scatter
/// more at very low and very high losses.
fn residual_signs(known: &[&Residual]) -> Vec<Option<(ResidualSign, f64)>> {
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&i, &j| known[i].loss.total_cmp(&known[j].loss));
    let mut sides = vec![None; known.len()];
    for peers in order.chunks(NEIGHBOURS) {
        let logs: Vec<f64> = peers
            .iter()
            .map(|&i| libm::log(known[i].factor()))
            .collect();
        let middle = median(&logs);
        let deviations: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let far = (MIN_DEVIATIONS * 1.4826 * median(&deviations)).max(libm::log(MIN_FACTOR));
        // Far from its peers and from the surface.
        let is_slow = |log: &f64| log - middle < -far && *log < -libm::log(MIN_FACTOR);
        let is_fast = |log: &f64| log - middle > far && *log > libm::log(MIN_FACTOR);
        let share = |is: &dyn Fn(&f64) -> bool| {
            logs.iter().filter(|log| is(log)).count() as f64 / logs.len() as f64
        };
        let (slow, fast) = (share(&is_slow), share(&is_fast));
        for (&i, log) in peers.iter().zip(&logs) {
            sides[i] = match log {
                log if is_slow(log) => Some((ResidualSign::Slow, slow)),
                log if is_fast(log) => Some((ResidualSign::Fast, fast)),
                _ => None,
            };
        }
    }
    sides
}

fn cluster(members: &[&Residual], side: ResidualSign) -> Cluster {
    let count = members.len() as f64;
    let mean = |of: &dyn Fn(&Residual) -> f64| {
        members.iter().map(|member| of(member)).sum::<f64>() / count
    };
    let (first, last) = (members.first(), members.last());
    Cluster {
        flow: first.map_or(0, |first| first.flow),
        sign: side,
        time_s: (
            first.map_or(0.0, |first| first.time_s),
            last.map_or(0.0, |last| last.time_s),
        ),
        samples: members.len(),
        factor: libm::exp(mean(&|member| libm::log(member.factor()))),
        loss: mean(&|member| member.loss),
        rtt_s: mean(&|member| member.rtt_s),
        startup: first.is_some_and(|first| !first.is_after_startup),
    }
}
