//! Congestion windows of the fluid model: starts, high bandwidth-delay products, equilibrium, new paths.

use netflow_problems::{connection, link};
use netflow_profile::builtin;
use netflow_simulation::*;

use crate::comparison::NullRecorder;

fn options(duration_s: f64) -> Options {
    Options {
        duration_s,
        ..Options::default()
    }
}

fn run_until(simulation: &mut Simulation, time_s: f64) {
    simulation
        .run_until(time_s, &mut NullRecorder, || false)
        .unwrap();
}

/// One link of 100 Mbit/s and its return path, with `count` connections of a built-in profile.
fn one_link(profile: &str, count: u32, delay_s: f64, buffer_pkts: f64) -> (Network, LinkId) {
    let mut builder = NetworkBuilder::new();
    let [a, b] = ["A", "B"].map(|name| builder.node(name));
    builder.link(link(a, b, 1e8, delay_s, buffer_pkts));
    builder.link(link(b, a, 1e8, delay_s, buffer_pkts));
    let source = Source::Profile(builtin(profile).unwrap());
    builder.connection(ConnectionSpec {
        count,
        ..connection("c", a, b, source)
    });
    let network = builder.build().unwrap();
    let link = network.links().next().unwrap();
    (network, link)
}

/// Mean utilization of a link between two times.
fn utilization(simulation: &mut Simulation, link: LinkId, from_s: f64, to_s: f64) -> f64 {
    run_until(simulation, from_s);
    let before_s = simulation.engine().link_sums(link).busy_s;
    run_until(simulation, to_s);
    (simulation.engine().link_sums(link).busy_s - before_s) / (to_s - from_s)
}

/// After the overshoot of slow start a window of Reno is halved, not held down for minutes. The packet model has a
/// utilization of 0.965 over the first minute at 100 Mbit/s, 80 ms and a buffer of one bandwidth-delay product.
#[test]
fn reno_recovers_from_slow_start() {
    let (network, link) = one_link("ns-reno", 1, 0.04, 1000.0);
    let mut simulation = Simulation::new(network, options(60.0)).unwrap();
    let used = utilization(&mut simulation, link, 0.0, 60.0);
    assert!((0.85..0.99).contains(&used), "{used}");
}

/// Bursts of slow start overflow a buffer of a quarter of the bandwidth-delay product long before the link is full. Over
/// 10 s at 100 Mbit/s and 100 ms, the packet model has a utilization of 0.17 and 513 lost packets for Reno of ns-2, and
/// 0.85 and 320 for CUBIC of Linux, whose SACK recovers without a timeout.
#[test]
fn bursts_of_slow_start_overflow_short_buffers() {
    for (profile, utilizations, losses) in [
        ("ns-reno", 0.12..0.30, 300.0..600.0),
        ("linux-cubic", 0.75..0.93, 200.0..600.0),
    ] {
        let (network, link) = one_link(profile, 1, 0.05, 312.0);
        let mut simulation = Simulation::new(network, options(10.0)).unwrap();
        let used = utilization(&mut simulation, link, 0.0, 10.0);
        assert!(utilizations.contains(&used), "{profile}: {used}");
        let lost_pkts = simulation.link_totals(link).lost_pkts;
        assert!(losses.contains(&lost_pkts), "{profile}: {lost_pkts}");
    }
}

/// Eight windows of CUBIC at 200 ms reach steady state. The packet model has a utilization of 1.00 from 20 s on.
#[test]
fn cubic_settles_at_long_round_trips() {
    let (network, link) = one_link("linux-cubic", 8, 0.1, 2500.0);
    let mut simulation = Simulation::new(network, options(120.0)).unwrap();
    let used = utilization(&mut simulation, link, 20.0, 120.0);
    assert!(used > 0.98, "{used}");
    let mut queues = Vec::new();
    while !simulation.is_done() {
        simulation.step().unwrap();
        queues.push(simulation.queue_pkts(link));
    }
    let late = simulation.queue_pkts(link);
    assert!(queues.iter().all(|q| (q - late).abs() < 0.02 * late));
}

/// In equilibrium the rate is that of the profile at the loss and round-trip time of the path.
#[test]
fn profile_is_the_equilibrium() {
    for (profile, delay_s) in [("ns-reno", 0.02), ("linux-reno", 0.02), ("mathis", 0.05)] {
        let (network, link) = one_link(profile, 30, delay_s, 500.0);
        let id = network.connections().next().unwrap();
        let mut simulation = Simulation::new(network, options(600.0)).unwrap();
        run_until(&mut simulation, 600.0);
        let loss = simulation.blocking(link);
        let explained = simulation.explain(id);
        assert_eq!(explained.limit, Some(Limit::CongestionWindow));
        let rtt_s = explained.rtt_s;
        let of_profile_pps = builtin(profile).unwrap().throughput(loss, rtt_s);
        let pps = explained.rate_pps;
        assert!(
            (pps / of_profile_pps - 1.0).abs() < 5e-3,
            "{profile} {pps} {of_profile_pps}"
        );
    }
}
