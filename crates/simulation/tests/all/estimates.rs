//! Queues marked as estimates, with reasons: busy links filled by TCP with profiles, or by
//! constant-rate sources.

use netflow_profile::builtin;
use netflow_simulation::{
    Application, ConnectionSpec, DropPolicy, Estimate, LinkSpec, Model, Network, NetworkBuilder,
    Red, Run, Source, TcpVariant, WindowSource,
};
use netflow_workload::{Application as Asks, Http};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use crate::running::run;

/// Returns one link in each direction, with these sources and this application.
fn network(queue: DropPolicy, sources: &[Source], application: Application) -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(LinkSpec {
            queue,
            ..netflow_problems::link(from, to, 8e6, 0.02, 50.0)
        });
    }
    for (i, source) in sources.iter().enumerate() {
        builder.connection(ConnectionSpec {
            application,
            max_window_pkts: Some(64.0),
            ..netflow_problems::connection(&format!("c{i}"), a, b, source.clone())
        });
    }
    builder.build().unwrap()
}

/// Returns the marks of the forward and the return link.
fn estimates(network: &Network, model: Model) -> Vec<Option<Estimate>> {
    let simulation = run(network.clone(), model, 20.0);
    let links = network.links();
    links
        .map(|id| simulation.link_totals(id).estimate)
        .collect()
}

#[test]
fn busy_queues_are_marked_by_traffic_kind() {
    let tcp = Source::Profile(builtin("ns-reno").unwrap());
    let udp = |rate_pps| Source::Constant { rate_pps };
    let window = Source::Ns2Tcp(WindowSource {
        variant: TcpVariant::Reno,
        ..WindowSource::default()
    });
    let bulk = Application::Bulk;
    let little = Application::Poisson { rate_pps: 900.0 };
    let red = DropPolicy::Red(Red {
        min_pkts: 5.0,
        max_pkts: 15.0,
        max_p: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
        hard_drop: true,
    });
    let fluid = |queue: &DropPolicy, sources: &[Source], application| {
        estimates(&network(*queue, sources, application), Model::FLUID)
    };
    let tail = DropPolicy::DropTail;
    let profiles = Some(Estimate::Profiles);
    let acks = Some(Estimate::Acks);
    let filled = fluid(&tail, &[tcp.clone(), tcp.clone()], bulk);
    assert_eq!(filled, [profiles, acks]);
    let with_udp = fluid(&tail, &[tcp.clone(), udp(600.0)], bulk);
    assert_eq!(with_udp, [profiles, acks]);

    for rate_pps in [600.0, 2000.0] {
        let constant = fluid(&tail, &[udp(rate_pps)], bulk);
        assert_eq!(constant, [Some(Estimate::Constant), acks]);
    }
    assert_eq!(fluid(&tail, &[udp(9.0)], bulk), [None, None]);
    assert_eq!(
        fluid(&red, &[tcp.clone(), tcp.clone()], bulk),
        [Some(Estimate::EarlyDrops), acks]
    );
    // The source forwards the application's traffic unchanged.
    assert_eq!(
        fluid(&tail, std::slice::from_ref(&tcp), little),
        [Some(Estimate::Alike), acks]
    );
    // Unless the application's rate exceeds the capacity.
    let much = Application::Poisson { rate_pps: 1100.0 };
    assert_eq!(
        fluid(&tail, std::slice::from_ref(&tcp), much),
        [profiles, acks]
    );
    let packets = network(tail, &[window], bulk);
    assert_eq!(estimates(&packets, Model::PACKETS), [None, None]);
}

/// For constant rates below the capacity, queues of packets are shorter and lose less than in the
/// fluid model. 60 links with 1 to 100 sources each.
#[test]
fn constant_rates_have_shorter_queues_than_poisson() {
    let random = &mut Pcg32::seed_from_u64(netflow_problems::population_seed(1));
    for case in 0..60 {
        let sources = random.random_range(1..=100_u32);
        let load = random.random_range(0.5..0.97);
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let room = random.random_range(5..200_u32);
        builder.link(netflow_problems::link(a, b, 8e6, 0.01, f64::from(room)));
        let rate_pps = 1000.0 * load / f64::from(sources);
        let source = Source::Constant { rate_pps };
        builder.connection(ConnectionSpec {
            count: sources,
            ..netflow_problems::one_way("c", a, b, source)
        });
        let network = builder.build().unwrap();
        let link = network.links().next().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS]
            .map(|model| run(network.clone(), model, 30.0).link_totals(link));
        let told = format!("{case}: {sources} sources, load {load}, room {room}");
        assert!(
            packets.mean_queue_pkts <= 1.02 * fluid.mean_queue_pkts,
            "{told}"
        );
        assert!(packets.lost_pkts <= fluid.lost_pkts + 1.0, "{told}");
    }
}

