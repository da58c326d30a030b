//! Agreement of the two faces: packet frequencies converge to the expectations.

use netflow_diffserv::{
    Aggregate, Conditioner, ConditionerSpec, Curve, DiffServQueue, Discipline, DropPrecedence,
    Dropper, DropperSpec, Fractions, GivenInputs, Kind, Marker, Minima, QueueLoad, SrTcm, TrTcm,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PACKETS: u32 = 400_000;

/// Returns Poisson arrival times in ns, `gap_ns` apart on average.
fn times(gap_ns: f64, seed: u64) -> impl Iterator<Item = u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut now = 0.0;
    (0..PACKETS).map(move |_| {
        now += -gap_ns * (1.0 - rng.random::<f64>()).ln();
        now as u64
    })
}

fn frequencies(colours: impl Iterator<Item = DropPrecedence>) -> [f64; 3] {
    let mut count = [0_u32; 3];
    colours.for_each(|colour| count[colour.index()] += 1);
    let all: u32 = count.iter().sum();
    count.map(|n| f64::from(n) / f64::from(all))
}

fn agree(what: &str, found: [f64; 3], expected: [f64; 3], within: f64) {
    for (f, e) in found.iter().zip(expected) {
        assert!(
            (f - e).abs() < within,
            "{what}: {found:?}, expected {expected:?}"
        );
    }
}

/// Packets of 1024 B at 5 Mbit/s. The averaging interval is long enough for a steady measured rate.
#[test]
fn every_conditioner_marks_as_expected() {
    let gap_ns = 1024.0 * 8.0 / 5e6 * 1e9;
    let known = GivenInputs {
        aggregate: Aggregate {
            window_pkts: Some(8.0),
            ..Aggregate::new(0.05, 0.3)
        },
        minima: Minima::over([&Aggregate::new(0.02, 0.2)]),
    };
    for kind in Kind::ALL {
        let mut spec = ConditionerSpec::new(kind, 2e6, Some(3e6));
        spec.interval_s = 20.0;
        let conditioner = Conditioner::new(spec).unwrap();
        let expected = conditioner.fractions(5e6, &known).unwrap();
        let mut marker = Marker::new(conditioner, &known, 0, 3).unwrap();
        let colours = times(gap_ns, 1).enumerate().filter_map(|(i, now)| {
            let colour = marker.mark(now, 1024, Some(8.0));
            (i > PACKETS as usize / 4).then_some(colour)
        });
        // The standard deviation of a fraction is at most 0.001 here.
        agree(
            kind.name(),
            frequencies(colours),
            expected.to_array(),
            0.006,
        );
    }
}

#[test]
fn protected_packets_are_green_and_charged() {
    let spec = ConditionerSpec::new(Kind::SmallWindow, 2e6, Some(3e6));
    let conditioner = Conditioner::new(spec).unwrap();
    let mut marker = Marker::new(conditioner, &GivenInputs::default(), 0, 1).unwrap();
    let gap_ns = (1024.0 * 8.0 / 5e6 * 1e9) as u64;
    for i in 0..10_000 {
        assert_eq!(
            marker.mark(i * gap_ns, 1024, Some(2.9)),
            DropPrecedence::Dp0
        );
    }
    assert!((marker.measured_bps() / 5e6 - 1.0).abs() < 0.01);
    let other = (10_000..20_000).map(|i| marker.mark(i * gap_ns, 1024, Some(3.0)));
    agree("the rest", frequencies(other), [0.4, 0.2, 0.4], 0.03);
}

#[test]
fn bucket_markers_mark_as_expected() {
    let gap_ns = 1000.0 * 8.0 / 5e6 * 1e9;
    let mut blind = SrTcm::new(2_000_000, 50_000, 50_000).unwrap();
    let expected = blind.fractions(5e6, Fractions::GREEN).unwrap();
    let found = frequencies(times(gap_ns, 2).map(|now| blind.mark(now, 1000)));
    agree("srtcm", found, expected.to_array(), 0.005);
    let mut blind = TrTcm::new(2_000_000, 50_000, 3_000_000, 50_000).unwrap();
    let expected = blind.fractions(5e6, Fractions::GREEN).unwrap();
    agree("trtcm expects", expected.to_array(), [0.4, 0.2, 0.4], 1e-12);
    let found = frequencies(times(gap_ns, 3).map(|now| blind.mark(now, 1000)));
    agree("trtcm", found, expected.to_array(), 0.005);
}

