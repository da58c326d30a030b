//! Totals of a period of a run.

use std::sync::Arc;

use netflow_fluid::{BranchCounts, BranchDelays, Fluid};
use netflow_network::engine::{AggregateCounts, ConnectionCounts, LinkSums, fraction, mean};
use netflow_network::{
    AggregateId, AggregateTotals, ConnectionId, ConnectionTotals, Estimate, LinkId, LinkTotals,
    Network, Options, Percentiles, Period, PrecedenceTotals, Run, RunError, Totals, UserStats,
};

use crate::simulation::{EngineKind, Simulation};

/// Counters at the start of a period; zero at the start of the run.
#[derive(Debug, Default)]
pub(crate) struct PeriodStart {
    time_s: f64,
    links: Vec<LinkSums>,
    connections: Vec<ConnectionCounts>,
    aggregates: Vec<AggregateCounts>,
    data: Totals,
    acks: Totals,
    /// Number of lists of longest queues.
    max_queue_lists: usize,
    /// Counters of every branch; fluid model only.
    branches: Vec<BranchCounts>,
    delays: Vec<BranchDelays>,
    packets: netflow_packets::PeriodStart,
}

/// Delays of a connection's packets, one-way and round-trip.
#[derive(Default)]
struct ConnectionDelays {
    mean_s: Option<f64>,
    delay: Option<Percentiles>,
    jitter_s: Option<f64>,
    rtt: Option<Percentiles>,
}

/// Minimum number of lost packets, and minimum queue length, from which a queue counts as busy.
const BUSY_LOST_PKTS: f64 = 1.0;
const BUSY_QUEUE_PKTS: f64 = 1.0;

