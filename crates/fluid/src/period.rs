//! Totals of a part of a run: what has happened since it began.

use std::sync::Arc;

use crate::delays::BranchDelays;
use crate::fluid::Fluid;
use crate::record::{LinkSums, fraction, mean};
use crate::simulation::{Simulation, Stepper};
use crate::totals::{ConnectionTotals, LinkTotals, Totals};
use crate::window::WindowStart;
use crate::{
    AggregateId, AggregateTotals, ConnectionId, Experience, LinkId, Percentiles, PrecedenceTotals,
    RunError,
};

/// When a period of a run began, and what had happened until then.
///
/// It belongs to the simulation that [`Simulation::begin_period`] made it with. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Period {
    start: Arc<Start>,
}

/// What had happened until a period began; nothing at the start of the run.
#[derive(Debug, Default)]
struct Start {
    time_s: f64,
    links: Vec<LinkSums>,
    connections: Vec<ConnectionCounts>,
    aggregates: Vec<AggregateCounts>,
    data: Totals,
    acks: Totals,
    /// How many lists of longest queues there were.
    longest: usize,
    /// Of every branch of a fluid.
    branches: Vec<BranchCounts>,
    delays: Vec<BranchDelays>,
    window: WindowStart,
}

/// What a connection (all `count` of it together) has come to since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionCounts {
    /// Blocked packets included.
    pub sent_pkts: f64,
    /// In order, as applications get them; and in any order.
    pub delivered_pkts: f64,
    pub arrived_pkts: f64,
    pub lost_pkts: f64,
    pub blocked_pkts: f64,
    pub rtt_time: f64,
    pub rtt_weight: f64,
    /// Seconds of sending outside the profile's domain, further out than is usable, and all.
    pub outside_s: [f64; 3],
    /// Timeouts, and losses found by duplicate acknowledgements.
    pub losses_found: Option<[f64; 2]>,
    /// Not sums, but how it is now.
    pub queued_pkts: f64,
    pub in_flight_pkts: f64,
    pub finished_s: Option<f64>,
}

/// What an aggregate has come to since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AggregateCounts {
    pub sent_pkts: [f64; 3],
    pub delivered_pkts: [f64; 3],
    pub lost_pkts: [f64; 3],
    /// Delivered to applications.
    pub goodput_pkts: f64,
    pub goodput_bits: f64,
    /// How it is now.
    pub measured_bps: f64,
    pub marking: [f64; 3],
    pub rtt_s: Option<f64>,
}

/// How long packets of a connection took, from sender to receiver and back again.
#[derive(Default)]
struct Took {
    mean_s: Option<f64>,
    delay: Option<Percentiles>,
    jitter_s: Option<f64>,
    rtt: Option<Percentiles>,
}

/// What one branch of a fluid has come to since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BranchCounts {
    pub sent_pkts: f64,
    pub delivered_pkts: f64,
}

/// A queue counts as busy once it has refused so many packets, or its link has been busy for more than
/// this part of the time; and as filled by profiles if they sent this part of its data.
const FULL_PKTS: f64 = 1.0;
const BUSY: f64 = 0.5;
const FILLING: f64 = 0.1;

impl Simulation {
    /// Begins a period now: all totals are those since now, until another period begins, or
    /// [`count_since`](Self::count_since) goes back to an earlier one. What moves the network is not
    /// touched.
    pub fn begin_period(&mut self) -> Period {
        let network = self.network().clone();
        let longest = network.links().map(|id| self.longest_now(id)).collect();
        self.longest.push(longest);
        match self.stepper_mut() {
            Stepper::Fluid(fluid) => fluid.restart_longest(),
            Stepper::Window(window) => window.restart_longest(),
        }
        let connections = network.connections();
        let start = Start {
            time_s: self.time_s(),
            links: network.links().map(|id| self.link_sums(id)).collect(),
            connections: connections.map(|id| self.connection_counts(id)).collect(),
            aggregates: network
                .aggregates()
                .map(|id| self.aggregate_counts(id))
                .collect(),
            data: self.data_from_start(),
            acks: self.acks_from_start(),
            longest: self.longest.len(),
            branches: match self.stepper() {
                Stepper::Fluid(fluid) => fluid.branch_counts(),
                Stepper::Window(_) => Vec::new(),
            },
            delays: match self.stepper() {
                Stepper::Fluid(fluid) => fluid.state.told.delays.clone(),
                Stepper::Window(_) => Vec::new(),
            },
            window: match self.stepper() {
                Stepper::Fluid(_) => WindowStart::default(),
                Stepper::Window(window) => window.start(),
            },
        };
        self.period = Period {
            start: Arc::new(start),
        };
        self.period.clone()
    }

