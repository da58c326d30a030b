//! Star topology: hosts around one router.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::plan::{Connection, Link, Node, Plan, random_pair, random_start_s};
use super::{InvalidSize, SizeCheck, SizeRequest, TopologyKind};

/// Generates hosts `H1`, `H2` ... around the router `hub`, with different delays. Connections are
/// between random hosts. It has at least 3 nodes (default 11), and by default as many connections
/// as hosts.
///
/// # Errors
/// Sizes that are not possible with this topology.
pub fn star(request: &SizeRequest) -> Result<String, InvalidSize> {
    let kind = TopologyKind::Star;
    let granting = SizeCheck { kind, request };
    let nodes = granting.nodes(11, 3)?;
    granting.check_tree_links(nodes)?;
    let hosts = nodes - 1;
    let connections = granting.connections(hosts)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);

    let mut names = vec!["hub".to_owned()];
    names.extend((1..=hosts).map(|i| format!("H{i}")));
    let links = (1..=hosts).map(|host| {
        let delay_ms = 15.0 + 35.0 * rng.random::<f64>();
        Link::new(host, 0, 10.0, delay_ms)
    });
    let links = links.collect();
    let connections = (0..connections).map(|_| {
        let (from, to) = random_pair(hosts, &mut rng);
        Connection {
            from: from + 1,
            to: to + 1,
            start_s: random_start_s(&mut rng),
            remark: "",
        }
    });
    Ok(Plan {
        kind,
        wishes: *request,
        description: "       H2\n       |\n  H1 --hub-- H3     every link is a bottleneck of its connections",
        connections: connections.collect(),
        nodes: names.into_iter().map(Node::named).collect(),
        links,
    }
    .write())
}
