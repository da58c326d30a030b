//! Reader of the XML format of SNDlib.

use netflow_document::ProblemKind;
use roxmltree::Node;

use super::sndlib_native::{link_capacity, number, remark};
use super::xml::{attribute, child, children, parse, tag, text_of};
use crate::Coordinates;
use crate::attributes::{Attribute, LinkAttributes, StatedQuantity, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let document = parse(draft.text)?;
    let root = document.root_element();
    if root.tag_name().name() != "network" {
        let message = format!(
            "the document is a <{}>, not a <network>",
            root.tag_name().name()
        );
        return Err(ImportError::syntax(tag(root), message));
    }
    if let Some(meta) = child(root, "meta") {
        for said in meta.children().filter(Node::is_element) {
            let (name, value) = (said.tag_name().name(), single_line(&text_of(said)));
            if name == "unit" {
                draft.rate_unit = match value.as_str() {
                    "BITPERSEC" => Some(1.0),
                    "KBITPERSEC" => Some(1e3),
                    "MBITPERSEC" => Some(1e6),
                    "GBITPERSEC" => Some(1e9),
                    _ => None,
                };
            }
            draft.origin.push((name.to_owned(), value));
        }
    }
    let structure = required_child(root, "networkStructure")?;
    let nodes = required_child(structure, "nodes")?;
    let kind = nodes.attribute("coordinatesType");
    if kind == Some("pixel") {
        draft.coordinates = Some(Coordinates::Plane);
    }
    for node in children(nodes, "node") {
        let mut said = Vec::new();
        if let Some(coordinates) = child(node, "coordinates") {
            let names = match kind {
                Some("geographical") => ["longitude", "latitude"],
                _ => ["x", "y"],
            };
            for (element, name) in ["x", "y"].into_iter().zip(names) {
                let it = required_child(coordinates, element)?;
                let value = text_of(it);
                number(&value, &it.range())?;
                said.push(Attribute::new(name, value, it.range()));
            }
        }
        draft.add_node(attribute(node, "id")?, &said, tag(node))?;
    }
    let links = child(structure, "links");
    for link in links.into_iter().flat_map(|links| children(links, "link")) {
        let ends = ends(draft, link)?;
        let installed = match child(link, "preInstalledModule") {
            Some(module) => Some(capacity(module)?),
            None => None,
        };
        let modules = child(link, "additionalModules");
        let modules = modules.into_iter().flat_map(|it| children(it, "addModule"));
        let offered = modules.map(capacity).collect::<ReadResult<Vec<f64>>>()?;
        let says = LinkAttributes {
            name: link.attribute("id").map(str::to_owned),
            bandwidth: link_capacity(installed, &offered)
                .map(|it| (StatedQuantity::WithoutUnit(it), tag(link))),
            ..LinkAttributes::default()
        };
        remark(draft, installed, &offered);
        draft.add_link(ends, false, says, tag(link))?;
    }
    let demands = child(root, "demands");
    for demand in demands
        .into_iter()
        .flat_map(|demands| children(demands, "demand"))
    {
        let ends = ends(draft, demand)?;
        let value = required_child(demand, "demandValue")?;
        let mut rate = number(&text_of(value), &value.range())?;
        if let Some(unit) = child(demand, "routingUnit") {
            rate *= number(&text_of(unit), &unit.range())?;
        }
        draft.add_demand(ends, StatedQuantity::WithoutUnit(rate), tag(demand))?;
    }
    Ok(())
}

fn required_child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> ReadResult<Node<'a, 'i>> {
    child(node, name).ok_or_else(|| {
        let message = format!("<{}> has no <{name}>", node.tag_name().name());
        ImportError::new(ProblemKind::Missing, tag(node), message)
    })
}

fn ends(draft: &TopologyBuilder<'_>, of: Node<'_, '_>) -> ReadResult<(usize, usize)> {
    let end = |name| {
        let element = required_child(of, name)?;
        draft.existing_node(text_of(element).trim(), element.range())
    };
    Ok((end("source")?, end("target")?))
}

fn capacity(module: Node<'_, '_>) -> ReadResult<f64> {
    let capacity = required_child(module, "capacity")?;
    let text = text_of(capacity);
    let number = number(&text, &capacity.range())?;
    if number >= 0.0 {
        Ok(number)
    } else {
        Err(ImportError::value(
            capacity.range(),
            format!("invalid capacity {}", truncate_text(&text)),
        ))
    }
}
