//! What is recorded while a network is stepped.

use crate::simulation::Simulation;
use crate::state::{BranchState, LinkState};
use crate::{ConnectionId, LinkId, Network};

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
}

/// One connection (all `count` of it together) over one recording interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionInterval {
    /// Data packets/s sent.
    pub send_pps: f64,
    /// Data packets/s that reached the receiver.
    pub goodput_pps: f64,
    /// Mean round-trip time seen while it was sending, in seconds; 0 if it was not.
    pub rtt_s: f64,
    /// Mean loss probability seen while it was sending; 0 if it was not.
    pub loss_probability: f64,
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
    /// Its packets/s that arrived during the last step of the interval.
    pub arrival_pps: f64,
}

/// The totals at one time, to take differences from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    time_s: f64,
    links: Vec<LinkState>,
    branches: Vec<BranchState>,
}

impl Mark {
    pub fn set(&mut self, simulation: &Simulation) {
        self.time_s = simulation.time_s();
        self.links.clone_from(&simulation.state().links);
        self.branches.clone_from(&simulation.state().branches);
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
}

impl<'a> Interval<'a> {
    pub(crate) fn new(simulation: &'a Simulation, before: &'a Mark) -> Interval<'a> {
        Interval {
            time_s: simulation.time_s(),
            length_s: simulation.time_s() - before.time_s,
            network: simulation.network(),
            simulation,
            before,
        }
    }

    /// The link with this id.
    pub fn link(&self, id: LinkId) -> LinkInterval {
        let place = self.simulation.place(id);
        let (now, before) = (
            &self.simulation.state().links[place],
            &self.before.links[place],
        );
        let per_s = 1.0 / self.length_s;
        let offered = now.offered_pkts - before.offered_pkts;
        LinkInterval {
            arrival_pps: offered * per_s,
            departure_pps: (now.departed_pkts - before.departed_pkts) * per_s,
            queue_pkts: (now.queue_time - before.queue_time) * per_s,
            loss_probability: fraction(now.lost_pkts - before.lost_pkts, offered).min(1.0),
            utilization: (now.busy_s - before.busy_s) * per_s,
        }
    }

    /// The connection with this id.
    pub fn connection(&self, id: ConnectionId) -> ConnectionInterval {
        let (branches, share) = self.simulation.branches_of(id);
        let mut sum = BranchState::default();
        for &b in branches {
            let now = &self.simulation.state().branches[b as usize];
            let before = &self.before.branches[b as usize];
            sum.sent_pkts += now.sent_pkts - before.sent_pkts;
            sum.delivered_pkts += now.delivered_pkts - before.delivered_pkts;
            sum.rtt_time += now.rtt_time - before.rtt_time;
            sum.loss_time += now.loss_time - before.loss_time;
            sum.active_s += now.active_s - before.active_s;
        }
        ConnectionInterval {
            send_pps: sum.sent_pkts * share / self.length_s,
            goodput_pps: sum.delivered_pkts * share / self.length_s,
            rtt_s: fraction(sum.rtt_time, sum.active_s),
            loss_probability: fraction(sum.loss_time, sum.active_s).clamp(0.0, 1.0),
        }
    }

    /// The classes at every link: for each link in order, the connections whose data crosses it.
    pub fn classes(&self) -> impl Iterator<Item = ClassInterval> + '_ {
        let links = self.network.links();
        links.flat_map(|link| self.simulation.classes_at(link))
    }
}

fn fraction(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
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
}
