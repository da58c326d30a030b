//! Fits to samples drawn from known surfaces.

use netflow_profile::fit::{
    CellOrigin, ConditionStatus, Fit, FitCell, FitError, FlowSamples, Method, ProfileLabel,
    ResidualSign, Sample, conditions, diagnose, fit, residuals,
};
use netflow_profile::{from_toml, to_toml};

const NAMES: ProfileLabel<'static> = ProfileLabel {
    name: "drawn",
    description: "from a known surface",
};

/// SplitMix64 (Steele, Lea & Flood 2014): the same random numbers on every platform.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + 1e-17
    }
}

/// F = 1.2/(rtt·√p·(1 + 8p)) packets/s: similar to TCP, but not a power law in p.
fn surface(loss: f64, rtt_s: f64) -> f64 {
    1.2 / (rtt_s * loss.sqrt() * (1.0 + 8.0 * loss))
}

/// Returns a flow over a path with random loss `loss`. A sample's time is half proportional to its
/// losses and half exponential. Samples with few losses are therefore fast, rates scatter by a
/// factor, and the mean time per packet is 1/F.
fn flow(loss: f64, rtt_s: f64, samples: usize, random: &mut Random) -> FlowSamples {
    let mut time_s = 0.0;
    let samples = (0..samples)
        .map(|_| {
            let lost = (0..100).filter(|_| random.uniform() < loss).count() as u32;
            let share = f64::from(lost) / (100.0 * loss);
            let scatter = 0.5 * share - 0.5 * random.uniform().ln();
            let duration_s = 100.0 / surface(loss, rtt_s) * scatter;
            time_s += duration_s;
            sample(time_s, duration_s, lost, rtt_s)
        })
        .collect();
    named(&format!("{loss} {rtt_s}"), samples)
}

fn sample(time_s: f64, duration_s: f64, resent_pkts: u32, rtt_s: f64) -> Sample {
    Sample {
        time_s,
        duration_s,
        pkts: 100,
        resent_pkts,
        spurious_pkts: 0,
        rtt_s,
    }
}

fn named(trace: &str, samples: Vec<Sample>) -> FlowSamples {
    FlowSamples {
        trace: trace.to_owned(),
        flow: "0.0->1.0".to_owned(),
        rtt_method: "karn".to_owned(),
        samples,
    }
}

const LOSSES: [f64; 8] = [0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2];
const RTTS_S: [f64; 6] = [0.06, 0.1, 0.2, 0.35, 0.6, 1.0];

fn all_conditions(samples: usize, random: &mut Random) -> Vec<FlowSamples> {
    let mut flows = Vec::new();
    for loss in LOSSES {
        for rtt_s in RTTS_S {
            flows.push(flow(loss, rtt_s, samples, random));
        }
    }
    flows
}

/// Returns ln(found/true), and the same in standard errors.
fn log_error(cell: &FitCell) -> (f64, f64) {
    let error = (cell.throughput_pps / surface(cell.loss, cell.rtt_s)).ln();
    (error, error / cell.relative_error.expect("enough samples"))
}

/// The fit reproduces the surface within its errors: deviations divided by standard errors are
/// approximately standard normal over 5 × 48 cells.
#[test]
fn deviations_match_standard_errors() {
    let mut random = Random(1);
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let fit = fit(&all_conditions(400, &mut random), Method::LongRun, &NAMES).unwrap();
        assert_eq!(fit.cells.len(), 48);
        assert!(
            fit.conditions
                .iter()
                .all(|c| c.status == ConditionStatus::Used)
        );
        for cell in &fit.cells {
            let (error, ratio) = log_error(cell);
            assert!(error.abs() < 0.2, "{cell:?}: {error}");
            ratios.push(ratio);
        }
    }
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let spread = (ratios.iter().map(|r| r * r).sum::<f64>() / count).sqrt();
    let within_two = ratios.iter().filter(|r| r.abs() < 2.0).count() as f64 / count;
    println!("mean {mean:.3}, r.m.s. {spread:.3}, {within_two:.3} within two standard errors");
    assert!(mean.abs() < 0.3);
    assert!((0.75..1.25).contains(&spread));
    assert!((0.90..0.99).contains(&within_two));
}

