//! Lookup of links, connections, nodes and aggregates by name.

use netflow::scenario::CompiledScenario;
use netflow::simulation::{AggregateId, ConnectionId, LinkId, Network, NodeId};
use pyo3::PyResult;

use crate::errors;

/// Returns the names of all links, in order.
pub fn links(network: &Network) -> Vec<String> {
    let names = network.links().map(|id| network.link_name(id).to_owned());
    names.collect()
}

/// Returns the names of all connections, in order.
pub fn connections(network: &Network) -> Vec<String> {
    let ids = network.connections();
    ids.map(|id| network.connection_name(id).to_owned())
        .collect()
}

/// Returns the link with this name.
pub fn link(network: &Network, name: &str) -> PyResult<LinkId> {
    network.link_by_name(name).ok_or_else(|| {
        let known = network.links().map(|id| network.link_name(id));
        errors::unknown("link", name, known)
    })
}

/// Returns the connection with this name.
pub fn connection(network: &Network, name: &str) -> PyResult<ConnectionId> {
    network.connection_by_name(name).ok_or_else(|| {
        let known = network.connections().map(|id| network.connection_name(id));
        errors::unknown("connection", name, known)
    })
}

/// Returns the connection with this name, or the parts of the demand with this name.
pub fn connections_named(scenario: &CompiledScenario, name: &str) -> PyResult<Vec<ConnectionId>> {
    let known = || scenario.connection_names();
    scenario
        .connections_by_name(name)
        .ok_or_else(|| errors::unknown("connection", name, known()))
}

/// Returns the node with this name.
pub fn node(network: &Network, name: &str) -> PyResult<NodeId> {
    let mut nodes = network.nodes();
    let found = nodes.find(|&id| network.node_name(id) == name);
    found.ok_or_else(|| {
        let known = network.nodes().map(|id| network.node_name(id));
        errors::unknown("node", name, known)
    })
}

/// Returns the aggregate with this name, or the aggregate of the connection with this name.
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
    aggregate.ok_or_else(|| errors::value(format!("connection `{name}` is not in an aggregate")))
}
