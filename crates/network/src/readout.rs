//! What engines tell of a network on its way through time, since the start: sums, to take differences
//! from.

use crate::{
    AggregateId, ConnectionId, Explanation, LinkId, MarkerRates, Network, PrecedenceTotals, Set,
    Totals,
};

/// What moves a network through time, as those see it who record and tell.
///
/// Ids are those of its network.
pub trait Engine {
    /// The network.
    fn network(&self) -> &Network;

    /// Simulated time in seconds.
    fn time_s(&self) -> f64;

    /// Whether the duration is over.
    fn is_done(&self) -> bool;

    /// Steps taken so far; of packets, how many have arrived at links.
    fn steps(&self) -> u64;

    /// The branch that the connection is sent over from now on if this one of the [paths](crate::Settable::paths) that it
    /// may take is set, or none of them.
    fn branch_over(&self, id: ConnectionId, path: Option<u32>) -> u32;

    /// The links that the connection's data is sent over from now on; none if there is no way.
    fn path(&self, id: ConnectionId) -> Vec<LinkId> {
        let branch = self.branch_over(id, self.set_of(id).path);
        self.network().tables().links_of(branch)
    }

    /// What is set of the connection now.
    fn set_of(&self, id: ConnectionId) -> Set;

    /// The rates of the aggregate's marker now.
    fn marker_rates(&self, id: AggregateId) -> MarkerRates;

    /// Whether the link has failed.
    fn is_down(&self, id: LinkId) -> bool;

    /// Packets in the link's queue now, the one in service included.
    fn queue_pkts(&self, id: LinkId) -> f64;

    /// Probability that a packet arriving at the link now is refused; where the queue tells drop
    /// precedences apart, that it finds it full. Of packets 0 or 1.
    fn blocking(&self, id: LinkId) -> f64;

    /// Fraction of the last step for which the link was busy, or busy with packets of the queue of a class; where packets are followed, of all the
    /// time since the start, as it is 0 or 1 at any moment.
    fn utilization(&self, id: LinkId) -> f64;

    /// Packets/s that the connection (all `count` of it) sent during the last step. Where packets are
    /// followed: the window over the round-trip time, or what is on its way over that where there is no more to send; the rate
    /// of what has no window; and of users what they have sent so far over the time.
    fn send_pps(&self, id: ConnectionId) -> f64;

    /// Why the connection sends as fast as it does, now.
    fn explain(&self, id: ConnectionId) -> Explanation;

    /// The most packets that it has had under way at a time, of sources with a congestion window; the most of several.
    fn most_out_pkts(&self, _id: ConnectionId) -> Option<u32> {
        None
    }

    /// The longest queue since it was asked to restart.
    fn longest_pkts(&self, id: LinkId) -> f64;

    /// From now on the longest queues are those from now on.
    fn restart_longest(&mut self);

    /// What the link has done since the start.
    fn link_sums(&self, id: LinkId) -> LinkSums;

    /// What the connection has done since the start.
    fn connection_sums(&self, id: ConnectionId) -> ConnectionSums;

    /// What the connection has come to since the start.
    fn connection_counts(&self, id: ConnectionId) -> ConnectionCounts;

    /// What the aggregate has come to since the start; nothing where aggregates are not known.
    fn aggregate_counts(&self, id: AggregateId) -> AggregateCounts;

    /// The packets at a link by drop precedence since the start; `None` where the queue does not tell
    /// them apart.
    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]>;

    /// The data of all connections since the start.
    fn totals(&self) -> Totals;

    /// The acknowledgements of all connections since the start.
    fn ack_totals(&self) -> Totals;
}

/// What a link has done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSums {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets that were refused, or queued when the link failed.
    pub lost_pkts: f64,
    /// Packets that left the queue.
    pub departed_pkts: f64,
    /// Those of them that the link lost on the way; `None` where it never has, or had, something that loses any.
    pub link_lost_pkts: Option<f64>,
    /// Packets that the queue marked instead of dropping them (CE, RFC 3168); none of fluids.
    pub marked_pkts: f64,
    /// Packets in the queue times seconds.
    pub queue_time: f64,
    /// Of these, what those took that left: all, but where packets are dropped after they have waited. There those that
    /// wait still are left out, as it is not known whether they will leave.
    pub left_time: f64,
    /// Packets that left the queue times the seconds by which the propagation delay was longer than that of the link's
    /// [`LinkSpec`](crate::LinkSpec). Where packets are followed it is in what they took.
    pub longer_time: f64,
    /// Seconds in which the link sent the packets that left the queue; 0 where packets are followed.
    pub sending_s: f64,
    /// Packets that left the queue times the seconds in which the link then sent a bit; 0 where packets are followed.
    pub bit_time: f64,
    /// Seconds for which the link was busy.
    pub busy_s: f64,
    /// By drop precedence, where the queue tells them apart.
    pub precedences: Option<[PrecedenceTotals; 3]>,
}