/// The paper's method averages samples' throughputs sorted by their own losses. This is far above
/// the long-run rate here.
#[test]
fn paper_method_overestimates_throughput() {
    let flows = all_conditions(400, &mut Random(2));
    let paper = fit(&flows, Method::Paper, &NAMES).unwrap();
    let long_run = fit(&flows, Method::LongRun, &NAMES).unwrap();
    let median = |fit: &Fit| {
        let profile = fit.profile().unwrap();
        let mut factors: Vec<f64> = [0.01, 0.04, 0.1]
            .iter()
            .flat_map(|&p| RTTS_S.map(|rtt_s| profile.throughput(p, rtt_s) / surface(p, rtt_s)))
            .collect();
        factors.sort_by(f64::total_cmp);
        factors[factors.len() / 2]
    };
    assert!(median(&paper) > 1.1, "{}", median(&paper));
    assert!(
        (0.97..1.03).contains(&median(&long_run)),
        "{}",
        median(&long_run)
    );
}

/// Samples of exactly F = 5·rtt^(−0.9)·(0.1/loss), in packets/ms and ms.
#[test]
fn paper_method_recovers_a_power_law() {
    let mut flows = Vec::new();
    for lost in [2_u32, 5, 10] {
        for rtt_ms in [60.0, 200.0, 1000.0_f64] {
            let rate_pps = 5e3 * rtt_ms.powf(-0.9) * 10.0 / f64::from(lost);
            let one = sample(1.0, 100.0 / rate_pps, lost, 1e-3 * rtt_ms);
            flows.push(named("exact", vec![one; 3]));
        }
    }
    let fit = fit(&flows, Method::Paper, &NAMES).unwrap();
    let found: Vec<(f64, f64, f64)> = fit.slices.iter().map(|s| (s.loss, s.a, s.b)).collect();
    let expected = [(0.02, 0.9, 25.0), (0.05, 0.9, 10.0), (0.1, 0.9, 5.0)];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.0 - expected.0).abs() < 1e-9, "{found:?}");
        assert!((found.1 - expected.1).abs() < 1e-9, "{found:?}");
        assert!((found.2 / expected.2 - 1.0).abs() < 1e-9, "{found:?}");
    }
    assert_eq!(found.len(), expected.len());
    let profile = fit.profile().unwrap();
    assert!((profile.throughput(0.05, 0.1) / (1e4 * 100_f64.powf(-0.9)) - 1.0).abs() < 1e-9);
}

/// A hole inside is filled and marked; with a missing corner, a column is dropped.
#[test]
fn missing_cells_are_filled_only_inside_hull() {
    let mut flows = all_conditions(400, &mut Random(3));
    let hole = 3 * RTTS_S.len() + 2;
    flows.remove(hole);
    let found = fit(&flows, Method::LongRun, &NAMES).unwrap();
    assert_eq!((found.cells.len(), found.dropped_cells), (48, 0));
    let filled: Vec<usize> = (0..48)
        .filter(|&i| found.cells[i].origin == CellOrigin::Filled)
        .collect();
    assert_eq!(filled, [hole]);
    let cell = &found.cells[hole];
    assert!(log_error(cell).0.abs() < 0.1, "{cell:?}");
    assert_eq!(cell.samples, 0);

    flows.pop(); // 20 % loss at 1 s
    let found = fit(&flows, Method::LongRun, &NAMES).unwrap();
    assert_eq!(found.cells.len(), 42, "without the last loss");
    assert_eq!(found.dropped_cells, 5);
    let domain = found.profile().unwrap().domain();
    assert!(domain.loss_max < 0.17 && domain.rtt_max_s > 0.99);
}

