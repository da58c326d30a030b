//! From samples to conditions: stretches of a flow in which loss and round-trip time were steady.

use super::Sample;

/// A stretch of a flow with one loss probability and one round-trip time.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The flow, by its place in the input.
    pub flow: usize,
    /// Its samples, by their places in the flow.
    pub samples: std::ops::Range<usize>,
    /// Packets sent.
    pub pkts: f64,
    /// Packets lost: resends less needless resends.
    pub lost_pkts: f64,
    /// Time in seconds.
    pub duration_s: f64,
    /// Mean round-trip time in seconds.
    pub rtt_s: f64,
    /// What came of it.
    pub status: Status,
    /// Of each batch of samples: time per packet and losses per packet.
    batches: Vec<(f64, f64)>,
}

/// What came of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The surface rests on it.
    Used,
    /// No packet was lost in it.
    Lossless,
    /// Left out: too far from its neighbours.
    Outlier,
}

impl Condition {
    /// Loss probability.
    pub fn loss(&self) -> f64 {
        self.lost_pkts / self.pkts
    }

    /// Long-run throughput in packets/s: all packets over all time.
    pub fn throughput_pps(&self) -> f64 {
        self.pkts / self.duration_s
    }

    /// Standard error of ln F at the condition's true loss, where F falls with the loss as
    /// loss^`slope`.
    ///
    /// By batch means: successive samples depend on each other, batches hardly do, and what
    /// dependence is left between neighbours (lag-1 correlation ρ) widens the error by
    /// √((1+ρ)/(1−ρ)). Rate and measured loss of a batch go together, so both enter at once.
    /// `None` with fewer than three batches.
    pub fn standard_error(&self, slope: f64) -> Option<f64> {
        let count = self.batches.len() as f64;
        if self.batches.len() < 3 {
            return None;
        }
        let time = self.batches.iter().map(|batch| batch.0).sum::<f64>() / count;
        let loss = self.batches.iter().map(|batch| batch.1).sum::<f64>() / count;
        let relative = |x: f64, mean: f64| if mean > 0.0 { x / mean - 1.0 } else { 0.0 };
        let errors: Vec<f64> = self
            .batches
            .iter()
            .map(|&(t, l)| -relative(t, time) - slope * relative(l, loss))
            .collect();
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        if squares <= 0.0 {
            return Some(0.0);
        }
        let products: f64 = errors.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (products / squares).clamp(0.0, 0.8);
        let widening = (1.0 + correlation) / (1.0 - correlation);
        Some((squares / (count - 1.0) / count * widening).sqrt())
    }
}

/// Batches of a condition.
const BATCHES: usize = 25;

/// Losses per stretch that are asked for: they are known within 1/√30 = 18 % then.
const LOSSES: f64 = 30.0;

/// Samples per stretch at least.
const LEAST_SAMPLES: usize = 5;

/// Drift of the loss and of the round-trip time within a flow that still counts as steady, as a
/// standard deviation relative to the mean.
const STEADY_LOSS: f64 = 0.3;
const STEADY_RTT: f64 = 0.1;

/// How many samples at a flow's beginning are start-up.
///
/// Slow start ends with the first loss: everything up to and including the first sample with a
/// resent packet is start-up. Without any loss the start-up lasts until the throughput first
/// reaches 90 % of its median.
pub fn startup(samples: &[Sample]) -> usize {
    if let Some(first) = samples.iter().position(|sample| sample.resent_pkts > 0) {
        return first + 1;
    }
    let mut rates: Vec<f64> = samples.iter().map(Sample::throughput_pps).collect();
    rates.sort_by(f64::total_cmp);
    let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
    let risen = |sample: &Sample| sample.throughput_pps() >= 0.9 * median;
    samples.iter().position(risen).unwrap_or(0)
}

