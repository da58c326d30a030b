//! Conversion of a scenario to a topology.

use std::collections::HashMap;

use netflow_network::{Buffer, LinkId, LinkSpec};
use netflow_scenario::CompiledScenario;
use netflow_units::{BufferSize, Bytes, Packets, Seconds, Size};

use crate::{Link, LinkSettings, Node, Position, Reverse, Topology};

/// One direction of a link in a scenario.
struct DirectedLink {
    from: usize,
    to: usize,
    bandwidth_bps: f64,
    delay_s: f64,
    metric: Option<f64>,
    buffer: Option<BufferSize>,
    srlg: Vec<String>,
    /// Index of the opposite direction of the same link.
    opposite: Option<usize>,
}

impl Topology {
    /// Returns the nodes and links of a scenario. Two links that differ only in their direction become
    /// one link. Queue disciplines, bundles and connections are left out.
    pub fn of(scenario: &CompiledScenario) -> Topology {
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
        for note in &scenario.node_annotations {
            let Some(node) = nodes.get_mut(note.node.index()) else {
                continue;
            };
            node.label.clone_from(&note.label);
            node.population = note.population;
            node.position = note.position.map(|(x, y)| Position::Plane { x, y });
        }
        let mut groups: HashMap<LinkId, Vec<String>> = HashMap::new();
        for (name, links) in network.risk_groups() {
            for link in links {
                groups.entry(link).or_default().push(name.to_owned());
            }
        }
        let ways = network.links().map(|id| {
            // Exhaustive, so that every new setting of a link must be copied or left out on purpose.
            let &LinkSpec {
                from,
                to,
                circuit: _, // topologies do not name parallel links
                bandwidth_bps,
                delay_s,
                overhead: _, // a topology has no layer-2 encapsulation
                buffer,
                queue: _,      // left out, as documented
                policer: _,    // left out, as documented
                shaper: _,     // left out, as documented
                loss: _,       // a topology has no loss
                trace: _,      // left out, as documented
                series: _,     // left out, as documented
                delay_line: _, // left out, as documented
                metric,
                calibration: _, // of the fluid model
            } = network.link_spec(id);
            DirectedLink {
                from: from.index(),
                to: to.index(),
                bandwidth_bps,
                delay_s,
                metric,
                buffer: fixed_buffer(buffer),
                srlg: groups.remove(&id).unwrap_or_default(),
                opposite: network.opposite_direction(id).map(|other| other.index()),
            }
        });
        let ways: Vec<DirectedLink> = ways.collect();
        Topology {
            format: None,
            name: None,
            origin: Vec::new(),
            nodes,
            links: merge_directions(&ways),
            demands: Vec::new(),
            zero_demands: 0,
            assumptions: Vec::new(),
        }
    }
}

/// Returns a fixed buffer size, if the buffer has one.
fn fixed_buffer(buffer: Buffer) -> Option<BufferSize> {
    match buffer {
        Buffer::Packets(packets) => Some(BufferSize::Size(Size::Packets(Packets(packets)))),
        Buffer::Bytes(bytes) => Some(BufferSize::Size(Size::Bytes(Bytes(bytes)))),
        Buffer::Time(time) => Some(BufferSize::Time(Seconds(time.s))),
        Buffer::BandwidthDelay => None,
    }
}

/// Merges both directions of a link into one link. Two links that differ only in their direction are also
/// merged.
fn merge_directions(ways: &[DirectedLink]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut waiting: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (place, way) in ways.iter().enumerate() {
        let back = way.opposite.and_then(|other| ways.get(other));
        if way.opposite.is_some_and(|other| other < place) {
            continue;
        }
        let others = waiting.entry((way.to, way.from)).or_default();
        let same = |link: &Link| {
            link.bandwidth_bps == Some(way.bandwidth_bps)
                && link.delay_s == Some(way.delay_s)
                && link.metric == way.metric
                && link.buffer == way.buffer
                && link.srlg == way.srlg
        };
        let twin = others.iter().position(|&other| same(&links[other]));
        if let (None, Some(at)) = (back, twin) {
            let other = others.remove(at);
            links[other].directed = false;
            continue;
        }
        if back.is_none() {
            let of_same = waiting.entry((way.from, way.to)).or_default();
            of_same.push(links.len());
        }
        let reverse = back.and_then(|back| {
            let reverse = Reverse {
                bandwidth_bps: (back.bandwidth_bps != way.bandwidth_bps)
                    .then_some(back.bandwidth_bps),
                delay_s: (back.delay_s != way.delay_s).then_some(back.delay_s),
                length_km: None,
                metric: back.metric.filter(|_| back.metric != way.metric),
                buffer: back.buffer.filter(|_| back.buffer != way.buffer),
            };
            reverse.if_any()
        });
        links.push(Link {
            name: None,
            from: way.from,
            to: way.to,
            directed: back.is_none(),
            reverse,
            bandwidth_bps: Some(way.bandwidth_bps),
            bandwidth_remark: None,
            delay_s: Some(way.delay_s),
            length_km: None,
            metric: way.metric,
            buffer: way.buffer,
            srlg: way.srlg.clone(),
            settings: LinkSettings::default(),
        });
    }
    links
}
