//! Generated scenarios, which must be valid for all parameters.

use netflow_scenario::from_str;
use netflow_scenario::generate::{SizeRequest, TopologyKind};
use proptest::prelude::*;

fn size_request() -> impl Strategy<Value = SizeRequest> {
    let some = |range| prop::option::of(range);
    (
        some(0..150_usize),
        some(0..400_usize),
        some(0..300_usize),
        any::<u64>(),
    )
        .prop_map(|(nodes, links, connections, seed)| SizeRequest {
            nodes,
            links,
            connections,
            seed,
        })
}

proptest! {
    #[test]
    fn generated_scenarios_are_valid(kind in prop::sample::select(&TopologyKind::ALL), wishes in size_request()) {
        let Ok(text) = kind.write(&wishes) else { return Ok(()) };
        let prepared = from_str("new.toml", &text, "".as_ref(), &[]);
        let prepared = prepared.map_err(|problems| TestCaseError::fail(format!("{problems}\n{text}")))?;
        prop_assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
        let network = &prepared.network;
        if let Some(nodes) = wishes.nodes {
            prop_assert_eq!(network.node_count(), nodes);
        }
        if let Some(links) = wishes.links {
            prop_assert_eq!(network.link_count(), 2 * links);
        }
        if let Some(connections) = wishes.connections {
            prop_assert_eq!(network.connection_count(), connections);
        }
        prop_assert!(is_connected(network));
        prop_assert_eq!(kind.write(&wishes).unwrap(), text);
    }

    #[test]
    fn default_sizes_grow_with_nodes(kind in prop::sample::select(&TopologyKind::ALL), nodes in 4..200_usize) {
        let wishes = SizeRequest { nodes: Some(nodes), ..SizeRequest::default() };
        prop_assert!(kind.write(&wishes).is_ok());
    }
}

/// Returns whether every node can be reached from the first one (links are bidirectional).
fn is_connected(network: &netflow_simulation::Network) -> bool {
    let mut neighbours = vec![Vec::new(); network.node_count()];
    for link in network.links() {
        let spec = network.link_spec(link);
        neighbours[spec.from.index()].push(spec.to.index());
    }
    let mut reached = vec![false; network.node_count()];
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node], true) {
            open.extend(&neighbours[node]);
        }
    }
    reached.into_iter().all(|reached| reached)
}

#[test]
fn impossible_sizes_are_rejected_with_range() {
    let refuse = |kind: TopologyKind, nodes, links, connections| {
        let wishes = SizeRequest {
            nodes,
            links,
            connections,
            seed: 1,
        };
        kind.write(&wishes).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(TopologyKind::Random, Some(10), Some(8), None),
        "random: links is 8, but must be 9 to 45, so that all nodes are reachable and no link exists twice"
    );
    assert_eq!(
        refuse(TopologyKind::Star, Some(10), Some(12), None),
        "star: links is 12, but must be 9, one less than the number of nodes"
    );
    assert_eq!(
        refuse(TopologyKind::Random, Some(1), None, None),
        "random: nodes is 1, but must be 2 to 50000"
    );
    assert_eq!(
        refuse(TopologyKind::Dumbbell, Some(3), None, None),
        "dumbbell: nodes is 3, but must be 4 to 50000"
    );
    assert_eq!(
        refuse(TopologyKind::Dumbbell, None, None, Some(0)),
        "dumbbell: connections is 0, but must be 1 to 100000"
    );
    assert_eq!(
        refuse(TopologyKind::TransitStub, None, None, Some(usize::MAX)),
        format!(
            "transit-stub: connections is {}, but must be 1 to 100000",
            usize::MAX
        )
    );
}

#[test]
fn topologies_parse_by_name() {
    for kind in TopologyKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        let text = kind.write(&SizeRequest::default()).unwrap();
        assert!(text.starts_with(&format!("# {kind}: {}", kind.description())));
    }
    assert!("ring".parse::<TopologyKind>().is_err());
}
