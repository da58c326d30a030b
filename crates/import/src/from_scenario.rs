//! The network of a scenario.

use std::collections::{HashMap, HashSet};

use netflow_network::Buffer;
use netflow_scenario::Prepared;
use netflow_units::{Bytes, Packets, Room, Size};

use crate::write::scenario::PARALLEL;
use crate::{Link, Node, Position, Topology};

/// One direction of a link in a scenario.
struct Way {
    from: usize,
    to: usize,
    bandwidth_bps: f64,
    delay_s: f64,
    metric: Option<f64>,
    buffer: Option<Room>,
}

impl Topology {
    /// The nodes and links of a scenario. Two that differ only in their direction are one link, and so are the two
    /// halves of a parallel one that an import has made. What queues are like, and connections, have no place in it.
    pub fn of(scenario: &Prepared) -> Topology {
        let network = &scenario.network;
        let mut nodes: Vec<Node> = network
            .nodes()
            .map(|id| Node {
                name: network.node_name(id).to_owned(),
                label: None,
                position: None,
                population: None,
            })
            .collect();
        let mut middle = HashSet::new();
        for note in &scenario.notes {
            let place = note.node.index();
            let Some(node) = nodes.get_mut(place) else {
                continue;
            };
            node.label.clone_from(&note.label);
            node.population = note.population;
            node.position = note.position.map(|(x, y)| Position::Plane { x, y });
            if note.label.as_deref() == Some(PARALLEL) {
                middle.insert(place);
            }
        }
        let ways = network.links().map(|id| {
            let spec = network.link_spec(id);
            Way {
                from: spec.from.index(),
                to: spec.to.index(),
                bandwidth_bps: spec.bandwidth_bps,
                delay_s: spec.delay_s,
                metric: spec.metric,
                buffer: room(spec.buffer),
            }
        });
        let ways = joined(ways.collect(), &mut middle);
        let mut links = paired(&ways);
        // Without the nodes in the middle.
        let mut kept = Vec::new();
        let mut place_of = vec![0; nodes.len()];
        for (place, node) in nodes.into_iter().enumerate() {
            if !middle.contains(&place) {
                place_of[place] = kept.len();
                kept.push(node);
            }
        }
        for link in &mut links {
            (link.from, link.to) = (place_of[link.from], place_of[link.to]);
        }
        Topology {
            format: None,
            name: None,
            origin: Vec::new(),
            nodes: kept,
            links,
            demands: Vec::new(),
            assumptions: Vec::new(),
        }
    }
}

/// The room of a queue that is a number.
fn room(buffer: Buffer) -> Option<Room> {
    if let Buffer::Packets(packets) = buffer {
        Some(Room::Size(Size::Packets(Packets(packets))))
    } else if let Buffer::Bytes(bytes) = buffer {
        Some(Room::Size(Size::Bytes(Bytes(bytes))))
    } else {
        None
    }
}

/// With one way where two lead through a node in the middle; what is not in the middle of two others is taken out of
/// that list.
fn joined(ways: Vec<Way>, middle: &mut HashSet<usize>) -> Vec<Way> {
    let mut around: HashMap<usize, (HashSet<usize>, usize)> = HashMap::new();
    for way in &ways {
        for (end, other) in [(way.from, way.to), (way.to, way.from)] {
            if middle.contains(&end) {
                let (others, count) = around.entry(end).or_default();
                others.insert(other);
                *count += 1;
            }
        }
    }
    middle.retain(|node| {
        let found = around.get(node);
        found.is_some_and(|(others, count)| others.len() == 2 && [2, 4].contains(count))
    });
    // A node whose neighbour is in the middle as well is not.
    let lonely: HashSet<usize> = middle
        .iter()
        .copied()
        .filter(|node| {
            around
                .get(node)
                .is_some_and(|(others, _)| others.is_disjoint(middle))
        })
        .collect();
    *middle = lonely;
    let mut joined: Vec<Way> = Vec::new();
    let mut waiting: HashMap<(usize, bool, usize), usize> = HashMap::new();
    for way in ways {
        let (node, enters, outside) = match (middle.contains(&way.from), middle.contains(&way.to)) {
            (false, false) => {
                joined.push(way);
                continue;
            }
            (_, true) => (way.to, true, way.from),
            (true, false) => (way.from, false, way.to),
        };
        // The other half: through the same node, and neither to nor from the same neighbour.
        let others = around.get(&node).into_iter().flat_map(|(others, _)| others);
        let half = others
            .filter(|&&other| other != outside)
            .find_map(|&other| waiting.remove(&(node, !enters, other)));
        match half {
            None => {
                waiting.insert((node, enters, outside), joined.len());
                joined.push(way);
            }
            Some(place) => {
                let first = &mut joined[place];
                match enters {
                    true => first.from = way.from,
                    false => first.to = way.to,
                }
                if way.bandwidth_bps < first.bandwidth_bps {
                    first.bandwidth_bps = way.bandwidth_bps;
                    first.buffer = way.buffer;
                }
                first.delay_s += way.delay_s;
                first.metric = first.metric.zip(way.metric).map(|(a, b)| a + b);
            }
        }
    }
    joined
}

/// One link of two ways that differ only in their direction.
fn paired(ways: &[Way]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut waiting: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for way in ways {
        let others = waiting.entry((way.to, way.from)).or_default();
        let same = |link: &Link| {
            link.bandwidth_bps == Some(way.bandwidth_bps)
                && link.delay_s == Some(way.delay_s)
                && link.metric == way.metric
                && link.buffer == way.buffer
        };
        if let Some(at) = others.iter().position(|&other| same(&links[other])) {
            let other = others.remove(at);
            links[other].directed = false;
            continue;
        }
        waiting
            .entry((way.from, way.to))
            .or_default()
            .push(links.len());
        links.push(Link {
            name: None,
            from: way.from,
            to: way.to,
            directed: true,
            bandwidth_bps: Some(way.bandwidth_bps),
            bandwidth_remark: None,
            delay_s: Some(way.delay_s),
            length_km: None,
            metric: way.metric,
            buffer: way.buffer,
        });
    }
    links
}
