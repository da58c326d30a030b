//! Reader of GraphML: `<graph>` with `<node>` and `<edge>`, whose `<data>` is described by `<key>`.

use std::collections::HashMap;

use netflow_document::ProblemKind;
use roxmltree::Node;

use super::xml::{attribute, child, children, parse, tag, text_of};
use crate::Subject;
use crate::attributes::{self, Attribute, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;
use crate::write::graphml::GRAPHML_HEADER;

/// Metadata of networks of the Topology Zoo that is kept.
const ORIGIN: &[&str] = &[
    "Network",
    "NetworkDate",
    "DateObtained",
    "Source",
    "Note",
    "Creator",
];

/// The content of a `<key>`.
struct Key<'a> {
    name: &'a str,
    default: Option<String>,
    of: &'a str,
}

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let document = parse(draft.text)?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!(
            "the document is a <{}>, not a <graphml>",
            root.tag_name().name()
        );
        return Err(ImportError::syntax(tag(root), message));
    }
    let mut keys = HashMap::new();
    for key in children(root, "key") {
        let id = attribute(key, "id")?;
        // Keys of yEd have types instead of names.
        let name = key
            .attribute("attr.name")
            .or_else(|| key.attribute("yfiles.type"));
        let default = child(key, "default").map(text_of);
        let of = key.attribute("for").unwrap_or("all");
        let name = name.unwrap_or(id);
        keys.insert(id, Key { name, default, of });
    }
    let mut graphs = children(root, "graph");
    let Some(graph) = graphs.next() else {
        return Err(ImportError::new(
            ProblemKind::Missing,
            tag(root),
            "the file has no <graph>",
        ));
    };
    if let Some(second) = graphs.next() {
        let message = "the file has more than one <graph>";
        let help = "write each graph to a separate file";
        return Err(ImportError::new(ProblemKind::NotAvailable, tag(second), message).help(help));
    }
    add_graph_attributes(draft, graph, &keys)?;
    // In files that netflow writes, two directed links are never directions of one link.
    draft.pairs = !draft.text.contains(GRAPHML_HEADER);
    let directed = match graph.attribute("edgedefault") {
        Some("directed") => true,
        Some("undirected") | None => false,
        Some(other) => {
            let message = format!("`edgedefault` is `{}`", truncate_text(other));
            return Err(
                ImportError::value(tag(graph), message).help("allowed: directed, undirected")
            );
        }
    };
    // Edges may precede the nodes that they refer to.
    for node in children(graph, "node") {
        let id = attribute(node, "id")?;
        if let Some(inner) = child(node, "graph") {
            let message = format!("node `{}` contains a graph", truncate_text(id));
            let help = "write the inner graph to a separate file";
            return Err(
                ImportError::new(ProblemKind::NotAvailable, tag(inner), message).help(help),
            );
        }
        let data = data(node, "node", &keys)?;
        draft.add_node(id, &data, tag(node))?;
    }
    for edge in children(graph, "edge") {
        let at = tag(edge);
        let from = draft.existing_node(attribute(edge, "source")?, at.clone())?;
        let to = draft.existing_node(attribute(edge, "target")?, at.clone())?;
        let directed = match edge.attribute("directed") {
            None => directed,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(other) => {
                let message = format!("`directed` is `{}`", truncate_text(other));
                return Err(ImportError::value(at, message).help("allowed: true, false"));
            }
        };
        let says = attributes::parse_link(&data(edge, "edge", &keys)?)?;
        draft.add_link((from, to), directed, says, at)?;
    }
    let says = |edge: Node<'_, '_>| edge.has_attribute("directed");
    if graph.attribute("edgedefault").is_none()
        && !children(graph, "edge").any(says)
        && !draft.infer_directions("the graph has no `edgedefault`")
    {
        draft
            .assumptions
            .add_general("the graph has no `edgedefault`: edges are read as undirected");
    }
    for (number, hyperedge) in children(graph, "hyperedge").enumerate() {
        add_hyperedge(draft, hyperedge, number, &keys)?;
    }
    Ok(())
}

/// Adds a hyperedge as a node between its ends.
fn add_hyperedge(
    draft: &mut TopologyBuilder<'_>,
    hyperedge: Node<'_, '_>,
    number: usize,
    keys: &HashMap<&str, Key<'_>>,
) -> ReadResult<()> {
    let at = tag(hyperedge);
    let mut id = format!("hyperedge-{}", number + 1);
    while draft.has_node(&id) {
        id.push('_');
    }
    let middle = draft.add_node(&id, &[], at.clone())?;
    let data = data(hyperedge, "hyperedge", keys)?;
    for endpoint in children(hyperedge, "endpoint") {
        let span = tag(endpoint);
        let end = draft.existing_node(attribute(endpoint, "node")?, span.clone())?;
        let (ends, directed) = match endpoint.attribute("type").unwrap_or("undir") {
            "undir" => ((middle, end), false),
            "in" => ((end, middle), true),
            "out" => ((middle, end), true),
            other => {
                let message = format!("`type` is `{}`", truncate_text(other));
                return Err(ImportError::value(span, message).help("allowed: in, out, undir"));
            }
        };
        draft.add_link(ends, directed, attributes::parse_link(&data)?, span)?;
    }
    let text = "a <hyperedge> is read as a node with a link to each of its ends";
    let about = Subject::Node(middle, draft.line(&at));
    draft.assumptions.add(text, about);
    Ok(())
}

fn add_graph_attributes(
    draft: &mut TopologyBuilder<'_>,
    graph: Node<'_, '_>,
    keys: &HashMap<&str, Key<'_>>,
) -> ReadResult<()> {
    let said = data(graph, "graph", keys)?;
    let value = |name: &str| {
        let found = said.iter().find(|attribute| attribute.name == name)?;
        let value = single_line(&found.value);
        (!value.is_empty()).then_some(value)
    };
    let name = value("label")
        .or_else(|| value("name"))
        .or_else(|| value("Network"));
    draft.name = name.or_else(|| graph.attribute("id").map(single_line));
    let origin = ORIGIN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), value(name)?)));
    draft.origin = origin.collect();
    Ok(())
}

/// Returns the `<data>` of an element, with the defaults of other keys.
fn data<'a>(
    node: Node<'a, '_>,
    of: &str,
    keys: &HashMap<&'a str, Key<'a>>,
) -> ReadResult<Vec<Attribute<'a>>> {
    let mut said = Vec::new();
    let mut mentioned = Vec::new();
    for data in children(node, "data") {
        let id = attribute(data, "key")?;
        let Some(key) = keys.get(id) else {
            let message = format!("unknown <key> `{}`", truncate_text(id));
            return Err(ImportError::new(
                ProblemKind::UnknownName,
                tag(data),
                message,
            ));
        };
        mentioned.push(id);
        let drawn = data.descendants().find(|it| {
            it.is_element() && matches!(it.tag_name().name(), "NodeLabel" | "EdgeLabel")
        });
        match drawn {
            Some(label) => said.push(Attribute::new("label", text_of(label), data.range())),
            None => said.push(Attribute::new(key.name, text_of(data), data.range())),
        }
    }
    for (id, key) in keys {
        if let Some(default) = &key.default
            && (key.of == of || key.of == "all")
            && !mentioned.contains(id)
        {
            said.push(Attribute::new(key.name, default.clone(), tag(node)));
        }
    }
    Ok(said)
}
