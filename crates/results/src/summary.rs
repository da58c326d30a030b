//! `summary.json`: means, maxima and totals of a run.

use std::collections::{BTreeMap, BTreeSet};

use netflow_network::{
    ACK_BYTES, Change, ConnectionId, ConnectionTotals, Estimate, EventSpec, LinkId, ModelName,
    Network, Overhead, PacketOptions, PrecedenceTotals, Run, Source, Totals, UserStats,
};
use serde::{Deserialize, Serialize};

use crate::accuracy::{AccuracyBounds, SIZE_DEPENDENT_LOSS_NOTE, TestedTcp, estimate_reason};
use crate::former_names;
use crate::json_pretty::to_lines;
use crate::running_variance::half_width;
use crate::users::{self, WorkloadSummary};

/// Standard deviations over several seeds, each under the name of its number with the suffix `_std`.
///
/// If not all runs have a number, their count is stored with the suffix `_seeds`.
pub type Spread = BTreeMap<String, SpreadValue>;

/// Returns the standard deviation over the seeds of the number of this name, if it is known.
pub fn std_of(spread: &Spread, name: &str) -> Option<f64> {
    spread
        .get(&format!("{name}_std"))
        .and_then(SpreadValue::scalar)
}

/// Returns the number of seeds that have the number of this name, if not all have it.
pub fn seeds_of(spread: &Spread, name: &str) -> Option<f64> {
    spread
        .get(&format!("{name}_seeds"))
        .and_then(SpreadValue::scalar)
}

/// Returns half the width of the 95 % confidence interval of the mean over `seeds` seeds, by Student's t,
/// of the number of this name.
pub fn ci95_of(spread: &Spread, name: &str, seeds: u32) -> Option<f64> {
    let seeds = seeds_of(spread, name).map_or(seeds as usize, |counted| counted as usize);
    let half = std_of(spread, name)? * half_width(seeds);
    half.is_finite().then_some(half)
}

/// A statistic of a number or of a list of numbers; null if only one run has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SpreadValue {
    /// The statistic of a number.
    One(Option<f64>),
    /// The statistics of a list.
    List(Vec<Option<f64>>),
}

impl SpreadValue {
    /// Returns the statistic of a number, if it is known.
    pub fn scalar(&self) -> Option<f64> {
        match self {
            SpreadValue::One(value) => *value,
            SpreadValue::List(_) => None,
        }
    }

    /// Returns the statistic of the number at this index of a list, if it is known.
    pub fn list_element(&self, place: usize) -> Option<f64> {
        match self {
            SpreadValue::One(_) => None,
            SpreadValue::List(values) => values.get(place).copied()?,
        }
    }
}

/// Means, maxima and totals of a run or of a period of it. Versions with the same `format_version` (`manifest.json`) only add keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Start of the summarized time in seconds of simulated time.
    #[serde(default)]
    pub from_s: f64,
    /// Length of the summarized time in seconds.
    pub duration_s: f64,
    /// Model of the run.
    pub model: ModelName,
    /// True if a run of the packet model calibrated the fluid model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrated: bool,
    /// True if any TCP source with a profile backs off as little as CUBIC, so that the accuracy of the fluid model is that for CUBIC.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_cubic: bool,
    /// Number of runs with different seeds over which the means are taken.
    pub seeds: u32,
    /// Every link.
    pub links: Vec<LinkSummary>,
    /// Every connection.
    pub connections: Vec<ConnectionSummary>,
    /// Events of links until the end of the summarized time, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSummary>,
    /// Every conditioned aggregate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<AggregateSummary>,
    /// Users of every workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// Data packets of all connections.
    pub totals: TotalsSummary,
    /// Acknowledgements of all connections.
    pub acks: TotalsSummary,
    /// Periods between events, if requested; each has its own summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<Summary>,
    /// Warnings about the scenario or the run.
    pub warnings: Vec<String>,
}

/// Event of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Time in seconds.
    pub at_s: f64,
    /// `FROM->TO`.
    pub link: String,
    /// Kind: `down`, `up`, `bandwidth`, `loss` or `delay`. Simultaneous events of one link are listed in order.
    pub change: String,
    /// New bandwidth in bit/s, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bps: Option<f64>,
    /// New loss in transit, in words, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// New propagation delay in seconds, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_s: Option<f64>,
}

