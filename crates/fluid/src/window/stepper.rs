//! The window stepper as a simulation: time in seconds, events, and what it tells.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::delays::Delays;
use super::edge::UPDATE_NS;
use super::ends::Transfer;
use super::engine::Engine;
use super::plan::HopSpec;
use crate::explain::{ExplainedHop, Explanation};
use crate::network::{ACK_BYTES, NO_BRANCH};
use crate::period::{AggregateCounts, ConnectionCounts};
use crate::record::{ClassInterval, ConnectionSums, LinkSums, fraction, mean};
use crate::totals::Totals;
use crate::{
    AggregateId, ConnectionId, Experience, LinkId, Network, Options, PrecedenceTotals, RunError,
    Source, Step, TcpVariant,
};

/// A network of packets on its way through time.
#[derive(Clone)]
pub(crate) struct Window {
    options: Options,
    engine: Engine,
    /// The first of the transfers of each connection.
    first_transfer: Vec<u32>,
    /// Arrivals per interval at each link.
    arrivals: Vec<Arrivals>,
    /// Data packets of each transfer that wait in queues and that are between them, now.
    under_way: OnceLock<Vec<(u32, u32)>>,
}

/// The packets that arrive in intervals of the same length.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    intervals: u64,
    /// All of them, and the squares of those of each interval.
    pkts: u64,
    squares: u128,
}

/// What had happened until a period began, of what only packets tell.
#[derive(Debug, Default)]
pub(crate) struct WindowStart {
    arrivals: Vec<Arrivals>,
    delays: Vec<Option<Box<Delays>>>,
    /// By workload: who came, who went, and the waits that were over.
    users: Vec<(u64, u64, usize)>,
}

/// Arrivals are counted in no more intervals than these that are shorter than usual: at the end of
/// each, all links are visited.
const MOST_COUNTED: f64 = 1e6;

impl Window {
    pub fn new(network: Network, options: Options) -> Result<Window, RunError> {
        let bad = |option, reason: String| Err(RunError::BadOption { option, reason });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(options.duration_s) || options.duration_s > 1e9 {
            let is = options.duration_s;
            return bad("duration", format!("it is {is} s, but must be positive"));
        }
        let moments = [
            ("duration", options.duration_s),
            ("burstiness-interval", options.burstiness_interval_s),
        ];
        for (option, time_s) in moments {
            if positive(time_s) && ns(time_s) == 0 {
                return bad(option, no_moment(time_s));
            }
        }
        let adapts = matches!(options.step, Step::Adaptive { .. });
        if adapts || !positive(options.step.longest_s()) {
            return bad(
                "step",
                "the window model takes steps of one, positive length".to_owned(),
            );
        }
        if !positive(options.burstiness_interval_s) {
            let is = options.burstiness_interval_s;
            return bad(
                "burstiness-interval",
                format!("it is {is} s, but must be positive"),
            );
        }
        let intervals = options.duration_s / options.burstiness_interval_s;
        let is_short = options.burstiness_interval_s < Options::default().burstiness_interval_s;
        if is_short && intervals > MOST_COUNTED {
            let (is, least_s) = (
                options.burstiness_interval_s,
                options.duration_s / MOST_COUNTED,
            );
            return bad(
                "burstiness-interval",
                format!(
                    "it is {is} s, which makes {intervals:.3e} intervals; of at least {least_s} s \
                     it makes no more than {MOST_COUNTED:e}"
                ),
            );
        }
        let needed = needed_bytes(&network);
        let allowed_bytes = network.inner.memory_limit_bytes;
        check_memory(needed, allowed_bytes)?;
        let arrivals = vec![Arrivals::default(); network.link_count()];
        let mut first_transfer = vec![0; network.connection_count()];
        let engine = Engine::new(network, options.seed);
        let mut next = 0;
        for &connection in &engine.numbers.connections {
            first_transfer[connection as usize] = next;
            next += engine.network.inner.connections[connection as usize].count;
        }
        Ok(Window {
            arrivals,
            engine,
            options,
            first_transfer,
            under_way: OnceLock::new(),
        })
    }

