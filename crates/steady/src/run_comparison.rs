//! Comparison of a fluid run with the steady state: whether the run settles, and where.

use netflow_fluid::Fluid;
use netflow_network::engine::Engine as _;
use netflow_network::{ConnectionId, FluidOptions, LinkId, Network, RunError};

use crate::Steady;

/// Last fraction of the run that is observed.
const OBSERVED_FRACTION: f64 = 0.25;
/// Queue in packets that is added in ratios, so that differences of nearly empty queues do not
/// count.
const NEGLIGIBLE_PKTS: f64 = 0.01;
/// Relative change below which a queue or a rate counts as settled.
const SETTLED_RANGE: f64 = 0.01;

/// Observation of the last quarter of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunComparison {
    /// Duration of the run in seconds.
    pub duration_s: f64,
    /// Queue that changed most, in packets; `None` if no link has traffic.
    pub queue: Option<(LinkId, ObservedRange)>,
    /// Rate that changed most, in packets/s.
    pub rate: Option<(ConnectionId, ObservedRange)>,
    /// Largest relative difference from the steady state: of a mean queue, and of a mean rate.
    pub max_queue_difference: f64,
    /// See [`max_queue_difference`](Self::max_queue_difference).
    pub max_rate_difference: f64,
}

/// Minimum, mean and maximum of a quantity over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedRange {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

impl ObservedRange {
    /// Returns the relative change.
    fn relative_range(&self, little: f64) -> f64 {
        (self.max - self.min) / (self.max + little)
    }
}

impl RunComparison {
    /// Returns whether no queue or rate changed by more than 1 %.
    pub fn has_settled(&self) -> bool {
        let queue = self
            .queue
            .map_or(0.0, |(_, it)| it.relative_range(NEGLIGIBLE_PKTS));
        let rate = self.rate.map_or(0.0, |(_, it)| it.relative_range(0.0));
        queue < SETTLED_RANGE && rate < SETTLED_RANGE
    }
}

/// Runs the network with the fluid model for the given time and observes the last quarter.
/// `interrupted` ends the run early.
///
/// # Errors
/// As a fluid run.
pub fn compare_with_run(
    network: &Network,
    steady: &Steady,
    duration_s: f64,
    options: FluidOptions,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<RunComparison>, RunError> {
    let mut run = Fluid::new(network.clone(), duration_s, 1, options)?;
    let from_s = (1.0 - OBSERVED_FRACTION) * duration_s;
    let links: Vec<LinkId> = network.links().collect();
    let connections: Vec<ConnectionId> = network.connections().collect();
    let nothing = ObservedRange {
        min: f64::INFINITY,
        mean: 0.0,
        max: 0.0,
    };
    let mut queues = vec![nothing; links.len()];
    let mut rates = vec![nothing; connections.len()];
    while !run.is_done() {
        if interrupted() {
            return Ok(None);
        }
        let before_s = run.time_s();
        run.step_until(if before_s < from_s {
            from_s
        } else {
            duration_s
        })?;
        if before_s < from_s {
            continue;
        }
        let part = (run.time_s() - before_s) / (duration_s - from_s);
        let watch = |it: &mut ObservedRange, now: f64| {
            it.min = it.min.min(now);
            it.max = it.max.max(now);
            it.mean += part * now;
        };
        for (it, &id) in queues.iter_mut().zip(&links) {
            watch(it, run.queue_pkts(id));
        }
        for (it, &id) in rates.iter_mut().zip(&connections) {
            watch(it, run.send_pps(id));
        }
    }
    let away = |it: &ObservedRange, rest: f64, little: f64| {
        (it.mean - rest).abs() / (rest.max(it.mean) + little)
    };
    let most = |parts: &mut dyn Iterator<Item = f64>| parts.fold(0.0, f64::max);
    let pairs = queues.iter().zip(&steady.links);
    let queues_away = most(&mut pairs.map(|(it, rest)| away(it, rest.queue_pkts, NEGLIGIBLE_PKTS)));
    // A stopped connection still has its last rate.
    let pairs = rates.iter().zip(&steady.connections);
    let pairs = pairs.filter(|(_, rest)| rest.sending);
    let rates_away = most(&mut pairs.map(|(it, rest)| away(it, rest.rate_pps, 1e-9)));
    let by = |little: f64| {
        move |a: &ObservedRange, b: &ObservedRange| {
            a.relative_range(little)
                .total_cmp(&b.relative_range(little))
        }
    };
    let by_queue = by(NEGLIGIBLE_PKTS);
    let queue = links
        .iter()
        .copied()
        .zip(queues)
        .max_by(|a, b| by_queue(&a.1, &b.1));
    let sent = connections
        .iter()
        .copied()
        .zip(rates)
        .filter(|(_, it)| it.max > 0.0);
    let by_rate = by(0.0);
    let rate = sent.max_by(|a, b| by_rate(&a.1, &b.1));
    Ok(Some(RunComparison {
        duration_s,
        queue,
        rate,
        max_queue_difference: queues_away,
        max_rate_difference: rates_away,
    }))
}
