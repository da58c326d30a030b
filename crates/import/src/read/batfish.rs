//! Reader of the edges that Batfish computes: answers of `layer3Edges` and `layer1Edges` as JSON
//! (`frame().to_json(orient="records")`) or CSV (`frame().to_csv()`).

use std::collections::HashMap;
use std::ops::Range;

use netflow_document::ProblemKind;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::edge_list::{Table, role};
use super::json;
use crate::attributes::{LinkAttributes, truncate_text};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// An interface of a node.
#[derive(Clone, Deserialize, PartialEq, Eq, Hash)]
struct Interface {
    #[serde(alias = "node")]
    hostname: String,
    interface: String,
}

#[derive(Deserialize)]
struct Edge {
    #[serde(rename = "Interface", alias = "interface")]
    from: Interface,
    #[serde(rename = "Remote_Interface", alias = "remoteInterface")]
    to: Interface,
}

/// Returns whether a table has the columns of edges.
pub(crate) fn has_edges(text: &str) -> bool {
    columns(text).is_some()
}

/// Returns the indices of the columns with both interfaces.
fn columns(text: &str) -> Option<(usize, usize)> {
    let (_, columns) = Table::head(text).ok()?;
    let place = |name: &str| columns.iter().position(|it| role(it) == name);
    Some((place("interface")?, place("remoteinterface")?))
}

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let text = draft.text;
    let mut edges: Vec<(Edge, Range<usize>)> = Vec::new();
    if text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('[')
    {
        for raw in json::parse::<Vec<&RawValue>>(text, "JSON of Batfish")? {
            edges.push(json::parse_part(text, raw, "edge")?);
        }
    } else {
        let Some((from, to)) = columns(text) else {
            let message = "the table has no columns `Interface` and `Remote_Interface`";
            return Err(ImportError::new(ProblemKind::Missing, 0..0, message));
        };
        let table = Table::between(text, from, to)?;
        table.rows(|row, span| {
            let end = |column| interface(table.cell(row, column, &span)?, &span);
            let edge = Edge {
                from: end(from)?,
                to: end(to)?,
            };
            edges.push((edge, span));
            Ok(())
        })?;
    }
    add_segments(draft, &edges)
}

/// Parses `router1[GigabitEthernet0/0]`.
fn interface(cell: &str, span: &Range<usize>) -> ReadResult<Interface> {
    let parts = cell.strip_suffix(']').and_then(|cell| cell.split_once('['));
    let (hostname, interface) = parts.ok_or_else(|| {
        let message = format!("`{}` is not an interface", truncate_text(cell));
        ImportError::value(span.clone(), message).help("write NODE[INTERFACE]")
    })?;
    Ok(Interface {
        hostname: hostname.to_owned(),
        interface: interface.to_owned(),
    })
}

/// Adds a segment for each set of interfaces that edges connect.
fn add_segments(draft: &mut TopologyBuilder<'_>, edges: &[(Edge, Range<usize>)]) -> ReadResult<()> {
    let mut places: HashMap<&Interface, usize> = HashMap::new();
    let mut interfaces: Vec<(&Interface, &Range<usize>)> = Vec::new();
    // Parent of each interface in the forest of connected sets; a root is its own parent.
    let mut parents: Vec<usize> = Vec::new();
    for (edge, span) in edges {
        let ends = [&edge.from, &edge.to].map(|end| {
            *places.entry(end).or_insert_with(|| {
                interfaces.push((end, span));
                parents.push(parents.len());
                parents.len() - 1
            })
        });
        let [a, b] = ends.map(|end| root(&mut parents, end));
        let (first, second) = (a.min(b), a.max(b));
        parents[second] = first;
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); interfaces.len()];
    for place in 0..interfaces.len() {
        members[root(&mut parents, place)].push(place);
    }
    for members in members.into_iter().filter(|members| members.len() > 1) {
        let (first, span) = interfaces[members[0]];
        let name = format!("lan-{}-{}", first.hostname, first.interface);
        let mut ends = Vec::with_capacity(members.len());
        for place in members {
            let (of, span) = interfaces[place];
            let node = draft.node_or_new(&of.hostname, span.clone())?;
            ends.push((node, LinkAttributes::default()));
        }
        draft.add_lan(&name, ends, span.clone())?;
    }
    Ok(())
}

/// Returns the root of an interface, and shortens the way to it.
fn root(parents: &mut [usize], mut place: usize) -> usize {
    while parents[place] != place {
        parents[place] = parents[parents[place]];
        place = parents[place];
    }
    place
}