    /// One step of the length that was asked for.
    pub fn step(&mut self) -> Result<(), RunError> {
        let step_s = self.options.step.longest_s();
        self.run_until(self.engine.now_ns() + ns(step_s).max(1))
    }

    /// Goes on to `time_s`, to the nanosecond, or to the end of the duration.
    pub fn reach(&mut self, time_s: f64) -> Result<(), RunError> {
        self.run_until(ns(time_s))
    }

    /// Whether it has come to `time_s`, to the nanosecond.
    pub fn has_reached(&self, time_s: f64) -> bool {
        self.engine.now_ns() >= ns(time_s)
    }

    fn run_until(&mut self, end_ns: u64) -> Result<(), RunError> {
        let end_ns = end_ns.min(ns(self.options.duration_s));
        self.under_way = OnceLock::new();
        while self.engine.now_ns() < end_ns {
            let interval_ns = ns(self.options.burstiness_interval_s);
            let counted_ns = (self.engine.now_ns() / interval_ns + 1) * interval_ns;
            let event_ns = self.engine.next_event_ns().unwrap_or(u64::MAX);
            let told_ns = match self.network().inner.aggregates.is_empty() {
                true => u64::MAX,
                false => (self.engine.now_ns() / UPDATE_NS + 1) * UPDATE_NS,
            };
            let until_ns = end_ns.min(counted_ns).min(event_ns).min(told_ns);
            self.engine.run_until(until_ns);
            self.engine.apply_events();
            if self.engine.now_ns() == told_ns {
                self.engine.exchange();
            }
            if self.engine.now_ns() == counted_ns {
                self.count_arrivals();
            }
        }
        // How many users are there at a time is not known before.
        let visits = self.engine.slots() as f64 * OF_VISIT;
        let allowed_bytes = self.network().inner.memory_limit_bytes;
        check_memory(visits, allowed_bytes)
    }

    fn count_arrivals(&mut self) {
        for (l, arrivals) in self.arrivals.iter_mut().enumerate() {
            let all = self.engine.link_counts(l).offered();
            let arrived = u128::from(all - arrivals.pkts);
            arrivals.intervals += 1;
            arrivals.pkts = all;
            arrivals.squares += arrived * arrived;
        }
    }

    pub fn time_s(&self) -> f64 {
        self.engine.now_ns() as f64 * 1e-9
    }

    pub fn steps(&self) -> u64 {
        self.engine.steps
    }

