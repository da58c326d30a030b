//! What happened since a period began, which without any is the start.

use netflow_profile::ProfileUse;
use serde::{Deserialize, Serialize};

use crate::Source;

/// One link since the period began. Packets are packets of any size, acknowledgements included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// Mean queue in packets over time, the packet in service included.
    pub mean_queue_pkts: f64,
    /// Longest queue in packets at the end of any step.
    pub max_queue_pkts: f64,
    /// Lost / offered; 0 if nothing was offered, and at most 1, though packets may be lost that were
    /// offered before the period.
    pub loss_probability: f64,
    /// Fraction of the time the link was busy; for the queue of a class, with its packets.
    pub utilization: f64,
    /// Mean time in seconds that a packet spends here, its own transmission included (Little's law:
    /// mean queue over departures); `None` if none departed.
    pub queueing_delay_s: Option<f64>,
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets that were refused, or queued when the link failed.
    pub lost_pkts: f64,
    /// Packets that left the queue.
    pub departed_pkts: f64,
    /// Those of them that the link lost on the way, by its [`LinkSpec::loss`](crate::LinkSpec::loss);
    /// `None` if it loses none.
    pub link_lost_pkts: Option<f64>,
    /// Packets that the queue marked instead of dropping them (CE, RFC 3168), where its senders have ECN;
    /// `None` where it marks none, and of fluids.
    pub marked_pkts: Option<f64>,
    /// Packets in the queue now.
    pub queued_pkts: f64,
    /// Why its mean and its longest queue, the queueing delay and what is lost are estimates, if they are: of busy links, in
    /// the fluid models.
    pub estimate: Option<Estimate>,
    /// Whether, in the fluid models, what single connections lose here is an estimate in any case: the room is bytes, and packets
    /// differ in size, so that small ones still fit in where large ones do not. The equations let all of them lose the same.
    pub loses_by_size: bool,
    /// Standard deviation over mean of the packets that arrived in an interval of
    /// [`burstiness_interval_s`](crate::Options::burstiness_interval_s); `None` where nothing
    /// arrived, and of fluids.
    pub arrival_cov: Option<f64>,
}

/// Why the queue of a link is an estimate: in the fluid models that of a busy one, or of one that transfers cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// Queues of classes share the link. What each gets of it is near that of packets; how long packets wait, and how many are
    /// lost, is that of a queue which nobody keeps from sending.
    Classes,
    /// TCP by profiles fills a drop-tail queue. Packets come in bursts there, and windows all stop at its end; the
    /// equations know neither. Sources with windows do.
    Profiles,
    /// TCP by profiles fills a queue that drops early (RED, RIO), or it is PIE's. Its mean is near that of packets; how long it gets, and what few
    /// packets wait, is that of packets at random.
    EarlyDrops,
    /// Transfers that come and go (demands of TCP and video) are carried as their mean, with a law for their bursts.
    Transfers,
    /// Users of workloads, applications that switch on and off, and transfers of little more than first windows are carried as
    /// their mean: nothing is told of what their bursts do.
    Bursts,
    /// Acknowledgements fill it, clocked by the data that they are of, and are taken for packets at random.
    Acks,
    /// Sources at a constant rate are taken for packets at random (Poisson).
    Constant,
    /// Most of the data comes over one link that is no faster, one packet after the other: it hardly waits again, which
    /// the equations know nothing of.
    InOrder,
    /// Packets differ so much in size that more wait than the equations say.
    Sizes,
    /// Packets differ so little in size that fewer wait, and are lost, than the equations say.
    Alike,
    /// Of packets: they are sent in so little time that whole nanoseconds are too coarse
    /// ([`Network::is_too_fast`](crate::Network::is_too_fast)), so that the bandwidth is another than was said.
    Nanoseconds,
}

impl Estimate {
    /// All of them.
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

    /// Links that send for more than this part of the time, all their queues together, count as busy: of a hundred packets more than
    /// one meets another. Others have no queue that is an estimate, but for that of bursts.
    pub const BUSY: f64 = 0.01;

    /// From this share of a link's traffic on, sources whose goodput is an estimate make its utilization one.
    pub const SHARE: f64 = 0.1;

    /// Whether the goodput of a connection is an estimate: it crosses queues, or losses, that are estimates.
    pub fn of_goodput(source: &Source, queues: bool, losses: bool, loss: Option<f64>) -> bool {
        /// Smaller losses hardly change the goodput of a source that does not back off.
        const MUCH_LOSS: f64 = 0.01;
        match source {
            Source::Profile(_) => queues,
            _ => losses && loss >= Some(MUCH_LOSS),
        }
    }
}

