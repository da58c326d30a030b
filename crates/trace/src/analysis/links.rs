//! Queue of every link of an ns-2 trace, reconstructed from its events.

use std::collections::HashMap;

use netflow_network::LinkInterval;
use netflow_results::LinkRow;
use serde::Serialize;

use super::bandwidth::BandwidthEstimator;
use super::queue_tracker::{DropLocation, QueueTracker};
use super::{exceeds_max_intervals, interval_ns, intervals, rows_in_time_order};
use crate::{Event, EventKind, Link, NodeNames};

/// Analysis of all links of a trace.
///
/// A packet arrives at a queue with `+`, starts its transmission with `-`, and arrives at the link's end
/// with `r`. A packet dropped (`d`) before its `-` was dropped by the queue; one dropped after it was
/// lost on the link (by an error model).
#[derive(Debug)]
pub struct Links {
    every_ns: i64,
    /// Given bandwidths: start time in ns and bit/s, in order of time.
    given_bps: HashMap<Link, Vec<(i64, f64)>>,
    indices: HashMap<Link, usize>,
    /// Links in the order of their first packets.
    links: Vec<(Link, LinkState)>,
    end_ns: i64,
    omitted_events: u64,
}

/// State of one link.
#[derive(Debug, Default)]
struct LinkState {
    packets: QueueTracker,
    bandwidth_estimator: BandwidthEstimator,
    bins: Vec<Counts>,
    /// Time until which the waiting packets have been integrated.
    integrated_until_ns: i64,
    /// Last transmission: its start in ns, its bytes, and whether other packets have waited ever since.
    last_transmission: Option<(i64, u32, bool)>,
    max_waiting: usize,
    lost_on_link: u64,
}

/// Counts of one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrived: u64,
    lost: u64,
    dequeued: u64,
    dequeued_bits: u64,
    /// Time integral of the waiting packets, in packets × nanoseconds.
    waiting_integral: i128,
    /// Last transmission that started: its time in ns and its bits.
    last_transmission: Option<(i64, u64)>,
}

/// Values of one link over one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkTraceInterval {
    /// End of the interval, in seconds.
    pub time_s: f64,
    /// Packets that arrived at the queue.
    pub arrived_pkts: u64,
    /// Packets that the queue dropped.
    pub lost_pkts: u64,
    /// Packets that left the queue: their transmission started.
    pub departed_pkts: u64,
    /// Mean number of waiting packets, packet in service not included.
    pub waiting_pkts: f64,
    /// Fraction of the time in which the link was busy; `None` if the bandwidth is unknown.
    pub utilization: Option<f64>,
    /// Length of the interval, in seconds.
    pub length_s: f64,
}

/// Values of one link over the whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TraceTotals {
    /// Packets that arrived at the queue.
    pub offered_pkts: u64,
    /// Packets that the queue dropped.
    pub lost_pkts: u64,
    /// Packets lost on the link, after they had left the queue.
    pub lost_on_link_pkts: u64,
    /// Packets that left the queue.
    pub departed_pkts: u64,
    /// Packets waiting at the end.
    pub queued_pkts: u64,
    /// Mean number of waiting packets, packet in service not included.
    pub mean_waiting_pkts: f64,
    /// Mean number of packets, packet in service included; `None` if the bandwidth is unknown.
    pub mean_queue_pkts: Option<f64>,
    /// Maximum number of waiting packets.
    pub max_waiting_pkts: u64,
    /// Fraction of the offered packets that the queue dropped.
    pub loss_probability: f64,
    /// Fraction of the time in which the link was busy; `None` if the bandwidth is unknown.
    pub utilization: Option<f64>,
    /// Bandwidth in bit/s at the start: given, or estimated from the packets' times.
    pub bandwidth_bps: Option<f64>,
}

/// Results of one link.
#[derive(Clone, Debug)]
pub struct LinkSeries {
    /// The link.
    pub link: Link,
    /// Values over the whole trace.
    pub totals: TraceTotals,
    /// Values by interval.
    pub bins: Vec<LinkTraceInterval>,
}

impl Links {
    /// Creates an analysis with intervals of `every_s` seconds from time 0 on.
    pub fn new(every_s: f64) -> Links {
        Links {
            every_ns: interval_ns(every_s),
            given_bps: HashMap::new(),
            indices: HashMap::new(),
            links: Vec::new(),
            end_ns: 0,
            omitted_events: 0,
        }
    }

    /// Sets a link's bandwidth in bit/s, which is otherwise estimated.
    pub fn set_bandwidth(&mut self, link: Link, bps: f64) {
        self.given_bps.insert(link, vec![(0, bps)]);
    }

