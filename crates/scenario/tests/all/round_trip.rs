//! Written scenarios, which must read back as the same scenario.

use netflow_scenario::file::*;
use netflow_scenario::{Quantity, Spanned, parse};
use netflow_units::{
    BitsPerSecond, BufferSize, Bytes, LongSeconds, Packets, PacketsPerSecond, Rate, Seconds, Size,
};
use proptest::option::of;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Spanned<String>> {
    "[A-Za-z0-9äß→'\"\\\\#=.,-]{1,12}".prop_map(Spanned::from)
}

fn time(range: std::ops::Range<f64>) -> impl Strategy<Value = Time> {
    range.prop_map(|seconds| Quantity(Seconds(seconds)).into())
}

fn rate() -> impl Strategy<Value = RateSetting> {
    let bits = (1.0..1e12).prop_map(|rate| Rate::BitsPerSecond(BitsPerSecond(rate)));
    let packets = (1e-3..1e9).prop_map(|rate| Rate::PacketsPerSecond(PacketsPerSecond(rate)));
    prop_oneof![bits, packets].prop_map(|rate| Quantity(rate).into())
}

fn size(range: std::ops::Range<f64>) -> impl Strategy<Value = SizeSetting> {
    // Zero, or a value large enough for a quantity.
    let range = range.prop_map(|size| if size < 0.01 { 0.0 } else { size });
    let bytes = range.clone().prop_map(|size| Size::Bytes(Bytes(size)));
    let packets = range.prop_map(|size| Size::Packets(Packets(size)));
    prop_oneof![bytes, packets].prop_map(|size| Quantity(size).into())
}

fn bytes() -> impl Strategy<Value = ByteSize> {
    (1.0..1e6).prop_map(|size| Quantity(Bytes(size)).into())
}

fn quantum() -> impl Strategy<Value = ByteSize> {
    (256.0..1e6).prop_map(|size| Quantity(Bytes(size)).into())
}

fn packets() -> impl Strategy<Value = PacketCount> {
    (1.0..1e9).prop_map(|packets| Quantity(Packets(packets)).into())
}

fn buffer_size(range: std::ops::Range<f64>) -> impl Strategy<Value = BufferSetting> {
    let sizes = size(range).prop_map(|it| BufferSize::Size(it.0));
    let times = (1e-6..100.0).prop_map(|time| BufferSize::Time(Seconds(time)));
    prop_oneof![sizes, times].prop_map(|room| Quantity(room).into())
}

fn flag() -> impl Strategy<Value = Spanned<bool>> {
    any::<bool>().prop_map(Spanned::from)
}

fn fraction() -> impl Strategy<Value = Spanned<f64>> {
    (1e-9..=1.0).prop_map(Spanned::from)
}

fn number() -> impl Strategy<Value = Spanned<f64>> {
    (-1e6..1e6).prop_map(Spanned::from)
}

fn step() -> impl Strategy<Value = Spanned<StepSetting>> {
    prop_oneof![
        Just(StepSetting::Auto(Auto::Auto)),
        time(1e-6..10.0).prop_map(StepSetting::Longest)
    ]
    .prop_map(Spanned::from)
}

fn ecmp() -> impl Strategy<Value = Spanned<EcmpSetting>> {
    prop_oneof![
        any::<bool>().prop_map(EcmpSetting::Equal),
        Just(EcmpSetting::ByCapacity(Weighted::Weighted))
    ]
    .prop_map(Spanned::from)
}

prop_compose! {
    fn simulation()(
        duration in time(1e-3..1e6),
        warmup in of(time(0.0..1e6)),
        step in of(step()),
        packet_size in of(bytes()),
        seed in of((0..i64::MAX as u64).prop_map(Spanned::from)),
        model in of(prop::sample::select(vec![ModelSetting::Fluid, ModelSetting::FluidLiteral, ModelSetting::Packet]).prop_map(Spanned::from)),
        acks in of(flag()),
        burstiness_interval in of(time(1e-3..10.0)),
        (written_for, demand_scale, ecmp, calibrate, hour) in (
            of(prop::sample::select(vec!["0.1".to_owned(), "0.2".to_owned()]).prop_map(Spanned::from)),
            of((0.1..1e6).prop_map(Spanned::from)),
            of(ecmp()),
            of(time(1e-3..10.0)),
            of((0.0..24.0).prop_map(Spanned::from)),
        ),
        overhead in of(overhead().boxed()),
    ) -> Simulation {
        Simulation { duration, warmup, step, calibrate, packet_size, overhead, seed, model, acks, burstiness_interval, demand_scale, hour, ecmp, written_for }
    }
}

