//! What events have set before the time that is asked for.

use netflow_network::{Change, EventSpec, LinkLoss, Network};
use netflow_steady::{SteadyOptions, solve};

use crate::networks::endless;

/// Rates and losses of all connections.
fn told(network: &Network, at_s: f64) -> Option<Vec<f64>> {
    let rest = solve(network, at_s, &SteadyOptions::default()).ok()?;
    let each = rest.connections.iter();
    let each = each.flat_map(|it| [it.rate_pps, it.loss_probability, it.goodput_pps]);
    Some(each.collect())
}

/// A link that loses something from some time on has lost it always, to who looks later.
#[test]
fn losses_are_those_of_the_time() {
    let mut solved = 0;
    for seed in 0..30 {
        let (network, _, duration_s) = endless(seed);
        let losses = (0..network.link_count() as u64).map(|l| 0.003 * ((seed + l) % 5) as f64);
        let losses: Vec<LinkLoss> = losses.map(LinkLoss::from).collect();
        let mut built = network.to_builder();
        let mut each = losses.iter();
        built.each_link(|link| link.loss = *each.next().unwrap());
        let built = built.build().unwrap();
        let mut changed = network.to_builder();
        for (link, &loss) in network.links().zip(&losses) {
            let (at_s, change) = (0.5 * duration_s, Change::Loss(loss));
            changed.event(EventSpec { at_s, link, change });
        }
        let changed = changed.build().unwrap();
        let [before, later] = [0.4, 0.6].map(|part| part * duration_s);
        assert_eq!(told(&network, before), told(&changed, before));
        assert_eq!(told(&built, later), told(&changed, later));
        solved += usize::from(told(&built, later).is_some());
    }
    assert!(solved >= 20, "{solved}");
}

/// A link that takes longer or shorter from some time on has always done so, to who looks later; routes aside.
#[test]
fn delays_are_those_of_the_time() {
    let (mut solved, mut others) = (0, 0);
    for seed in 0..30 {
        let (network, _, duration_s) = endless(seed);
        let mut network = network.to_builder();
        network.each_link(|link| link.metric = Some(1.0));
        let network = network.build().unwrap();
        let delays = (0..network.link_count() as u64).map(|l| 0.02 * ((seed + l) % 5) as f64);
        let delays_s: Vec<f64> = delays.collect();
        let mut built = network.to_builder();
        let mut each = delays_s.iter();
        built.each_link(|link| link.delay_s = *each.next().unwrap());
        let built = built.build().unwrap();
        let mut changed = network.to_builder();
        for (link, &delay_s) in network.links().zip(&delays_s) {
            let (at_s, change) = (0.5 * duration_s, Change::Delay(delay_s));
            changed.event(EventSpec { at_s, link, change });
        }
        let changed = changed.build().unwrap();
        let [before, later] = [0.4, 0.6].map(|part| part * duration_s);
        assert_eq!(told(&network, before), told(&changed, before));
        assert_eq!(told(&built, later), told(&changed, later));
        solved += usize::from(told(&built, later).is_some());
        others += usize::from(told(&built, later) != told(&network, later));
    }
    assert!(solved >= 20 && others >= 15, "{solved} {others}");
}

/// What happens to one link at one time is one event that is left out.
#[test]
fn what_comes_later_is_counted_by_links_and_times() {
    let (network, _, duration_s) = endless(1);
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