/// Packets of a stream do not wait again at a second link of the same bandwidth. Packets of a
/// merged stream wait less than the equations predict, and packets of very different sizes wait
/// longer: both are estimates.
#[test]
fn merged_streams_and_mixed_sizes_are_estimates() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(5));
    for _ in 0..20 {
        let load = rng.random_range(0.6..0.9);
        let row = |joining_pps: f64| {
            let mut builder = NetworkBuilder::new();
            let [a, b, c] = ["a", "b", "c"].map(|name| builder.node(name));
            for (from, to) in [(a, b), (b, c)] {
                builder.link(netflow_problems::link(from, to, 8e6, 0.01, 1000.0));
            }
            let source = Source::Poisson {
                rate_pps: 1000.0 * load,
            };
            builder.connection(netflow_problems::one_way("in a row", a, c, source));
            if joining_pps > 0.0 {
                let source = Source::Poisson {
                    rate_pps: joining_pps,
                };
                builder.connection(netflow_problems::one_way("joins", b, c, source));
            }
            builder.build().unwrap()
        };
        let (paced, row) = (row(0.0), row(50.0));

        let mut builder = NetworkBuilder::new();
        let [a, b] = ["a", "b"].map(|name| builder.node(name));
        let link = builder.link(netflow_problems::link(a, b, 8e6, 0.01, 1000.0));
        let part: f64 = rng.random_range(0.3..0.7);
        for (name, bytes, part) in [("small", 60.0, 1.0 - part), ("large", 1500.0, part)] {
            let rate_pps = load * part * 8e6 / (8.0 * bytes);
            builder.connection(ConnectionSpec {
                packet_size_bytes: bytes,
                ..netflow_problems::one_way(name, a, b, Source::Poisson { rate_pps })
            });
        }
        let sizes = builder.build().unwrap();

        let told = |network: &Network, id| {
            [Model::FLUID, Model::PACKETS].map(|model| {
                let totals = run(network.clone(), model, 60.0).link_totals(id);
                (totals.estimate, totals.mean_queue_pkts)
            })
        };
        let ids: Vec<_> = paced.links().collect();
        let [(reason, first), (_, as_packets)] = told(&paced, ids[0]);
        assert_eq!(reason, Some(Estimate::Alike));
        assert!(first > 0.95 * as_packets);
        let [(reason, fluid), (_, packets)] = told(&paced, ids[1]);
        assert_eq!(reason, None);
        assert!(
            (fluid / packets - 1.0).abs() < 0.03,
            "{load}: {fluid} {packets}"
        );
        let ids: Vec<_> = row.links().collect();
        let [(reason, fluid), (_, packets)] = told(&row, ids[1]);
        assert_eq!(reason, Some(Estimate::InOrder));
        assert!(fluid > 1.2 * packets, "{load}: {fluid} {packets}");
        let [(reason, fluid), (_, packets)] = told(&sizes, link);
        assert_eq!(reason, Some(Estimate::Sizes));
        assert!(fluid < 0.9 * packets, "{load} {part}: {fluid} {packets}");
    }
}