    pub fn network(&self) -> &Network {
        &self.engine.network
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn queue_pkts(&self, id: LinkId) -> f64 {
        self.engine.queue_pkts(id.index()) as f64
    }

    /// 1 where the queue is full now.
    pub fn blocking(&self, id: LinkId) -> f64 {
        f64::from(u8::from(
            self.queue_pkts(id) >= self.network().room_pkts(id).floor(),
        ))
    }

    /// Since the start: what it is now is 0 or 1.
    pub fn utilization(&self, id: LinkId) -> f64 {
        self.link_sums(id).busy_s * fraction(1.0, self.time_s())
    }

    /// The window over the round-trip time, of all of it; of others, their rate; of users, what they
    /// have sent so far over the time.
    pub fn send_pps(&self, id: ConnectionId) -> f64 {
        if let Source::Users(_) = self.network().connection_spec(id).source {
            // Their windows do not say what they have to send.
            return self.connection_sums(id).sent_pkts * fraction(1.0, self.time_s());
        }
        let transfers = self.transfers(id);
        transfers.map(|t| t.rate_pps(self.engine.now_ns())).sum()
    }

    pub fn explain(&self, id: ConnectionId) -> Explanation {
        let network = self.network();
        let spec = network.connection_spec(id);
        let marking = self.marking_of(id);
        let hop = |link: LinkId, back: bool| {
            let of = network.link_spec(link);
            let bits = match back {
                true => 8.0 * ACK_BYTES,
                false => 8.0 * spec.packet_size_bytes,
            };
            let queue_pkts = self.queue_pkts(link);
            let waiting_s = self.engine.work_ns(link.index()) as f64 * 1e-9;
            let sums = self.link_sums(link);
            ExplainedHop {
                link,
                back,
                utilization: self.utilization(link),
                queue_pkts,
                service_pps: match waiting_s > 0.0 {
                    true => queue_pkts / waiting_s,
                    false => of.bandwidth_bps / bits,
                },
                waiting_s,
                transmission_s: bits / of.bandwidth_bps,
                propagation_s: of.delay_s,
                loss_probability: sums.lost_of(if back { OF_ACKS } else { marking }),
            }
        };
        let inner = &*network.inner;
        let class = inner.class_of[id.index()] as usize;
        let hops = match inner.epochs[self.engine.epoch].branch_of[class] {
            NO_BRANCH => Vec::new(),
            branch => {
                let id = |&l: &u32| LinkId(l, inner.owner);
                let there = inner.data_path(branch).iter().map(id);
                let back = inner.back_path(branch).iter().map(id);
                let there = there.map(|link| hop(link, false));
                there.chain(back.map(|link| hop(link, true))).collect()
            }
        };
        let mut explanation = Explanation::of_way(self.time_s(), spec.count, hops);
        let now_ns = self.engine.now_ns();
        explanation.sending = self.transfers(id).any(|t| t.is_sending(now_ns));
        explanation.rate_pps = self.send_pps(id) / f64::from(spec.count);
        let application_pps = spec.application.mean_pps();
        explanation.application_pps = Some(application_pps).filter(|pps| pps.is_finite());
        if let Source::Profile(profile) = &spec.source {
            explanation.profile = Some(profile.name().to_owned());
        }
        // The first of those that are sending stands for all.
        if let Some(transfer) = self.transfers(id).find(|t| t.is_sending(now_ns)) {
            match transfer.applied() {
                Ok(applied) => {
                    explanation.apply(applied, transfer.window_limit_pkts());
                    if let Source::Profile(profile) = &spec.source {
                        explanation.outside = profile.outside(applied.loss, applied.rtt_s);
                    }
                }
                Err(limit) => {
                    explanation.limit = limit;
                    let sums = self.connection_counts(id);
                    let missing = sums.lost_pkts + sums.blocked_pkts;
                    explanation.seen_loss_probability = mean(missing, missing + sums.arrived_pkts);
                    let rtts_s = self.transfers(id).map(Transfer::seen_rtt_s);
                    let (sum_s, n) = rtts_s
                        .filter(|&rtt_s| rtt_s > 0.0)
                        .fold((0.0, 0.0), |(sum, n), rtt_s| (sum + rtt_s, n + 1.0));
                    explanation.seen_rtt_s = mean(sum_s, n);
                    explanation.window_limit_pps = explanation
                        .seen_rtt_s
                        .map(|rtt_s| transfer.window_limit_pkts() / rtt_s)
                        .filter(|_| spec.max_window_pkts.is_some());
                }
            }
        }
        explanation
    }

    /// How the data of a connection is marked: what belongs to nobody is DP2.
    pub fn marking_of(&self, id: ConnectionId) -> [f64; 3] {
        match self.network().inner.aggregate_of(id.0) {
            Some(aggregate) => self.engine.edges[aggregate as usize].marking(),
            None => [0.0, 0.0, 1.0],
        }
    }

    /// The longest queue since it was asked to restart.
    pub fn longest_pkts(&self, id: LinkId) -> f64 {
        f64::from(self.engine.link_counts(id.index()).most)
    }

    /// From now on the longest queues are those from now on.
    pub fn restart_longest(&mut self) {
        self.engine.restart_longest();
    }

    pub fn start(&self) -> WindowStart {
        let crowds = self.engine.crowds.iter();
        WindowStart {
            arrivals: self.arrivals.clone(),
            delays: self.engine.delays.clone(),
            users: crowds
                .map(|crowd| (crowd.came, crowd.gone, crowd.waits.len()))
                .collect(),
        }
    }

    /// Spread over mean of the packets that arrived in the intervals that ended since then.
    pub fn arrival_cov(&self, id: LinkId, start: &WindowStart) -> Option<f64> {
        let now = self.arrivals.get(id.index())?;
        let before = start.arrivals.get(id.index()).copied().unwrap_or_default();
        let intervals = u128::from(now.intervals - before.intervals);
        let pkts = u128::from(now.pkts - before.pkts);
        let off_squares = intervals * (now.squares - before.squares) - pkts * pkts;
        (pkts > 0).then(|| (off_squares as f64).sqrt() / pkts as f64)
    }

    /// How long packets of a connection took since then; `None` if none has arrived yet.
    pub fn delays_since(&self, id: ConnectionId, start: &WindowStart) -> Option<Cow<'_, Delays>> {
        let now = self.engine.delays.get(id.index())?.as_deref()?;
        let before = start.delays.get(id.index());
        Some(match before.and_then(Option::as_deref) {
            Some(before) => Cow::Owned(now.since(before)),
            None => Cow::Borrowed(now),
        })
    }

