//! What is recorded while a network is stepped.

use crate::simulation::{Simulation, Stepper};
use crate::window::OF_ACKS;
use crate::{ConnectionId, Explanation, LinkId, Network, PrecedenceTotals, RunError};

/// One link over one recording interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkInterval {
    /// Packets/s that arrived (data and acknowledgements).
    pub arrival_pps: f64,
    /// Packets/s that departed.
    pub departure_pps: f64,
    /// Mean number of packets in the queue, the one in service included.
    pub queue_pkts: f64,
    /// Lost / arrived; 0 where nothing arrived.
    pub loss_probability: f64,
    /// Fraction of the time the link was busy.
    pub utilization: f64,
    /// Mean time in seconds that a packet spends here, its own transmission included (Little's law:
    /// mean queue over departures); `None` if none departed.
    pub queueing_delay_s: Option<f64>,
}

/// One connection (all `count` of it together) over one recording interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionInterval {
    /// Data packets/s sent.
    pub send_pps: f64,
    /// Data packets/s that reached the receiver.
    pub goodput_pps: f64,
    /// Mean round-trip time seen while it was sending, in seconds; `None` if none was measured, and
    /// of sources that hear nothing of their packets.
    pub rtt_s: Option<f64>,
    /// Mean loss probability seen while it was sending; `None` if it was not.
    pub loss_probability: Option<f64>,
    /// Mean time in seconds from sending a packet to its arrival, of those that arrived; `None` if
    /// none did. Of fluids: what its links cost on average now.
    pub delay_s: Option<f64>,
}

/// The data of one connection in one queue over one recording interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassInterval {
    /// Where.
    pub link: LinkId,
    /// Whose.
    pub connection: ConnectionId,
    /// Its packets in the queue at the end of the interval.
    pub queue_pkts: f64,
    /// Its packets/s that arrived during the last step of the interval; with the window model,
    /// during the interval.
    pub arrival_pps: f64,
}

/// What a link has done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkSums {
    pub offered_pkts: f64,
    pub lost_pkts: f64,
    pub departed_pkts: f64,
    pub queue_time: f64,
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
            queue_time: self.queue_time - before.queue_time,
            busy_s: self.busy_s - before.busy_s,
            precedences: self
                .precedences
                .map(|now| PrecedenceTotals::since(now, before.precedences.unwrap_or_default())),
        }
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
pub(crate) struct ConnectionSums {
    pub sent_pkts: f64,
    pub delivered_pkts: f64,
    /// Round-trip times and loss probabilities are means: sums, and what they are over.
    pub rtt_time: f64,
    pub rtt_weight: f64,
    pub lost: f64,
    pub loss_weight: f64,
    pub delay_time: f64,
    pub delay_weight: f64,
}

/// The sums at one time, to take differences from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    time_s: f64,
    links: Vec<LinkSums>,
    connections: Vec<ConnectionSums>,
    /// With the window model: packets that arrived at hops.
    hops: Vec<u64>,
}

impl Mark {
    pub fn of(simulation: &Simulation) -> Mark {
        let network = simulation.network();
        Mark {
            time_s: simulation.time_s(),
            links: network.links().map(|id| simulation.link_sums(id)).collect(),
            connections: network
                .connections()
                .map(|id| simulation.connection_sums(id))
                .collect(),
            hops: simulation.arrivals_at_hops(),
        }
    }
}

/// What happened since the last recording: means over the interval that ends at `time_s`.
pub struct Interval<'a> {
    /// End of the interval in seconds.
    pub time_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// The network, for names.
    pub network: &'a Network,
    simulation: &'a Simulation,
    before: &'a Mark,
    now: &'a Mark,
}

