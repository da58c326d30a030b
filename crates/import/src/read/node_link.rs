//! Reader of the node-link JSON of NetworkX.

use std::borrow::Cow;
use std::ops::Range;

use netflow_document::ProblemKind;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json;
use super::sndlib_native::number;
use crate::attributes::{self, Attribute, StatedQuantity, single_line, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// The top-level object. Nodes and links keep their positions in the text.
#[derive(Deserialize)]
struct Document<'t> {
    #[serde(default)]
    directed: Option<bool>,
    #[serde(borrow, default)]
    graph: Option<&'t RawValue>,
    #[serde(borrow, default)]
    nodes: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    edges: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    links: Option<Vec<&'t RawValue>>,
}

type Object = serde_json::Map<String, Value>;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let document: Document<'_> = json::parse(draft.text, "node-link JSON")?;
    let Some(nodes) = document.nodes else {
        let help = "node-link JSON has the lists `nodes` and `edges` (or `links`)";
        return Err(ImportError::new(
            ProblemKind::Missing,
            0..1,
            "the document has no list `nodes`",
        )
        .help(help));
    };
    let edges = match (document.edges, document.links) {
        (Some(edges), None) | (None, Some(edges)) => edges,
        (Some(edges), Some(links)) if links.is_empty() => edges,
        (Some(edges), Some(links)) if edges.is_empty() => links,
        (Some(_), Some(_)) => {
            let help = "keep the list with the links, and remove the other";
            let wrong = ImportError::new(
                ProblemKind::Conflict,
                0..1,
                "the document has both `edges` and `links`",
            );
            return Err(wrong.help(help));
        }
        (None, None) => {
            let help = "node-link JSON has the lists `nodes` and `edges` (or `links`)";
            let wrong = ImportError::new(
                ProblemKind::Missing,
                0..1,
                "the document has no list `edges` or `links`",
            );
            return Err(wrong.help(help));
        }
    };
    for raw in nodes {
        let (object, span) = object(draft, raw)?;
        let id = id(&object, "id", &span)?;
        let said = object_attributes(&object, &span)?;
        draft.add_node(&id, &said, span)?;
    }
    for raw in edges {
        let (object, span) = object(draft, raw)?;
        let from = draft.existing_node(&id(&object, "source", &span)?, span.clone())?;
        let to = draft.existing_node(&id(&object, "target", &span)?, span.clone())?;
        let said = object_attributes(&object, &span)?;
        // The key of a parallel edge is not a name.
        let said: Vec<_> = said.into_iter().filter(|it| it.name != "id").collect();
        draft.add_link(
            (from, to),
            document.directed.unwrap_or(false),
            attributes::parse_link(&said)?,
            span,
        )?;
    }
    if document.directed.is_none() {
        draft.infer_directions("the document has no `directed`");
    }
    match document.graph {
        Some(graph) if graph.get().starts_with('{') => add_graph_attributes(draft, graph),
        _ => Ok(()),
    }
}

/// Reads the name of the network and its demands: `{"demands": {"0": {"1": 5.0}}}`.
fn add_graph_attributes(draft: &mut TopologyBuilder<'_>, raw: &RawValue) -> ReadResult<()> {
    let (graph, span) = object(draft, raw)?;
    if let Some(Value::String(name)) = graph.get("name") {
        draft.name = Some(single_line(name));
    }
    let Some(Value::Object(demands)) = graph.get("demands") else {
        return Ok(());
    };
    for (from, to) in demands {
        let Value::Object(to) = to else {
            let message = format!("the demands of `{}` are not an object", truncate_text(from));
            return Err(ImportError::value(span, message).help("write {\"FROM\": {\"TO\": RATE}}"));
        };
        for (to, rate) in to {
            let ends = (
                draft.existing_node(from, span.clone())?,
                draft.existing_node(to, span.clone())?,
            );
            let Some(rate) = rate.as_f64() else {
                let message = format!(
                    "the demand from `{}` to `{}` is not a number",
                    truncate_text(from),
                    truncate_text(to)
                );
                return Err(ImportError::value(span, message));
            };
            draft.add_demand(ends, StatedQuantity::WithoutUnit(rate), span.clone())?;
        }
    }
    Ok(())
}

/// Parses an object and returns its byte range in the text.
fn object(draft: &TopologyBuilder<'_>, raw: &RawValue) -> ReadResult<(Object, Range<usize>)> {
    let start = (raw.get().as_ptr() as usize).saturating_sub(draft.text.as_ptr() as usize);
    let first_line = raw.get().lines().next().map_or(0, str::len);
    let span = start..start + first_line;
    match serde_json::from_str(raw.get()) {
        Ok(object) => Ok((object, span)),
        Err(_) => {
            let message = format!("`{}` is not an object", truncate_text(raw.get()));
            Err(ImportError::value(span, message).help("write {\"key\": value, ...}"))
        }
    }
}

/// Returns an identifier: a string, a number, or any other value as JSON.
fn id(object: &Object, key: &str, span: &Range<usize>) -> ReadResult<String> {
    match object.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Null) | None => {
            let message = format!("missing key `{key}`");
            Err(ImportError::new(
                ProblemKind::Missing,
                span.clone(),
                message,
            ))
        }
        Some(other) => Ok(other.to_string()),
    }
}

/// Returns the attributes of an object. `pos` is a pair of coordinates.
fn object_attributes<'o>(
    object: &'o Object,
    span: &Range<usize>,
) -> ReadResult<Vec<Attribute<'o>>> {
    let mut said = Vec::new();
    for (key, value) in object {
        match value {
            Value::Array(pair) if key == "pos" => {
                let [x, y] = pair.as_slice() else {
                    let message = format!("`pos` has {} numbers", pair.len());
                    return Err(ImportError::value(span.clone(), message)
                        .help("write [LONGITUDE, LATITUDE]"));
                };
                for (name, value) in [("x", x), ("y", y)] {
                    let text = value.to_string();
                    number(&text, span)?;
                    said.push(Attribute::new(name, text, span.clone()));
                }
            }
            Value::String(text) => said.push(attribute(key, text.as_str(), span)),
            Value::Number(number) => said.push(attribute(key, number.to_string(), span)),
            Value::Bool(truth) => said.push(attribute(key, if *truth { "1" } else { "0" }, span)),
            Value::Null | Value::Array(_) | Value::Object(_) => {}
        }
    }
    Ok(said)
}

fn attribute<'o>(
    key: &'o str,
    value: impl Into<Cow<'o, str>>,
    span: &Range<usize>,
) -> Attribute<'o> {
    Attribute::new(key, value, span.clone())
}