impl EventSummary {
    fn of(network: &Network, event: &EventSpec) -> EventSummary {
        let change = match event.change {
            Change::Down => "down",
            Change::Up => "up",
            Change::Bandwidth(_) | Change::Pause => "bandwidth",
            Change::Loss(_) => "loss",
            Change::Delay(_) => "delay",
        };
        EventSummary {
            at_s: event.at_s,
            link: network.link_name(event.link).to_owned(),
            change: change.to_owned(),
            bandwidth_bps: match event.change {
                Change::Bandwidth(bps) => Some(bps),
                Change::Pause => Some(0.0),
                _ => None,
            },
            loss: match event.change {
                Change::Loss(loss) => Some(loss.to_string()),
                _ => None,
            },
            delay_s: match event.change {
                Change::Delay(delay_s) => Some(delay_s),
                _ => None,
            },
        }
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// `FROM->TO`.
    pub link: String,
    /// Mean queue in packets, the packet in service included.
    pub mean_queue_pkts: f64,
    /// Maximum queue in packets.
    pub max_queue_pkts: f64,
    /// Packets lost over packets that arrived.
    pub loss_probability: f64,
    /// Fraction of the time in which the link transmits. For the queue of a traffic class: the fraction used by
    /// packets of that class.
    pub utilization: f64,
    /// True if utilization and throughput are estimates: at least 10 % of the traffic is from sources with an
    /// estimated goodput.
    #[serde(default)]
    pub utilization_is_estimate: bool,
    /// Utilization in the busiest recording interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_utilization: Option<f64>,
    /// Total length in seconds of the intervals with a utilization of at least 0.99 ([`SATURATION_UTILIZATION`](crate::SATURATION_UTILIZATION)).
    #[serde(
        default,
        alias = "saturated_s",
        skip_serializing_if = "Option::is_none"
    )]
    pub at_capacity_s: Option<f64>,
    /// Demand over bandwidth: the traffic that sources would send over this link if it were the only limit
    /// ([`Network::demand_bps`]); null if TCP without another limit can fill the link.
    #[serde(default)]
    pub offered_load: Option<f64>,
    /// Throughput in bit/s of IP packets, without the `overhead` of the link; null if the bandwidth changed within the
    /// summarized time or follows a trace.
    #[serde(default)]
    pub throughput_bps: Option<f64>,
    /// Mean sojourn time of a packet in seconds: queueing delay and transmission; null if no packet departed.
    #[serde(default, alias = "queueing_delay_s")]
    pub sojourn_time_s: Option<f64>,
    /// True if the mean queue, the maximum queue, the sojourn time and the loss are estimates.
    #[serde(default)]
    pub queue_is_estimate: bool,
    /// Reason of the estimate. `classes`: queues of traffic classes share the link. `profiles`: TCP with profiles fills
    /// a drop-tail queue. `early-drops`: TCP with profiles fills an AQM queue; its mean is accurate. `transfers`:
    /// finite transfers with random arrivals use the link. `bursts`: users of workloads or on-off applications use
    /// the link. `constant`: constant-rate sources are modelled as random arrivals. `acks`: acknowledgements are
    /// modelled as random arrivals. `in-order`: most of the data arrives through one link that is not faster.
    /// `sizes`: packet sizes differ much. `alike`: packets are nearly equal in size. `nanoseconds`: transmission times
    /// are rounded to nanoseconds, so that utilization, throughput and loss are estimates, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// True if the loss is an estimate, because the queue is an estimate or `loss_is_size_dependent` is true.
    #[serde(default)]
    pub loss_is_estimate: bool,
    /// Packets that arrived, data and acknowledgements.
    pub offered_pkts: f64,
    /// Packets lost in the queue.
    pub lost_pkts: f64,
    /// Packets that left the queue and were lost in transit; null if the link has no loss in transit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_lost_pkts: Option<f64>,
    /// Lost packets that the AQM (RED, RIO, CoDel, FQ-CoDel, PIE, DualPI2, CAKE) dropped before the buffer was full;
    /// null in the fluid model and for drop-tail queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_drop_pkts: Option<f64>,
    /// Packets that the queue marked instead of dropping (CE, RFC 3168); null in the fluid model and if the queue does
    /// not mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_pkts: Option<f64>,
    /// Packets of DP0, DP1 and DP2, if the queue distinguishes drop precedences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub precedences: Vec<PrecedenceSummary>,
    /// Coefficient of variation (standard deviation over mean) of the packets that arrive in an interval of
    /// `burstiness-interval`; packet model only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_cov: Option<f64>,
    /// True if small packets lose less than large ones although the model reports one loss probability for all. The
    /// cause is a buffer in bytes with packets of different sizes.
    #[serde(default, alias = "loses_by_size")]
    pub loss_is_size_dependent: bool,
    /// With several seeds: standard deviation over the seeds of every number above.
    #[serde(flatten, deserialize_with = "former_names::read_spread")]
    pub spread: Spread,
}

/// Packets of one drop precedence at a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecedenceSummary {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets dropped, early or by the full queue.
    pub lost_pkts: f64,
    /// Packets lost over packets that arrived.
    pub loss_probability: f64,
    /// With several seeds: standard deviations over the seeds, as for links.
    #[serde(flatten, deserialize_with = "former_names::read_spread")]
    pub spread: Spread,
}