/// At a constant queue, the averages converge to the queue, and the drop frequencies to the drop
/// probabilities.
#[test]
fn every_dropper_drops_as_expected() {
    for discipline in [
        Discipline::Red,
        Discipline::RioC,
        Discipline::RioD,
        Discipline::Wred,
    ] {
        let mut spec = DropperSpec::habib_2002(discipline, 1000.0, 1000);
        spec.curves = [
            Curve::new(5.0, 60.0, 0.1),
            Curve::new(4.0, 50.0, 0.2),
            Curve::new(2.0, 40.0, 0.3),
        ];
        let dropper = Dropper::new(spec).unwrap();
        let mut queue = DiffServQueue::new(dropper.clone(), 0, 5);
        for p in DropPrecedence::ALL {
            for _ in 0..7 {
                // The average is still 0, so nothing is dropped.
                assert!(queue.admit(0, 1000, p));
            }
        }
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let (mut tried, mut dropped) = ([0_u32; 3], [0_u32; 3]);
        for i in 0..PACKETS {
            let p = DropPrecedence::ALL[rng.random_range(0..3)];
            let admitted = queue.admit(0, 1000, p);
            if admitted {
                queue.depart(0, 1000, p);
            }
            if i > 20_000 {
                tried[p.index()] += 1;
                dropped[p.index()] += u32::from(!admitted);
            }
        }
        let seen = match discipline {
            Discipline::Red | Discipline::Wred => [21.0; 3],
            Discipline::RioC => [7.0, 14.0, 21.0],
            Discipline::RioD => [7.0; 3],
        };
        agree("averages", queue.average_pkts(), seen, 1e-6);
        let expected = dropper.drop_probabilities(seen);
        let found: Vec<f64> = tried
            .iter()
            .zip(dropped)
            .map(|(n, d)| f64::from(d) / f64::from(*n))
            .collect();
        for (f, e) in found.iter().zip(expected) {
            assert!(
                (f - e).abs() < 0.02 * e + 0.001,
                "{discipline:?}: {found:?}, {expected:?}"
            );
        }
    }
}

/// Random arrivals at a queue held at ten packets, then at an empty one. The mean over many runs equals
/// [`Dropper::averages_after`].
#[test]
fn averages_move_as_expected() {
    let dropper = Dropper::new(DropperSpec::habib_2002(Discipline::RioC, 500.0, 1000)).unwrap();
    let (runs, arrival_pps) = (400, 300.0);
    let mut mean = [[0.0; 2]; 2];
    for run in 0..runs {
        let mut queue = DiffServQueue::new(dropper.clone(), 0, run);
        for _ in 0..10 {
            assert!(queue.admit(0, 1000, DropPrecedence::Dp0));
        }
        let start = queue.average_pkts()[0];
        let mut last = 0;
        for now in times(1e9 / arrival_pps, run).take_while(|&now| now < 1_000_000_000) {
            if queue.admit(now, 1000, DropPrecedence::Dp0) {
                queue.depart(now, 1000, DropPrecedence::Dp0);
            }
            last = now;
        }
        let held = queue.average_pkts()[0];
        for _ in 0..10 {
            queue.depart(last, 1000, DropPrecedence::Dp0);
        }
        // One more packet updates the average after an idle second.
        queue.admit(last + 1_000_000_000, 1000, DropPrecedence::Dp0);
        for (sum, value) in mean[0].iter_mut().zip([start, held]) {
            *sum += value / runs as f64;
        }
        mean[1][0] += queue.average_pkts()[0] / runs as f64;
    }
    let load = QueueLoad {
        arrival_pps: [arrival_pps, 0.0, 0.0],
        queue_pkts: [10.0, 0.0, 0.0],
        empty: [0.0; 3],
    };
    let held = dropper.averages_after([mean[0][0]; 3], &load, 1.0)[0];
    assert!(
        (mean[0][1] / held - 1.0).abs() < 0.02,
        "{} {held}",
        mean[0][1]
    );
    let idle = QueueLoad {
        empty: [1.0; 3],
        ..QueueLoad::default()
    };
    let fallen = dropper.averages_after([mean[0][1]; 3], &idle, 1.0)[0];
    assert!(
        (mean[1][0] / fallen - 1.0).abs() < 0.02,
        "{} {fallen}",
        mean[1][0]
    );
}
