//! Shared failures: duplex links, nodes, shared-risk groups.

use netflow_network::{Change, LinkId, Network};
use netflow_scenario::{CompiledScenario, from_str, load};

const START: &str = "[simulation]\nduration = \"10 s\"\n";
const CONNECTION: &str =
    "[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { constant = \"1 Mbit/s\" }\n";

fn link(from: &str, to: &str, more: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nbandwidth = \"8 Mbit/s\"\n{more}\n")
}

fn read(parts: &[&str], options: &[&str]) -> CompiledScenario {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let text = [START, &parts.concat(), CONNECTION].concat();
    let read = from_str("test.toml", &text, "".as_ref(), &options);
    read.unwrap_or_else(|problems| panic!("{problems}"))
}

fn names(network: &Network, links: impl IntoIterator<Item = LinkId>) -> Vec<&str> {
    let names = links.into_iter().map(|id| network.link_name(id));
    names.collect()
}

fn groups(network: &Network) -> Vec<(&str, Vec<&str>)> {
    let groups = network.risk_groups();
    let groups = groups.map(|(name, links)| (name, names(network, links)));
    groups.collect()
}

#[test]
fn risk_groups_contain_both_directions() {
    let ring = [
        link("A", "B", "srlg = [\"river\", \"conduit\"]"),
        link("B", "C", "srlg = \"river\""),
        link("C", "A", "duplex = false"),
        link("A", "C", "duplex = false\nsrlg = \"conduit\""),
    ];
    let network = read(&[&ring.concat()], &[]).network;
    assert_eq!(
        groups(&network),
        [
            ("conduit", vec!["A->B", "B->A", "A->C"]),
            ("river", vec!["A->B", "B->A", "B->C", "C->B"]),
        ]
    );
    let other = |name: &str| network.opposite_direction(network.link_by_name(name).unwrap());
    assert_eq!(other("A->B"), network.link_by_name("B->A"));
    assert_eq!(other("B->A"), network.link_by_name("A->B"));
    // Two one-way links are not a duplex link.
    assert_eq!((other("A->C"), other("C->A")), (None, None));
    // A rebuilt network keeps shared failures.
    let again = network.to_builder().build().unwrap();
    assert_eq!(groups(&again), groups(&network));
    assert_eq!(
        again.opposite_direction(again.link_by_name("A->B").unwrap()),
        again.link_by_name("B->A")
    );
}

#[test]
fn options_set_groups_of_one_direction() {
    let duplex = link("A", "B", "srlg = \"river\"");
    let network = read(&[&duplex], &["link.B->A.srlg=bridge; conduit"]).network;
    assert_eq!(
        groups(&network),
        [
            ("bridge", vec!["B->A"]),
            ("conduit", vec!["B->A"]),
            ("river", vec!["A->B"]),
        ]
    );
}

#[test]
fn tables_support_groups_and_node_events() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "topology.toml",
        &format!("{START}[include]\nlinks = \"links.csv\"\nevents = \"events.csv\"\n{CONNECTION}"),
    );
    write(
        "links.csv",
        "from,to,bandwidth,srlg\nA,B,8 Mbit/s,river; conduit\nB,C,8 Mbit/s,\nC,A,8 Mbit/s,river\n",
    );
    write(
        "events.csv",
        "at,node,srlg,down,up\n1 s,C,,true,\n2 s,,conduit,true,\n3 s,,conduit,,true\n",
    );
    let prepared = load(&folder.path().join("topology.toml"), &[]);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    assert!(prepared.warnings.is_empty(), "{}", prepared.warnings[0]);
    let network = &prepared.network;
    assert_eq!(
        groups(network),
        [
            ("conduit", vec!["A->B", "B->A"]),
            ("river", vec!["A->B", "B->A", "C->A", "A->C"]),
        ]
    );
    let at = |at_s: f64| {
        let events = network.events().filter(|event| event.at_s == at_s);
        let (links, changes): (Vec<_>, Vec<_>) =
            events.map(|event| (event.link, event.change)).unzip();
        (names(network, links), changes[0])
    };
    let of_c = vec!["B->C", "C->B", "C->A", "A->C"];
    assert_eq!(at(1.0), (of_c, Change::Down));
    assert_eq!(at(2.0), (vec!["A->B", "B->A"], Change::Down));
    assert_eq!(at(3.0), (vec!["A->B", "B->A"], Change::Up));
}

