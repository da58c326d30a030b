//! How long packets take: what a connection's packets met with.

use hdrhistogram::Histogram;
use netflow_network::Percentiles;
use netflow_network::readout::mean;

/// Digits that a percentile has: it is within 1 %.
const DIGITS: u8 = 2;
/// The shortest time that is told from others within a percent, in units.
const UNITS: u64 = 256;

/// Times of one kind: a histogram that grows with the longest. Its units follow the shortest time
/// that there can be, so that little is spent on what cannot happen.
#[derive(Clone, Debug)]
pub struct Times {
    counts: Histogram<u32>,
    unit_ns: u64,
    pub sum_ns: u64,
    pub count: u64,
}

impl Times {
    /// For times of at least `least_ns`.
    pub fn new(least_ns: u64) -> Option<Times> {
        Some(Times {
            counts: Histogram::new(DIGITS).ok()?,
            unit_ns: (least_ns / UNITS).max(1),
            sum_ns: 0,
            count: 0,
        })
    }

    pub fn add(&mut self, time_ns: u64) {
        self.sum_ns += time_ns;
        self.count += 1;
        // It grows as it has to, over all times that there are.
        let _ = self.counts.record(time_ns / self.unit_ns);
    }

    /// Those of these that were added since then.
    fn since(&self, before: &Times) -> Times {
        let mut since = self.clone();
        // All that was counted before is counted here, too.
        let _ = since.counts.subtract(&before.counts);
        since.sum_ns -= before.sum_ns;
        since.count -= before.count;
        since
    }

    pub fn mean_s(&self) -> Option<f64> {
        mean(self.sum_ns as f64 * 1e-9, self.count as f64)
    }

    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile: f64| {
            let units = self.counts.value_at_quantile(quantile);
            (units as f64 + 0.5) * self.unit_ns as f64 * 1e-9
        };
        (self.count > 0).then(|| Percentiles {
            p50_s: at(0.5),
            p95_s: at(0.95),
            p99_s: at(0.99),
            p999_s: at(0.999),
        })
    }
}

/// The times of one connection, all its transfers together.
#[derive(Clone, Debug)]
pub struct Delays {
    /// From sender to receiver, of every packet of data that arrives.
    pub one_way: Times,
    /// As senders measure it.
    pub round_trip: Times,
    /// What the delays of packets that arrive one after the other differ by.
    pub steps_ns: u64,
    /// How many of them there are.
    pub steps: u64,
}

impl Delays {
    /// Of ways that take at least so long.
    pub fn new(there_ns: u64, round_ns: u64) -> Option<Delays> {
        Some(Delays {
            one_way: Times::new(there_ns)?,
            round_trip: Times::new(round_ns)?,
            steps_ns: 0,
            steps: 0,
        })
    }

    /// What was met with since then.
    pub fn since(&self, before: &Delays) -> Delays {
        Delays {
            one_way: self.one_way.since(&before.one_way),
            round_trip: self.round_trip.since(&before.round_trip),
            steps_ns: self.steps_ns - before.steps_ns,
            steps: self.steps - before.steps,
        }
    }

    /// How much the times of packets that follow each other differ, on average, in seconds.
    pub fn jitter_s(&self) -> Option<f64> {
        mean(self.steps_ns as f64 * 1e-9, self.steps as f64)
    }
}

/// What one transfer has met with since it was asked last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    pub delays_ns: Vec<u64>,
    pub rtts_ns: Vec<u64>,
    /// The delay of the packet that arrived last.
    last_ns: Option<u64>,
}

impl Fresh {
    /// Hands on what there is.
    pub fn drain(&mut self, into: &mut Delays) {
        for delay_ns in self.delays_ns.drain(..) {
            into.one_way.add(delay_ns);
            if let Some(last_ns) = self.last_ns.replace(delay_ns) {
                into.steps += 1;
                into.steps_ns += delay_ns.abs_diff(last_ns);
            }
        }
        for rtt_ns in self.rtts_ns.drain(..) {
            into.round_trip.add(rtt_ns);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.delays_ns.is_empty() && self.rtts_ns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentiles of a period are not those of the whole run.
    #[test]
    fn what_was_added_since_is_as_if_nothing_had_been_before() {
        let delays = |times_ns: &[u64]| {
            let mut delays = Delays::new(1000, 2000).unwrap();
            let mut fresh = Fresh::default();
            fresh.delays_ns.extend(times_ns);
            fresh.rtts_ns.extend(times_ns);
            fresh.drain(&mut delays);
            delays
        };
        let early: Vec<u64> = (1..1000).map(|i| 50_000 * i).collect();
        let late: Vec<u64> = (1..200).map(|i| 3_000 * i).collect();
        let all: Vec<u64> = early.iter().chain(&late).copied().collect();
        let (since, alone) = (delays(&all).since(&delays(&early)), delays(&late));
        assert_eq!(since.one_way.percentiles(), alone.one_way.percentiles());
        assert_eq!(
            since.round_trip.percentiles(),
            alone.round_trip.percentiles()
        );
        assert_eq!(since.one_way.mean_s(), alone.one_way.mean_s());
        // The step from the last before to the first since is one of them.
        assert_eq!(since.steps, alone.steps + 1);
        let nothing = delays(&all).since(&delays(&all));
        assert_eq!(
            (nothing.one_way.percentiles(), nothing.jitter_s()),
            (None, None)
        );
    }
}