prop_compose! {
    fn include()(
        nodes in of(text()), links in of(text()), connections in of(text()), events in of(text()), demands in of(text()),
        gravity in of(gravity()),
    ) -> Include {
        Include { nodes, links, connections, demands, gravity, events }
    }
}

fn demand_kind() -> impl Strategy<Value = Spanned<DemandKind>> {
    use DemandKind::{Constant, Poisson, Tcp, Video, Voice};
    prop::sample::select(vec![Tcp, Constant, Poisson, Voice, Video]).prop_map(Spanned::from)
}

prop_compose! {
    fn gravity()(
        total in rate(),
        weight in of(prop::sample::select(vec![
            GravityWeight::Population, GravityWeight::Bandwidth, GravityWeight::Uniform,
        ]).prop_map(Spanned::from)),
        kind in of(demand_kind()),
        day in of(text()),
    ) -> Spanned<Gravity> {
        Gravity { total, weight, kind, day }.into()
    }
}

prop_compose! {
    fn demand()(
        (name, from, to, rate, users) in (of(text()), text(), text(), rate(), of((1..1000_u64).prop_map(Spanned::from))),
        kind in of(demand_kind()),
        size in of(distribution(|x| Quantity(Bytes(x)))),
        flows in of((1..1000_u64).prop_map(Spanned::from)),
        (start, stop, packet_size, day) in (of(time(0.0..1e6)), of(time(0.0..1e6)), of(bytes()), of(text())),
        (path, paths, return_path, class) in (of(path()), of(paths()), of(path()), of(text())),
    ) -> Demand {
        let is_tcp = kind.as_ref().is_none_or(|kind| **kind == DemandKind::Tcp);
        let flows = flows.filter(|_| is_tcp);
        let size = size.filter(|_| is_tcp && flows.is_none());
        Demand { name, from, to, rate: Some(rate), users, kind, size, flows, day, start, stop, packet_size, path, paths, return_path, class }
    }
}

prop_compose! {
    fn day()(name in text(), factors in prop::collection::vec(1e-9..1e9, 1..50)) -> Day {
        Day { name, factors: Factors(factors).into() }
    }
}

prop_compose! {
    fn node()(
        name in text(), label in of(text()), x in of(number()), y in of(number()),
        population in of((1.0..1e6).prop_map(Spanned::from)),
        (mtbf, mttr, unavailability) in unavailability(),
    ) -> Node {
        Node { name, label, x, y, population, mtbf, mttr, unavailability }
    }
}

prop_compose! {
    fn srlg()(
        name in text(),
        (mtbf, mttr, unavailability) in unavailability().prop_filter("given", |it| it.0.is_some() || it.2.is_some()),
    ) -> Srlg {
        Srlg { name, mtbf, mttr, unavailability }
    }
}

/// Returns both times, the fraction, or nothing.
fn unavailability()
-> impl Strategy<Value = (Option<LongTime>, Option<LongTime>, Option<Spanned<f64>>)> {
    let time = || (1e-6..8e10).prop_map(|seconds| Quantity(LongSeconds(seconds)).into());
    prop_oneof![
        Just((None, None, None)),
        (time(), time()).prop_map(|(mtbf, mttr)| (Some(mtbf), Some(mttr), None)),
        (0.0..1.0).prop_map(|fraction| (None, None, Some(Spanned::from(fraction)))),
    ]
}

prop_compose! {
    fn red()(
        min in size(0.0..10.0),
        max in size(10.0..1e6),
        max_p in of(fraction()),
        weight in of(fraction()),
        gentle in of(flag()),
        ecn in of(flag()),
        hard_drop in of(flag()),
    ) -> QueueSetting {
        QueueSetting::Red(Red { discipline: RedDiscipline::Red, min, max, max_p, weight, gentle, ecn, hard_drop })
    }
}

