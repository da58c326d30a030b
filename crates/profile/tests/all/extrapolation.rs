//! Extrapolation beyond the measurements: finite, positive, never rising outwards and continuous at
//! the edge; and its error where measurements exist.

use netflow_profile::{
    Definition, Domain, Grid, GridRow, GridSpec, PowerLaw, PowerLawRow, PowerLawSpec, Profile,
    Provenance, builtin, builtin_names,
};
use proptest::prelude::*;

fn spec(name: &str) -> GridSpec {
    let profile = builtin(name).expect(name);
    match profile.definition() {
        Some(Definition::Grid(grid)) => grid.spec().clone(),
        _ => panic!("{name} is a grid"),
    }
}

/// Returns the rows and columns of a grid that satisfy both conditions.
fn restrict(spec: &GridSpec, row: impl Fn(f64) -> bool, column: impl Fn(f64) -> bool) -> Grid {
    let columns: Vec<usize> = (0..spec.rtts_s.len())
        .filter(|&j| column(spec.rtts_s[j]))
        .collect();
    Grid::new(GridSpec {
        // A window would determine the rates without loss, so that nothing is extrapolated.
        window_pkts: None,
        sawtooth_amplitude: 1.0,
        rtts_s: columns.iter().map(|&j| spec.rtts_s[j]).collect(),
        rows: (spec.rows.iter())
            .filter(|it| row(it.loss))
            .map(|it| GridRow {
                loss: it.loss,
                throughput_pps: columns.iter().map(|&j| it.throughput_pps[j]).collect(),
                extrapolated: Vec::new(),
            })
            .collect(),
        ..spec.clone()
    })
    .expect("a part of a good grid")
}

/// Iterates over round-trip times in seconds and packets/s of a row, without cells that were
/// extrapolated when it was made.
fn measured<'a>(spec: &'a GridSpec, row: &'a GridRow) -> impl Iterator<Item = (f64, f64)> + 'a {
    let columns = 0..spec.rtts_s.len();
    let measured = columns.filter(|column| !row.extrapolated.contains(column));
    measured.map(|column| (spec.rtts_s[column], row.throughput_pps[column]))
}

/// Errors of extrapolated rates in cells that were left out, as factors: median, r.m.s. and largest
/// in either direction.
struct Errors {
    cells: usize,
    median: f64,
    rms: f64,
    largest: f64,
}

fn errors(what: &str, part: &Grid, spec: &GridSpec, counts: impl Fn(f64, f64) -> bool) -> Errors {
    let mut logs: Vec<f64> = Vec::new();
    for row in &spec.rows {
        for (rtt_s, rate) in measured(spec, row) {
            if part.is_outside_domain(row.loss, rtt_s) && counts(row.loss, rtt_s) {
                logs.push((part.throughput(row.loss, rtt_s) / rate).ln());
            }
        }
    }
    assert!(!logs.is_empty(), "{what}: nothing was left out");
    logs.sort_by(f64::total_cmp);
    let square = logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64;
    let errors = Errors {
        cells: logs.len(),
        median: logs[logs.len() / 2].exp(),
        rms: square.sqrt().exp(),
        largest: logs[logs.len() - 1].max(-logs[0]).exp(),
    };
    println!(
        "{what}: {} cells, median ×{:.2}, r.m.s. ×{:.2}, largest ×{:.2}",
        errors.cells, errors.median, errors.rms, errors.largest
    );
    errors
}

