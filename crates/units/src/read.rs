//! Parsing of quantities, with errors that contain a correction.

use std::ops::Range;

use crate::dimension::{Dimension, ambiguous_rate, nearest};
use crate::error::{UnitError, UnitErrorKind};
use crate::number::{Decimal, NotANumber, scan};

/// Parses a quantity of one of `dimensions`; messages list them in that order.
pub(crate) fn read(text: &str, dimensions: &[Dimension]) -> Result<(Dimension, f64), UnitError> {
    let body = text.trim();
    let offset = text.len() - text.trim_start().len();
    let fail = |kind, span: Range<usize>, help| {
        let span = span.start + offset..span.end + offset;
        Err(UnitError { kind, span, help })
    };
    if body.is_empty() {
        return fail(UnitErrorKind::Empty, 0..0, write_like("50", dimensions));
    }
    let (number, end) = match scan(body) {
        Ok(found) => found,
        Err(reason) => {
            let (kind, span, help) = not_a_number_error(body, reason, dimensions);
            return fail(kind, span, help);
        }
    };
    let digits = &body[..end];
    let from = end + (body[end..].len() - body[end..].trim_start().len());
    let unit = &body[from..];

    let found = match unit {
        "" if dimensions.contains(&Dimension::Probability) => {
            Some((Dimension::Probability, number.scaled(1, 0)))
        }
        "" => {
            let kind = UnitErrorKind::MissingUnit {
                number: digits.to_owned(),
            };
            return fail(kind, end..end, write_like(digits, dimensions));
        }
        _ => measure(&number, unit, dimensions),
    };
    let Some((dimension, value)) = found else {
        let (kind, span, help) = unknown_unit_error(digits, unit, dimensions);
        return fail(kind, span.start + from..span.end + from, help);
    };
    if !value.is_finite() {
        let kind = UnitErrorKind::NotFinite {
            number: digits.to_owned(),
        };
        return fail(kind, 0..end, "write a finite number".to_owned());
    }
    let text = body.to_owned();
    match dimension.bounds() {
        Some(bounds) if !bounds.contains(value) => {
            let noun = dimension.noun();
            let kind = UnitErrorKind::OutOfBounds { text, noun };
            let help = format!("allowed: {}, and 0 if the key allows it", bounds.text);
            fail(kind, 0..body.len(), help)
        }
        None if !(0.0..=1.0).contains(&value) => {
            let kind = UnitErrorKind::NotAProbability { text };
            let mut help = "a probability is between 0 and 1, or 0% and 100%".to_owned();
            if unit.is_empty() && (1.0..=100.0).contains(&value) {
                help = format!("write \"{value} %\" or {}; {help}", value / 100.0);
            }
            fail(kind, 0..body.len(), help)
        }
        _ => Ok((dimension, value)),
    }
}

fn measure(number: &Decimal, unit: &str, dimensions: &[Dimension]) -> Option<(Dimension, f64)> {
    dimensions.iter().find_map(|&dimension| {
        let unit = dimension.find(unit)?;
        Some((dimension, number.scaled(unit.multiplier, unit.exponent)))
    })
}

fn not_a_number_error(
    body: &str,
    reason: NotANumber,
    dimensions: &[Dimension],
) -> (UnitErrorKind, Range<usize>, String) {
    match reason {
        NotANumber::Missing => {
            let word = body.split_whitespace().next().unwrap_or(body).len();
            let kind = UnitErrorKind::NoNumber {
                text: body.to_owned(),
            };
            (kind, 0..word, write_like("50", dimensions))
        }
        NotANumber::Bad(span) => {
            let kind = UnitErrorKind::BadNumber {
                number: body[span.clone()].to_owned(),
            };
            (kind, span, write_like("50", dimensions))
        }
        NotANumber::NotFinite(span) => {
            let kind = UnitErrorKind::NotFinite {
                number: body[span.clone()].to_owned(),
            };
            (kind, span, "write a finite number".to_owned())
        }
        NotANumber::Separator(span) => {
            let number = &body[span.clone()];
            let corrected = strip_separators(number);
            let unit = &body[span.end..];
            let help = format!(
                "write \"{corrected}{unit}\": do not group digits; the decimal mark is a point"
            );
            (
                UnitErrorKind::Separator {
                    number: number.to_owned(),
                },
                span,
                help,
            )
        }
    }
}

