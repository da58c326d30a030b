//! Estimates compared with known matrices and with solutions in closed form.

use netflow_network::{LinkSpec, NetworkBuilder};
use proptest::prelude::*;

use super::*;

const OPTIONS: DemandOptions = DemandOptions {
    at_s: 0.0,
    choice: PathChoice::EqualShares,
    packet_size_bytes: 1500.0,
};

/// Network with duplex links of equal delay between these nodes.
fn network(links: &[(&str, &str)]) -> Network {
    let mut builder = NetworkBuilder::new();
    for (from, to) in links {
        let (from, to) = (builder.node(from), builder.node(to));
        for (from, to) in [(from, to), (to, from)] {
            builder.link(LinkSpec {
                delay_s: 1e-3,
                ..LinkSpec::new(from, to, 1e9)
            });
        }
    }
    builder.build().unwrap()
}

fn node(network: &Network, name: &str) -> NodeId {
    let found = network.nodes().find(|&it| network.node_name(it) == name);
    found.unwrap_or_else(|| panic!("{name}"))
}

/// Loads by these demands.
fn loads(network: &Network, demands: &[(&str, &str, f64)]) -> Vec<(LinkId, f64)> {
    let ends = |it: &(&str, &str, f64)| (node(network, it.0), node(network, it.1));
    let ends: Vec<_> = demands.iter().map(ends).collect();
    let routes = network.link_shares(0.0, PathChoice::EqualShares, &ends);
    let mut loads: Vec<_> = network.links().map(|link| (link, 0.0)).collect();
    for (route, (_, _, bps)) in routes.iter().zip(demands) {
        for (link, share) in route {
            loads[link.index()].1 += share * bps;
        }
    }
    loads
}

fn estimated(network: &Network, measurements: &Measurements) -> DemandEstimate {
    let found = estimate_demands(network, measurements, &OPTIONS, &|| false);
    found.unwrap().unwrap()
}

fn of_loads(loads: Vec<(LinkId, f64)>) -> Measurements {
    Measurements {
        loads,
        ..Measurements::default()
    }
}

fn rate_bps(network: &Network, found: &DemandEstimate, from: &str, to: &str) -> f64 {
    let (from, to) = (node(network, from), node(network, to));
    let mut demands = found.demands.iter();
    let demand = demands.find(|it| (it.from, it.to) == (from, to));
    demand.map_or(0.0, |it| it.rate_bps)
}

fn largest_error(found: &DemandEstimate) -> f64 {
    let links = found.links.iter().filter_map(Fit::error);
    let nodes = found.entering.iter().chain(&found.leaving);
    let nodes = nodes.filter_map(Fit::error);
    links.chain(nodes).fold(0.0, f64::max)
}

/// Each demand has a link of its own, so the loads determine all demands.
#[test]
fn as_many_independent_links_as_demands_determine_them() {
    let names = ["A", "B", "C", "D"];
    let links: Vec<(&str, &str)> = (0..4)
        .flat_map(|i| (i + 1..4).map(move |j| (names[i], names[j])))
        .collect();
    let network = network(&links);
    let mut demands = Vec::new();
    for (i, from) in names.iter().enumerate() {
        for (j, to) in names.iter().enumerate().filter(|(j, _)| i != *j) {
            demands.push((*from, *to, 1e6 * (1 + 7 * i + 3 * j * j) as f64));
        }
    }
    let found = estimated(&network, &of_loads(loads(&network, &demands)));
    for (from, to, bps) in demands {
        let rate = rate_bps(&network, &found, from, to);
        assert!(
            (rate / bps - 1.0).abs() < 1e-6,
            "{from}->{to}: {rate} {bps}"
        );
    }
}

/// A line of three nodes has four loads and six demands, which the total of the first sender completes in both
/// directions.
#[test]
fn totals_of_nodes_determine_the_demands_of_a_line() {
    let network = network(&[("A", "B"), ("B", "C")]);
    let demands = [
        ("A", "B", 3e6),
        ("A", "C", 5e6),
        ("B", "C", 2e6),
        ("B", "A", 7e6),
        ("C", "A", 1e6),
        ("C", "B", 4e6),
    ];
    let entering = vec![(node(&network, "B"), 9e6)];
    let leaving = vec![(node(&network, "B"), 7e6)];
    let measurements = Measurements {
        loads: loads(&network, &demands),
        entering,
        leaving,
    };
    // B sends 2 to C and 7 to A; of the 8 that A sends, 3 leave at B: one equation is still missing.
    let found = estimated(&network, &measurements);
    assert!(largest_error(&found) < 1e-6);
    let sum = rate_bps(&network, &found, "B", "A") + rate_bps(&network, &found, "B", "C");
    assert!((sum / 9e6 - 1.0).abs() < 1e-6);
}

