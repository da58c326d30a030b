//! Tests of parallel links between the same two nodes.

use netflow_network::{
    Acks, BuildError, Change, ConnectionId, ConnectionSpec, EventSpec, LinkId, LinkSpec, Network,
    NetworkBuilder, NodeId, Source,
};
use netflow_problems::connection;
use proptest::prelude::*;

fn parallel_link(from: NodeId, to: NodeId, name: &str, bandwidth_bps: f64) -> LinkSpec {
    LinkSpec {
        circuit: (!name.is_empty()).then(|| name.into()),
        ..LinkSpec::new(from, to, bandwidth_bps)
    }
}

/// Adds the two directions of a duplex link.
fn duplex(b: &mut NetworkBuilder, spec: LinkSpec) -> [LinkId; 2] {
    let back = LinkSpec {
        from: spec.to,
        to: spec.from,
        ..spec.clone()
    };
    let (there, back) = (b.link(spec), b.link(back));
    b.duplex(there, back);
    [there, back]
}

fn constant(name: &str, from: NodeId, to: NodeId) -> ConnectionSpec {
    let source = Source::Constant { rate_pps: 1.0 };
    ConnectionSpec {
        acks: Acks::EveryPacket,
        ..connection(name, from, to, source)
    }
}

fn names(network: &Network, links: Vec<LinkId>) -> Vec<&str> {
    links.into_iter().map(|id| network.link_name(id)).collect()
}

/// Returns the links of the connection's data path and return path at a time.
fn path_names(network: &Network, id: ConnectionId, at_s: f64) -> [Vec<&str>; 2] {
    [
        names(network, network.path_at(id, at_s)),
        names(network, network.return_path_at(id, at_s)),
    ]
}

#[test]
fn circuit_names_distinguish_parallel_links() {
    let mut b = NetworkBuilder::new();
    let [x, y] = ["A", "B"].map(|name| b.node(name));
    for name in ["", "2", "north"] {
        duplex(&mut b, parallel_link(x, y, name, 1e6));
    }
    b.connection(constant("c", x, y));
    let network = b.build().unwrap();
    let all: Vec<&str> = network.links().map(|id| network.link_name(id)).collect();
    assert_eq!(
        all,
        [
            "A->B",
            "B->A",
            "A->B#2",
            "B->A#2",
            "A->B#north",
            "B->A#north"
        ]
    );
    let physical = network.physical_links();
    let physical: Vec<String> = physical
        .map(|(id, _)| network.physical_link_name(id))
        .collect();
    assert_eq!(physical, ["A<->B", "A<->B#2", "A<->B#north"]);
    // Both directions have the name of their link.
    for (id, other) in network.physical_links() {
        let other = other.expect("a duplex link");
        assert_eq!(
            network.physical_link_name(id),
            network.physical_link_name(other)
        );
    }
}

#[test]
fn indistinguishable_links_are_rejected() {
    for (first, second) in [("", ""), ("2", "2")] {
        let mut b = NetworkBuilder::new();
        let [x, y] = ["A", "B"].map(|name| b.node(name));
        b.link(parallel_link(x, y, first, 1e6));
        b.link(parallel_link(x, y, second, 2e6));
        let errors = b.build().unwrap_err();
        let [BuildError::DuplicateLink { link }] = &errors[..] else {
            panic!("{errors:?}");
        };
        assert!(link.starts_with("A->B"));
    }
    // This node name ends like a circuit.
    let mut b = NetworkBuilder::new();
    let [x, y, z] = ["A", "B", "B#2"].map(|name| b.node(name));
    b.link(parallel_link(x, y, "2", 1e6));
    b.link(parallel_link(x, z, "", 1e6));
    assert!(
        matches!(&b.build().unwrap_err()[..], [BuildError::DuplicateLink { link }] if link == "A->B#2")
    );
}