impl Run for Simulation {
    fn network(&self) -> &Network {
        self.engine().network()
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn time_s(&self) -> f64 {
        self.engine().time_s()
    }

    fn begin_period(&mut self) -> Period {
        let engine = self.engine();
        let network = engine.network().clone();
        let longest = network
            .links()
            .map(|id| engine.max_queue_pkts(id))
            .collect();
        let connections = network.connections();
        let (branches, delays, packets) = match self.stepper() {
            EngineKind::Fluid(fluid) => (
                fluid.branch_counts(),
                fluid.branch_delays().to_vec(),
                netflow_packets::PeriodStart::default(),
            ),
            EngineKind::Packets(packets) => (Vec::new(), Vec::new(), packets.period_start()),
        };
        let start = PeriodStart {
            time_s: engine.time_s(),
            links: network.links().map(|id| engine.link_sums(id)).collect(),
            connections: connections.map(|id| engine.connection_counts(id)).collect(),
            aggregates: network
                .aggregates()
                .map(|id| engine.aggregate_counts(id))
                .collect(),
            data: engine.totals(),
            acks: engine.ack_totals(),
            branches,
            delays,
            packets,
            max_queue_lists: self.period_max_queues_pkts.len() + 1,
        };
        self.period_max_queues_pkts.push(longest);
        self.engine_mut().reset_max_queue();
        self.start = Arc::new(start);
        Period::since(self.start.clone())
    }

    fn resume_period(&mut self, period: &Period) {
        self.start = period.start().unwrap_or_default();
    }

    fn period_start_s(&self) -> f64 {
        self.start.time_s
    }

    fn link_totals(&self, id: LinkId) -> LinkTotals {
        id.within(self.owner());
        let start = &self.start;
        let sums = self.link_sums_since_start(id);
        let per_s = self.per_s();
        let longest = self
            .period_max_queues_pkts
            .iter()
            .skip(start.max_queue_lists);
        let longest = longest.filter_map(|of_links| of_links.get(id.index()));
        let longest_pkts = longest.fold(self.engine().max_queue_pkts(id), |a, &b| a.max(b));
        let filled = match self.stepper() {
            EngineKind::Fluid(fluid) => Some(fluid.traffic_mix(id, &start.branches)),
            EngineKind::Packets(_) => None,
        };
        // A queue that loses packets, or in the fluid model one with a backlog, was busy at that
        // time.
        let waiting = filled.is_some() && longest_pkts >= BUSY_QUEUE_PKTS;
        let busy = if sums.lost_pkts >= BUSY_LOST_PKTS || waiting {
            1.0
        } else {
            sums.busy_s * per_s
        };
        let spec = self.network().link_spec(id);
        LinkTotals {
            mean_queue_pkts: sums.queue_time * per_s,
            max_queue_pkts: longest_pkts,
            loss_probability: sums.loss_probability(),
            // Shares of classes have rounding errors.
            utilization: (sums.busy_s * per_s).min(1.0),
            sojourn_time_s: sums.sojourn_time_s(),
            offered_pkts: sums.offered_pkts,
            lost_pkts: sums.lost_pkts,
            departed_pkts: sums.departed_pkts,
            link_lost_pkts: sums.link_lost_pkts,
            early_drop_pkts: match self.stepper() {
                EngineKind::Packets(_) => {
                    (self.network().drops_early(id)).then_some(sums.early_drop_pkts)
                }
                EngineKind::Fluid(_) => None,
            },
            marked_pkts: match self.stepper() {
                EngineKind::Packets(_) if self.network().marks(id) => Some(sums.marked_pkts),
                _ => None,
            },
            queued_pkts: self.engine().queue_pkts(id),
            estimate: match self.stepper() {
                EngineKind::Fluid(_) if self.is_part_of_busy_link(id) => Some(Estimate::Classes),
                EngineKind::Fluid(_) => {
                    filled.as_ref().and_then(|it| it.estimate(spec.queue, busy))
                }
                EngineKind::Packets(_) => (busy > Estimate::BUSY && self.network().is_too_fast(id))
                    .then_some(Estimate::Nanoseconds),
            },
            loss_is_size_dependent: (filled.as_ref())
                .is_some_and(|it| it.loss_is_size_dependent(spec, sums.loss_probability())),
            arrival_cov: match self.stepper() {
                EngineKind::Fluid(_) => None,
                EngineKind::Packets(packets) => packets.arrival_cov(id, &start.packets),
            },
        }
    }

    fn connection_totals(&self, id: ConnectionId) -> ConnectionTotals {
        id.within(self.owner());
        let start = &self.start;
        let before = start.connections.get(id.index());
        let before = before.copied().unwrap_or_default();
        let now = self.engine().connection_counts(id);
        let per_s = self.per_s();
        let offered_pkts = now.sent_pkts - before.sent_pkts;
        let arrived_pkts = now.arrived_pkts - before.arrived_pkts;
        let lost_pkts = now.lost_pkts - before.lost_pkts;
        let unrouted_pkts = now.unrouted_pkts - before.unrouted_pkts;
        let missing_pkts = lost_pkts + unrouted_pkts;
        let [outside_s, unusable_s, active_s] =
            std::array::from_fn(|i| now.outside_s[i] - before.outside_s[i]);
        let [timeouts, fast_retransmits] = [0, 1].map(|i| {
            let found_before = before.losses_found.map_or(0.0, |found| found[i]);
            now.losses_found.map(|found| found[i] - found_before)
        });
        let times = self.delays(id);
        ConnectionTotals {
            mean_send_pps: offered_pkts * per_s,
            mean_goodput_pps: (now.delivered_pkts - before.delivered_pkts) * per_s,
            offered_pkts,
            delivered_pkts: arrived_pkts,
            lost_pkts,
            unrouted_pkts,
            generated_pkts: now
                .generated_pkts
                .map(|pkts| pkts - before.generated_pkts.unwrap_or(0.0)),
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
            extrapolated_fraction: fraction(outside_s, active_s),
            unreliable_fraction: fraction(unusable_s, active_s),
            finished_s: now.finished_s.filter(|_| before.finished_s.is_none()),
            mean_finished_s: (now.mean_finished_s).filter(|_| before.finished_s.is_none()),
            timeouts,
            fast_retransmits,
        }
    }

    fn aggregate_totals(&self, id: AggregateId) -> AggregateTotals {
        id.within(self.owner());
        let before = self.start.aggregates.get(id.index());
        let before = before.copied().unwrap_or_default();
        let now = self.engine().aggregate_counts(id);
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

    fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]> {
        id.within(self.owner());
        self.link_sums_since_start(id).precedences
    }

    fn totals(&self) -> Totals {
        difference(&self.engine().totals(), &self.start.data)
    }

    fn ack_totals(&self) -> Totals {
        difference(&self.engine().ack_totals(), &self.start.acks)
    }

    fn experiences(
        &self,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<UserStats>, RunError> {
        match self.stepper() {
            EngineKind::Fluid(fluid) => fluid.experiences(self.period_start_s(), interrupted),
            EngineKind::Packets(packets) => Ok(packets.user_stats(&self.start.packets)),
        }
    }
}

impl Simulation {
    /// Returns whether the queues of the same link together keep it busy.
    fn is_part_of_busy_link(&self, id: LinkId) -> bool {
        let Some(queues) = self.network().queues_sharing_with(id) else {
            return false;
        };
        let busy_s: f64 = queues.map(|it| self.link_sums_since_start(it).busy_s).sum();
        busy_s * self.per_s() > Estimate::BUSY
    }

    /// Returns the counters of the link since the period began.
    fn link_sums_since_start(&self, id: LinkId) -> LinkSums {
        let before = self.start.links.get(id.index());
        self.engine()
            .link_sums(id)
            .since(&before.copied().unwrap_or_default())
    }

    /// Returns the delays of a connection's packets since the period began.
    fn delays(&self, id: ConnectionId) -> ConnectionDelays {
        let start = &self.start;
        match self.stepper() {
            EngineKind::Fluid(fluid) => {
                let delays = fluid.delays_since(id, &start.delays);
                let is_answered = self.network().connection_spec(id).source.is_answered();
                // Before the first delivery, the queue law already estimates the delay.
                let links_s = self.sum_of_link_delays_s(fluid, id);
                let delivers = links_s.is_some();
                let mean_s = links_s.map(|links_s| delays.mean_s().unwrap_or(links_s));
                ConnectionDelays {
                    mean_s,
                    delay: delays.one_way().filter(|_| delivers),
                    jitter_s: delays.jitter_s().filter(|_| delivers),
                    rtt: delays.round_trip().filter(|_| delivers && is_answered),
                }
            }
            EngineKind::Packets(packets) => {
                let delays = packets.delays_since(id, &start.packets);
                let one_way = delays.one_way.as_ref();
                ConnectionDelays {
                    mean_s: one_way.and_then(|it| it.times.mean_s()),
                    delay: one_way.and_then(|it| it.times.percentiles()),
                    jitter_s: one_way.and_then(|it| it.jitter_s()),
                    rtt: delays.round_trip.and_then(|it| it.percentiles()),
                }
            }
        }
    }

    /// Returns the mean delay of a connection's delivered packets. At every link their waiting time is
    /// assumed to be that of the average packet that departed there in the period.
    fn sum_of_link_delays_s(&self, fluid: &Fluid, id: ConnectionId) -> Option<f64> {
        let start = &self.start;
        let bits = 8.0 * self.network().connection_spec(id).packet_size_bytes;
        let (branches, _) = fluid.branches_of(id);
        let (mut time, mut delivered_pkts) = (0.0, 0.0);
        for &b in branches {
            let before = start.branches.get(b as usize).copied().unwrap_or_default();
            let pkts = fluid.branch_counts_of(b).delivered_pkts - before.delivered_pkts;
            let inner = &self.network().tables();
            let of = |&l: &u32| {
                let sums = self.link_sums_since_start(LinkId::new(l, inner.owner));
                let link = &inner.links[l as usize];
                sums.delay_s(link.overhead.wire_bits(bits), link.delay_s)
            };
            // The delay is unknown at a link from which nothing has departed in the period.
            if pkts > 0.0
                && let Some(delay_s) = inner.data_path(b).iter().map(of).sum::<Option<f64>>()
            {
                time += pkts * delay_s;
                delivered_pkts += pkts;
            }
        }
        mean(time, delivered_pkts)
    }

    /// Returns the inverse of the length of the period so far.
    fn per_s(&self) -> f64 {
        fraction(1.0, self.time_s() - self.start.time_s)
    }
}

/// Returns the totals since `before`. Packets queued and in flight then are the initial content of
/// the period.
fn difference(now: &Totals, before: &Totals) -> Totals {
    Totals {
        before_pkts: before.queued_pkts + before.in_flight_pkts,
        offered_pkts: now.offered_pkts - before.offered_pkts,
        delivered_pkts: now.delivered_pkts - before.delivered_pkts,
        lost_pkts: now.lost_pkts - before.lost_pkts,
        unrouted_pkts: now.unrouted_pkts - before.unrouted_pkts,
        queued_pkts: now.queued_pkts,
        in_flight_pkts: now.in_flight_pkts,
    }
}
