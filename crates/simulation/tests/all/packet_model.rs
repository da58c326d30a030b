//! Packet model compared with closed forms.

use netflow_profile::builtin;
use netflow_simulation::{
    Acks, Application, Change, ConnectionId, ConnectionSpec, EventSpec, LinkId, LinkSpec, Model,
    NetworkBuilder, NodeId, Options, PacketOptions, Run, RunError, Simulation, Source, TcpVariant,
    WindowSource,
};

const DELAY_S: f64 = 0.03;

fn link(from: NodeId, to: NodeId, pps: f64, room: f64) -> LinkSpec {
    netflow_problems::link(from, to, 8000.0 * pps, DELAY_S, room)
}

fn window(variant: TcpVariant) -> Source {
    Source::Ns2Tcp(WindowSource {
        variant,
        ..WindowSource::default()
    })
}

fn connection(from: NodeId, to: NodeId, source: Source) -> ConnectionSpec {
    netflow_problems::connection("c", from, to, source)
}

/// Returns a->b->c, wide and narrow, with return links, and a connection from a to c with changes.
fn line(
    pps: f64,
    room: f64,
    source: Source,
    change: impl FnOnce(&mut ConnectionSpec),
) -> (NetworkBuilder, LinkId) {
    let mut b = NetworkBuilder::new();
    let [a, m, c] = ["a", "b", "c"].map(|name| b.node(name));
    b.link(link(a, m, 100.0 * pps, 1e4));
    let narrow = b.link(link(m, c, pps, room));
    b.link(link(c, m, 100.0 * pps, 1e4));
    b.link(link(m, a, 100.0 * pps, 1e4));
    let mut spec = connection(a, c, source);
    change(&mut spec);
    b.connection(spec);
    (b, narrow)
}

fn run(b: NetworkBuilder, duration_s: f64, seed: u64) -> (Simulation, ConnectionId) {
    let options = Options {
        duration_s,
        model: Model::PACKETS,
        seed,
    };
    let mut sim = Simulation::new(b.build().unwrap(), options).unwrap();
    while !sim.is_done() {
        sim.step().unwrap();
    }
    let id = sim.network().connections().next().unwrap();
    (sim, id)
}

fn assert_near(value: f64, wanted: f64, relative: f64) {
    assert!(
        (value / wanted - 1.0).abs() <= relative,
        "{value}, not {wanted}"
    );
}

/// Poisson packets of one size: Pollaczek–Khinchine, rho + rho²/(2 (1 − rho)).
#[test]
fn poisson_packet_queue_matches_md1() {
    let rate_pps = 800.0;
    let (b, narrow) = line(1000.0, 1e4, Source::Poisson { rate_pps }, |c| {
        c.acks = Acks::None
    });
    let (sim, id) = run(b, 2000.0, 1);
    let totals = sim.link_totals(narrow);
    assert_near(totals.mean_queue_pkts, 0.8 + 0.64 / 0.4, 0.02);
    assert_near(totals.utilization, 0.8, 2e-3);
    assert_near(sim.connection_totals(id).mean_goodput_pps, rate_pps, 2e-3);
    // Counts per interval of a Poisson stream: the c.o.v. is one over the square root of their
    // mean.
    assert_near(totals.arrival_cov.unwrap(), 80_f64.sqrt().recip(), 0.02);
}

/// Intervals much shorter than packet gaps: each contains one packet or none.
#[test]
fn short_intervals_count_single_arrivals() {
    let rate_pps = 800.0;
    let (b, narrow) = line(1000.0, 1e4, Source::Poisson { rate_pps }, |c| {
        c.acks = Acks::None
    });
    let options = Options {
        duration_s: 60.0,
        model: Model::Packets(PacketOptions {
            burstiness_interval_s: 1e-7,
            ..PacketOptions::default()
        }),
        ..Options::default()
    };
    let mut sim = Simulation::new(b.build().unwrap(), options).unwrap();
    while !sim.is_done() {
        sim.step().unwrap();
    }
    let cov = sim.link_totals(narrow).arrival_cov.unwrap();
    assert_near(cov, (1e-7 * rate_pps).sqrt().recip(), 0.02);
}

