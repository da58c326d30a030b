//! Interface of a simulation engine, with cumulative counters since the start.

use crate::{
    AggregateId, ConnectionId, ControlState, Explanation, LinkId, MarkerRates, Network,
    PrecedenceTotals, Totals,
};

/// Simulation engine.
///
/// Ids are those of its network.
pub trait Engine {
    /// Returns the network.
    fn network(&self) -> &Network;

    /// Returns the simulated time in seconds.
    fn time_s(&self) -> f64;

    /// Returns whether the duration is over.
    fn is_done(&self) -> bool;

    /// Returns the number of steps so far; in the packet model, the number of packet arrivals at links.
    fn steps(&self) -> u64;

    /// Returns the branch that the connection uses from now on if this index into its allowed
    /// [paths](crate::ControllableConnection::paths) is set; `None` if none is set.
    fn class_path_over(&self, id: ConnectionId, path: Option<u32>) -> Option<u32>;

    /// Returns the links that the connection's data uses from now on; empty without a path.
    fn path(&self, id: ConnectionId) -> Vec<LinkId> {
        let branch = self.class_path_over(id, self.control_state(id).path);
        self.network().tables().links_of(branch)
    }

    /// Returns the current overrides of the connection.
    fn control_state(&self, id: ConnectionId) -> ControlState;

    /// Returns the current rates of the aggregate's marker.
    fn marker_rates(&self, id: AggregateId) -> MarkerRates;

    /// Returns whether the link has failed.
    fn is_down(&self, id: LinkId) -> bool;

    /// Returns the packets in the link's queue now, the one in service included.
    fn queue_pkts(&self, id: LinkId) -> f64;

    /// Returns the drop probability of a packet that arrives at the link now. With drop precedences, it is
    /// the probability of a full buffer. In the packet model it is 0 or 1.
    fn blocking(&self, id: LinkId) -> f64;

    /// Returns the fraction of the last step for which the link was busy. For a class queue, only packets of
    /// the class count. In the packet model it covers the time since the start, because it is 0 or 1 at any
    /// moment.
    fn utilization(&self, id: LinkId) -> f64;

    /// Returns the sending rate of the connection (all `count` of it) in the last step, in packets/s. In the
    /// packet model it is:
    ///
    /// - the window over the round-trip time, or the packets in flight over it if there is no more data
    /// - for sources without a window, their rate
    /// - for users, the packets sent so far over the time
    fn send_pps(&self, id: ConnectionId) -> f64;

    /// Explains the connection's current rate.
    fn explain(&self, id: ConnectionId) -> Explanation;

    /// Returns the largest number of packets in flight so far, for sources with a congestion window; the
    /// largest of several.
    fn max_in_flight_pkts(&self, _id: ConnectionId) -> Option<u32> {
        None
    }

    /// Returns the longest queue in packets since the last restart.
    fn max_queue_pkts(&self, id: LinkId) -> f64;

    /// Restarts the measurement of the longest queues.
    fn reset_max_queue(&mut self);

    /// Returns the sums of the link since the start.
    fn link_sums(&self, id: LinkId) -> LinkSums;

    /// Returns the sums of the connection since the start.
    fn connection_sums(&self, id: ConnectionId) -> ConnectionSums;

    /// Returns the counts of the connection since the start.
    fn connection_counts(&self, id: ConnectionId) -> ConnectionCounts;

    /// Returns the counts of the aggregate since the start; zero for engines without aggregates.
    fn aggregate_counts(&self, id: AggregateId) -> AggregateCounts;

    /// Returns the packets at a link by drop precedence since the start; `None` if the queue does not
    /// distinguish precedences.
    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]>;

    /// Returns the totals of the data of all connections since the start.
    fn totals(&self) -> Totals;

    /// Returns the totals of the acknowledgements of all connections since the start.
    fn ack_totals(&self) -> Totals;
}

