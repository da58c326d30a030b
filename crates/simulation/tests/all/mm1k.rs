//! M/M/1/K queue compared with 25-digit values (`tests/reference/math/mm1k_*.csv`), over its whole
//! domain.

use netflow_simulation::mm1k::{blocking_of_mean, equilibrium, ln_rho_of_mean};
use proptest::prelude::*;

use crate::table::Table;

fn error(found: f64, wanted: f64) -> f64 {
    if found == wanted {
        0.0
    } else {
        ((found - wanted) / wanted).abs()
    }
}

/// B(x(N)) and x(N) at 406 points: K from 1 to 100 000, N/K from 1e-6 to 1 − 1e-6.
#[test]
fn the_inverse_agrees_with_the_table() {
    let Table { columns, rows } = Table::read("mm1k_inverse.csv");
    let at = |row: &[f64], name: &str| row[columns.iter().position(|c| c == name).unwrap()];
    assert!(rows.len() > 400);
    let (mut worst_b, mut worst_tiny, mut worst_x) = ((0.0, 0.0, 0.0), 0.0_f64, 0.0_f64);
    for row in &rows {
        let (k, n, b) = (at(row, "K"), at(row, "N"), at(row, "B"));
        let found = blocking_of_mean(n, k);
        if b > 1e-12 {
            let e = error(found, b);
            assert!(e <= 1e-12, "K = {k}, N = {n}: {found}, not {b}: {e}");
            if e > worst_b.0 {
                worst_b = (e, k, n);
            }
        } else {
            // Negligible values still have the right magnitude, down to the underflow.
            let ln_b = at(row, "lnB");
            let ln_found = found.ln();
            if ln_b < -700.0 {
                assert!(ln_found < -690.0, "K = {k}, N = {n}: {found}");
            } else {
                worst_tiny = worst_tiny.max((ln_found - ln_b).abs());
            }
        }
        let x = ln_rho_of_mean(n, k);
        // N is exact; x is as accurate as N allows.
        let e = (x - at(row, "x")).abs() * at(row, "V") / n.min(k - n);
        worst_x = worst_x.max(e);
    }
    println!(
        "B: {worst_b:?}; ln B where B < 1e-12: {worst_tiny:e}; x, as an error of N or K − N: {worst_x:e}"
    );
    assert!(worst_tiny < 1e-9);
    assert!(worst_x < 1e-12);
}

/// N, B, π₀ at given loads.
#[test]
fn the_queue_agrees_with_the_table() {
    let Table { columns, rows } = Table::read("mm1k_forward.csv");
    let at = |row: &[f64], name: &str| row[columns.iter().position(|c| c == name).unwrap()];
    assert!(rows.len() > 290);
    let mut worst = [0.0_f64; 3];
    for row in &rows {
        let (k, rho) = (at(row, "K"), at(row, "rho"));
        // ln ρ itself is rounded: near 1 the table's ρ is exact, and (K+1) ln ρ is sensitive to the
        // rest.
        let x = if (0.5..2.0).contains(&rho) {
            (rho - 1.0).ln_1p()
        } else {
            rho.ln()
        };
        let eq = equilibrium(x, k);
        let felt = 1e-15 * (1.0 + x.abs()) * (1.0 + k);
        for (w, (found, wanted)) in worst.iter_mut().zip([
            (eq.mean_pkts, at(row, "N")),
            (eq.blocking, at(row, "B")),
            (eq.empty, at(row, "pi0")),
        ]) {
            if wanted > 1e-300 {
                let e = error(found, wanted);
                assert!(e < 1e-12 + felt, "{row:?} {eq:?} {e}");
                *w = w.max(e / (1e-12 + felt));
            } else {
                assert!((0.0..1e-290).contains(&found), "{row:?} {eq:?}");
            }
        }
    }
    println!("N, B, empty as fractions of what is allowed: {worst:?}");
}

/// N(x(N)) = N, on the smaller side; B at the same load.
fn check(n: f64, k: f64) -> Result<(), TestCaseError> {
    let room = k - n;
    let x = ln_rho_of_mean(n, k);
    let b = blocking_of_mean(n, k);
    prop_assert!((0.0..=1.0).contains(&b), "B({n}, {k}) = {b}");
    prop_assert!(!x.is_nan());
    let eq = equilibrium(x, k);
    // e^x is clamped at x = −708.
    prop_assert!(
        n < 1e-300 || error(eq.mean_pkts, n) <= 1e-12,
        "N({x}, {k}) = {}, not {n}",
        eq.mean_pkts
    );
    // The free space, if it is the smaller part and exactly known.
    let free = equilibrium(-x, k).mean_pkts;
    if n + room == k {
        prop_assert!(
            error(free, room) <= 1e-12,
            "K − N({x}, {k}) = {free}, not {room}"
        );
    }
    if b > 1e-12 {
        // d ln B/dx = K − N: the effect of the rounding of x on B.
        let rounding = 2e-16 * x.abs() * free;
        prop_assert!(
            error(b, eq.blocking) <= 2e-12 + 2.0 * rounding,
            "B({n}, {k}) = {b}, not {}",
            eq.blocking
        );
    }
    Ok(())
}

fn any_buffer() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0.0..5.0_f64).prop_map(|e| 10.0_f64.powf(e).round()),
        (0.0..5.0_f64).prop_map(|e| 10.0_f64.powf(e)),
        1.0..10.0_f64,
        (1_u32..=100_000).prop_map(f64::from),
    ]
}

