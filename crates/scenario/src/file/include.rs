//! `[include]`

use netflow_document::{Spanned, table, words};

use super::{DemandKind, RateSetting, allowed};

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
    /// A table of demands: a matrix of traffic, a row for each pair of nodes.
    #[key(example = "demands.csv")]
    pub demands: Option<Spanned<String>>,
    /// A demand between every two nodes, by their weights.
    #[key(example = "{ total = \"5 Gbit/s\" }")]
    pub gravity: Option<Spanned<Gravity>>,
    /// A table of events.
    #[key(example = "events.csv")]
    pub events: Option<Spanned<String>>,
}

/// A demand from every node to every other one, each in proportion to the product of their weights.
#[table]
pub struct Gravity {
    /// All of them together, headers included; `demand-scale` of the simulation multiplies it.
    #[key(allowed = allowed::RATE, example = "5 Gbit/s")]
    pub total: RateSetting,
    /// What a node weighs. Default: its population.
    #[key(example = "uniform")]
    pub weight: Option<Spanned<GravityWeight>>,
    /// What the traffic is. Default: tcp.
    #[key(example = "poisson")]
    pub kind: Option<Spanned<DemandKind>>,
    /// The `[[day]]` of every one of them, as in `[[demand]]`. Default: none.
    #[key(example = "office")]
    pub day: Option<Spanned<String>>,
}

/// What a node weighs in a matrix of traffic.
#[words]
pub enum GravityWeight {
    /// `population` at `[[node]]`; nodes without one have no demands.
    Population,
    /// The sum of the bandwidths of the links that leave it.
    Bandwidth,
    /// As much as every other one.
    Uniform,
}
