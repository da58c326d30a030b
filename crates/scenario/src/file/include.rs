//! `[include]`

use netflow_document::{Spanned, keyword_enum, table};

use super::{DemandKind, RateSetting, allowed};

/// CSV tables for large networks. Paths are relative to the scenario.
///
/// The first row contains the names of keys. A key of an inner table is written with a dot, as in `queue.min` or
/// `set.bandwidth`; the keys of a connection's `source` need no `source.` prefix. The nodes of a path are
/// separated by `>`. An empty cell is an absent key. Lines that begin with `#` are comments.
#[table(name = "include")]
#[derive(Default)]
pub struct Include {
    /// Table of nodes.
    #[key(example = "nodes.csv")]
    pub nodes: Option<Spanned<String>>,
    /// Table of links.
    #[key(example = "links.csv")]
    pub links: Option<Spanned<String>>,
    /// Table of connections.
    #[key(example = "connections.csv")]
    pub connections: Option<Spanned<String>>,
    /// Table of demands: a traffic matrix, one row for each pair of nodes.
    #[key(example = "demands.csv")]
    pub demands: Option<Spanned<String>>,
    /// Demands between all pairs of nodes by a gravity model.
    #[key(example = "{ total = \"5 Gbit/s\" }")]
    pub gravity: Option<Spanned<Gravity>>,
    /// Table of events.
    #[key(example = "events.csv")]
    pub events: Option<Spanned<String>>,
}

/// Gravity model: a demand from every node to every other node, in proportion to the product of the nodes'
/// weights.
#[table]
pub struct Gravity {
    /// Sum of all demands, headers included. `demand-scale` of the simulation multiplies it.
    #[key(allowed = allowed::RATE, example = "5 Gbit/s")]
    pub total: RateSetting,
    /// Weight of a node. Default: its population.
    #[key(example = "uniform")]
    pub weight: Option<Spanned<GravityWeight>>,
    /// Kind of traffic. Default: tcp.
    #[key(example = "poisson")]
    pub kind: Option<Spanned<DemandKind>>,
    /// Name of the `[[day]]` of all these demands, as in `[[demand]]`. Default: none.
    #[key(example = "office")]
    pub day: Option<Spanned<String>>,
}

/// Weight of a node in the gravity model.
#[keyword_enum]
pub enum GravityWeight {
    /// `population` in `[[node]]`; nodes without a population have no demands.
    Population,
    /// Sum of the bandwidths of its outgoing links.
    Bandwidth,
    /// The same weight for all nodes.
    Uniform,
}
