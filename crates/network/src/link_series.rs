//! Bandwidth, delay and loss of a link over time: piecewise constant, and repeated.

use std::sync::Arc;

use netflow_units::ns;
use serde::{Deserialize, Serialize};

use crate::compiled::{CompiledNetwork, LinkEvent};
use crate::{Change, LinkLoss};

/// Time of a change that does not happen.
const NEVER_NS: u64 = u64::MAX;

/// Longest series in ns: 100 days.
const MAX_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// Values of a link over time. Each row applies until the next one begins. After its end the series repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSeries {
    /// Starts of the rows in ns, increasing; the first is 0.
    starts_ns: Vec<u64>,
    length_ns: u64,
    columns: SeriesColumns,
}

/// Values of each row; `None` for what does not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesColumns {
    /// Bandwidths in bit/s: 0, or at least 1.
    pub bandwidths_bps: Option<Vec<f64>>,
    /// Propagation delays in seconds.
    pub delays_s: Option<Vec<f64>>,
    /// Probabilities of independent loss.
    pub losses: Option<Vec<f64>>,
}

/// Error of a series.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct SeriesError {
    /// Row, from 0; `None` for the whole series.
    pub row: Option<usize>,
    /// Reason.
    pub reason: String,
}

impl LinkSeries {
    /// Returns a series whose rows begin at these times (s). The first row begins at the start of the series, whatever
    /// its time. Without `end_s`, the last row lasts as long as the one before.
    ///
    /// # Errors
    /// Times do not increase or are longer than 100 days apart, a value is out of range, a column has another length
    /// than the times, there is no value, the bandwidth is always 0, or the length is not known or 0.
    pub fn new(
        times_s: &[f64],
        end_s: Option<f64>,
        columns: SeriesColumns,
    ) -> Result<LinkSeries, SeriesError> {
        let whole = |reason: &str| SeriesError {
            row: None,
            reason: reason.to_owned(),
        };
        let Some(&first_s) = times_s.first() else {
            return Err(whole("the trace has no rows"));
        };
        let mut starts_ns = Vec::with_capacity(times_s.len());
        for (row, &time_s) in times_s.iter().chain(&end_s).enumerate() {
            let error = |reason: String| SeriesError {
                row: Some(row),
                reason,
            };
            let since_s = time_s - first_s;
            if !since_s.is_finite() || since_s > MAX_NS as f64 * 1e-9 {
                return Err(error(format!(
                    "{time_s} s is more than 100 days after the first row"
                )));
            }
            let at_ns = if since_s < 0.0 {
                None
            } else {
                Some(ns(since_s))
            };
            match (at_ns, starts_ns.last()) {
                (Some(at_ns), Some(&last_ns)) if at_ns > last_ns => starts_ns.push(at_ns),
                (Some(at_ns), None) => starts_ns.push(at_ns),
                _ => {
                    return Err(error(format!(
                        "{time_s} s is not after {} s in the row before",
                        times_s[row - 1]
                    )));
                }
            }
        }
        let length_ns = match (end_s, starts_ns.as_slice()) {
            (Some(_), _) => starts_ns.pop(),
            (None, &[.., before, last]) => Some(last + (last - before)),
            (None, _) => None,
        };
        let Some(length_ns) = length_ns else {
            return Err(whole("the trace has one row, and thus no length"));
        };
        columns.check(starts_ns.len())?;
        Ok(LinkSeries {
            starts_ns,
            length_ns,
            columns,
        })
    }

    /// Returns the length in seconds, after which the series repeats.
    pub fn length_s(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.starts_ns.len()
    }

    /// Returns the values.
    pub fn columns(&self) -> &SeriesColumns {
        &self.columns
    }

    /// Returns the mean over time of a column.
    pub fn mean(&self, values: &[f64]) -> f64 {
        let ends_ns = self.starts_ns[1..].iter().chain([&self.length_ns]);
        let lengths = self.starts_ns.iter().zip(ends_ns);
        let weighted = lengths
            .zip(values)
            .map(|((&from, &to), value)| (to - from) as f64 * value);
        weighted.sum::<f64>() / self.length_ns as f64
    }