impl LinkSums {
    /// What the link has done since then.
    pub fn since(&self, before: &LinkSums) -> LinkSums {
        LinkSums {
            offered_pkts: self.offered_pkts - before.offered_pkts,
            lost_pkts: self.lost_pkts - before.lost_pkts,
            departed_pkts: self.departed_pkts - before.departed_pkts,
            link_lost_pkts: self.link_lost_pkts.map(|pkts| {
                let lost_pkts = pkts - before.link_lost_pkts.unwrap_or(0.0);
                // Of fluids less is rounding.
                if lost_pkts > 1e-12 * pkts {
                    lost_pkts
                } else {
                    0.0
                }
            }),
            marked_pkts: self.marked_pkts - before.marked_pkts,
            queue_time: self.queue_time - before.queue_time,
            left_time: self.left_time - before.left_time,
            longer_time: self.longer_time - before.longer_time,
            sending_s: self.sending_s - before.sending_s,
            bit_time: self.bit_time - before.bit_time,
            busy_s: self.busy_s - before.busy_s,
            precedences: self
                .precedences
                .map(|now| PrecedenceTotals::since(now, before.precedences.unwrap_or_default())),
        }
    }

    /// Seconds that packets which left the queue spent there on average (Little's law).
    pub fn queueing_delay_s(&self) -> Option<f64> {
        mean(self.left_time, self.departed_pkts)
    }

    /// Seconds that packets with these bits on the wire took on average until the link had transmitted them and carried them, if they
    /// waited as all did; its own delay is that of its [`LinkSpec`](crate::LinkSpec). Of fluids.
    pub fn delay_s(&self, bits: f64, own_delay_s: f64) -> Option<f64> {
        let of_each = |sum: f64| mean(sum, self.departed_pkts);
        let waited_s = of_each(self.queue_time - self.sending_s)?.max(0.0);
        Some(waited_s + bits * of_each(self.bit_time)? + (own_delay_s + of_each(self.longer_time)?))
    }

    /// Which part was lost of all packets; at most 1, though some may have been offered before.
    pub fn loss_probability(&self) -> f64 {
        fraction(self.lost_pkts, self.offered_pkts).min(1.0)
    }

    /// Which part was lost of packets marked like this.
    pub fn lost_of(&self, marking: [f64; 3]) -> f64 {
        match self.precedences {
            Some(each) => PrecedenceTotals::lost_of(each, marking),
            None => self.loss_probability(),
        }
    }
}

/// What a connection (all `count` of it together) has done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionSums {
    /// Packets sent.
    pub sent_pkts: f64,
    /// Packets that reached the receiver, in order.
    pub delivered_pkts: f64,
    /// Round-trip times seen, and what they are a sum over.
    pub rtt_time: f64,
    /// See [`rtt_time`](Self::rtt_time).
    pub rtt_weight: f64,
    /// Loss probabilities seen, likewise.
    pub lost: f64,
    /// See [`lost`](Self::lost).
    pub loss_weight: f64,
    /// Times from sender to receiver, likewise; none where engines do not follow packets.
    pub delay_time: f64,
    /// See [`delay_time`](Self::delay_time).
    pub delay_weight: f64,
}

/// What a connection (all `count` of it together) has come to since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionCounts {
    /// Packets sent, blocked ones included.
    pub sent_pkts: f64,
    /// Packets that arrived in order, as applications get them.
    pub delivered_pkts: f64,
    /// Packets that arrived in any order.
    pub arrived_pkts: f64,
    /// Packets lost in queues.
    pub lost_pkts: f64,
    /// Packets that had no route.
    pub blocked_pkts: f64,
    /// Packets that its application made, sent or not; `None` where there is always more, and of what sends at a
    /// rate of its own.
    pub made_pkts: Option<f64>,
    /// Round-trip times seen, and what they are a sum over.
    pub rtt_time: f64,
    /// See [`rtt_time`](Self::rtt_time).
    pub rtt_weight: f64,
    /// Seconds of sending outside the profile's domain, further out than is usable, and all.
    pub outside_s: [f64; 3],
    /// Timeouts, and losses found by duplicate acknowledgements.
    pub losses_found: Option<[f64; 2]>,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets between queues now.
    pub in_flight_pkts: f64,
    /// When it had delivered all of its size, in seconds; the last of `count` connections.
    pub finished_s: Option<f64>,
    /// The mean of these times over its `count` connections.
    pub mean_finished_s: Option<f64>,
}

/// What an aggregate has come to since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct AggregateCounts {
    /// Packets sent, by drop precedence.
    pub sent_pkts: [f64; 3],
    /// Packets that arrived, likewise.
    pub delivered_pkts: [f64; 3],
    /// Packets lost, likewise.
    pub lost_pkts: [f64; 3],
    /// Packets delivered to applications.
    pub goodput_pkts: f64,
    /// The same in bits.
    pub goodput_bits: f64,
    /// What its edge measures now, in bit/s.
    pub measured_bps: f64,
    /// How its edge marks now.
    pub marking: [f64; 3],
    /// The round-trip time that its edge knows now, in seconds.
    pub rtt_s: Option<f64>,
}

/// Part of a whole; 0 of nothing.
pub fn fraction(part: f64, whole: f64) -> f64 {
    mean(part, whole).unwrap_or(0.0)
}

/// A mean, if there is anything that it is over: what was not measured is no zero.
pub fn mean(sum: f64, weight: f64) -> Option<f64> {
    (weight > 0.0).then(|| sum / weight)
}