/// Conditioned aggregate; lists are in the order DP0, DP1, DP2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateSummary {
    /// Name of the aggregate.
    pub aggregate: String,
    /// Goodput in bit/s of IP packets.
    pub mean_goodput_bps: f64,
    /// Packets sent.
    pub sent_pkts: [f64; 3],
    /// Packets delivered.
    pub delivered_pkts: [f64; 3],
    /// Packets lost.
    pub lost_pkts: [f64; 3],
    /// Fractions of the packets sent.
    pub fractions: [f64; 3],
    /// Packets lost over packets sent, all drop precedences together.
    pub loss_probability: f64,
    /// With several seeds: standard deviations over the seeds, as for links.
    #[serde(flatten, deserialize_with = "former_names::read_spread")]
    pub spread: Spread,
}

/// Connection; totals of all `count` of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionSummary {
    /// Name of the connection.
    pub connection: String,
    /// Sending rate in packets/s.
    pub mean_send_pps: f64,
    /// Goodput in packets/s: packets delivered, without repeated packets and SYNs. Multiplied by the packet size, it is
    /// the column `delivered [Mbit/s]` of `run`.
    pub mean_goodput_pps: f64,
    /// Seconds in which it could send: from its start to its stop or its finish, within the summarized time.
    #[serde(default)]
    pub active_s: f64,
    /// Packets sent.
    #[serde(default)]
    pub offered_pkts: f64,
    /// Packets that reached the receiver, SYNs and repeated packets included.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets without a route.
    #[serde(default, alias = "blocked_pkts")]
    pub unrouted_pkts: f64,
    /// Periods without a route while it is active, as pairs of start and end in seconds.
    #[serde(default, alias = "no_route_s", skip_serializing_if = "Vec::is_empty")]
    pub unrouted_intervals_s: Vec<(f64, f64)>,
    /// Mean round-trip time in seconds; null if not measured.
    #[serde(default)]
    pub mean_rtt_s: Option<f64>,
    /// Median of the round-trip time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_p50_s: Option<f64>,
    /// 95th percentile of the round-trip time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_p95_s: Option<f64>,
    /// 99th percentile of the round-trip time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_p99_s: Option<f64>,
    /// 99.9th percentile of the round-trip time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_p999_s: Option<f64>,
    /// Mean one-way delay of a packet in seconds; null if no packet arrived.
    #[serde(default)]
    pub mean_delay_s: Option<f64>,
    /// Median of the one-way delay in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_p50_s: Option<f64>,
    /// 95th percentile of the one-way delay in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_p95_s: Option<f64>,
    /// 99th percentile of the one-way delay in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_p99_s: Option<f64>,
    /// 99.9th percentile of the one-way delay in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_p999_s: Option<f64>,
    /// Jitter: mean difference in seconds between the one-way delays of consecutive packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<f64>,
    /// True if delays and round-trip times are estimates, because a queue on the path is an estimate.
    #[serde(default)]
    pub delay_is_estimate: bool,
    /// Loss probability of the path; null if nothing was sent.
    #[serde(default)]
    pub loss_probability: Option<f64>,
    /// True if the loss is an estimate, because the loss of a link on the path is an estimate.
    #[serde(default)]
    pub loss_is_estimate: bool,
    /// Fraction of its active time outside the measured range of its profile.
    #[serde(alias = "outside_profile_fraction")]
    pub extrapolated_fraction: f64,
    /// Fraction of its active time with an unreliable extrapolation of its profile.
    #[serde(default, alias = "unusable_profile_fraction")]
    pub unreliable_fraction: f64,
    /// Origin of its rates: `measured`, `extrapolated`, or `unreliable` (extrapolated too far); only for sources with a
    /// profile.
    #[serde(
        default,
        deserialize_with = "former_names::read_profile_use",
        skip_serializing_if = "Option::is_none"
    )]
    pub profile_use: Option<String>,
    /// Time in seconds at which the last of its `count` connections had delivered its `size`; only for connections
    /// with a `size` that finished within the summarized time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_s: Option<f64>,
    /// Mean finishing time in seconds over its `count` connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_finished_s: Option<f64>,
    /// Retransmission timeouts; only for TCP of the packet model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<f64>,
    /// Losses detected by duplicate acknowledgements; only for TCP of the packet model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_retransmits: Option<f64>,
    /// Packets generated by its application, sent or not; only for sources with an application.
    #[serde(default, alias = "made_pkts", skip_serializing_if = "Option::is_none")]
    pub generated_pkts: Option<f64>,
    /// Packets in queues and in flight at the end.
    #[serde(default, alias = "under_way_pkts")]
    pub in_network_pkts: f64,
    /// True if the goodput is an estimate. A source with a profile then crosses a queue that is an estimate; any other
    /// source loses at least 1 % of its packets, and this loss is an estimate.
    #[serde(default)]
    pub goodput_is_estimate: bool,
    /// With several seeds: standard deviations over the seeds, as for links.
    #[serde(flatten, deserialize_with = "former_names::read_spread")]
    pub spread: Spread,
}

