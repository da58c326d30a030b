//! Slopes, compared with finite differences of the rates.

use netflow_profile::{Profile, builtin, builtin_names};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Returns d ln F by right-sided differences with the smallest step that rounding permits.
fn differences(profile: &dyn Profile, loss: f64, rtt_s: f64) -> [f64; 2] {
    let ln_rate = |loss: f64, rtt_s: f64| profile.throughput(loss, rtt_s).ln();
    let (p, r) = (1e-6 * loss.max(1e-9), 1e-6 * rtt_s);
    let by = |one: f64, two: f64, step: f64| (4.0 * one - two) / (2.0 * step);
    let here = ln_rate(loss, rtt_s);
    let of_loss = |times: f64| ln_rate(loss + times * p, rtt_s) - here;
    let of_rtt = |times: f64| ln_rate(loss, rtt_s + times * r) - here;
    [
        by(of_loss(1.0), of_loss(2.0), p),
        by(of_rtt(1.0), of_rtt(2.0), r),
    ]
}

/// Every built-in profile at random points inside and around its domain. Errors count relative to
/// elasticities, of which 0.001 is negligible.
#[test]
fn log_derivatives_match_finite_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for name in builtin_names() {
        let profile = builtin(name).unwrap();
        for _ in 0..2000 {
            let loss: f64 = if rng.random_bool(0.1) {
                0.0
            } else {
                rng.random_range(1e-9_f64.ln()..0.5_f64.ln()).exp()
            };
            let rtt_s = rng.random_range(1e-3_f64.ln()..8.0_f64.ln()).exp();
            let is = profile.log_derivatives(loss, rtt_s);
            let [by_loss, by_rtt] = differences(&*profile, loss, rtt_s);
            let error = |is: f64, should: f64, scale: f64| {
                (is - should).abs() * scale / (1.0 + should.abs() * scale)
            };
            let errors = [
                error(is.by_loss, by_loss, loss.max(1e-9)),
                error(is.by_rtt, by_rtt, rtt_s),
            ];
            assert!(
                errors.iter().all(|&e| e < 1e-6),
                "{name} at {loss}, {rtt_s} s: {is:?}, {by_loss} {by_rtt}"
            );
        }
    }
}
