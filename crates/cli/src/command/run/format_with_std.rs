//! Means over seeds with their standard deviations.

/// Formats a mean with `text`, followed by its standard deviation if it is known.
pub fn format_with_std(mean: f64, std: Option<f64>, text: fn(f64) -> String) -> String {
    match std {
        // Rounding errors of sums are shown as 0.
        Some(std) if std.abs() <= 1e-12 * mean.abs() => format!("{} ± 0", text(mean)),
        Some(std) => format!("{} ± {}", text(mean), text(std)),
        None => text(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::format_with_std;

    /// The deviation is a rounding error, for example `8.000 ± 2.8e-13`.
    #[test]
    fn rounding_errors_are_shown_as_zero() {
        let text = |number: f64| format!("{number:e}");
        assert_eq!(format_with_std(800.0, Some(2.8e-13), text), "8e2 ± 0");
        assert_eq!(format_with_std(800.0, Some(2.8e-3), text), "8e2 ± 2.8e-3");
        assert_eq!(format_with_std(800.0, None, text), "8e2");
    }
}