/// The conditions of one flow, start-up left out: one if loss and round-trip time were steady, else
/// those of its halves, until a stretch is steady or too short to be cut.
///
/// Where it is cut does not depend on where losses were: a stretch that ended with its thirtieth
/// loss would have a biased loss, and sorting single samples by their own loss mixes luck with
/// cause (a sample that had few losses by chance was also fast by chance).
pub(super) fn conditions(flow: usize, samples: &[Sample]) -> Vec<Condition> {
    let begin = startup(samples);
    let mut conditions = Vec::new();
    // Beginnings and ends; the earliest is the last one here.
    let mut waiting = vec![(begin, samples.len())];
    while let Some((begin, end)) = waiting.pop() {
        let Some(samples) = samples.get(begin..end) else {
            continue;
        };
        if is_steady(samples) {
            conditions.extend(condition(flow, begin, samples));
        } else {
            let middle = begin.midpoint(end);
            waiting.extend([(middle, end), (begin, middle)]);
        }
    }
    conditions
}

/// Whether neither loss nor round-trip time drifts between stretches of about [`LOSSES`] losses.
/// What has fewer than four such stretches cannot be told apart from steady.
fn is_steady(samples: &[Sample]) -> bool {
    let whole = sums(samples);
    let per_sample = whole.lost_pkts / samples.len() as f64;
    let length = match (LOSSES / per_sample).ceil() {
        length if length >= 1.0 && length < samples.len() as f64 => length as usize,
        _ => return true,
    };
    let stretches: Vec<Sums> = samples
        .chunks_exact(length.max(LEAST_SAMPLES))
        .map(sums)
        .collect();
    let losses: Vec<f64> = stretches.iter().map(|s| s.lost_pkts / s.pkts).collect();
    let rtts: Vec<f64> = stretches.iter().map(|s| s.rtt_pkts_s / s.pkts).collect();
    drift(&losses) <= STEADY_LOSS && drift(&rtts) <= STEADY_RTT
}

/// How far values wander, relative to their mean: their variance less that of neighbours
/// against each other (von Neumann 1941), which is noise. 0 for fewer than four.
fn drift(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 4 || mean <= 0.0 {
        return 0.0;
    }
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    let noise = steps.sum::<f64>() / (2.0 * (count - 1.0));
    (variance - noise).max(0.0).sqrt() / mean
}

/// `None` if no time passed.
pub(super) fn condition(flow: usize, begin: usize, samples: &[Sample]) -> Option<Condition> {
    let sums = sums(samples);
    if !(sums.pkts > 0.0 && sums.duration_s > 0.0 && sums.rtt_pkts_s > 0.0) {
        return None;
    }
    let length = samples.len().div_ceil(BATCHES).max(1);
    let batches = samples.chunks_exact(length).map(|batch| {
        let sums = self::sums(batch);
        (sums.duration_s / sums.pkts, sums.lost_pkts / sums.pkts)
    });
    // Needless resends are found out late: at the edges they can outnumber the resends.
    let lost_pkts = sums.lost_pkts.max(0.0);
    Some(Condition {
        flow,
        samples: begin..begin + samples.len(),
        pkts: sums.pkts,
        lost_pkts,
        duration_s: sums.duration_s,
        rtt_s: sums.rtt_pkts_s / sums.pkts,
        status: if lost_pkts > 0.0 {
            Status::Used
        } else {
            Status::Lossless
        },
        batches: batches.collect(),
    })
}

#[derive(Default)]
struct Sums {
    pkts: f64,
    lost_pkts: f64,
    duration_s: f64,
    rtt_pkts_s: f64,
}

fn sums(samples: &[Sample]) -> Sums {
    let mut sums = Sums::default();
    for sample in samples {
        let pkts = f64::from(sample.pkts);
        sums.pkts += pkts;
        sums.lost_pkts += f64::from(sample.resent_pkts) - f64::from(sample.needless_pkts);
        sums.duration_s += sample.duration_s;
        sums.rtt_pkts_s += pkts * sample.rtt_s;
    }
    sums
}
