//! Transit–stub topology: a backbone with networks around it.

use hashbrown::HashSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::plan::{Connection, Link, Node, Plan, random_pair, random_start_s};
use super::{InvalidSize, SizeCheck, SizeRequest, TopologyKind};

/// Generates transit routers `T1`, `T2` ... in a ring, stub networks with a gateway `G1`, `G2` ...
/// at each of them, and hosts `H1`, `H2` ... behind the gateways. Connections are between random
/// hosts. It has at least 4 nodes (default 50); additional links join transit routers and gateways
/// first. By default it has twice as many connections as hosts.
///
/// # Errors
/// Sizes that are not possible with this topology.
pub fn transit_stub(request: &SizeRequest) -> Result<String, InvalidSize> {
    let kind = TopologyKind::TransitStub;
    let granting = SizeCheck { kind, request };
    let nodes = granting.nodes(50, 4)?;
    let shape = Shape::of(nodes);
    let ring = usize::from(shape.transit > 2);
    let links = granting.links(nodes - 1 + ring, nodes)?;
    let connections = granting.connections(2 * shape.hosts)?;
    let mut rng = ChaCha8Rng::seed_from_u64(request.seed);

    let links = shape.links(links, &mut rng);
    let first_host = shape.transit + shape.gateways;
    let connections = (0..connections).map(|_| {
        let (from, to) = random_pair(shape.hosts, &mut rng);
        Connection {
            from: first_host + from,
            to: first_host + to,
            start_s: random_start_s(&mut rng),
            remark: "",
        }
    });
    let mut names: Vec<String> = (1..=shape.transit).map(|i| format!("T{i}")).collect();
    names.extend((1..=shape.gateways).map(|i| format!("G{i}")));
    names.extend((1..=shape.hosts).map(|i| format!("H{i}")));
    Ok(Plan {
        kind,
        wishes: *request,
        description: "  H -- G -- T === T -- G -- H     T: transit routers, in a ring\n            |     |               G: gateways of the stub networks\n            T === T               H: hosts",
        connections: connections.collect(),
        nodes: names.into_iter().map(Node::named).collect(),
        links,
    }
    .write())
}

/// Number of nodes of each kind; they are numbered in this order.
struct Shape {
    transit: usize,
    gateways: usize,
    hosts: usize,
}

impl Shape {
    /// Chooses about 1 : 3 : 10 transit routers, gateways and hosts, with at least two hosts.
    fn of(nodes: usize) -> Shape {
        let transit = (nodes / 14).max(1);
        let gateways = (nodes * 3 / 14).clamp(1, nodes - transit - 2);
        Shape {
            transit,
            gateways,
            hosts: nodes - transit - gateways,
        }
    }

    fn links(&self, count: usize, rng: &mut ChaCha8Rng) -> Vec<Link> {
        let (transit, routers) = (self.transit, self.transit + self.gateways);
        let all = routers + self.hosts;
        let mut links = Links {
            shape: self,
            list: Vec::with_capacity(count),
            known: HashSet::with_capacity(count),
            count,
        };
        for router in 1..transit {
            links.add(router - 1, router, rng);
        }
        for gateway in transit..routers {
            links.add((gateway - transit) % transit, gateway, rng);
        }
        for host in routers..all {
            links.add(transit + (host - routers) % self.gateways, host, rng);
        }
        if transit > 2 {
            links.add(transit - 1, 0, rng);
        }
        // Redundant links: among routers as far as possible, then anywhere.
        for among in [routers, all] {
            let mut tries = 20 * count;
            while !links.is_full() && tries > 0 {
                let (a, b) = random_pair(among, rng);
                links.add(a, b, rng);
                tries -= 1;
            }
        }
        // If nearly all pairs are requested, the rest is taken in order.
        'rest: for a in 0..all {
            for b in a + 1..all {
                if links.is_full() {
                    break 'rest;
                }
                links.add(a, b, rng);
            }
        }
        links.list
    }
}

/// Links so far, without duplicates.
struct Links<'s> {
    shape: &'s Shape,
    list: Vec<Link>,
    known: HashSet<(usize, usize)>,
    count: usize,
}

impl Links<'_> {
    fn is_full(&self) -> bool {
        self.list.len() >= self.count
    }

    fn add(&mut self, a: usize, b: usize, rng: &mut ChaCha8Rng) {
        let (a, b) = (a.min(b), a.max(b));
        if a == b || self.is_full() || !self.known.insert((a, b)) {
            return;
        }
        let (transit, routers) = (self.shape.transit, self.shape.transit + self.shape.gateways);
        let part: f64 = rng.random();
        self.list.push(match (b < transit, b < routers) {
            (true, _) => Link::new(a, b, 100.0, 5.0 + 25.0 * part),
            (_, true) => Link::new(a, b, 20.0, 1.0 + 9.0 * part),
            _ => Link::new(a, b, 100.0, 0.1 + 0.9 * part),
        });
    }
}
