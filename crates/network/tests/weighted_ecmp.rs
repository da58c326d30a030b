//! Tests of ECMP by capacity: closed forms, the Clos fabric of NetGraph's documentation, and properties.

use std::collections::HashMap;

use netflow_network::{
    Acks, Change, ConnectionSpec, EcmpWeights, EventSpec, LinkId, LinkSpec, Network,
    NetworkBuilder, NodeId, PathChoice, Rerouter, Source,
};
use netflow_problems::connection;
use proptest::prelude::*;

fn builder(weights: EcmpWeights) -> NetworkBuilder {
    let mut b = NetworkBuilder::new();
    b.ecmp_weights(weights);
    b
}

/// Adds links from one node to another with the metric 1.
fn connect(
    b: &mut NetworkBuilder,
    from: &str,
    to: &str,
    bandwidth: f64,
    count: usize,
) -> Vec<LinkId> {
    let [from, to] = [from, to].map(|name| b.node(name));
    let link = |i: usize| LinkSpec {
        circuit: (i > 0).then(|| i.to_string().into()),
        metric: Some(1.0),
        ..LinkSpec::new(from, to, bandwidth)
    };
    (0..count).map(|i| b.link(link(i))).collect()
}

/// Returns the share of traffic on each link, by name.
fn shares(network: &Network, from: &str, to: &str, at_s: f64) -> HashMap<String, f64> {
    let [from, to] = [from, to].map(|name| {
        let mut all = network.nodes();
        all.find(|&id| network.node_name(id) == name).unwrap()
    });
    let all = network.link_shares(at_s, PathChoice::EqualShares, &[(from, to)]);
    let named = all[0].iter();
    named
        .map(|&(link, share)| (network.link_name(link).to_owned(), share))
        .collect()
}

/// Returns the largest demand that no link limits.
fn saturating(network: &Network, load: &HashMap<String, f64>) -> f64 {
    let limit = |(name, share): (&String, &f64)| {
        let link = network.link_by_name(name).unwrap();
        network.link_spec(link).bandwidth_bps / share
    };
    load.iter().map(limit).fold(f64::INFINITY, f64::min)
}

fn assert_close(is: f64, should: f64) {
    assert!(
        (is - should).abs() < 1e-8 * should.abs(),
        "{is} instead of {should}"
    );
}

/// Two ways from A to D with these bandwidths; a share is in proportion to the narrower link of each.
#[test]
fn narrowest_link_of_each_way_is_its_weight() {
    for (upper, lower) in [
        ([1.0, 100.0], [10.0, 100.0]),
        ([100.0, 1.0], [100.0, 10.0]),
        ([100.0, 1.0], [10.0, 10.0]),
        ([7.0, 3.0], [5.0, 4.0]),
    ] {
        let mut b = builder(EcmpWeights::Capacity);
        for (via, [first, second]) in [("B", upper), ("C", lower)] {
            connect(&mut b, "A", via, first * 1e6, 1);
            connect(&mut b, via, "D", second * 1e6, 1);
        }
        let load = shares(&b.build().unwrap(), "A", "D", 0.0);
        let [over_b, over_c] = [upper, lower].map(|it| it[0].min(it[1]));
        assert_close(load["A->B"], over_b / (over_b + over_c));
        assert_close(load["C->D"], over_c / (over_b + over_c));
    }
}

/// Parallel links share in proportion to their bandwidths; so do the ways that they are part of.
#[test]
fn parallel_links_add_up() {
    let mut b = builder(EcmpWeights::Capacity);
    connect(&mut b, "A", "B", 10e6, 3);
    connect(&mut b, "A", "C", 20e6, 1);
    connect(&mut b, "B", "D", 100e6, 1);
    connect(&mut b, "C", "D", 100e6, 1);
    let load = shares(&b.build().unwrap(), "A", "D", 0.0);
    assert_close(load["A->B#2"], 0.2);
    assert_close(load["B->D"], 0.6);
    assert_close(load["A->C"], 0.4);
}

/// A node divides its outgoing bandwidth among the links into it: two senders share the way over C.
#[test]
fn senders_share_bandwidth_behind_a_node() {
    let mut b = builder(EcmpWeights::Capacity);
    for sender in ["A", "B"] {
        for via in ["C", "E"] {
            connect(&mut b, sender, via, 10e6, 1);
        }
    }
    connect(&mut b, "C", "D", 5e6, 1);
    connect(&mut b, "E", "D", 15e6, 1);
    let load = shares(&b.build().unwrap(), "A", "D", 0.0);
    assert_close(load["A->C"], 0.25);
    assert_close(load["A->E"], 0.75);
}

