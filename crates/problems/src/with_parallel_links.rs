//! Networks with parallel links.

use netflow_network::{LinkSpec, Network};

/// Adds a parallel link for each link for which `beside` returns one.
pub fn with_parallel_links(
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
