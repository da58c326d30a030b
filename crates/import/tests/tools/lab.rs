//! Tests of the topology files of containerlab and netlab.

use netflow_import::Format;

use crate::{assert_assumed, assumed, import, links, names, refused};

/// Both forms of links, an endpoint outside the lab, and kinds with merged settings.
const CONTAINERLAB: &str = include_str!("samples/lab.clab.yml");

/// All forms of links.
const NETLAB: &str = include_str!("samples/netlab.yml");

#[test]
fn containerlab_has_two_forms_of_links() {
    let topology = import("lab01.clab.yml", CONTAINERLAB, Format::Containerlab);
    assert_eq!(topology.name.as_deref(), Some("lab01"));
    assert_eq!(
        names(&topology),
        ["leaf1--spine1", "leaf2--spine1", "leaf1--br-1"]
    );
    assert_eq!(
        assumed(&topology),
        [
            "`mtu` of a link is ignored: line 19",
            "a link to `host` leaves the lab: ignored: line 28",
            "a link to `macvlan` leaves the lab: ignored: line 29",
        ]
    );
}

#[test]
fn containerlab_errors_have_places() {
    for (from, to, message, at) in [
        (
            "\"spine1:e1-1\"",
            "\"spine:e1-1\"",
            "unknown node `spine`",
            18,
        ),
        (
            "type: veth",
            "type: wire",
            "unknown type `wire` of links",
            19,
        ),
        (
            "\"leaf1:e1-49\", ",
            "",
            "expected two endpoints, found a list",
            18,
        ),
        (
            "    spine1:\n",
            "    leaf2:\n",
            "key `leaf2` exists twice",
            14,
        ),
        ("[\"leaf1:e1-1\",", "[\"leaf1:e1-1\" :", "", 27),
    ] {
        let (problem, line) = refused("a.clab.yml", &CONTAINERLAB.replace(from, to));
        assert!(problem.message.contains(message), "{}", problem.message);
        assert_eq!(line, at, "{}", problem.message);
    }
}

#[test]
fn netlab_has_all_forms_of_links() {
    let topology = import("topology.yml", NETLAB, Format::Netlab);
    let expected = [
        ("r1--r2", None, None, None),
        ("r2--r-4", None, None, None),
        ("r1--r3", Some(100.0), Some(5.0), Some(10.0)),
        ("r2--r3", Some(2.0), None, None),
        ("r3--r-4", Some(2.0), None, None),
        ("r1--lan-19", Some(1.0), Some(7.0), Some(0.0)),
        ("r2--lan-19", Some(1.0), Some(7.0), Some(0.0)),
        ("r3--lan-19", Some(1.0), Some(7.0), Some(0.0)),
    ];
    let found = links(&topology);
    let found: Vec<_> = found
        .iter()
        .map(|(name, a, b, c)| (name.as_str(), *a, *b, *c))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(topology.links[3].delay_s, Some(0.01));
    assert_eq!(
        topology.links[3].settings.keys,
        [("loss", "0.005".to_owned())]
    );
    assert_assumed(&topology, "bandwidths without a unit are read in kbit/s");
    assert_assumed(&topology, "a link with one node is ignored: line 22");
    assert_assumed(&topology, "a link of type `tunnel` is ignored: line 23");
    assert_assumed(&topology, "`mtu` of a link is ignored: line 9");
}

#[test]
fn netlab_errors_have_places() {
    let (problem, line) = refused("a.yml", &NETLAB.replace("r1-r2", "r1-r9"));
    assert_eq!((problem.message.as_str(), line), ("unknown node `r9`", 7));
    let (problem, line) = refused("a.yml", &NETLAB.replace("rate: 2000", "rate: fast"));
    assert_eq!(
        (problem.message.as_str(), line),
        ("`fast` is not a number", 17)
    );
    let topology = import(
        "a.yml",
        &NETLAB.replace("    mtu: 1500", "    r5:"),
        Format::Netlab,
    );
    assert_assumed(
        &topology,
        "`r5` is not a node or a known attribute of links: ignored: line 14",
    );
}