    /// From now on totals are those since `period` began; since the start with `Period::default()`.
    pub fn count_since(&mut self, period: &Period) {
        self.period = period.clone();
    }

    /// When the period began that totals are of, in seconds.
    pub fn period_start_s(&self) -> f64 {
        self.start().time_s
    }

    fn start(&self) -> &Start {
        &self.period.start
    }

    /// The link since the period began; without [`begin_period`](Self::begin_period) that is the start.
    pub fn link_totals(&self, id: LinkId) -> LinkTotals {
        id.within(self.owner());
        let start = self.start();
        let sums = self.sums_of(id);
        let per_s = self.per_s();
        let is_busy = sums.lost_pkts >= FULL_PKTS || sums.busy_s * per_s > BUSY;
        let longest = self.longest.iter().skip(start.longest);
        let longest = longest.filter_map(|of_links| of_links.get(id.index()));
        LinkTotals {
            mean_queue_pkts: sums.queue_time * per_s,
            max_queue_pkts: longest.fold(self.longest_now(id), |a, &b| a.max(b)),
            loss_probability: sums.loss_probability(),
            utilization: sums.busy_s * per_s,
            queueing_delay_s: mean(sums.queue_time, sums.departed_pkts),
            offered_pkts: sums.offered_pkts,
            lost_pkts: sums.lost_pkts,
            departed_pkts: sums.departed_pkts,
            queued_pkts: self.queue_pkts(id),
            queue_is_estimate: match self.stepper() {
                Stepper::Fluid(fluid) => {
                    is_busy && fluid.filled_by_profiles(id, &start.branches) >= FILLING
                }
                Stepper::Window(_) => false,
            },
            arrival_cov: match self.stepper() {
                Stepper::Fluid(_) => None,
                Stepper::Window(window) => window.arrival_cov(id, &start.window),
            },
        }
    }

    /// What the link has done since the period began.
    fn sums_of(&self, id: LinkId) -> LinkSums {
        let before = self.start().links.get(id.index());
        self.link_sums(id)
            .since(&before.copied().unwrap_or_default())
    }

    /// The connection since the period began; without [`begin_period`](Self::begin_period) that is the
    /// start.
    pub fn connection_totals(&self, id: ConnectionId) -> ConnectionTotals {
        id.within(self.owner());
        let start = self.start();
        let before = start.connections.get(id.index());
        let before = before.copied().unwrap_or_default();
        let now = self.connection_counts(id);
        let per_s = self.per_s();
        let offered_pkts = now.sent_pkts - before.sent_pkts;
        let arrived_pkts = now.arrived_pkts - before.arrived_pkts;
        let lost_pkts = now.lost_pkts - before.lost_pkts;
        let blocked_pkts = now.blocked_pkts - before.blocked_pkts;
        let missing_pkts = lost_pkts + blocked_pkts;
        let [outside_s, unusable_s, active_s] =
            std::array::from_fn(|i| now.outside_s[i] - before.outside_s[i]);
        let [timeouts, fast_retransmits] = [0, 1].map(|i| {
            let found_before = before.losses_found.map_or(0.0, |found| found[i]);
            now.losses_found.map(|found| found[i] - found_before)
        });
        let times = self.times(id);
        ConnectionTotals {
            mean_send_pps: offered_pkts * per_s,
            mean_goodput_pps: (now.delivered_pkts - before.delivered_pkts) * per_s,
            offered_pkts,
            delivered_pkts: arrived_pkts,
            lost_pkts,
            blocked_pkts,
            queued_pkts: now.queued_pkts,
            in_flight_pkts: now.in_flight_pkts,
            mean_rtt_s: mean(
                now.rtt_time - before.rtt_time,
                now.rtt_weight - before.rtt_weight,
            ),
            mean_delay_s: times.mean_s,
            delay: times.delay,
            jitter_s: times.jitter_s,
            rtt: times.rtt,
            loss_probability: mean(missing_pkts, missing_pkts + arrived_pkts),
            outside_profile_fraction: fraction(outside_s, active_s),
            unusable_profile_fraction: fraction(unusable_s, active_s),
            finished_s: now.finished_s.filter(|_| before.finished_s.is_none()),
            timeouts,
            fast_retransmits,
        }
    }

    /// How long packets of a connection took since the period began.
    fn times(&self, id: ConnectionId) -> Took {
        let start = self.start();
        match self.stepper() {
            Stepper::Fluid(fluid) => {
                let delays = fluid.delays_since(id, &start.delays);
                let is_answered = self.network().connection_spec(id).source.is_answered();
                Took {
                    mean_s: self.mean_delay_s(fluid, id),
                    delay: delays.one_way(),
                    jitter_s: delays.jitter_s(),
                    rtt: delays.round_trip().filter(|_| is_answered),
                }
            }
            Stepper::Window(window) => match window.delays_since(id, &start.window) {
                Some(delays) => Took {
                    mean_s: delays.one_way.mean_s(),
                    delay: delays.one_way.percentiles(),
                    jitter_s: delays.jitter_s(),
                    rtt: delays.round_trip.percentiles(),
                },
                None => Took::default(),
            },
        }
    }

