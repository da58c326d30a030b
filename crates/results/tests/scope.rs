//! Tests of the measurement window of a summary, its periods and the peaks of its intervals.

use netflow_simulation::Run;
use std::cell::Cell;
use std::convert::Infallible;

use netflow_results::{MeasurementWindow, Summary, SummaryRecorder, WithSummary};
use netflow_simulation::{
    Change, ConnectionSpec, EventSpec, Interval, Model, Network, NetworkBuilder, Options, Outcome,
    Recorder, Simulation, Source,
};

/// Returns a link that is 50 % utilized, overloaded from 4 to 6 s, and down from 8 to 9 s.
fn network() -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("a"), builder.node("b"));
    let link = builder.link(netflow_problems::link(a, b, 8e6, 0.01, 50.0));
    for (at_s, change) in [(8.0, Change::Down), (9.0, Change::Up)] {
        builder.event(EventSpec { at_s, link, change });
    }
    for (name, rate_pps, start_s, stop_s) in [
        ("steady", 500.0, 0.0, None),
        ("burst", 5000.0, 4.0, Some(6.0)),
    ] {
        builder.connection(ConnectionSpec {
            start_s,
            stop_s,
            ..netflow_problems::one_way(name, a, b, Source::Constant { rate_pps })
        });
    }
    builder.build().unwrap()
}

/// Recorder that publishes the simulated time that it has reached.
struct IntervalClock<'a>(&'a Cell<f64>);

impl Recorder for IntervalClock<'_> {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        self.0.set(interval.time_s);
        Ok(())
    }
}

fn summarize(from_s: f64, to_s: f64, by_event: bool, until_s: f64) -> Summary {
    let options = Options {
        duration_s: 10.0,
        ..Options::default()
    };
    let scope = MeasurementWindow {
        from_s,
        to_s,
        by_event,
    };
    let mut simulation = Simulation::new(network(), options).unwrap();
    let never = || false;
    let time_s = Cell::new(0.0);
    let mut watched = WithSummary {
        recorder: IntervalClock(&time_s),
        summary_recorder: SummaryRecorder::new(scope, simulation.network(), &never),
    };
    let outcome = simulation.run(0.5, &mut watched, || time_s.get() >= until_s);
    let stopped = until_s < 10.0;
    assert_eq!(outcome.unwrap() == Outcome::Stopped, stopped);
    let finished = watched
        .summary_recorder
        .finish(&mut simulation, vec!["careful".to_owned()]);
    let (summary, users) = finished.unwrap();
    assert_eq!(summary.warnings, ["careful"]);
    assert_eq!(users.in_periods.len(), summary.periods.len());
    summary
}

fn whole() -> Summary {
    summarize(0.0, 10.0, false, f64::INFINITY)
}

fn near(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b}");
}

/// Regression: a mean of 70 % hid that the link was saturated for 2 s.
#[test]
fn summary_has_peak_and_saturated_time() {
    let link = &whole().links[0];
    // 7 s at 50 %, 2 s at 100 %, 1 s down.
    near(link.utilization, 0.55, 0.01);
    near(link.peak_utilization.unwrap(), 1.0, 1e-3);
    near(link.at_capacity_s.unwrap(), 2.0, 1e-9);
    let early = summarize(0.0, 3.0, false, f64::INFINITY);
    near(early.links[0].peak_utilization.unwrap(), 0.5, 1e-3);
    assert_eq!(early.links[0].at_capacity_s, Some(0.0));
}

/// An interval that contains a boundary counts with its piece within the window.
#[test]
fn peaks_are_within_measurement_window() {
    let late = summarize(5.75, 8.0, false, f64::INFINITY);
    near(late.links[0].at_capacity_s.unwrap(), 0.25, 1e-6);
    near(late.links[0].peak_utilization.unwrap(), 1.0, 1e-3);
    assert_eq!((late.from_s, late.duration_s), (5.75, 2.25));
    let after = summarize(6.5, 8.0, false, f64::INFINITY);
    near(after.links[0].peak_utilization.unwrap(), 0.5, 1e-3);
}

