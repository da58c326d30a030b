//! Recording of a run: values over intervals and totals over periods.

use std::any::Any;
use std::sync::Arc;

use crate::columns;
use crate::{
    AggregateId, AggregateTotals, ConnectionId, ConnectionTotals, Explanation, LinkId, LinkTotals,
    Network, Options, PrecedenceTotals, RunError, Totals, UserStats,
};

// The columns of links.csv.
columns! {
/// Values of a link over one recording interval.
pub struct LinkInterval {
    /// Arrival rate in packets/s, data and acknowledgements.
    pub arrival_pps: f64,
    /// Departure rate in packets/s.
    pub departure_pps: f64,
    /// Mean queue in packets, the packet in service included.
    pub queue_pkts: f64,
    /// Packets lost over packets that arrived; 0 without arrivals.
    pub loss_probability: f64,
    /// Fraction of the time in which the link transmits.
    pub utilization: f64,
    /// Mean sojourn time of a packet in seconds: queueing delay and transmission (Little's law: mean
    /// queue over departure rate); `None` without departures.
    @later
    pub sojourn_time_s: Option<f64>,
}
}

columns! {
/// Values of a connection (totals of all `count` of it) over one recording interval.
pub struct ConnectionInterval {
    /// Sending rate in data packets/s.
    pub send_pps: f64,
    /// Goodput in data packets/s.
    pub goodput_pps: f64,
    /// Mean round-trip time in seconds while it is sending; `None` if not measured and for
    /// unresponsive sources.
    pub rtt_s: Option<f64>,
    /// Mean loss probability while it is sending; `None` if it is not sending.
    pub loss_probability: Option<f64>,
    /// Mean one-way delay in seconds of packets that arrived; `None` without arrivals. In the fluid
    /// model: the current mean delay of the path.
    @later
    pub delay_s: Option<f64>,
}
}

/// Data of one connection in one queue over one recording interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassInterval {
    /// The link.
    pub link: LinkId,
    /// The connection.
    pub connection: ConnectionId,
    /// Its numbers.
    pub numbers: ClassNumbers,
}

columns! {
    /// Data of a connection in a queue.
    pub struct ClassNumbers {
        /// Packets of the connection in the queue at the end of the interval.
        pub queue_pkts: f64,
        /// Arrival rate of the connection in packets/s during the last time step of the interval; in
        /// the packet model, during the interval.
        pub arrival_pps: f64,
    }
}

/// Values since the last recording: means over the interval that ends at `time_s`.
pub struct Interval<'a> {
    /// End of the interval in seconds.
    pub time_s: f64,
    /// Length of the interval in seconds.
    pub length_s: f64,
    /// The network, for names.
    pub network: &'a Network,
    /// Source of the values.
    pub reader: &'a dyn IntervalReader,
}

/// Reader of the values of one interval.
pub trait IntervalReader {
    /// Returns the values of a link.
    fn link(&self, id: LinkId) -> LinkInterval;
    /// Returns the values of a connection.
    fn connection(&self, id: ConnectionId) -> ConnectionInterval;
    /// Explains the rate of a connection.
    fn explain(&self, id: ConnectionId) -> Explanation;
    /// Returns the values of the connection classes at every link.
    fn classes(&self) -> Vec<ClassInterval>;
}

impl Interval<'_> {
    /// Returns the values of a link.
    pub fn link(&self, id: LinkId) -> LinkInterval {
        self.reader.link(id)
    }

    /// Returns the values of a connection.
    pub fn connection(&self, id: ConnectionId) -> ConnectionInterval {
        self.reader.connection(id)
    }

    /// Explains the connection's rate at the end of the interval. Utilizations, and in the packet model
    /// losses, are those of the interval.
    pub fn explain(&self, id: ConnectionId) -> Explanation {
        self.reader.explain(id)
    }

    /// Returns the classes at every link: for each link in order, the connections whose data crosses it.
    pub fn classes(&self) -> impl Iterator<Item = ClassInterval> + '_ {
        self.reader.classes().into_iter()
    }
}

/// Part of a run over which totals are counted, given by its start; by default the start of the run. Clones
/// share it.
///
/// It belongs to the run whose [`Run::begin_period`] returned it, and to clones of that run.
#[derive(Clone, Debug, Default)]
pub struct Period(Option<Arc<dyn Any + Send + Sync>>);

impl Period {
    /// Returns a period that begins at this state of the counters.
    pub fn since(start: Arc<dyn Any + Send + Sync>) -> Period {
        Period(Some(start))
    }

    /// Returns the state of the counters at its start; `None` at the start of a run.
    ///
    /// # Panics
    /// If another kind of run began it.
    pub fn start<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let start = self.0.clone()?;
        Some(start.downcast().expect("a period of this kind of run"))
    }
}

/// Simulation run, as recorders see it.
///
/// Ids are those of its network: functions panic for an id of another network.
pub trait Run {
    /// Returns the network.
    fn network(&self) -> &Network;

    /// Returns the options.
    fn options(&self) -> &Options;

    /// Returns the simulated time in seconds.
    fn time_s(&self) -> f64;

    /// Begins a period now. All totals count from now on, until another period begins or
    /// [`resume_period`](Self::resume_period) returns to an earlier one. The simulation itself is not affected.
    fn begin_period(&mut self) -> Period;

    /// Makes totals count from the start of `period`; `Period::default()` is the start of the run.
    fn resume_period(&mut self, period: &Period);

    /// Returns the start of the current period in seconds.
    fn period_start_s(&self) -> f64;

    /// Returns the totals of the link in the current period, which begins at the start without
    /// [`begin_period`](Self::begin_period).
    fn link_totals(&self, id: LinkId) -> LinkTotals;

    /// Returns the totals of the connection in the current period.
    fn connection_totals(&self, id: ConnectionId) -> ConnectionTotals;

    /// Returns the totals of the aggregate in the current period; zero for models without aggregates.
    fn aggregate_totals(&self, id: AggregateId) -> AggregateTotals;

    /// Returns the packets at a link by drop precedence in the current period; `None` if the queue does not
    /// distinguish precedences.
    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]>;

    /// Returns the totals of the data of all connections in the current period.
    fn totals(&self) -> Totals;

    /// Returns the totals of the acknowledgements of all connections in the current period.
    fn ack_totals(&self) -> Totals;

    /// Returns the response times of each workload's users in the current period. In the packet model, it
    /// covers arrivals, departures and waits that ended in the period. The fluid models replay sessions over
    /// the paths of the time and report all waits of users that arrived in the period. If `interrupted`
    /// returns true, only users replayed until then are included.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if a session is longer than 10 million packets.
    fn experiences(
        &self,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<UserStats>, RunError>;
}

/// Recorder of the values of a run.
pub trait Recorder {
    /// Error of recording.
    type Error;
    /// Records an interval; called at the end of every recording interval, in order of time.
    ///
    /// # Errors
    /// Any error stops the run.
    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Self::Error>;

    /// Receives every piece of time between ends of recording intervals and bounds, before them.
    fn partial_interval(&mut self, _piece: &Interval<'_>) {}

    /// Returns the time in seconds of the next call of [`checkpoint`](Self::checkpoint), within the duration; `None`
    /// for no call.
    fn next_checkpoint_s(&self) -> Option<f64> {
        None
    }

    /// Called exactly at that time, for example to begin a period. Afterwards, `next_checkpoint_s` must return a
    /// later time.
    ///
    /// # Errors
    /// Any error stops the run.
    fn checkpoint(&mut self, _run: &mut dyn Run) -> Result<(), RunError> {
        Ok(())
    }
}
