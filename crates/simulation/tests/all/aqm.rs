//! Queues with active queue management: their reported length, and PIE in the fluid model compared
//! with packets.

use std::convert::Infallible;

use netflow_network::{
    AckFilter, Aqm, Buffer, Cake, CoDel, ConnectionId, DualPi2, Interval, Isolation, LinkTotals,
    Overhead, Pie, Recorder, Red,
};
use netflow_profile::builtin;
use netflow_simulation::{
    ConnectionSpec, DropPolicy, LinkSpec, Model, Network, NetworkBuilder, Options, Run, Simulation,
    Source,
};
use netflow_tcpmodel::CongestionControl;
use netflow_tcpmodel::Stack;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::comparison::NullRecorder;

/// Returns a link with this queue, and a number of connections of each source.
fn network(queue: Aqm, bandwidth_bps: f64, delay_s: f64, sources: &[(Source, u32)]) -> Network {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let link = |from, to, queue| LinkSpec {
        delay_s,
        buffer: Buffer::Packets(1000.0),
        queue,
        ..LinkSpec::new(from, to, bandwidth_bps)
    };
    b.link(link(from, to, DropPolicy::Managed(queue)));
    b.link(link(to, from, DropPolicy::DropTail));
    for (i, (source, count)) in sources.iter().enumerate() {
        b.connection(ConnectionSpec {
            count: *count,
            packet_size_bytes: 1500.0,
            start_s: 0.37 * i as f64,
            ..netflow_problems::connection(&format!("c{i}"), from, to, source.clone())
        });
    }
    b.build().unwrap()
}

/// Returns Linux's TCP as each model represents it.
fn linux(model: Model, profile: &str, congestion: CongestionControl) -> Source {
    match model {
        Model::Fluid(_) => Source::Profile(builtin(profile).unwrap()),
        Model::Packets(_) => {
            let mut stack = Stack::builtin("linux-6").unwrap();
            stack.set_congestion(congestion);
            Source::Tcp(stack.into())
        }
    }
}

fn simulation(network: Network, model: Model, duration_s: f64) -> Simulation {
    let options = Options {
        model,
        duration_s,
        ..Options::default()
    };
    Simulation::new(network, options).unwrap()
}

/// Runs the fluid and packet models through a link with PIE, measured from 20 s until `until_s`.
fn through_pie(
    bandwidth_bps: f64,
    delay_s: f64,
    until_s: f64,
    sources: impl Fn(Model) -> Vec<(Source, u32)>,
) -> [LinkTotals; 2] {
    [Model::FLUID, Model::PACKETS].map(|model| {
        let pie = Aqm::Pie(Pie::default());
        let network = network(pie, bandwidth_bps, delay_s, &sources(model));
        let link = network.links().next().unwrap();
        let mut simulation = simulation(network, model, until_s);
        simulation
            .run_until(20.0, &mut NullRecorder, || false)
            .unwrap();
        simulation.begin_period();
        simulation
            .run_until(until_s, &mut NullRecorder, || false)
            .unwrap();
        simulation.link_totals(link)
    })
}

/// RED drops early below a large buffer, and loses packets at a small one, too. A drop-tail queue has no early drops.
#[test]
fn early_drops_are_counted_separately() {
    let red = DropPolicy::Red(Red {
        min_pkts: 5.0,
        max_pkts: 15.0,
        max_p: 0.1,
        weight: 0.02,
        gentle: true,
        ecn: false,
        hard_drop: true,
    });
    let losses = |queue, buffer_pkts| {
        let mut b = NetworkBuilder::new();
        let (from, to) = (b.node("A"), b.node("B"));
        for (from, to) in [(from, to), (to, from)] {
            b.link(LinkSpec {
                buffer: Buffer::Packets(buffer_pkts),
                queue,
                ..LinkSpec::new(from, to, 10e6)
            });
        }
        let poisson = Source::Poisson { rate_pps: 1_500.0 };
        b.connection(netflow_problems::connection("c", from, to, poisson));
        let network = b.build().unwrap();
        let link = network.links().next().unwrap();
        let mut simulation = simulation(network, Model::PACKETS, 20.0);
        simulation
            .run_until(20.0, &mut NullRecorder, || false)
            .unwrap();
        let totals = simulation.link_totals(link);
        (totals.early_drop_pkts, totals.lost_pkts)
    };
    let (early, lost) = losses(red, 1_000.0);
    assert!(lost > 1_000.0 && early == Some(lost), "{early:?} {lost}");
    let (early, lost) = losses(red, 15.0);
    let early = early.unwrap();
    assert!(early > 100.0 && early < 0.9 * lost, "{early} {lost}");
    let (early, lost) = losses(DropPolicy::DropTail, 8.0);
    assert!(lost > 1_000.0 && early.is_none(), "{early:?} {lost}");
}