/// Packets of one kind: before + offered = delivered + lost + unrouted + queued + in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TotalsSummary {
    /// Packets in queues and in flight at the start of the summarized time.
    #[serde(default)]
    pub before_pkts: f64,
    /// Packets sent.
    pub offered_pkts: f64,
    /// Packets that reached their receivers.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets without a route.
    #[serde(default, alias = "blocked_pkts")]
    pub unrouted_pkts: f64,
    /// Packets in queues at the end.
    pub queued_pkts: f64,
    /// Packets in flight at the end.
    pub in_flight_pkts: f64,
    /// With several seeds: standard deviations over the seeds, as for links.
    #[serde(flatten, deserialize_with = "former_names::read_spread")]
    pub spread: Spread,
}

/// Largest imbalance of packet totals that rounding explains, as a fraction of those sent.
pub const ROUNDING_IMBALANCE: f64 = 1e-6;

impl Summary {
    /// Returns the larger imbalance of data packets and acknowledgements, as a fraction of the packets
    /// sent. `None` if rounding explains it. The published equations of `fluid-literal` do not conserve
    /// packets.
    pub fn imbalance(&self) -> Option<f64> {
        let gap = self.totals.imbalance().max(self.acks.imbalance());
        (gap > ROUNDING_IMBALANCE).then_some(gap)
    }
}

impl TotalsSummary {
    /// Returns the imbalance of the packets as a fraction of those offered; 0 if none were offered.
    pub fn imbalance(&self) -> f64 {
        let ended = self.delivered_pkts + self.lost_pkts + self.unrouted_pkts;
        let accounted = ended + self.queued_pkts + self.in_flight_pkts;
        if self.offered_pkts > 0.0 {
            (self.before_pkts + self.offered_pkts - accounted).abs() / self.offered_pkts
        } else {
            0.0
        }
    }
}

impl From<Totals> for TotalsSummary {
    fn from(totals: Totals) -> TotalsSummary {
        TotalsSummary {
            before_pkts: totals.before_pkts,
            offered_pkts: totals.offered_pkts,
            delivered_pkts: totals.delivered_pkts,
            lost_pkts: totals.lost_pkts,
            unrouted_pkts: totals.unrouted_pkts,
            queued_pkts: totals.queued_pkts,
            in_flight_pkts: totals.in_flight_pkts,
            spread: Spread::new(),
        }
    }
}

impl From<PrecedenceTotals> for PrecedenceSummary {
    fn from(totals: PrecedenceTotals) -> PrecedenceSummary {
        PrecedenceSummary {
            offered_pkts: totals.offered_pkts,
            lost_pkts: totals.lost_pkts,
            loss_probability: totals.loss_probability,
            spread: Spread::new(),
        }
    }
}

impl LinkSummary {
    /// Returns [`LinkSummary::with_all_columns`] plus the spread columns of these rows.
    pub fn with_columns_of(rows: &[LinkSummary]) -> LinkSummary {
        let beside = rows.iter().flat_map(|row| row.spread.clone());
        LinkSummary {
            spread: beside.collect(),
            ..LinkSummary::with_all_columns()
        }
    }

    /// Returns an empty summary in which every optional number is set. It serves to list all columns
    /// before the first row.
    pub fn with_all_columns() -> LinkSummary {
        LinkSummary {
            link: String::new(),
            mean_queue_pkts: 0.0,
            max_queue_pkts: 0.0,
            loss_probability: 0.0,
            utilization: 0.0,
            utilization_is_estimate: false,
            peak_utilization: Some(0.0),
            at_capacity_s: Some(0.0),
            offered_load: Some(0.0),
            throughput_bps: Some(0.0),
            sojourn_time_s: Some(0.0),
            queue_is_estimate: false,
            loss_is_estimate: false,
            loss_is_size_dependent: false,
            estimate: Some(Estimate::Profiles),
            offered_pkts: 0.0,
            lost_pkts: 0.0,
            link_lost_pkts: Some(0.0),
            early_drop_pkts: Some(0.0),
            marked_pkts: Some(0.0),
            precedences: Vec::new(),
            arrival_cov: Some(0.0),
            spread: Spread::new(),
        }
    }
}

impl ConnectionSummary {
    /// Returns [`ConnectionSummary::with_all_columns`] plus the spread columns of these rows.
    pub fn with_columns_of(rows: &[ConnectionSummary]) -> ConnectionSummary {
        let beside = rows.iter().flat_map(|row| row.spread.clone());
        ConnectionSummary {
            spread: beside.collect(),
            ..ConnectionSummary::with_all_columns()
        }
    }

