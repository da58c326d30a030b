//! What is recorded while a network is on its way through time.

use std::any::Any;
use std::sync::Arc;

use crate::columns;
use crate::{
    AggregateId, AggregateTotals, ConnectionId, ConnectionTotals, Experience, Explanation, LinkId,
    LinkTotals, Network, Options, PrecedenceTotals, RunError, Totals,
};

columns! {
/// One link over one recording interval.
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
    @later
    pub queueing_delay_s: Option<f64>,
}
}

columns! {
/// One connection (all `count` of it together) over one recording interval.
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
    @later
    pub delay_s: Option<f64>,
}
}

/// The data of one connection in one queue over one recording interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassInterval {
    /// Where.
    pub link: LinkId,
    /// Whose.
    pub connection: ConnectionId,
    /// How much.
    pub numbers: ClassNumbers,
}

columns! {
    /// How much of a connection's data there is in a queue.
    pub struct ClassNumbers {
        /// Its packets in the queue at the end of the interval.
        pub queue_pkts: f64,
        /// Its packets/s that arrived during the last step of the interval; where packets are followed,
        /// during the interval.
        pub arrival_pps: f64,
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
    /// Who knows what happened.
    pub told_by: &'a dyn Teller,
}

/// What can be told of an interval.
pub trait Teller {
    /// Of a link.
    fn link(&self, id: LinkId) -> LinkInterval;
    /// Of a connection.
    fn connection(&self, id: ConnectionId) -> ConnectionInterval;
    /// Why a connection sends as fast as it does.
    fn explain(&self, id: ConnectionId) -> Explanation;
    /// Of the classes at every link.
    fn classes(&self) -> Vec<ClassInterval>;
}

impl Interval<'_> {
    /// The link with this id.
    pub fn link(&self, id: LinkId) -> LinkInterval {
        self.told_by.link(id)
    }

    /// The connection with this id.
    pub fn connection(&self, id: ConnectionId) -> ConnectionInterval {
        self.told_by.connection(id)
    }

    /// Why the connection sends as fast as it does at the end of the interval, with the utilizations of
    /// the interval and, where packets are followed, its losses.
    pub fn explain(&self, id: ConnectionId) -> Explanation {
        self.told_by.explain(id)
    }

    /// The classes at every link: for each link in order, the connections whose data crosses it.
    pub fn classes(&self) -> impl Iterator<Item = ClassInterval> + '_ {
        self.told_by.classes().into_iter()
    }
}

/// A part of a run, from where it began on; by default the start of the run. Clones share it.
///
/// It belongs to the run that [`Run::begin_period`] made it with, and to clones of it.
#[derive(Clone, Debug, Default)]
pub struct Period(Option<Arc<dyn Any + Send + Sync>>);

impl Period {
    /// One that began when so much had happened.
    pub fn since(start: Arc<dyn Any + Send + Sync>) -> Period {
        Period(Some(start))
    }

    /// What had happened when it began; `None` at the start of a run.
    ///
    /// # Panics
    /// If it was begun by something that tells otherwise.
    pub fn start<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let start = self.0.clone()?;
        Some(start.downcast().expect("a period of this kind of run"))
    }
}

/// A network on its way through time, as those see it who tell of it.
///
/// Ids are those of its network: whatever takes one panics if it is of another.
pub trait Run {
    /// The network.
    fn network(&self) -> &Network;

    /// The options.
    fn options(&self) -> &Options;

    /// Simulated time in seconds.
    fn time_s(&self) -> f64;

    /// Begins a period now: all totals are those since now, until another period begins, or
    /// [`count_since`](Self::count_since) goes back to an earlier one. What moves the network is not
    /// touched.
    fn begin_period(&mut self) -> Period;

    /// From now on totals are those since `period` began; since the start with `Period::default()`.
    fn count_since(&mut self, period: &Period);

    /// When the period began that totals are of, in seconds.
    fn period_start_s(&self) -> f64;

    /// The link since the period began; without [`begin_period`](Self::begin_period) that is the start.
    fn link_totals(&self, id: LinkId) -> LinkTotals;

    /// The connection since the period began.
    fn connection_totals(&self, id: ConnectionId) -> ConnectionTotals;

    /// The aggregate since the period began; nothing with models that know no aggregates.
    fn aggregate_totals(&self, id: AggregateId) -> AggregateTotals;

    /// The packets at a link by drop precedence since the period began; `None` where the queue does not
    /// tell them apart.
    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]>;

    /// The data of all connections since the period began.
    fn totals(&self) -> Totals;

    /// The acknowledgements of all connections, likewise.
    fn ack_totals(&self) -> Totals;

    /// What the users of each workload have met with since the period began. Where packets are
    /// followed, those who came and who went since, and waits that were over since; with fluids, which
    /// play sessions over the paths of the time, all that those waited who have come since; once it is
    /// `interrupted`, of those only who were played until then.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if a session asks for more than can be played, 10 million packets.
    fn experiences(
        &self,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Experience>, RunError>;
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
    fn bound(&mut self, _run: &mut dyn Run) -> Result<(), RunError> {
        Ok(())
    }
}