/// A flow at a third of the others' rate: once among many flows, once without others for
/// comparison.
#[test]
fn outliers_are_left_out_and_listed() {
    let mut flows = all_conditions(400, &mut Random(4));
    let slow = 2 * RTTS_S.len() + 3;
    for sample in &mut flows[slow].samples {
        sample.duration_s *= 3.0;
    }
    let found = fit(&flows, Method::LongRun, &NAMES).unwrap();
    let outliers: Vec<usize> = found
        .conditions
        .iter()
        .filter(|condition| condition.status == ConditionStatus::Outlier)
        .map(|condition| condition.flow)
        .collect();
    assert_eq!(outliers, [slow]);
    let (loss, rtt_s) = (LOSSES[2], RTTS_S[3]);
    let there = found.profile().unwrap().throughput(loss, rtt_s);
    assert!((there / surface(loss, rtt_s) - 1.0).abs() < 0.1);

    let alone = fit(&flows[slow..=slow], Method::LongRun, &NAMES).unwrap();
    assert_eq!(alone.conditions[0].status, ConditionStatus::Used);
}

/// The loss of a flow rises from 1 to 10 % after 300 of its 700 samples. After halving, most
/// samples are in long conditions with one of the two losses.
#[test]
fn flows_with_changing_loss_are_split() {
    let mut random = Random(5);
    let mut samples = flow(0.01, 0.1, 300, &mut random).samples;
    samples.extend(flow(0.1, 0.1, 400, &mut random).samples);
    let cut = conditions(&[named("changing", samples)]);
    let within = |low: f64, high: f64| -> usize {
        let like = cut.iter().filter(|c| (low..high).contains(&c.loss()));
        like.map(|condition| condition.samples.len()).sum()
    };
    assert!(within(0.008, 0.012) > 250, "{cut:?}");
    assert!(within(0.09, 0.11) > 350, "{cut:?}");
    assert!(
        cut.windows(2)
            .all(|pair| pair[0].samples.end == pair[1].samples.start)
    );
    let steady = conditions(&[flow(0.03, 0.1, 600, &mut random)]);
    assert_eq!(steady.len(), 1);
}

/// Slow start is the first three samples: without loss and at ten times the rate.
#[test]
fn start_up_is_excluded() {
    let mut flow = flow(0.05, 0.1, 100, &mut Random(6));
    for sample in &mut flow.samples[..3] {
        sample.duration_s *= 0.1;
        sample.resent_pkts = 0;
    }
    flow.samples[3].resent_pkts = 30;
    let [condition] = &conditions(&[flow])[..] else {
        panic!("it is steady")
    };
    assert_eq!(condition.samples, 4..100);
}

/// As with SunOS's initial timer, some connections are five times too slow for twelve samples.
/// Chance alone gives no such clusters.
#[test]
fn slow_clusters_are_reported_with_times() {
    let mut flows = all_conditions(400, &mut Random(7));
    let surface = fit(&flows, Method::LongRun, &NAMES).unwrap();
    let profile = surface.profile().unwrap();
    let found = diagnose(&residuals(&flows, &surface.conditions, profile));
    assert_eq!(found, []);

    let patient = 4 * RTTS_S.len() + 5;
    let (mut time_s, mut from_to) = (0.0, (0.0, 0.0));
    for (i, sample) in flows[patient].samples.iter_mut().enumerate() {
        if (200..212).contains(&i) {
            // Slow even compared with the highest rate.
            sample.duration_s = 500.0 / self::surface(LOSSES[4], RTTS_S[5]);
        }
        time_s += sample.duration_s;
        sample.time_s = time_s;
        match i {
            200 => from_to.0 = time_s,
            211 => from_to.1 = time_s,
            _ => {}
        }
    }
    let found = diagnose(&residuals(&flows, &conditions(&flows), profile));
    let [cluster] = &found[..] else {
        panic!("one cluster: {found:?}")
    };
    assert_eq!((cluster.flow, cluster.sign), (patient, ResidualSign::Slow));
    assert!((12..=14).contains(&cluster.samples), "{cluster:?}");
    assert!((cluster.factor - 0.2).abs() < 0.05, "{cluster:?}");
    assert!(cluster.time_s.0 <= from_to.0 && cluster.time_s.1 >= from_to.1);
    assert!(!cluster.startup);
}

