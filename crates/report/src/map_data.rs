//! Map of the network.

use std::collections::HashMap;

use netflow_results::Topology;

use crate::data;
use crate::layout::layout;
use crate::rounding::Rounded;

/// Returns the map of the links with curves and their nodes, or of all nodes if all links are drawn.
pub fn map(run: &data::Run, topology: &Topology) -> data::Map {
    let drawn: Vec<&data::Link> = run.links.iter().filter(|it| it.curves.is_some()).collect();
    let left_out = run.links.len() - drawn.len();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut place = |name| {
        *places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    };
    if left_out == 0 {
        for node in &topology.nodes {
            place(node.node.as_str());
        }
    }
    let links: Vec<data::MapLink> = drawn
        .iter()
        .map(|link| data::MapLink {
            name: link.name.clone(),
            from: place(&link.from),
            to: place(&link.to),
            bps: link.bps,
        })
        .collect();
    let notes: HashMap<&str, _> = topology
        .nodes
        .iter()
        .map(|node| (node.node.as_str(), node))
        .collect();
    let known = |name: &&str| notes.get(name)?.position.map(|(x, y)| (x, -y));
    let fixed: Vec<Option<(f64, f64)>> = names.iter().map(known).collect();
    let pairs: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
    let places = layout(names.len(), &pairs, &fixed);
    let node = |(name, (x, y)): (&&str, (f64, f64))| data::Node {
        name: (*name).to_owned(),
        label: notes.get(name).and_then(|it| it.label.clone()),
        x: Rounded(x),
        y: Rounded(y),
    };
    data::Map {
        nodes: names.iter().zip(places).map(node).collect(),
        placed: !fixed.is_empty() && fixed.iter().all(Option::is_some),
        links,
        left_out,
    }
}