    /// Returns an empty summary in which every optional number is set. It serves to list all columns
    /// before the first row.
    pub fn with_all_columns() -> ConnectionSummary {
        ConnectionSummary {
            connection: String::new(),
            mean_send_pps: 0.0,
            mean_goodput_pps: 0.0,
            active_s: 0.0,
            goodput_is_estimate: false,
            offered_pkts: 0.0,
            delivered_pkts: 0.0,
            lost_pkts: 0.0,
            unrouted_pkts: 0.0,
            unrouted_intervals_s: Vec::new(),
            mean_rtt_s: Some(0.0),
            rtt_p50_s: Some(0.0),
            rtt_p95_s: Some(0.0),
            rtt_p99_s: Some(0.0),
            rtt_p999_s: Some(0.0),
            mean_delay_s: Some(0.0),
            delay_p50_s: Some(0.0),
            delay_p95_s: Some(0.0),
            delay_p99_s: Some(0.0),
            delay_p999_s: Some(0.0),
            jitter_s: Some(0.0),
            delay_is_estimate: false,
            loss_probability: Some(0.0),
            loss_is_estimate: false,
            extrapolated_fraction: 0.0,
            unreliable_fraction: 0.0,
            profile_use: Some(String::new()),
            finished_s: Some(0.0),
            mean_finished_s: Some(0.0),
            timeouts: Some(0.0),
            fast_retransmits: Some(0.0),
            generated_pkts: Some(0.0),
            in_network_pkts: 0.0,
            spread: Spread::new(),
        }
    }

    /// Recomputes `profile_use` after its fractions were averaged.
    pub(crate) fn update_profile_use(&mut self) {
        let (outside, unusable) = (self.extrapolated_fraction, self.unreliable_fraction);
        if let Some(rests_on) = &mut self.profile_use {
            *rests_on = ConnectionTotals::profile_use_over(outside, unusable)
                .name()
                .to_owned();
        }
    }
}

/// Returns, by link, the bits of these connections: data and acknowledgements.
fn bits_of<'a>(
    network: &Network,
    connections: impl Iterator<Item = (ConnectionId, &'a ConnectionSummary)>,
    [from_s, to_s]: [f64; 2],
) -> Vec<CarriedBits> {
    let mut bits = vec![CarriedBits::default(); network.link_count()];
    for (id, it) in connections {
        let spec = network.connection_spec(id);
        let mut add = |path_at: &dyn Fn(f64) -> Vec<LinkId>, bytes: f64, pkts: f64| {
            let links = [from_s, to_s.next_down()].map(path_at).concat();
            for link in BTreeSet::from_iter(links) {
                let wire_bytes = network.link_spec(link).overhead.wire_bytes(bytes);
                let sum = &mut bits[link.index()];
                sum.ip += 8.0 * it.delivered_pkts * (bytes * pkts);
                sum.wire += 8.0 * it.delivered_pkts * (wire_bytes * pkts);
            }
        };
        add(
            &|at_s| network.path_at(id, at_s),
            spec.packet_size_bytes,
            1.0,
        );
        let acks = spec.acks.per_data();
        add(&|at_s| network.return_path_at(id, at_s), ACK_BYTES, acks);
    }
    bits
}

/// Bits that cross a link.
#[derive(Clone, Copy, Default)]
struct CarriedBits {
    ip: f64,
    wire: f64,
}

/// The IP bits of this number of bits on the wire of a link in this number of packets, of which `mix` crosses it.
fn ip_bits(overhead: Overhead, wire_bits: f64, pkts: f64, mix: CarriedBits) -> f64 {
    if overhead == Overhead::of(overhead.bytes) {
        (wire_bits - 8.0 * overhead.bytes * pkts).max(0.0)
    } else if mix.wire > 0.0 {
        wire_bits * mix.ip / mix.wire
    } else {
        wire_bits
    }
}

impl Summary {
    /// Its file in a results directory.
    pub const FILE: &str = "summary.json";

