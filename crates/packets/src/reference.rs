//! Reference simulator: plain event-driven simulation of the same network, compared with the engine.

use std::sync::Arc;

use netflow_diffserv::{Curve, Discipline};
use netflow_network::{
    Acks, Application, Buffer, Cells, Change, ConnectionSpec, DropPolicy, EventSpec, HtbClass,
    HtbTree, LinkSeries, MultiQueueLink, Network, NetworkBuilder, NodeId, Overhead, QueueClass,
    Red, Rio, Scheduler, SeriesColumns, SeriesSpec, Source, TcpVariant, TokenBucketSpec, TraceSpec,
    WindowSource,
};
use netflow_problems::{connection, constant_users, link, some_loss};
use netflow_queues::{
    AckFilter, Aqm, Cake, CoDel, DelayLine, DeliveryTrace, DualPi2, FqCoDel, Isolation, Jitter,
    JitterDistribution, JitterTable, LinkLoss, Pie, Reordering, Slots, Tins,
};
use netflow_tcpmodel::tcp::NEVER;
use netflow_tcpmodel::{CongestionControl, Stack, builtin_names};
use netflow_units::ns;
use netflow_workload::{Application as Behaviour, Distribution, Http};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg32;

use crate::engine::Engine;
use crate::link::wire::Packet;
use crate::topology::Target;

/// Function that advances an engine to a given time.
type AdvanceFn = fn(&mut Engine, u64);

impl Engine {
    /// Advances to `end_ns` event by event, without lookahead, sweep order, batches or event lists. At each
    /// time, endpoints act before links.
    fn run_reference(&mut self, end_ns: u64) {
        loop {
            let wires =
                (0..self.topology.wires.len() as u32).map(|w| self.topology.wires.head_ns(w));
            let alone = (0..).zip(&self.transfers);
            let alone = alone.filter(|&(t, _)| self.sessions.slot_of[t as usize].is_none());
            let due = alone.map(|(_, transfer): (u32, _)| transfer.due_ns());
            let slots = (0..self.sessions.slots.len()).map(|s| self.slot_due_ns(s));
            let come = self.sessions.classes.iter().map(|class| class.next_ns());
            let free = self.links.iter().map(|link| link.due_ns());
            let now_ns = wires.chain(due).chain(slots).chain(come).chain(free).min();
            let now_ns = now_ns.unwrap_or(NEVER);
            if now_ns >= end_ns {
                break;
            }
            self.admit_sessions(now_ns + 1);
            for t in (0..self.transfers.len()).rev() {
                match self.sessions.slot_of[t] {
                    None => {
                        self.transfers[t].run(now_ns + 1, &mut self.topology.wires);
                        self.record_delays(t);
                        self.record_round_trips(t);
                    }
                    Some(slot) => self.run_session_slot(slot.index(), now_ns + 1),
                }
            }
            for l in (0..self.links.len()).rev() {
                let mut arriving: Vec<Packet> = Vec::new();
                for w in 0..self.topology.wires.len() as u32 {
                    if self.topology.targets[w as usize] == Target::Link(l as u32) {
                        self.topology.wires.take_until(w, now_ns + 1, &mut arriving);
                    }
                }
                arriving.sort_by_key(Packet::order);
                for packet in arriving {
                    self.serve(l, packet);
                }
                self.transmit_waiting(l, now_ns);
            }
            self.now_ns = now_ns;
            self.count_transit_losses();
        }
        self.now_ns = end_ns;
        self.count_transit_losses();
    }

    /// Uses three partitions from now on, if possible.
    pub(crate) fn partition_links(&mut self) {
        (self.partitions.threads, self.partitions.pkts_per_round) = (3, 0.0);
        self.partitions.tuner.use_threads = true;
    }

    /// Returns all results after each of `interval_count` intervals, to the nanosecond.
    fn results_at_intervals(
        mut self,
        drive: AdvanceFn,
        interval_count: u64,
        length_ns: u64,
    ) -> Vec<String> {
        let mut told = Vec::new();
        for i in 1..=interval_count {
            let end_ns = i * length_ns;
            while self.now_ns < end_ns {
                let event_ns = self.next_event_ns().unwrap_or(NEVER);
                drive(&mut self, end_ns.min(event_ns));
                self.apply_events();
            }
            told.extend(self.current_results());
        }
        told
    }

