//! DiffServ markers over arrays.

use netflow::diffserv::DropPrecedence;
use netflow::diffserv::packet_table::Packet;
use netflow::document::Words;
use netflow::mark::{MarkError, MarkingSpec};
use netflow::scenario::file::ConditionerName;
use netflow::units::Bytes;
use pyo3::prelude::*;

use crate::convert::{bandwidth, positive_seconds};
use crate::errors;

/// Returns the drop precedence of every packet: 0, 1 or 2.
#[pyfunction]
#[pyo3(signature = (times_s, sizes_bytes, conditioner, committed_rate, *, windows_pkts = None, precedences = None,
    peak_rate = None, averaging = None, committed_burst = None, excess_burst = None, peak_burst = None, rtt = None,
    min_rtt = None, rto = None, min_rto = None, small_window = None, seed = 1))]
#[allow(clippy::too_many_arguments)]
pub fn mark(
    times_s: Vec<f64>,
    sizes_bytes: Vec<f64>,
    conditioner: &str,
    committed_rate: &Bound<'_, PyAny>,
    windows_pkts: Option<Vec<f64>>,
    precedences: Option<Vec<u8>>,
    peak_rate: Option<&Bound<'_, PyAny>>,
    averaging: Option<&Bound<'_, PyAny>>,
    committed_burst: Option<&Bound<'_, PyAny>>,
    excess_burst: Option<&Bound<'_, PyAny>>,
    peak_burst: Option<&Bound<'_, PyAny>>,
    rtt: Option<&Bound<'_, PyAny>>,
    min_rtt: Option<&Bound<'_, PyAny>>,
    rto: Option<&Bound<'_, PyAny>>,
    min_rto: Option<&Bound<'_, PyAny>>,
    small_window: Option<f64>,
    seed: u64,
) -> PyResult<Vec<u8>> {
    let known = ConditionerName::WORDS.iter().map(|it| it.word);
    let name = ConditionerName::named(conditioner)
        .ok_or_else(|| errors::unknown("conditioner", conditioner, known))?;
    let time = |what, given: Option<&Bound<'_, PyAny>>| {
        given.map(|it| positive_seconds(what, it)).transpose()
    };
    let size = |what, given: Option<&Bound<'_, PyAny>>| given.map(|it| bytes(what, it)).transpose();
    let spec = MarkingSpec {
        conditioner: name,
        committed_rate: bandwidth("committed_rate", committed_rate)?,
        peak_rate: peak_rate.map(|it| bandwidth("peak_rate", it)).transpose()?,
        averaging: time("averaging", averaging)?,
        committed_burst: size("committed_burst", committed_burst)?,
        excess_burst: size("excess_burst", excess_burst)?,
        peak_burst: size("peak_burst", peak_burst)?,
        rtt: time("rtt", rtt)?,
        min_rtt: time("min_rtt", min_rtt)?,
        rto: time("rto", rto)?,
        min_rto: time("min_rto", min_rto)?,
        small_window,
        seed,
    };
    if let Some(option) = spec.unused().first() {
        let option = option.replace('-', "_");
        let message = format!("`{option}` has no effect on conditioner `{conditioner}`");
        return Err(errors::value(message));
    }
    let mut marking = spec.marking().map_err(|error| match error {
        MarkError::Missing { setting, .. } => {
            let setting = setting.replace('-', "_");
            errors::value(format!("conditioner `{conditioner}` needs `{setting}`"))
        }
        MarkError::Invalid(error) => {
            errors::value_with(&error.to_string(), error.help().as_deref())
        }
    })?;
    let packets = times_s.len();
    let lengths = [
        Some(sizes_bytes.len()),
        windows_pkts.as_ref().map(Vec::len),
        precedences.as_ref().map(Vec::len),
    ];
    if lengths
        .into_iter()
        .flatten()
        .any(|length| length != packets)
    {
        let message =
            "times, sizes, windows and precedences must have the same length: one value per packet";
        return Err(errors::value(message));
    }
    let mut before_s = f64::NEG_INFINITY;
    let mut marked = Vec::with_capacity(packets);
    for (i, (&time_s, &size)) in times_s.iter().zip(&sizes_bytes).enumerate() {
        let wrong = |what: &str| Err(errors::value(format!("packet {i}: {what}")));
        if !time_s.is_finite() || time_s < before_s {
            return wrong(&format!(
                "its time {time_s} s is earlier than the time of the previous packet"
            ));
        }
        before_s = time_s;
        if !(1.0..=4e9).contains(&size) || size.fract() != 0.0 {
            return wrong(&format!(
                "its size must be a whole number of bytes from 1, not {size}"
            ));
        }
        let window_pkts = windows_pkts.as_ref().map(|all| all[i]);
        if window_pkts.is_some_and(|window| window.is_nan() || window < 0.0) {
            return wrong("its window must be a number from 0");
        }
        let precedence = match precedences.as_ref().map(|all| usize::from(all[i])) {
            None => None,
            Some(place) => match DropPrecedence::ALL.get(place) {
                Some(precedence) => Some(*precedence),
                None => return wrong("its precedence must be 0, 1 or 2"),
            },
        };
        let packet = Packet {
            time_s,
            bytes: size as u32,
            window_pkts,
            precedence,
        };
        marked.push(marking.mark(&packet).index() as u8);
    }
    Ok(marked)
}

/// Returns a size in bytes, from a number or a text with a unit.
fn bytes(what: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let bytes = match given.extract::<String>() {
        Ok(text) => text
            .parse::<Bytes>()
            .map_err(|error| errors::value(format!("`{what}`: {error}")))?
            .get(),
        Err(_) => given.extract()?,
    };
    if bytes >= 0.0 && bytes.is_finite() {
        Ok(bytes)
    } else {
        Err(errors::value(format!("`{what}` must be 0 B or more")))
    }
}