    pub fn link_sums(&self, id: LinkId) -> LinkSums {
        let l = id.index();
        let counts = self.engine.link_counts(l);
        let queued = self.engine.queue_pkts(l);
        LinkSums {
            offered_pkts: counts.offered() as f64,
            lost_pkts: counts.lost as f64,
            departed_pkts: (counts.accepted - queued as u64) as f64,
            queue_time: self.engine.queue_time_ns(l) * 1e-9,
            busy_s: (counts.service_ns - self.engine.work_ns(l)) as f64 * 1e-9,
            precedences: self.precedence_totals(id),
        }
    }

    pub fn connection_sums(&self, id: ConnectionId) -> ConnectionSums {
        let mut sum = ConnectionSums::default();
        for i in self.members(id) {
            let transfer = self.engine.transfer(i);
            let lost = (self.engine.lost(i) + self.engine.blocked(i)) as f64;
            let sent = transfer.sent() as f64;
            let (rtt_time, rtt_weight) = transfer.rtt_sum();
            sum.sent_pkts += sent;
            sum.delivered_pkts += transfer.delivered as f64;
            sum.rtt_time += rtt_time;
            sum.rtt_weight += rtt_weight;
            sum.lost += lost;
            sum.loss_weight += sent;
        }
        if let Some(delays) = &self.engine.delays[id.index()] {
            sum.delay_time = delays.one_way.sum_ns as f64 * 1e-9;
            sum.delay_weight = delays.one_way.count as f64;
        }
        sum
    }

    /// What the connection has come to since the start.
    pub fn connection_counts(&self, id: ConnectionId) -> ConnectionCounts {
        let sums = self.connection_sums(id);
        let arrived: u64 = self.transfers(id).map(|t| t.arrived).sum();
        let under_way = self.under_way.get_or_init(|| self.engine.data_under_way());
        let mine = |part: fn(&(u32, u32)) -> u32| -> f64 {
            let members = self.members(id).filter_map(|i| under_way.get(i));
            members.map(|both| f64::from(part(both))).sum()
        };
        let blocked: u64 = self.members(id).map(|i| self.engine.blocked(i)).sum();
        ConnectionCounts {
            sent_pkts: sums.sent_pkts,
            delivered_pkts: sums.delivered_pkts,
            arrived_pkts: arrived as f64,
            lost_pkts: sums.lost - blocked as f64,
            blocked_pkts: blocked as f64,
            rtt_time: sums.rtt_time,
            rtt_weight: sums.rtt_weight,
            outside_s: self.outside_s(id),
            losses_found: self.losses_found(id),
            queued_pkts: mine(|&(queued, _)| queued),
            in_flight_pkts: mine(|&(_, flying)| flying),
            finished_s: self.finished_s(id),
        }
    }

    /// By retransmission timers and by duplicate acknowledgements.
    fn losses_found(&self, id: ConnectionId) -> Option<[f64; 2]> {
        let each = self.transfers(id).map(Transfer::losses_found);
        each.fold(None, |sum, found| {
            let [timeouts, fast] = sum.unwrap_or_default();
            found.map(|(t, f)| [timeouts + t as f64, fast + f as f64])
        })
    }

