//! Burstiness of arrivals: variation of the packet counts between intervals.

use std::collections::HashMap;

use serde::Serialize;

use super::{exceeds_max_intervals, interval_ns, intervals};
use crate::{Event, EventKind, Link};

/// Counter of the arrivals at every link, or of all packets of a capture. Arrivals are `+` lines of ns-2
/// traces, which include packets that the queue drops.
#[derive(Debug)]
pub struct Burstiness {
    interval_ns: i64,
    from_ns: i64,
    until_ns: Option<i64>,
    start_ns: Option<i64>,
    last_ns: i64,
    omitted_events: u64,
    link_indices: HashMap<Option<Link>, usize>,
    counts: Vec<(Option<Link>, Vec<u32>)>,
}

/// Mean and variation of the packets that arrive at a link per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IntervalVariation {
    /// Link; `None` in captures.
    #[serde(skip)]
    pub link: Option<Link>,
    /// Number of intervals, empty ones included.
    pub intervals: u64,
    /// Number of arrived packets.
    pub packets: u64,
    /// Mean number of packets per interval.
    pub mean: f64,
    /// Coefficient of variation: standard deviation (over all intervals) / mean.
    pub cov: f64,
    /// Coefficient of variation of Poisson arrivals with the same mean: 1/√mean (\[Burst\]; for n sources
    /// of λ packets/s and intervals of τ that is 1/√(λ·τ·n)).
    pub poisson_cov: f64,
}

impl Burstiness {
    /// Creates a counter with intervals of `interval_s` seconds, from `from_s` until `until_s` or the end
    /// of the trace. Times are those of an ns-2 trace, and count from the first packet in captures.
    pub fn new(interval_s: f64, from_s: f64, until_s: Option<f64>) -> Burstiness {
        Burstiness {
            interval_ns: interval_ns(interval_s),
            from_ns: (from_s.max(0.0) * 1e9).round() as i64,
            until_ns: until_s.map(interval_ns),
            start_ns: None,
            last_ns: 0,
            omitted_events: 0,
            link_indices: HashMap::new(),
            counts: Vec::new(),
        }
    }

    /// Returns the number of events left out because the intervals until then would exceed
    /// [`MAX_INTERVALS`](super::MAX_INTERVALS).
    pub fn omitted_events(&self) -> u64 {
        self.omitted_events
    }

    /// Processes the next event.
    pub fn on_event(&mut self, event: &Event) {
        let start_ns = *self.start_ns.get_or_insert(match event.kind {
            EventKind::Captured => event.time_ns,
            _ => 0,
        });
        let now_ns = event.time_ns.saturating_sub(start_ns);
        if exceeds_max_intervals(now_ns.max(0), self.interval_ns, self.counts.len()) {
            self.omitted_events += 1;
            return;
        }
        self.last_ns = self.last_ns.max(now_ns);
        let arrives = matches!(event.kind, EventKind::Enqueued | EventKind::Captured);
        let inside = now_ns >= self.from_ns && self.until_ns.is_none_or(|until| now_ns < until);
        if !arrives || !inside {
            return;
        }
        let next = self.counts.len();
        let place = *self.link_indices.entry(event.link).or_insert(next);
        if place == next {
            self.counts.push((event.link, Vec::new()));
        }
        let interval = ((now_ns - self.from_ns) / self.interval_ns) as usize;
        let counts = &mut self.counts[place].1;
        if interval >= counts.len() {
            counts.resize(interval + 1, 0);
        }
        counts[interval] += 1;
    }

    /// Returns the results in the order of the links' first packets. Without `until_s`, the last interval
    /// is the one in which the trace ends.
    pub fn finish(self) -> Vec<IntervalVariation> {
        // A partial interval counts only at the end of a trace.
        let intervals = match self.until_ns {
            Some(until_ns) => (until_ns - self.from_ns) / self.interval_ns,
            None => intervals(self.last_ns + 1 - self.from_ns, self.interval_ns) as i64,
        };
        let spread = |(link, mut counts): (Option<Link>, Vec<u32>)| {
            counts.resize(intervals.max(1) as usize, 0);
            let n = counts.len() as f64;
            let packets: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            let mean = packets as f64 / n;
            let off = |&count: &u32| (f64::from(count) - mean).powi(2);
            let variance = counts.iter().map(off).sum::<f64>() / n;
            IntervalVariation {
                link,
                intervals: counts.len() as u64,
                packets,
                mean,
                cov: variance.sqrt() / mean,
                poisson_cov: 1.0 / mean.sqrt(),
            }
        };
        let all = self.counts.into_iter().map(spread);
        all.filter(|spread| spread.packets > 0).collect()
    }
}