prop_compose! {
    fn curve()(min in size(0.0..10.0), max in size(10.0..1e6), max_p in fraction()) -> Spanned<Curve> {
        Curve { min, max, max_p }.into()
    }
}

prop_compose! {
    fn rio()(
        discipline in prop::sample::select(vec![RioDiscipline::Rio, RioDiscipline::RioD, RioDiscipline::Wred]),
        dp0 in curve(),
        dp1 in curve(),
        dp2 in curve(),
        weight in of(fraction()),
        gentle in of(flag()),
    ) -> QueueSetting {
        QueueSetting::Rio(Box::new(Rio { discipline, dp0, dp1, dp2, weight, gentle }))
    }
}

prop_compose! {
    fn managed()(
        which in 0..3,
        target in of(time(1e-6..100.0)),
        interval in of(time(1e-6..100.0)),
        ecn in of(flag()),
        ce_threshold in of(time(1e-6..100.0)),
        flows in of((1_u64..65_537).prop_map(Spanned::from)),
    ) -> QueueSetting {
        match which {
            0 => QueueSetting::CoDel(CoDel {
                target, interval, ecn, ce_threshold, ..CoDelDiscipline::CoDel.into()
            }),
            1 => QueueSetting::CoDel(CoDel {
                target, interval, ecn, ce_threshold, flows, ..CoDelDiscipline::FqCoDel.into()
            }),
            _ => QueueSetting::Pie(Pie { target, update: interval, ecn, ..Pie::default() }),
        }
    }
}

fn rtt() -> impl Strategy<Value = Spanned<RttSetting>> {
    let presets = prop::sample::select(vec![RttPreset::Lan, RttPreset::Oceanic]);
    let presets = presets.prop_map(RttSetting::Preset);
    let times = time(1e-6..100.0).prop_map(RttSetting::Time);
    prop_oneof![presets, times].prop_map(Spanned::from)
}

prop_compose! {
    fn cake()(
        bandwidth in of(rate()),
        rtt in of(rtt()),
        isolation in of(prop::sample::select(vec![
            IsolationSetting::FlowBlind, IsolationSetting::DualSrcHost, IsolationSetting::TripleIsolate,
        ])),
        tins in of(prop::sample::select(vec![TinsSetting::BestEffort, TinsSetting::DiffServ4])),
        ack_filter in of(prop::sample::select(vec![AckFilterSetting::Off, AckFilterSetting::Aggressive])),
    ) -> QueueSetting {
        QueueSetting::Cake(Box::new(Cake {
            bandwidth,
            rtt,
            isolation: isolation.map(Spanned::from),
            tins: tins.map(Spanned::from),
            ack_filter: ack_filter.map(Spanned::from),
            ..Cake::default()
        }))
    }
}

fn queue() -> impl Strategy<Value = Spanned<QueueSetting>> {
    let plain = prop::sample::select(vec![
        Plain::DropTail,
        Plain::Priority,
        Plain::Wfq,
        Plain::Htb,
    ]);
    prop_oneof![
        plain.prop_map(QueueSetting::Plain),
        red(),
        rio(),
        managed(),
        cake()
    ]
    .prop_map(Spanned::from)
}

prop_compose! {
    fn link_class()(
        name in text(),
        weight in of(fraction()),
        buffer in of(buffer_size(1.0..1e8)),
        queue in of(queue().boxed()),
        parent in of(text()),
        rate in of(rate()),
        ceil in of(rate()),
        burst in of(bytes()),
        cburst in of(bytes()),
        prio in of((0_u64..8).prop_map(Spanned::from)),
        quantum in of(quantum()),
        policer in of(token_bucket().boxed()),
    ) -> LinkClass {
        LinkClass { name, weight, parent, rate, ceil, burst, cburst, prio, quantum, buffer, queue, policer }
    }
}