/// Clos fabric of the documentation of NetGraph (`docs/examples/clos-fabric.md`), in units of 1 Mbit/s. A part has two
/// bricks of eight `t1` and eight `t2` nodes and 64 spines. A `t2` node has links of capacity 2 to all `t1` nodes of
/// its brick and to every eighth spine. Spines of the two parts have four links of capacity 1 in pairs. S reaches all
/// `t1` nodes of one part without a limit, and all of the other part reach T. The first pair of spines has lost
/// `failed` links.
fn clos(weights: EcmpWeights, failed: usize) -> Network {
    let mut b = builder(weights);
    for brick in 0..2 {
        for t1 in 0..8 {
            connect(&mut b, "S", &format!("1/{brick}/t1-{t1}"), 1e12, 1);
            connect(&mut b, &format!("2/{brick}/t1-{t1}"), "T", 1e12, 1);
            for t2 in 0..8 {
                let ends = |part| {
                    [
                        format!("{part}/{brick}/t1-{t1}"),
                        format!("{part}/{brick}/t2-{t2}"),
                    ]
                };
                let ([up, top], [down, bottom]) = (ends(1), ends(2));
                connect(&mut b, &up, &top, 2e6, 1);
                connect(&mut b, &bottom, &down, 2e6, 1);
            }
        }
        for spine in 0..64 {
            let t2 = spine % 8;
            connect(
                &mut b,
                &format!("1/{brick}/t2-{t2}"),
                &format!("1/t3-{spine}"),
                2e6,
                1,
            );
            connect(
                &mut b,
                &format!("2/t3-{spine}"),
                &format!("2/{brick}/t2-{t2}"),
                2e6,
                1,
            );
        }
    }
    for spine in 0..64 {
        let missing = if spine == 0 { failed } else { 0 };
        let [from, to] = [1, 2].map(|part| format!("{part}/t3-{spine}"));
        connect(&mut b, &from, &to, 1e6, 4 - missing);
    }
    b.build().unwrap()
}

#[test]
fn clos_fabric_carries_the_flows_of_netgraph() {
    for (weights, failed, should) in [
        (EcmpWeights::Equal, 0, 256e6),
        (EcmpWeights::Capacity, 0, 256e6),
        (EcmpWeights::Equal, 3, 64e6),
        (EcmpWeights::Capacity, 3, 253e6),
    ] {
        let network = clos(weights, failed);
        let load = shares(&network, "S", "T", 0.0);
        assert_close(saturating(&network, &load), should);
    }
}

/// Links that fail by events have the effect of missing links.
#[test]
fn failed_links_change_weights() {
    let intact = clos(EcmpWeights::Capacity, 0);
    let mut b = intact.to_builder();
    for name in ["1/t3-0->2/t3-0#1", "1/t3-0->2/t3-0#2", "1/t3-0->2/t3-0#3"] {
        let link = intact.link_by_name(name).unwrap();
        b.event(EventSpec {
            at_s: 1.0,
            link,
            change: Change::Down,
        });
    }
    let network = b.build().unwrap();
    let should = shares(&clos(EcmpWeights::Capacity, 3), "S", "T", 0.0);
    assert_eq!(
        shares(&network, "S", "T", 0.0),
        shares(&intact, "S", "T", 0.0)
    );
    assert_eq!(shares(&network, "S", "T", 2.0), should);
}

/// Layers of nodes with all links between neighbouring layers, and with the bandwidths in Mbit/s that `bandwidth`
/// returns for each two nodes.
fn layers(
    weights: EcmpWeights,
    widths: &[usize],
    mut bandwidth: impl FnMut(usize, usize, usize) -> f64,
) -> NetworkBuilder {
    let mut b = builder(weights);
    for (layer, pair) in widths.windows(2).enumerate() {
        for from in 0..pair[0] {
            for to in 0..pair[1] {
                let ends = [format!("{layer}/{from}"), format!("{}/{to}", layer + 1)];
                connect(
                    &mut b,
                    &ends[0],
                    &ends[1],
                    1e6 * bandwidth(layer, from, to),
                    1,
                );
            }
        }
    }
    b
}

fn ends(b: &mut NetworkBuilder, widths: &[usize]) -> (NodeId, NodeId) {
    (b.node("0/0"), b.node(&format!("{}/0", widths.len() - 1)))
}

fn widths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..4_usize, 1..5).prop_map(|mut inner| {
        inner.insert(0, 1);
        inner.push(1);
        inner
    })
}

