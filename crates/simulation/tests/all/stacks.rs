//! Connections by the rules of a real stack beside Linux over an emulated link, and queues that are managed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use netflow_simulation::*;
use netflow_tcpmodel::{CongestionControl, Stack};

fn linux(congestion: CongestionControl) -> Source {
    let mut stack = Stack::builtin("linux-6").unwrap();
    stack.set_congestion(congestion);
    Source::Stack(Arc::new(stack))
}

/// A sender of each kind, 100 ms after one another, behind one link with a buffer; back over one that is as
/// fast.
fn bottleneck(
    sources: &[CongestionControl],
    link: impl Fn(LinkSpec) -> LinkSpec,
    spec: LinkSpec,
) -> (NetworkBuilder, LinkId) {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let there = b.link(link(LinkSpec {
        from,
        to,
        ..spec.clone()
    }));
    b.link(LinkSpec {
        from: to,
        to: from,
        buffer: Buffer::Packets(1e5),
        ..spec
    });
    for (i, &congestion) in sources.iter().enumerate() {
        b.connection(ConnectionSpec {
            start_s: 0.1 * i as f64,
            packet_size_bytes: 1500.0,
            ..netflow_problems::connection(&format!("c{i}"), from, to, linux(congestion))
        });
    }
    (b, there)
}

fn played(network: Network, duration_s: f64, seed: u64) -> Simulation {
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        seed,
    };
    let mut simulation = Simulation::new(network, options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    simulation
}

/// A row of the reference: what Linux did.
struct Row {
    sources: Vec<CongestionControl>,
    rtt_ms: f64,
    buffer_pkts: f64,
    link_mbps: f64,
    dropped: f64,
    rtt_seen_ms: f64,
    /// By sender.
    goodput_mbps: Vec<f64>,
}

