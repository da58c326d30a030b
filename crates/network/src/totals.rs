//! Totals of links and connections over a period, by default since the start.

use netflow_profile::Provenance;
use serde::{Deserialize, Serialize};

use crate::Source;

/// Totals of one link in the period. Packets are of any size, acknowledgements included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// Time-averaged queue in packets, the packet in service included.
    pub mean_queue_pkts: f64,
    /// Longest queue in packets at the end of any step.
    pub max_queue_pkts: f64,
    /// Lost / offered, at most 1; 0 if no packets were offered. The limit is needed because lost packets may
    /// have been offered before the period.
    pub loss_probability: f64,
    /// Fraction of the time for which the link was busy. For the queue of a class, only packets of the class
    /// count.
    pub utilization: f64,
    /// Mean sojourn time of a packet in seconds, its own transmission included (Little's law: mean queue over
    /// departures); `None` without departures.
    pub sojourn_time_s: Option<f64>,
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets that were dropped at arrival, or queued when the link failed.
    pub lost_pkts: f64,
    /// Packets that left the queue.
    pub departed_pkts: f64,
    /// Packets among these that were lost in transit, by [`LinkSpec::loss`](crate::LinkSpec::loss); `None`
    /// for a link without such loss.
    pub link_lost_pkts: Option<f64>,
    /// Lost packets that the AQM dropped before the buffer was full. `None` in the fluid model, and for a drop-tail
    /// queue.
    pub early_drop_pkts: Option<f64>,
    /// Packets that the queue marked instead of dropping them (CE, RFC 3168), for senders with ECN. `None` in
    /// the fluid model, and for a queue that does not mark.
    pub marked_pkts: Option<f64>,
    /// Packets in the queue now.
    pub queued_pkts: f64,
    /// Reason why queue, queueing delay and loss are estimates, for busy links in the fluid models.
    pub estimate: Option<Estimate>,
    /// True if, in the fluid models, the loss of single connections is an estimate: the buffer is in bytes
    /// and packet sizes differ. Small packets then still fit in when large ones do not, but the equations
    /// give all the same loss.
    pub loss_is_size_dependent: bool,
    /// Coefficient of variation of the number of arrivals per
    /// [`burstiness_interval_s`](crate::Options::burstiness_interval_s). `None` without arrivals and in the
    /// fluid model.
    pub arrival_cov: Option<f64>,
}

/// Reason why the queue of a link is an estimate. In the fluid models it applies to busy links and to those
/// with transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// Queues of several classes share the link. Each class's throughput is close to that of the packet
    /// model. Waiting time and loss are those of a queue whose service is never interrupted.
    Classes,
    /// TCP by profiles fills a drop-tail queue. Its packets arrive in bursts and its windows synchronize at
    /// loss; the equations model neither. Sources with windows do.
    Profiles,
    /// TCP by profiles fills a queue with early drops (RED, RIO), or the queue is PIE's. Its mean is close to
    /// that of the packet model. Its maximum, and the delay percentiles, are those of random arrivals.
    EarlyDrops,
    /// Finite transfers (demands of TCP and video) are modelled by their mean rate, with a queue model of
    /// their bursts.
    Transfers,
    /// Users of workloads, on-off applications, and transfers of a few initial windows are modelled by their
    /// mean rate, without their bursts.
    Bursts,
    /// Acknowledgements fill the queue. They are paced by the data, but modelled as random arrivals.
    Acks,
    /// Sources at a constant rate are modelled as random arrivals (Poisson).
    Constant,
    /// Most of the data arrives over one link that is not faster, and hardly queues again. The equations do
    /// not model this.
    InOrder,
    /// Packet sizes vary, so that the queue is longer than the equations give.
    Sizes,
    /// Packet sizes vary little, so that queue and loss are smaller than the equations give.
    Alike,
    /// In the packet model, whole nanoseconds are too coarse for the transmission times
    /// ([`Network::is_too_fast`](crate::Network::is_too_fast)), so that the effective bandwidth is wrong.
    Nanoseconds,
}

impl Estimate {
    /// All reasons.
    pub const ALL: [Estimate; 11] = [
        Estimate::Classes,
        Estimate::Profiles,
        Estimate::EarlyDrops,
        Estimate::Transfers,
        Estimate::Bursts,
        Estimate::Acks,
        Estimate::Constant,
        Estimate::InOrder,
        Estimate::Sizes,
        Estimate::Alike,
        Estimate::Nanoseconds,
    ];

    /// Utilization above which a link counts as busy, over all its queues: more than 1 % of packets meet
    /// another one. Other links have no estimated queue, except with bursts.
    pub const BUSY: f64 = 0.01;

    /// Traffic share from which sources with an estimated goodput make the link's utilization an estimate.
    pub const SHARE: f64 = 0.1;

