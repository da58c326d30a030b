//! Links, connections, nodes and aggregates of a network by their names.

use netflow::scenario::Prepared;
use netflow::simulation::{AggregateId, ConnectionId, LinkId, Network, NodeId};
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

/// The connection that is called so, or the parts of what is.
pub fn connections_called(scenario: &Prepared, name: &str) -> PyResult<Vec<ConnectionId>> {
    let known = || scenario.connection_names();
    scenario
        .connections_called(name)
        .ok_or_else(|| errors::unknown("connection", name, known()))
}

/// The node that is called so.
pub fn node(network: &Network, name: &str) -> PyResult<NodeId> {
    let mut nodes = network.nodes();
    let found = nodes.find(|&id| network.node_name(id) == name);
    found.ok_or_else(|| {
        let known = network.nodes().map(|id| network.node_name(id));
        errors::unknown("node", name, known)
    })
}

/// The aggregate that is called so, or that the connection is in that is called so.
pub fn aggregate(network: &Network, name: &str) -> PyResult<AggregateId> {
    let of = |id: AggregateId| network.aggregate_spec(id).name.as_str();
    if let Some(id) = network.aggregates().find(|&id| of(id) == name) {
        return Ok(id);
    }
    let Some(connection) = network.connection_by_name(name) else {
        return Err(errors::unknown(
            "aggregate",
            name,
            network.aggregates().map(of),
        ));
    };
    let aggregate = network.aggregate_of(connection);
    aggregate.ok_or_else(|| errors::value(format!("connection `{name}` is in no aggregate")))
}