/// A limiting window: it is sent once per round trip.
#[test]
fn lossless_window_is_sent_once_per_rtt() {
    for variant in [
        TcpVariant::Tahoe,
        TcpVariant::Reno,
        TcpVariant::NewReno,
        TcpVariant::Cubic,
    ] {
        let (b, narrow) = line(1000.0, 100.0, window(variant), |c| {
            c.max_window_pkts = Some(20.0)
        });
        let (sim, id) = run(b, 500.0, 1);
        let data_s = 0.001 + 1e-5;
        let ack_s = 2.0 * 0.04 * 1e-5;
        // Half a millisecond of send jitter on average.
        let rtt_s = 4.0 * DELAY_S + data_s + ack_s;
        let totals = sim.connection_totals(id);
        assert_eq!(sim.link_totals(narrow).lost_pkts, 0.0);
        assert!(totals.mean_goodput_pps <= 20.0 / rtt_s);
        assert!(
            totals.mean_goodput_pps >= 20.0 / (rtt_s + 0.002),
            "{totals:?}"
        );
        assert_eq!(totals.timeouts, Some(0.0));
    }
}

/// The long-term average of one Reno source at a queue is three quarters of the maximum window.
/// With a buffer of one bandwidth-delay product, this keeps the link busy.
#[test]
fn a_buffer_of_one_bandwidth_delay_product_keeps_reno_busy() {
    let (b, narrow) = line(500.0, 61.0, window(TcpVariant::Reno), |_| {});
    let (sim, _) = run(b, 500.0, 1);
    let totals = sim.link_totals(narrow);
    assert!(totals.utilization > 0.97, "{totals:?}");
    assert!(totals.lost_pkts > 10.0);
}

#[test]
fn on_off_application_has_its_mean_rate() {
    let application = Application::OnOff {
        rate_pps: 200.0,
        on_s: 0.5,
        off_s: 1.5,
    };
    // 2000 bursts leave a deviation of 2.4 %, five times as many one of 1.1 %.
    let goodput_pps = (1..=5).map(|seed| {
        let (b, _) = line(1000.0, 100.0, window(TcpVariant::Reno), |c| {
            c.application = application
        });
        let (sim, id) = run(b, 4000.0, seed);
        sim.connection_totals(id).mean_goodput_pps
    });
    assert_near(goodput_pps.sum::<f64>() / 5.0, application.mean_pps(), 0.04);
}

#[test]
fn finite_transfer_ends_at_its_size() {
    for application in [Application::Bulk, Application::Poisson { rate_pps: 100.0 }] {
        let (b, _) = line(1000.0, 10.0, window(TcpVariant::NewReno), |c| {
            c.size_pkts = Some(500.0);
            c.count = 3;
            c.application = application;
        });
        let (sim, id) = run(b, 100.0, 1);
        let totals = sim.connection_totals(id);
        assert_near(totals.mean_goodput_pps * 100.0, 1500.0, 1e-12);
        let finished_s = totals.finished_s.unwrap();
        assert!((1.5..60.0).contains(&finished_s), "{totals:?}");
    }
}

/// An open-loop source at twice the link's rate from the middle of the run, in two variants.
#[test]
fn halved_bandwidth_halves_throughput() {
    let source = || Source::Constant { rate_pps: 1000.0 };
    let (mut b, narrow) = line(1000.0, 20.0, source(), |c| c.acks = Acks::None);
    b.event(EventSpec {
        at_s: 50.0,
        link: narrow,
        change: Change::Bandwidth(4e6),
    });
    let (sim, _) = run(b, 100.0, 1);
    let totals = sim.link_totals(narrow);
    assert_near(totals.departed_pkts, 75_000.0, 1e-3);
    assert_near(totals.utilization, 1.0, 1e-2);
    // The queue is full from 0.04 s after that.
    assert_near(totals.mean_queue_pkts, 0.5 * 20.0 + 0.5, 0.05);
}