    /// Returns whether the goodput of a connection is an estimate, because it crosses estimated queues or
    /// losses.
    pub fn of_goodput(source: &Source, queues: bool, losses: bool, loss: Option<f64>) -> bool {
        /// Loss below which the goodput of a source that does not back off hardly changes.
        const MUCH_LOSS: f64 = 0.01;
        match source {
            Source::Profile(_) => queues,
            _ => losses && loss >= Some(MUCH_LOSS),
        }
    }
}

/// Percentiles of a distribution of times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Median.
    pub p50_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// 99.9th percentile.
    pub p999_s: f64,
}

/// Totals of one connection's data in the period, all `count` of it together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionTotals {
    /// Mean sending rate in packets/s.
    pub mean_send_pps: f64,
    /// Mean goodput in packets/s, without duplicates and SYNs.
    pub mean_goodput_pps: f64,
    /// Packets sent.
    pub offered_pkts: f64,
    /// Packets that reached the receiver, with SYNs and duplicates.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets without a route: offered, but never sent over any link. Without a route, TCP offers only
    /// retransmissions.
    pub unrouted_pkts: f64,
    /// Packets that its application generated, sent or not; `None` for unlimited data and for sources with a
    /// rate of their own.
    pub generated_pkts: Option<f64>,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets in flight between queues now.
    pub in_flight_pkts: f64,
    /// Mean round-trip time in seconds while it was sending; `None` without a measurement, and for sources
    /// without acknowledgements.
    pub mean_rtt_s: Option<f64>,
    /// Mean one-way delay in seconds; `None` without arrivals.
    pub mean_delay_s: Option<f64>,
    /// Percentiles of the one-way delay: within 1 % in the packet model, by the queue model in the fluid
    /// model.
    pub delay: Option<Percentiles>,
    /// Mean difference between the delays of consecutive packets in seconds, from the same source as `delay`.
    pub jitter_s: Option<f64>,
    /// Percentiles of the round-trip time, from the same source as `delay`.
    pub rtt: Option<Percentiles>,
    /// (Lost + blocked) / (lost + blocked + delivered); `None` if all are zero.
    pub loss_probability: Option<f64>,
    /// Fraction of the sending time for which the profile was extrapolated beyond its measured loss and
    /// round-trip times.
    pub extrapolated_fraction: f64,
    /// Fraction of the sending time for which the extrapolation was not usable; part of
    /// `extrapolated_fraction`.
    pub unreliable_fraction: f64,
    /// Time at which its size was delivered, in seconds; `None` without a size, or outside the period.
    pub finished_s: Option<f64>,
    /// Mean of these times over its `count` connections; `finished_s` is the last.
    pub mean_finished_s: Option<f64>,
    /// Number of retransmission timeouts; `None` for sources without a congestion window.
    pub timeouts: Option<f64>,
    /// Number of losses detected by duplicate acknowledgements; `None` for sources without a congestion
    /// window.
    pub fast_retransmits: Option<f64>,
}

impl ConnectionTotals {
    /// Fraction of the active time outside the measured range that is not reported, for example after slow start.
    pub const TRANSIENT_FRACTION: f64 = 0.01;

    /// Returns the basis of a profile connection's rates, by [`profile_use_over`](Self::profile_use_over).
    pub fn profile_use(&self) -> Provenance {
        Self::profile_use_over(self.extrapolated_fraction, self.unreliable_fraction)
    }

    /// Returns the basis of the rates for these fractions of the sending time outside the measured range.
    /// They are not usable if more than 1 % is unusable, and extrapolated if more than 1 % is outside.
    pub fn profile_use_over(outside: f64, unusable: f64) -> Provenance {
        if unusable > Self::TRANSIENT_FRACTION {
            Provenance::Unreliable
        } else if outside > Self::TRANSIENT_FRACTION {
            Provenance::Extrapolated
        } else {
            Provenance::Measured
        }
    }
}

/// Packets of the whole network in the period: before + offered = delivered + lost + blocked + queued + in
/// flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets in queues and in flight when the period began.
    pub before_pkts: f64,
    /// Packets sent.
    pub offered_pkts: f64,
    /// Packets that reached their destination.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets without a route.
    pub unrouted_pkts: f64,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets in flight between queues now.
    pub in_flight_pkts: f64,
}

impl Totals {
    /// Returns the error of the packet balance, relative to the packets offered.
    pub fn imbalance(&self) -> f64 {
        let ended = self.delivered_pkts + self.lost_pkts + self.unrouted_pkts;
        let accounted = ended + self.queued_pkts + self.in_flight_pkts;
        (self.before_pkts + self.offered_pkts - accounted).abs() / self.offered_pkts.max(1.0)
    }

    /// Adds other totals.
    pub fn add(&mut self, other: &Totals) {
        self.before_pkts += other.before_pkts;
        self.offered_pkts += other.offered_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.lost_pkts += other.lost_pkts;
        self.unrouted_pkts += other.unrouted_pkts;
        self.queued_pkts += other.queued_pkts;
        self.in_flight_pkts += other.in_flight_pkts;
    }
}
