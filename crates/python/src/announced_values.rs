//! Values that may be set during a simulation, as announced at its start.

use netflow::simulation::{
    BuildError, ConnectionId, LinkId, Network, NodeId, with_bandwidths, with_delays, with_paths,
    with_rates,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyDict, PyString};

use crate::{convert, errors, names};

/// Announced bandwidths and delays of links, and paths and rates of connections.
#[derive(Default)]
pub struct AllowedSettings {
    bandwidths: Vec<(LinkId, f64)>,
    delays: Vec<(LinkId, f64)>,
    paths: Vec<(ConnectionId, Vec<NodeId>)>,
    rates: Vec<(ConnectionId, f64)>,
}

impl AllowedSettings {
    /// Reads `{LINK: [BANDWIDTH, ...]}`, `{LINK: [DELAY, ...]}`, `{CONNECTION: [[NODE, ...], ...]}`
    /// and `{CONNECTION: [RATE, ...]}`.
    pub fn read(
        network: &Network,
        bandwidths: Option<&Bound<'_, PyDict>>,
        delays: Option<&Bound<'_, PyDict>>,
        routes: Option<&Bound<'_, PyDict>>,
        rates: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<AllowedSettings> {
        let mut all = AllowedSettings::default();
        for (name, item) in each("bandwidths", "[LEAST, MOST]", bandwidths)? {
            let link = names::link(network, &name)?;
            let bps = convert::bandwidth("bandwidths", &item)?;
            all.bandwidths.push((link, bps));
        }
        for (name, item) in each("delays", "[LEAST, MOST]", delays)? {
            let link = names::link(network, &name)?;
            let delay_s = convert::seconds("delays", &item)?;
            all.delays.push((link, delay_s));
        }
        for (name, item) in each("routes", "[[NODE, NODE, ...], ...]", routes)? {
            let connection = names::connection(network, &name)?;
            all.paths.push((connection, path(network, &item)?));
        }
        for (name, item) in each("rates", "[LEAST, MOST]", rates)? {
            let connection = names::connection(network, &name)?;
            all.rates
                .push((connection, rate_pps("rates", network, connection, &item)?));
        }
        Ok(all)
    }

    /// Returns the network with all announced values.
    pub fn announce(&self, network: &Network) -> PyResult<Network> {
        let first = |wrong: Vec<BuildError>| {
            let first = wrong.first().map(ToString::to_string);
            errors::value(first.unwrap_or_default())
        };
        let mut network = network.clone();
        if !self.bandwidths.is_empty() {
            network = with_bandwidths(&network, &self.bandwidths).map_err(first)?;
        }
        if !self.delays.is_empty() {
            network = with_delays(&network, &self.delays).map_err(first)?;
        }
        if !self.paths.is_empty() {
            network = with_paths(&network, &self.paths).map_err(first)?;
        }
        if !self.rates.is_empty() {
            network = with_rates(&network, &self.rates).map_err(first)?;
        }
        Ok(network)
    }
}

/// Reads a path as the names of its nodes.
pub fn path(network: &Network, given: &Bound<'_, PyAny>) -> PyResult<Vec<NodeId>> {
    let wrong = || {
        let kind = given.get_type();
        PyTypeError::new_err(format!(
            "a path must be a list of nodes from sender to receiver, not {kind}"
        ))
    };
    // A string is not a list of nodes.
    if given.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let nodes = given.try_iter().map_err(|_| wrong())?;
    let node = |name: PyResult<Bound<'_, PyAny>>| {
        let name: String = name?.extract().map_err(|_| wrong())?;
        names::node(network, &name)
    };
    nodes.map(node).collect()
}

/// Reads a rate of each of a connection's `count`.
pub fn rate_pps(
    what: &str,
    network: &Network,
    connection: ConnectionId,
    given: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let bytes = network.connection_spec(connection).packet_size_bytes;
    convert::rate_pps(what, given, bytes)
}

/// Iterates over every item of every list, with the name of its list.
fn each<'py>(
    what: &str,
    list: &str,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mut all = Vec::new();
    for (name, items) in convert::items(given)? {
        let wrong = || {
            let kind = items.get_type();
            let message = format!("`{what}` must be {{NAME: {list}}}, but contains {kind}");
            PyTypeError::new_err(message)
        };
        let name: String = name.extract().map_err(|_| {
            let kind = name.get_type();
            PyTypeError::new_err(format!("a name in `{what}` must be a text, not {kind}"))
        })?;
        if items.is_instance_of::<PyString>() {
            return Err(wrong());
        }
        let before = all.len();
        for item in items.try_iter().map_err(|_| wrong())? {
            all.push((name.clone(), item?));
        }
        if all.len() == before {
            return Err(errors::value(format!(
                "`{what}` has an empty list for `{name}`"
            )));
        }
    }
    Ok(all)
}
