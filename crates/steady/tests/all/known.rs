//! Networks with a known steady state.

use netflow_fluid::mm1k::equilibrium;
use netflow_network::Network;
use netflow_steady::{Held, SteadyOptions, solve};

use crate::networks::pair;

fn at_rest(network: &Network) -> netflow_steady::Steady {
    solve(
        network,
        f64::INFINITY,
        &SteadyOptions {
            starts: 5,
            ..SteadyOptions::default()
        },
    )
    .unwrap()
}

fn near(is: f64, should: f64) {
    assert!((is - should).abs() <= 1e-9 * should.abs(), "{is} {should}");
}

/// Poisson arrivals alone: M/M/1/K.
#[test]
fn a_queue_alone_is_that_of_the_formula() {
    for rate_pps in [10.0, 800.0, 1000.0, 1200.0, 5000.0] {
        let mut pair = pair(50.0);
        let c = pair.poisson("c", rate_pps);
        let there = pair.there;
        let steady = at_rest(&pair.build());
        let eq = equilibrium((rate_pps / 1000.0_f64).ln(), 50.0);
        let link = steady.link(there);
        near(link.queue_pkts, eq.mean_pkts);
        near(link.utilization, eq.utilization());
        assert!((link.loss_probability - eq.blocking).abs() < 1e-12);
        near(steady.connection(c).goodput_pps, 1000.0 * eq.utilization());
        // Little's law: mean queue over throughput.
        near(link.delay_s, eq.mean_pkts / (1000.0 * eq.utilization()));
        near(steady.connection(c).delay_s, link.delay_s + 0.02);
        assert_eq!((steady.equilibria, steady.starts_led), (1, 5));
    }
}

/// A window far below the bandwidth-delay product: the rate is W/rtt, and the round-trip time is
/// near that of empty queues.
#[test]
fn a_small_window_is_sent_once_in_a_round_trip() {
    let mut pair = pair(100.0);
    let c = pair.tcp("c", "ns-reno", Some(4.0));
    let steady = at_rest(&pair.build());
    let it = steady.connection(c);
    assert_eq!(it.held, Held::Window);
    near(it.rate_pps * it.rtt_s.unwrap(), 4.0);
    assert!(it.rtt_s.unwrap() > 0.021 && it.rtt_s.unwrap() < 0.025);
}

/// Many TCP connections saturate the link. Each has the rate that its profile gives for the
/// reported loss and round-trip time.
#[test]
fn every_source_sends_what_its_profile_says() {
    let mut pair = pair(100.0);
    let names = ["ns-reno", "nt", "bsd", "linux-cubic", "pftk"];
    let ids: Vec<_> = (0..15)
        .map(|i| pair.tcp(&format!("c{i}"), names[i % 5], None))
        .collect();
    let there = pair.there;
    let steady = at_rest(&pair.build());
    assert!(steady.link(there).utilization > 0.95);
    for (i, id) in ids.into_iter().enumerate() {
        let it = steady.connection(id);
        let profile = netflow_profile::builtin(names[i % 5]).unwrap();
        let says = profile.throughput(it.loss_probability, it.rtt_s.unwrap());
        assert_eq!(it.held, Held::Profile);
        assert!((it.rate_pps / says - 1.0).abs() < 1e-9, "{it:?} {says}");
        near(it.goodput_pps, it.rate_pps * (1.0 - it.loss_probability));
    }
    assert_eq!(steady.equilibria, 1);
}

/// Results are those of the reported state, not of the last starting point tried.
#[test]
fn random_starts_change_no_number() {
    for seed in 0..40 {
        let (network, _, _) = crate::networks::endless(seed);
        let at = |starts| {
            let options = SteadyOptions {
                starts,
                ..SteadyOptions::default()
            };
            solve(&network, f64::INFINITY, &options).unwrap()
        };
        let (none, ten) = (at(0), at(10));
        assert_eq!(
            (&none.links, &none.connections),
            (&ten.links, &ten.connections)
        );
    }
}

/// Results are bit-identical, whatever was solved before.
#[test]
fn the_same_network_gives_the_same_bits() {
    let (network, _, _) = crate::networks::endless(12);
    let options = SteadyOptions {
        starts: 3,
        ..SteadyOptions::default()
    };
    let one = solve(&network, f64::INFINITY, &options).unwrap();
    let mut solver = netflow_steady::Solver::new(&network, f64::INFINITY).unwrap();
    for _ in 0..2 {
        assert_eq!(solver.solve(&options).unwrap(), one);
    }
}
