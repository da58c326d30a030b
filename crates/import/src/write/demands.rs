//! Demands as a table of connections.

use std::fmt::Write;

use netflow_units::BitsPerSecond;

use crate::Topology;

/// A table of connections that send the demands at constant rates, with the columns `from`, `to` and
/// `constant`: what a scenario includes, and what [`read`](crate::read()) takes as demands.
pub fn write(topology: &Topology) -> String {
    let mut text = String::from("from,to,constant\n");
    let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
    for demand in &topology.demands {
        let rate = BitsPerSecond(demand.rate_bps);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{},{rate}", name(demand.from), name(demand.to));
    }
    text
}