/// Acknowledgements return over the circuit of the data. A path of explicit nodes switches to another circuit
/// while its own is down.
#[test]
fn explicit_paths_use_a_working_circuit() {
    let mut b = NetworkBuilder::new();
    let [x, y, z] = ["A", "B", "C"].map(|name| b.node(name));
    let circuits = [("slow", 1e6), ("2", 8e6), ("1", 8e6)];
    let [slow, second, first] =
        circuits.map(|(name, bps)| duplex(&mut b, parallel_link(x, y, name, bps)));
    duplex(&mut b, parallel_link(y, z, "", 8e6));
    let given = b.connection(ConnectionSpec {
        path: Some(vec![x, y, z]),
        ..constant("given", x, z)
    });
    let free = b.connection(constant("free", x, z));
    for (at_s, link, change) in [
        (1.0, first[0], Change::Down),
        (2.0, second[0], Change::Down),
        (3.0, slow[0], Change::Down),
        (4.0, second[0], Change::Up),
        (5.0, second[1], Change::Down),
    ] {
        b.event(EventSpec { at_s, link, change });
    }
    let network = b.build().unwrap();
    let over = |name: &str| {
        let (there, back) = (format!("A->B#{name}"), format!("B->A#{name}"));
        [[there, "B->C".to_owned()], ["C->B".to_owned(), back]]
    };
    for (at_s, name) in [(0.5, "1"), (1.5, "2"), (2.5, "slow"), (4.5, "2")] {
        for id in [given, free] {
            assert_eq!(path_names(&network, id, at_s), over(name), "{at_s}");
        }
    }
    // All circuits are down, so there is no path; an explicit path keeps its links, but it is blocked.
    assert_eq!(
        path_names(&network, free, 3.5),
        [Vec::<&str>::new(), Vec::new()]
    );
    // Only the reverse direction of the circuit is down: acknowledgements use the preferred working circuit.
    for id in [given, free] {
        assert_eq!(path_names(&network, id, 5.5)[1], ["C->B", "B->A#1"]);
    }
}

/// Every flow of a connection uses one of the paths of equal cost.
#[test]
fn equal_cost_circuits_share_traffic() {
    for count in 1..6 {
        let mut b = NetworkBuilder::new();
        let [x, y, z] = ["A", "B", "C"].map(|name| b.node(name));
        for i in 0..count {
            duplex(
                &mut b,
                parallel_link(x, y, &i.to_string(), 1e6 * f64::from(i + 1)),
            );
        }
        duplex(&mut b, parallel_link(y, z, "", 1e6));
        let shares = b.equal_paths().shares(x, z);
        assert_eq!(shares.len(), count as usize);
        for part in shares {
            assert!((part.share - 1.0 / f64::from(count)).abs() < 1e-12);
        }
    }
}

/// Generates ends, names and bandwidths of links, many of them parallel.
fn links() -> impl Strategy<Value = Vec<(usize, usize, u8, u8)>> {
    prop::collection::vec((0..5_usize, 1..5_usize, 0..4_u8, 1..4_u8), 4..30)
}

/// Returns the links that connections between all nodes use, by name, for this order of links.
fn used_links(links: &[(usize, usize, u8, u8)], order: &[usize]) -> Vec<Option<[Vec<String>; 2]>> {
    let mut b = NetworkBuilder::new();
    let all: Vec<_> = (0..5).map(|i| b.node(&format!("N{i}"))).collect();
    let mut known = std::collections::HashSet::new();
    let mut first: Vec<_> = links.iter().copied().enumerate().collect();
    first.retain(|(_, (from, step, name, _))| known.insert((*from, (from + step) % 5, *name)));
    first.sort_by_key(|&(i, _)| order[i]);
    for (_, (from, step, name, bandwidth)) in first {
        let name = if name == 0 {
            String::new()
        } else {
            name.to_string()
        };
        let spec = parallel_link(
            all[from],
            all[(from + step) % 5],
            &name,
            1e6 * f64::from(bandwidth),
        );
        b.link(spec);
    }
    let mut paths = b.equal_paths();
    let mut asked = Vec::new();
    for from in 0..5 {
        for to in (0..5).filter(|&to| to != from) {
            let there = !paths.shares(all[from], all[to]).is_empty();
            let back = !paths.shares(all[to], all[from]).is_empty();
            let id = (there && back)
                .then(|| b.connection(constant(&format!("{from}-{to}"), all[from], all[to])));
            asked.push(id);
        }
    }
    let network = b.build().unwrap();
    let owned = |way: Vec<&str>| way.into_iter().map(str::to_owned).collect();
    let taken = |id| path_names(&network, id, 0.0).map(owned);
    asked.into_iter().map(|id| id.map(taken)).collect()
}

proptest! {
    /// The choice of circuits depends on their properties, not on their order in the file.
    #[test]
    fn link_order_does_not_change_paths(
        links in links(),
        order in Just((0..30).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let in_order: Vec<usize> = (0..30).collect();
        prop_assert_eq!(used_links(&links, &in_order), used_links(&links, &order));
    }
}
