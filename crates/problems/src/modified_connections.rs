//! Copies of a network with modified connections.

use netflow_network::{ConnectionSpec, Network};

/// Returns the network with every connection modified; `change` is called in their order.
pub fn with_modified_connections(
    network: &Network,
    change: impl FnMut(&mut ConnectionSpec),
) -> Network {
    let mut builder = network.to_builder();
    builder.each_connection(change);
    match builder.build() {
        Ok(network) => network,
        Err(errors) => unreachable!("{errors:?}"),
    }
}
