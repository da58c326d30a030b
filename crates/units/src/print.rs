//! Printing of base units as a text that parses to the same bits.

use std::fmt;

use crate::dimension::Dimension;

/// Writes `value`, in base units, with the largest unit that does not exceed it.
///
/// Only the decimal point of the shortest decimal that identifies the `f64` is moved, so that no
/// digit is lost. NaN and infinities are written as such and cannot be parsed.
pub(crate) fn print(value: f64, dimension: Dimension, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let units = || dimension.units().iter().filter(|unit| unit.printed);
    let blank = if dimension == Dimension::Probability {
        ""
    } else {
        " "
    };
    if !value.is_finite() || value == 0.0 {
        let base = units()
            .find(|unit| unit.exponent == 0)
            .or_else(|| units().next());
        return write!(f, "{value}{blank}{}", base.map_or("", |unit| unit.name));
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");

    let unit = units()
        .rfind(|unit| unit.exponent <= exponent)
        .or_else(|| units().next());
    let (name, shift) = unit.map_or(("", 0), |unit| (unit.name, unit.exponent));
    let sign = if value < 0.0 { "-" } else { "" };
    write!(
        f,
        "{sign}{}{blank}{name}",
        insert_decimal_point(&digits, exponent - shift)
    )
}

/// Returns `digits` with a decimal point after the first digit, moved `exponent` places to the
/// right.
fn insert_decimal_point(digits: &str, exponent: i32) -> String {
    match exponent {
        -4..0 => format!(
            "0.{}{digits}",
            "0".repeat(exponent.unsigned_abs() as usize - 1)
        ),
        0..15 => {
            let whole = exponent as usize + 1;
            match digits.split_at_checked(whole) {
                Some((whole, "")) => whole.to_owned(),
                Some((whole, fraction)) => format!("{whole}.{fraction}"),
                None => format!("{digits:0<whole$}"),
            }
        }
        _ => match digits.split_at(1) {
            (first, "") => format!("{first}e{exponent}"),
            (first, rest) => format!("{first}.{rest}e{exponent}"),
        },
    }
}
