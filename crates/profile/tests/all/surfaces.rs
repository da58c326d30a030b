//! Power-law surfaces, compared with independently computed values.

use std::path::Path;

use netflow_profile::builtin;

/// Reads the rows of a reference table as (implementation, numbers).
fn rows(file: &str) -> Vec<(String, Vec<f64>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference")
        .join(file);
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(path)
        .expect("reference file");
    let rows = reader.records().map(|record| {
        let record = record.expect("row");
        let numbers = record
            .iter()
            .skip(1)
            .map(|field| field.parse().expect("number"))
            .collect();
        (record[0].to_lowercase(), numbers)
    });
    rows.collect()
}

#[track_caller]
fn assert_within(found: f64, wanted: f64, tolerance: f64) {
    let error = (found / wanted - 1.0).abs();
    assert!(
        error <= tolerance,
        "{found} is not {wanted}: relative error {error:e}"
    );
}

/// F = B·rtt^(−A), or eq. 3 for NetBSD; A and B are linear between the rows.
#[test]
fn table_1_agrees_to_twelve_digits() {
    let rows = rows("table1_surfaces.csv");
    assert_eq!(rows.len(), 702);
    for (implementation, numbers) in rows {
        let profile = builtin(&implementation).expect("alias");
        let [loss, rtt_ms, rate] = numbers[..] else {
            panic!("three numbers")
        };
        assert!(!profile.is_outside_domain(loss, rtt_ms / 1000.0));
        assert_within(
            profile.throughput(loss, rtt_ms / 1000.0) / 1000.0,
            rate,
            1e-12,
        );
    }
}

/// The reference contains the rates at the nearest points. Beyond them the window is the same, and
/// rates do not rise with the loss.
#[test]
fn rates_outside_domain_extend_the_nearest_point() {
    for (implementation, numbers) in rows("table1_clamped.csv") {
        let profile = builtin(&implementation).expect("alias");
        let [loss, rtt_ms, rate] = numbers[..] else {
            panic!("three numbers")
        };
        assert!(profile.is_outside_domain(loss, rtt_ms / 1000.0));
        let found = profile.throughput(loss, rtt_ms / 1000.0) / 1000.0;
        let wanted = rate * rtt_ms.clamp(60.0, 5000.0) / rtt_ms;
        if loss <= 0.3 {
            assert_within(found, wanted, 1e-12);
        } else {
            // At 1.5 times the loss: NT and SunOS decrease at least as p^-1.5; NetBSD rose within
            // its domain.
            assert!(
                found <= wanted * (1.0 + 1e-12),
                "{implementation} {loss}: {found} {wanted}"
            );
            assert!(
                found > wanted * (0.3 / loss).powi(3),
                "{implementation} {loss}: {found} {wanted}"
            );
        }
    }
}

/// Packets/ms at (loss, rtt in ms), computed by hand from Table 1.
#[test]
fn power_law_values_match_hand_calculation() {
    for (name, loss, rtt_ms, rate) in [
        ("windows-nt-4-sp3", 0.05, 100.0, 0.0513709719013),
        ("netbsd-1.2", 0.01, 100.0, 0.10236082287217),
        ("sunos-5.5", 0.1, 300.0, 0.0164828767951),
        ("netbsd-1.2", 0.2, 1000.0, 0.00305275134190),
    ] {
        let profile = builtin(name).expect(name);
        assert_within(
            profile.throughput(loss, rtt_ms / 1000.0) / 1000.0,
            rate,
            1e-11,
        );
    }
}

/// As documented, F may increase with the loss, so no root finder may assume that it is monotone.
#[test]
fn throughput_is_not_monotone_in_the_loss() {
    let rate = |name: &str, loss, rtt| builtin(name).expect(name).throughput(loss, rtt);
    assert!(rate("nt", 0.01, 0.5) > rate("nt", 0.0, 0.5));
    assert!(rate("bsd", 0.28, 0.06) > rate("bsd", 0.27, 0.06));
    assert!(rate("sun", 0.03, 0.06) < rate("sun", 0.0, 0.06));
}