prop_compose! {
    fn aggregate()(
        name in text(),
        committed_rate in rate(),
        peak_rate in of(rate()),
        conditioner in prop::sample::select(vec![
            ConditionerName::Standard, ConditionerName::Rtt, ConditionerName::RttRto, ConditionerName::RttSw,
            ConditionerName::Sw, ConditionerName::Srtcm, ConditionerName::Trtcm,
        ]),
        averaging in of(time(1e-3..10.0)),
        rtt in of(time(1e-3..10.0)),
        rto in of(time(1e-3..10.0)),
        small_window in of(packets()),
    ) -> Aggregate {
        let conditioner = conditioner.into();
        Aggregate { name, committed_rate, peak_rate, conditioner, averaging, rtt, rto, small_window }
    }
}

fn loss() -> impl Strategy<Value = Spanned<LossSetting>> {
    let part = || (0.0..0.9).prop_map(Spanned::from);
    let gilbert = (
        part(),
        (0.01..1.0).prop_map(Spanned::from),
        of(part()),
        of(part()),
    )
        .prop_map(|(p, r, good, bad)| Gilbert { p, r, good, bad }.into());
    let errors = of((0.0..0.1, of(1.0..100.0)));
    let outages =
        (time(1e-6..1e6), time(1e-6..1e6), of(part())).prop_map(|(interval, duration, loss)| {
            OutageSettings {
                interval,
                duration,
                loss,
            }
            .into()
        });
    let causes = (of(part()), of(gilbert), of(outages), errors);
    let causes = causes.prop_map(|(random, gilbert, outages, errors)| {
        let errors: Option<(f64, Option<f64>)> = errors;
        let burst = errors.and_then(|(_, burst)| burst).map(Spanned::from);
        let ber = errors.map(|(ber, _)| ber.into());
        LossSetting::Causes(Box::new(LossCauses {
            random,
            gilbert,
            outages,
            ber,
            burst,
        }))
    });
    let random = (0.0..0.99).prop_map(LossSetting::Random);
    prop_oneof![random, causes].prop_map(Spanned::from)
}

fn groups() -> impl Strategy<Value = Spanned<RiskGroups>> {
    prop_oneof![
        text().prop_map(RiskGroups::One),
        prop::collection::vec(text(), 1..4).prop_map(RiskGroups::Several),
    ]
    .prop_map(Spanned::from)
}

fn overhead() -> impl Strategy<Value = Spanned<OverheadSetting>> {
    let size = || of((0..=1000_u32).prop_map(|n| Spanned::from(Quantity(Bytes(f64::from(n))))));
    let cells = prop::sample::select(vec![CellsSetting::Atm, CellsSetting::Ptm]);
    let frame = (size(), size(), of(cells.prop_map(Spanned::from)));
    let frame = frame.prop_map(|(bytes, minimum, cells)| {
        OverheadSetting::Frame(Box::new(Frame {
            bytes,
            minimum,
            cells,
        }))
    });
    let bytes = (0..=1000_u32).prop_map(|n| OverheadSetting::Bytes(Quantity(Bytes(f64::from(n)))));
    prop_oneof![bytes, frame].prop_map(Spanned::from)
}

fn token_bucket() -> impl Strategy<Value = Spanned<TokenBucketSetting>> {
    let burst = (1..=1_000_000_000_u32).prop_map(|n| Spanned::from(Quantity(Bytes(f64::from(n)))));
    let bucket = (rate(), burst).prop_map(|(rate, burst)| {
        TokenBucketSetting::Bucket(Box::new(TokenBucket { rate, burst }))
    });
    let none = Just(TokenBucketSetting::Absent(Absent::None));
    prop_oneof![bucket, none].prop_map(Spanned::from)
}

fn bandwidth() -> impl Strategy<Value = Spanned<BandwidthSetting>> {
    let trace = (text(), of(time(0.0..1e6))).prop_map(|(trace, offset)| {
        BandwidthSetting::Trace(Box::new(TraceSettings { trace, offset }))
    });
    let constant = rate().prop_map(|rate| BandwidthSetting::Rate(rate.into_inner()));
    prop_oneof![constant, trace].prop_map(Spanned::from)
}

