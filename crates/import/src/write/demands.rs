//! Writer of demands as a CSV table.

use std::collections::HashMap;
use std::fmt::Write;

use netflow_document::Words;
use netflow_scenario::file::DemandKind;
use netflow_units::BitsPerSecond;

use crate::names::legal;
use crate::{Demand, Topology};

/// Returns a CSV table of demands with the columns `from`, `to` and `rate`.
///
/// A scenario can include it, and [`read`](crate::read()) accepts it. Further columns are written only if
/// they are needed: `kind` for demands that are not `tcp`, `path`, and `name` for demands that have a
/// class or repeat a pair of nodes.
pub fn write(topology: &Topology) -> String {
    let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
    let names = names(topology);
    let kind = |demand: &Demand| demand.kind.filter(|kind| *kind != DemandKind::Tcp);
    let [has_kinds, has_paths, has_names] = [
        topology.demands.iter().any(|it| kind(it).is_some()),
        topology.demands.iter().any(|it| it.path.is_some()),
        names.iter().any(Option::is_some),
    ];
    let mut text = String::from("from,to,rate");
    for (column, is_there) in [
        ("kind", has_kinds),
        ("path", has_paths),
        ("name", has_names),
    ] {
        if is_there {
            text.push(',');
            text.push_str(column);
        }
    }
    text.push('\n');
    for (demand, called) in topology.demands.iter().zip(names) {
        let rate = BitsPerSecond(demand.rate_bps);
        let (from, to) = (name(demand.from), name(demand.to));
        // Writing to a string cannot fail.
        let _ = write!(text, "{from},{to},{rate}");
        if has_kinds {
            let kind = kind(demand).map_or("", |kind| kind.name());
            let _ = write!(text, ",{kind}");
        }
        if has_paths {
            let nodes = demand.path.iter().flatten().map(|&node| name(node));
            let _ = write!(text, ",{}", nodes.collect::<Vec<_>>().join(" > "));
        }
        if has_names {
            let _ = write!(text, ",{}", called.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// Returns names for demands that have a class, or that repeat the nodes and kind of an earlier demand.
/// The others are named after their nodes. Names of nodes and classes never contain `:` or `+`.
pub(super) fn names(topology: &Topology) -> Vec<Option<String>> {
    let name = |node: usize| topology.nodes.get(node).map_or("", |node| &*node.name);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let named = topology.demands.iter().map(|demand| {
        let mut called = format!("{}->{}", name(demand.from), name(demand.to));
        match (&demand.class, demand.kind) {
            (Some(class), _) => called += &format!(":{}", legal(class)),
            (None, Some(kind)) if kind != DemandKind::Tcp => called += &format!("/{}", kind.name()),
            _ => {}
        }
        let times = seen.entry(called.clone()).or_insert(0);
        *times += 1;
        match *times {
            1 => demand.class.is_some().then_some(called),
            times => Some(format!("{called}+{times}")),
        }
    });
    named.collect()
}
