//! Fluid model calibrated by packets.

use std::convert::Infallible;
use std::sync::Arc;

use netflow_profile::{Profile, builtin};
use netflow_simulation::*;

/// Returns congestion windows with different round-trip times at one link of 5 Mbit/s, shared with
/// return traffic.
fn dumbbell(watched_s: Option<f64>) -> Network {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("A"), builder.node("B"));
    for (from, to) in [(a, b), (b, a)] {
        builder.link(LinkSpec {
            delay_s: 0.02,
            buffer: Buffer::Packets(60.0),
            ..LinkSpec::new(from, to, 5e6)
        });
    }
    let profile: Arc<dyn Profile> = builtin("ns-reno").unwrap();
    let ways = [(a, b), (a, b), (a, b), (b, a), (b, a)];
    for (i, (from, to)) in ways.into_iter().enumerate() {
        let source = Source::Profile(profile.clone());
        let mut spec = netflow_problems::connection(&format!("c{i}"), from, to, source);
        spec.start_s = 0.3 * i as f64;
        builder.connection(spec);
    }
    builder.calibrate(watched_s.map(|watched_s| CalibrationPlan {
        tcp: vec![Some(Source::Ns2Tcp(WindowSource::default())); ways.len()],
        ..CalibrationPlan::new(watched_s)
    }));
    builder.build().unwrap()
}

/// Mean packets in both queues from 30 s on.
#[derive(Default)]
struct Queues([f64; 2]);

impl Recorder for Queues {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        for (id, queue) in interval.network.links().zip(&mut self.0) {
            *queue = interval.link(id).queue_pkts;
        }
        Ok(())
    }
}

fn queues(network: Network, options: Options) -> [f64; 2] {
    let mut simulation = Simulation::new(network, options).unwrap();
    let mut queues = Queues::default();
    for until_s in [30.0, 120.0] {
        let outcome = simulation.run_until(until_s, &mut queues, || false);
        assert_eq!(outcome.unwrap(), Outcome::Finished);
    }
    queues.0
}

fn options(model: Model) -> Options {
    Options {
        duration_s: 120.0,
        model,
        ..Options::default()
    }
}

fn fluid() -> Options {
    options(Options::default().model)
}

#[test]
fn calibrated_queues_match_packets() {
    let plain = queues(dumbbell(None), fluid());
    let due = dumbbell(Some(40.0));
    let calibrated = calibrated(&due, &fluid(), || false).unwrap().unwrap();
    assert!(calibrated.calibration_due().is_none());
    let corrected = queues(calibrated, fluid());
    let mut builder = dumbbell(None).to_builder();
    builder.each_connection(|spec| spec.source = Source::Ns2Tcp(WindowSource::default()));
    let packets = Options {
        seed: 7,
        ..options(Model::Packets(PacketOptions::default()))
    };
    let truth = queues(builder.build().unwrap(), packets);
    let off = |is: [f64; 2]| {
        let errors = is.iter().zip(truth).map(|(is, truth)| (is - truth).abs());
        errors.sum::<f64>() / truth.iter().sum::<f64>()
    };
    println!("{plain:?} {corrected:?} {truth:?}");
    assert!(off(corrected) < 0.1, "{corrected:?} {truth:?} ({plain:?})");
}

#[test]
fn calibration_is_reproducible() {
    let due = dumbbell(Some(5.0));
    let of = |options: &Options| {
        let network = calibrated(&due, options, || false).unwrap().unwrap();
        let links = network.links();
        let links: Vec<Calibration> = links.map(|id| network.link_spec(id).calibration).collect();
        links
    };
    let first = of(&fluid());
    assert_eq!(first, of(&fluid()));
    let other = Options { seed: 2, ..fluid() };
    assert_ne!(first, of(&other), "packets are random");
}

#[test]
fn uncalibrated_networks_are_rejected() {
    let due = dumbbell(Some(5.0));
    let error = Simulation::new(due.clone(), fluid()).map(drop).unwrap_err();
    assert!(error.to_string().contains("calibrated"), "{error}");
    assert!(Simulation::new(uncalibrated(&due).unwrap(), fluid()).is_ok());
    assert!(
        calibrated(&due, &fluid(), || true).unwrap().is_none(),
        "it was stopped"
    );
}

/// Links whose active sources change during the measurement are not calibrated.
#[test]
fn links_with_changing_windows_are_not_calibrated() {
    let mut builder = dumbbell(Some(10.0)).to_builder();
    let mut late = 0;
    builder.each_connection(|spec| {
        late += 1;
        spec.start_s = if late % 2 == 0 { 10.0 } else { 0.0 };
    });
    let network = calibrated(&builder.build().unwrap(), &fluid(), || false);
    let network = network.unwrap().unwrap();
    for id in network.links() {
        assert!(!network.link_spec(id).calibration.is_some());
    }
}
