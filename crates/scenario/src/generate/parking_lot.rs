//! Parking-lot topology: a chain of bottlenecks.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::plan::{Connection, Link, Node, Plan, random_start_s};
use super::{InvalidSize, SizeCheck, SizeRequest, TopologyKind};

/// Generates routers `P1`, `P2` ... in a chain. The first connection crosses the whole chain, and
/// the others one link each, in turn. It has at least 3 nodes (default 5), and by default one
/// connection per link plus the long one.
///
/// # Errors
/// Sizes that are not possible with this topology.
pub fn parking_lot(request: &SizeRequest) -> Result<String, InvalidSize> {
    let kind = TopologyKind::ParkingLot;
    let granting = SizeCheck { kind, request };
    let nodes = granting.nodes(5, 3)?;
    granting.check_tree_links(nodes)?;
    let connections = granting.connections(nodes)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);

    let connections = (0..connections).map(|i| {
        let (from, to, remark) = match i.checked_sub(1) {
            None => (0, nodes - 1, "the long one"),
            Some(i) => (i % (nodes - 1), i % (nodes - 1) + 1, ""),
        };
        Connection {
            from,
            to,
            start_s: random_start_s(&mut rng),
            remark,
        }
    });
    Ok(Plan {
        kind,
        wishes: *request,
        description: "  P1 ==== P2 ==== P3 ==== ...\n   |------------------------->   one long connection\n   |----->  |----->  |----->     short connections",
        connections: connections.collect(),
        nodes: (1..=nodes).map(|i| Node::named(format!("P{i}"))).collect(),
        links: (1..nodes).map(|i| Link::new(i - 1, i, 10.0, 35.0)).collect(),
    }
    .write())
}