    /// Returns the summary of a simulation from the start of its period until now.
    pub fn of(simulation: &dyn Run, warnings: Vec<String>) -> Summary {
        let network = simulation.network();
        let (from_s, to_s) = (simulation.period_start_s(), simulation.time_s());
        let demand_bps = network.demand_bps(from_s, to_s);
        let bandwidths_bps = network.bandwidths_at_bps(from_s);
        let happened = || network.events().filter(|e| e.at_s < to_s);
        let changes_bandwidth = |id| {
            let mut within = happened().filter(|e| e.at_s > from_s && e.link == id);
            within.any(|e| matches!(e.change, Change::Bandwidth(_) | Change::Pause))
        };
        let link = |id| {
            let totals = simulation.link_totals(id);
            LinkSummary {
                link: network.link_name(id).to_owned(),
                mean_queue_pkts: totals.mean_queue_pkts,
                max_queue_pkts: totals.max_queue_pkts,
                loss_probability: totals.loss_probability,
                utilization: totals.utilization,
                utilization_is_estimate: false,
                peak_utilization: None,
                at_capacity_s: None,
                offered_load: demand_bps
                    .get(id.index())
                    .map(|bps| bps / bandwidths_bps[id.index()])
                    .filter(|load| load.is_finite()),
                throughput_bps: (!changes_bandwidth(id)
                    && !network.link_spec(id).has_traced_bandwidth())
                .then(|| totals.utilization * bandwidths_bps[id.index()]),
                sojourn_time_s: totals.sojourn_time_s,
                queue_is_estimate: totals.estimate.is_some(),
                estimate: totals.estimate,
                loss_is_estimate: totals.estimate.is_some() || totals.loss_is_size_dependent,
                loss_is_size_dependent: totals.loss_is_size_dependent,
                offered_pkts: totals.offered_pkts,
                lost_pkts: totals.lost_pkts,
                link_lost_pkts: totals.link_lost_pkts,
                early_drop_pkts: totals.early_drop_pkts,
                marked_pkts: totals.marked_pkts,
                precedences: simulation
                    .precedence_totals(id)
                    .map_or_else(Vec::new, |all| all.map(PrecedenceSummary::from).to_vec()),
                arrival_cov: totals.arrival_cov,
                spread: Spread::new(),
            }
        };
        let aggregate = |id| {
            let totals = simulation.aggregate_totals(id);
            AggregateSummary {
                aggregate: network.aggregate_spec(id).name.clone(),
                mean_goodput_bps: totals.mean_goodput_bps,
                sent_pkts: totals.sent_pkts,
                delivered_pkts: totals.delivered_pkts,
                lost_pkts: totals.lost_pkts,
                fractions: totals.fractions().to_array(),
                loss_probability: totals.loss_probability(),
                spread: Spread::new(),
            }
        };
        let mut links: Vec<LinkSummary> = network.links().map(link).collect();
        let has_estimates = links.iter().any(|link| link.queue_is_estimate);
        let crosses = |id, is: fn(&LinkSummary) -> bool| {
            let crossed = network.crossed_links(id, from_s, to_s);
            crossed.iter().any(|it| is(&links[it.index()]))
        };
        let has_lossy = links.iter().any(|link| link.loss_is_estimate);
        let connection = |id| {
            let totals = simulation.connection_totals(id);
            let crosses_estimate = has_estimates && crosses(id, |link| link.queue_is_estimate);
            let loses_about = has_lossy && crosses(id, |link| link.loss_is_estimate);
            let (start_s, stop_s) = network.active_interval(id, to_s);
            let end_s = totals.finished_s.map_or(stop_s, |at_s| at_s.min(stop_s));
            ConnectionSummary {
                active_s: (end_s - start_s.max(from_s)).max(0.0),
                connection: network.connection_name(id).to_owned(),
                mean_send_pps: totals.mean_send_pps,
                mean_goodput_pps: totals.mean_goodput_pps,
                goodput_is_estimate: Estimate::of_goodput(
                    &network.connection_spec(id).source,
                    crosses_estimate,
                    loses_about,
                    totals.loss_probability,
                ),
                offered_pkts: totals.offered_pkts,
                delivered_pkts: totals.delivered_pkts,
                lost_pkts: totals.lost_pkts,
                unrouted_pkts: totals.unrouted_pkts,
                unrouted_intervals_s: network.unrouted_intervals(id, from_s, to_s),
                mean_rtt_s: totals.mean_rtt_s,
                rtt_p50_s: totals.rtt.map(|of| of.p50_s),
                rtt_p95_s: totals.rtt.map(|of| of.p95_s),
                rtt_p99_s: totals.rtt.map(|of| of.p99_s),
                rtt_p999_s: totals.rtt.map(|of| of.p999_s),
                mean_delay_s: totals.mean_delay_s,
                delay_p50_s: totals.delay.map(|of| of.p50_s),
                delay_p95_s: totals.delay.map(|of| of.p95_s),
                delay_p99_s: totals.delay.map(|of| of.p99_s),
                delay_p999_s: totals.delay.map(|of| of.p999_s),
                jitter_s: totals.jitter_s,
                delay_is_estimate: totals.mean_delay_s.is_some() && crosses_estimate,
                loss_probability: totals.loss_probability,
                loss_is_estimate: loses_about,
                extrapolated_fraction: totals.extrapolated_fraction,
                unreliable_fraction: totals.unreliable_fraction,
                profile_use: matches!(network.connection_spec(id).source, Source::Profile(_))
                    .then(|| totals.profile_use().name().to_owned()),
                finished_s: totals.finished_s,
                mean_finished_s: totals.mean_finished_s,
                timeouts: totals.timeouts,
                fast_retransmits: totals.fast_retransmits,
                generated_pkts: totals.generated_pkts,
                in_network_pkts: totals.queued_pkts + totals.in_flight_pkts,
                spread: Spread::new(),
            }
        };
        let connections: Vec<ConnectionSummary> = network.connections().map(connection).collect();
        let all = || network.connections().zip(&connections);
        let estimated = all().filter(|(_, it)| it.goodput_is_estimate);
        let estimated_bits = bits_of(network, estimated, [from_s, to_s]);
        let has_overhead = |id| !network.link_spec(id).overhead.is_none();
        if network.links().any(has_overhead) {
            let crossing = bits_of(network, all(), [from_s, to_s]);
            for (id, link) in network.links().zip(&mut links) {
                let over = |of: &dyn Fn(LinkId) -> f64| network.sum_over_queues(id, of);
                let mix = CarriedBits {
                    ip: over(&|queue| crossing[queue.index()].ip),
                    wire: over(&|queue| crossing[queue.index()].wire),
                };
                let pps =
                    over(&|queue| simulation.link_totals(queue).departed_pkts) / (to_s - from_s);
                let overhead = network.link_spec(id).overhead;
                link.throughput_bps =
                    (link.throughput_bps).map(|wire_bps| ip_bits(overhead, wire_bps, pps, mix));
            }
        }
        for (id, link) in network.links().zip(&mut links) {
            let bits = network.sum_over_queues(id, |queue| estimated_bits[queue.index()].wire);
            let sent_bits = link.utilization * bandwidths_bps[id.index()] * (to_s - from_s);
            link.utilization_is_estimate = link.estimate == Some(Estimate::Nanoseconds)
                || (bits > 0.0 && bits >= Estimate::SHARE * sent_bits);
        }
        Summary {
            from_s,
            duration_s: to_s - from_s,
            model: simulation.options().model.name(),
            calibrated: network.is_calibrated(),
            has_cubic: network.has_cubic_profiles(),
            seeds: 1,
            links,
            connections,
            // An event of a link is repeated for the queues of its classes, which are skipped.
            events: happened()
                .filter(|event| !network.is_class_queue(event.link))
                .map(|event| EventSummary::of(network, &event))
                .collect(),
            aggregates: network.aggregates().map(aggregate).collect(),
            workloads: Vec::new(),
            totals: simulation.totals().into(),
            acks: simulation.ack_totals().into(),
            warnings,
            periods: Vec::new(),
        }
    }

