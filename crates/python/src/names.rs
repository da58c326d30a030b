//! Links and connections of a network by their names.

use netflow::simulation::{ConnectionId, LinkId, Network};
use pyo3::PyResult;

use crate::errors;

/// Of all links, in order.
pub fn links(network: &Network) -> Vec<String> {
    let names = network.links().map(|id| network.link_name(id).to_owned());
    names.collect()
}

/// Of all connections, in order.
pub fn connections(network: &Network) -> Vec<String> {
    let ids = network.connections();
    ids.map(|id| network.connection_name(id).to_owned())
        .collect()
}

/// The link that is called so.
pub fn link(network: &Network, name: &str) -> PyResult<LinkId> {
    network.link_by_name(name).ok_or_else(|| {
        let known = network.links().map(|id| network.link_name(id));
        errors::unknown("link", name, known)
    })
}

/// The connection that is called so.
pub fn connection(network: &Network, name: &str) -> PyResult<ConnectionId> {
    network.connection_by_name(name).ok_or_else(|| {
        let known = network.connections().map(|id| network.connection_name(id));
        errors::unknown("connection", name, known)
    })
}
