//! Conditions: parts of a flow with steady loss and round-trip time, from samples.

use super::Sample;

/// Part of a flow with one loss probability and one round-trip time.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Index of the flow in the input.
    pub flow: usize,
    /// Range of its samples in the flow.
    pub samples: std::ops::Range<usize>,
    /// Packets sent.
    pub pkts: f64,
    /// Packets lost: retransmissions minus spurious retransmissions.
    pub lost_pkts: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Mean round-trip time in seconds.
    pub rtt_s: f64,
    /// Use in the fit.
    pub status: ConditionStatus,
    /// Per batch of samples: time per packet and losses per packet.
    batches: Vec<(f64, f64)>,
}

/// Use of a condition in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// Used for the surface.
    Used,
    /// No packet was lost.
    Lossless,
    /// Left out because it is too far from its neighbours.
    Outlier,
}

impl Condition {
    /// Returns the loss probability.
    pub fn loss(&self) -> f64 {
        self.lost_pkts / self.pkts
    }

    /// Returns the long-run throughput in packets/s: all packets over all time.
    pub fn throughput_pps(&self) -> f64 {
        self.pkts / self.duration_s
    }

    /// Returns the standard error of ln F at the condition's true loss, where F varies as
    /// loss^`slope`.
    ///
    /// It uses batch means: successive samples are correlated, batches hardly. The remaining lag-1
    /// correlation ρ widens the error by √((1+ρ)/(1−ρ)). Rate and measured loss of a batch are
    /// correlated, so both are included. `None` with fewer than three batches.
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

/// Number of batches of a condition.
const BATCHES: usize = 25;

/// Number of losses per part that is aimed at: the loss is then known within 1/√30 = 18 %.
const LOSSES_PER_PART: f64 = 30.0;

/// Smallest number of samples per part.
const MIN_SAMPLES_PER_PART: usize = 5;

/// Drift of loss and round-trip time within a flow that still counts as steady: standard deviation
/// relative to the mean.
const MAX_LOSS_DRIFT: f64 = 0.3;
const MAX_RTT_DRIFT: f64 = 0.1;

/// Returns the number of samples in the start-up of a flow.
///
/// Slow start ends with the first loss: the start-up includes the first sample with a resent
/// packet. Without any loss, it lasts until the throughput first reaches 90 % of its median.
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

/// Returns the conditions of one flow without its start-up. The flow is halved until each part is
/// steady in loss and round-trip time, or too short to be cut.
///
/// Cuts do not depend on the losses. A part that ended with its thirtieth loss would have a biased
/// loss. Sorting single samples by their own loss would mix chance with cause, because a sample
/// with few losses by chance was also fast by chance.
pub(super) fn conditions(flow: usize, samples: &[Sample]) -> Vec<Condition> {
    let begin = startup(samples);
    let mut conditions = Vec::new();
    // Start and end of each part; the earliest part is the last entry.
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

/// Returns whether neither loss nor round-trip time drifts between parts of about [`LOSSES_PER_PART`]
/// losses. With fewer than four such parts it counts as steady.
fn is_steady(samples: &[Sample]) -> bool {
    let whole = sums(samples);
    let per_sample = whole.lost_pkts / samples.len() as f64;
    let length = match (LOSSES_PER_PART / per_sample).ceil() {
        length if length >= 1.0 && length < samples.len() as f64 => length as usize,
        _ => return true,
    };
    let stretches: Vec<SampleSums> = samples
        .chunks_exact(length.max(MIN_SAMPLES_PER_PART))
        .map(sums)
        .collect();
    let losses: Vec<f64> = stretches.iter().map(|s| s.lost_pkts / s.pkts).collect();
    let rtts: Vec<f64> = stretches.iter().map(|s| s.rtt_pkts_s / s.pkts).collect();
    drift(&losses) <= MAX_LOSS_DRIFT && drift(&rtts) <= MAX_RTT_DRIFT
}

/// Returns the drift of values relative to their mean: their variance minus that of neighbouring
/// differences (von Neumann 1941), which is noise. 0 for fewer than four values.
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

/// Sums up the samples; `None` if no time passed.
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
    // Spurious retransmissions are detected late, so that they can outnumber retransmissions at the
    // edges.
    let lost_pkts = sums.lost_pkts.max(0.0);
    Some(Condition {
        flow,
        samples: begin..begin + samples.len(),
        pkts: sums.pkts,
        lost_pkts,
        duration_s: sums.duration_s,
        rtt_s: sums.rtt_pkts_s / sums.pkts,
        status: if lost_pkts > 0.0 {
            ConditionStatus::Used
        } else {
            ConditionStatus::Lossless
        },
        batches: batches.collect(),
    })
}

#[derive(Default)]
struct SampleSums {
    pkts: f64,
    lost_pkts: f64,
    duration_s: f64,
    rtt_pkts_s: f64,
}

fn sums(samples: &[Sample]) -> SampleSums {
    let mut sums = SampleSums::default();
    for sample in samples {
        let pkts = f64::from(sample.pkts);
        sums.pkts += pkts;
        sums.lost_pkts += f64::from(sample.resent_pkts) - f64::from(sample.spurious_pkts);
        sums.duration_s += sample.duration_s;
        sums.rtt_pkts_s += pkts * sample.rtt_s;
    }
    sums
}
