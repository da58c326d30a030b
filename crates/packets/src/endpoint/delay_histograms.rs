//! Delays of a connection's packets.

use hdrhistogram::Histogram;
use netflow_network::Percentiles;
use netflow_network::engine::mean;

/// Significant digits of a percentile, so that it is within 1 %.
const DIGITS: u8 = 2;
/// Shortest possible time in units of the histogram, so that it is resolved within 1 %.
const UNITS: u64 = 256;

/// Histogram of times of one kind, which grows with the longest time. Its unit is a fraction of the shortest
/// possible time, so that impossible times take little memory.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    counts: Histogram<u32>,
    unit_ns: u64,
    pub sum_ns: u64,
    pub count: u64,
}

impl TimeHistogram {
    /// Returns a histogram of times of at least `least_ns`.
    pub fn new(least_ns: u64) -> Option<TimeHistogram> {
        Some(TimeHistogram {
            counts: Histogram::new(DIGITS).ok()?,
            unit_ns: (least_ns / UNITS).max(1),
            sum_ns: 0,
            count: 0,
        })
    }

    pub fn add(&mut self, time_ns: u64) {
        self.sum_ns += time_ns;
        self.count += 1;
        // The histogram grows as needed, so all times can be recorded.
        let _ = self.counts.record(time_ns / self.unit_ns);
    }

    /// Returns the times added since `before`.
    fn since(&self, before: &TimeHistogram) -> TimeHistogram {
        let mut since = self.clone();
        // All times counted before are counted here, too.
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

/// One-way delays of a connection: of every data packet that arrives, over all its transfers.
#[derive(Clone, Debug)]
pub struct OneWayDelays {
    /// Delay of each packet.
    pub times: TimeHistogram,
    /// Sum of the absolute differences of the delays of consecutive packets, in ns.
    pub delay_change_sum_ns: u64,
    /// Number of these differences.
    pub delay_changes: u64,
}

impl OneWayDelays {
    /// Returns empty statistics of paths with a delay of at least `least_ns`.
    pub fn new(least_ns: u64) -> Option<OneWayDelays> {
        Some(OneWayDelays {
            times: TimeHistogram::new(least_ns)?,
            delay_change_sum_ns: 0,
            delay_changes: 0,
        })
    }

    /// Adds the delay of a packet. `last_ns` is the delay of the previous packet of the same transfer.
    #[inline]
    pub fn add(&mut self, delay_ns: u64, last_ns: Option<u64>) {
        self.times.add(delay_ns);
        if let Some(last_ns) = last_ns {
            self.delay_changes += 1;
            self.delay_change_sum_ns += delay_ns.abs_diff(last_ns);
        }
    }

    fn since(&self, before: &OneWayDelays) -> OneWayDelays {
        OneWayDelays {
            times: self.times.since(&before.times),
            delay_change_sum_ns: self.delay_change_sum_ns - before.delay_change_sum_ns,
            delay_changes: self.delay_changes - before.delay_changes,
        }
    }

    /// Returns the mean absolute difference of the delays of consecutive packets, in seconds.
    pub fn jitter_s(&self) -> Option<f64> {
        mean(
            self.delay_change_sum_ns as f64 * 1e-9,
            self.delay_changes as f64,
        )
    }
}

/// Delays of one connection; `None` before the first packet.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// One-way delays from sender to receiver.
    pub one_way: Option<Box<OneWayDelays>>,
    /// Round-trip times that senders measure.
    pub round_trip: Option<Box<TimeHistogram>>,
}

impl Delays {
    /// Returns the delays since `before`.
    pub fn since(&self, before: &Delays) -> Delays {
        Delays {
            one_way: difference(&self.one_way, &before.one_way, OneWayDelays::since),
            round_trip: difference(&self.round_trip, &before.round_trip, TimeHistogram::since),
        }
    }
}

/// Returns the present value without the earlier one.
fn difference<T: Clone>(
    now: &Option<Box<T>>,
    before: &Option<Box<T>>,
    since: fn(&T, &T) -> T,
) -> Option<Box<T>> {
    match (now, before) {
        (Some(now), Some(before)) => Some(Box::new(since(now, before))),
        (now, _) => now.clone(),
    }
}

/// Returns the value in `place`, which is made first if there is none; `None` if that fails.
#[inline]
pub(crate) fn get_or_create<T>(
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

    /// Percentiles of a period are not those of the whole run.
    #[test]
    fn period_percentiles_exclude_earlier_delays() {
        let delays = |times_ns: &[u64]| {
            let mut one_way = OneWayDelays::new(1000).unwrap();
            let mut round_trip = TimeHistogram::new(2000).unwrap();
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
        // The difference between the last packet before and the first one since counts.
        assert_eq!(since.0.delay_changes, alone.0.delay_changes + 1);
        let nothing = parts(delays(&all).since(&delays(&all)));
        assert_eq!(
            (nothing.0.times.percentiles(), nothing.0.jitter_s()),
            (None, None)
        );
    }
}