    /// Seconds that it sent outside the domain of its profile, further out than is usable, and at all.
    fn outside_s(&self, id: ConnectionId) -> [f64; 3] {
        let each = self.transfers(id).map(Transfer::outside_ns);
        let sum = each.fold([0; 3], |sum: [u64; 3], more| {
            std::array::from_fn(|i| sum[i] + more[i])
        });
        sum.map(|ns| ns as f64 * 1e-9)
    }

    /// When the last of its transfers had delivered its size.
    fn finished_s(&self, id: ConnectionId) -> Option<f64> {
        let ends = self.transfers(id).map(|t| t.finished_ns());
        let last = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some(last as f64 * 1e-9)
    }

    /// What users met with since then, by workload.
    pub fn experiences(&self, start: &WindowStart) -> Vec<Experience> {
        let crowds = self.engine.crowds.iter().enumerate();
        crowds
            .map(|(w, crowd)| {
                let (came, gone, over) = start.users.get(w).copied().unwrap_or_default();
                let mut waits = crowd.waits.get(over..).unwrap_or_default().to_vec();
                // As they came, and each in the order in which it all ended.
                waits.sort_by_key(|wait| wait.user);
                Experience {
                    came: crowd.came - came,
                    gone: crowd.gone - gone,
                    waits,
                }
            })
            .collect()
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for &(queued, flying) in self.under_way.get_or_init(|| self.engine.data_under_way()) {
            totals.queued_pkts += f64::from(queued);
            totals.in_flight_pkts += f64::from(flying);
        }
        for i in 0..self.engine.transfers() {
            let transfer = self.engine.transfer(i);
            totals.offered_pkts += transfer.sent() as f64;
            totals.delivered_pkts += transfer.arrived as f64;
            totals.lost_pkts += self.engine.lost(i) as f64;
            totals.blocked_pkts += self.engine.blocked(i) as f64;
        }
        totals
    }

    pub fn ack_totals(&self) -> Totals {
        let (queued, in_flight) = self.engine.acks_under_way();
        let mut totals = Totals {
            queued_pkts: queued as f64,
            in_flight_pkts: in_flight as f64,
            lost_pkts: self.engine.lost_acks() as f64,
            ..Totals::default()
        };
        for i in 0..self.engine.transfers() {
            let transfer = self.engine.transfer(i);
            totals.offered_pkts += transfer.acks_sent as f64;
            totals.delivered_pkts += transfer.acks_arrived as f64;
        }
        totals
    }

    pub fn aggregate_counts(&self, id: AggregateId) -> AggregateCounts {
        let Some(edge) = self.engine.edges.get(id.index()) else {
            return AggregateCounts::default();
        };
        let mut under_way = [0; 3];
        self.engine.each_under_way(|hop, _| {
            if !hop.is_ack && self.engine.aggregate_of[hop.transfer as usize] == Some(id.0) {
                under_way[usize::from(hop.precedence)] += 1;
            }
        });
        let delivered = |p: usize| (edge.sent[p] - edge.lost[p] - under_way[p]) as f64;
        let spec = self.network().aggregate_spec(id);
        let (mut goodput_pkts, mut goodput_bits) = (0.0, 0.0);
        let mut rtts = (0.0, 0.0);
        for &member in &spec.members {
            let pkts = self.connection_sums(member).delivered_pkts;
            goodput_pkts += pkts;
            goodput_bits += pkts * 8.0 * self.network().connection_spec(member).packet_size_bytes;
            for rtt_s in self.transfers(member).map(Transfer::seen_rtt_s) {
                if rtt_s > 0.0 {
                    rtts = (rtts.0 + rtt_s, rtts.1 + 1.0);
                }
            }
        }
        AggregateCounts {
            sent_pkts: edge.sent.map(|sent| sent as f64),
            delivered_pkts: [delivered(0), delivered(1), delivered(2)],
            lost_pkts: edge.lost.map(|lost| lost as f64),
            goodput_pkts,
            goodput_bits,
            measured_bps: edge.measured_bps(),
            marking: edge.marking(),
            rtt_s: (rtts.1 > 0.0).then(|| rtts.0 / rtts.1),
        }
    }