    /// Returns all results now.
    pub(crate) fn current_results(&self) -> Vec<String> {
        let (mut told, end_ns) = (Vec::new(), self.now_ns);
        for (l, link) in self.links.iter().enumerate() {
            let counts = (link.queue.counts, link.queue.max_pkts(), link.link_lost());
            let now = (
                self.queue_pkts(l),
                self.backlog_ns(l),
                self.queue_time_ns(l).to_bits(),
            );
            let arrivals = link
                .arrivals
                .completed_intervals(self.now_ns, link.queue.counts.offered());
            told.push(format!(
                "{end_ns}: link {l}: {counts:?} {now:?} {arrivals:?}"
            ));
        }
        let under_way = self.data_in_network();
        for (t, transfer) in self.transfers.iter().enumerate() {
            let receiving = &transfer.receiver;
            let sent = (transfer.sent(), receiving.arrived, receiving.delivered);
            let acks = (
                receiving.acks_unrouted,
                receiving.acks_sent,
                transfer.acks_arrived,
                transfer.detected_losses(),
            );
            let account = self.loss_counts[t];
            let times = (transfer.rtt_sum(), receiving.finished_ns, under_way[t]);
            told.push(format!(
                "{end_ns}: transfer {t}: {sent:?} {acks:?} {account:?} {times:?}"
            ));
        }
        for (c, delays) in self.delays.iter().enumerate() {
            let there = delays.one_way.as_ref();
            let there = there.map(|it| (it.times.count, it.times.sum_ns, it.delay_change_sum_ns));
            let round = delays.round_trip.as_ref();
            let round = round.map(|it| (it.count, it.sum_ns));
            told.push(format!("{end_ns}: connection {c}: {there:?} {round:?}"));
        }
        let arrived = self.data_hops().map(|(_, arrived)| arrived);
        told.push(format!("{end_ns}: hops {:?}", arrived.collect::<Vec<_>>()));
        for class in &self.sessions.classes {
            let mut waits = class.response_times.clone();
            waits.sort_by_key(|wait| wait.user);
            told.push(format!(
                "{end_ns}: users {} {} {waits:?}",
                class.arrived, class.finished
            ));
        }
        told.push(format!("{end_ns}: acknowledgements {}", self.lost_acks()));
        told
    }
}

fn one_of<T: Copy>(rng: &mut impl Rng, all: &[T]) -> T {
    all[rng.random_range(0..all.len())]
}

