//! Packet traces as tables.

use std::collections::HashMap;
use std::ffi::CString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use netflow::profile::fit::{FlowSamples, Method, ProfileLabel, fit};
use netflow::results::{CONNECTIONS, LINKS, Row};
use netflow::trace::analysis::{ConnectionSeries, Connections, LinkSeries, Links};
use netflow::trace::sender::{Options, SampleRow, Samplers};
use netflow::trace::{Error, Reader, open};
use netflow::traces::{self, fit_description};
use pyo3::exceptions::{PyOSError, PyUserWarning};
use pyo3::prelude::*;

use crate::background_task::{CancelToken, run_in_background};
use crate::convert::interval_s;
use crate::errors;
use crate::table::Table;

/// Measurements from a packet trace.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct Trace {
    format: String,
    links: Table,
    connections: Table,
    samples: Table,
}

#[pymethods]
impl Trace {
    fn __repr__(&self) -> String {
        format!(
            "<Trace of {}: {} link rows, {} connection rows, {} samples>",
            self.format,
            self.links.rows(),
            self.connections.rows(),
            self.samples.rows()
        )
    }
}

/// Data gathered while a trace is read.
struct TraceData {
    format: String,
    links: Vec<LinkSeries>,
    connections: Vec<ConnectionSeries>,
    samples: Vec<FlowSamples>,
    reader: Reader,
    /// Warnings about the trace.
    warnings: Vec<String>,
}

/// Reads a trace: ns-2, pcap or pcapng, possibly compressed.
#[pyfunction]
#[pyo3(signature = (path, *, interval = None, k = 100, every = None))]
pub fn trace(
    py: Python<'_>,
    path: PathBuf,
    interval: Option<&Bound<'_, PyAny>>,
    k: u32,
    every: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let every_s = interval_s(py, interval, every)?.unwrap_or(0.5);
    let k = NonZeroU32::new(k).ok_or_else(|| errors::value("`k` must be 1 or more"))?;
    let worked = run_in_background(py, Some(1), None, |wish| {
        read_trace(&path, every_s, k, wish)
    })?;
    let gathered = worked.into_result()?.map_err(|error| trace_error(&error))?;
    let Some(gathered) = gathered else {
        return Err(errors::value(format!(
            "{} has too many intervals of {every_s} s, or too many flows",
            path.display()
        )));
    };
    warn(py, &gathered.warnings)?;
    let names = gathered.reader.names();
    Ok(Trace {
        format: gathered.format.clone(),
        links: series(LINKS, LinkSeries::rows(&gathered.links, names))?,
        connections: series(
            CONNECTIONS,
            ConnectionSeries::rows(&gathered.connections, names),
        )?,
        samples: samples(&gathered.samples)?,
    })
}

/// Reads a trace; returns `None` if the data does not fit.
fn read_trace(
    path: &Path,
    every_s: f64,
    k: NonZeroU32,
    wish: &CancelToken,
) -> Result<Option<TraceData>, Error> {
    let mut links = Links::new(every_s);
    let mut connections = Connections::new(every_s, Options::default());
    let mut samplers = Samplers::new(Options::default(), k.get());
    let mut reader = open(path)?;
    let mut events = 0_u32;
    while let Some(event) = reader.next()? {
        links.on_event(event);
        connections.on_event(event);
        samplers.on_event(event);
        events = events.wrapping_add(1);
        if events.is_multiple_of(1 << 16) && wish.stop() {
            break;
        }
    }
    let left_out = links.omitted_events()
        + connections.omitted_events()
        + connections.events_of_omitted_flows();
    if left_out > 0 || samplers.senders().events_of_omitted_flows() > 0 {
        return Ok(None);
    }
    let faults = traces::malformed_trace_warning(path, &reader);
    let vantage = traces::vantage_warning(path, samplers.senders());
    Ok(Some(TraceData {
        warnings: faults.into_iter().chain(vantage).collect(),
        format: reader.format().to_string(),
        links: links.finish(),
        connections: connections.finish(),
        samples: samplers.finish(&path.display().to_string()),
        reader,
    }))
}

fn warn(py: Python<'_>, messages: &[String]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for message in messages {
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

fn trace_error(error: &Error) -> PyErr {
    match error {
        Error::NotATrace { .. } | Error::LinkLayer { .. } => errors::value(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Converts the rows of a series to a table.
fn series<R: Row>(
    layout: netflow::results::Table,
    rows: impl Iterator<Item = R>,
) -> PyResult<Table> {
    let mut names: Vec<Vec<String>> = vec![Vec::new(); layout.keys.len()];
    let mut places: Vec<Vec<i32>> = vec![Vec::new(); layout.keys.len()];
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); layout.values.len()];
    let mut times_s = Vec::new();
    let mut known: Vec<HashMap<String, i32>> = vec![HashMap::new(); layout.keys.len()];
    for row in rows {
        let (time_s, keys, numbers) = row.columns();
        times_s.push(time_s);
        for (i, key) in keys.iter().enumerate() {
            let next = names[i].len() as i32;
            let place = *known[i].entry(key.to_string()).or_insert(next);
            if place == next {
                names[i].push(key.to_string());
            }
            places[i].push(place);
        }
        for (column, number) in values.iter_mut().zip(numbers) {
            column.push(number);
        }
    }
    let keys = names.into_iter().zip(places).collect();
    Table::series(layout, times_s, keys, values)
}

fn samples(flows: &[FlowSamples]) -> PyResult<Table> {
    let rows = flows.iter().flat_map(|flow| {
        let samples = flow.samples.iter();
        samples.map(move |sample| SampleRow::new(flow, sample))
    });
    Table::of(&SampleRow::<&str>::default(), &rows.collect::<Vec<_>>())
}

/// Fits a profile to the samples of traces.
#[pyfunction]
#[pyo3(signature = (traces, *, name = "fitted", method = "long-run", k = 100))]
pub fn fit_profile(
    py: Python<'_>,
    traces: Vec<PathBuf>,
    name: &str,
    method: &str,
    k: u32,
) -> PyResult<String> {
    let k = NonZeroU32::new(k).ok_or_else(|| errors::value("`k` must be 1 or more"))?;
    let method = match method {
        "long-run" => Method::LongRun,
        "paper" => Method::Paper,
        other => {
            let known = ["long-run", "paper"].into_iter();
            return Err(errors::unknown("method", other, known));
        }
    };
    let worked = run_in_background(py, Some(1), None, |wish| {
        let (mut flows, mut warnings) = (Vec::new(), Vec::new());
        for path in &traces {
            let Some(gathered) = read_trace(path, f64::INFINITY, k, wish)? else {
                return Ok(None);
            };
            flows.extend(gathered.samples);
            warnings.extend(gathered.warnings);
        }
        Ok(Some((flows, warnings)))
    })?;
    let found: Result<_, Error> = worked.into_result()?;
    let Some((flows, warnings)) = found.map_err(|error| trace_error(&error))? else {
        return Err(errors::value("too many flows in the traces"));
    };
    warn(py, &warnings)?;
    if !flows.is_empty() && flows.iter().all(|flow| flow.samples.is_empty()) {
        return Err(errors::value(format!(
            "no samples with `k` = {k} packets: every flow is shorter; use a smaller `k`"
        )));
    }
    let names = ProfileLabel {
        name,
        description: &fit_description(&flows, method),
    };
    let fitted = fit(&flows, method, &names).map_err(|error| errors::value(error.to_string()))?;
    let text = fitted.profile().and_then(netflow::profile::to_toml);
    text.ok_or_else(|| errors::EvaluationError::new_err("the samples do not determine a profile"))
}