/// Recorder that checks every interval.
struct IntervalChecker;

impl Recorder for IntervalChecker {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        for id in interval.network.links() {
            let link = interval.link(id);
            assert!((0.0..=1001.0).contains(&link.queue_pkts), "{link:?}");
            assert!(link.sojourn_time_s.is_none_or(|it| it >= 0.0), "{link:?}");
        }
        Ok(())
    }
}

/// Packets that CoDel drops have waited in the queue until then: the mean queue matches 1000
/// samples. Their waiting times are not part of the delays of departed packets.
#[test]
fn mean_queue_includes_packets_dropped_later() {
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(1));
    let shaped = Aqm::Cake(Cake {
        bandwidth_bps: Some(2e6),
        isolation: Isolation::FlowBlind,
        ..Cake::default()
    });
    let all: Vec<Aqm> = Aqm::all().chain([shaped]).collect();
    for case in 0..4 * all.len() {
        let queue = all[case % all.len()];
        let bandwidth_bps = 1e6 * rng.random_range(2.0..10.0_f64);
        let load = rng.random_range(0.9..3.0);
        let poisson = Source::Poisson {
            rate_pps: load * bandwidth_bps / 12_000.0,
        };
        let tcp = Source::Tcp(Stack::builtin("linux-6").unwrap().into());
        let sources = [(poisson, 1), (tcp, 1)];
        let network = network(queue, bandwidth_bps, 0.002, &sources);
        let link = network.links().next().unwrap();
        let mut simulation = simulation(network, Model::PACKETS, 20.0);
        let mut there = 0.0;
        for i in 1..=4000 {
            let until_s = 0.005 * f64::from(i);
            simulation
                .run_until(until_s, &mut IntervalChecker, || false)
                .unwrap();
            let totals = simulation.link_totals(link);
            there += totals.offered_pkts - totals.lost_pkts - totals.departed_pkts;
        }
        let totals = simulation.link_totals(link);
        let seen = there / 4000.0;
        println!(
            "{queue:?} {load:.2}: {seen:.2} seen, {:.2} told",
            totals.mean_queue_pkts
        );
        let early_drop_pkts = totals.early_drop_pkts.unwrap();
        assert!(early_drop_pkts <= totals.lost_pkts, "{totals:?}");
        assert!(load < 1.5 || early_drop_pkts > 10.0, "{totals:?}");
        let error = (totals.mean_queue_pkts - seen).abs();
        assert!(error < 0.5 + 0.02 * seen, "{totals:?} {seen}");
        // Departed packets have the measured delays of the connections, minus the link's own 2 ms.
        let connections = simulation.network().connections();
        let (mut took_s, mut pkts) = (0.0, 0.0);
        for id in connections {
            let it = simulation.connection_totals(id);
            took_s += it.mean_delay_s.unwrap() * it.delivered_pkts;
            pkts += it.delivered_pkts;
        }
        let measured_s = took_s / pkts - 0.002;
        let delay_s = totals.sojourn_time_s.unwrap();
        assert!(
            (delay_s - measured_s).abs() < 1e-4 + 0.02 * measured_s,
            "{delay_s} {measured_s}"
        );
    }
}

/// If PIE's target is few packets, none is dropped while two or fewer wait.
#[test]
fn fluid_pie_does_not_drop_short_queues() {
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(8));
    for _ in 0..12 {
        let bandwidth_bps = 1e6 * rng.random_range(0.25..4.0_f64);
        let windows = rng.random_range(2..10);
        let [fluid, packets] = through_pie(bandwidth_bps, 0.02, 120.0, |model| {
            vec![(linux(model, "linux-reno", CongestionControl::Reno), windows)]
        });
        println!(
            "{windows} at {:.2}: {:.2} {:.2}, {:.4} {:.4}",
            bandwidth_bps / 1e6,
            fluid.mean_queue_pkts,
            packets.mean_queue_pkts,
            fluid.loss_probability,
            packets.loss_probability
        );
        assert!((fluid.mean_queue_pkts - packets.mean_queue_pkts).abs() < 1.5);
        let ratio = fluid.loss_probability / packets.loss_probability;
        assert!(ratio > 0.7 && ratio < 1.5, "{ratio}");
        assert!(fluid.utilization > packets.utilization - 0.12);
    }
}