/// Cumulative sums of a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSums {
    /// Packets that arrived.
    pub offered_pkts: f64,
    /// Packets that were dropped at arrival, or queued when the link failed.
    pub lost_pkts: f64,
    /// Packets that left the queue.
    pub departed_pkts: f64,
    /// Packets among these that were lost in transit; `None` if the link never has such loss.
    pub link_lost_pkts: Option<f64>,
    /// Lost packets that the AQM dropped before the buffer was full; 0 in the fluid model.
    pub early_drop_pkts: f64,
    /// Packets that the queue marked instead of dropping them (CE, RFC 3168); 0 in the fluid model.
    pub marked_pkts: f64,
    /// Time integral of the queue in packet-seconds.
    pub queue_time: f64,
    /// Share of `queue_time` of the packets that departed. It differs only if packets are dropped after
    /// waiting. Waiting packets are then left out, because their fate is unknown.
    pub departed_queue_time: f64,
    /// Departures times the excess of the propagation delay over that of the link's
    /// [`LinkSpec`](crate::LinkSpec), in packet-seconds. In the packet model it is part of the measured
    /// delays.
    pub excess_delay_time: f64,
    /// Transmission time of the packets that departed, in seconds; 0 in the packet model.
    pub sending_s: f64,
    /// Departures times the transmission time per bit at that time; 0 in the packet model.
    pub tx_time_per_bit: f64,
    /// Time for which the link was busy, in seconds.
    pub busy_s: f64,
    /// Packets by drop precedence, if the queue distinguishes them.
    pub precedences: Option<[PrecedenceTotals; 3]>,
}

impl LinkSums {
    /// Returns the sums since `before`.
    pub fn since(&self, before: &LinkSums) -> LinkSums {
        LinkSums {
            offered_pkts: self.offered_pkts - before.offered_pkts,
            lost_pkts: self.lost_pkts - before.lost_pkts,
            departed_pkts: self.departed_pkts - before.departed_pkts,
            link_lost_pkts: self.link_lost_pkts.map(|pkts| {
                let lost_pkts = pkts - before.link_lost_pkts.unwrap_or(0.0);
                // In the fluid model, smaller values are rounding errors.
                if lost_pkts > 1e-12 * pkts {
                    lost_pkts
                } else {
                    0.0
                }
            }),
            early_drop_pkts: self.early_drop_pkts - before.early_drop_pkts,
            marked_pkts: self.marked_pkts - before.marked_pkts,
            queue_time: self.queue_time - before.queue_time,
            departed_queue_time: self.departed_queue_time - before.departed_queue_time,
            excess_delay_time: self.excess_delay_time - before.excess_delay_time,
            sending_s: self.sending_s - before.sending_s,
            tx_time_per_bit: self.tx_time_per_bit - before.tx_time_per_bit,
            busy_s: self.busy_s - before.busy_s,
            precedences: self
                .precedences
                .map(|now| PrecedenceTotals::since(now, before.precedences.unwrap_or_default())),
        }
    }

    /// Returns the mean sojourn time of departed packets in seconds (Little's law).
    pub fn sojourn_time_s(&self) -> Option<f64> {
        mean(self.departed_queue_time, self.departed_pkts)
    }

    /// Returns the mean delay in seconds of packets with this many bits on the wire, from arrival to the end
    /// of the link, in the fluid model. Their waiting time is that of all packets; `own_delay_s` is the delay
    /// of the [`LinkSpec`](crate::LinkSpec).
    pub fn delay_s(&self, bits: f64, own_delay_s: f64) -> Option<f64> {
        let of_each = |sum: f64| mean(sum, self.departed_pkts);
        let waited_s = of_each(self.queue_time - self.sending_s)?.max(0.0);
        Some(
            waited_s
                + bits * of_each(self.tx_time_per_bit)?
                + (own_delay_s + of_each(self.excess_delay_time)?),
        )
    }

