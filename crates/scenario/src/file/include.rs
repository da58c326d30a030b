//! `[include]`

use netflow_document::{Spanned, table};

/// Tables in CSV files, for large networks: paths are relative to the scenario.
///
/// The first row names the columns like the keys. A key inside a table is written with a point, as in
/// `queue.min` or `set.bandwidth`; the keys of a connection's `source` need no `source.` in front. The
/// nodes of a path are written with `>` between them. An empty cell is an absent key. Lines that begin
/// with `#` are comments.
#[table(name = "include")]
#[derive(Default)]
pub struct Include {
    /// A table of nodes.
    #[key(example = "nodes.csv")]
    pub nodes: Option<Spanned<String>>,
    /// A table of links.
    #[key(example = "links.csv")]
    pub links: Option<Spanned<String>>,
    /// A table of connections.
    #[key(example = "connections.csv")]
    pub connections: Option<Spanned<String>>,
    /// A table of events.
    #[key(example = "events.csv")]
    pub events: Option<Spanned<String>>,
}