/// A failure of an element that has failed partly has an effect; one that has failed wholly has
/// none.
#[test]
fn ineffective_events_are_reported_with_their_target() {
    let ring = [
        link("A", "B", "srlg = \"conduit\""),
        link("B", "C", ""),
        link("C", "A", ""),
    ];
    let event = |at: u32, what: &str| format!("[[event]]\nat = \"{at} s\"\n{what}\n");
    let events = [
        event(1, "srlg = \"conduit\"\ndown = true"),
        event(2, "node = \"A\"\ndown = true"),
        event(3, "srlg = \"conduit\"\ndown = true"),
        event(4, "node = \"A\"\ndown = true"),
        event(5, "node = \"A\"\nup = true"),
        event(6, "link = \"A<->B\"\nup = true"),
    ];
    let warnings = read(&[&ring.concat(), &events.concat()], &[]).warnings;
    let said: Vec<&str> = warnings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "this event has no effect: shared-risk group `conduit` has already failed",
            "this event has no effect: node `A` has already failed",
            "this event has no effect: link `A->B` is already up",
            "this event has no effect: link `B->A` is already up",
        ]
    );
}

/// Regression: two directions of different bandwidth were separate links, which failed
/// independently.
#[test]
fn groups_of_both_directions_may_differ() {
    let reverse = "delay = \"5 ms\"\nmetric = 10\nbuffer = \"50 ms\"\nloss = 0.01\nsrlg = \"river\"\n\
        reverse = { bandwidth = \"1 Mbit/s\", delay = \"7 ms\", metric = 20, loss = 0.02 }\n";
    let text = link("A", "B", reverse);
    let network = read(&[&text], &[]).network;
    let spec = |network: &Network, name: &str| {
        let id = network.link_by_name(name).unwrap();
        network.link_spec(id).clone()
    };
    let (there, back) = (spec(&network, "A->B"), spec(&network, "B->A"));
    assert_eq!((there.bandwidth_bps, back.bandwidth_bps), (8e6, 1e6));
    assert_eq!((there.delay_s, back.delay_s), (5e-3, 7e-3));
    assert_eq!((there.metric, back.metric), (Some(10.0), Some(20.0)));
    assert_eq!((there.loss.random, back.loss.random), (0.01, 0.02));
    // Missing settings are those of the other direction: a buffer of 50 ms at the bandwidth of
    // each.
    assert_eq!(there.buffer.bytes(there.bandwidth_bps), Some(50_000.0));
    assert_eq!(back.buffer.bytes(back.bandwidth_bps), Some(6250.0));
    assert_eq!(network.physical_links().count(), 1);
    assert_eq!(groups(&network), [("river", vec!["A->B", "B->A"])]);
    // Options for one name set the link; those for the other name set its other direction.
    let options = [
        "link.A->B.bandwidth=4 Mbit/s",
        "link.B->A.metric=30",
        "link.A->B.reverse.delay=9 ms",
    ];
    let network = read(&[&text], &options).network;
    let (there, back) = (spec(&network, "A->B"), spec(&network, "B->A"));
    assert_eq!((there.bandwidth_bps, back.bandwidth_bps), (4e6, 1e6));
    assert_eq!((there.metric, back.metric), (Some(10.0), Some(30.0)));
    assert_eq!((there.delay_s, back.delay_s), (5e-3, 9e-3));
    let both = read(&[&text], &["link.A<->B.bandwidth=3 Mbit/s"]).network;
    assert_eq!(spec(&both, "A->B").bandwidth_bps, 3e6);
    assert_eq!(spec(&both, "B->A").bandwidth_bps, 3e6);
    // An event with the duplex name takes down both directions.
    let event = "[[event]]\nat = \"5 s\"\nlink = \"A<->B\"\ndown = true\n";
    assert_eq!(read(&[&text, event], &[]).network.events().count(), 2);
    for (more, said) in [
        (
            "duplex = false\nreverse = { metric = 1 }",
            "`reverse` conflicts with",
        ),
        ("reverse = { colour = 1 }", "unknown key `colour`"),
        ("reverse = { bandwidth = \"-1 bit/s\" }", "bandwidth"),
        (
            "metric = 1\nreverse = { buffer = \"10 B\" }",
            "is too small for",
        ),
        (
            "buffer = \"10 B\"\nreverse = { metric = 1 }\nmetric = 1",
            "is too small for",
        ),
    ] {
        let text = [START, &link("A", "B", more), CONNECTION].concat();
        let problems = from_str("test.toml", &text, "".as_ref(), &[])
            .expect_err(more)
            .into_vec();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].message.contains(said), "{problems:?}");
    }
}
