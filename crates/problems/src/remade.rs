//! The same network with other connections.

use netflow_network::{ConnectionSpec, EventSpec, Network, NetworkBuilder};

/// The network with every connection changed; `change` is called in their order.
pub fn remade(network: &Network, mut change: impl FnMut(&mut ConnectionSpec)) -> Network {
    let mut builder = NetworkBuilder::with_nodes_of(network);
    for link in network.links() {
        builder.link(network.link_spec(link).clone());
    }
    for connection in network.connections() {
        let mut spec = network.connection_spec(connection).clone();
        change(&mut spec);
        builder.connection(spec);
    }
    for EventSpec { at_s, link, change } in network.events() {
        builder.event(EventSpec { at_s, link, change });
    }
    match builder.build() {
        Ok(network) => network,
        Err(errors) => unreachable!("{errors:?}"),
    }
}
