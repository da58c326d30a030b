//! Random topology: Waxman graph in the plane.

use hashbrown::HashSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::plan::{Connection, Link, Node, Plan, random_pair, random_start_s};
use super::{InvalidSize, SizeCheck, SizeRequest, TopologyKind};

/// Side of the square in km.
const SIDE_KM: f64 = 2000.0;
/// Waxman's β: typical length of links, as a fraction of the square's diagonal.
const REACH: f64 = 0.15;
/// Propagation delay in optical fibre.
const MS_PER_KM: f64 = 0.005;

/// Generates routers `R1`, `R2` ... at random positions in a square of 2000 km. Near pairs are more
/// likely to be linked than distant ones (Waxman 1988), and the graph is connected. Connections are
/// between random nodes. It has at least 2 nodes (default 20), and by default 1.2 times as many
/// links as nodes and twice as many connections.
///
/// # Errors
/// Sizes that are not possible with this topology.
pub fn random(request: &SizeRequest) -> Result<String, InvalidSize> {
    let kind = TopologyKind::Random;
    let granting = SizeCheck { kind, request };
    let nodes = granting.nodes(20, 2)?;
    let links = granting.links(nodes * 6 / 5, nodes)?;
    let connections = granting.connections(2 * nodes)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);

    let mut coordinate = || (rng.random::<f64>() * SIDE_KM).round();
    let places: Vec<(f64, f64)> = (0..nodes).map(|_| (coordinate(), coordinate())).collect();
    let pairs = pairs(&places, links, &mut rng);
    let links = pairs.into_iter().map(|(a, b)| {
        let delay_ms = distance(places[a], places[b]) * MS_PER_KM;
        let bandwidth_mbps = [10.0, 20.0, 50.0][rng.random_range(0..3)];
        Link::new(a, b, bandwidth_mbps, delay_ms)
    });
    let links = links.collect();
    let connections = (0..connections).map(|_| {
        let (from, to) = random_pair(nodes, &mut rng);
        Connection {
            from,
            to,
            start_s: random_start_s(&mut rng),
            remark: "",
        }
    });
    let connections = connections.collect();
    let nodes = (1..).zip(&places).map(|(i, &place)| Node {
        name: format!("R{i}"),
        position: Some(place),
    });
    Ok(Plan {
        kind,
        wishes: *request,
        description: "A square of 2000 km; delays are travel times of light in fibre.",
        connections,
        nodes: nodes.collect(),
        links,
    }
    .write())
}

/// Returns `count` different pairs that form a connected graph.
fn pairs(places: &[(f64, f64)], count: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, usize)> {
    let chance = |a: usize, b: usize| {
        let diagonal = SIDE_KM * std::f64::consts::SQRT_2;
        libm::exp(-distance(places[a], places[b]) / (REACH * diagonal))
    };
    let mut chosen = Vec::with_capacity(count);
    let mut known = HashSet::with_capacity(count);
    // Each node is linked to an earlier one: the most likely of a few candidates.
    for node in 1..places.len() {
        let some = (0..16).map(|_| rng.random_range(0..node));
        let best = some.max_by(|&a, &b| chance(node, a).total_cmp(&chance(node, b)));
        let pair = (best.unwrap_or(0), node);
        chosen.push(pair);
        known.insert(pair);
    }
    // Then random pairs are accepted with their probability.
    let mut tries = 100 * count;
    while chosen.len() < count && tries > 0 {
        tries -= 1;
        let (a, b) = random_pair(places.len(), rng);
        let pair = (a.min(b), a.max(b));
        if rng.random::<f64>() < chance(a, b) && known.insert(pair) {
            chosen.push(pair);
        }
    }
    // If nearly all pairs are requested, the rest is taken in order.
    'rest: for a in 0..places.len() {
        for b in a + 1..places.len() {
            if chosen.len() >= count {
                break 'rest;
            }
            if known.insert((a, b)) {
                chosen.push((a, b));
            }
        }
    }
    chosen
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    libm::hypot(a.0 - b.0, a.1 - b.1)
}