fn jitter() -> impl Strategy<Value = Spanned<JitterSetting>> {
    let names = prop::sample::select(vec![
        JitterDistributionName::Uniform,
        JitterDistributionName::Pareto,
        JitterDistributionName::ParetoNormal,
    ])
    .prop_map(JitterDistributionSetting::Named);
    let values = prop::collection::vec(-4.0..4.0, 1..9).prop_map(JitterDistributionSetting::Values);
    let distribution = prop_oneof![names, values].prop_map(Spanned::from);
    let correlation = of((0.0..0.9).prop_map(Spanned::from));
    let table = (time(0.0..3600.0), of(distribution), correlation, of(flag())).prop_map(
        |(deviation, distribution, correlation, reorders)| {
            JitterSetting::Distribution(Box::new(JitterSettings {
                deviation,
                distribution,
                correlation,
                reorders,
            }))
        },
    );
    let uniform = time(0.0..3600.0).prop_map(|it| JitterSetting::Uniform(it.into_inner()));
    prop_oneof![uniform, table].prop_map(Spanned::from)
}

fn reordering() -> impl Strategy<Value = Spanned<ReorderingSetting>> {
    let count = || of((1..1000_u64).prop_map(Spanned::from));
    let table = (fraction(), count()).prop_map(|(probability, gap)| {
        ReorderingSetting::Gap(Box::new(ReorderingGap { probability, gap }))
    });
    let plain = (0.0..1.0).prop_map(ReorderingSetting::Probability);
    prop_oneof![plain, table].prop_map(Spanned::from)
}

fn slots() -> impl Strategy<Value = Spanned<SlotSettings>> {
    let count = || of((1..1000_u64).prop_map(Spanned::from));
    (
        time(0.0..100.0),
        of(time(100.0..3600.0)),
        count(),
        of(bytes()),
    )
        .prop_map(|(interval, longest, packets, bytes)| {
            SlotSettings {
                interval,
                longest,
                packets,
                bytes,
            }
            .into()
        })
}

prop_compose! {
    fn reverse()(
        bandwidth in of(bandwidth().boxed()),
        delay in of(time(0.0..3600.0)),
        overhead in of(overhead().boxed()),
        metric in of((0.0..1e9).prop_map(Spanned::from)),
        buffer in of(buffer_size(1.0..1e8)),
        queue in of(queue().boxed()),
        (policer, shaper) in (of(token_bucket().boxed()), of(token_bucket().boxed())),
        loss in of(loss().boxed()),
        (jitter, reordering) in (of(jitter().boxed()), of(reordering().boxed())),
        (duplication, in_flight_limit, slots) in (of(fraction()), of(packets()), of(slots().boxed())),
    ) -> Spanned<Reverse> {
        Spanned::from(Reverse { bandwidth, delay, overhead, metric, buffer, queue, policer, shaper, loss, jitter, reordering, duplication, in_flight_limit, slots })
    }
}

prop_compose! {
    fn link()(
        from in text(),
        to in text(),
        circuit in of("[a-z0-9]{1,4}".prop_map(Spanned::from)),
        bandwidth in bandwidth().boxed(),
        (delay, overhead) in (of(time(0.0..3600.0)), of(overhead().boxed())),
        buffer in of(buffer_size(1.0..1e8)),
        duplex in of(flag()),
        reverse in of(reverse().boxed()),
        (queue, policer, shaper) in (
            of(queue().boxed()),
            of(token_bucket().boxed()),
            of(token_bucket().boxed()),
        ),
        (loss, jitter, reordering) in (of(loss().boxed()), of(jitter().boxed()), of(reordering().boxed())),
        (duplication, in_flight_limit, slots) in (of(fraction()), of(packets()), of(slots().boxed())),
        (srlg, (mtbf, mttr, unavailability)) in (of(groups()), unavailability()),
        (metric, members, min_links) in (
            of((0.0..1e9).prop_map(Spanned::from)),
            of((1..65_u64).prop_map(Spanned::from)),
            of((1..65_u64).prop_map(Spanned::from)),
        ),
        classes in prop::collection::vec(link_class().boxed(), 0..3),
    ) -> Link {
        // A one-way link has no other direction.
        let reverse = reverse.filter(|_| duplex.as_ref().is_none_or(|duplex: &Spanned<bool>| **duplex));
        Link { from, to, circuit, bandwidth, delay, overhead, metric, buffer, duplex, members, min_links, reverse, queue, policer, shaper, loss, jitter, reordering, duplication, in_flight_limit, slots, srlg, mtbf, mttr, unavailability, classes, back: None }
    }
}