/// PIE in the fluid model: queue, utilization and loss compared with packets; with congestion
/// windows, with Poisson sources, and with both.
#[test]
fn fluid_pie_matches_packets() {
    let mut rng = ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(7));
    for case in 0..24 {
        let bandwidth_bps = 1e6 * rng.random_range(5.0..50.0_f64);
        let delay_s = rng.random_range(0.004..0.03);
        let windows = rng.random_range(4..25);
        let load = rng.random_range(0.2..1.4_f64);
        let rate_pps = load * bandwidth_bps / 12_000.0;
        let (name, congestion) = if rng.random() {
            ("linux-reno", CongestionControl::Reno)
        } else {
            ("linux-cubic", CongestionControl::Cubic)
        };
        let [fluid, packets] = through_pie(bandwidth_bps, delay_s, 60.0, |model| {
            let tcp = linux(model, name, congestion);
            let poisson = Source::Poisson { rate_pps };
            match case % 3 {
                0 => vec![(tcp, windows)],
                1 => vec![(poisson, 1)],
                _ => vec![(tcp, windows), (poisson, 1)],
            }
        });
        println!("{case}: {fluid:?}\n    {packets:?}");
        let queue_pkts = packets.mean_queue_pkts;
        let longer_pkts = (fluid.mean_queue_pkts - queue_pkts).abs();
        assert!(longer_pkts < 0.3 + 0.05 * queue_pkts);
        // M/D/1 is idle more often than a queue controlled to a length, especially with short
        // queues.
        let busier = (fluid.utilization - packets.utilization).abs();
        assert!(busier < 0.005 + 0.5 / queue_pkts.max(6.0));
        let [more, less] = [&fluid, &packets].map(|it| it.loss_probability);
        if less > 5e-4 {
            assert!(more / less < 1.25 && less / more < 1.25)
        } else {
            assert!(more < 1e-3)
        }
    }
}

/// Shares of two connections at 50 Mbit/s match measurements of Linux within 10 points (studies/l4s has all of them and
/// their source). Prague and CUBIC have a base RTT of 80 ms.
#[test]
fn shares_at_dualpi2_match_published_measurements() {
    let source = |congestion| {
        let mut stack = Stack::builtin("linux-6").unwrap();
        stack.set_congestion(congestion);
        Source::Tcp(stack.into())
    };
    let (prague, cubic) = (CongestionControl::Prague, CongestionControl::Cubic);
    for (first, second, published) in [(prague, cubic, 63.0), (prague, prague, 50.0)] {
        let sources = [(source(first), 1), (source(second), 1)];
        let queue = Aqm::DualPi2(DualPi2 {
            step_min_pkts: 2,
            ..DualPi2::default()
        });
        let network = network(queue, 50e6, 0.04, &sources);
        let ids: Vec<ConnectionId> = network.connections().collect();
        let mut simulation = simulation(network, Model::PACKETS, 120.0);
        let mut counts = |until_s| {
            simulation
                .run_until(until_s, &mut NullRecorder, || false)
                .unwrap();
            let of = |&id: &ConnectionId| simulation.engine().connection_counts(id).arrived_pkts;
            [of(&ids[0]), of(&ids[1])]
        };
        let (before, after) = (counts(60.0), counts(120.0));
        let rates = [after[0] - before[0], after[1] - before[1]];
        let share = 100.0 * rates[0] / (rates[0] + rates[1]);
        assert!((share - published).abs() < 10.0, "{first:?}: {share} %");
    }
}