/// Returns the number without separators: "0,5" has a decimal comma, "1,000" a thousands separator.
fn strip_separators(number: &str) -> String {
    let decimal = number.split_once(',').filter(|(whole, fraction)| {
        fraction.bytes().all(|b| b.is_ascii_digit())
            && (fraction.len() != 3 || *whole == "0")
            && !whole.contains('.')
    });
    match decimal {
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => number
            .chars()
            .filter(|c| !matches!(c, ',' | '_' | '\'' | ' '))
            .collect(),
    }
}

/// Returns the error for an unknown unit. `span` counts from the unit's first byte.
fn unknown_unit_error(
    number: &str,
    unit: &str,
    dimensions: &[Dimension],
) -> (UnitErrorKind, Range<usize>, String) {
    let whole = 0..unit.len();
    let known = |name: &str| {
        dimensions
            .iter()
            .any(|dimension| dimension.find(name).is_some())
    };
    let first = unit.split_whitespace().next().unwrap_or(unit);
    if known(first) {
        let rest = unit[first.len()..].trim_start();
        let kind = UnitErrorKind::Trailing {
            text: rest.to_owned(),
        };
        return (
            kind,
            unit.len() - rest.len()..unit.len(),
            format!("write \"{number} {first}\""),
        );
    }
    if let Some(other) = Dimension::ALL
        .iter()
        .find(|dimension| dimension.find(unit).is_some())
    {
        let kind = UnitErrorKind::WrongDimension {
            unit: unit.to_owned(),
            found: other.noun(),
            wanted: dimensions
                .first()
                .map_or("this", |dimension| dimension.noun()),
        };
        return (kind, whole, write_like(number, dimensions));
    }
    let both = ambiguous_rate(unit, dimensions);
    let nearest = nearest(unit, dimensions).filter(|_| both.is_none());
    let write = match (both, nearest) {
        (Some((bits, bytes)), _) => {
            format!("bits or bytes? write \"{number} {bits}\" or \"{number} {bytes}\"; ")
        }
        (None, Some(near)) => format!("write \"{number} {near}\"; "),
        (None, None) => String::new(),
    };
    let help = write + &unit_lists(dimensions);
    (
        UnitErrorKind::UnknownUnit {
            unit: unit.to_owned(),
            nearest,
        },
        whole,
        help,
    )
}

/// Returns a help text such as `write "50 s" or "50 ms"; units of time: s, ms, us, min, h, d`.
fn write_like(number: &str, dimensions: &[Dimension]) -> String {
    let many = dimensions.len() > 1;
    let examples: Vec<String> = dimensions
        .iter()
        .flat_map(|dimension| {
            dimension
                .example_units()
                .iter()
                .take(if many { 1 } else { 2 })
        })
        .map(|unit| match *unit {
            "%" => format!("\"{number}%\""),
            unit => format!("\"{number} {unit}\""),
        })
        .collect();
    format!(
        "write {}; {}",
        examples.join(" or "),
        unit_lists(dimensions)
    )
}

