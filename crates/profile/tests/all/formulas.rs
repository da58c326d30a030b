//! Mathis and PFTK, compared with independently computed values.

use std::path::Path;

use netflow_profile::{Analytic, Formula, FormulaParameters, Profile, builtin};

#[track_caller]
fn assert_within(found: f64, wanted: f64, tolerance: f64) {
    let error = (found / wanted - 1.0).abs();
    assert!(
        error <= tolerance,
        "{found} is not {wanted}: relative error {error:e}"
    );
}

fn rate(formula: Formula, parameters: FormulaParameters, loss: f64, rtt_s: f64) -> f64 {
    let profile = Analytic::new("test", "", formula, parameters).expect("good parameters");
    assert!(!profile.is_outside_domain(loss, rtt_s));
    profile.throughput(loss, rtt_s)
}

#[test]
fn formulas_agree_to_nine_digits() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/formulas.csv");
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(path)
        .expect("reference file");
    let mut compared = 0;
    for record in reader.records() {
        let numbers: Vec<f64> = record
            .expect("row")
            .iter()
            .map(|field| field.parse().expect("number"))
            .collect();
        let [
            rtt,
            p,
            timeout_s,
            b,
            window,
            mathis,
            approximate,
            approximate_limited,
            full,
        ] = numbers[..]
        else {
            panic!("nine numbers")
        };
        let unlimited = FormulaParameters {
            segments_per_ack: b,
            timeout_s,
            window_pkts: None,
        };
        let limited = FormulaParameters {
            window_pkts: Some(window),
            ..unlimited
        };
        assert_within(rate(Formula::Mathis, unlimited, p, rtt), mathis, 1e-9);
        assert_within(
            rate(Formula::PftkApproximate, unlimited, p, rtt),
            approximate,
            1e-9,
        );
        assert_within(
            rate(Formula::PftkApproximate, limited, p, rtt),
            approximate_limited,
            1e-9,
        );
        // The profile limits the full model to W/rtt as well, which eq. 31 itself does not.
        assert!(full <= window / rtt);
        assert_within(rate(Formula::PftkFull, limited, p, rtt), full, 1e-9);
        compared += 1;
    }
    assert!(compared >= 115, "{compared}");
}

/// rtt 0.1 s, p 0.01, T0 1 s, b 2: the built-in parameters.
#[test]
fn built_in_formulas_have_reference_values() {
    for (name, wanted) in [
        ("pftk-full", 69.5245),
        ("pftk-approximate", 70.6544),
        ("mathis", 86.6025),
    ] {
        assert_within(
            builtin(name).expect(name).throughput(0.01, 0.1),
            wanted,
            1e-6,
        );
    }
}

/// The formulas diverge at loss 0, but profiles do not.
#[test]
fn without_loss_the_rate_is_finite() {
    for name in ["pftk-full", "pftk-approximate", "mathis"] {
        let profile = builtin(name).expect(name);
        assert!(profile.is_outside_domain(0.0, 0.1));
        assert_eq!(
            profile.throughput(0.0, 0.1),
            profile.throughput(profile.domain().loss_min, 0.1)
        );
        assert_within(
            profile.throughput(0.0, 0.1),
            (0.75e8_f64).sqrt() / 0.1,
            1e-3,
        );
    }
    let limited = FormulaParameters {
        window_pkts: Some(64.0),
        ..FormulaParameters::default()
    };
    let profile = Analytic::new("w64", "", Formula::PftkFull, limited).unwrap();
    assert!(!profile.is_outside_domain(0.0, 0.1));
    assert_within(profile.throughput(0.0, 0.1), 640.0, 1e-4);
}
