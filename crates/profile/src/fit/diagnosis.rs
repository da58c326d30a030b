//! Samples far off the surface that come together.

use super::Residual;
use super::trend::median;

/// On which side of the surface samples are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Slower than the surface says.
    Slow,
    /// Faster.
    Fast,
}

/// Successive samples of a flow that are far off the surface on one side: more of them together
/// than chance brings.
///
/// Such clusters have a cause that the surface does not know. \[Prof\] found SunOS's faulty initial
/// retransmission timer that way: its connections were slow at their beginnings only, and only
/// where the round-trip time was long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// The flow, by its place in the input.
    pub flow: usize,
    /// Which side.
    pub side: Side,
    /// End of the first sample and of the last one, in seconds.
    pub time_s: (f64, f64),
    /// How many samples.
    pub samples: usize,
    /// Geometric mean of throughput over surface.
    pub factor: f64,
    /// Mean loss probability of their conditions.
    pub loss: f64,
    /// Mean round-trip time in seconds.
    pub rtt_s: f64,
    /// Whether it begins in its flow's start-up.
    pub startup: bool,
}

/// Off by less than this factor is not far.
const FAR: f64 = 2.0;

/// Off by less than so many standard deviations (of the samples at like losses) is not far.
const DEVIATIONS: f64 = 2.0;

/// A cluster is told if chance would bring one as long in fewer than this many of such inputs.
const CHANCE: f64 = 0.01;

/// Samples at like losses that tell how far samples scatter.
const PEERS: usize = 300;

/// The clusters, the one with most samples first. Residuals of a flow stand together, in the order
/// of their times, as [`residuals`](super::residuals) gives them.
pub fn diagnose(residuals: &[Residual]) -> Vec<Cluster> {
    // What left all at once has no throughput.
    let known: Vec<&Residual> = residuals
        .iter()
        .filter(|residual| residual.factor().is_finite() && residual.factor() > 0.0)
        .collect();
    let sides = sides(&known);
    let mut clusters = Vec::new();
    for side in [Side::Slow, Side::Fast] {
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
            if end > begin + 1 && by_chance < CHANCE {
                clusters.push(cluster(&known[begin..end], side));
            }
            begin = end.max(begin + 1);
        }
    }
    clusters.sort_by_key(|cluster| (std::cmp::Reverse(cluster.samples), cluster.flow));
    clusters
}

/// On which side each sample is far off, if it is, and the share of its peers that are, too.
///
/// Far is measured from the median of the peers and by their scatter: samples scatter more where
/// few packets or many are lost.
fn sides(known: &[&Residual]) -> Vec<Option<(Side, f64)>> {
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&i, &j| known[i].loss.total_cmp(&known[j].loss));
    let mut sides = vec![None; known.len()];
    for peers in order.chunks(PEERS) {
        let logs: Vec<f64> = peers
            .iter()
            .map(|&i| libm::log(known[i].factor()))
            .collect();
        let middle = median(&logs);
        let deviations: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let far = (DEVIATIONS * 1.4826 * median(&deviations)).max(libm::log(FAR));
        // Off its peers and off the surface.
        let is_slow = |log: &f64| log - middle < -far && *log < -libm::log(FAR);
        let is_fast = |log: &f64| log - middle > far && *log > libm::log(FAR);
        let share = |is: &dyn Fn(&f64) -> bool| {
            logs.iter().filter(|log| is(log)).count() as f64 / logs.len() as f64
        };
        let (slow, fast) = (share(&is_slow), share(&is_fast));
        for (&i, log) in peers.iter().zip(&logs) {
            sides[i] = match log {
                log if is_slow(log) => Some((Side::Slow, slow)),
                log if is_fast(log) => Some((Side::Fast, fast)),
                _ => None,
            };
        }
    }
    sides
}

fn cluster(members: &[&Residual], side: Side) -> Cluster {
    let count = members.len() as f64;
    let mean = |of: &dyn Fn(&Residual) -> f64| {
        members.iter().map(|member| of(member)).sum::<f64>() / count
    };
    let (first, last) = (members.first(), members.last());
    Cluster {
        flow: first.map_or(0, |first| first.flow),
        side,
        time_s: (
            first.map_or(0.0, |first| first.time_s),
            last.map_or(0.0, |last| last.time_s),
        ),
        samples: members.len(),
        factor: libm::exp(mean(&|member| libm::log(member.factor()))),
        loss: mean(&|member| member.loss),
        rtt_s: mean(&|member| member.rtt_s),
        startup: first.is_some_and(|first| !first.settled),
    }
}
