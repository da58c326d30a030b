//! Dumbbell topology: one bottleneck.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::plan::{Connection, Link, Node, Plan, random_start_s};
use super::{InvalidSize, SizeCheck, SizeRequest, TopologyKind};

/// Generates senders `S1`, `S2` ... behind router `L`, receivers `D1`, `D2` ... behind router `R`,
/// and one bottleneck from `L` to `R`. It has at least 4 nodes (default 10), and by default one
/// connection per sender.
///
/// # Errors
/// Sizes that are not possible with this topology.
pub fn dumbbell(request: &SizeRequest) -> Result<String, InvalidSize> {
    let kind = TopologyKind::Dumbbell;
    let granting = SizeCheck { kind, request };
    let nodes = granting.nodes(10, 4)?;
    granting.check_tree_links(nodes)?;
    let senders = (nodes - 2) / 2;
    let receivers = nodes - 2 - senders;
    let connections = granting.connections(senders)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);

    let (left, right) = (0, 1);
    let mut names = vec!["L".to_owned(), "R".to_owned()];
    names.extend((1..=senders).map(|i| format!("S{i}")));
    names.extend((1..=receivers).map(|i| format!("D{i}")));
    let bottleneck = Link::new(left, right, 10.0, 30.0).remark("the bottleneck");
    let mut links = vec![bottleneck];
    // Each sender has its own delay, so that round-trip times differ.
    links.extend((0..senders).map(|i| Link::new(2 + i, left, 100.0, 1.0 + (i % 10) as f64 * 2.0)));
    links.extend((0..receivers).map(|i| Link::new(right, 2 + senders + i, 100.0, 1.0)));
    let connections = (0..connections).map(|i| Connection {
        from: 2 + i % senders,
        to: 2 + senders + i % receivers,
        start_s: random_start_s(&mut rng),
        remark: "",
    });
    Ok(Plan {
        kind,
        wishes: *request,
        description: "  S1 --.            .-- D1\n  S2 --+-- L ==== R --+-- D2\n  S3 --'            '-- D3",
        connections: connections.collect(),
        nodes: names.into_iter().map(Node::named).collect(),
        links,
    }
    .write())
}
