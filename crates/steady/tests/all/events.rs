//! Tests of the network's state just before the requested time, after its events.

use netflow_network::{Change, EventSpec, LinkLoss, Network};
use netflow_steady::{SteadyOptions, solve};

use crate::networks::random_bulk_network;

/// Returns rates and losses of all connections.
fn rates_and_losses(network: &Network, at_s: f64) -> Option<Vec<f64>> {
    let rest = solve(network, at_s, &SteadyOptions::default()).ok()?;
    let each = rest.connections.iter();
    let each = each.flat_map(|it| [it.rate_pps, it.loss_probability, it.goodput_pps]);
    Some(each.collect())
}

/// Asserts that a network whose links all change halfway equals the original before the change, and
/// `built` afterwards. Returns the results for `built`.
fn assert_events_apply(
    network: &Network,
    built: &Network,
    duration_s: f64,
    changes: impl Iterator<Item = Change>,
) -> Option<Vec<f64>> {
    let mut changed = network.to_builder();
    for (link, change) in network.links().zip(changes) {
        let at_s = 0.5 * duration_s;
        changed.event(EventSpec { at_s, link, change });
    }
    let changed = changed.build().unwrap();
    let [before, later] = [0.4, 0.6].map(|part| part * duration_s);
    assert_eq!(
        rates_and_losses(network, before),
        rates_and_losses(&changed, before)
    );
    let found = rates_and_losses(built, later);
    assert_eq!(found, rates_and_losses(&changed, later));
    found
}

/// A random loss that an event sets counts as permanent after it.
#[test]
fn loss_events_apply_from_their_time() {
    let mut solved = 0;
    for seed in 0..30 {
        let (network, duration_s) = random_bulk_network(seed);
        let losses = (0..network.link_count() as u64).map(|l| 0.003 * ((seed + l) % 5) as f64);
        let losses: Vec<LinkLoss> = losses.map(LinkLoss::from).collect();
        let mut built = network.to_builder();
        let mut each = losses.iter();
        built.each_link(|link| link.loss = *each.next().unwrap());
        let built = built.build().unwrap();
        let changes = losses.into_iter().map(Change::Loss);
        let found = assert_events_apply(&network, &built, duration_s, changes);
        solved += usize::from(found.is_some());
    }
    assert!(solved >= 20, "{solved}");
}

/// A delay that an event sets counts as permanent after it, except for routes.
#[test]
fn delay_events_apply_from_their_time() {
    let (mut solved, mut others) = (0, 0);
    for seed in 0..30 {
        let (network, duration_s) = random_bulk_network(seed);
        let mut network = network.to_builder();
        network.each_link(|link| link.metric = Some(1.0));
        let network = network.build().unwrap();
        let delays = (0..network.link_count() as u64).map(|l| 0.02 * ((seed + l) % 5) as f64);
        let delays_s: Vec<f64> = delays.collect();
        let mut built = network.to_builder();
        let mut each = delays_s.iter();
        built.each_link(|link| link.delay_s = *each.next().unwrap());
        let built = built.build().unwrap();
        let changes = delays_s.into_iter().map(Change::Delay);
        let found = assert_events_apply(&network, &built, duration_s, changes);
        solved += usize::from(found.is_some());
        others += usize::from(found != rates_and_losses(&network, 0.6 * duration_s));
    }
    assert!(solved >= 20 && others >= 15, "{solved} {others}");
}

/// Later changes of one link at one time count as one ignored event.
#[test]
fn later_events_are_counted_per_link_and_time() {
    let (network, duration_s) = random_bulk_network(1);
    let mut builder = network.to_builder();
    let links: Vec<_> = network.links().take(2).collect();
    for (link, at) in [(0, 0.6), (1, 0.6), (0, 0.8)] {
        for change in [Change::Bandwidth(1e6), Change::Loss(0.1.into())] {
            let (at_s, link) = (at * duration_s, links[link]);
            builder.event(EventSpec { at_s, link, change });
        }
    }
    let network = builder.build().unwrap();
    let options = SteadyOptions::default();
    assert_eq!(
        solve(&network, 0.5 * duration_s, &options)
            .unwrap()
            .later_events,
        3
    );
}
