//! Conversion of arguments: quantities as numbers in base units, or as texts with a unit.

use std::str::FromStr;

use netflow::results::{Format, UnknownFormat};
use netflow::units::{BitsPerSecond, Bytes, Rate, Seconds, UnitError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{invalid_setting, value, warn_renamed};
use crate::unit::unit;

/// Returns a time in seconds: `0.5`, or `"500 ms"`.
pub fn seconds(what: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    quantity::<Seconds>(what, given, Seconds::get)
}

/// Returns a time above zero.
pub fn positive_seconds(what: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let time_s = seconds(what, given)?;
    if time_s > 0.0 {
        Ok(time_s)
    } else {
        Err(value(format!("`{what}` must be above 0 s, not {time_s}")))
    }
}

/// Returns an interval above zero, from `interval` or from `every`, its former name.
pub fn interval_s(
    py: Python<'_>,
    interval: Option<&Bound<'_, PyAny>>,
    every: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<f64>> {
    let given = match (interval, every) {
        (Some(_), Some(_)) => {
            let message = "`every` is the former name of `interval`: use `interval` only";
            return Err(PyTypeError::new_err(message));
        }
        (None, Some(every)) => {
            warn_renamed(py, "`every`", "`interval`")?;
            Some(every)
        }
        (interval, None) => interval,
    };
    given.map(|it| positive_seconds("interval", it)).transpose()
}

/// Returns a time of zero or more.
pub fn seconds_from_0(what: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let time_s = seconds(what, given)?;
    if time_s >= 0.0 {
        Ok(time_s)
    } else {
        Err(value(format!("`{what}` must be 0 s or more, not {time_s}")))
    }
}

/// Returns a bandwidth in bit/s above zero: `1e6`, or `"1 Mbit/s"`.
pub fn bandwidth(what: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let bps = quantity::<BitsPerSecond>(what, given, BitsPerSecond::get)?;
    if bps > 0.0 {
        Ok(bps)
    } else {
        Err(value(format!("`{what}` must be above 0, not {bps}")))
    }
}

/// Returns a rate in packets/s, zero or more: `100`, `"100 pkt/s"`, or `"1 Mbit/s"` in packets of
/// `packet_bytes`.
pub fn rate_pps(what: &str, given: &Bound<'_, PyAny>, packet_bytes: f64) -> PyResult<f64> {
    let pps = |rate: Rate| rate.packets_per_second(Bytes(packet_bytes)).get();
    let pps = quantity::<Rate>(what, given, pps)?;
    if pps >= 0.0 {
        Ok(pps)
    } else {
        Err(value(format!("`{what}` must be 0 or more, not {pps}")))
    }
}

fn quantity<T: FromStr<Err = UnitError>>(
    what: &str,
    given: &Bound<'_, PyAny>,
    get: impl Fn(T) -> f64,
) -> PyResult<f64> {
    let number = match given.extract::<String>() {
        Ok(text) => text.parse().map(get).map_err(|error: UnitError| {
            let help = Some(error.help()).filter(|help| !help.is_empty());
            let help = help.map_or_else(String::new, |help| format!("; {help}"));
            value(format!("`{what}`: {error}{help}"))
        })?,
        Err(_) => number(what, given, "a number or a text with a unit")?,
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(value(format!("`{what}` must be finite, not {number}")))
    }
}

/// Returns a number that is not a boolean; `wanted` names the expected type in the error.
pub fn number(what: &str, given: &Bound<'_, PyAny>, wanted: &str) -> PyResult<f64> {
    let wrong = || {
        let kind = given.get_type();
        PyTypeError::new_err(format!("`{what}` must be {wanted}, not {kind}"))
    };
    // NumPy's booleans are extracted, too.
    match given.extract::<bool>() {
        Ok(_) => Err(wrong()),
        Err(_) => given
            .extract::<f64>()
            .map_err(|error| replace_type_error(given.py(), error, wrong)),
    }
}

/// Replaces an error of a wrong type by `wrong`. Other errors are kept, for example a number beyond
/// the range of floats or an exception of the caller's own object.
fn replace_type_error(py: Python<'_>, error: PyErr, wrong: impl Fn() -> PyErr) -> PyErr {
    if error.is_instance_of::<PyTypeError>(py) {
        wrong()
    } else {
        error
    }
}

/// Returns a copy of the dict's items, because converting an item may run user code that changes
/// the dict.
pub fn items<'py>(
    dict: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let items = dict.map(|dict| dict.items().extract());
    Ok(items.transpose()?.unwrap_or_default())
}

/// Returns a value as scenario files and `--set` write it. Numbers of quantities are in base units.
pub fn setting(key: &str, given: &Bound<'_, PyAny>) -> PyResult<String> {
    // NumPy's booleans, too.
    if let Ok(flag) = given.extract::<bool>() {
        return Ok(flag.to_string());
    }
    if let Ok(text) = given.extract::<String>() {
        return Ok(text);
    }
    let number = match given.extract::<i64>() {
        Ok(whole) => whole.to_string(),
        Err(_) => match given.extract::<f64>() {
            Ok(number) if number.is_finite() => format!("{number:?}"),
            Ok(number) => {
                let message = format!("{number} is not a valid value of a setting");
                return Err(invalid_setting(
                    given.py(),
                    &message,
                    "write a finite number",
                ));
            }
            Err(error) => {
                return Err(replace_type_error(given.py(), error, || {
                    let kind = given.get_type();
                    let message =
                        format!("a setting must be a text, a number, True or False, not {kind}");
                    PyTypeError::new_err(message)
                }));
            }
        },
    };
    Ok(match unit(given.py(), key)? {
        Some(unit) => format!("{number} {unit}"),
        None => number,
    })
}

/// Checks the number of seeds.
pub fn seeds(seeds: i64) -> PyResult<u32> {
    match u32::try_from(seeds) {
        Ok(number) if (1..=1_000_000).contains(&number) => Ok(number),
        _ => Err(value(format!("`seeds` must be 1 to 1000000, not {seeds}"))),
    }
}

/// Returns the format of series and tables.
pub fn format(name: &str) -> PyResult<Format> {
    let format = name.parse();
    format.map_err(|error: UnknownFormat| value(error.to_string()))
}