/// These are the errors quoted in `extrapolation.rs` and the guide.
#[test]
fn held_out_cell_errors_match_documentation() {
    let reno = spec("ns-reno");
    let cubic = spec("linux-cubic");
    let linux_reno = spec("linux-reno");
    let all = |_: f64| true;

    // (name, part of the grid that is kept, cells that count; bounds: r.m.s., largest)
    let from_1_percent = restrict(&reno, |p| p >= 0.01, all);
    let low = errors("ns-reno below 1 %", &from_1_percent, &reno, |_, _| true);
    assert!(low.cells == 108 && low.rms < 1.3 && low.largest < 1.8);
    let low = errors(
        "linux-cubic below 1 %",
        &restrict(&cubic, |p| p >= 0.01, all),
        &cubic,
        |_, _| true,
    );
    assert!(low.cells == 34 && low.rms < 1.25 && low.largest < 1.6);
    let low = errors(
        "linux-reno below 1 %",
        &restrict(&linux_reno, |p| p >= 0.01, all),
        &linux_reno,
        |_, _| true,
    );
    assert!(low.cells == 32 && low.rms < 1.15);

    // Shorter round-trip times, by a factor of eight.
    let from_500_ms = restrict(&reno, all, |rtt| rtt >= 0.5);
    let rare = errors(
        "ns-reno from 60 to 500 ms, loss to 5 %",
        &from_500_ms,
        &reno,
        |p, rtt| p <= 0.05 && rtt >= 0.06,
    );
    assert!(rare.rms < 1.08 && rare.largest < 1.25);
    let often = errors(
        "ns-reno below 500 ms, loss above 5 %",
        &from_500_ms,
        &reno,
        |p, _| p > 0.05,
    );
    assert!(often.largest > 2.0, "why it is not usable there");
    let short = errors(
        "linux-cubic below 10 ms, loss to 0.5 %",
        &restrict(&cubic, all, |rtt| rtt > 0.01),
        &cubic,
        |p, _| p <= 0.005,
    );
    assert!(short.rms < 1.25 && short.largest < 1.4);
    let short = errors(
        "linux-cubic below 10 ms, loss above 0.5 %",
        &restrict(&cubic, all, |rtt| rtt > 0.01),
        &cubic,
        |p, _| p > 0.005,
    );
    assert!(short.largest > 5.0, "why it is not usable there");

    // Longer round-trip times.
    let long = errors(
        "ns-reno above 1.5 s",
        &restrict(&reno, all, |rtt| rtt <= 1.5),
        &reno,
        |_, _| true,
    );
    assert!(long.rms < 1.14 && long.largest < 1.5);
    let long = errors(
        "linux-cubic above 205 ms",
        &restrict(&cubic, all, |rtt| rtt < 0.3),
        &cubic,
        |_, _| true,
    );
    assert!(long.rms < 1.9 && long.largest < 2.7);

    // Higher losses.
    let to_20_percent = restrict(&reno, |p| p < 0.205, all);
    let near = errors("ns-reno from 20 to 25 %", &to_20_percent, &reno, |p, _| {
        p < 0.255
    });
    assert!(near.rms < 1.35 && near.largest < 2.6);
    let far = errors("ns-reno from 25 to 30 %", &to_20_percent, &reno, |p, _| {
        p > 0.255
    });
    assert!(far.largest > 2.0, "why it is not usable there");
}

/// Usable rates are within a factor of two of the measurement.
#[test]
fn usable_rates_are_within_factor_two() {
    for name in [
        "ns-reno",
        "ns-newreno",
        "ns-sack",
        "ns-tahoe",
        "linux-reno",
        "linux-cubic",
    ] {
        let spec = spec(name);
        let all = |_: f64| true;
        let n = spec.rtts_s.len();
        let mut parts = vec![
            restrict(&spec, |p| p >= 0.01, all),
            restrict(&spec, |p| p < 0.15, all),
            restrict(&spec, all, |rtt| rtt < 0.5),
        ];
        parts.extend((1..n / 2 + 1).map(|j| restrict(&spec, all, |rtt| rtt >= spec.rtts_s[j])));
        for part in parts {
            for row in &spec.rows {
                for (rtt_s, rate) in measured(&spec, row) {
                    if part.provenance(row.loss, rtt_s) == Provenance::Extrapolated {
                        let factor = part.throughput(row.loss, rtt_s) / rate;
                        assert!(
                            (0.5..=2.0).contains(&factor),
                            "{name} from {:?}: ×{factor:.2} at {} and {rtt_s} s",
                            part.domain(),
                            row.loss
                        );
                    }
                }
            }
        }
    }
}