#[test]
fn failure_drops_queue_and_reroutes_traffic() {
    let source = Source::Constant { rate_pps: 1000.0 };
    let (mut b, narrow) = line(900.0, 1000.0, source, |c| c.acks = Acks::None);
    let [m, d, c] = ["b", "d", "c"].map(|name| b.node(name));
    let beside = b.link(link(m, d, 2000.0, 10.0));
    b.link(link(d, c, 2000.0, 10.0));
    let fails = |at_s, change| EventSpec {
        at_s,
        link: narrow,
        change,
    };
    b.event(fails(5.0, Change::Down));
    b.event(fails(8.0, Change::Up));
    let (sim, id) = run(b, 10.0, 1);
    // 100 packets/s more than the capacity for almost 5 s, and the packets in flight to the link.
    assert_near(sim.link_totals(narrow).lost_pkts, 0.1 * 4970.0 + 30.0, 0.01);
    assert_near(sim.link_totals(beside).departed_pkts, 3000.0, 0.01);
    let totals = sim.connection_totals(id);
    assert_near(totals.delivered_pkts + totals.lost_pkts, 10_000.0, 0.03);
}

/// Without a path packets are lost; TCP recovers afterwards.
#[test]
fn a_transfer_survives_a_failure() {
    let (mut b, narrow) = line(1000.0, 50.0, window(TcpVariant::Reno), |_| {});
    for (at_s, change) in [(10.0, Change::Down), (15.0, Change::Up)] {
        b.event(EventSpec {
            at_s,
            link: narrow,
            change,
        });
    }
    let (sim, id) = run(b, 60.0, 1);
    let totals = sim.connection_totals(id);
    assert!(totals.timeouts.unwrap() >= 3.0, "{totals:?}");
    assert!(
        (35_000.0..50_000.0).contains(&totals.delivered_pkts),
        "{totals:?}"
    );
}

/// At a link that it does not fill, a profiled source sends at the rate of its profile.
#[test]
fn profiled_source_sends_at_profile_rate() {
    let profile = builtin("ns-reno").unwrap();
    // Losses by a queue without buffer, shared with other traffic.
    let mut b = NetworkBuilder::new();
    let [a, m, c] = ["a", "b", "c"].map(|name| b.node(name));
    b.link(link(a, m, 1e5, 1e4));
    b.link(link(m, c, 1000.0, 1.0));
    b.link(link(c, m, 1e5, 1e4));
    b.link(link(m, a, 1e5, 1e4));
    b.connection(connection(a, c, Source::Profile(profile.clone())));
    let mut other = connection(m, c, Source::Poisson { rate_pps: 30.0 });
    other.name = "other".to_owned();
    other.acks = Acks::None;
    b.connection(other);
    let (sim, id) = run(b, 2000.0, 1);
    let totals = sim.connection_totals(id);
    let loss = totals.loss_probability.unwrap();
    let wanted = profile.throughput(loss, totals.mean_rtt_s.unwrap());
    assert!((0.02..0.1).contains(&loss), "{totals:?}");
    assert_near(totals.mean_send_pps, wanted, 0.15);
}

/// Returns a quantile of the delay at a queue with constant transmission times and Poisson
/// arrivals: the inverse of Crommelin's waiting-time distribution of M/D/1.
fn md1_quantile_s(load: f64, service_s: f64, quantile: f64) -> f64 {
    let below = |t: f64| -> f64 {
        let mut sum = 0.0;
        for k in 0..=t.floor() as i32 {
            let x = load * (f64::from(k) - t);
            let factorial: f64 = (1..=k).map(f64::from).product();
            sum += x.powi(k) / factorial * (-x).exp();
        }
        (1.0 - load) * sum
    };
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if below(middle) < quantile {
            low = middle
        } else {
            high = middle
        }
    }
    (1.0 + low) * service_s
}