    /// Returns notes on links whose queues or losses are estimates: one for each reason, with the link that
    /// has the longest queue and the number of others.
    pub fn notes(&self) -> Vec<String> {
        let note = |applies: &dyn Fn(&LinkSummary) -> bool, text: &str| {
            let links = self.links.iter().filter(|link| applies(link));
            let first = links.clone().reduce(|longest, link| {
                if link.mean_queue_pkts > longest.mean_queue_pkts {
                    link
                } else {
                    longest
                }
            })?;
            let others = match links.count() - 1 {
                0 => String::new(),
                1 => " and 1 other link".to_owned(),
                others => format!(" and {others} other links"),
            };
            Some(format!("{}{others}: {text}", first.link))
        };
        let accuracy =
            AccuracyBounds::of_fluid_model(TestedTcp::of(self.has_cubic), self.calibrated);
        let estimates = Estimate::ALL.into_iter().filter_map(|reason| {
            let text = estimate_reason(reason, &accuracy);
            note(&|link| link.estimate == Some(reason), &text)
        });
        let by_size = note(
            &|link| link.loss_is_size_dependent,
            SIZE_DEPENDENT_LOSS_NOTE,
        );
        estimates.chain(by_size).collect()
    }

    /// Returns true if the packet model has no estimate where this summary has one.
    pub fn packet_model_is_more_accurate(&self) -> bool {
        let by_packets = |it: &LinkSummary| {
            it.loss_is_size_dependent || it.estimate.is_some_and(|why| why != Estimate::Nanoseconds)
        };
        self.model != ModelName::Packets && self.links.iter().any(by_packets)
    }

    /// Returns the estimated seconds of one core that the packet model would need, including the time before
    /// the summarized period.
    pub fn packet_model_s(&self) -> f64 {
        let pkts: f64 = self.links.iter().map(|link| link.offered_pkts).sum();
        let arrivals_pkts = pkts * (self.from_s + self.duration_s) / self.duration_s;
        PacketOptions::estimated_runtime_s(arrivals_pkts)
    }

    /// Adds the experiences of the users of each workload, for one or several runs.
    pub fn add_users(&mut self, network: &Network, seeds: &[Vec<UserStats>]) {
        self.workloads = users::summaries(network, seeds);
    }

    /// Returns the content of `summary.json`: a line for every link and every connection.
    pub fn to_json(&self) -> String {
        to_lines(self)
    }
}

/// The marker of numbers that are estimates.
pub const ESTIMATE: &str = "~";