/// 100 Mbit/s and 20 ms without other traffic: 8333 packets of 1500 B per second. The lowest
/// measured loss, 0.05 %, gives 2500.
#[test]
fn lossless_rate_exceeds_rate_at_lowest_loss() {
    let cubic = builtin("linux-cubic").expect("built-in");
    assert!(cubic.throughput(0.0, 0.02) > 8333.0);
    assert!(cubic.throughput(1e-5, 0.02) > 8333.0);
    assert!(cubic.throughput(0.01, 0.02) < 600.0);
    assert_eq!(cubic.provenance(1e-4, 0.02), Provenance::Extrapolated);
    assert_eq!(cubic.provenance(0.01, 0.061), Provenance::Measured);
    // 0.5 ms is too far from the shortest measured time of 1.3 ms, because timeouts dominate there.
    assert_eq!(cubic.provenance(0.1, 0.000_5), Provenance::Unreliable);
    assert_eq!(cubic.provenance(0.3, 0.1), Provenance::Unreliable);
}

#[test]
fn power_laws_are_unreliable_far_outside() {
    let nt = builtin("nt").expect("alias");
    assert_eq!(nt.provenance(0.01, 0.06), Provenance::Measured);
    assert_eq!(nt.provenance(0.01, 0.03), Provenance::Extrapolated);
    assert_eq!(nt.provenance(0.01, 0.02), Provenance::Unreliable);
    assert_eq!(nt.provenance(0.31, 0.1), Provenance::Unreliable);
    assert_eq!(nt.provenance(f64::NAN, 0.1), Provenance::Unreliable);
    let mathis = builtin("mathis").expect("built-in");
    assert_eq!(mathis.provenance(0.0, 0.1), Provenance::Extrapolated);
    assert_eq!(mathis.provenance(0.6, 0.1), Provenance::Unreliable);
}

/// Generates profiles with and without a window whose rates decrease with loss and round-trip time,
/// as for TCP; and power laws.
fn any_profile() -> impl Strategy<Value = std::sync::Arc<dyn Profile>> {
    let steps = prop::collection::vec((0.05..1.5f64, 0.0..1.2f64), 1..6);
    let columns = prop::collection::vec((0.05..1.5f64, 0.0..1.2f64), 1..6);
    let window = prop::option::of(4.0..1e5f64);
    let grid = (
        steps,
        columns,
        window,
        -9.0..-3.0f64,
        -7.0..-1.0f64,
        0.5..8.0f64,
    )
        .prop_map(|(steps, columns, window_pkts, loss, rtt, rate)| {
            let increasing = |start: f64, steps: &[(f64, f64)], most: f64| -> Vec<(f64, f64)> {
                let mut at = (start, 0.0);
                let mut all = vec![(at.0.exp(), at.1)];
                for (step, fall) in steps {
                    at = (at.0 + step, at.1 + fall);
                    if at.0 < most {
                        all.push((at.0.exp(), at.1));
                    }
                }
                all
            };
            let losses = increasing(loss, &steps, 0.0);
            let rtts = increasing(rtt, &columns, 5.0);
            Grid::new(GridSpec {
                name: "any".into(),
                description: String::new(),
                window_pkts,
                sawtooth_amplitude: 1.0,
                rtts_s: rtts.iter().map(|rtt| rtt.0).collect(),
                rows: (losses.iter())
                    .map(|row| GridRow {
                        loss: row.0,
                        throughput_pps: (rtts.iter())
                            .map(|rtt| (rate - row.1 - rtt.1).exp())
                            .collect(),
                        extrapolated: Vec::new(),
                    })
                    .collect(),
            })
        });
    let law =
        prop::collection::vec((0.001..0.2f64, 0.3..1.5f64, 0.05..50.0f64), 1..5).prop_map(|rows| {
            let mut loss = 0.0;
            let rows = rows.into_iter().map(|(step, a, b)| {
                loss += step;
                PowerLawRow { loss, a, b }
            });
            PowerLaw::new(PowerLawSpec {
                name: "law".into(),
                description: String::new(),
                rows: rows.collect(),
                loss_rtt_exponent: 0.0,
                rtt_min_s: 0.06,
                rtt_max_s: 5.0,
            })
        });
    prop_oneof![
        prop::sample::select(builtin_names().to_vec()).prop_map(|name| builtin(name).expect(name)),
        grid.prop_map(|grid| -> std::sync::Arc<dyn Profile> {
            std::sync::Arc::new(grid.expect("a good grid"))
        }),
        law.prop_map(|law| -> std::sync::Arc<dyn Profile> {
            std::sync::Arc::new(law.expect("a good law"))
        }),
    ]
}

