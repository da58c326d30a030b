//! Links whose bandwidth, delay and loss follow a table over time.

use std::sync::Arc;

use netflow_problems::{link, one_way};
use netflow_profile::builtin;
use netflow_simulation::*;

use crate::running::run;

const MODELS: [Model; 2] = [Model::PACKETS, Model::FLUID];

/// Rows of 1 s each, with bandwidths in bit/s.
fn series(bandwidths_bps: &[f64], offset_s: f64) -> SeriesSpec {
    let times_s: Vec<f64> = (0..bandwidths_bps.len()).map(|i| i as f64).collect();
    let columns = SeriesColumns {
        bandwidths_bps: Some(bandwidths_bps.to_vec()),
        ..SeriesColumns::default()
    };
    SeriesSpec {
        series: Arc::new(LinkSeries::new(&times_s, None, columns).unwrap()),
        offset_ns: (offset_s * 1e9) as u64,
    }
}

/// One link from A to B that `set` changes, events, and a source with packets of 1500 B.
fn network(
    source: &Source,
    set: impl FnOnce(&mut LinkSpec),
    events: impl IntoIterator<Item = (f64, Change)>,
) -> (Network, LinkId) {
    let mut b = NetworkBuilder::new();
    let [from, to] = ["A", "B"].map(|name| b.node(name));
    let mut spec = link(from, to, 12e6, 0.01, 5000.0);
    set(&mut spec);
    let id = b.link(spec);
    b.link(link(to, from, 12e6, 0.01, 5000.0));
    for (at_s, change) in events {
        b.event(EventSpec {
            at_s,
            link: id,
            change,
        });
    }
    let spec = ConnectionSpec {
        packet_size_bytes: 1500.0,
        ..one_way("c", from, to, source.clone())
    };
    b.connection(spec);
    (b.build().unwrap(), id)
}

fn delay_of(simulation: &Simulation) -> f64 {
    let id = simulation.network().connections().next().unwrap();
    simulation.connection_totals(id).mean_delay_s.unwrap()
}

/// 500 pkt/s through 1000 pkt/s and `low` pkt/s: the queue grows by 500 - `low` in a second and drains at 500 pkt/s.
fn check_two_levels(low_pps: f64, rows_bps: &[f64], period_s: f64) {
    let source = Source::Constant { rate_pps: 500.0 };
    let most_pkts = 500.0 - low_pps;
    let mean_pkts = most_pkts * (1.0 + most_pkts / 500.0) / 2.0 / period_s;
    for (model, offset_s) in MODELS.iter().flat_map(|model| [(model, 0.0), (model, 0.5)]) {
        let follow = |link: &mut LinkSpec| link.series = Some(series(rows_bps, offset_s));
        let (net, id) = network(&source, follow, []);
        let simulation = run(net, *model, 40.0 * period_s);
        let totals = simulation.link_totals(id);
        let name = model.name();
        assert!(totals.lost_pkts < 1e-3, "{name:?}: {}", totals.lost_pkts);
        // The fluid model has random arrivals, whose queue is a little longer.
        let error = match model {
            Model::Packets(_) => 0.01,
            Model::Fluid(_) => 0.05,
        };
        let near = |is: f64, should: f64| {
            let found = (is / should - 1.0).abs();
            assert!(found < error, "{name:?} {offset_s}: {is} {should}");
        };
        near(totals.max_queue_pkts, most_pkts);
        near(totals.mean_queue_pkts, mean_pkts);
        // Little's law, with 10 ms of propagation.
        near(delay_of(&simulation), mean_pkts / 500.0 + 0.01);
    }
}

#[test]
fn queue_of_two_levels_has_closed_form() {
    check_two_levels(250.0, &[12e6, 3e6], 2.0);
}

/// A bandwidth of 0 keeps the queue, and packets wait until it ends.
#[test]
fn pause_has_closed_form() {
    check_two_levels(0.0, &[12e6, 12e6, 0.0, 12e6], 4.0);
}

/// Rows and events with the same values give the same bits, in both models and through repetitions.
#[test]
fn series_equals_events() {
    let rows_bps = [12e6, 4e6, 7e6];
    let mean_bps = 23e6 / 3.0;
    let profile = Source::Profile(builtin("linux-cubic").unwrap());
    let sources = [Source::Poisson { rate_pps: 400.0 }, profile];
    for (model, source) in MODELS
        .iter()
        .flat_map(|it| sources.iter().map(move |s| (it, s)))
    {
        let is_packets = matches!(model, Model::Packets(_));
        if is_packets && matches!(source, Source::Profile(_)) {
            continue;
        }
        let results = |net: Network, id: LinkId| {
            let simulation = run(net, *model, 20.0);
            let links = simulation.link_totals(id);
            let connection = simulation.network().connections().next().unwrap();
            let of = simulation.connection_totals(connection);
            let sent = (of.delivered_pkts, of.lost_pkts);
            (links, sent, of.mean_delay_s.filter(|_| is_packets))
        };
        let follow = |link: &mut LinkSpec| {
            link.bandwidth_bps = mean_bps;
            link.series = Some(series(&rows_bps, 1.5));
        };
        let (net, id) = network(source, follow, []);
        let traced = results(net, id);
        let rows = (0..23).map(|i| ((f64::from(i as u32) - 1.5).max(0.0), rows_bps[i % 3]));
        let events = rows
            .skip(1)
            .map(|(at_s, bps)| (at_s, Change::Bandwidth(bps)));
        let (net, id) = network(source, |link| link.bandwidth_bps = mean_bps, events);
        let by_events = results(net, id);
        assert_eq!(
            format!("{traced:?}"),
            format!("{by_events:?}"),
            "{:?}",
            model.name()
        );
    }
}

/// Delays of 10 and 110 ms, and losses of 0 and 20 %, for a second each.
#[test]
fn delay_and_loss_follow_their_columns() {
    let source = Source::Constant { rate_pps: 100.0 };
    for model in &MODELS {
        let follow = |link: &mut LinkSpec| {
            let columns = SeriesColumns {
                delays_s: Some(vec![0.01, 0.11]),
                losses: Some(vec![0.0, 0.2]),
                ..SeriesColumns::default()
            };
            link.series = Some(SeriesSpec {
                series: Arc::new(LinkSeries::new(&[0.0, 1.0], None, columns).unwrap()),
                offset_ns: 0,
            });
        };
        let (net, id) = network(&source, follow, []);
        let simulation = run(net, *model, 200.0);
        let totals = simulation.link_totals(id);
        let lost = totals.link_lost_pkts.unwrap() / totals.departed_pkts;
        assert!((lost - 0.1).abs() < 0.01, "{lost}");
        // Of delivered packets, 5/9 have the shorter delay.
        let delay_s = delay_of(&simulation);
        let wanted_s = 0.001 + (0.01 * 5.0 + 0.11 * 4.0) / 9.0;
        assert!(
            (delay_s - wanted_s).abs() < 0.001,
            "{:?}: {delay_s} {wanted_s}",
            model.name()
        );
    }
}
