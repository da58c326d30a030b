//! Rounded numbers for the JSON data of the page.

use serde::{Serialize, Serializer};

/// A number with four significant digits; NaN and infinity become `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded(pub f64);

/// A number with six significant digits, of which a page shows three; NaN and infinity become `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precise(pub f64);

/// A time in seconds with nine significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time(pub f64);

impl Serialize for Rounded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(rounded(self.0, 4), serializer)
    }
}

impl Serialize for Precise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(rounded(self.0, 6), serializer)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(rounded(self.0, 9), serializer)
    }
}

/// Converts all values.
pub fn round_all(values: &[f64]) -> Vec<Rounded> {
    values.iter().copied().map(Rounded).collect()
}

fn rounded(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

fn number<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    if !value.is_finite() {
        return serializer.serialize_none();
    }
    // Integers need no `.0`.
    if value.fract() == 0.0 && value.abs() < 1e15 {
        serializer.serialize_i64(value as i64)
    } else {
        serializer.serialize_f64(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_no_nan() {
        let values = [0.0, 1234567.0, 0.000123456, -2.5, f64::NAN, f64::INFINITY];
        let text = serde_json::to_string(&round_all(&values)).unwrap();
        assert_eq!(text, "[0,1235000,0.0001235,-2.5,null,null]");
        assert_eq!(serde_json::to_string(&Precise(61.549_96)).unwrap(), "61.55");
        assert_eq!(
            serde_json::to_string(&Time(1234.5678)).unwrap(),
            "1234.5678"
        );
    }
}