impl<'a> Interval<'a> {
    pub(crate) fn new(simulation: &'a Simulation, before: &'a Mark, now: &'a Mark) -> Interval<'a> {
        Interval {
            time_s: now.time_s,
            length_s: now.time_s - before.time_s,
            network: simulation.network(),
            simulation,
            before,
            now,
        }
    }

    /// As a piece, if it has any length.
    pub(crate) fn hand_to<R: Recorder>(&self, recorder: &mut R) {
        if self.length_s > 0.0 {
            recorder.piece(self);
        }
    }

    /// The link with this id.
    pub fn link(&self, id: LinkId) -> LinkInterval {
        let i = id.within(self.network.inner.owner);
        let sums = self.now.links[i].since(&self.before.links[i]);
        let per_s = 1.0 / self.length_s;
        LinkInterval {
            arrival_pps: sums.offered_pkts * per_s,
            departure_pps: sums.departed_pkts * per_s,
            queue_pkts: sums.queue_time * per_s,
            loss_probability: sums.loss_probability(),
            // Differences of long sums are rounded.
            utilization: (sums.busy_s * per_s).clamp(0.0, 1.0),
            queueing_delay_s: mean(sums.queue_time, sums.departed_pkts),
        }
    }

    /// The connection with this id.
    pub fn connection(&self, id: ConnectionId) -> ConnectionInterval {
        let i = id.within(self.network.inner.owner);
        let (now, before) = (&self.now.connections[i], &self.before.connections[i]);
        ConnectionInterval {
            send_pps: (now.sent_pkts - before.sent_pkts) / self.length_s,
            goodput_pps: (now.delivered_pkts - before.delivered_pkts) / self.length_s,
            rtt_s: mean(
                now.rtt_time - before.rtt_time,
                now.rtt_weight - before.rtt_weight,
            ),
            loss_probability: mean(now.lost - before.lost, now.loss_weight - before.loss_weight)
                .map(|loss| loss.clamp(0.0, 1.0)),
            delay_s: match self.simulation.stepper() {
                Stepper::Window(_) => mean(
                    now.delay_time - before.delay_time,
                    now.delay_weight - before.delay_weight,
                ),
                Stepper::Fluid(_) => mean(1.0, now.delivered_pkts - before.delivered_pkts)
                    .and_then(|_| self.path_delay_s(id)),
            },
        }
    }

    /// Why the connection sends as fast as it does at the end of the interval: what
    /// [`Simulation::explain`] says, with the utilizations of the interval and, with the window
    /// model, its losses.
    pub fn explain(&self, id: ConnectionId) -> Explanation {
        let mut explanation = self.simulation.explain(id);
        for hop in &mut explanation.hops {
            hop.utilization = self.link(hop.link).utilization;
        }
        if let Stepper::Window(window) = self.simulation.stepper() {
            let marking = window.marking_of(id);
            for hop in &mut explanation.hops {
                let marking = if hop.back { OF_ACKS } else { marking };
                let i = hop.link.index();
                let sums = self.now.links[i].since(&self.before.links[i]);
                hop.loss_probability = sums.lost_of(marking);
            }
            explanation.sum_losses();
            if explanation.profile.is_none() && explanation.seen_loss_probability.is_some() {
                explanation.seen_loss_probability = self.connection(id).loss_probability;
            }
        }
        explanation
    }

    /// What the links of a connection's way cost on average: queueing and propagation.
    fn path_delay_s(&self, id: ConnectionId) -> Option<f64> {
        let path = self.network.path_at(id, self.time_s);
        let of = |l: &LinkId| {
            let spec = self.network.link_spec(*l);
            Some(self.link(*l).queueing_delay_s? + spec.delay_s)
        };
        path.iter().map(of).sum()
    }

    /// The classes at every link: for each link in order, the connections whose data crosses it.
    pub fn classes(&self) -> impl Iterator<Item = ClassInterval> + '_ {
        let classes = self.simulation.classes(&self.before.hops, self.length_s);
        classes.into_iter()
    }
}

/// Part of a whole; 0 of nothing.
pub(crate) fn fraction(part: f64, whole: f64) -> f64 {
    mean(part, whole).unwrap_or(0.0)
}

/// A mean, if there is anything that it is over: what was not measured is no zero.
pub(crate) fn mean(sum: f64, weight: f64) -> Option<f64> {
    (weight > 0.0).then(|| sum / weight)
}

/// Keeps what happens.
pub trait Recorder {
    /// What can go wrong while keeping it.
    type Error;
    /// Called at the end of every recording interval, in order of time.
    ///
    /// # Errors
    /// Whatever stops the run.
    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Self::Error>;

    /// Called with every piece of time between ends of recording intervals and bounds, before them.
    fn piece(&mut self, _piece: &Interval<'_>) {}

    /// The time in seconds at which [`bound`](Self::bound) is to be called next, within the duration, if
    /// it is.
    fn next_bound_s(&self) -> Option<f64> {
        None
    }

    /// Called when the time has come, exactly: to begin a period, for one. What it returns as the next
    /// bound must have moved on.
    ///
    /// # Errors
    /// Whatever stops the run.
    fn bound(&mut self, _simulation: &mut Simulation) -> Result<(), RunError> {
        Ok(())
    }
}