/// Poisson packets with sizes between constant and exponential: no queue is longer, or loses more,
/// than reported. The Pollaczek–Khinchine formula gives the position between the two cases.
#[test]
fn similar_packet_sizes_wait_less_than_reported() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(21));
    let mut marked = 0;
    for case in 0..40 {
        let load = rng.random_range(0.15..0.93);
        let room = rng.random_range(10..300_u32);
        let mut builder = NetworkBuilder::new();
        let [a, b] = ["a", "b"].map(|name| builder.node(name));
        let link = builder.link(netflow_problems::link(a, b, 8e6, 0.01, f64::from(room)));
        let kinds = rng.random_range(1..=4);
        let mut all = Vec::new();
        for i in 0..kinds {
            let bytes: f64 = rng.random_range(400.0..1500.0);
            let rate_pps = load * 8e6 / (8.0 * bytes) / f64::from(kinds);
            all.push((rate_pps, bytes));
            builder.connection(ConnectionSpec {
                packet_size_bytes: bytes,
                ..netflow_problems::one_way(&format!("c{i}"), a, b, Source::Poisson { rate_pps })
            });
        }
        let moment = |n: i32| {
            all.iter()
                .map(|(pps, bytes)| pps * bytes.powi(n))
                .sum::<f64>()
        };
        let longer = 0.5 * moment(2) * moment(0) / (moment(1) * moment(1));
        let network = builder.build().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS]
            .map(|model| run(network.clone(), model, 60.0).link_totals(link));
        let told = format!("{case}: {all:?}, load {load}, room {room}: {longer}");
        let is_alike = longer < 1.0 / 1.05;
        assert_eq!(
            fluid.estimate,
            is_alike.then_some(Estimate::Alike),
            "{told}"
        );
        marked += u32::from(is_alike);
        let (more, less) = (fluid.mean_queue_pkts, packets.mean_queue_pkts);
        assert!(less <= 1.06 * more, "{told}: {more} {less}");
        assert!(packets.lost_pkts <= fluid.lost_pkts + 1.0, "{told}");
        if f64::from(room) > 20.0 * more {
            let waiting = [more, less].map(|pkts| pkts - load);
            let of_law = waiting[1] / (longer * waiting[0]);
            assert!((0.75..1.25).contains(&of_law), "{told}: {waiting:?}");
        }
    }
    assert!(marked > 30, "{marked}");
}

/// On-off applications: packets wait longer than for the mean rate, and the queue is marked.
#[test]
fn application_bursts_are_marked_as_estimates() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(22));
    let mut longer = Vec::new();
    for _ in 0..16 {
        let load = rng.random_range(0.3..0.8);
        let n = rng.random_range(2..8);
        let [on_s, times] = [rng.random_range(0.1..1.0), rng.random_range(2.0..6.0)];
        let application = Application::OnOff {
            rate_pps: 1000.0 * load / f64::from(n) * times,
            on_s,
            off_s: on_s * (times - 1.0),
        };
        let told = |source: Source, model| {
            let sources = vec![source; n as usize];
            let network = network(DropPolicy::DropTail, &sources, application);
            let link = network.links().next().unwrap();
            let totals = run(network.clone(), model, 60.0).link_totals(link);
            (totals.estimate, totals.mean_queue_pkts)
        };
        let profile = Source::Profile(builtin("ns-reno").unwrap());
        let (reason, fluid) = told(profile, Model::FLUID);
        assert_eq!(reason, Some(Estimate::Bursts));
        let window = Source::Ns2Tcp(WindowSource {
            variant: TcpVariant::Reno,
            ..WindowSource::default()
        });
        let (none, packets) = told(window, Model::PACKETS);
        assert_eq!(none, None);
        longer.push(packets / fluid);
    }
    longer.sort_by(f64::total_cmp);
    println!("applications that switch, {}", times_as_long(&longer));
    assert!(longer[longer.len() / 4] > 1.5, "{longer:?}");
}

/// The same for web users.
#[test]
fn user_bursts_are_marked_as_estimates() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(24));
    let mut longer = Vec::new();
    for _ in 0..10 {
        let bandwidth_bps = rng.random_range(2e6..2e7);
        // A session transfers about 70 kB.
        let users_per_s = rng.random_range(0.3..0.7) * bandwidth_bps / 5.6e5;
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let room = rng.random_range(20..200_u32);
        let links = [(a, b), (b, a)].map(|(from, to)| {
            let link = netflow_problems::link(from, to, bandwidth_bps, 0.01, f64::from(room));
            builder.link(link)
        });
        let web = Asks::Http(Http::default());
        builder.workload(netflow_problems::workload("web", web, users_per_s, [b, a]));
        let network = builder.build().unwrap();
        let [fluid, packets] = [Model::FLUID, Model::PACKETS]
            .map(|model| run(network.clone(), model, 60.0).link_totals(links[0]));
        assert_eq!(
            [fluid.estimate, packets.estimate],
            [Some(Estimate::Bursts), None]
        );
        longer.push(packets.mean_queue_pkts / fluid.mean_queue_pkts);
    }
    longer.sort_by(f64::total_cmp);
    println!("users of the web, {}", times_as_long(&longer));
    assert!(longer[0] > 1.5, "{longer:?}");
}