    /// Sets the bandwidth in bit/s that a link has from a time in seconds on. The link must have a given
    /// bandwidth, and times must increase. An interval uses the bandwidth at its start.
    pub fn set_bandwidth_from(&mut self, link: Link, at_s: f64, bps: f64) {
        if let Some(known) = self.given_bps.get_mut(&link) {
            known.push((interval_ns(at_s), bps));
        }
    }

    /// Returns the links seen, in the order of their first packets.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.links.iter().map(|(link, _)| *link)
    }

    /// Returns the number of events left out because the intervals until then would exceed
    /// [`MAX_INTERVALS`](super::MAX_INTERVALS).
    pub fn omitted_events(&self) -> u64 {
        self.omitted_events
    }

    /// Processes the next event.
    pub fn on_event(&mut self, event: &Event) {
        let Some(link) = event.link else {
            return;
        };
        let now_ns = event.time_ns.max(0);
        if exceeds_max_intervals(now_ns, self.every_ns, self.links.len()) {
            self.omitted_events += 1;
            return;
        }
        self.end_ns = self.end_ns.max(now_ns);
        let next = self.links.len();
        let place = *self.indices.entry(link).or_insert(next);
        if place == next {
            self.links.push((link, LinkState::default()));
        }
        let every_ns = self.every_ns;
        if let Some((_, track)) = self.links.get_mut(place) {
            track.on_event(event, now_ns, every_ns);
        }
    }

    /// Returns the results in the order of the links' first packets; the last interval ends with the
    /// trace.
    pub fn finish(self) -> Vec<LinkSeries> {
        self.finish_at(None)
    }

    /// Returns the results of a trace that lasts until `end_s`, with or without packets.
    pub fn finish_at(mut self, end_s: Option<f64>) -> Vec<LinkSeries> {
        if let Some(end_s) = end_s {
            self.end_ns = self.end_ns.max(interval_ns(end_s));
        }
        let (every_ns, end_ns, known) = (self.every_ns, self.end_ns, self.given_bps);
        let links = self.links.into_iter();
        links
            .map(|(link, track)| track.finish(link, every_ns, end_ns, known.get(&link)))
            .collect()
    }
}

impl LinkState {
    fn on_event(&mut self, event: &Event, now_ns: i64, every_ns: i64) {
        self.integrate_queue(now_ns, every_ns);
        let packet = &event.packet;
        match event.kind {
            EventKind::Enqueued => {
                self.packets.enqueue(packet.id);
                self.bin(now_ns, every_ns).arrived += 1;
                // A packet that is transmitted at once does not wait.
            }
            EventKind::Dequeued => {
                if let Some((began_ns, bytes, true)) = self.last_transmission {
                    self.bandwidth_estimator
                        .record_back_to_back(bytes, now_ns - began_ns);
                }
                self.packets.dequeue(packet.id, now_ns);
                let others = self.packets.waiting() > 0;
                self.last_transmission = Some((now_ns, packet.bytes, others));
                let bits = 8 * u64::from(packet.bytes);
                let bin = self.bin(now_ns, every_ns);
                bin.dequeued += 1;
                bin.dequeued_bits += bits;
                bin.last_transmission = Some((now_ns, bits));
            }
            EventKind::Received => {
                if let Some(began_ns) = self.packets.receive(packet.id) {
                    self.bandwidth_estimator
                        .record_transit(packet.bytes, now_ns - began_ns);
                }
            }
            EventKind::Dropped => match self.packets.drop(packet.id) {
                DropLocation::InQueue => self.bin(now_ns, every_ns).lost += 1,
                DropLocation::OnLink => self.lost_on_link += 1,
            },
            EventKind::Captured => {}
        }
    }

