//! Networks with several links between the same nodes.

use netflow_network::{LinkSpec, Network};

/// With another link beside those for which there is one to be, from the same node to the same.
pub fn with_circuits(
    network: &Network,
    mut beside: impl FnMut(&LinkSpec) -> Option<LinkSpec>,
) -> Network {
    let mut builder = network.to_builder();
    for id in network.links() {
        if let Some(spec) = beside(network.link_spec(id)) {
            builder.link(LinkSpec {
                circuit: Some("beside".into()),
                ..spec
            });
        }
    }
    builder.build().expect("links that differ by their circuit")
}