    /// What packets of a connection took that were delivered: at every link of their way the mean of all
    /// that departed there.
    fn mean_delay_s(&self, fluid: &Fluid, id: ConnectionId) -> Option<f64> {
        let start = self.start();
        let (branches, _) = fluid.branches_of(id);
        let (mut time, mut delivered_pkts) = (0.0, 0.0);
        for &b in branches {
            let before = start.branches.get(b as usize).copied().unwrap_or_default();
            let pkts = fluid.branch_counts_of(b).delivered_pkts - before.delivered_pkts;
            let inner = &self.network().inner;
            let of = |&l: &u32| {
                let sums = self.sums_of(LinkId(l, inner.owner));
                let queueing_s = mean(sums.queue_time, sums.departed_pkts)?;
                Some(queueing_s + inner.links[l as usize].delay_s)
            };
            // Of those that left a link before the period, and nothing since, it is not known.
            if pkts > 0.0
                && let Some(delay_s) = inner.data_path(b).iter().map(of).sum::<Option<f64>>()
            {
                time += pkts * delay_s;
                delivered_pkts += pkts;
            }
        }
        mean(time, delivered_pkts)
    }

    /// The data of all connections since the period began; without
    /// [`begin_period`](Self::begin_period) that is the start.
    pub fn totals(&self) -> Totals {
        self.data_from_start().since(&self.start().data)
    }

    /// The acknowledgements of all connections, likewise.
    pub fn ack_totals(&self) -> Totals {
        self.acks_from_start().since(&self.start().acks)
    }

    /// The aggregate since the period began; nothing with models that know no aggregates.
    pub fn aggregate_totals(&self, id: AggregateId) -> AggregateTotals {
        id.within(self.owner());
        let before = self.start().aggregates.get(id.index());
        let before = before.copied().unwrap_or_default();
        let now = self.aggregate_counts(id);
        let per_s = self.per_s();
        let since = |now: [f64; 3], before: [f64; 3]| std::array::from_fn(|p| now[p] - before[p]);
        AggregateTotals {
            sent_pkts: since(now.sent_pkts, before.sent_pkts),
            delivered_pkts: since(now.delivered_pkts, before.delivered_pkts),
            lost_pkts: since(now.lost_pkts, before.lost_pkts),
            mean_goodput_pps: (now.goodput_pkts - before.goodput_pkts) * per_s,
            mean_goodput_bps: (now.goodput_bits - before.goodput_bits) * per_s,
            measured_bps: now.measured_bps,
            marking: now.marking,
            rtt_s: now.rtt_s,
        }
    }

    /// The packets at a link by drop precedence since the period began; `None` where the queue does not
    /// tell them apart.
    pub fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]> {
        id.within(self.owner());
        self.sums_of(id).precedences
    }

    /// What the users of each workload have met with since the period began. With the window model,
    /// those who came and who went since, and waits that were over since; with the fluid models, which
    /// play sessions over the paths of the time, all that those waited who have come since; once it is
    /// `interrupted`, of those only who were played until then.
    ///
    /// # Errors
    /// [`RunError::BadOption`] if a session asks for more than can be played, 10 million packets.
    pub fn experiences(
        &self,
        interrupted: impl Fn() -> bool + Sync,
    ) -> Result<Vec<Experience>, RunError> {
        match self.stepper() {
            Stepper::Fluid(fluid) => fluid.experiences(self.period_start_s(), &interrupted),
            Stepper::Window(window) => Ok(window.experiences(&self.start().window)),
        }
    }

    /// One over the length of the period so far.
    fn per_s(&self) -> f64 {
        fraction(1.0, self.time_s() - self.start().time_s)
    }
}

impl Totals {
    /// These since then. What was under way then is what the period began with.
    fn since(&self, before: &Totals) -> Totals {
        Totals {
            before_pkts: before.queued_pkts + before.in_flight_pkts,
            offered_pkts: self.offered_pkts - before.offered_pkts,
            delivered_pkts: self.delivered_pkts - before.delivered_pkts,
            lost_pkts: self.lost_pkts - before.lost_pkts,
            blocked_pkts: self.blocked_pkts - before.blocked_pkts,
            queued_pkts: self.queued_pkts,
            in_flight_pkts: self.in_flight_pkts,
        }
    }
}
