//! Tests of routes after failures and recoveries of links.

use std::collections::BTreeSet;
use std::sync::Arc;

use netflow_network::{
    Acks, Change, ConnectionSpec, EventSpec, FlowHash, LinkId, LinkSpec, Network, NetworkBuilder,
    NodeId, Source,
};
use netflow_problems::connection;
use proptest::prelude::*;

/// Start, end, metric, circuit.
type Link = (usize, usize, u32, bool);

fn builder(nodes: usize, links: &[Link]) -> (NetworkBuilder, Vec<NodeId>, Vec<LinkId>) {
    let mut b = NetworkBuilder::new();
    let all: Vec<_> = (0..nodes).map(|i| b.node(&format!("N{i}"))).collect();
    let link = |&(from, to, metric, circuit): &Link| LinkSpec {
        metric: Some(f64::from(metric)),
        circuit: circuit.then(|| "second".into()),
        ..LinkSpec::new(all[from], all[to], 1e6)
    };
    let ids = links.iter().map(|it| b.link(link(it))).collect();
    (b, all, ids)
}

/// Returns the names of the links of the data path and of the return path.
fn paths(network: &Network, name: &str, time_s: f64) -> [Vec<String>; 2] {
    let mut ids = network.connections();
    let id = ids
        .find(|&id| network.connection_spec(id).name == name)
        .unwrap();
    let names = |links: Vec<LinkId>| {
        let names = links.into_iter().map(|it| network.link_name(it).to_owned());
        names.collect()
    };
    [
        network.path_at(id, time_s),
        network.return_path_at(id, time_s),
    ]
    .map(names)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// After each event, paths equal those of a network that has only the working links. Connections without a path there
    /// have no route. States with the same working links share their arrays.
    #[test]
    fn paths_after_events_are_those_of_the_working_links(
        nodes in 3_usize..8,
        links in prop::collection::vec((0_usize..8, 0_usize..8, 0_u32..4, prop::bool::weighted(0.2)), 3..30),
        both_ways in any::<bool>(),
        changes in prop::collection::vec((0_usize..60, any::<bool>(), any::<bool>()), 1..12),
    ) {
        let links = links.into_iter().map(|(a, b, metric, circuit)| (a % nodes, b % nodes, metric, circuit));
        let links = links.filter(|(a, b, ..)| a != b).flat_map(|(a, b, metric, circuit)| {
            [(a, b, metric, circuit)].into_iter().chain(both_ways.then_some((b, a, metric, circuit)))
        });
        let mut names = BTreeSet::new();
        let links: Vec<Link> = links.filter(|&(a, b, _, circuit)| names.insert((a, b, circuit))).collect();
        let (mut b, all, ids) = builder(nodes, &links);
        let connections = |b: &mut NetworkBuilder, all: &[NodeId]| {
            let mut names = Vec::new();
            for from in 0..nodes {
                for to in (0..nodes).filter(|&to| to != from) {
                    let is_connected = |from: usize, to: usize, b: &NetworkBuilder| {
                        !b.equal_paths().shares(all[from], all[to]).is_empty()
                    };
                    if !is_connected(from, to, b) {
                        continue;
                    }
                    let has_return_path = is_connected(to, from, b);
                    let acks = [Acks::None, Acks::EveryPacket];
                    for acks in acks.into_iter().filter(|it| *it == Acks::None || has_return_path) {
                        for flow in [None, Some(FlowHash(7)), Some(FlowHash(u64::MAX / 3))] {
                            let name = format!("{from}-{to}-{flow:?}-{acks:?}");
                            let source = Source::Constant { rate_pps: 1.0 };
                            let spec = connection(&name, all[from], all[to], source);
                            b.connection(ConnectionSpec { flow, acks, ..spec });
                            names.push(name);
                        }
                    }
                }
            }
            names
        };
        let own = connections(&mut b, &all);
        prop_assume!(!own.is_empty() && !links.is_empty());
        let mut down = vec![false; links.len()];
        let mut at_s = 0.0;
        let mut states = Vec::new();
        for (link, is_down, is_later) in changes {
            if is_later || at_s == 0.0 {
                at_s += 1.0;
            }
            let link = link % links.len();
            let change = if is_down { Change::Down } else { Change::Up };
            down[link] = is_down;
            b.event(EventSpec { at_s, link: ids[link], change });
            states.retain(|(it, _)| *it != at_s);
            states.push((at_s, down.clone()));
        }
        let network = b.build().unwrap();
        let epoch = |at_s: f64| {
            let inner = network.tables();
            &inner.epochs[inner.epoch_at(at_s)]
        };
        for (at_s, down) in &states {
            let same = states.iter().find(|(_, it)| it == down);
            let same = same.map(|(same_s, _)| &epoch(*same_s).class_path_of);
            prop_assert!(same.is_some_and(|it| Arc::ptr_eq(it, &epoch(*at_s).class_path_of)));
        }
        for (at_s, down) in states {
            let working = links.iter().zip(&down).filter(|(_, down)| !**down);
            let working: Vec<Link> = working.map(|(link, _)| *link).collect();
            let (mut b, all, _) = builder(nodes, &working);
            let connected = connections(&mut b, &all);
            let fresh = b.build().unwrap();
            for name in &connected {
                prop_assert_eq!(paths(&network, name, at_s), paths(&fresh, name, 0.0), "{} {}", at_s, name);
            }
            for id in network.connections() {
                let unrouted = network.unrouted_intervals(id, at_s, at_s + 0.5);
                let is_routed = connected.contains(&network.connection_spec(id).name);
                prop_assert_eq!(unrouted, if is_routed { vec![] } else { vec![(at_s, at_s + 0.5)] });
            }
        }
    }
}