/// Solution by hand: chain A–B–C, traffic in one direction only. The loads are AB + AC = 12 and AC + BC = 6, so AB =
/// 12 − t, AC = t, BC = 6 − t. With equal priors p the divergence is least where AC · p = AB · BC, and p is that of
/// the last round. Without any further round, p is the prior of equal demands.
#[test]
fn closest_demands_have_a_closed_form() {
    let mut shares = Csr::default();
    shares.push_row([(0, 1.0)]);
    shares.push_row([(0, 1.0), (1, 1.0)]);
    shares.push_row([(1, 1.0)]);
    let measured = Measured {
        shares,
        values: vec![12.0, 6.0],
    };
    for prior in [[1.0, 1.0, 1.0], [5.0, 2.0, 1.0], [1e-3, 4.0, 2e3]] {
        let never = || false;
        let found = measured
            .closest_to(&prior, &prior, Precision::Exact, &never)
            .unwrap();
        // x = p exp(Aᵀλ) means AB · BC / AC = p₀ p₂ / p₁ = q: t² − (18 + q) t + 72 = 0.
        let q = prior[0] * prior[2] / prior[1];
        let t = (18.0 + q - ((18.0 + q).powi(2) - 288.0).sqrt()) / 2.0;
        for (found, expected) in found.iter().zip([12.0 - t, t, 6.0 - t]) {
            assert!(
                (found - expected).abs() < 1e-5,
                "{prior:?}: {found} {expected}"
            );
        }
    }
}

/// Contradicting measurements of one demand, 4 and 9: by least squares with weights 1/y, x minimizes (x − 4)²/4 + (x −
/// 9)²/9, at 2 / (1/4 + 1/9).
#[test]
fn contradictions_are_resolved_by_least_squares() {
    let network = network(&[("A", "B")]);
    let link = network.link_by_name("A->B").unwrap();
    let measurements = Measurements {
        loads: vec![(link, 4e6)],
        entering: vec![(node(&network, "A"), 9e6)],
        leaving: Vec::new(),
    };
    let found = estimated(&network, &measurements);
    let expected = 2e6 / (1.0 / 4.0 + 1.0 / 9.0);
    let rate = rate_bps(&network, &found, "A", "B");
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate}");
    let error = found.links[link.index()].error().unwrap();
    assert!((error - (expected / 4e6 - 1.0)).abs() < 1e-5);
}

/// Two equal paths: every node splits traffic equally, so A->D loads four links with half of its rate.
#[test]
fn traffic_is_split_over_equal_paths() {
    let network = network(&[("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")]);
    let loads = loads(&network, &[("A", "D", 8e6)]);
    let on = |name| loads[network.link_by_name(name).unwrap().index()].1;
    assert_eq!((on("A->B"), on("C->D")), (4e6, 4e6));
    let measurements = Measurements {
        entering: vec![(node(&network, "A"), 8e6), (node(&network, "B"), 0.0)],
        leaving: vec![(node(&network, "B"), 0.0), (node(&network, "C"), 0.0)],
        loads,
    };
    let found = estimated(&network, &measurements);
    assert!(largest_error(&found) < 1e-6, "{found:?}");
    assert!((rate_bps(&network, &found, "A", "D") / 8e6 - 1.0).abs() < 1e-6);
}

#[test]
fn overhead_counts_in_loads() {
    let mut builder = NetworkBuilder::new();
    let (a, b) = (builder.node("A"), builder.node("B"));
    let overhead = netflow_network::Overhead {
        bytes: 38.0,
        ..netflow_network::Overhead::NONE
    };
    builder.link(LinkSpec {
        overhead,
        ..LinkSpec::new(a, b, 1e9)
    });
    let network = builder.build().unwrap();
    let link = network.link_by_name("A->B").unwrap();
    let found = estimated(&network, &of_loads(vec![(link, 1538e3)]));
    let rate = rate_bps(&network, &found, "A", "B");
    assert!((rate / 1500e3 - 1.0).abs() < 1e-6, "{rate}");
}

