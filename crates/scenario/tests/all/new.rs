//! Generated scenarios, which must be valid for all parameters.

use netflow_scenario::from_str;
use netflow_scenario::generate::{Kind, SizeRequest};
use proptest::prelude::*;

fn wishes() -> impl Strategy<Value = SizeRequest> {
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
    fn whatever_is_granted_is_without_problems(kind in prop::sample::select(&Kind::ALL), wishes in wishes()) {
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
    fn the_defaults_grow_with_the_nodes(kind in prop::sample::select(&Kind::ALL), nodes in 4..200_usize) {
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
fn impossible_wishes_are_refused_with_what_is_possible() {
    let refuse = |kind: Kind, nodes, links, connections| {
        let wishes = SizeRequest {
            nodes,
            links,
            connections,
            seed: 1,
        };
        kind.write(&wishes).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(Kind::Random, Some(10), Some(8), None),
        "random: links is 8, but must be 9 to 45 (so that every node can be reached, and no link is there twice)"
    );
    assert_eq!(
        refuse(Kind::Star, Some(10), Some(12), None),
        "star: links is 12, but must be 9, one less than the nodes"
    );
    assert_eq!(
        refuse(Kind::Random, Some(1), None, None),
        "random: nodes is 1, but must be 2 to 50000"
    );
    assert_eq!(
        refuse(Kind::Dumbbell, Some(3), None, None),
        "dumbbell: nodes is 3, but must be 4 to 50000"
    );
    assert_eq!(
        refuse(Kind::Dumbbell, None, None, Some(0)),
        "dumbbell: connections is 0, but must be 1 to 100000"
    );
    assert_eq!(
        refuse(Kind::TransitStub, None, None, Some(usize::MAX)),
        format!(
            "transit-stub: connections is {}, but must be 1 to 100000",
            usize::MAX
        )
    );
}

#[test]
fn kinds_are_known_by_their_names() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        let text = kind.write(&SizeRequest::default()).unwrap();
        assert!(text.starts_with(&format!("# {kind}: {}", kind.description())));
    }
    assert!("ring".parse::<Kind>().is_err());
}