/// Returns a network with many simultaneous events: delays in whole milliseconds, and bandwidths with whole
/// transmission times; or zero delays.
fn random_network(seed: u64) -> Network {
    let rng = &mut Pcg32::seed_from_u64(netflow_problems::population_seed(seed));
    let mut builder = NetworkBuilder::new();
    let users = rng.random_bool(0.3).then(|| constant_users(&mut builder));
    let n = rng.random_range(5..9);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let nodes: Vec<NodeId> = names[..n].iter().map(|name| builder.node(name)).collect();
    let delays: &[f64] = one_of(
        rng,
        &[
            &[0.001, 0.002, 0.005][..],
            &[0.01, 0.02, 0.0301],
            &[0.0, 1e-5, 0.001],
        ],
    );
    let (mut links, mut pairs) = (Vec::new(), std::collections::BTreeSet::new());
    let mut classed = Vec::new();
    let more = rng.random_range(0..4);
    for i in 1..n + more {
        let (a, b) = if i < n {
            (rng.random_range(0..i), i)
        } else {
            (0, rng.random_range(2..n))
        };
        if !pairs.insert((a, b)) {
            continue;
        }
        for (from, to) in [(a, b), (b, a)] {
            let bps = one_of(rng, &[1e6, 2e6, 8e6, 1.7e6]);
            let room = one_of(rng, &[1.0, 2.0, 5.0, 20.0, 100.0]);
            let mut spec = link(nodes[from], nodes[to], bps, one_of(rng, delays), room);
            if room >= 20.0 && rng.random_bool(0.1) {
                spec.queue = random_rio(rng);
            } else if room >= 20.0 && rng.random_bool(0.2) {
                spec.queue = DropPolicy::Red(Red {
                    min_pkts: 2.0,
                    max_pkts: 10.0,
                    max_p: 0.1,
                    weight: 0.01,
                    gentle: true,
                    ecn: bps > 1.5e6,
                    hard_drop: true,
                });
            }
            if rng.random_bool(0.3) {
                spec.queue = DropPolicy::Managed(random_discipline(rng));
            }
            if rng.random_bool(0.2) {
                spec.loss = LinkLoss::from(0.02);
            }
            if rng.random_bool(0.2) {
                spec.buffer = Buffer::Bytes(1000.0 * room);
            }
            links.push(builder.link(spec));
        }
    }
    for &link in &links {
        if rng.random_bool(0.15) {
            classed.push(link);
            builder.schedule(MultiQueueLink {
                link,
                scheduler: match rng.random_range(0..4) {
                    0 => Scheduler::Priority,
                    1 => Scheduler::Wfq,
                    _ => Scheduler::Htb(random_tree(rng)),
                },
                classes: vec![random_class(rng, "EF"), random_class(rng, "CS1")],
            });
        }
    }
    for i in 0..rng.random_range(2..8) {
        let (from, to) = (rng.random_range(0..n), rng.random_range(1..n));
        let to = nodes[(from + to) % n];
        let (spec, start_s) = (random_connection(rng, i, nodes[from], to), rng.random());
        let connection = builder.connection(ConnectionSpec { start_s, ..spec });
        if !classed.is_empty() && rng.random_bool(0.6) {
            builder.classify(connection, one_of(rng, &["EF", "CS1"]));
        }
    }
    if let Some(mut users) = users {
        (users.start_s, users.stop_s, users.users_per_s) = (0.0, None, 20.0);
        if let Behaviour::Http(behaviour) = &mut users.application {
            *behaviour = Http {
                think_s: Distribution::Constant(0.3),
                ..behaviour.clone()
            };
        }
        builder.workload(users);
    }
    let mut untraced = classed.clone();
    if rng.random_bool(0.4) {
        let (link, other) = (one_of(rng, &links), one_of(rng, &links));
        let mut event = |at_s, link, change| builder.event(EventSpec { at_s, link, change });
        event(0.7, link, Change::Down);
        event(1.1, other, Change::Bandwidth(1.3e6));
        event(1.6, link, Change::Up);
        untraced.push(other);
    }
    if rng.random_bool(0.2) {
        let link = one_of(rng, &links);
        for (at_s, change) in [(0.8, Change::Pause), (1.2003, Change::Bandwidth(1.7e6))] {
            builder.event(EventSpec { at_s, link, change });
        }
        untraced.push(link);
    }
    for _ in 0..one_of(rng, &[0, 0, 1, 4]) {
        let other_s = rng.random();
        let at_s = one_of(rng, &[0.0, 0.7, 1.1, other_s]);
        let (link, loss) = (one_of(rng, &links), some_loss(rng));
        let change = Change::Loss(LinkLoss {
            random: one_of(rng, &[0.0, 0.02, 0.2]),
            ..loss
        });
        builder.event(EventSpec { at_s, link, change });
    }
    for _ in 0..one_of(rng, &[0, 1, 2, 4]) {
        let other_s = 2.0 * rng.random::<f64>();
        let at_s = one_of(rng, &[0.0, 0.7, 1.1, other_s]);
        let (link, other) = (one_of(rng, &links), one_of(rng, &[0.0, 0.0003, 0.04, 0.15]));
        let change = Change::Delay(one_of(rng, &[delays[0], delays[1], other]));
        builder.event(EventSpec { at_s, link, change });
    }
    if seed.is_multiple_of(3) {
        let mut all = [Overhead::of(250.0), ADSL, Overhead::NONE]
            .into_iter()
            .cycle();
        builder.each_link(|link| link.overhead = all.next().unwrap_or_default());
    }
    for _ in 0..one_of(rng, &[0, 0, 1, 3]) {
        let bucket = TokenBucketSpec {
            rate_bps: one_of(rng, &[0.3e6, 0.7e6, 1.2e6]),
            burst_bytes: one_of(rng, &[1500.0, 4000.0, 20_000.0]),
        };
        let (chosen, polices) = (rng.random_range(0..links.len()), rng.random_bool(0.5));
        let mut all = 0..;
        builder.each_link(|link| {
            if all.next() == Some(chosen) {
                let place = if polices {
                    &mut link.policer
                } else {
                    &mut link.shaper
                };
                *place = Some(bucket);
            }
        });
    }
    for _ in 0..one_of(rng, &[0, 0, 1, 3]) {
        let (chosen, line) = (rng.random_range(0..links.len()), random_delay_line(rng));
        let mut all = 0..;
        builder.each_link(|link| {
            if all.next() == Some(chosen) {
                link.delay_line = line.clone();
            }
        });
    }
    let (traced, trace) = (one_of(rng, &links), random_trace(rng));
    if rng.random_bool(0.2) && !untraced.contains(&traced) {
        let mut all = links.iter();
        builder.each_link(|link| {
            if all.next() == Some(&traced) {
                (link.trace, link.shaper) = (trace.clone(), None);
                // Without a delay, packets could arrive at the time of an event that precedes them.
                link.delay_s = link.delay_s.max(1e-5);
            }
        });
    }
    let (varied, series) = (one_of(rng, &links), random_series(rng));
    if rng.random_bool(0.3) && varied != traced && !untraced.contains(&varied) {
        let mut all = links.iter();
        builder.each_link(|link| {
            if all.next() == Some(&varied) {
                link.series = series.clone();
            }
        });
    }
    builder.each_link(|link| link.buffer = with_min_managed_buffer(link.queue, link.buffer));
    let mut number = 0;
    builder.each_link(|link| {
        if classed.contains(&links[number]) {
            link.queue = without_shaper(link.queue);
        }
        number += 1;
    });
    builder.build().unwrap()
}