    pub fn precedence_totals(&self, id: LinkId) -> Option<[PrecedenceTotals; 3]> {
        let (offered, lost, averages) = self.engine.precedences(id.index())?;
        let pkts = |counts: [u64; 3]| counts.map(|count| count as f64);
        Some(PrecedenceTotals::each(pkts(offered), pkts(lost), averages))
    }

    /// Data packets that have arrived at every hop of every way.
    pub fn arrivals_at_hops(&self) -> Vec<u64> {
        self.engine
            .data_hops()
            .map(|(_, arrived)| arrived)
            .collect()
    }

    /// For every link the connections whose data crosses it; `before` is what had arrived at hops
    /// `length_s` seconds ago.
    pub fn classes(&self, before: &[u64], length_s: f64) -> Vec<ClassInterval> {
        let mut classes: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        let connection =
            |hop: &HopSpec| self.engine.transfer(hop.transfer as usize).ends.connection;
        for (i, (hop, arrived)) in self.engine.data_hops().enumerate() {
            let arrived = arrived - before.get(i).copied().unwrap_or(0);
            let class = classes.entry((hop.link, connection(hop))).or_default();
            class.0 += arrived as f64;
        }
        self.engine.each_under_way(|hop, queued| {
            if let Some(class) = classes.get_mut(&(hop.link, connection(hop)))
                && queued
                && !hop.is_ack
            {
                class.1 += 1.0;
            }
        });
        let owner = self.network().inner.owner;
        let interval = |((link, connection), (arrived, queue_pkts))| ClassInterval {
            link: LinkId(link, owner),
            connection: ConnectionId(connection, owner),
            queue_pkts,
            arrival_pps: arrived / length_s,
        };
        classes.into_iter().map(interval).collect()
    }

    /// The numbers of a connection's transfers.
    fn members(&self, id: ConnectionId) -> impl Iterator<Item = usize> {
        let i = id.index();
        let first = self.first_transfer[i];
        let count = self.network().inner.connections[i].count;
        let first = first as usize..(first + count) as usize;
        let more = self.engine.more_of.get(i).into_iter().flatten();
        first.chain(more.map(|&t| t as usize))
    }

    fn transfers(&self, id: ConnectionId) -> impl Iterator<Item = &Transfer> {
        self.members(id).map(|i| self.engine.transfer(i))
    }
}

fn check_memory(needed: f64, allowed_bytes: u64) -> Result<(), RunError> {
    match needed > allowed_bytes as f64 {
        true => Err(RunError::TooLarge {
            needed_bytes: needed as u64,
            allowed_bytes,
        }),
        false => Ok(()),
    }
}

/// Bytes that transfers and their ways take, roughly; packets under way come on top.
fn needed_bytes(network: &Network) -> f64 {
    const OF_TRANSFER: f64 = 1500.0;
    const OF_HOP: f64 = 200.0;
    // Two histograms; usually a fifth of it.
    const OF_CONNECTION: f64 = 30_000.0;
    let each = network.connections().map(|id| {
        let spec = network.connection_spec(id);
        let hops = network.path(id).len() + network.return_path(id).len();
        let window = spec.max_window_pkts.unwrap_or(1e4).min(1e7);
        // The receiver has a bit for every packet of two windows; Vegas has two numbers.
        let of_window = match spec.source {
            Source::Window(w) if w.variant == TcpVariant::Vegas => 13.0 * window,
            Source::Window(_) | Source::Users(_) => 0.5 * window,
            _ => 0.0,
        };
        OF_CONNECTION + f64::from(spec.count) * (OF_TRANSFER + OF_HOP * hops as f64 + of_window)
    });
    each.sum()
}

/// Acknowledgements are DP0.
pub(crate) const OF_ACKS: [f64; 3] = [1.0, 0.0, 0.0];

/// Bytes that a visit takes, roughly.
const OF_VISIT: f64 = 20_000.0;

fn no_moment(time_s: f64) -> String {
    format!("it is {time_s} s, but packets take their times in whole nanoseconds")
}

/// Times in whole nanoseconds: compared, counted and waited for as such, so that none falls between
/// two of them.
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