proptest! {
    /// With equal capacities, shares and flow hashes have the bits of plain ECMP.
    #[test]
    fn equal_capacities_are_plain_ecmp(widths in widths()) {
        let both = [EcmpWeights::Equal, EcmpWeights::Capacity].map(|weights| {
            let mut b = layers(weights, &widths, |layer, _, _| 1.0 + layer as f64);
            let (from, to) = ends(&mut b, &widths);
            let mut paths = b.equal_paths();
            (paths.shares(from, to), paths.flows(from, to, "c", 100))
        });
        prop_assert!(!both[0].0.is_empty());
        prop_assert_eq!(&both[0], &both[1]);
    }

    /// Shares sum to one, every node forwards its load, and the flow of each part takes a path of this share.
    #[test]
    fn loads_conserve_flow(
        widths in widths(),
        bandwidths in prop::collection::vec(1..20_u32, 64),
        missing in prop::collection::vec(0..6_u8, 64),
    ) {
        let mut b = layers(EcmpWeights::Capacity, &widths, |layer, from, to| {
            let i = 16 * layer + 4 * from + to;
            if missing[i % 64] == 0 { 1.0 } else { f64::from(bandwidths[i % 64]) }
        });
        let (from, to) = ends(&mut b, &widths);
        let parts = b.equal_paths().shares(from, to);
        prop_assert!((parts.iter().map(|it| it.share).sum::<f64>() - 1.0).abs() < 1e-12);
        for (i, part) in parts.iter().enumerate() {
            let spec = connection(&i.to_string(), from, to, Source::Constant { rate_pps: 1.0 });
            b.connection(ConnectionSpec { flow: Some(part.flow), acks: Acks::None, ..spec });
        }
        let network = b.build().unwrap();
        let mut load: HashMap<LinkId, f64> = HashMap::new();
        for (id, part) in network.connections().zip(&parts) {
            for link in network.path(id) {
                *load.entry(link).or_default() += part.share;
            }
        }
        let mut balance: HashMap<NodeId, f64> = HashMap::from([(from, 1.0), (to, -1.0)]);
        for (&link, share) in &load {
            let spec = network.link_spec(link);
            *balance.entry(spec.from).or_default() -= share;
            *balance.entry(spec.to).or_default() += share;
        }
        for (node, rest) in balance {
            prop_assert!(rest.abs() < 1e-9, "{} {}", network.node_name(node), rest);
        }
        let of_network = network.link_shares(0.0, PathChoice::EqualShares, &[(from, to)]);
        for (link, share) in &of_network[0] {
            prop_assert!((load.get(link).copied().unwrap_or(0.0) - share).abs() < 1e-9);
        }
    }
}

/// Flows without a share of a failed link move with the weights, in runs and in failures.
#[test]
fn flows_follow_changed_weights() {
    let mut b = builder(EcmpWeights::Capacity);
    connect(&mut b, "A", "B", 10e6, 1);
    connect(&mut b, "A", "C", 10e6, 1);
    let lost = connect(&mut b, "B", "D", 5e6, 2);
    connect(&mut b, "C", "D", 10e6, 1);
    let [from, to] = ["A", "D"].map(|name| b.node(name));
    for (flow, _) in b.equal_paths().flows(from, to, "c", 400) {
        let name = format!("{flow:?}");
        let spec = connection(&name, from, to, Source::Constant { rate_pps: 1.0 });
        b.connection(ConnectionSpec {
            flow: Some(flow),
            acks: Acks::None,
            ..spec
        });
    }
    for i in 0..300_u64 {
        let flow = netflow_network::FlowHash(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let spec = connection(&i.to_string(), from, to, Source::Constant { rate_pps: 1.0 });
        b.connection(ConnectionSpec {
            flow: Some(flow),
            acks: Acks::None,
            ..spec
        });
    }
    let intact = b.build().unwrap();
    let mut b = intact.to_builder();
    b.event(EventSpec {
        at_s: 1.0,
        link: lost[1],
        change: Change::Down,
    });
    let network = b.build().unwrap();
    let over_c = |at_s: f64| {
        let is_over = |id: &_| {
            let path = network.path_at(*id, at_s);
            path.iter().any(|&link| network.link_name(link) == "C->D")
        };
        network.connections().filter(is_over).count() as f64
    };
    // One of two weights falls from 10 to 5.
    let all = network.connections().count() as f64;
    assert!((over_c(0.0) / all - 0.5).abs() < 0.05);
    assert!((over_c(2.0) / all - 2.0 / 3.0).abs() < 0.05);
    let routes = Rerouter::new(&intact, 0.0).reroute_around(&[lost[1]]);
    let moved = routes.reroutes.iter().filter(|it| it.paths.len() == 1);
    let moved_to_c = moved.filter(|it| {
        let link = it.paths[0].data[1];
        intact
            .links()
            .nth(link as usize)
            .is_some_and(|id| intact.link_name(id) == "C->D")
    });
    assert_eq!(moved_to_c.count() as f64, over_c(2.0) - over_c(0.0));
}
