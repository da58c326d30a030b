//! Headroom, compared with known bounds and with runs.

use netflow_network::{Application, Network, Options};
use netflow_simulation::Simulation;
use netflow_steady::{Binding, Bounds, ConnectionSelection, Solver, SteadyError, SteadyOptions};

use crate::networks::pair;

const OPTIONS: SteadyOptions = SteadyOptions {
    tolerance: 1e-10,
    starts: 0,
    seed: 1,
};

fn network(scale: f64) -> (Network, [netflow_network::ConnectionId; 2]) {
    let mut pair = pair(20.0);
    let a = pair.poisson("a", 300.0 * scale);
    let b = pair.poisson("b", 200.0 * scale);
    (pair.build(), [a, b])
}

/// The utilization bound is on demand over bandwidth, so that losses at a small buffer do not raise
/// the headroom.
#[test]
fn losses_do_not_raise_headroom() {
    let mut pair = pair(2.0);
    pair.poisson("c", 900.0);
    let mut solver = Solver::new(&pair.build(), 1.0).unwrap();
    for (utilization, factor) in [(0.9, 1.0), (0.95, 0.95 / 0.9), (1.0, 1.0 / 0.9)] {
        let bounds = Bounds {
            utilization,
            ..Bounds::default()
        };
        let found = solver
            .headroom(&bounds, ConnectionSelection::All, &OPTIONS)
            .unwrap();
        assert!((found.factor.unwrap() - factor).abs() < 1e-8, "{found:?}");
        assert!((found.steady.links[0].load - utilization).abs() < 1e-8);
        assert!(found.steady.totals.loss_probability > 0.2, "{found:?}");
    }
}

/// The link is 50 % utilized, so a factor of 1.6 gives 80 %.
#[test]
fn headroom_reaches_the_utilization_bound() {
    let (network, _) = network(1.0);
    let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let found = solver
        .headroom(&bounds, ConnectionSelection::All, &OPTIONS)
        .unwrap();
    assert!((found.factor.unwrap() - 1.6).abs() < 1e-8);
    assert!((found.steady.links[0].load - 0.8).abs() < 1e-8);
    let there = network.link_by_name("A->B").unwrap();
    assert_eq!(found.binding, Some(Binding::Utilization(there)));
    // The solver is unchanged.
    let again = solver.solve(&OPTIONS).unwrap();
    assert!((again.totals.rate_pps - 500.0).abs() < 1e-9);
}

/// Only one of two demands is scaled; the other's 200 packets/s stay.
#[test]
fn single_demand_scales_without_the_others() {
    let (network, [a, _]) = network(1.0);
    let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let found = solver
        .headroom(&bounds, ConnectionSelection::Only(&[a]), &OPTIONS)
        .unwrap();
    assert!((found.factor.unwrap() - 2.0).abs() < 1e-2, "{found:?}");
}

/// TCP with a fixed-rate application: ten connections with 40 packets/s each, on a link of 1000
/// packets/s, reach 80 % at a factor of 2. One without a rate is not scaled.
#[test]
fn application_rates_are_scaled() {
    let with = |rate_pps: f64| {
        let mut pair = pair(20.0);
        let id = pair.tcp("flows", "linux-cubic", None);
        let mut builder = pair.build().to_builder();
        builder.each_connection(|it| {
            it.application = Application::Poisson { rate_pps };
            it.count = 10;
        });
        (builder.build().unwrap(), id)
    };
    let bounds = Bounds {
        utilization: 0.8,
        ..Bounds::default()
    };
    let (network, id) = with(40.0);
    let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
    for scale in [ConnectionSelection::All, ConnectionSelection::Only(&[id])] {
        let found = solver.headroom(&bounds, scale, &OPTIONS).unwrap();
        let factor = found.factor.unwrap();
        let (more, _) = with(40.0 * factor);
        let there = Solver::new(&more, f64::INFINITY)
            .unwrap()
            .solve(&OPTIONS)
            .unwrap();
        assert!((there.links[0].load - 0.8).abs() < 1e-7, "{factor}");
        assert!((1.9..2.1).contains(&factor), "{factor}");
    }
}

/// Bisection over runs gives the same factor.
#[test]
fn bisection_over_runs_gives_the_same_factor() {
    let bounds = Bounds {
        loss: 1e-2,
        ..Bounds::default()
    };
    let (one, _) = network(1.0);
    let mut solver = Solver::new(&one, f64::INFINITY).unwrap();
    let found = solver
        .headroom(&bounds, ConnectionSelection::All, &OPTIONS)
        .unwrap()
        .factor
        .unwrap();
    let loss = |factor: f64| {
        let (network, [a, _]) = network(factor);
        let options = Options {
            duration_s: 60.0,
            ..Options::default()
        };
        let mut simulation = Simulation::new(network.clone(), options).unwrap();
        while !simulation.is_done() {
            simulation.step().unwrap();
        }
        simulation.explain(a).loss_probability
    };
    let (mut low, mut high) = (1.0_f64, 4.0_f64);
    while high / low > 1.0 + 1e-6 {
        let middle = (low * high).sqrt();
        if loss(middle) > bounds.loss {
            high = middle
        } else {
            low = middle
        }
    }
    assert!((found / low - 1.0).abs() < 1e-4, "{found} {low}");
}

#[test]
fn unreachable_bounds_and_missing_demands() {
    let (network, _) = network(1.0);
    let mut solver = Solver::new(&network, f64::INFINITY).unwrap();
    // The propagation delay of 20 ms alone exceeds the bound.
    let bounds = Bounds {
        delay_s: 0.01,
        ..Bounds::default()
    };
    let found = solver
        .headroom(&bounds, ConnectionSelection::All, &OPTIONS)
        .unwrap();
    assert!(found.factor.is_none() && matches!(found.binding, Some(Binding::Delay(_))));
    // No bound is given.
    let found = solver
        .headroom(&Bounds::default(), ConnectionSelection::All, &OPTIONS)
        .unwrap();
    assert!(found.factor.is_some_and(|factor| factor >= 1e6) && found.binding.is_none());
    let mut pair = pair(20.0);
    pair.tcp("c", "ns-reno", None);
    let mut solver = Solver::new(&pair.build(), f64::INFINITY).unwrap();
    let none = solver.headroom(&bounds, ConnectionSelection::All, &OPTIONS);
    assert_eq!(none.unwrap_err(), SteadyError::NothingToScale);
}