    /// Returns the lost fraction of all packets, at most 1 because lost packets may have been offered before.
    pub fn loss_probability(&self) -> f64 {
        fraction(self.lost_pkts, self.offered_pkts).min(1.0)
    }

    /// Returns the lost fraction of packets with this marking.
    pub fn lost_of(&self, marking: [f64; 3]) -> f64 {
        match self.precedences {
            Some(each) => PrecedenceTotals::lost_of(each, marking),
            None => self.loss_probability(),
        }
    }
}

/// Cumulative sums of a connection (all `count` of it) since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionSums {
    /// Packets sent.
    pub sent_pkts: f64,
    /// Packets that reached the receiver, in order.
    pub delivered_pkts: f64,
    /// Sum of observed round-trip times with weights; the mean is this over [`rtt_weight`](Self::rtt_weight).
    pub rtt_time: f64,
    /// Sum of the weights of [`rtt_time`](Self::rtt_time).
    pub rtt_weight: f64,
    /// Weighted sum of observed loss probabilities.
    pub loss_sum: f64,
    /// Sum of the weights of [`loss_sum`](Self::loss_sum).
    pub loss_weight: f64,
    /// Weighted sum of one-way delays; 0 for engines without packets.
    pub delay_time: f64,
    /// Sum of the weights of [`delay_time`](Self::delay_time).
    pub delay_weight: f64,
}

/// Cumulative counts of a connection (all `count` of it) since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionCounts {
    /// Packets sent, blocked ones included.
    pub sent_pkts: f64,
    /// Packets that arrived in order, as delivered to applications.
    pub delivered_pkts: f64,
    /// Packets that arrived in any order.
    pub arrived_pkts: f64,
    /// Packets lost in queues.
    pub lost_pkts: f64,
    /// Packets without a route.
    pub unrouted_pkts: f64,
    /// Packets that its application generated, sent or not; `None` for unlimited data and for sources with a
    /// rate of their own.
    pub generated_pkts: Option<f64>,
    /// Sum of observed round-trip times with weights.
    pub rtt_time: f64,
    /// Sum of the weights of [`rtt_time`](Self::rtt_time).
    pub rtt_weight: f64,
    /// Sending times in seconds: outside the profile's range, outside and not usable, and total.
    pub outside_s: [f64; 3],
    /// Number of timeouts, and of losses detected by duplicate acknowledgements.
    pub losses_found: Option<[f64; 2]>,
    /// Packets in queues now.
    pub queued_pkts: f64,
    /// Packets in flight between queues now.
    pub in_flight_pkts: f64,
    /// Time at which all of its size was delivered, in seconds; the last of `count` connections.
    pub finished_s: Option<f64>,
    /// Mean of these times over its `count` connections.
    pub mean_finished_s: Option<f64>,
}

/// Cumulative counts of an aggregate since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct AggregateCounts {
    /// Packets sent, by drop precedence.
    pub sent_pkts: [f64; 3],
    /// Packets that arrived, by drop precedence.
    pub delivered_pkts: [f64; 3],
    /// Packets lost, by drop precedence.
    pub lost_pkts: [f64; 3],
    /// Packets delivered to applications.
    pub goodput_pkts: f64,
    /// Bits delivered to applications.
    pub goodput_bits: f64,
    /// Current rate that its edge measures, in bit/s.
    pub measured_bps: f64,
    /// Current fractions of each precedence that its edge marks.
    pub marking: [f64; 3],
    /// Current round-trip time at its edge, in seconds.
    pub rtt_s: Option<f64>,
}

/// Returns part / whole; 0 if the whole is 0.
pub fn fraction(part: f64, whole: f64) -> f64 {
    mean(part, whole).unwrap_or(0.0)
}

/// Returns the mean; `None` if the weight is 0, because an unmeasured value is not 0.
pub fn mean(sum: f64, weight: f64) -> Option<f64> {
    (weight > 0.0).then(|| sum / weight)
}
