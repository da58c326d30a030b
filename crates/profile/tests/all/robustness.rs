//! No input gives a rate of zero, infinity or NaN.

use netflow_profile::{aliases, builtin, builtin_names};
use proptest::prelude::*;

/// Generates any `f64`, and values typical of networks.
fn any_loss() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0..0.4f64,
        (-12.0..0.0f64).prop_map(|e| 10f64.powf(e)),
        any::<f64>(),
        special()
    ]
}

fn any_rtt() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..6.0f64, any::<f64>(), special()]
}

fn special() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        -1.0,
        1.0,
        0.3,
        0.06,
        5.0,
    ])
}

proptest! {
    #[test]
    fn every_rate_is_finite_and_positive(points in prop::collection::vec((any_loss(), any_rtt()), 1..20)) {
        let (losses, rtts): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let mut rates = vec![0.0; losses.len()];
        for name in builtin_names() {
            let profile = builtin(name).expect(name);
            profile.throughputs(&losses, &rtts, &mut rates);
            for i in 0..rates.len() {
                let (loss, rtt) = (losses[i], rtts[i]);
                prop_assert!(rates[i].is_finite() && rates[i] > 0.0, "{name}({loss}, {rtt}) = {}", rates[i]);
                // Slices give the same bits as single evaluations.
                prop_assert_eq!(rates[i].to_bits(), profile.throughput(loss, rtt).to_bits());
                if let Some(window) = profile.window_limit_pkts()
                    && rtt > 0.0 && rtt.is_finite() && window / rtt > f64::MIN_POSITIVE
                {
                    prop_assert!(rates[i] <= window / rtt, "{name}({loss}, {rtt}) = {}", rates[i]);
                }
            }
        }
    }
}

#[test]
fn every_name_and_alias_is_known() {
    for name in builtin_names() {
        let profile = builtin(name).expect(name);
        assert_eq!(profile.name(), *name);
        assert!(!profile.description().is_empty());
        assert!(builtin(name).is_some_and(|again| std::sync::Arc::ptr_eq(&again, &profile)));
    }
    for (alias, name) in aliases() {
        assert_eq!(builtin(alias).expect(alias).name(), *name);
        assert!(!builtin_names().contains(alias));
    }
    assert!(builtin("reno").is_none());
    assert!(builtin("").is_none());
}

#[test]
fn slices_of_different_lengths_are_safe() {
    let mut out = [-1.0; 3];
    builtin("ns-reno")
        .expect("built-in")
        .throughputs(&[0.01, 0.02], &[0.1, 0.1, 0.1], &mut out);
    assert!(out[0] > out[1] && out[1] > 0.0 && out[2] == -1.0);
}