fn source() -> impl Strategy<Value = Spanned<SourceSetting>> {
    let source = prop_oneof![
        text().prop_map(SourceSetting::Profile),
        rate().prop_map(SourceSetting::Constant),
        rate().prop_map(SourceSetting::Poisson),
    ];
    source.prop_map(Spanned::from)
}

fn application() -> impl Strategy<Value = Spanned<ApplicationSetting>> {
    rate().prop_map(|rate| ApplicationSetting::Poisson(rate).into())
}

fn paths() -> impl Strategy<Value = Spanned<Paths>> {
    let nodes = path().prop_map(|it| PathSetting::Nodes(it.into_inner()));
    let share = (path(), (0.1..1.0).prop_map(Spanned::from));
    let shared =
        share.prop_map(|(nodes, share)| PathSetting::Shared(Box::new(SharedPath { nodes, share })));
    let one = prop_oneof![
        nodes,
        shared,
        Just(PathSetting::Shortest(Shortest::Shortest))
    ];
    prop::collection::vec(one.prop_map(Spanned::from), 1..4).prop_map(|all| Paths(all).into())
}

fn path() -> impl Strategy<Value = Spanned<Vec<Spanned<String>>>> {
    prop::collection::vec(text(), 2..5).prop_map(Spanned::from)
}

prop_compose! {
    fn connection()(
        (name, from, to, source, start, stop, size) in
            (of(text()), text(), text(), source(), of(time(0.0..1e6)), of(time(0.0..1e6)), of(size(1e-3..1e15))),
        (application, count, max_window, packet_size, path, paths, return_path, acks, delayed_ack) in (
            of(application()),
            of((1..=1_000_000_000_u64).prop_map(Spanned::from)),
            of(size(1.0..1e9)),
            of(bytes()),
            of(path()),
            of(paths()),
            of(path()),
            of(flag()),
            of(flag()),
        ),
        (aggregate, class) in (of(text()), of(text())),
    ) -> Connection {
        Connection {
            name, from, to, source, application, start, stop, size, count, max_window, packet_size, path, paths, return_path, acks,
            delayed_ack, aggregate, class,
        }
    }
}

prop_compose! {
    fn event()(
        at in time(0.0..1e6), name in text(), place in 0..3, bandwidth in of(rate()), loss in loss(), also in any::<bool>(),
        delay in of(time(0.0..10.0)), which in 0..3,
    ) -> Event {
        // An event can change settings of one link, but not of all links of an element.
        let place = if which == 0 { 0 } else { place };
        let at_place = |it| (place == it).then(|| name.clone());
        let given = || Some(true.into());
        Event {
            at,
            link: at_place(0),
            node: at_place(1),
            srlg: at_place(2),
            set: (which == 0).then(|| {
                let loss = (also || (bandwidth.is_none() && delay.is_none())).then_some(loss);
                Set { bandwidth, loss, delay }.into()
            }),
            down: if which == 1 { given() } else { None },
            up: if which == 2 { given() } else { None },
        }
    }
}

fn distribution<T: Clone + std::fmt::Debug + 'static>(
    number: fn(f64) -> T,
) -> impl Strategy<Value = Spanned<DistributionSetting<T>>> {
    // Shares do not decrease from row to row.
    let rows = prop::collection::vec((0.0..1e3, 0.0..0.1_f64), 1..5).prop_map(move |steps| {
        let (mut x, mut share) = (0.0, 0.0);
        let mut rows: Vec<(T, f64)> = Vec::new();
        for (more, up) in steps {
            (x, share) = (x + more, share + up);
            rows.push((number(x), share));
        }
        rows.push((number(x + 1.0), 1.0));
        DistributionSetting::Table(Rows(rows).into())
    });
    let pair = move || (1.0..1e3, 1e3..1e6).prop_map(move |(a, b)| (number(a), number(b)));
    prop_oneof![
        (0.0..1e6).prop_map(move |x| DistributionSetting::Constant(number(x).into())),
        pair().prop_map(
            |(mean, most)| DistributionSetting::Exponential(Exponential {
                mean: mean.into(),
                max: most.into(),
            })
        ),
        (0.1..10.0_f64, pair()).prop_map(|(shape, (least, most)): (f64, (T, T))| {
            DistributionSetting::Pareto(Pareto {
                shape: shape.into(),
                min: least.into(),
                max: most.into(),
            })
        }),
        (0.1..9.0_f64, pair()).prop_map(|(sigma, (median, most)): (f64, (T, T))| {
            DistributionSetting::LogNormal(LogNormal {
                median: median.into(),
                sigma: sigma.into(),
                max: most.into(),
            })
        }),
        rows,
    ]
    .prop_map(Spanned::from)
}