/// What so many of all times are at most, in seconds: half of them, 95 %, 99 % and 99.9 %.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50_s: f64,
    /// 95 %.
    pub p95_s: f64,
    /// 99 %.
    pub p99_s: f64,
    /// 99.9 %.
    pub p999_s: f64,
}

/// One connection since the period began: its data, all `count` of it together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionTotals {
    /// Mean packets/s sent.
    pub mean_send_pps: f64,
    /// Mean packets/s delivered, each once: without those that arrived again, and without SYNs.
    pub mean_goodput_pps: f64,
    /// Packets sent.
    pub offered_pkts: f64,
    /// Packets that reached the receiver, with SYNs and those that had arrived before.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets that had no route; offered, and never sent over any link. TCP offers none without a
    /// route but those that it tries again.
    pub blocked_pkts: f64,
    /// Packets that its application made, sent or not; `None` where there is always more, and of what sends at a
    /// rate of its own.
    pub made_pkts: Option<f64>,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets on their way between queues now.
    pub in_flight_pkts: f64,
    /// Mean round-trip time in seconds over the time it was sending; `None` if none was measured, and
    /// of sources that hear nothing of their packets.
    pub mean_rtt_s: Option<f64>,
    /// Mean time in seconds from sending a packet to its arrival; `None` if none arrived.
    pub mean_delay_s: Option<f64>,
    /// The same times: of packets within 1 %, of fluids by the law of their queues.
    pub delay: Option<Percentiles>,
    /// Mean difference in seconds between the delays of packets that arrive one after the other, likewise.
    pub jitter_s: Option<f64>,
    /// Round-trip times, likewise.
    pub rtt: Option<Percentiles>,
    /// (Lost + blocked) / (lost + blocked + delivered); `None` if neither happened.
    pub loss_probability: Option<f64>,
    /// Fraction of the sending time for which the profile was not measured at the loss and
    /// round-trip time seen, but extended.
    pub outside_profile_fraction: f64,
    /// Fraction of the sending time, among that, for which it was extended further than is usable.
    pub unusable_profile_fraction: f64,
    /// When its size was delivered, in seconds; `None` without a size, or if that was not in the period.
    pub finished_s: Option<f64>,
    /// The mean of these times over its `count` connections, of which `finished_s` is the last.
    pub mean_finished_s: Option<f64>,
    /// Retransmission timeouts; `None` of sources without a congestion window.
    pub timeouts: Option<f64>,
    /// Losses found by duplicate acknowledgements; `None` likewise.
    pub fast_retransmits: Option<f64>,
}

impl ConnectionTotals {
    /// What the rates of a profile's connection rest on, all in all, as
    /// [`profile_use_over`](Self::profile_use_over) says.
    pub fn profile_use(&self) -> ProfileUse {
        Self::profile_use_over(
            self.outside_profile_fraction,
            self.unusable_profile_fraction,
        )
    }

    /// Of the fractions of the sending time that were outside the domain, and further out than is
    /// usable: not usable from one percent of that on, extended if any of it was outside.
    pub fn profile_use_over(outside: f64, unusable: f64) -> ProfileUse {
        const TRANSIENT: f64 = 0.01;
        if unusable > TRANSIENT {
            ProfileUse::NotUsable
        } else if outside > 0.0 {
            ProfileUse::Extended
        } else {
            ProfileUse::Measured
        }
    }
}

/// Packets of the whole network since the period began; before + offered = delivered + lost + blocked
/// + queued + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Packets in queues and on their way between them when the period began.
    pub before_pkts: f64,
    /// Packets sent.
    pub offered_pkts: f64,
    /// Packets that reached their end.
    pub delivered_pkts: f64,
    /// Packets lost.
    pub lost_pkts: f64,
    /// Packets that had no route.
    pub blocked_pkts: f64,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets on their way between queues now.
    pub in_flight_pkts: f64,
}

impl Totals {
    /// How far the balance is off, relative to what was offered.
    pub fn imbalance(&self) -> f64 {
        let ended = self.delivered_pkts + self.lost_pkts + self.blocked_pkts;
        let accounted = ended + self.queued_pkts + self.in_flight_pkts;
        (self.before_pkts + self.offered_pkts - accounted).abs() / self.offered_pkts.max(1.0)
    }

    /// Adds what others came to.
    pub fn add(&mut self, other: &Totals) {
        self.before_pkts += other.before_pkts;
        self.offered_pkts += other.offered_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.lost_pkts += other.lost_pkts;
        self.blocked_pkts += other.blocked_pkts;
        self.queued_pkts += other.queued_pkts;
        self.in_flight_pkts += other.in_flight_pkts;
    }
}