    fn bin(&mut self, now_ns: i64, every_ns: i64) -> &mut Counts {
        let place = (now_ns / every_ns) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Counts::default());
        }
        &mut self.bins[place]
    }

    /// Integrates the number of waiting packets from the last event until now.
    #[inline]
    fn integrate_queue(&mut self, now_ns: i64, every_ns: i64) {
        let waiting = self.packets.waiting();
        // Simultaneous events must all be processed before the number of waiting packets is valid.
        if now_ns > self.integrated_until_ns {
            self.max_waiting = self.max_waiting.max(waiting);
        }
        while waiting > 0 && self.integrated_until_ns < now_ns {
            let bin_end_ns = (self.integrated_until_ns / every_ns + 1).saturating_mul(every_ns);
            let until_ns = bin_end_ns.min(now_ns);
            let time = i128::from(until_ns - self.integrated_until_ns) * waiting as i128;
            let from_ns = self.integrated_until_ns;
            self.bin(from_ns, every_ns).waiting_integral += time;
            self.integrated_until_ns = until_ns;
        }
        self.integrated_until_ns = self.integrated_until_ns.max(now_ns);
        if waiting == 0
            && let Some((_, _, others)) = &mut self.last_transmission
        {
            *others = false;
        }
    }

    fn finish(
        mut self,
        link: Link,
        every_ns: i64,
        end_ns: i64,
        known: Option<&Vec<(i64, f64)>>,
    ) -> LinkSeries {
        self.integrate_queue(end_ns, every_ns);
        let bins = intervals(end_ns, every_ns).max(self.bins.len());
        self.bins.resize(bins, Counts::default());
        let inferred = self
            .bandwidth_estimator
            .bandwidth_bps()
            .map(|bps| vec![(0, bps)]);
        let bandwidths = known.or(inferred.as_ref());
        let bandwidth_at = |now_ns: i64| {
            let mut known = bandwidths?.iter().rev();
            known.find(|it| it.0 <= now_ns).map(|it| it.1)
        };
        let bandwidth_bps = bandwidth_at(0);
        let mut series = Vec::with_capacity(bins);
        let (mut busy_s, mut carried_s) = (0.0, 0.0);
        for (i, counts) in self.bins.iter().enumerate() {
            let begin_ns = i as i64 * every_ns;
            let finish_ns = begin_ns
                .saturating_add(every_ns)
                .min(end_ns.max(begin_ns + 1));
            let length_s = (finish_ns - begin_ns) as f64 * 1e-9;
            let utilization = bandwidth_at(begin_ns).map(|bps| {
                // A transmission that spans the end of the interval is split between intervals.
                let after_s = counts.last_transmission.map_or(0.0, |(began_ns, bits)| {
                    let left_s = (finish_ns - began_ns) as f64 * 1e-9;
                    (bits as f64 / bps - left_s).max(0.0)
                });
                let here_s = carried_s + counts.dequeued_bits as f64 / bps - after_s;
                let over_s = (here_s - length_s).max(0.0);
                carried_s = after_s + over_s;
                let here_s = here_s.clamp(0.0, length_s);
                busy_s += here_s;
                here_s / length_s
            });
            series.push(LinkTraceInterval {
                time_s: finish_ns as f64 * 1e-9,
                arrived_pkts: counts.arrived,
                lost_pkts: counts.lost,
                departed_pkts: counts.dequeued,
                waiting_pkts: counts.waiting_integral as f64 * 1e-9 / length_s,
                utilization,
                length_s,
            });
        }
        let sum = |of: fn(&Counts) -> u64| self.bins.iter().map(of).sum::<u64>();
        let (offered, lost) = (sum(|bin| bin.arrived), sum(|bin| bin.lost));
        let duration_s = end_ns.max(1) as f64 * 1e-9;
        let waiting_time: i128 = self.bins.iter().map(|bin| bin.waiting_integral).sum();
        let mean_waiting_pkts = waiting_time as f64 * 1e-9 / duration_s;
        // An interval that starts with the last event is a nanosecond longer than the trace.
        let utilization = bandwidth_bps.map(|_| (busy_s / duration_s).min(1.0));
        let totals = TraceTotals {
            offered_pkts: offered,
            lost_pkts: lost,
            lost_on_link_pkts: self.lost_on_link,
            departed_pkts: sum(|bin| bin.dequeued),
            queued_pkts: self.packets.waiting() as u64,
            mean_waiting_pkts,
            mean_queue_pkts: utilization.map(|busy| mean_waiting_pkts + busy),
            max_waiting_pkts: self.max_waiting as u64,
            loss_probability: fraction(lost, offered),
            utilization,
            bandwidth_bps,
        };
        LinkSeries {
            link,
            totals,
            bins: series,
        }
    }
}

impl LinkTraceInterval {
    /// Returns a row of `links.csv`; without the bandwidth, values that depend on it are NaN.
    pub fn row(&self, link: &std::sync::Arc<str>) -> LinkRow {
        let utilization = self.utilization.unwrap_or(f64::NAN);
        LinkRow {
            time_s: self.time_s,
            link: link.clone(),
            values: LinkInterval {
                arrival_pps: self.arrived_pkts as f64 / self.length_s,
                departure_pps: self.departed_pkts as f64 / self.length_s,
                queue_pkts: self.waiting_pkts + utilization,
                loss_probability: fraction(self.lost_pkts, self.arrived_pkts),
                utilization,
                sojourn_time_s: self.utilization.and_then(|busy| {
                    let time = (self.waiting_pkts + busy) * self.length_s;
                    (self.departed_pkts > 0).then(|| time / self.departed_pkts as f64)
                }),
            },
        }
    }
}

impl LinkSeries {
    /// Returns the rows of `links.csv` of all links, in time order.
    pub fn rows(all: &[LinkSeries], names: &NodeNames) -> impl Iterator<Item = LinkRow> {
        let name = |series: &LinkSeries| names.link(series.link).into();
        let named = all.iter().map(|series| (&*series.bins, name(series)));
        rows_in_time_order(named.collect(), LinkTraceInterval::row)
    }
}

fn fraction(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}
