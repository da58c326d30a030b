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

/// The delays from sender to receiver of one connection, of every packet of data that arrives, all its
/// transfers together.
#[derive(Clone, Debug)]
pub struct OneWay {
    /// One of each packet.
    pub times: Times,
    /// What the delays of packets that arrive one after the other differ by.
    pub steps_ns: u64,
    /// How many of them there are.
    pub steps: u64,
}

impl OneWay {
    /// Of ways that take at least so long.
    pub fn new(least_ns: u64) -> Option<OneWay> {
        Some(OneWay {
            times: Times::new(least_ns)?,
            steps_ns: 0,
            steps: 0,
        })
    }

    /// The delay of a packet, and of the packet of the same transfer that arrived before it.
    #[inline]
    pub fn add(&mut self, delay_ns: u64, last_ns: Option<u64>) {
        self.times.add(delay_ns);
        if let Some(last_ns) = last_ns {
            self.steps += 1;
            self.steps_ns += delay_ns.abs_diff(last_ns);
        }
    }

    fn since(&self, before: &OneWay) -> OneWay {
        OneWay {
            times: self.times.since(&before.times),
            steps_ns: self.steps_ns - before.steps_ns,
            steps: self.steps - before.steps,
        }
    }

    /// How much the times of packets that follow each other differ, on average, in seconds.
    pub fn jitter_s(&self) -> Option<f64> {
        mean(self.steps_ns as f64 * 1e-9, self.steps as f64)
    }
}

/// The times of one connection: nothing before the first.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From sender to receiver.
    pub one_way: Option<Box<OneWay>>,
    /// As senders measure it.
    pub round_trip: Option<Box<Times>>,
}

impl Delays {
    /// What was met with since then.
    pub fn since(&self, before: &Delays) -> Delays {
        Delays {
            one_way: later(&self.one_way, &before.one_way, OneWay::since),
            round_trip: later(&self.round_trip, &before.round_trip, Times::since),
        }
    }
}

/// What is there now, without what was there before.
fn later<T: Clone>(
    now: &Option<Box<T>>,
    before: &Option<Box<T>>,
    since: fn(&T, &T) -> T,
) -> Option<Box<T>> {
    match (now, before) {
        (Some(now), Some(before)) => Some(Box::new(since(now, before))),
        (now, _) => now.clone(),
    }
}

/// What is there, made first if nothing is, and if it can be.
#[inline]
pub(crate) fn there<T>(
    place: &mut Option<Box<T>>,
    make: impl FnOnce() -> Option<T>,
) -> Option<&mut T> {
    if place.is_none() {
        *place = make().map(Box::new);
    }
    place.as_deref_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentiles of a period are not those of the whole run.
    #[test]
    fn what_was_added_since_is_as_if_nothing_had_been_before() {
        let delays = |times_ns: &[u64]| {
            let mut one_way = OneWay::new(1000).unwrap();
            let mut round_trip = Times::new(2000).unwrap();
            let mut last_ns = None;
            for &time_ns in times_ns {
                one_way.add(time_ns, last_ns.replace(time_ns));
                round_trip.add(time_ns);
            }
            Delays {
                one_way: Some(Box::new(one_way)),
                round_trip: Some(Box::new(round_trip)),
            }
        };
        let early: Vec<u64> = (1..1000).map(|i| 50_000 * i).collect();
        let late: Vec<u64> = (1..200).map(|i| 3_000 * i).collect();
        let all: Vec<u64> = early.iter().chain(&late).copied().collect();
        let parts = |delays: Delays| (*delays.one_way.unwrap(), *delays.round_trip.unwrap());
        let (since, alone) = (
            parts(delays(&all).since(&delays(&early))),
            parts(delays(&late)),
        );
        assert_eq!(since.0.times.percentiles(), alone.0.times.percentiles());
        assert_eq!(since.1.percentiles(), alone.1.percentiles());
        assert_eq!(since.0.times.mean_s(), alone.0.times.mean_s());
        // The step from the last before to the first since is one of them.
        assert_eq!(since.0.steps, alone.0.steps + 1);
        let nothing = parts(delays(&all).since(&delays(&all)));
        assert_eq!(
            (nothing.0.times.percentiles(), nothing.0.jitter_s()),
            (None, None)
        );
    }
}