/// Formats an approximate time with one significant digit: `20 ms`, `3 s`.
pub fn rounded_time(time_s: f64) -> String {
    let digit = |value: f64| {
        let unit = libm::pow(10_f64, libm::log10(value).floor());
        (value / unit).round() * unit
    };
    match time_s {
        s if s < 1e-3 => "1 ms".to_owned(),
        s if s < 0.95 => format!("{:.0} ms", digit(1e3 * s)),
        s if s < 95.0 => format!("{:.0} s", digit(s)),
        s if s < 5700.0 => format!("{:.0} min", digit(s / 60.0)),
        s => format!("{:.0} h", digit(s / 3600.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Column, ColumnData, DataFrame};

    #[test]
    fn times_are_rounded_to_one_digit() {
        let cases = [
            (2e-5, "1 ms"),
            (0.0206, "20 ms"),
            (0.949, "900 ms"),
            (0.96, "1 s"),
            (14.0, "10 s"),
            (94.0, "90 s"),
            (96.0, "2 min"),
            (1e4, "3 h"),
        ];
        for (time_s, text) in cases {
            assert_eq!(rounded_time(time_s), text);
        }
    }

    /// Spread columns exist if any row has them. Other rows have an empty cell there.
    #[test]
    fn statistics_over_seeds_have_columns() {
        let row = |beside: &[&str]| LinkSummary {
            spread: beside
                .iter()
                .map(|name| ((*name).to_owned(), SpreadValue::One(Some(2.0))))
                .collect(),
            ..LinkSummary::with_all_columns()
        };
        let rows = [
            row(&["utilization_std"]),
            row(&["sojourn_time_s_seeds", "utilization_std"]),
        ];
        let frame = DataFrame::of(&LinkSummary::with_columns_of(&rows), &rows);
        let of = |name: &str| {
            let place = frame.columns.iter().position(|it| it.name == name);
            match &frame.data[place.unwrap()] {
                ColumnData::Numbers(numbers) => numbers.clone(),
                other => panic!("{other:?} of {name}"),
            }
        };
        assert_eq!(of("utilization_std"), [2.0, 2.0]);
        assert!(of("sojourn_time_s_seeds")[0].is_nan());
        assert_eq!(of("sojourn_time_s_seeds")[1], 2.0);
        let rows = [ConnectionSummary {
            spread: [("mean_rtt_s_std".to_owned(), SpreadValue::One(None))].into(),
            ..ConnectionSummary::with_all_columns()
        }];
        let columns = Column::of(&ConnectionSummary::with_columns_of(&rows));
        assert!(columns.iter().any(|it| it.name == "mean_rtt_s_std"));
    }

    #[test]
    fn json_reads_back_and_has_a_line_for_every_link() {
        let summary = Summary {
            from_s: 5.0,
            duration_s: 60.0,
            model: ModelName::Fluid,
            calibrated: false,
            has_cubic: false,
            seeds: 1,
            links: vec![LinkSummary {
                link: "a->\"b\"".to_owned(),
                mean_queue_pkts: 1.0 / 3.0,
                max_queue_pkts: 2.0,
                loss_probability: 1e-300,
                utilization: 0.5,
                utilization_is_estimate: false,
                peak_utilization: Some(1.0),
                at_capacity_s: Some(2.0),
                offered_load: Some(1.5),
                throughput_bps: None,
                sojourn_time_s: Some(0.25),
                queue_is_estimate: true,
                loss_is_estimate: true,
                loss_is_size_dependent: false,
                estimate: Some(Estimate::Profiles),
                offered_pkts: 1e9,
                lost_pkts: 0.0,
                link_lost_pkts: Some(3.0),
                early_drop_pkts: None,
                marked_pkts: None,
                precedences: vec![PrecedenceSummary {
                    offered_pkts: 8.0,
                    lost_pkts: 2.0,
                    loss_probability: 0.25,
                    spread: Spread::new(),
                }],
                arrival_cov: None,
                spread: [("utilization_std".to_owned(), SpreadValue::One(Some(0.25)))].into(),
            }],
            connections: Vec::new(),
            events: vec![EventSummary {
                at_s: 30.0,
                link: "a->\"b\"".to_owned(),
                change: "down".to_owned(),
                bandwidth_bps: None,
                loss: None,
                delay_s: None,
            }],
            aggregates: vec![AggregateSummary {
                aggregate: "F1".to_owned(),
                mean_goodput_bps: 1e6,
                sent_pkts: [2.0, 1.0, 1.0],
                delivered_pkts: [2.0, 1.0, 0.0],
                lost_pkts: [0.0, 0.0, 1.0],
                fractions: [0.5, 0.25, 0.25],
                loss_probability: 0.25,
                spread: [(
                    "sent_pkts_std".to_owned(),
                    SpreadValue::List(vec![Some(0.5), None]),
                )]
                .into(),
            }],
            workloads: vec![WorkloadSummary {
                workload: "web".to_owned(),
                arrived: 3,
                finished: 2,
                waits: vec![crate::WaitSummary {
                    wait: "file".to_owned(),
                    times: netflow_workload::TimeSample::new(vec![0.1, 0.2])
                        .summary()
                        .unwrap(),
                    clusters: vec![netflow_workload::RttCluster {
                        round_trips: 1,
                        share: 0.5,
                    }],
                }],
            }],
            totals: TotalsSummary {
                offered_pkts: 4.0,
                delivered_pkts: 3.0,
                ..TotalsSummary::default()
            },
            acks: TotalsSummary::default(),
            warnings: vec!["a\nb".to_owned()],
            periods: Vec::new(),
        };
        let summary = Summary {
            periods: vec![summary.clone(), summary.clone()],
            ..summary
        };
        let json = summary.to_json();
        assert_eq!(
            json.lines()
                .filter(|line| line.starts_with("    {\"link\""))
                .count(),
            1
        );
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
        assert_eq!(summary.totals.imbalance(), 0.25);
    }
}