const ADSL: Overhead = Overhead {
    bytes: 10.0,
    minimum_bytes: 84.0,
    cells: Cells::Atm,
};

/// Returns a random delivery trace of about 1.2 Mbit/s.
fn random_trace(rng: &mut impl Rng) -> Option<TraceSpec> {
    let times_ms = (0..100).map(|_| rng.random_range(0..1000_u32));
    let mut times_ms: Vec<u32> = times_ms.chain([1000]).collect();
    times_ms.sort_unstable();
    let lines: Vec<String> = times_ms.iter().map(u32::to_string).collect();
    let trace = DeliveryTrace::read(&lines.join("\n")).ok()?;
    Some(TraceSpec {
        trace: Arc::new(trace),
        offset_ns: one_of(rng, &[0, 300_000_000]),
    })
}

/// Returns random bandwidths over time, with pauses.
fn random_series(rng: &mut impl Rng) -> Option<SeriesSpec> {
    let mut now_s = 0.0;
    let times_s: Vec<f64> = std::iter::repeat_with(|| {
        now_s += one_of(rng, &[0.001, 0.05, 0.2003]);
        now_s
    })
    .take(8)
    .collect();
    let rates_bps = [0.0, 0.3e6, 0.9e6, 2e6];
    let bandwidths_bps = times_s.iter().map(|_| one_of(rng, &rates_bps));
    let columns = SeriesColumns {
        bandwidths_bps: Some(bandwidths_bps.chain([1e6]).collect()),
        ..SeriesColumns::default()
    };
    let times_s: Vec<f64> = [0.0].into_iter().chain(times_s).collect();
    Some(SeriesSpec {
        series: Arc::new(LinkSeries::new(&times_s, None, columns).ok()?),
        offset_ns: one_of(rng, &[0, 300_000_000]),
    })
}

