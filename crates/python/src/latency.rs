//! Latency of short transfers.

use netflow::document::Words;
use netflow::latency::{LatencyInput, LatencyResult, Method, Model, latency_with_stop as answer};
use netflow::resolve_name;
use netflow::tcpmodel::CongestionControl;
use netflow::units::{Bytes, Size};
use pyo3::prelude::*;

use crate::background_task::run_in_background;
use crate::convert;
use crate::errors;
use crate::table::Table;

/// Computes the duration of short TCP transfers: a row for every combination of sizes, delays and losses.
#[pyfunction]
#[pyo3(signature = (sizes, delays, losses, *, model = "rounds", stack = None, congestion = None, mss = None,
    bandwidth = None, samples = None, threads = None))]
#[allow(clippy::too_many_arguments)]
pub fn latency(
    py: Python<'_>,
    sizes: Vec<Bound<'_, PyAny>>,
    delays: Vec<Bound<'_, PyAny>>,
    losses: Vec<f64>,
    model: &str,
    stack: Option<&str>,
    congestion: Option<&str>,
    mss: Option<u32>,
    bandwidth: Option<&Bound<'_, PyAny>>,
    samples: Option<u64>,
    threads: Option<i64>,
) -> PyResult<Table> {
    let known = Model::ALL.into_iter().map(Model::name);
    let found = Model::ALL.into_iter().find(|it| it.name() == model);
    let model = found.ok_or_else(|| errors::unknown("model", model, known))?;
    let stack = stack.unwrap_or(model.default_stack());
    let mut stack =
        resolve_name::stack(stack).map_err(|error| errors::find(py, "stack", stack, &error))?;
    if let Some(name) = congestion {
        let found = CongestionControl::named(name);
        let names = CongestionControl::names();
        let congestion = found.ok_or_else(|| errors::unknown("congestion control", name, names))?;
        if model != Model::Simulated {
            let model = model.name();
            let message = format!("`congestion` has no effect with the model {model}");
            return Err(errors::value(message));
        }
        if let Some(why) = stack.congestion_error(congestion) {
            return Err(errors::value(why));
        }
        stack.set_congestion(congestion);
    }
    let bandwidth_bps = bandwidth.map(|it| convert::bandwidth("bandwidth", it));
    let bandwidth_bps = bandwidth_bps.transpose()?;
    if let Some(n) = samples.filter(|n| !(2..=1_000_000_000).contains(n)) {
        return Err(errors::value(format!(
            "`samples` must be 2 to 1000000000, not {n}"
        )));
    }
    if let Some(mss) = mss.filter(|mss| !(1..=65_535).contains(mss)) {
        return Err(errors::value(format!(
            "`mss` must be 1 to 65535 bytes, not {mss}"
        )));
    }
    let method = Method {
        model,
        mss_bytes: mss.unwrap_or(stack.mss_bytes),
        stack,
        bandwidth_bps,
        samples,
    };
    if let Some(message) = method.unsupported_stack_reason() {
        return Err(errors::value(message));
    }
    if let Some(setting) = method.unused() {
        let name = method.model.name();
        let message = format!("`{setting}` has no effect with the model {name}");
        return Err(errors::value(message));
    }
    let questions = parameter_grid(&sizes, &delays, &losses, method.mss_bytes)?;
    let worked = run_in_background(py, threads, None, |wish| {
        let mut answers = Vec::with_capacity(questions.len());
        for question in &questions {
            if wish.stop() {
                break;
            }
            answers.push(answer(&method, question, &|| wish.stop())?);
        }
        Ok(answers)
    })?;
    let answers: Result<Vec<LatencyResult>, netflow::tcpmodel::Error> = worked.into_result()?;
    let answers = answers.map_err(|error| errors::value(error.to_string()))?;
    Table::of(&LatencyResult::default(), &answers)
}

fn parameter_grid(
    sizes: &[Bound<'_, PyAny>],
    delays: &[Bound<'_, PyAny>],
    losses: &[f64],
    mss_bytes: u32,
) -> PyResult<Vec<LatencyInput>> {
    let mut questions = Vec::new();
    for size in sizes {
        let size_bytes = size_of(size, mss_bytes)?;
        for delay in delays {
            let delay_s = convert::seconds_from_0("delay", delay)?;
            for &loss in losses {
                if !(0.0..=1.0).contains(&loss) {
                    return Err(errors::value(format!(
                        "a loss probability must be from 0 to 1, not {loss}"
                    )));
                }
                questions.push(LatencyInput::of(size_bytes, mss_bytes, delay_s, loss));
            }
        }
    }
    Ok(questions)
}

/// Returns a size in bytes, from a number or a text with a unit.
fn size_of(given: &Bound<'_, PyAny>, mss_bytes: u32) -> PyResult<u64> {
    let text = match given.extract::<String>() {
        Ok(text) => text,
        Err(_) => format!("{} B", given.extract::<f64>()?),
    };
    let size: Size = text
        .parse()
        .map_err(|error| errors::value(format!("`size`: {error}")))?;
    let bytes = size.bytes(Bytes(f64::from(mss_bytes))).get().ceil();
    if (1.0..=1e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(errors::value(format!("`size` must be above 0, not {text}")))
    }
}
