//! Numbers with units as `tc` reads and prints them (`get_rate64`, `get_size` and `get_time` of iproute2).

use super::objects::Word;
use crate::attributes::truncate_text;
use crate::errors::{ImportError, ReadResult};

/// Units of rates in bit/s.
const RATES: [(&str, f64); 18] = [
    ("", 1.0),
    ("bit", 1.0),
    ("kibit", 1024.0),
    ("kbit", 1e3),
    ("mibit", 1_048_576.0),
    ("mbit", 1e6),
    ("gibit", 1_073_741_824.0),
    ("gbit", 1e9),
    ("tibit", 1_099_511_627_776.0),
    ("tbit", 1e12),
    ("bps", 8.0),
    ("kibps", 8.0 * 1024.0),
    ("kbps", 8e3),
    ("mibps", 8.0 * 1_048_576.0),
    ("mbps", 8e6),
    ("gibps", 8.0 * 1_073_741_824.0),
    ("gbps", 8e9),
    ("tbps", 8e12),
];

/// Units of sizes in bytes: `Kb` is 1024 bytes.
const SIZES: [(&str, f64); 11] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("kbit", 128.0),
    ("mbit", 131_072.0),
    ("gbit", 134_217_728.0),
];

/// Units of times in seconds. A number without unit is in microseconds.
const TIMES: [(&str, f64); 12] = [
    ("", 1e-6),
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("msecs", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
    ("usecs", 1e-6),
    ("ns", 1e-9),
    ("nsecs", 1e-9),
];

/// Parses a rate: `100Mbit`.
pub(super) fn rate_bps(word: &Word) -> ReadResult<f64> {
    quantity(word, &word.text, &RATES, "a rate", "10mbit or 500kbit")
}

/// Parses a size in bytes: `15Kb`, or `15Kb/8` with the cell size of a rate table.
pub(super) fn bytes(word: &Word) -> ReadResult<f64> {
    let size = word
        .text
        .split_once('/')
        .map_or(&*word.text, |(size, _)| size);
    quantity(word, size, &SIZES, "a size", "1600b or 15k")
}

/// Parses a time: `50ms`.
pub(super) fn time_s(word: &Word) -> ReadResult<f64> {
    quantity(word, &word.text, &TIMES, "a time", "50ms or 100us")
}

/// Parses a percentage to a fraction: `1%`.
pub(super) fn fraction(word: &Word) -> ReadResult<f64> {
    let number = word.text.strip_suffix('%').unwrap_or(&word.text);
    let has_digits_only = |text: &str| text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    // The exponent has no rounding error, which a product has.
    let fraction = format!("{number}e-2").parse::<f64>().ok();
    let fraction = fraction.filter(|it| has_digits_only(number) && *it <= 1.0);
    fraction.ok_or_else(|| invalid(word, "a percentage", "1% or 0.1%"))
}

/// Parses a whole number, also of packets: `1000p`.
pub(super) fn count(word: &Word) -> ReadResult<u64> {
    let number = word.text.strip_suffix('p').unwrap_or(&word.text);
    number
        .parse()
        .map_err(|_| invalid(word, "a whole number", "1000"))
}

/// Parses a whole number with a sign.
pub(super) fn integer(word: &Word) -> ReadResult<i64> {
    word.text
        .parse()
        .map_err(|_| invalid(word, "a whole number", "18"))
}

/// Returns whether the word begins like a number.
pub(super) fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || first == '.')
}

fn quantity(
    word: &Word,
    text: &str,
    units: &[(&str, f64)],
    what: &str,
    example: &str,
) -> ReadResult<f64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic() || c == '%');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_ascii_lowercase();
    let factor = units.iter().find(|(name, _)| *name == unit);
    match (number.parse::<f64>(), factor) {
        // A quotient has fewer rounding errors than a product with a small factor.
        (Ok(number), Some((_, factor))) if number >= 0.0 => {
            let value = if *factor < 1.0 {
                number / (1.0 / factor).round()
            } else {
                number * factor
            };
            if value.is_finite() {
                Ok(value)
            } else {
                Err(invalid(word, what, example))
            }
        }
        _ => Err(invalid(word, what, example)),
    }
}

fn invalid(word: &Word, what: &str, example: &str) -> ImportError {
    let message = format!("`{}` is not {what} of tc", truncate_text(&word.text));
    ImportError::value(word.span.clone(), message).help(format!("write {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_iproute2() {
        let word = |text: &str| Word {
            text: text.to_owned(),
            span: 0..1,
        };
        let rates = [
            ("100Mbit", 1e8),
            ("8bit", 8.0),
            ("1KBps", 8e3),
            ("1.5mbit", 1.5e6),
        ];
        for (text, bps) in rates {
            assert_eq!(rate_bps(&word(text)), Ok(bps), "{text}");
        }
        let sizes = [
            ("15Kb", 15_360.0),
            ("15Kb/8", 15_360.0),
            ("1600b", 1600.0),
            ("32kbit", 4096.0),
        ];
        for (text, size) in sizes {
            assert_eq!(bytes(&word(text)), Ok(size), "{text}");
        }
        let times = [
            ("50ms", 0.05),
            ("4.7us", 4.7e-6),
            ("1s", 1.0),
            ("100", 1e-4),
        ];
        for (text, s) in times {
            assert_eq!(time_s(&word(text)), Ok(s), "{text}");
        }
        assert_eq!(fraction(&word("25%")), Ok(0.25));
        assert_eq!(count(&word("10240p")), Ok(10_240));
        assert!(rate_bps(&word("10Mx")).is_err() && fraction(&word("101%")).is_err());
        assert!(time_s(&word("-1ms")).is_err() && bytes(&word("1e999")).is_err());
    }
}
