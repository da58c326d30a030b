//! Reader of the topology files of containerlab (`*.clab.yml`).

use super::yaml::{self, Yaml};
use crate::Subject;
use crate::attributes::{LinkAttributes, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// Types of links that connect a node with something outside the lab. In the short form, they are reserved
/// names of nodes.
const OUTSIDE: [&str; 7] = [
    "host",
    "mgmt-net",
    "macvlan",
    "macvtap",
    "vxlan",
    "vxlan-stitch",
    "dummy",
];

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let root = yaml::parse(draft.text)?;
    let topology = root.required("topology")?;
    draft.name = root.get("name").and_then(Yaml::text).map(single_line);
    let nodes = topology.required("nodes")?;
    for (name, _) in nodes
        .map()
        .ok_or_else(|| nodes.wrong_type("a mapping of nodes"))?
    {
        let id = name
            .text()
            .ok_or_else(|| name.wrong_type("the name of a node"))?;
        draft.add_node(id, &[], name.span.clone())?;
    }
    let links = topology.required("links")?;
    for link in links
        .list()
        .ok_or_else(|| links.wrong_type("a list of links"))?
    {
        add_link(draft, link)?;
    }
    Ok(())
}

fn add_link(draft: &mut TopologyBuilder<'_>, link: &Yaml<'_>) -> ReadResult<()> {
    let about = Subject::Other(String::new(), draft.line(&link.span));
    for key in ["mtu", "vars"]
        .into_iter()
        .filter(|key| link.get(key).is_some())
    {
        let text = format!("`{key}` of a link is ignored");
        draft.assumptions.add(text, about.clone());
    }
    let outside = |name: &str| format!("a link to `{name}` leaves the lab: ignored");
    if let Some(kind) = link.get("type") {
        let name = kind
            .text()
            .ok_or_else(|| kind.wrong_type("a type of links"))?;
        if OUTSIDE.contains(&name) {
            draft.assumptions.add(outside(name), about);
            return Ok(());
        }
        if name != "veth" {
            let message = format!("unknown type `{}` of links", truncate_text(name));
            let help = format!("known types: veth, {}", OUTSIDE.join(", "));
            return Err(ImportError::value(kind.span.clone(), message).help(help));
        }
    }
    let endpoints = link.required("endpoints")?;
    let Some([a, b]) = endpoints.list() else {
        let help = "write [\"node1:eth1\", \"node2:eth1\"]";
        return Err(endpoints.wrong_type("two endpoints").help(help));
    };
    let mut ends = [0, 0];
    for (end, endpoint) in ends.iter_mut().zip([a, b]) {
        let node = match endpoint.text() {
            Some(text) => text.split_once(':').map_or(text, |(node, _)| node),
            None => endpoint.required_text("node")?,
        };
        if OUTSIDE.contains(&node) && !draft.has_node(node) {
            draft.assumptions.add(outside(node), about);
            return Ok(());
        }
        *end = draft.existing_node(node, endpoint.span.clone())?;
    }
    draft.add_link(
        (ends[0], ends[1]),
        false,
        LinkAttributes::default(),
        link.span.clone(),
    )
}
