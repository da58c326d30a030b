//! Networks from files of other programs.

use std::path::{Path, PathBuf};

use netflow::document::Words;
use netflow::import::scenario::{Defaults, Origin, write};
use netflow::import::{Format, Reading, Topology, from_text, read};
use netflow::scenario::FileAccess;
use netflow::scenario::file::DemandKind;
use netflow::units::BufferSize;
use pyo3::prelude::*;

use crate::convert::{bandwidth as bandwidth_of, seconds_from_0};
use crate::errors;
use crate::scenario::Scenario;
use crate::scenario_source::{Source, Spec, StablePath};

/// Imports a network from files of other programs. Returns the scenario, the assumptions, and the names of the nodes in the
/// order of the files.
#[pyfunction]
#[pyo3(signature = (files, *, text = None, format = None, bandwidth = None, delay = None, buffer = None,
    detour = None, kind = None, ecmp = None))]
#[allow(clippy::too_many_arguments)]
pub fn import_topology(
    py: Python<'_>,
    files: Vec<PathBuf>,
    text: Option<&str>,
    format: Option<&str>,
    bandwidth: Option<&Bound<'_, PyAny>>,
    delay: Option<&Bound<'_, PyAny>>,
    buffer: Option<&str>,
    detour: Option<f64>,
    kind: Option<&str>,
    ecmp: Option<bool>,
) -> PyResult<(Scenario, Vec<String>, Vec<String>)> {
    let format = format.map(|name| {
        let found = Format::ALL.into_iter().find(|it| it.name() == name);
        let known = Format::ALL.into_iter().map(Format::name);
        found.ok_or_else(|| errors::unknown("format", name, known))
    });
    let reading = Reading {
        format: format.transpose()?,
        ..Reading::default()
    };
    let default = Defaults::default();
    let detour = detour.unwrap_or(default.detour);
    if !(1.0..=1e6).contains(&detour) {
        let message = format!("`detour` must be a factor of 1 or more, not {detour}");
        return Err(errors::value(message));
    }
    let kind = kind.map(|word| {
        let known = DemandKind::names();
        DemandKind::named(word).ok_or_else(|| errors::unknown("kind", word, known))
    });
    let delay_s = match delay {
        Some(it) => seconds_from_0("delay", it)?,
        None => default.delay_s,
    };
    let choices = Defaults {
        bandwidth_bps: match bandwidth {
            Some(it) => bandwidth_of("bandwidth", it)?,
            None => default.bandwidth_bps,
        },
        delay_s,
        buffer: buffer
            .map(|it| it.parse::<BufferSize>())
            .transpose()
            .map_err(|error| errors::value(format!("`buffer`: {error}")))?,
        detour,
        kind: kind.transpose()?.unwrap_or(default.kind),
        ecmp,
    };
    let topology: Result<Topology, _> = py.detach(|| match text {
        Some(text) => {
            let name = files.first().map(|path| path.display().to_string());
            from_text(&name.unwrap_or_default(), text, &reading)
        }
        None => {
            let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            read(&paths, &reading)
        }
    });
    let topology = topology.map_err(|problems| errors::scenario(py, &problems))?;
    let called = |path: &PathBuf| match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    };
    let origin = Origin {
        files: files.iter().map(called).collect(),
        command: "netflow_evaluator.import_topology".to_owned(),
        demands: None,
    };
    let written = write(&topology, &choices, &origin);
    let assumptions = written.assumptions.iter();
    let assumptions = assumptions
        .map(|it| it.full_text(&written.topology))
        .collect();
    let nodes = written.topology.nodes.into_iter();
    let nodes = nodes.map(|node| node.name).collect();
    let name = files.first().map_or_else(|| "topology".to_owned(), called);
    let spec = Spec {
        source: Source::Text {
            name: format!("{name}.toml"),
            text: written.text.into(),
            directory: StablePath::new(PathBuf::from(".")),
        },
        file_access: FileAccess::BelowDirectory,
        settings: Vec::new(),
    };
    Ok((Scenario::of(py, spec)?, assumptions, nodes))
}