/// A link without load excludes all demands over it, and a load that only they could cause is not explained.
#[test]
fn links_without_load_exclude_demands() {
    let network = network(&[("A", "B"), ("B", "C")]);
    let all = loads(
        &network,
        &[("A", "B", 5e6), ("B", "C", 3e6), ("C", "A", 1e6)],
    );
    let link = |name| network.link_by_name(name).unwrap();
    let mut broken = all.clone();
    broken[link("A->B").index()].1 = 0.0;
    let found = estimated(&network, &of_loads(broken));
    assert_eq!(rate_bps(&network, &found, "A", "B"), 0.0);
    assert_eq!(rate_bps(&network, &found, "A", "C"), 0.0);
    assert!(largest_error(&found) < 1e-6);
    // C->B and B->A contain C->A; without C->B, nothing but B->A remains.
    let only: Vec<_> = all
        .iter()
        .copied()
        .filter(|it| it.0 != link("C->B"))
        .collect();
    let found = estimated(&network, &of_loads(only));
    assert!(largest_error(&found) < 1e-6);
    assert!(!found.links.iter().any(Fit::is_unexplained));
}

#[test]
fn invalid_measurements_are_rejected() {
    let network = network(&[("A", "B")]);
    let link = network.link_by_name("A->B").unwrap();
    let error = |loads: &[(LinkId, f64)]| {
        let measurements = of_loads(loads.to_vec());
        let found = estimate_demands(&network, &measurements, &OPTIONS, &|| false);
        found.unwrap_err().to_string()
    };
    assert_eq!(
        error(&[(link, -1.0)]),
        "the measured rate of link A->B is -1 bit/s; it must be at least 0 and finite"
    );
    assert!(error(&[(link, f64::NAN)]).contains("NaN"));
    assert_eq!(
        error(&[(link, 1.0), (link, 1.0)]),
        "link A->B has two measurements"
    );
    assert_eq!(error(&[]), "no traffic was measured");
    assert_eq!(error(&[(link, 0.0)]), "no traffic was measured");
    let stopped = estimate_demands(&network, &of_loads(vec![(link, 1.0)]), &OPTIONS, &|| true);
    assert_eq!(stopped, Ok(None));
}

/// Random connected network: a ring of `nodes`, with chords.
fn ring(nodes: usize, chords: &[(usize, usize)]) -> Vec<(String, String)> {
    let name = |i: usize| format!("n{i:02}");
    let mut pairs: Vec<(usize, usize)> = (0..nodes).map(|i| (i, (i + 1) % nodes)).collect();
    pairs.extend(chords.iter().map(|&(a, b)| (a % nodes, b % nodes)));
    for pair in &mut pairs {
        *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
    }
    pairs.sort_unstable();
    pairs.dedup();
    let pairs = pairs.into_iter().filter(|(a, b)| a != b);
    pairs.map(|(a, b)| (name(a), name(b))).collect()
}

fn network_of(links: &[(String, String)]) -> Network {
    let links: Vec<_> = links
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    network(&links)
}