fn rows() -> Vec<Row> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/linux/bottleneck.csv");
    let text = fs::read_to_string(path).unwrap();
    let named = |word: &str| match word {
        "reno" => CongestionControl::Reno,
        "cubic" => CongestionControl::Cubic,
        "bbr" => CongestionControl::Bbr,
        _ => panic!("{word}"),
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        Row {
            sources: cells[0].split('+').map(named).collect(),
            rtt_ms: number(1),
            buffer_pkts: number(2),
            link_mbps: number(3),
            dropped: number(4),
            rtt_seen_ms: number(5),
            goodput_mbps: cells[6].split('+').map(|it| it.parse().unwrap()).collect(),
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// The same as a network of packets: the queueing delay in ms, what was dropped, Mbit/s of each sender and of
/// all; means over seeds.
fn as_packets(row: &Row) -> (f64, f64, Vec<f64>) {
    const SEEDS: u64 = 5;
    let spec = LinkSpec {
        delay_s: row.rtt_ms / 2e3,
        buffer: Buffer::Packets(row.buffer_pkts),
        ..LinkSpec::new(any_node(), any_node(), 1e6 * row.link_mbps)
    };
    let n = row.sources.len();
    let (mut waiting_ms, mut dropped, mut mbps) = (0.0, 0.0, vec![0.0; n]);
    for seed in 0..SEEDS {
        let (b, link) = bottleneck(&row.sources, |link| link, spec.clone());
        let simulation = played(b.build().unwrap(), 20.0, seed);
        let totals = simulation.link_totals(link);
        waiting_ms += totals.queueing_delay_s.unwrap() * 1e3 / SEEDS as f64;
        dropped += totals.lost_pkts / SEEDS as f64;
        for (id, mbps) in simulation.network().connections().zip(&mut mbps) {
            let delivered = simulation.connection_totals(id).delivered_pkts;
            *mbps += delivered * 1460.0 * 8.0 / 20.0 / 1e6 / SEEDS as f64;
        }
    }
    (waiting_ms, dropped, mbps)
}

/// One node of any network, to be replaced.
fn any_node() -> NodeId {
    NetworkBuilder::new().node("A")
}

/// Linux 6.18 over an emulated link, 20 s each, once: queueing delays, drops, shares.
#[test]
fn stacks_fill_a_link_as_linux_does() {
    let mut sums: std::collections::BTreeMap<String, (f64, f64, f64, f64)> = Default::default();
    for row in rows() {
        let (waiting_ms, dropped, mbps) = as_packets(&row);
        let real_ms = row.rtt_seen_ms - row.rtt_ms;
        println!(
            "{:?} x{} {} ms, {} pkt: queueing {waiting_ms:.1} ms, Linux {real_ms:.1}; dropped {dropped:.0}, \
             Linux {}; Mbit/s {mbps:.1?}, Linux {:.1?}",
            row.sources[0],
            row.sources.len(),
            row.rtt_ms,
            row.buffer_pkts,
            row.dropped,
            row.goodput_mbps
        );
        let (sum, real_sum): (f64, f64) = (mbps.iter().sum(), row.goodput_mbps.iter().sum());
        assert!(
            (sum - real_sum).abs() < 0.04 * row.link_mbps,
            "{sum} {real_sum}"
        );
        let is_mixed = row.sources.iter().any(|it| *it != row.sources[0]);
        if is_mixed {
            let share = |mbps: &[f64]| mbps[0] / mbps.iter().sum::<f64>();
            let (ours, theirs) = (share(&mbps), share(&row.goodput_mbps));
            assert!((ours - theirs).abs() <= 0.1, "shares {ours} {theirs}");
            continue;
        }
        let sums = sums.entry(format!("{:?}", row.sources[0])).or_default();
        sums.0 += (waiting_ms - real_ms).abs();
        sums.1 += real_ms;
        sums.2 += dropped;
        sums.3 += row.dropped;
    }
    for (name, (off, all, dropped, real)) in sums {
        println!(
            "{name}: queueing delay off by {:.3}, dropped {:.2} times",
            off / all,
            dropped / real
        );
        assert!(off / all <= 0.1, "{name}");
        assert!((1.0 / 1.3..=1.3).contains(&(dropped / real)), "{name}");
    }
}

/// A queue with its sender: mean queueing delay in ms, what was lost, and the link's utilization.
fn managed(discipline: Discipline, ecn: bool, count: u32) -> (f64, f64, f64) {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("A"), b.node("B"));
    let queue = DropPolicy::Managed(discipline);
    let there = b.link(LinkSpec {
        delay_s: 0.02,
        buffer: Buffer::Packets(1000.0),
        queue,
        ..LinkSpec::new(from, to, 2e7)
    });
    b.link(LinkSpec {
        delay_s: 0.02,
        buffer: Buffer::Packets(1000.0),
        ..LinkSpec::new(to, from, 2e7)
    });
    let stack = Stack {
        ecn,
        ..Stack::builtin("linux-6").unwrap()
    };
    b.connection(ConnectionSpec {
        count,
        packet_size_bytes: 1500.0,
        ..netflow_problems::connection("c", from, to, Source::Stack(Arc::new(stack)))
    });
    let simulation = played(b.build().unwrap(), 30.0, 1);
    let totals = simulation.link_totals(there);
    let waiting_ms = totals.queueing_delay_s.unwrap() * 1e3;
    (waiting_ms, totals.lost_pkts, totals.utilization)
}

/// 1000 packets of room are 600 ms: CoDel and PIE keep the queue near their targets, with the link busy; only
/// slowly where CoDel meets many senders.
/// With ECN nothing is lost but what overflows in slow start.
#[test]
fn managed_queues_are_short_and_the_link_is_busy() {
    let pie = |ecn| {
        Discipline::Pie(Pie {
            ecn,
            ..Pie::default()
        })
    };
    let codel = |ecn| {
        Discipline::CoDel(CoDel {
            ecn,
            ..CoDel::default()
        })
    };
    let fq_codel = |ecn| {
        let codel = CoDel {
            ecn,
            ..CoDel::default()
        };
        Discipline::FqCoDel(FqCoDel {
            codel,
            ..FqCoDel::default()
        })
    };
    for count in [1, 5, 20] {
        for (discipline, most_ms) in [
            (codel(false), 20.0),
            (fq_codel(false), 20.0),
            (pie(false), 35.0),
        ] {
            let (waiting_ms, lost, utilization) = managed(discipline, false, count);
            println!("{discipline:?} {count}: {waiting_ms:.1} ms, {lost} lost, {utilization:.3}");
            let most_ms = if count > 5 { 2.0 * most_ms } else { most_ms };
            assert!(waiting_ms < most_ms && utilization > 0.85 && lost > 0.0);
        }
        for discipline in [codel(true), fq_codel(true)] {
            let (waiting_ms, lost, utilization) = managed(discipline, true, count);
            println!("{discipline:?} {count}: {waiting_ms:.1} ms, {lost} lost, {utilization:.3}");
            assert!(waiting_ms < 45.0 && utilization > 0.85 && lost == 0.0);
        }
    }
}

/// Eight senders with 100 us there and back keep the queue of DCTCP at what is marked.
#[test]
fn dctcp_keeps_the_queue_where_packets_are_marked() {
    let spec = LinkSpec {
        delay_s: 50e-6,
        buffer: Buffer::Packets(250.0),
        ..LinkSpec::new(any_node(), any_node(), 1e9)
    };
    let marks = |link: LinkSpec| LinkSpec {
        queue: DropPolicy::Managed(Discipline::CoDel(CoDel {
            ce_threshold_ns: Some(100_000),
            ..CoDel::default()
        })),
        ..link
    };
    let (b, link) = bottleneck(&[CongestionControl::Dctcp; 8], marks, spec.clone());
    let simulation = played(b.build().unwrap(), 2.0, 1);
    let totals = simulation.link_totals(link);
    println!("{totals:?}");
    // 100 us are 8 packets of 12 us; windows of two packets each are 16.
    assert!(totals.mean_queue_pkts < 30.0 && totals.utilization > 0.97 && totals.lost_pkts == 0.0);
    let (b, link) = bottleneck(&[CongestionControl::Cubic; 8], |link| link, spec);
    let simulation = played(b.build().unwrap(), 2.0, 1);
    assert!(simulation.link_totals(link).mean_queue_pkts > 100.0);
}

/// What only packets know is refused by fluids, with a word.
#[test]
fn fluids_refuse_stacks_and_managed_queues() {
    let spec = LinkSpec::new(any_node(), any_node(), 1e6);
    let refused = |network: Network| {
        let options = Options {
            model: Model::FLUID,
            ..Options::default()
        };
        Simulation::new(network, options).err().unwrap().to_string()
    };
    let (b, _) = bottleneck(&[CongestionControl::Bbr], |link| link, spec.clone());
    assert!(refused(b.build().unwrap()).contains("connection `c0`"));
    let pie = |link: LinkSpec| LinkSpec {
        queue: DropPolicy::Managed(Discipline::Pie(Pie::default())),
        ..link
    };
    let (b, _) = bottleneck(&[], pie, spec);
    assert!(refused(b.build().unwrap()).contains("link A->B"));
}
