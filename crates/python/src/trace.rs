//! Packet traces as tables.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use netflow::number::count;
use netflow::profile::fit::{FlowSamples, Method, Names, fit};
use netflow::results::{CONNECTIONS, LINKS, Row};
use netflow::trace::analysis::{ConnectionSeries, Connections, LinkSeries, Links};
use netflow::trace::sender::{Options, Samplers};
use netflow::trace::{Error, Reader, open};
use pyo3::exceptions::{PyOSError, PyUserWarning};
use pyo3::prelude::*;
use serde::Serialize;

use crate::convert::positive_seconds;
use crate::errors;
use crate::table::Table;
use crate::work::{Wish, work};

/// What a packet trace shows.
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
            "<Trace of {}: {} rows of links, {} of connections, {} samples>",
            self.format,
            self.links.rows(),
            self.connections.rows(),
            self.samples.rows()
        )
    }
}

/// A sample as a row.
#[derive(Default, Serialize)]
struct SampleRow<'a> {
    trace: &'a str,
    flow: &'a str,
    time_s: f64,
    loss: f64,
    rtt_s: f64,
    throughput_pps: f64,
    packets: u32,
    retransmitted: u32,
    needless: u32,
    duration_s: f64,
    rtt_method: &'a str,
}

/// What is gathered while a trace is read.
struct Gathered {
    format: String,
    links: Vec<LinkSeries>,
    connections: Vec<ConnectionSeries>,
    samples: Vec<FlowSamples>,
    reader: Reader,
}

/// Reads a trace to its end: ns-2, pcap or pcapng, compressed or not.
#[pyfunction]
#[pyo3(signature = (path, *, every = None, k = 100))]
pub fn trace(
    py: Python<'_>,
    path: PathBuf,
    every: Option<&Bound<'_, PyAny>>,
    k: u32,
) -> PyResult<Trace> {
    let every_s = match every {
        Some(every) => positive_seconds("every", every)?,
        None => 0.5,
    };
    let k = NonZeroU32::new(k).ok_or_else(|| errors::value("`k` must be 1 or more"))?;
    let worked = work(py, Some(1), None, |wish| gather(&path, every_s, k, wish))?;
    let gathered = worked.whole()?.map_err(|error| cannot(&error))?;
    let Some(gathered) = gathered else {
        return Err(errors::value(format!(
            "{} has too many intervals of {every_s} s, or too many flows",
            path.display()
        )));
    };
    let faults = gathered.reader.faults();
    if faults.count > 0 {
        let places = usize::try_from(faults.count).unwrap_or(usize::MAX);
        let mut message = format!("{}: {}", path.display(), count(places, "malformed place"));
        if let Some(first) = faults.first.first() {
            message += &format!(", the first {first}");
        }
        let category = py.get_type::<PyUserWarning>();
        let text = std::ffi::CString::new(message).unwrap_or_default();
        PyErr::warn(py, &category, &text, 1)?;
    }
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

/// `None` if not all of it can be kept.
fn gather(
    path: &Path,
    every_s: f64,
    k: NonZeroU32,
    wish: &Wish,
) -> Result<Option<Gathered>, Error> {
    let mut links = Links::new(every_s);
    let mut connections = Connections::new(every_s, Options::default());
    let mut samplers = Samplers::new(Options::default(), k.get());
    let mut reader = open(path)?;
    let mut events = 0_u32;
    while let Some(event) = reader.next()? {
        links.on(event);
        connections.on(event);
        samplers.on(event);
        events = events.wrapping_add(1);
        if events.is_multiple_of(1 << 16) && wish.stop() {
            break;
        }
    }
    let left_out = links.left_out() + connections.left_out() + connections.flows_left_out();
    if left_out > 0 || samplers.senders().flows_left_out() > 0 {
        return Ok(None);
    }
    Ok(Some(Gathered {
        format: reader.format().to_string(),
        links: links.finish(),
        connections: connections.finish(),
        samples: samplers.finish(&path.display().to_string()),
        reader,
    }))
}

fn cannot(error: &Error) -> PyErr {
    match error {
        Error::NotATrace { .. } | Error::LinkLayer { .. } => errors::value(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Rows of a series as a table.
fn series<R: Row>(
    layout: netflow::results::Table,
    rows: impl Iterator<Item = R>,
) -> PyResult<Table> {
    let mut names: Vec<Vec<String>> = vec![Vec::new(); layout.keys.len()];
    let mut places: Vec<Vec<i32>> = vec![Vec::new(); layout.keys.len()];
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); layout.values.len()];
    let mut times_s = Vec::new();
    let mut known: Vec<std::collections::HashMap<String, i32>> =
        vec![std::collections::HashMap::new(); layout.keys.len()];
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
        flow.samples.iter().map(move |it| SampleRow {
            trace: &flow.trace,
            flow: &flow.flow,
            time_s: it.time_s,
            loss: it.resent_fraction(),
            rtt_s: it.rtt_s,
            throughput_pps: it.throughput_pps(),
            packets: it.pkts,
            retransmitted: it.resent_pkts,
            needless: it.needless_pkts,
            duration_s: it.duration_s,
            rtt_method: &flow.rtt_method,
        })
    });
    Table::of(&SampleRow::default(), &rows.collect::<Vec<_>>())
}

/// A profile fitted to the samples of traces.
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
    let (method, how) = match method {
        "long-run" => (Method::LongRun, "long-run rate"),
        "paper" => (Method::Paper, "means of samples"),
        other => {
            let known = ["long-run", "paper"].into_iter();
            return Err(errors::unknown("method", other, known));
        }
    };
    let worked = work(py, Some(1), None, |wish| {
        let mut flows = Vec::new();
        for path in &traces {
            match gather(path, f64::INFINITY, k, wish)? {
                Some(gathered) => flows.extend(gathered.samples),
                None => return Ok(None),
            }
        }
        Ok(Some(flows))
    })?;
    let flows: Result<Option<Vec<FlowSamples>>, Error> = worked.whole()?;
    let Some(flows) = flows.map_err(|error| cannot(&error))? else {
        return Err(errors::value("a trace has too many flows"));
    };
    let all: usize = flows.iter().map(|flow| flow.samples.len()).sum();
    let names = Names {
        name,
        description: &format!(
            "{how}, fitted to {} of {}",
            count(all, "sample"),
            count(flows.len(), "flow")
        ),
    };
    let fitted = fit(&flows, method, &names).map_err(|error| errors::value(error.to_string()))?;
    let text = fitted.profile().and_then(netflow::profile::to_toml);
    text.ok_or_else(|| errors::EvaluationError::new_err("the fit has no surface"))
}