    /// Returns the start of a row in ns. Its number counts through the repetitions.
    fn start_ns(&self, row: u64) -> u64 {
        let n = self.starts_ns.len() as u64;
        (row / n)
            .saturating_mul(self.length_ns)
            .saturating_add(self.starts_ns[(row % n) as usize])
    }

    /// Returns the number of the row at `at_ns`.
    fn row_at(&self, at_ns: u64) -> u64 {
        let within_ns = at_ns % self.length_ns;
        let begun = self.starts_ns.partition_point(|&start| start <= within_ns);
        (at_ns / self.length_ns) * self.starts_ns.len() as u64 + begun as u64 - 1
    }

    /// Returns the next row with another value in a column; `None` if all values are equal.
    fn next_change(&self, row: u64, column: Column) -> Option<u64> {
        let now = self.change(row, column);
        let mut later = row + 1..=row + self.starts_ns.len() as u64;
        later.find(|&row| self.change(row, column) != now)
    }

    /// Returns what a column sets in a row; `None` if the link has no such column.
    fn change(&self, row: u64, column: Column) -> Option<Change> {
        let row = (row % self.starts_ns.len() as u64) as usize;
        let SeriesColumns {
            bandwidths_bps,
            delays_s,
            losses,
        } = &self.columns;
        match column {
            Column::Bandwidth => bandwidths_bps.as_ref().map(|all| match all[row] {
                bps if bps > 0.0 => Change::Bandwidth(bps),
                _ => Change::Pause,
            }),
            Column::Loss => (losses.as_ref()).map(|all| Change::Loss(LinkLoss::from(all[row]))),
            Column::Delay => delays_s.as_ref().map(|all| Change::Delay(all[row])),
        }
    }
}

impl SeriesColumns {
    fn check(&self, rows: usize) -> Result<(), SeriesError> {
        let SeriesColumns {
            bandwidths_bps,
            delays_s,
            losses,
        } = self;
        let whole = |reason: String| SeriesError { row: None, reason };
        for (values, name) in [
            (bandwidths_bps, "bandwidth"),
            (delays_s, "delay"),
            (losses, "loss"),
        ] {
            let Some(values) = values else { continue };
            if values.len() != rows {
                let count = values.len();
                return Err(whole(format!("column `{name}` has {count} rows of {rows}")));
            }
            let is_allowed = |it: f64| match name {
                "bandwidth" => it == 0.0 || it >= 1.0,
                "loss" => it <= 1.0,
                _ => true,
            };
            let bad = |it: &f64| !(it.is_finite() && *it >= 0.0 && is_allowed(*it));
            if let Some(row) = values.iter().position(bad) {
                return Err(SeriesError {
                    row: Some(row),
                    reason: format!("`{name}` is {}, which is out of range", values[row]),
                });
            }
        }
        if let Some(all) = bandwidths_bps
            && all.iter().all(|&bps| bps == 0.0)
        {
            return Err(whole("the bandwidth is always 0".to_owned()));
        }
        if bandwidths_bps.is_none() && delays_s.is_none() && losses.is_none() {
            return Err(whole("the trace has no values".to_owned()));
        }
        Ok(())
    }
}

/// Series of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSpec {
    /// Values over time.
    pub series: Arc<LinkSeries>,
    /// Position in the series at the start of the run, in ns.
    pub offset_ns: u64,
}

impl SeriesSpec {
    /// Returns the start in ns of the run of a row that begins after the start of the run.
    fn start_ns(&self, row: u64) -> u64 {
        self.series.start_ns(row) - self.offset_ns % self.series.length_ns
    }