/// Delays at one queue are those of M/D/1: waiting and the packet's own transmission, plus
/// propagation.
#[test]
fn delays_match_md1() {
    for load in [0.3, 0.7] {
        let source = Source::Poisson {
            rate_pps: 1000.0 * load,
        };
        let (b, narrow) = line(1000.0, 1e4, source, |c| c.acks = Acks::None);
        let (sim, id) = run(b, 1000.0, 1);
        let totals = sim.connection_totals(id);
        // 10 µs on the wide link before it, and two propagation delays.
        let beside_s = 1e-5 + 2.0 * DELAY_S;
        let queueing_s = 1e-3 * (1.0 + load / (2.0 * (1.0 - load)));
        assert_near(totals.mean_delay_s.unwrap() - beside_s, queueing_s, 0.03);
        let link = sim.link_totals(narrow);
        assert_near(link.sojourn_time_s.unwrap(), queueing_s, 0.03);
        let of = totals.delay.unwrap();
        for (quantile, delay_s) in [
            (0.5, of.p50_s),
            (0.95, of.p95_s),
            (0.99, of.p99_s),
            (0.999, of.p999_s),
        ] {
            let expected_s = beside_s + md1_quantile_s(load, 1e-3, quantile);
            assert_near(delay_s, expected_s, 0.01);
        }
        assert_eq!((totals.mean_rtt_s, totals.rtt), (None, None));
    }
}

/// On an idle path every delay is the same, without jitter.
#[test]
fn idle_path_has_constant_delay() {
    let source = Source::Constant { rate_pps: 10.0 };
    let (b, _) = line(1000.0, 100.0, source, |c| c.acks = Acks::None);
    let (sim, id) = run(b, 10.0, 1);
    let totals = sim.connection_totals(id);
    let delay_s = 2.0 * DELAY_S + 1.01e-3;
    assert_near(totals.mean_delay_s.unwrap(), delay_s, 1e-9);
    assert_eq!(totals.jitter_s, Some(0.0));
    let of = totals.delay.unwrap();
    for percentile_s in [of.p50_s, of.p95_s, of.p99_s, of.p999_s] {
        assert_near(percentile_s, delay_s, 0.01);
    }
}

/// Unmodelled acknowledgements use no capacity, and take as long as on an idle path.
#[test]
fn unmodelled_acks_still_arrive() {
    let (b, _) = line(1000.0, 100.0, window(TcpVariant::Reno), |c| {
        c.acks = Acks::None;
        c.max_window_pkts = Some(20.0);
    });
    let (sim, id) = run(b, 100.0, 1);
    let totals = sim.connection_totals(id);
    assert_near(totals.mean_rtt_s.unwrap(), 4.0 * DELAY_S + 0.00101, 2e-2);
    assert_eq!(sim.ack_totals().offered_pkts, 0.0);
    assert!(totals.mean_goodput_pps > 155.0, "{totals:?}");
}

/// Only different seeds give different results.
#[test]
fn only_the_seed_changes_results() {
    let goodput = |seed| {
        let (b, _) = line(500.0, 20.0, window(TcpVariant::Reno), |c| c.count = 5);
        let (sim, id) = run(b, 20.0, seed);
        sim.connection_totals(id).mean_goodput_pps
    };
    assert_eq!(goodput(1), goodput(1));
    assert_ne!(goodput(1), goodput(2));
}

/// A billion transfers are rejected before memory is allocated for them.
#[test]
fn too_many_transfers_are_rejected() {
    let (mut b, _) = line(1000.0, 10.0, window(TcpVariant::Vegas), |c| {
        c.count = 1_000_000_000;
    });
    b.memory_limit(1 << 34);
    let options = Options {
        model: Model::PACKETS,
        ..Options::default()
    };
    let refused = Simulation::new(b.build().unwrap(), options);
    assert!(matches!(refused, Err(RunError::TooLarge { .. })));
}
