//! Differences of the counters between two times of a simulation.

use netflow_network::engine::{ConnectionSums, LinkSums, mean};
use netflow_network::{
    ClassInterval, ConnectionId, ConnectionInterval, Explanation, Interval, IntervalReader, LinkId,
    LinkInterval, Network, ReachedCeiling, Recorder,
};
use netflow_packets::ACK_PRECEDENCES;

use crate::simulation::{EngineKind, Simulation};

/// Smallest throughput of a class at its ceiling, as a fraction of the ceiling.
const MIN_LOAD_AT_CEILING: f64 = 0.95;

/// Snapshot of the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    time_s: f64,
    links: Vec<LinkSums>,
    connections: Vec<ConnectionSums>,
    /// Packets that have arrived at hops; packet model only.
    hops: Vec<u64>,
}

impl Snapshot {
    pub fn of(simulation: &Simulation) -> Snapshot {
        let engine = simulation.engine();
        let network = engine.network();
        let connections = network.connections();
        Snapshot {
            time_s: engine.time_s(),
            links: network.links().map(|id| engine.link_sums(id)).collect(),
            connections: connections.map(|id| engine.connection_sums(id)).collect(),
            hops: match simulation.stepper() {
                EngineKind::Fluid(_) => Vec::new(),
                EngineKind::Packets(packets) => packets.arrivals_at_hops(),
            },
        }
    }
}

/// Difference between two snapshots; the simulation is at the later one.
#[derive(Clone, Copy)]
pub(crate) struct IntervalDelta<'a> {
    pub simulation: &'a Simulation,
    pub before: &'a Snapshot,
    pub now: &'a Snapshot,
}

impl IntervalDelta<'_> {
    /// Returns the interval as recorders receive it.
    pub fn interval(&self) -> Interval<'_> {
        Interval {
            time_s: self.now.time_s,
            length_s: self.length_s(),
            network: self.network(),
            reader: self,
        }
    }

    /// Passes the interval to the recorder as a piece, if its length is not 0.
    pub fn emit<R: Recorder>(&self, recorder: &mut R) {
        if self.length_s() > 0.0 {
            recorder.partial_interval(&self.interval());
        }
    }

    fn network(&self) -> &Network {
        self.simulation.engine().network()
    }

    fn length_s(&self) -> f64 {
        self.now.time_s - self.before.time_s
    }

    fn link_sums(&self, id: LinkId) -> LinkSums {
        let i = id.within(self.simulation.owner());
        self.now.links[i].since(&self.before.links[i])
    }

    /// Returns the mean delay of the connection's packets at the links of its path: queueing,
    /// transmission and propagation.
    fn path_delay_s(&self, id: ConnectionId) -> Option<f64> {
        let path = self.simulation.engine().path(id);
        let bits = 8.0 * self.network().connection_spec(id).packet_size_bytes;
        let of = |l: &LinkId| {
            let link = self.network().link_spec(*l);
            let wire_bits = link.overhead.wire_bits(bits);
            self.link_sums(*l).delay_s(wire_bits, link.delay_s)
        };
        path.iter().map(of).sum()
    }
}

impl IntervalReader for IntervalDelta<'_> {
    fn link(&self, id: LinkId) -> LinkInterval {
        let sums = self.link_sums(id);
        let per_s = 1.0 / self.length_s();
        LinkInterval {
            arrival_pps: sums.offered_pkts * per_s,
            departure_pps: sums.departed_pkts * per_s,
            queue_pkts: sums.queue_time * per_s,
            loss_probability: sums.loss_probability(),
            // Differences of large sums have rounding errors.
            utilization: (sums.busy_s * per_s).clamp(0.0, 1.0),
            sojourn_time_s: sums.sojourn_time_s(),
        }
    }

    fn connection(&self, id: ConnectionId) -> ConnectionInterval {
        let i = id.within(self.simulation.owner());
        let (now, before) = (&self.now.connections[i], &self.before.connections[i]);
        ConnectionInterval {
            send_pps: (now.sent_pkts - before.sent_pkts) / self.length_s(),
            goodput_pps: (now.delivered_pkts - before.delivered_pkts) / self.length_s(),
            rtt_s: mean(
                now.rtt_time - before.rtt_time,
                now.rtt_weight - before.rtt_weight,
            ),
            loss_probability: mean(
                now.loss_sum - before.loss_sum,
                now.loss_weight - before.loss_weight,
            )
            .map(|loss| loss.clamp(0.0, 1.0)),
            delay_s: match self.simulation.stepper() {
                EngineKind::Packets(_) => mean(
                    now.delay_time - before.delay_time,
                    now.delay_weight - before.delay_weight,
                ),
                EngineKind::Fluid(_) => mean(1.0, now.delivered_pkts - before.delivered_pkts)
                    .and_then(|_| self.path_delay_s(id)),
            },
        }
    }

    fn explain(&self, id: ConnectionId) -> Explanation {
        let mut explanation = self.simulation.engine().explain(id);
        for hop in &mut explanation.hops {
            hop.utilization = self.link(hop.link).utilization;
            let classes = self.network().htb_path(hop.link).into_iter();
            let loads = classes.map(|(class, queues)| ReachedCeiling {
                class: class.name.clone(),
                throughput_bps: hop.bandwidth_bps
                    * (queues.iter())
                        .map(|&queue| self.link(queue).utilization)
                        .sum::<f64>(),
                ceil_bps: class.ceil_bps as f64,
            });
            let of_ceil = |it: &ReachedCeiling| it.throughput_bps / it.ceil_bps;
            hop.reached_ceiling = loads
                .filter(|it| of_ceil(it) >= MIN_LOAD_AT_CEILING)
                .max_by(|a, b| of_ceil(a).total_cmp(&of_ceil(b)));
        }
        if let EngineKind::Packets(packets) = self.simulation.stepper() {
            let marking = packets.marking_of(id);
            for hop in &mut explanation.hops {
                let marking = if hop.back { ACK_PRECEDENCES } else { marking };
                let i = hop.link.index();
                let sums = self.now.links[i].since(&self.before.links[i]);
                let pass = (1.0 - sums.lost_of(marking)) * (1.0 - hop.link_loss_probability);
                hop.loss_probability = 1.0 - pass;
            }
            explanation.sum_losses();
            if explanation.profile.is_none() && explanation.seen_loss_probability.is_some() {
                explanation.seen_loss_probability = self.connection(id).loss_probability;
            }
        }
        explanation
    }

    fn classes(&self) -> Vec<ClassInterval> {
        match self.simulation.stepper() {
            EngineKind::Fluid(fluid) => {
                let links = self.network().links();
                links.flat_map(|link| fluid.classes_at(link)).collect()
            }
            EngineKind::Packets(packets) => packets.classes(&self.before.hops, self.length_s()),
        }
    }
}