fn unit_lists(dimensions: &[Dimension]) -> String {
    let lists: Vec<String> = dimensions
        .iter()
        .map(|dimension| format!("units of {}: {}", dimension.noun(), dimension.unit_list()))
        .collect();
    lists.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, dimensions: &[Dimension]) -> UnitError {
        read(text, dimensions).expect_err(text)
    }

    #[test]
    fn bare_number_error_lists_units() {
        let rate = error("50", &[Dimension::BitRate, Dimension::PacketRate]);
        assert_eq!(rate.to_string(), "missing unit after `50`");
        assert!(
            rate.help()
                .starts_with(r#"write "50 Mbit/s" or "50 pkt/s"; units of rate: bit/s,"#),
            "{}",
            rate.help()
        );
        assert_eq!(rate.span(), 2..2);
        assert_eq!(error(" 7 ", &[Dimension::Time]).span(), 2..2);
    }

    #[test]
    fn unknown_unit_error_suggests_the_nearest() {
        let rate = [Dimension::BitRate, Dimension::PacketRate];
        let found = error("8 Mbq", &rate);
        let kind = UnitErrorKind::UnknownUnit {
            unit: "Mbq".into(),
            nearest: Some("Mbit/s"),
        };
        assert_eq!((found.kind(), found.span()), (&kind, 2..5));
        assert!(
            found
                .help()
                .starts_with(r#"write "8 Mbit/s"; units of rate: "#),
            "{}",
            found.help()
        );
        assert!(
            error("8mbit/s", &rate)
                .help()
                .starts_with(r#"write "8 Mbit/s""#)
        );
        assert!(
            error("8 Kb", &[Dimension::Bytes])
                .help()
                .starts_with(r#"write "8 KB""#)
        );
        assert!(
            error("8 parsec", &[Dimension::Time])
                .help()
                .starts_with("units of time")
        );
    }

    #[test]
    fn wrong_dimension_error_names_both_dimensions() {
        let found = error("8 ms", &[Dimension::BitRate]);
        assert_eq!(found.to_string(), "`ms` is a unit of time, not of rate");
        assert_eq!(found.span(), 2..4);
    }

    #[test]
    fn invalid_number_error_marks_its_position() {
        let time = &[Dimension::Time];
        let cases = [
            ("", "empty: a number and a unit are missing", 0..0),
            ("  ", "empty: a number and a unit are missing", 2..2),
            ("ms", "no number at the start of `ms`", 0..2),
            ("- 5 ms", "`-` is not a number", 0..1),
            ("1.2.3 s", "`1.2.3` is not a number", 0..5),
            ("1-2 s", "`1-2` is not a number", 0..3),
            ("NaN s", "`NaN` is not a finite number", 0..3),
            ("-inf s", "`-inf` is not a finite number", 0..4),
            ("1e999 s", "`1e999` is not a finite number", 0..5),
            (
                "1,000 s",
                "`1,000` has a thousands separator or a decimal comma",
                0..5,
            ),
            (
                "1_000 s",
                "`1_000` has a thousands separator or a decimal comma",
                0..5,
            ),
            (
                " 1 000 s",
                "`1 000` has a thousands separator or a decimal comma",
                1..6,
            ),
            ("20 ms now", "unexpected `now` after the unit", 6..9),
        ];
        for (text, message, span) in cases {
            let found = error(text, time);
            assert_eq!(
                (found.to_string().as_str(), found.span()),
                (message, span),
                "{text:?}"
            );
        }
        assert!(
            error("1,000 s", time)
                .help()
                .starts_with(r#"write "1000 s""#)
        );
        assert!(error("0,5 s", time).help().starts_with(r#"write "0.5 s""#));
        assert!(
            error("0,005 s", time)
                .help()
                .starts_with(r#"write "0.005 s""#)
        );
        assert!(
            error("1 000 000 s", time)
                .help()
                .starts_with(r#"write "1000000 s""#)
        );
    }

    #[test]
    fn an_out_of_range_value_is_reported_with_its_range() {
        let found = error("1e9 Gbit/s", &[Dimension::BitRate]);
        assert_eq!(
            found.help(),
            "allowed: 1 bit/s to 100000 Gbit/s, and 0 if the key allows it"
        );
    }

    #[test]
    fn a_probability_needs_no_unit() {
        let probability = &[Dimension::Probability];
        assert_eq!(read("5%", probability).unwrap().1, 0.05);
        assert_eq!(read("0.05", probability).unwrap().1, 0.05);
        assert_eq!(
            error("5", probability).to_string(),
            "`5` is not a probability"
        );
        assert_eq!(error("-1 %", probability).span(), 0..4);
    }
}