/// Formats the ratios of packet queues to fluid queues, which are sorted.
fn times_as_long(all: &[f64]) -> String {
    let [least, most] = [0, all.len() - 1].map(|i| all[i]);
    let n = all.len();
    format!("{n} links: {least:.2} to {most:.1} times as many packets as the fluid tells")
}

/// Acknowledgements below the capacity of a narrow return path hardly wait; above it, more wait
/// than reported.
#[test]
fn acks_on_a_narrow_return_path_are_estimates() {
    let mut rng = Pcg32::seed_from_u64(netflow_problems::population_seed(23));
    let (mut fit, mut others) = (Vec::new(), Vec::new());
    for case in 0..24 {
        let load: f64 = rng.random_range(0.3..1.4);
        let mut told = Vec::new();
        let connections = rng.random_range(1..10);
        let window = WindowSource {
            variant: TcpVariant::Reno,
            ..WindowSource::default()
        };
        let sources = [
            (Source::Profile(builtin("ns-reno").unwrap()), Model::FLUID),
            (Source::Ns2Tcp(window), Model::PACKETS),
        ];
        for (source, model) in sources {
            let mut builder = NetworkBuilder::new();
            let (a, b) = (builder.node("a"), builder.node("b"));
            builder.link(netflow_problems::link(a, b, 8e6, 0.01, 50.0));
            let back = builder.link(netflow_problems::link(b, a, 8e6 * 0.04 / load, 0.01, 50.0));
            builder.connection(ConnectionSpec {
                count: connections,
                ..netflow_problems::connection("c", a, b, source)
            });
            let network = builder.build().unwrap();
            let totals = run(network.clone(), model, 60.0).link_totals(back);
            told.push((totals.estimate, totals.mean_queue_pkts));
        }
        let [(reason, fluid), (none, packets)] = told[..] else {
            unreachable!("two models");
        };
        assert_eq!((reason, none), (Some(Estimate::Acks), None), "{case}");
        let told = format!("{case}, load {load}: {packets} {fluid}");
        assert!(packets < fluid || load > 0.85, "{told}");
        assert!(packets > fluid || load < 1.03, "{told}");
        let of = match load {
            load if load < 0.85 => &mut fit,
            load if load > 1.03 => &mut others,
            _ => continue,
        };
        of.push(packets / fluid);
    }
    for (who, of) in [("that fit", &mut fit), ("that do not", &mut others)] {
        of.sort_by(f64::total_cmp);
        println!("acknowledgements {who}, {}", times_as_long(of));
    }
}

/// Packets of 0.64 ns are rounded to 1 ns: a link that is 80 % busy is reported as full.
#[test]
fn nanosecond_rounding_is_marked_as_estimate() {
    for (gbps, bytes, told) in [
        (800.0, 64.0, Some(Estimate::Nanoseconds)),
        (100.0, 64.0, Some(Estimate::Nanoseconds)),
        (100.0, 1500.0, None),
        (10.0, 64.0, None),
    ] {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let link = builder.link(netflow_problems::link(a, b, 1e9 * gbps, 1e-6, 1000.0));
        let rate_pps = 0.8e9 * gbps / (8.0 * bytes);
        builder.connection(ConnectionSpec {
            packet_size_bytes: bytes,
            ..netflow_problems::one_way("c", a, b, Source::Poisson { rate_pps })
        });
        let network = builder.build().unwrap();
        let totals = run(network.clone(), Model::PACKETS, 4e4 / rate_pps).link_totals(link);
        assert_eq!(totals.estimate, told, "{gbps} {bytes}: {totals:?}");
        let is_right = (totals.utilization - 0.8).abs() < 0.02;
        assert!(is_right || told.is_some(), "{gbps} {bytes}: {totals:?}");
    }
}