/// Loads of random demands between all nodes; every fourth demand is 0.
fn random_loads(network: &Network, rates: &[f64]) -> (Vec<(LinkId, f64)>, f64) {
    let mut nodes: Vec<NodeId> = network.nodes().collect();
    nodes.sort_by_key(|&it| network.node_name(it));
    let names: Vec<&str> = nodes.iter().map(|&it| network.node_name(it)).collect();
    let mut demands = Vec::new();
    for (i, from) in names.iter().enumerate() {
        for (j, to) in names.iter().enumerate().filter(|(j, _)| *j != i) {
            let rate = rates[(i * 31 + j * 17) % rates.len()];
            demands.push((*from, *to, if (i + j) % 4 == 0 { 0.0 } else { rate }));
        }
    }
    let total = demands.iter().map(|it| it.2).sum();
    (loads(network, &demands), total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Consistent loads are reproduced, whatever is missing. Demands are positive, and entering and leaving traffic have
    /// the same sum.
    #[test]
    fn consistent_loads_are_reproduced(
        nodes in 3_usize..9,
        chords in prop::collection::vec((0_usize..9, 0_usize..9), 0..6),
        rates in prop::collection::vec(1e3..1e9_f64, 7..30),
        missing in 0_usize..5,
    ) {
        let network = network_of(&ring(nodes, &chords));
        let (mut loads, _) = random_loads(&network, &rates);
        for i in 0..missing.min(loads.len() - 1) {
            loads.remove((i * 7) % loads.len());
        }
        prop_assume!(loads.iter().any(|it| it.1 > 0.0));
        let found = estimated(&network, &of_loads(loads));
        prop_assert!(largest_error(&found) < 1e-4, "{}", largest_error(&found));
        prop_assert!(found.demands.iter().all(|it| it.rate_bps > 0.0 && it.rate_bps.is_finite()));
        let sum = |fits: &[Fit<NodeId>]| fits.iter().map(|it| it.estimated_bps).sum::<f64>();
        let (entering, leaving) = (sum(&found.entering), sum(&found.leaving));
        prop_assert!((entering / leaving - 1.0).abs() < 1e-12);
    }

    /// Errors of measurements change the estimate by a similar amount, and residuals are not larger than the errors.
    #[test]
    fn noise_is_fitted_by_least_squares(
        nodes in 3_usize..9,
        chords in prop::collection::vec((0_usize..9, 0_usize..9), 0..6),
        rates in prop::collection::vec(1e6..1e9_f64, 7..30),
        errors in prop::collection::vec(-0.3..0.3_f64, 7..30),
    ) {
        let network = network_of(&ring(nodes, &chords));
        let (mut loads, _) = random_loads(&network, &rates);
        let before = loads.clone();
        for (i, (_, bps)) in loads.iter_mut().enumerate() {
            *bps *= 1.0 + errors[i % errors.len()];
        }
        let squares = |own: &[f64]| -> f64 {
            let terms = own.iter().zip(&loads).filter(|(_, it)| it.1 > 0.0);
            terms.map(|(own, (_, bps))| (own - bps).powi(2) / bps).sum()
        };
        let found = estimated(&network, &of_loads(loads.clone()));
        let fitted: Vec<f64> = found.links.iter().map(|it| it.estimated_bps).collect();
        let truth: Vec<f64> = before.iter().map(|it| it.1).collect();
        prop_assert!(squares(&fitted) <= squares(&truth) * (1.0 + 1e-3), "{} {}", squares(&fitted), squares(&truth));
    }

    /// The order of links, nodes and measurements does not change a bit. The total of a node contradicts the loads. In
    /// some cases it does so by orders of magnitude, and no estimate is found in any order.
    #[test]
    fn order_does_not_matter(
        nodes in 3_usize..9,
        chords in prop::collection::vec((0_usize..9, 0_usize..9), 0..6),
        rates in prop::collection::vec(1e3..1e9_f64, 7..30),
        shift in 1_usize..20,
    ) {
        let links = ring(nodes, &chords);
        let mut turned: Vec<_> = links.iter().rev().cloned().collect();
        let len = turned.len();
        turned.rotate_left(shift % len);
        let results = [links, turned].map(|links| {
            let network = network_of(&links);
            let (mut loads, total) = random_loads(&network, &rates);
            let len = loads.len();
            loads.rotate_left(shift % len);
            // Loads are sums in the order of demands, which is that of names.
            let first = network.nodes().min_by_key(|&it| network.node_name(it)).unwrap();
            let measurements = Measurements {
                loads,
                entering: vec![(first, total / nodes as f64)],
                leaving: Vec::new(),
            };
            let found = estimate_demands(&network, &measurements, &OPTIONS, &|| false);
            found.map(|found| {
                let demands = found.expect("it was not stopped").demands.into_iter();
                let bits = demands.map(|it| {
                    let name = |node| network.node_name(node).to_owned();
                    (name(it.from), name(it.to), it.rate_bps.to_bits())
                });
                bits.collect::<Vec<_>>()
            })
        });
        prop_assert_eq!(&results[0], &results[1]);
    }
}