/// At DualPI2 with CUBIC, DCTCP with ECT(1) waits in the L queue for at most a few ms, and with ECT(0) behind the packets
/// of CUBIC (RFC 9332: targets of 1 ms and 15 ms).
#[test]
fn dctcp_with_ect1_has_the_low_latency_queue() {
    let waiting_s = |l4s| {
        let source = |congestion, l4s| {
            let mut stack = Stack::builtin("linux-6").unwrap();
            stack.set_congestion(congestion);
            stack.l4s = l4s;
            (Source::Tcp(stack.into()), 1)
        };
        let sources = [
            source(CongestionControl::Dctcp, l4s),
            source(CongestionControl::Cubic, false),
        ];
        let network = network(Aqm::DualPi2(DualPi2::default()), 50e6, 0.01, &sources);
        let dctcp = network.connections().next().unwrap();
        let mut simulation = simulation(network, Model::PACKETS, 20.0);
        (simulation.run_until(20.0, &mut NullRecorder, || false)).unwrap();
        let totals = simulation.connection_totals(dctcp);
        totals.mean_rtt_s.unwrap() - 0.02
    };
    let (l4s_s, classic_s) = (waiting_s(true), waiting_s(false));
    assert!(l4s_s < 3e-3 && classic_s > 8e-3, "{l4s_s} {classic_s}");
}

/// Two hosts and a server behind CAKE, which limits a link of 10 Mbit/s to 9 Mbit/s. The first host has one connection,
/// the other one has eight. Returns the delivered packets of each connection of 1500 B in 40 s, and the link.
fn through_cake(cake: Cake, classes: [&str; 2]) -> ([f64; 2], LinkTotals) {
    let mut b = NetworkBuilder::new();
    let (gateway, isp) = (b.node("gateway"), b.node("ISP"));
    let hosts = [b.node("one"), b.node("eight")];
    let link = |from, to, bandwidth_bps| LinkSpec {
        delay_s: 0.005,
        buffer: Buffer::Packets(1000.0),
        ..LinkSpec::new(from, to, bandwidth_bps)
    };
    let uplink = b.link(LinkSpec {
        queue: DropPolicy::Managed(Aqm::Cake(Cake {
            bandwidth_bps: Some(9e6),
            ..cake
        })),
        ..link(gateway, isp, 10e6)
    });
    b.link(link(isp, gateway, 10e6));
    let poisson = Source::Poisson { rate_pps: 800.0 };
    let connections = hosts.map(|host| {
        b.link(link(host, gateway, 1e9));
        b.link(link(gateway, host, 1e9));
        b.connection(ConnectionSpec {
            count: if host == hosts[0] { 1 } else { 8 },
            packet_size_bytes: 1500.0,
            ..netflow_problems::connection(
                &format!("c{}", host.index()),
                host,
                isp,
                poisson.clone(),
            )
        })
    });
    for (connection, class) in connections.into_iter().zip(classes) {
        b.classify(connection, class);
    }
    let mut simulation = simulation(b.build().unwrap(), Model::PACKETS, 50.0);
    let run_until = |simulation: &mut Simulation, until_s| {
        simulation
            .run_until(until_s, &mut NullRecorder, || false)
            .unwrap();
        connections.map(|id| simulation.engine().connection_counts(id).arrived_pkts)
    };
    let before = run_until(&mut simulation, 10.0);
    simulation.begin_period();
    let after = run_until(&mut simulation, 50.0);
    let delivered = [after[0] - before[0], after[1] - before[1]];
    (delivered, simulation.link_totals(uplink))
}

/// CAKE's shaper sends 90 % of the bandwidth, shared by host or by flow. Voice has a quarter, and bulk one sixteenth.
#[test]
fn cake_shares_its_rate() {
    let default = Cake::default();
    let of = |isolation| Cake {
        isolation,
        ..default
    };
    let best_effort = ["CS0"; 2];
    for (cake, classes, share) in [
        (of(Isolation::DualSrcHost), best_effort, 0.5),
        (of(Isolation::Hosts), best_effort, 0.5),
        (of(Isolation::DualDstHost), best_effort, 1.0 / 9.0),
        // One server: its load of nine flows is larger than that of the hosts.
        (default, best_effort, 1.0 / 9.0),
        (default, ["EF", "CS0"], 0.25),
        (default, ["CS1", "CS0"], 0.0625),
        // Both are above their thresholds: a packet of bulk takes 21.3 ms of its threshold, one of voice 5.3 ms. Bulk is
        // next when less than these 5.3 ms are left, after 13 packets of voice at 1.33 ms.
        (default, ["LE", "EF"], 1.0 / 14.0),
    ] {
        let ([one, eight], link) = through_cake(cake, classes);
        let found = one / (one + eight);
        assert!(
            (found - share).abs() < 0.015,
            "{cake:?}, {classes:?}: {found}"
        );
        assert!(
            (link.utilization - 0.9).abs() < 1e-3,
            "{}",
            link.utilization
        );
        // 9 Mbit/s for 40 s.
        assert!((one + eight - 30_000.0).abs() < 20.0, "{one} + {eight}");
    }
}

