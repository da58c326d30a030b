//! Reader of CSV tables of nodes, `name,longitude,latitude,population`, which accompany a table of links.

use std::collections::HashSet;

use netflow_document::ProblemKind;

use super::edge_list::{Table, role};
use crate::attributes::{self, Attribute, NodeAttributes, is_node_attribute, truncate_text};
use crate::errors::{ImportError, ReadResult};

/// Names of the column with the node identifiers, the likeliest first.
const NAMES: &[&str] = &["id", "node", "name", "label"];

/// The nodes of a table.
pub(super) struct Nodes {
    /// Identifiers in tables of links, and attributes.
    pub(super) rows: Vec<(String, NodeAttributes)>,
    /// Assumptions about the table.
    pub(super) assumptions: Vec<String>,
}

/// Returns whether a table has nodes: a column of identifiers, another column of node attributes, and no
/// ends of links.
pub(super) fn has_nodes(text: &str) -> bool {
    let Ok((_, columns)) = Table::head(text) else {
        return false;
    };
    let mut columns = columns.iter().enumerate();
    let key = key(text);
    let others = columns.any(|(at, name)| Some(at) != key && is_node_attribute(name));
    key.is_some() && others && Table::of(text).is_err()
}

/// Returns the index of the column with the identifiers.
fn key(text: &str) -> Option<usize> {
    let (_, columns) = Table::head(text).ok()?;
    let place = |name: &&str| columns.iter().position(|it| role(it) == **name);
    NAMES.iter().find_map(place)
}

pub(super) fn read(text: &str) -> ReadResult<Nodes> {
    // `has_nodes` has checked that it exists.
    let key = key(text).unwrap_or_default();
    let table = Table::between(text, key, key)?;
    let unknown = table
        .other_columns()
        .filter(|(_, name)| !is_node_attribute(name));
    let unknown = unknown.map(|(_, name)| {
        let name = truncate_text(name);
        format!("ignoring unknown column `{name}` of the node table")
    });
    let mut nodes = Nodes {
        assumptions: unknown.collect(),
        rows: Vec::new(),
    };
    let mut seen = HashSet::new();
    table.rows(|row, span| {
        let name = table.cell(row, key, &span)?.to_owned();
        if !seen.insert(name.clone()) {
            let message = format!("node `{}` exists twice", truncate_text(&name));
            return Err(ImportError::new(ProblemKind::Duplicate, span, message));
        }
        let said = table.other_columns().map(|(column, name)| {
            let value = row.get(column).unwrap_or_default();
            Attribute::new(name, value, span.clone())
        });
        let said: Vec<Attribute<'_>> = said.collect();
        let mut says = attributes::parse_node(&said)?;
        // Other tables refer to the node by this name.
        says.label = says.label.or(says.name);
        says.name = Some(name.clone());
        let beyond = |degrees: Option<f64>, most: f64| degrees.is_some_and(|it| it.abs() > most);
        if beyond(says.longitude, 180.0) || beyond(says.latitude, 90.0) {
            let message = format!("node `{}` has invalid coordinates", truncate_text(&name));
            let help = "allowed: longitudes -180 to 180, latitudes -90 to 90";
            return Err(ImportError::value(span, message).help(help));
        }
        nodes.rows.push((name, says));
        Ok(())
    })?;
    Ok(nodes)
}
