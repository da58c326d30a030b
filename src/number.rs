//! Formatting of numbers for people.

/// Formats three significant digits, without an exponent where readable: `0.123`, `12.3`, `12345`.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".to_owned(),
        _ if !value.is_finite() => value.to_string(),
        _ if size >= 1e9 => format!("{value:.2e}"),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ if size >= 0.1 => format!("{value:.3}"),
        _ if size >= 1e-2 => format!("{value:.4}"),
        _ if size >= 1e-3 => format!("{value:.5}"),
        _ => format!("{value:.1e}"),
    }
}

/// Formats a number of packets: a whole number, with three significant digits below one: `12346`, `0.123`.
pub fn packets(value: f64) -> String {
    if value.abs() < 0.9995 {
        short(value)
    } else {
        format!("{value:.0}")
    }
}

/// Formats a maximum number of packets next to a mean with three significant digits: a whole number, or from 1
/// to 99.9 with decimals if it is not whole, so that the maximum is not printed below the mean.
pub fn max_packets(value: f64) -> String {
    if value.fract() == 0.0 {
        packets(value)
    } else {
        short(value)
    }
}

/// Formats a setting with at most six digits: `60`, `0.15`, `33.3333`.
pub fn plain(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if !v.is_finite() || !(1e-4..1e9).contains(&v.abs()) => format!("{v:e}"),
        v => {
            let places = (5 - libm::log10(v.abs()).floor() as i32).max(0) as usize;
            let text = format!("{v:.places$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

/// Formats a fraction as a percentage: `12.3 %`. Less than 10⁻¹⁵ becomes `0 %`.
pub fn percent(fraction: f64) -> String {
    if fraction.abs() < 1e-15 {
        "0 %".to_owned()
    } else {
        format!("{} %", short(100.0 * fraction))
    }
}

/// Formats 1 − `part` as a percentage, with three significant digits of a `part` below 0.1: `99.99123 %`. Less than
/// 10⁻¹¹ becomes `100 %`.
pub fn complement_percent(part: f64) -> String {
    match part {
        _ if part < 1e-11 => "100 %".to_owned(),
        _ if part >= 0.1 => percent(1.0 - part),
        _ => {
            let places = -libm::log10(part).floor() as usize;
            format!("{:.places$} %", 100.0 * (1.0 - part))
        }
    }
}

/// Formats a setting as a percentage with all its digits: `99.995 %`.
pub fn plain_percent(fraction: f64) -> String {
    format!("{} %", (fraction * 1e11).round() / 1e9)
}

/// Formats a wall-clock time in a suitable unit: `12.3 ms`, `4.56 s`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{} ms", short(s * 1e3)),
        s => format!("{} s", short(s)),
    }
}

/// Formats a count with its noun: `1 link`, `2 links`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// Returns the noun, in the plural unless `number` is 1.
pub fn plural(number: usize, noun: &str) -> String {
    match number {
        1 => noun.to_owned(),
        _ if noun.ends_with('s') => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let cases = [
            (0.0, "0"),
            (0.99999, "1.00"),
            (9.99996, "10.0"),
            (99.999, "100"),
            (12345.6, "12346"),
            (0.1234, "0.123"),
            (0.01234, "0.0123"),
            (0.001234, "0.00123"),
            (1.2e-5, "1.2e-5"),
            (-3.25, "-3.25"),
            (4e12, "4.00e12"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        let cases = [
            (60.0, "60"),
            (0.15, "0.15"),
            (1e2 / 3.0, "33.3333"),
            (100.0 * 0.07, "7"),
            (1e12, "1e12"),
        ];
        for (value, text) in cases {
            assert_eq!(plain(value), text);
        }
        let parts = [
            (0.0, "100 %"),
            (8.77e-6, "99.999123 %"),
            (0.00499, "99.501 %"),
            (0.25, "75.0 %"),
            (1.0, "0 %"),
        ];
        for (part, text) in parts {
            assert_eq!(complement_percent(part), text);
        }
        assert_eq!(plain_percent(0.9995), "99.95 %");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(2e-15), "2.0e-13 %");
        assert_eq!(percent(1e-307), "0 %");
        assert_eq!(duration(0.0123), "12.3 ms");
        assert_eq!(packets(12345.6), "12346");
        assert_eq!(packets(3.4), "3");
        assert_eq!(packets(0.34), "0.340");
        assert_eq!(count(1, "class"), "1 class");
        assert_eq!(count(2, "class"), "2 classes");
        assert_eq!(count(0, "link"), "0 links");
    }
}