#[test]
fn events_divide_a_run_into_periods() {
    let summary = summarize(2.0, 9.5, true, f64::INFINITY);
    let changes = summary.events.iter().map(|e| (e.at_s, e.change.as_str()));
    assert_eq!(changes.collect::<Vec<_>>(), [(8.0, "down"), (9.0, "up")]);
    let spans = summary.periods.iter().map(|p| (p.from_s, p.duration_s));
    assert_eq!(
        spans.collect::<Vec<_>>(),
        [(2.0, 6.0), (8.0, 1.0), (9.0, 0.5)]
    );
    let offered = |summary: &Summary| summary.totals.offered_pkts;
    near(
        summary.periods.iter().map(offered).sum(),
        offered(&summary),
        1e-6,
    );
    let failed = &summary.periods[1];
    assert_eq!(failed.links[0].utilization, 0.0);
    assert_eq!(failed.links[0].peak_utilization, Some(0.0));
    assert_eq!(failed.connections[0].unrouted_intervals_s, [(8.0, 9.0)]);
    // Packets without a route are blocked, and every period balances.
    near(failed.totals.unrouted_pkts, 500.0, 1e-6);
    for period in &summary.periods {
        assert!(period.totals.imbalance() < 1e-9, "{:?}", period.totals);
    }
    // The offered load of a burst is averaged over the periods in which it sends.
    near(
        summary.periods[0].links[0].offered_load.unwrap(),
        0.5 + 5.0 / 3.0,
        1e-9,
    );
    near(summary.periods[2].links[0].offered_load.unwrap(), 0.5, 1e-9);
}

/// The default window is the whole run, with identical bits.
#[test]
fn window_of_whole_run_changes_nothing() {
    let options = Options {
        duration_s: 10.0,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network(), options).unwrap();
    while !simulation.is_done() {
        simulation.step().unwrap();
    }
    let mut summary = Summary::of(&simulation, vec!["careful".to_owned()]);
    let watched = whole();
    for (link, watched) in summary.links.iter_mut().zip(&watched.links) {
        link.peak_utilization = watched.peak_utilization;
        link.at_capacity_s = watched.at_capacity_s;
    }
    assert_eq!(summary, watched);
}

#[test]
fn stopped_run_is_summarized_until_its_end() {
    let stopped = summarize(2.0, 9.0, true, 5.0);
    assert_eq!((stopped.from_s, stopped.duration_s), (2.0, 3.0));
    assert_eq!(stopped.periods.len(), 1);
    let before = summarize(6.0, 9.0, false, 5.0);
    assert_eq!((before.from_s, before.duration_s), (5.0, 0.0));
    assert_eq!(before.totals.offered_pkts, 0.0);
    let after = summarize(2.0, 4.0, false, 5.0);
    assert_eq!((after.from_s, after.duration_s), (2.0, 2.0));
}

/// A queue loses nothing until its link fails: 11 Mbit/s for 10 s at a link of 10 Mbit/s. The failure
/// loses the queued packets, in the period that begins with it.
#[test]
fn failure_losses_are_counted_in_their_period() {
    for model in [Model::FLUID, Model::PACKETS] {
        let mut builder = NetworkBuilder::new();
        let (a, b) = (builder.node("a"), builder.node("b"));
        let link = builder.link(netflow_problems::link(a, b, 10e6, 0.005, 10_000.0));
        builder.event(EventSpec {
            at_s: 10.0,
            link,
            change: Change::Down,
        });
        let rate_pps = 11e6 / 8e3;
        let constant = Source::Constant { rate_pps };
        builder.connection(netflow_problems::one_way("c", a, b, constant));
        let options = Options {
            duration_s: 20.0,
            model,
            ..Options::default()
        };
        let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
        let scope = MeasurementWindow {
            by_event: true,
            ..MeasurementWindow::whole(20.0)
        };
        let never = || false;
        let mut watched = WithSummary {
            recorder: IntervalClock(&Cell::new(0.0)),
            summary_recorder: SummaryRecorder::new(scope, simulation.network(), &never),
        };
        simulation.run(0.5, &mut watched, || false).unwrap();
        let finished = watched.summary_recorder.finish(&mut simulation, Vec::new());
        let (summary, _) = finished.unwrap();
        let [before, after] = &summary.periods[..] else {
            panic!("{} periods", summary.periods.len());
        };
        let waiting_pkts = 1e6 / 8e3 * 10.0;
        near(before.links[0].lost_pkts, 0.0, 0.01);
        // The fluid model assumes random arrivals, so its queue is slightly longer.
        let within = if model == Model::PACKETS { 3.0 } else { 60.0 };
        near(before.totals.queued_pkts, waiting_pkts, within);
        near(after.links[0].lost_pkts, before.totals.queued_pkts, 3.0);
        near(summary.links[0].lost_pkts, waiting_pkts, within);
    }
}