/// Returns a random delay line.
fn random_delay_line(rng: &mut impl Rng) -> DelayLine {
    let reorders = rng.random_bool(0.5);
    DelayLine {
        jitter: rng.random_bool(0.6).then(|| Jitter {
            deviation_ns: one_of(rng, &[100_000, 1_000_000, 30_000_000]),
            distribution: match rng.random_range(0..3) {
                0 => JitterDistribution::Uniform,
                1 => JitterDistribution::Pareto,
                _ => JitterTable::new(vec![-8192, 0, 8192])
                    .map_or(JitterDistribution::Normal, JitterDistribution::Table),
            },
            correlation: one_of(rng, &[0.0, 0.5]),
            reorders,
        }),
        reordering: rng.random_bool(0.3).then(|| Reordering {
            probability: one_of(rng, &[0.1, 1.0]),
            gap: one_of(rng, &[1, 5]),
        }),
        duplication: one_of(rng, &[0.0, 0.0, 0.05, 1.0]),
        limit_pkts: one_of(rng, &[None, None, Some(1), Some(7)]),
        slots: (!reorders && rng.random_bool(0.4)).then(|| Slots {
            interval_ns: one_of(rng, &[(5_000_000, 5_000_000), (0, 20_000_000)]),
            max_pkts: one_of(rng, &[None, Some(2)]),
            max_bytes: one_of(rng, &[None, Some(3000)]),
        }),
    }
}

/// Returns a random HTB tree with two queues.
fn random_tree(rng: &mut impl Rng) -> HtbTree {
    let parents = one_of(rng, &[[None, None], [Some(0), None], [Some(0), Some(0)]]);
    let customers = usize::from(parents.contains(&Some(0)));
    let parents = std::iter::repeat_n(None, customers).chain(parents);
    let class = |parent| HtbClass {
        name: String::new(),
        parent,
        rate_bps: one_of(rng, &[1000, 100_000, 300_000]),
        ceil_bps: one_of(rng, &[300_000, 700_000, 5_000_000]),
        burst_bytes: one_of(rng, &[0, 1600, 10_000]),
        cburst_bytes: one_of(rng, &[0, 1600, 10_000]),
        prio: one_of(rng, &[0, 0, 1]),
        quantum_bytes: one_of(rng, &[1000, 3000]),
    };
    HtbTree {
        classes: parents.map(class).collect(),
        class_of_queue: vec![customers, customers + 1],
    }
}

/// Returns a small class queue with a random discipline.
fn random_class(rng: &mut impl Rng, name: &str) -> QueueClass {
    let room = one_of(rng, &[1.0, 3.0, 10.0, 40.0]);
    let mut class = QueueClass {
        name: name.to_owned(),
        policer: rng.random_bool(0.1).then_some(TokenBucketSpec {
            rate_bps: 0.4e6,
            burst_bytes: 3000.0,
        }),
        weight: one_of(rng, &[0.5, 1.0, 4.0]),
        buffer: if rng.random_bool(0.3) {
            Buffer::Bytes(1000.0 * room)
        } else {
            Buffer::Packets(room)
        },
        queue: match rng.random_range(0..4) {
            0 => without_shaper(DropPolicy::Managed(random_discipline(rng))),
            1 if room >= 10.0 && rng.random_bool(0.3) => random_rio(rng),
            1 if room >= 10.0 => DropPolicy::Red(Red {
                min_pkts: 1.0,
                max_pkts: 6.0,
                max_p: 0.1,
                weight: 0.02,
                gentle: true,
                ecn: true,
                hard_drop: true,
            }),
            _ => DropPolicy::DropTail,
        },
    };
    class.buffer = with_min_managed_buffer(class.queue, class.buffer);
    class
}

/// Returns RIO that drops data and sometimes acknowledgements.
fn random_rio(rng: &mut impl Rng) -> DropPolicy {
    DropPolicy::Rio(Rio {
        discipline: one_of(rng, &[Discipline::RioC, Discipline::RioD, Discipline::Wred]),
        curves: [(4.0, 12.0), (2.0, 8.0), (1.0, 6.0)].map(|(min, max)| Curve::new(min, max, 0.1)),
        weight: 0.02,
        gentle: rng.random_bool(0.5),
    })
}

/// Raises a buffer of one packet to two where the queue is managed.
fn with_min_managed_buffer(queue: DropPolicy, buffer: Buffer) -> Buffer {
    match (queue, buffer) {
        (DropPolicy::Managed(_), Buffer::Packets(pkts)) => Buffer::Packets(pkts.max(2.0)),
        _ => buffer,
    }
}

