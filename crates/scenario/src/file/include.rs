//! `[include]`

use schemars::JsonSchema;
use serde::Serialize;

use crate::place::Spanned;
use crate::read::{Element, Section, any};

/// Tables in CSV files, for large networks: paths are relative to the scenario.
///
/// The first row names the columns like the keys. A connection's source is a column `profile`,
/// `constant` or `poisson`; a key inside a table is written with a point, as in `queue.min` or
/// `set.bandwidth`; the nodes of a path are written with `>` between them. An empty cell is an
/// absent key. Lines that begin with `#` are comments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Include {
    /// A table of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Spanned<String>>,
    /// A table of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Spanned<String>>,
    /// A table of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Spanned<String>>,
    /// A table of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Spanned<String>>,
}

impl Element for Include {
    const NAME: &'static str = "include";
    const KEYS: &'static [&'static str] = &["nodes", "links", "connections", "events"];

    fn read(mut s: Section<'_, '_>) -> Include {
        let include = Include {
            nodes: s.optional("nodes", &any()),
            links: s.optional("links", &any()),
            connections: s.optional("connections", &any()),
            events: s.optional("events", &any()),
        };
        s.finish();
        include
    }
}
