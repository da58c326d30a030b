//! Reader of the `.n2p` files of Net2Plan (XML, versions 3 to 7).

use netflow_document::ProblemKind;
use roxmltree::Node;

use super::sndlib_native::number;
use super::xml::{attribute, child, children, parse, tag};
use crate::Subject;
use crate::attributes::{Attribute, LinkAttributes, StatedQuantity, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::label_bandwidth::{self, ByteUnit};
use crate::topology_builder::TopologyBuilder;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let document = parse(draft.text)?;
    let root = document.root_element();
    if child(root, "physicalTopology").is_some() {
        let message = "the file has version 1 or 2 of the format";
        let help = "open and save it with Net2Plan 0.3 or later";
        return Err(ImportError::new(ProblemKind::NotAvailable, tag(root), message).help(help));
    }
    draft.name = root.attribute("name").map(single_line);
    for node in children(root, "node") {
        add_node(draft, node)?;
    }
    let layer = layer(draft, root)?;
    let capacity_unit = unit(draft, layer, "linkCapacityUnitsName");
    let demand_unit = unit(draft, layer, "demandTrafficUnitsName");
    for link in children(layer, "link") {
        let ends = ends(draft, link, "originNodeId", "destinationNodeId")?;
        let km = not_negative(link, "lengthInKm")?;
        let speed_km_s = not_negative(link, "propagationSpeedInKmPerSecond")?;
        let delay = (km > 0.0 && speed_km_s > 0.0).then(|| km / speed_km_s);
        let name = link.attribute("name").map(single_line);
        let says = LinkAttributes {
            name: name.filter(|name| !name.is_empty()),
            bandwidth: Some((
                stated(not_negative(link, "capacity")?, capacity_unit),
                tag(link),
            )),
            delay: delay.map(|delay_s| (StatedQuantity::WithUnit(delay_s), tag(link))),
            length_km: (km > 0.0).then_some(km),
            status: (link.attribute("isUp") == Some("false")).then(|| "down".to_owned()),
            ..LinkAttributes::default()
        };
        draft.add_link(ends, true, says, tag(link))?;
    }
    for demand in children(layer, "demand") {
        let ends = ends(draft, demand, "ingressNodeId", "egressNodeId")?;
        let rate = stated(not_negative(demand, "offeredTraffic")?, demand_unit);
        draft.add_demand(ends, rate, tag(demand))?;
    }
    let ignored = [
        (
            "multicast demands",
            children(layer, "multicastDemand").count(),
        ),
        ("shared-risk groups", children(root, "srg").count()),
        ("resources", children(root, "resource").count()),
    ];
    for (what, count) in ignored.iter().filter(|(_, count)| *count > 0) {
        draft
            .assumptions
            .add_general(format!("ignoring {what}: {count}"));
    }
    Ok(())
}

fn add_node(draft: &mut TopologyBuilder<'_>, node: Node<'_, '_>) -> ReadResult<()> {
    let mut said = Vec::new();
    for (name, key) in [
        ("name", "name"),
        ("x", "xCoord"),
        ("y", "yCoord"),
        ("population", "population"),
    ] {
        if let Some(value) = node.attribute(key) {
            said.push(Attribute::new(name, value, tag(node)));
        }
    }
    // Before version 5, the population is among the attributes of the user.
    for own in children(node, "attribute").filter(|it| it.attribute("key") == Some("population")) {
        said.push(Attribute::new(
            "population",
            attribute(own, "value")?,
            tag(own),
        ));
    }
    let place = draft.add_node(attribute(node, "id")?, &said, tag(node))?;
    if node.attribute("isUp") == Some("false") {
        let about = Subject::Node(place, draft.line(&tag(node)));
        draft
            .assumptions
            .add("a node that is down is imported", about);
    }
    Ok(())
}

/// Returns the only layer with links and demands, otherwise the default layer among those with links.
fn layer<'a, 'i>(draft: &mut TopologyBuilder<'_>, root: Node<'a, 'i>) -> ReadResult<Node<'a, 'i>> {
    let layers: Vec<Node<'a, 'i>> = children(root, "layer").collect();
    let with_links = || {
        layers
            .iter()
            .copied()
            .filter(|it| child(*it, "link").is_some())
    };
    let mut loaded = with_links().filter(|it| child(*it, "demand").is_some());
    let is_default = |it: &Node<'_, '_>| it.attribute("isDefaultLayer") == Some("true");
    let (found, why) = match (with_links().count(), loaded.next(), loaded.next()) {
        (0, ..) => (layers.first().copied(), ""),
        (1, ..) => (with_links().next(), "it is the only one with links"),
        (_, Some(only), None) => (Some(only), "it is the only one with links and demands"),
        _ => (with_links().find(is_default), "it is the default layer"),
    };
    let Some(found) = found else {
        let (message, help) = if layers.is_empty() {
            ("the file has no layer", "a layer contains the links")
        } else {
            (
                "several layers have links, and none of them is the default layer",
                "remove the other layers in Net2Plan",
            )
        };
        return Err(ImportError::new(ProblemKind::Missing, tag(root), message).help(help));
    };
    if layers.len() > 1 {
        let name = found.attribute("name").unwrap_or_default();
        draft.assumptions.add_general(format!(
            "only layer `{}` of {} layers is imported, because {why}",
            truncate_text(name),
            layers.len()
        ));
    }
    Ok(found)
}

/// Returns the unit of rates of a layer in bit/s, if the layer states one.
fn unit(draft: &mut TopologyBuilder<'_>, layer: Node<'_, '_>, key: &str) -> Option<f64> {
    let name = layer.attribute(key).map(single_line).unwrap_or_default();
    let unit = label_bandwidth::parse_bandwidth(&format!("1 {name}"), ByteUnit::Bytes);
    if unit.is_none() && !name.is_empty() {
        draft.assumptions.add_general(format!(
            "the unit \"{}\" (`{key}`) is not a rate: numbers are read as if they had no unit",
            truncate_text(&name)
        ));
    }
    unit.map(|unit| unit.bps)
}

fn stated(number: f64, unit: Option<f64>) -> StatedQuantity {
    match unit {
        Some(unit) => StatedQuantity::WithUnit(number * unit),
        None => StatedQuantity::WithoutUnit(number),
    }
}

fn ends(
    draft: &TopologyBuilder<'_>,
    of: Node<'_, '_>,
    from: &str,
    to: &str,
) -> ReadResult<(usize, usize)> {
    let end = |name| draft.existing_node(attribute(of, name)?, tag(of));
    Ok((end(from)?, end(to)?))
}

fn not_negative(of: Node<'_, '_>, name: &str) -> ReadResult<f64> {
    let number = number(attribute(of, name)?, &tag(of))?;
    if number >= 0.0 {
        Ok(number)
    } else {
        Err(ImportError::value(tag(of), format!("`{name}` is negative")))
    }
}