/// Returns fractions of K: arbitrary, near 0, near one half, near 1.
fn any_fraction() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0..=1.0_f64,
        (-16.0..0.0_f64).prop_map(|e| 10.0_f64.powf(e)),
        (-16.0..-0.4_f64, any::<bool>()).prop_map(|(e, up)| if up {
            0.5 + 10.0_f64.powf(e)
        } else {
            0.5 - 10.0_f64.powf(e)
        }),
        (-16.0..0.0_f64).prop_map(|e| 1.0 - 10.0_f64.powf(e)),
    ]
}

proptest! {
    #![proptest_config(crate::cases(20_000))]

    #[test]
    fn inverse_recovers_the_load_of_the_mean(k in any_buffer(), fraction in any_fraction()) {
        check(k * fraction, k)?;
    }

    /// N(−x) = K − N(x), with blocking and emptiness exchanged.
    #[test]
    fn mm1k_is_symmetric_in_free_places(k in any_buffer(), x in -50.0..50.0_f64, fraction in any_fraction()) {
        let (a, b) = (equilibrium(x, k), equilibrium(-x, k));
        prop_assert!((a.mean_pkts + b.mean_pkts - k).abs() <= 4e-16 * k, "{a:?} {b:?}");
        prop_assert_eq!((a.blocking, a.empty, a.slope), (b.empty, b.blocking, b.slope));
        let n = k * fraction;
        if k - (k - n) == n {
            prop_assert_eq!(ln_rho_of_mean(n, k), -ln_rho_of_mean(k - n, k));
        }
    }

    /// A longer queue blocks more, up to rounding.
    #[test]
    fn blocking_rises_with_the_mean(k in any_buffer(), fraction in any_fraction(), more in any_fraction()) {
        let (n, m) = (k * fraction, k * fraction.max(more));
        let (low, high) = (blocking_of_mean(n, k), blocking_of_mean(m, k));
        prop_assert!(low <= high * (1.0 + 2e-12), "B({n}, {k}) = {low} > B({m}, {k}) = {high}");
        let (low, high) = (ln_rho_of_mean(n, k), ln_rho_of_mean(m, k));
        prop_assert!(low <= high + 1e-12 * high.abs(), "x({n}, {k}) = {low} > x({m}, {k}) = {high}");
    }

    /// Any input gives a probability.
    #[test]
    fn invalid_input_gives_a_probability(n in prop::num::f64::ANY, k in 1.0..1e6_f64) {
        let b = blocking_of_mean(n, k);
        prop_assert!((0.0..=1.0).contains(&b), "B({n}, {k}) = {b}");
        prop_assert!(!ln_rho_of_mean(n, k).is_nan());
        let b = blocking_of_mean(n, n.abs());
        prop_assert!((0.0..=1.0).contains(&b), "B({n}, |{n}|) = {b}");
    }
}

/// The limits for every K, and the adjacent numbers.
#[test]
fn empty_and_full_queues_are_exact() {
    for k in 1..=100_000_u32 {
        let k = f64::from(k);
        assert_eq!(blocking_of_mean(0.0, k), 0.0, "{k}");
        assert_eq!(blocking_of_mean(k, k), 1.0, "{k}");
        assert_eq!(ln_rho_of_mean(0.0, k), f64::NEG_INFINITY, "{k}");
        assert_eq!(ln_rho_of_mean(k, k), f64::INFINITY, "{k}");
        assert!(
            error(blocking_of_mean(0.5 * k, k), 1.0 / (k + 1.0)) < 1e-15,
            "{k}"
        );
        for n in [
            f64::MIN_POSITIVE,
            1e-200,
            k.next_down(),
            (0.5 * k).next_up(),
            (0.5 * k).next_down(),
        ] {
            check(n, k).unwrap();
        }
    }
}

/// A buffer of one: B = N.
#[test]
fn buffer_of_one_blocks_with_its_mean() {
    for i in 0..=10_000_u32 {
        let n = f64::from(i) * 1e-4;
        assert!(
            error(blocking_of_mean(n, 1.0), n) < 1e-15,
            "{n} {}",
            blocking_of_mean(n, 1.0)
        );
    }
}

/// Values outside [0, K] count as the nearer limit, and NaN as full.
#[test]
fn invalid_input_is_clamped() {
    for k in [1.0, 2.5, 20.0, 1e5] {
        for n in [-0.0, -1e-300, -1.0, -1e300, f64::NEG_INFINITY] {
            assert_eq!(
                (blocking_of_mean(n, k), ln_rho_of_mean(n, k)),
                (0.0, f64::NEG_INFINITY),
                "{n} {k}"
            );
        }
        for n in [k.next_up(), 2.0 * k, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(
                (blocking_of_mean(n, k), ln_rho_of_mean(n, k)),
                (1.0, f64::INFINITY),
                "{n} {k}"
            );
        }
    }
    for x in [
        f64::NEG_INFINITY,
        -1e300,
        -700.0,
        700.0,
        1e300,
        f64::INFINITY,
    ] {
        let eq = equilibrium(x, 20.0);
        assert!(
            eq.mean_pkts
                == if x < 0.0 {
                    eq.mean_pkts.min(1e-300)
                } else {
                    20.0
                },
            "{x} {eq:?}"
        );
        assert!(
            (0.0..=1.0).contains(&eq.blocking) && (0.0..=1.0).contains(&eq.empty),
            "{x} {eq:?}"
        );
    }
}