    /// Returns the seconds from `at_s` until a link that always sends has transmitted these bits; infinite without
    /// bandwidths.
    pub fn drain_s(&self, at_s: f64, bits: f64) -> f64 {
        let LinkSeries {
            starts_ns,
            length_ns,
            columns,
        } = &*self.series;
        let Some(bandwidths_bps) = &columns.bandwidths_bps else {
            return f64::INFINITY;
        };
        let length_s = *length_ns as f64 / 1e9;
        let period_bits = self.series.mean(bandwidths_bps) * length_s;
        let periods = (bits / period_bits).floor();
        let mut left_bits = bits - periods * period_bits;
        let at_ns = ns(at_s) + self.offset_ns % length_ns;
        let (mut row, mut now_ns) = (self.series.row_at(at_ns), at_ns);
        for _ in 0..=2 * starts_ns.len() {
            let bps = bandwidths_bps[(row % starts_ns.len() as u64) as usize];
            let end_ns = self.series.start_ns(row + 1);
            let row_bits = bps * ((end_ns - now_ns) as f64 / 1e9);
            if bps > 0.0 && row_bits >= left_bits {
                let since_s = (now_ns - at_ns) as f64 / 1e9;
                return periods * length_s + since_s + left_bits / bps;
            }
            left_bits = (left_bits - row_bits).max(0.0);
            (row, now_ns) = (row + 1, end_ns);
        }
        // Rounding errors left a bit after a whole period.
        (periods + 1.0) * length_s
    }

    fn first_row(&self) -> u64 {
        self.series.row_at(self.offset_ns % self.series.length_ns)
    }
}

/// Column of a series, in the order in which a row sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Column {
    Bandwidth,
    Loss,
    Delay,
}

impl Column {
    const ALL: [Column; 3] = [Column::Bandwidth, Column::Loss, Column::Delay];
}

/// Next value of a series. Values of the same time apply in this order: a link precedes the queues of its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct NextValue {
    at_ns: u64,
    column: Column,
    link: u32,
    row: u64,
}

/// Position of a run in the changes of links: events, and rows of series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeCursor {
    next_event: usize,
    /// Next values, the last one first.
    next_values: Vec<NextValue>,
}

impl ChangeCursor {
    /// Returns the position at the start of a run.
    pub fn new(network: &CompiledNetwork) -> ChangeCursor {
        let mut next_values = Vec::new();
        for (link, spec) in (0..).zip(&network.links) {
            let Some(SeriesSpec { series, .. }) = &spec.series else {
                continue;
            };
            let row = spec.series.as_ref().map_or(0, SeriesSpec::first_row);
            let columns = Column::ALL.into_iter();
            let columns = columns.filter(|&column| series.change(row, column).is_some());
            next_values.extend(columns.map(|column| NextValue {
                at_ns: 0,
                column,
                link,
                row,
            }));
        }
        next_values.sort_unstable_by(|a, b| b.cmp(a));
        ChangeCursor {
            next_event: 0,
            next_values,
        }
    }