/// On a line of 30 and 1 Mbit/s, the filter leaves more of the uplink to uploads, and the aggressive one still more.
/// Downloads are not slower.
#[test]
fn filtered_acks_leave_bandwidth_to_uploads() {
    let source = || Source::Tcp(Stack::builtin("linux-6").unwrap().into());
    let mut results = Vec::new();
    for ack_filter in [AckFilter::Off, AckFilter::On, AckFilter::Aggressive] {
        let mut b = NetworkBuilder::new();
        let (home, isp) = (b.node("home"), b.node("ISP"));
        let link = |from, to, bandwidth_bps| LinkSpec {
            delay_s: 0.025,
            overhead: Overhead {
                minimum_bytes: 84.0,
                ..Overhead::of(38.0)
            },
            queue: DropPolicy::Managed(Aqm::Cake(Cake {
                bandwidth_bps: Some(0.95 * bandwidth_bps),
                ack_filter,
                ..Cake::default()
            })),
            ..LinkSpec::new(from, to, bandwidth_bps)
        };
        b.link(link(home, isp, 1e6));
        b.link(link(isp, home, 30e6));
        let ends = [("down", isp, home), ("up", home, isp)];
        let ids = ends.map(|(name, from, to)| {
            b.connection(ConnectionSpec {
                count: 4,
                packet_size_bytes: 1500.0,
                ..netflow_problems::connection(name, from, to, source())
            })
        });
        let mut simulation = simulation(b.build().unwrap(), Model::PACKETS, 60.0);
        simulation
            .run_until(60.0, &mut NullRecorder, || false)
            .unwrap();
        results.push(ids.map(|id| simulation.engine().connection_counts(id).arrived_pkts));
    }
    let [off, on, aggressive] = [&results[0], &results[1], &results[2]];
    assert!(
        on[1] > 1.05 * off[1] && aggressive[1] > 1.1 * on[1],
        "{results:?}"
    );
    assert!(
        on[0] > 0.98 * off[0] && aggressive[0] > 0.98 * on[0],
        "{results:?}"
    );
}

/// Incast: 15 and 128 senders of 2 MB each fill a link of 100 Gbit/s until the last transfer ends, as in the validation
/// of htsim (limits 2.5 and 21 ms). The senders have DCTCP, the queues mark after 25 packets of 4 KB.
#[test]
fn incast_fills_the_link() {
    let mut stack = Stack::builtin("linux-6").unwrap();
    stack.set_congestion(CongestionControl::Dctcp);
    stack.host_delay_s = 0.0;
    let source = Source::Tcp(stack.into());
    let queue = Aqm::CoDel(CoDel {
        target_ns: 50_000_000,
        ce_threshold_ns: Some(8_000),
        ..CoDel::default()
    });
    for (senders, limit_s) in [(15, 2.5e-3), (128, 21e-3)] {
        let mut b = NetworkBuilder::new();
        let (switch, receiver) = (b.node("switch"), b.node("receiver"));
        let link = |from, to| LinkSpec {
            delay_s: 1e-6,
            buffer: Buffer::Packets(2000.0),
            queue: DropPolicy::Managed(queue),
            ..LinkSpec::new(from, to, 100e9)
        };
        b.link(link(switch, receiver));
        b.link(link(receiver, switch));
        for i in 0..senders {
            let host = b.node(&format!("h{i}"));
            b.link(link(host, switch));
            b.link(link(switch, host));
            b.connection(ConnectionSpec {
                packet_size_bytes: 4000.0,
                size_pkts: Some(500.0),
                ..netflow_problems::connection(&format!("c{i}"), host, receiver, source.clone())
            });
        }
        let mut simulation = simulation(b.build().unwrap(), Model::PACKETS, 0.1);
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        let ends = simulation.network().connections();
        let ends = ends.map(|id| simulation.connection_totals(id).finished_s.unwrap());
        let last_s = ends.fold(0.0, f64::max);
        // 2 MB take 0.16 ms at 100 Gbit/s.
        assert!(
            (0.16e-3 * f64::from(senders)..limit_s).contains(&last_s),
            "{senders} senders: {last_s} s"
        );
    }
}