/// Interpolates geometrically between the bounds, which are included.
fn between(low: f64, high: f64, part: f64) -> f64 {
    (low * (high / low).powf(part)).clamp(low, high)
}

proptest! {
    #[test]
    fn rates_never_rise_outside_the_domain(
        profile in any_profile(),
        inside in (0.0..=1.0f64, 0.0..=1.0f64),
        outside in (0.0..=1.0f64, 0.0..=1.0f64),
    ) {
        let Domain { loss_min, loss_max, rtt_min_s, rtt_max_s } = profile.domain();
        let loss = between(loss_min.max(1e-9), loss_max, inside.0);
        let rtt = between(rtt_min_s, rtt_max_s, inside.1);
        let (less, more) = (outside.0.min(outside.1), outside.0.max(outside.1));
        let rates = |loss: f64, rtt: f64| profile.throughput(loss, rtt);
        // Increasing round-trip times on both sides of the domain, then losses on both sides.
        let mut ways = vec![
            [1e-7, rtt_min_s].map(|end| (end, true)),
            [rtt_max_s, 1e4].map(|end| (end, true)),
            [loss_max, 1.0].map(|end| (end, false)),
        ];
        if loss_min > 0.0 {
            ways.push([1e-12, loss_min].map(|end| (end, false)));
        }
        for [(low, along_rtt), (high, _)] in ways {
            if low >= high {
                continue;
            }
            let at = |part| {
                let x = between(low, high, part);
                if along_rtt { rates(loss, x) } else { rates(x, rtt) }
            };
            let (first, second) = (at(less), at(more));
            prop_assert!(first.is_finite() && second > 0.0, "{first} {second}");
            prop_assert!(
                first >= second * (1.0 - 1e-12),
                "{}: {first} then {second} on the way from {low} to {high}", profile.name()
            );
        }
    }

    #[test]
    fn rates_are_continuous_at_domain_edge(profile in any_profile(), inside in (0.0..=1.0f64, 0.0..=1.0f64)) {
        let Domain { loss_min, loss_max, rtt_min_s, rtt_max_s } = profile.domain();
        let loss = between(loss_min.max(1e-9), loss_max, inside.0);
        let rtt = between(rtt_min_s, rtt_max_s, inside.1);
        let near = 1e-9;
        for (edge, beyond) in [
            ((loss, rtt_min_s), (loss, rtt_min_s * (1.0 - near))),
            ((loss, rtt_max_s), (loss, rtt_max_s * (1.0 + near))),
            ((loss_min, rtt), (loss_min * (1.0 - near), rtt)),
            ((loss_max, rtt), ((loss_max * (1.0 + near)).min(1.0), rtt)),
        ] {
            let (at, after) = (profile.throughput(edge.0, edge.1), profile.throughput(beyond.0, beyond.1));
            prop_assert!((after / at - 1.0).abs() < 1e-6, "{}: {at} at {edge:?}, {after} beyond", profile.name());
        }
    }
}