/// Removes a shaper, because the class scheduler decides when a queue sends.
fn without_shaper(queue: DropPolicy) -> DropPolicy {
    match queue {
        DropPolicy::Managed(Aqm::Cake(cake)) => DropPolicy::Managed(Aqm::Cake(Cake {
            bandwidth_bps: None,
            ..cake
        })),
        other => other,
    }
}

/// Returns a random AQM that drops early.
fn random_discipline(rng: &mut impl Rng) -> Aqm {
    let codel = CoDel {
        target_ns: one_of(rng, &[1_000_000, 5_000_000, 20_000_000]),
        interval_ns: one_of(rng, &[10_000_000, 100_000_000]),
        ecn: rng.random_bool(0.5),
        ..CoDel::default()
    };
    let all: Vec<Aqm> = Aqm::all().collect();
    match one_of(rng, &all) {
        Aqm::Cake(_) => Aqm::Cake(Cake {
            bandwidth_bps: one_of(rng, &[None, Some(0.4e6), Some(0.9e6), Some(1.5e6)]),
            rtt_ns: codel.interval_ns,
            isolation: one_of(
                rng,
                &[
                    Isolation::TripleIsolate,
                    Isolation::Hosts,
                    Isolation::FlowBlind,
                ],
            ),
            tins: one_of(rng, &[Tins::DiffServ3, Tins::DiffServ4, Tins::Precedence]),
            ack_filter: one_of(rng, &[AckFilter::Off, AckFilter::On, AckFilter::Aggressive]),
        }),
        Aqm::CoDel(_) => Aqm::CoDel(codel),
        Aqm::FqCoDel(_) => Aqm::FqCoDel(FqCoDel {
            codel,
            flows: one_of(rng, &[2, 1024]),
            quantum_bytes: 1500,
        }),
        Aqm::DualPi2(_) => Aqm::DualPi2(DualPi2 {
            target_ns: codel.target_ns,
            ..DualPi2::default()
        }),
        Aqm::Pie(_) => Aqm::Pie(Pie {
            target_ns: codel.target_ns,
            ecn: codel.ecn,
            ..Pie::default()
        }),
    }
}

fn random_connection(rng: &mut impl Rng, i: usize, from: NodeId, to: NodeId) -> ConnectionSpec {
    let window = WindowSource {
        variant: one_of(rng, &TcpVariant::ALL),
        send_jitter_s: Some(one_of(rng, &[0.0, 0.001])),
        ..WindowSource::default()
    };
    let rate_pps = one_of(rng, &[20.0, 50.0, 125.0]);
    let profile = || netflow_profile::builtin("reno").map(Source::Profile);
    let stack = Stack::builtin(one_of(rng, builtin_names())).map(|mut stack| {
        let all: Vec<_> = CongestionControl::all().collect();
        stack.set_congestion(one_of(rng, &all));
        stack.acks_compressed = rng.random_bool(0.5);
        stack.ecn = rng.random_bool(0.5);
        Source::Tcp(Arc::new(stack))
    });
    let source = match rng.random_range(0..12) {
        0 => Source::Constant { rate_pps },
        1 => Source::Poisson { rate_pps },
        2 => profile().unwrap_or(Source::Constant { rate_pps }),
        3..7 => stack.unwrap_or(Source::Ns2Tcp(window)),
        _ => Source::Ns2Tcp(window),
    };
    let (on_s, off_s) = (0.1, 0.2);
    ConnectionSpec {
        application: match source {
            Source::Constant { .. } | Source::Poisson { .. } => Application::Bulk,
            _ if rng.random_bool(0.7) => Application::Bulk,
            _ => Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            },
        },
        acks: match source {
            Source::Constant { .. } | Source::Poisson { .. } => Acks::None,
            _ => one_of(rng, &[Acks::EveryPacket, Acks::EverySecond, Acks::None]),
        },
        count: rng.random_range(1..4),
        stop_s: rng.random_bool(0.2).then_some(2.0),
        size_pkts: rng.random_bool(0.3).then_some(60.0),
        max_window_pkts: rng.random_bool(0.3).then_some(8.0),
        ..connection(&format!("c{i}"), from, to, source)
    }
}

