//! Networks with a known steady state.

use netflow_fluid::mm1k::equilibrium;
use netflow_network::Network;
use netflow_steady::{BindingConstraint, SteadyOptions, solve};

use crate::networks::pair;

fn solve_steady(network: &Network) -> netflow_steady::Steady {
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

fn assert_near(is: f64, should: f64) {
    assert!((is - should).abs() <= 1e-9 * should.abs(), "{is} {should}");
}

/// Poisson arrivals alone: M/M/1/K.
#[test]
fn single_queue_matches_mm1k() {
    for rate_pps in [10.0, 800.0, 1000.0, 1200.0, 5000.0] {
        let mut pair = pair(50.0);
        let c = pair.poisson("c", rate_pps);
        let there = pair.there;
        let steady = solve_steady(&pair.build());
        let eq = equilibrium((rate_pps / 1000.0_f64).ln(), 50.0);
        let link = steady.link(there);
        assert_near(link.queue_pkts, eq.mean_pkts);
        assert_near(link.utilization, eq.utilization());
        assert!((link.loss_probability - eq.blocking).abs() < 1e-12);
        assert_near(steady.connection(c).goodput_pps, 1000.0 * eq.utilization());
        // Little's law: mean queue over throughput.
        assert_near(link.delay_s, eq.mean_pkts / (1000.0 * eq.utilization()));
        assert_near(steady.connection(c).delay_s, link.delay_s + 0.02);
        assert_eq!((steady.equilibria, steady.converged_starts), (1, 5));
    }
}

/// A window far below the bandwidth-delay product: the rate is W/rtt, and the round-trip time is
/// near that of empty queues.
#[test]
fn small_window_gives_window_per_rtt() {
    let mut pair = pair(100.0);
    let c = pair.tcp("c", "ns-reno", Some(4.0));
    let steady = solve_steady(&pair.build());
    let it = steady.connection(c);
    assert_eq!(it.limited_by, BindingConstraint::Window);
    assert_near(it.rate_pps * it.rtt_s.unwrap(), 4.0);
    assert!(it.rtt_s.unwrap() > 0.021 && it.rtt_s.unwrap() < 0.025);
}

/// Many TCP connections saturate the link. Each has the rate that its profile gives for the
/// reported loss and round-trip time.
#[test]
fn sources_send_at_their_profile_rate() {
    let mut pair = pair(100.0);
    let names = ["ns-reno", "nt", "bsd", "linux-cubic", "pftk"];
    let ids: Vec<_> = (0..15)
        .map(|i| pair.tcp(&format!("c{i}"), names[i % 5], None))
        .collect();
    let there = pair.there;
    let steady = solve_steady(&pair.build());
    assert!(steady.link(there).utilization > 0.95);
    for (i, id) in ids.into_iter().enumerate() {
        let it = steady.connection(id);
        let profile = netflow_profile::builtin(names[i % 5]).unwrap();
        let says = profile.throughput(it.loss_probability, it.rtt_s.unwrap());
        assert_eq!(it.limited_by, BindingConstraint::Profile);
        assert!((it.rate_pps / says - 1.0).abs() < 1e-9, "{it:?} {says}");
        assert_near(it.goodput_pps, it.rate_pps * (1.0 - it.loss_probability));
    }
    assert_eq!(steady.equilibria, 1);
}

/// Results are those of the reported state, not of the last starting point tried.
#[test]
fn random_starts_do_not_change_results() {
    for seed in 0..40 {
        let (network, _) = crate::networks::random_bulk_network(seed);
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
fn same_network_gives_identical_bits() {
    let (network, _) = crate::networks::random_bulk_network(12);
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
