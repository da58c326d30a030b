//! Demands as a table of demands.

use std::collections::HashMap;
use std::fmt::Write;

use netflow_units::BitsPerSecond;

use crate::Topology;

/// A table of demands, with the columns `from`, `to` and `rate`: what a scenario includes, and what
/// [`read`](crate::read()) takes as demands. Where some come between the same nodes again there is a column
/// `name` as well, in which these have one.
pub fn write(topology: &Topology) -> String {
    let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
    let names = names(topology);
    let is_named = names.iter().any(Option::is_some);
    let mut text = String::from("from,to,rate");
    text.push_str(if is_named { ",name\n" } else { "\n" });
    for (demand, called) in topology.demands.iter().zip(names) {
        let rate = BitsPerSecond(demand.rate_bps);
        let (from, to) = (name(demand.from), name(demand.to));
        // Writing to a string cannot fail.
        let _ = write!(text, "{from},{to},{rate}");
        if is_named {
            let _ = write!(text, ",{}", called.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// Names of demands whose nodes had one before; the others are called after their nodes.
pub(super) fn names(topology: &Topology) -> Vec<Option<String>> {
    let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
    let named = topology.demands.iter().map(|demand| {
        let times = seen.entry((demand.from, demand.to)).or_insert(0);
        *times += 1;
        let (from, to) = (name(demand.from), name(demand.to));
        (*times > 1).then(|| format!("{from}->{to}/{times}"))
    });
    named.collect()
}