    /// Returns the events that have not been applied.
    pub fn later_events<'a>(&self, network: &'a CompiledNetwork) -> &'a [LinkEvent] {
        &network.events[self.next_event..]
    }

    /// Returns the time of the next change in seconds; infinite if there is none.
    pub fn next_s(&self, network: &CompiledNetwork) -> f64 {
        self.next_event_s(network).min(self.next_value_s())
    }

    fn next_event_s(&self, network: &CompiledNetwork) -> f64 {
        let event = network.events.get(self.next_event);
        event.map_or(f64::INFINITY, |it| it.at_s)
    }

    fn next_value_s(&self) -> f64 {
        match self.next_values.last() {
            Some(next) if next.at_ns < NEVER_NS => next.at_ns as f64 / 1e9,
            _ => f64::INFINITY,
        }
    }

    /// Returns the next change, if it is due, and moves on. At the same time, events precede series.
    pub fn next(
        &mut self,
        network: &CompiledNetwork,
        is_due: impl Fn(f64) -> bool,
    ) -> Option<LinkEvent> {
        let at_s = self.next_value_s();
        if self.next_event_s(network) <= at_s {
            let event = network.events.get(self.next_event)?;
            let is_due = is_due(event.at_s);
            self.next_event += usize::from(is_due);
            return is_due.then_some(*event);
        }
        if !is_due(at_s) {
            return None;
        }
        let NextValue {
            at_ns: _,
            column,
            link,
            row,
        } = self.next_values.pop()?;
        let spec = network.links[link as usize].series.as_ref()?;
        let change = spec.series.change(row, column)?;
        let later = spec.series.next_change(row, column);
        let next = NextValue {
            at_ns: later.map_or(NEVER_NS, |row| spec.start_ns(row)),
            column,
            link,
            row: later.unwrap_or(row),
        };
        let place = self.next_values.partition_point(|it| *it > next);
        self.next_values.insert(place, next);
        Some(LinkEvent { at_s, link, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventSpec, LinkId, LinkSpec, NetworkBuilder};

    fn columns(bandwidths_bps: &[f64]) -> SeriesColumns {
        SeriesColumns {
            bandwidths_bps: Some(bandwidths_bps.to_vec()),
            ..SeriesColumns::default()
        }
    }

    fn series(times_s: &[f64], end_s: Option<f64>, bandwidths_bps: &[f64]) -> SeriesSpec {
        SeriesSpec {
            series: Arc::new(LinkSeries::new(times_s, end_s, columns(bandwidths_bps)).unwrap()),
            offset_ns: 0,
        }
    }

    #[test]
    fn last_row_lasts_as_long_as_the_one_before_or_to_the_end() {
        let it = series(&[100.0, 101.0, 103.0], None, &[1e6, 2e6, 4e6]).series;
        assert_eq!((it.length_s(), it.row_count()), (5.0, 3));
        assert_eq!(it.mean(&[1e6, 2e6, 4e6]), 13e6 / 5.0);
        let it = series(&[0.0, 1.0], Some(4.0), &[1e6, 3e6]).series;
        assert_eq!((it.length_s(), it.mean(&[1e6, 3e6])), (4.0, 2.5e6));
        let it = series(&[7.0], Some(8.0), &[1e6]).series;
        assert_eq!(it.length_s(), 1.0);
    }

    #[test]
    fn bad_series_have_reasons() {
        let none = SeriesColumns::default();
        let delays = |delay_s| SeriesColumns {
            delays_s: Some(vec![delay_s; 2]),
            ..SeriesColumns::default()
        };
        for (times_s, end_s, columns, row, reason) in [
            (vec![], None, columns(&[]), None, "the trace has no rows"),
            (
                vec![0.0],
                None,
                columns(&[1e6]),
                None,
                "the trace has one row, and thus no length",
            ),
            (vec![0.0, 1.0], None, none, None, "the trace has no values"),
            (
                vec![0.0, 1.0],
                None,
                columns(&[0.0, 0.0]),
                None,
                "the bandwidth is always 0",
            ),
            (
                vec![0.0, 1.0],
                None,
                columns(&[1e6]),
                None,
                "column `bandwidth` has 1 rows of 2",
            ),
            (
                vec![1.0, 1.0],
                None,
                columns(&[1e6, 2e6]),
                Some(1),
                "1 s is not after 1 s in the row before",
            ),
            (
                vec![2.0, 3.0],
                Some(2.5),
                columns(&[1e6, 2e6]),
                Some(2),
                "2.5 s is not after 3 s in the row before",
            ),
            (
                vec![0.0, f64::NAN],
                None,
                columns(&[1e6, 2e6]),
                Some(1),
                "NaN s is more than 100 days after the first row",
            ),
            (
                vec![0.0, 1e9],
                None,
                columns(&[1e6, 2e6]),
                Some(1),
                "1000000000 s is more than 100 days after the first row",
            ),
            (
                vec![0.0, 1.0],
                None,
                columns(&[1e6, 0.5]),
                Some(1),
                "`bandwidth` is 0.5, which is out of range",
            ),
            (
                vec![0.0, 1.0],
                None,
                columns(&[-1.0, 1e6]),
                Some(0),
                "`bandwidth` is -1, which is out of range",
            ),
            (
                vec![0.0, 1.0],
                None,
                delays(f64::INFINITY),
                Some(0),
                "`delay` is inf, which is out of range",
            ),
        ] {
            let error = LinkSeries::new(&times_s, end_s, columns).unwrap_err();
            assert_eq!((error.row, error.reason.as_str()), (row, reason));
        }
    }

    /// 2 Mbit in the first second, nothing in the next, 1 Mbit in the third.
    #[test]
    fn backlog_drains_at_the_later_bandwidths() {
        let mut it = series(&[0.0, 1.0, 2.0], None, &[2e6, 0.0, 1e6]);
        for (at_s, bits, drain_s) in [
            (0.0, 0.0, 0.0),
            (0.0, 2e6, 1.0),
            (0.5, 2e6, 2.5),
            (1.25, 0.0, 0.75),
            (1.25, 0.5e6, 1.25),
            (0.0, 3e6, 3.0),
            (2.5, 1.5e6, 1.0),
            (0.5, 300e6 + 2e6, 302.5),
        ] {
            let is_s = it.drain_s(at_s, bits);
            assert!((is_s - drain_s).abs() < 1e-9, "{at_s} {bits}: {is_s}");
        }
        it.offset_ns = 4_000_000_000;
        assert_eq!(it.drain_s(0.0, 0.5e6), 1.5);
    }

    /// Changes of two links and an event in order of time, with an offset; equal values are no change.
    #[test]
    fn changes_come_in_order_of_time() {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        let all = SeriesColumns {
            bandwidths_bps: Some(vec![2e6, 0.0]),
            delays_s: Some(vec![0.01, 0.01]),
            losses: Some(vec![0.0, 0.5]),
        };
        let there = b.link(LinkSpec {
            series: Some(SeriesSpec {
                series: Arc::new(LinkSeries::new(&[0.0, 1.0], Some(1.5), all).unwrap()),
                offset_ns: 1_250_000_000,
            }),
            ..LinkSpec::new(from, to, 1e6)
        });
        let back = b.link(LinkSpec {
            series: Some(series(&[0.0, 0.25], None, &[3e6, 4e6])),
            ..LinkSpec::new(to, from, 1e6)
        });
        for (at_s, link, change) in [(0.5, there, Change::Down), (0.25, back, Change::Delay(0.5))] {
            b.event(EventSpec { at_s, link, change });
        }
        let network = b.build().unwrap();
        let inner = network.tables();
        let mut cursor = ChangeCursor::new(inner);
        let (mut found, mut now_s) = (Vec::new(), 0.0);
        while now_s < 0.6 {
            while let Some(event) = cursor.next(inner, |at_s| at_s <= now_s) {
                assert_eq!(event.at_s, now_s);
                found.push((event.at_s, event.link, event.change));
            }
            now_s = cursor.next_s(inner);
        }
        let [there, back] = [there, back].map(LinkId::index).map(|it| it as u32);
        let loss = |loss| Change::Loss(LinkLoss::from(loss));
        assert_eq!(
            found,
            [
                (0.0, there, Change::Pause),
                (0.0, back, Change::Bandwidth(3e6)),
                (0.0, there, loss(0.5)),
                (0.0, there, Change::Delay(0.01)),
                (0.25, back, Change::Delay(0.5)),
                (0.25, there, Change::Bandwidth(2e6)),
                (0.25, back, Change::Bandwidth(4e6)),
                (0.25, there, loss(0.0)),
                (0.5, there, Change::Down),
                (0.5, back, Change::Bandwidth(3e6)),
            ]
        );
        assert_eq!(
            network.bandwidths_bps(network.links().next().unwrap()),
            (1e6, 2e6)
        );
        assert_eq!(network.events().count(), 2);
    }

    #[test]
    fn events_cannot_change_what_a_series_sets() {
        let mut b = NetworkBuilder::new();
        let [from, to] = ["A", "B"].map(|name| b.node(name));
        let link = b.link(LinkSpec {
            series: Some(series(&[0.0, 0.25], None, &[3e6, 4e6])),
            ..LinkSpec::new(from, to, 1e6)
        });
        for change in [Change::Bandwidth(1e6), Change::Delay(0.1)] {
            let at_s = 1.0;
            b.event(EventSpec { at_s, link, change });
        }
        let errors = b.build().unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(
            texts[0].contains("the bandwidth of the link follows its trace"),
            "{texts:?}"
        );
    }
}