/// Packets, times and drops are equal in 200 networks. They have ties, zero delays, changes of delay,
/// failures, RED and random losses, class schedulers and sessions. The engine chooses the mode, uses
/// partitions, or runs event by event.
#[test]
fn engine_matches_reference_simulation() {
    let (mut sweeps, mut divided, mut classed) = (0, 0, 0);
    for seed in 0..200 {
        let engine = || Engine::new(random_network(seed), seed, ns(0.1), Vec::new());
        classed += usize::from(random_network(seed).classed_links().next().is_some());
        let plainly = engine().results_at_intervals(Engine::run_reference, 7, ns(0.37));
        let mut first = engine();
        first.run_until(ns(0.37));
        sweeps += usize::from(!first.dependencies.event_by_event);
        first.partition_links();
        first.run_until(ns(0.74));
        divided += usize::from(first.partitions.is_partitioned());
        let drives: [(&str, AdvanceFn); 3] = [
            ("as it chooses", Engine::run_until),
            ("in parts", |engine, end_ns| {
                engine.partition_links();
                engine.run_until(end_ns);
            }),
            ("by moments", |engine, end_ns| {
                engine.dependencies.requires_event_by_event = true;
                engine.run_until(end_ns);
            }),
        ];
        for (name, drive) in drives {
            let at_intervals = engine().results_at_intervals(drive, 7, ns(0.37));
            let differs = plainly.iter().zip(&at_intervals).find(|(a, b)| a != b);
            assert_eq!(differs, None, "network {seed}, {name}");
            assert_eq!(plainly.len(), at_intervals.len());
        }
    }
    assert!((40..160).contains(&sweeps), "{sweeps} networks");
    assert!(divided > 40, "{divided} networks in parts");
    assert!(classed > 80, "{classed} networks with classes");
}

/// The last link that advances past a timer of an endpoint has to run it. Here one link feeds all endpoints, and
/// others with other delays feed few of them.
#[test]
fn users_behind_links_of_several_delays_match_reference_simulation() {
    let delays_s = [1e-4, 1e-3, 5e-3, 0.02, 0.04, 0.08];
    let network = |seed: u64| {
        let mut builder = NetworkBuilder::new();
        let (router, server) = (builder.node("router"), builder.node("server"));
        for (from, to) in [(router, server), (server, router)] {
            let delay_s = delays_s[seed as usize % 6];
            builder.link(netflow_problems::link(from, to, 4e6, delay_s, 20.0));
        }
        let mut workloads = Vec::new();
        for (i, delay_s) in delays_s.into_iter().enumerate() {
            let client = builder.node(&format!("client {i}"));
            for (from, to) in [(client, router), (router, client)] {
                builder.link(netflow_problems::link(from, to, 1e7, delay_s, 20.0));
            }
            let http = Behaviour::Http(Http {
                request_bytes: Distribution::Constant(300.0),
                reply_bytes: Distribution::Constant(9000.0),
                files: Distribution::Constant(2.0),
                think_s: Distribution::Constant(0.1),
                pages: Distribution::Constant(4.0),
            });
            let name = format!("users {i}");
            workloads.push(netflow_problems::workload(
                &name,
                http,
                6.0,
                [client, server],
            ));
        }
        for workload in workloads {
            builder.workload(workload);
        }
        builder.build().expect("a network")
    };
    let mut sweeps = 0;
    for seed in 0..12 {
        let engine = || Engine::new(network(seed), seed, ns(0.1), Vec::new());
        let plainly = engine().results_at_intervals(Engine::run_reference, 5, ns(0.4));
        let mut swept = engine();
        swept.run_until(ns(0.4));
        sweeps += usize::from(!swept.dependencies.event_by_event);
        let at_intervals = engine().results_at_intervals(Engine::run_until, 5, ns(0.4));
        let differs = plainly.iter().zip(&at_intervals).find(|(a, b)| a != b);
        assert_eq!(differs, None, "network {seed}");
    }
    assert!(sweeps > 0, "no network was swept");
}
