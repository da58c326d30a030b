//! Links with several members.

use netflow_network::{LinkId, Network, Rerouter};
use netflow_scenario::{CompiledScenario, from_str};

/// Two ways from A to D: over B by a bundle of four members, of which `min` must work, and over C by a bundle of two.
fn scenario(ecmp: &str, more: &str) -> Result<CompiledScenario, String> {
    let text = format!(
        "simulation = {{ duration = '10 s', ecmp = {ecmp} }}
        link = [
            {{ from = 'A', to = 'B', bandwidth = '10 Mbit/s', metric = 1, members = 4, min-links = 3 }},
            {{ from = 'B', to = 'D', bandwidth = '100 Mbit/s', metric = 1 }},
            {{ from = 'A', to = 'C', circuit = 'x', bandwidth = '10 Mbit/s', metric = 1, members = 2 }},
            {{ from = 'C', to = 'D', bandwidth = '100 Mbit/s', metric = 1 }},
        ]
        demand = [{{ name = 'd', from = 'A', to = 'D', rate = '12 Mbit/s', kind = 'constant' }}]
        {more}"
    );
    from_str("test.toml", &text, "".as_ref(), &[]).map_err(|problems| problems.to_string())
}

fn network(ecmp: &str, more: &str) -> Network {
    let read = scenario(ecmp, more).unwrap_or_else(|problems| panic!("{problems}"));
    read.network
}

fn link(network: &Network, name: &str) -> LinkId {
    network
        .link_by_name(name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the share of the demand on a link, from the rates of its parts.
fn share(network: &Network, name: &str) -> f64 {
    let over = network
        .connections()
        .filter(|&id| network.path(id).contains(&link(network, name)));
    let pps = |id| network.connection_spec(id).source.own_pps().unwrap();
    let all: f64 = network.connections().map(pps).sum();
    over.map(pps).sum::<f64>() / all
}

#[test]
fn bundle_is_one_next_hop() {
    // ECMP divides equally among bundles, and by capacity among their members.
    let equal = network("true", "");
    for (name, should) in [
        ("A->B#1", 0.125),
        ("A->B#4", 0.125),
        ("A->C#x.2", 0.25),
        ("B->D", 0.5),
    ] {
        assert!((share(&equal, name) - should).abs() < 1e-8, "{name}");
    }
    let weighted = network("'weighted'", "");
    for (name, should) in [
        ("A->B#1", 1.0 / 6.0),
        ("A->C#x.1", 1.0 / 6.0),
        ("B->D", 2.0 / 3.0),
    ] {
        assert!((share(&weighted, name) - should).abs() < 1e-8, "{name}");
    }
}

/// Returns the share of the demand over each link after failures.
fn shares_after(network: &Network, failed: &[&str]) -> impl Fn(&str) -> f64 {
    let failed: Vec<LinkId> = failed.iter().map(|name| link(network, name)).collect();
    let routes = Rerouter::new(network, 0.0).reroute_around(&failed);
    let weighted = network.connections().map(|id| {
        let pps = network.connection_spec(id).source.own_pps().unwrap();
        (network.path(id), pps)
    });
    let (paths, pps): (Vec<_>, Vec<f64>) = weighted.unzip();
    let all: f64 = pps.iter().sum();
    let links: Vec<LinkId> = network.links().collect();
    let mut loads = vec![0.0; links.len()];
    for (class, (path, pps)) in (0..).zip(paths.iter().zip(&pps)) {
        let ways = match routes.reroutes.iter().find(|it| it.class == class) {
            Some(reroute) => reroute
                .paths
                .iter()
                .map(|it| (it.share, it.data.clone()))
                .collect(),
            None => vec![(
                1.0,
                path.iter()
                    .map(|link| link.index() as u32)
                    .collect::<Vec<_>>(),
            )],
        };
        for (share, data) in ways {
            for link in data {
                loads[link as usize] += share * pps / all;
            }
        }
    }
    let network = network.clone();
    move |name| loads[link(&network, name).index()]
}

#[test]
fn bundle_fails_below_its_minimum() {
    let equal = network("true", "");
    let one = shares_after(&equal, &["A->B#2"]);
    for (name, should) in [("A->B#1", 1.0 / 6.0), ("A->B#2", 0.0), ("B->D", 0.5)] {
        assert!((one(name) - should).abs() < 1e-8, "{name}: {}", one(name));
    }
    let two = shares_after(&equal, &["A->B#2", "A->B#3"]);
    for (name, should) in [("A->B#1", 0.0), ("B->D", 0.0), ("A->C#x.1", 0.5)] {
        assert!((two(name) - should).abs() < 1e-8, "{name}: {}", two(name));
    }
    let weighted = network("'weighted'", "");
    let one = shares_after(&weighted, &["A->B#2"]);
    for (name, should) in [
        ("A->B#1", 0.2),
        ("A->B#2", 0.0),
        ("B->D", 0.6),
        ("A->C#x.1", 0.2),
    ] {
        assert!((one(name) - should).abs() < 1e-8, "{name}: {}", one(name));
    }
}

/// Events of members, and of all members by the name of the bundle.
#[test]
fn events_take_bundles_down() {
    let events = "event = [
        { at = '1 s', link = 'A<->B#1', down = true },
        { at = '2 s', link = 'A<->B#2', down = true },
        { at = '4 s', link = 'A<->B#1', up = true },
        { at = '6 s', link = 'A<->B', down = true },
    ]";
    let network = network("true", events);
    let middle = |at_s| {
        let over_b = network.connections().filter(|&id| {
            let path = network.path_at(id, at_s);
            path.iter()
                .any(|&link| network.link_name(link).starts_with("A->B"))
        });
        over_b.count()
    };
    assert!(middle(0.5) > 0 && middle(1.5) > 0);
    assert_eq!(middle(3.0), 0);
    assert!(middle(5.0) > 0);
    assert_eq!(middle(7.0), 0);
}

#[test]
fn wrong_bundles_are_rejected() {
    let said = scenario("false", "").err().unwrap();
    assert!(said.contains("`members` need `ecmp`"), "{said}");
    let path = "connection = [{ from = 'A', to = 'D', path = ['A', 'B', 'D'], source = { constant = '1 Mbit/s' } }]";
    let said = scenario("true", path).err().unwrap();
    assert!(
        said.contains("`path` uses link `A->B`, which has `members`"),
        "{said}"
    );
    let link = "[[link]]
        from = 'D'
        to = 'E'
        bandwidth = '1 Mbit/s'
        metric = 1
        members = 2
        min-links = 3";
    let text =
        "[[link]]\nfrom = 'A'\nto = 'D'\nbandwidth = '1 Mbit/s'\nmetric = 1\n".to_owned() + link;
    let said = from_str(
        "test.toml",
        &text,
        "".as_ref(),
        &["simulation.ecmp=true".to_owned()],
    );
    let said = said.err().unwrap().to_string();
    assert!(
        said.contains("`min-links` is 3, but the link has 2 members"),
        "{said}"
    );
}