fn places() -> impl Strategy<Value = Spanned<Places>> {
    prop_oneof![
        text().prop_map(Places::One),
        prop::collection::vec(text(), 1..4).prop_map(Places::Several),
    ]
    .prop_map(Spanned::from)
}

prop_compose! {
    fn workload()(
        (name, interarrival, clients, servers, start, stop, packet_size, stack) in (
            text(), time(1e-6..1e6), of(places()), of(places()), of(time(0.0..1e6)), of(time(0.0..1e6)),
            of((41.0..1e6).prop_map(|size| Quantity(Bytes(size)).into())), of(text()),
        ),
        application in 0..3,
        (bitrate, chunk, ahead) in (
            of((1.0..1e9).prop_map(|bps| Quantity(Rate::BitsPerSecond(BitsPerSecond(bps))).into())),
            of(time(0.01..60.0)), of(time(0.0..3600.0)),
        ),
        (a, b) in (of(distribution(|x| Quantity(Bytes(x)))), of(distribution(|x| Quantity(Bytes(x))))),
        (c, d) in (of(distribution(|x| Quantity(Seconds(x)))), of(distribution(|x| x))),
        e in of(distribution(|x| x)),
    ) -> Workload {
        let application = match application {
            0 => ApplicationName::Http,
            1 => ApplicationName::Telnet,
            _ => ApplicationName::Video,
        };
        let mut workload = Workload {
            name, application: application.into(), interarrival, clients, servers, start, stop, source: None,
            packet_size, stack, request_size: None, reply_size: None, files_per_page: None, think_time: None,
            pages_per_visit: None, keystrokes: None, keystroke_gap: None, keystroke_size: None, echo_size: None,
            bitrate: None, chunk: None, ahead: None, video_length: None,
        };
        match application {
            ApplicationName::Http => {
                (workload.request_size, workload.reply_size) = (a, b);
                (workload.think_time, workload.files_per_page, workload.pages_per_visit) = (c, d, e);
            }
            ApplicationName::Telnet => {
                (workload.keystroke_size, workload.echo_size) = (a, b);
                (workload.keystroke_gap, workload.keystrokes) = (c, d);
            }
            ApplicationName::Video => {
                (workload.bitrate, workload.chunk, workload.ahead) = (bitrate, chunk, ahead);
                (workload.request_size, workload.video_length) = (a, c);
            }
        }
        workload
    }
}

prop_compose! {
    fn scenario()(
        simulation in simulation(),
        include in of(include()),
        nodes in prop::collection::vec(node(), 0..3),
        links in prop::collection::vec(link().boxed(), 0..4),
        srlgs in prop::collection::vec(srlg(), 0..3),
        connections in prop::collection::vec(connection().boxed(), 0..4),
        aggregates in prop::collection::vec(aggregate(), 0..3),
        (workloads, events) in (prop::collection::vec(workload().boxed(), 0..3), prop::collection::vec(event(), 0..3)),
        (demands, days) in (prop::collection::vec(demand(), 0..3), prop::collection::vec(day(), 0..3)),
    ) -> Scenario {
        Scenario { simulation, include, nodes, links, srlgs, connections, demands, days, aggregates, workloads, events }
    }
}

proptest! {
    #[test]
    fn written_scenario_reads_back_equal(scenario in scenario()) {
        let text = scenario.to_toml().expect("a text");
        let again = parse("again.toml", &text);
        let mut again = again.map_err(|problems| TestCaseError::fail(format!("{problems}\n{text}")))?;
        for link in &mut again.links {
            // The reader derives it from the link.
            prop_assert_eq!(link.back.take().is_some(), link.reverse.is_some());
        }
        prop_assert_eq!(again, scenario);
    }
}