/// Rates without loss become the row at loss 0 if they are known at every round-trip time.
#[test]
fn lossless_flows_form_the_lossless_row() {
    let mut random = Random(8);
    let mut flows = all_conditions(100, &mut random);
    for rtt_s in RTTS_S {
        let samples = (0..50)
            .map(|i| sample(f64::from(i), rtt_s * 100.0 / 64.0, 0, rtt_s))
            .collect();
        flows.push(named("lossless", samples));
    }
    let found = fit(&flows, Method::LongRun, &NAMES).unwrap();
    let profile = found.profile().unwrap();
    for rtt_s in RTTS_S {
        let rate = profile.throughput(0.0, rtt_s);
        assert!(
            (rate * rtt_s / 64.0 - 1.0).abs() < 1e-5,
            "{rate} at {rtt_s}"
        );
    }
    flows.pop();
    let found = fit(&flows, Method::LongRun, &NAMES).unwrap();
    assert!(found.profile().unwrap().domain().loss_min > 0.0);
}

#[test]
fn fitted_profiles_round_trip_through_toml() {
    let flows = all_conditions(50, &mut Random(9));
    for method in [Method::LongRun, Method::Paper] {
        let found = fit(&flows, method, &NAMES).unwrap();
        let profile = found.profile().unwrap();
        let read = from_toml(&to_toml(profile).unwrap()).unwrap();
        for loss in LOSSES {
            for rtt_s in RTTS_S {
                assert_eq!(
                    read.throughput(loss, rtt_s),
                    profile.throughput(loss, rtt_s)
                );
            }
        }
        assert_eq!(read.name(), "drawn");
    }
}

#[test]
fn missing_data_gives_a_specific_error() {
    let said = |flows: &[FlowSamples], method| fit(flows, method, &NAMES).unwrap_err();
    assert_eq!(said(&[], Method::LongRun), FitError::NoSamples);
    assert_eq!(
        said(&[named("short", vec![])], Method::Paper),
        FitError::NoSamples
    );
    let lossless = named("lossless", vec![sample(1.0, 1.0, 0, 0.1); 9]);
    assert_eq!(
        said(std::slice::from_ref(&lossless), Method::LongRun),
        FitError::NoLosses { samples: 9 }
    );
    assert_eq!(
        said(&[lossless], Method::Paper),
        FitError::NoSlice { cells: 1 }
    );
}

/// Bursts without duration, idle flows, identical samples, and very many losses.
#[test]
fn degenerate_samples_do_not_panic() {
    let odd = |duration_s, resent_pkts, needless_pkts, rtt_s| Sample {
        spurious_pkts: needless_pkts,
        ..sample(1.0, duration_s, resent_pkts, rtt_s)
    };
    let flows = [
        named("burst", vec![odd(0.0, 1, 0, 0.1); 30]),
        named(
            "half a burst",
            [odd(0.0, 1, 0, 0.1), odd(1.0, 1, 0, 0.1)].repeat(20),
        ),
        named("all lost", vec![odd(1.0, 100, 0, 0.1); 30]),
        named("more needless than resent", vec![odd(1.0, 1, 5, 0.1); 30]),
        named("no round-trip time", vec![odd(1.0, 1, 0, 0.0); 30]),
        named("idle", vec![odd(1e9, 1, 0, 3.0); 30]),
        named("one", vec![odd(1.0, 3, 0, 0.2)]),
    ];
    for some in 0..1 << flows.len() {
        let some: Vec<FlowSamples> = (0..flows.len())
            .filter(|i| some >> i & 1 == 1)
            .map(|i| flows[i].clone())
            .collect();
        for method in [Method::LongRun, Method::Paper] {
            if let Ok(found) = fit(&some, method, &NAMES) {
                let profile = found.profile().unwrap();
                diagnose(&residuals(&some, &found.conditions, profile));
            }
        }
    }
}
