//! Decimal numbers, scaled as decimals and rounded to `f64` once.

use std::ops::Range;

/// Decimal number as written in a text: `±digits · 10^exponent`.
#[derive(Debug)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// Reason why a text does not begin with a number; ranges give the offending bytes.
#[derive(Debug, PartialEq)]
pub(crate) enum NotANumber {
    Missing,
    Bad(Range<usize>),
    NotFinite(Range<usize>),
    Separator(Range<usize>),
}

/// Parses the number at the start of `text` and returns it with the offset of its end.
pub(crate) fn scan(text: &str) -> Result<(Decimal, usize), NotANumber> {
    let bytes = text.as_bytes();
    let digits_from = |at: usize| {
        at + bytes[at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };

    let signed = matches!(bytes.first(), Some(b'+' | b'-'));
    let start = usize::from(signed);
    let word: usize = bytes[start..]
        .iter()
        .take_while(|b| b.is_ascii_alphabetic())
        .count();
    let word = text[start..start + word].to_ascii_lowercase();
    if matches!(word.as_str(), "nan" | "inf" | "infinity") {
        return Err(NotANumber::NotFinite(0..start + word.len()));
    }

    let whole = digits_from(start);
    let mut digits = text[start..whole].to_owned();
    let mut end = whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        let to = digits_from(end + 1);
        digits.push_str(&text[end + 1..to]);
        fraction = to - (end + 1);
        end = to;
    }
    if digits.is_empty() {
        return Err(if end > 0 {
            NotANumber::Bad(0..end)
        } else {
            NotANumber::Missing
        });
    }

    let mut exponent: i64 = 0;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let from = end + 1 + sign;
        let to = digits_from(from.min(bytes.len()));
        if to > from {
            // Beyond the range of an f64 the size of the exponent does not matter.
            let size = text[from..to]
                .parse::<i64>()
                .unwrap_or(i64::MAX)
                .min(1_000_000_000_000);
            exponent = if bytes.get(end + 1) == Some(&b'-') {
                -size
            } else {
                size
            };
            end = to;
        }
    }

    // The following characters distinguish a number with separators from a number with a unit.
    let more = |c: u8| c.is_ascii_digit() || matches!(c, b',' | b'_' | b'\'' | b'.' | b'+' | b'-');
    let rest = end + bytes[end..].iter().take_while(|&&b| more(b)).count();
    if rest > end {
        let separated = matches!(bytes[end], b',' | b'_' | b'\'');
        let place = 0..rest;
        return Err(if separated {
            NotANumber::Separator(place)
        } else {
            NotANumber::Bad(place)
        });
    }
    // "1 000 pkt"
    let blanks = text[end..].len() - text[end..].trim_start().len();
    if bytes.get(end + blanks).is_some_and(u8::is_ascii_digit) {
        let group = |b: &&u8| b.is_ascii_digit() || **b == b' ' || **b == b'.';
        let to = end + bytes[end..].iter().take_while(group).count();
        return Err(NotANumber::Separator(
            0..text[..to].trim_end().len().max(end),
        ));
    }

    let exponent = exponent.saturating_sub(fraction as i64);
    Ok((
        Decimal {
            negative: bytes[0] == b'-',
            digits,
            exponent,
        },
        end,
    ))
}

impl Decimal {
    /// Returns the `f64` nearest to `self · multiplier · 10^exponent`; infinite if that is too
    /// large.
    pub(crate) fn scaled(&self, multiplier: u32, exponent: i32) -> f64 {
        let digits = multiply_decimal(&self.digits, multiplier);
        let sign = if self.negative { "-" } else { "" };
        let exponent = self.exponent.saturating_add(i64::from(exponent));
        // The standard library's parser rounds correctly.
        format!("{sign}{digits}e{exponent}")
            .parse()
            .unwrap_or(f64::NAN)
    }
}

/// Multiplies a decimal digit string by a small integer.
fn multiply_decimal(digits: &str, multiplier: u32) -> String {
    if multiplier == 1 {
        return digits.to_owned();
    }
    let mut carry: u64 = 0;
    let mut reversed = Vec::with_capacity(digits.len() + 10);
    for digit in digits.bytes().rev() {
        carry += u64::from(digit - b'0') * u64::from(multiplier);
        reversed.push(b'0' + (carry % 10) as u8);
        carry /= 10;
    }
    while carry > 0 {
        reversed.push(b'0' + (carry % 10) as u8);
        carry /= 10;
    }
    reversed
        .iter()
        .rev()
        .map(|&digit| char::from(digit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        scan(text)
            .map(|(number, _)| number.scaled(1, 0))
            .expect(text)
    }

    #[test]
    fn numbers_are_read() {
        for text in [
            "0", "-0", "+3", "12.5", ".5", "5.", "1e3", "1E-3", "-2.5e+10", "0001",
        ] {
            assert_eq!(
                value(text).to_bits(),
                text.parse::<f64>().unwrap().to_bits(),
                "{text}"
            );
        }
        assert_eq!(value("1e99999999999999999999"), f64::INFINITY);
        assert_eq!(value("1e-99999999999999999999"), 0.0);
    }

    #[test]
    fn an_e_without_digits_belongs_to_the_unit() {
        assert_eq!(scan("5e").unwrap().1, 1);
        assert_eq!(scan("5E+").unwrap().1, 1);
    }

    #[test]
    fn scaling_rounds_once() {
        let scaled = |text: &str, by, shift| scan(text).unwrap().0.scaled(by, shift);
        assert_eq!(scaled("20", 1, -3), 0.02);
        assert_eq!(scaled("0.1", 1, -3), 0.0001);
        assert_eq!(scaled("0.1", 60, 0), 6.0);
        assert_eq!(scaled("0.7", 3600, 0), 2520.0);
        assert_eq!(scaled("1.1", 8, 6), 8.8e6);
        assert_eq!(scaled("0.0009765625", 1024, 0), 1.0);
    }
}
