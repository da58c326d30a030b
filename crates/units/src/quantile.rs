//! Sample quantiles.

/// Returns the `q` quantile (0–1) of `ascending` values with linear interpolation. This is type 7
/// of Hyndman & Fan (1996), the default of NumPy, pandas and R. Returns NaN for no values.
pub fn quantile(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (
        ascending[place.floor() as usize],
        ascending[place.ceil() as usize],
    );
    // Equal values may be infinite, and their difference would be NaN.
    if below == above {
        below
    } else {
        below + (above - below) * place.fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_lies_between_neighbouring_values() {
        let values = [1.0, 2.0, 3.0, 5.0];
        for (q, expected) in [(0.0, 1.0), (0.5, 2.5), (0.9, 4.4), (1.0, 5.0), (2.0, 5.0)] {
            let found = quantile(&values, q);
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
        // Result of Python's `statistics.quantiles(…, n=10, method="inclusive")`.
        let values = [2.1, 3.7, 3.7, 5.0, 8.8, 13.0, 21.5];
        let python = [3.06, 3.7, 3.7, 4.22, 5.0, 7.28, 9.64, 12.16, 16.4];
        for (tenth, expected) in (1..).zip(python) {
            let found = quantile(&values, f64::from(tenth) / 10.0);
            assert!((found - expected).abs() < 1e-12, "{tenth}: {found}");
        }
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
        assert_eq!(quantile(&[f64::INFINITY; 2], 0.3), f64::INFINITY);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
