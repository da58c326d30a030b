//! Tests of link-state databases of OSPF and IS-IS.

use netflow_import::Format;

use crate::{assert_assumed, import, links, refused};

const OSPF: &str = include_str!("samples/ospf.txt");
/// `show ip ospf database router json` of FRR.
const OSPF_JSON: &str = include_str!("samples/ospf.json");

type Expected = [(&'static str, Option<f64>, Option<f64>); 5];
const OSPF_LINKS: Expected = [
    ("10-0-0-1--10-0-0-2", Some(10.0), Some(20.0)),
    ("10-0-0-1--10-2-0-1", Some(5.0), Some(0.0)),
    ("10-0-0-2--10-2-0-1", Some(6.0), Some(0.0)),
    ("10-0-0-3--10-2-0-1", Some(7.0), Some(0.0)),
    // A LAN of two routers is a link.
    ("10-0-0-2--10-0-0-3", Some(100.0), Some(200.0)),
];

#[test]
fn costs_of_ospf_are_metrics() {
    let topology = import("r1.txt", OSPF, Format::Ospf);
    let found = links(&topology);
    let found: Vec<_> = found
        .iter()
        .map(|(name, _, a, b)| (name.as_str(), *a, *b))
        .collect();
    assert_eq!(found, OSPF_LINKS);
    assert_eq!(topology.nodes[0].label.as_deref(), Some("10.0.0.1"));
    assert_assumed(&topology, "ignoring stub networks: 1");
    assert_assumed(
        &topology,
        "an adjacency that only one router lists is ignored: 10.0.0.2->10.0.0.9 (line 55)",
    );
    assert_assumed(
        &topology,
        "costs are read as metrics; bandwidths are not derived from them",
    );
    // The database of a second router changes nothing.
    let twice = import("r1.txt", &OSPF.repeat(2), Format::Ospf);
    assert_eq!(twice.links, topology.links);
    assert_assumed(&twice, "an LSA that is listed again is ignored");
    // Cisco IOS writes a few words differently.
    let ios = OSPF
        .replace("router-LSA", "Router Links")
        .replace("TOS 0 Metric:", "TOS 0 Metrics:");
    assert_eq!(import("r1.txt", &ios, Format::Ospf).links, topology.links);
    let (problem, line) = refused(
        "r1.txt",
        &OSPF.replace("TOS 0 Metric: 20", "TOS 0 Metric: 70000"),
    );
    assert_eq!(
        (problem.message.as_str(), line),
        ("cost out of range: 70000", 53)
    );
}

#[test]
fn json_of_ospf_equals_its_text() {
    let topology = import("r1.json", OSPF_JSON, Format::Ospf);
    let found = links(&topology);
    let found: Vec<_> = found
        .iter()
        .map(|(name, _, a, b)| (name.as_str(), *a, *b))
        .collect();
    assert_eq!(found, OSPF_LINKS);
    let (problem, line) = refused(
        "r1.json",
        &OSPF_JSON.replace("\"tos0Metric\": 200", "\"tos1Metric\": 200"),
    );
    assert_eq!(
        (problem.message.as_str(), line),
        ("a link of router `10.0.0.3` has no `tos0Metric`", 5)
    );
}

/// `show isis database detail` and `show isis hostname` of FRR.
const ISIS: &str = include_str!("samples/isis.txt");

#[test]
fn metrics_of_isis_are_read() {
    let topology = import("isis.txt", ISIS, Format::Isis);
    let expected = [
        ("r1--r2", Some(1000.0), Some(10.0), Some(15.0)),
        ("r1--r2-0a", None, Some(30.0), Some(0.0)),
        ("r2--r2-0a", None, Some(30.0), Some(0.0)),
        ("r3--r2-0a", None, Some(40.0), Some(0.0)),
    ];
    let found = links(&topology);
    let found: Vec<_> = found
        .iter()
        .map(|(name, rate, a, b)| (name.as_str(), *rate, *a, *b))
        .collect();
    assert_eq!(found, expected);
    assert_assumed(
        &topology,
        "an adjacency with the maximum metric is ignored: line 25",
    );
    assert_assumed(
        &topology,
        "ignoring adjacencies of further topologies (MT): 1",
    );
    // Both levels.
    let level_1 = ISIS
        .split("vrf")
        .next()
        .unwrap()
        .replace("Level-2", "Level-1");
    let both = import("isis.txt", &(level_1 + ISIS), Format::Isis);
    assert_eq!(both.links, topology.links);
    assert_assumed(
        &both,
        "adjacencies in both levels are read as those of level 2",
    );
}

#[test]
fn names_of_isis_need_a_table() {
    let without = ISIS
        .split("vrf")
        .next()
        .unwrap()
        .replace("  Hostname: r3\n", "");
    let (problem, line) = refused("isis.txt", &without);
    assert_eq!(
        (problem.message.as_str(), line),
        ("router `0000.0000.0002` has no LSP of this identifier", 9)
    );
    assert!(
        problem
            .help
            .unwrap_or_default()
            .contains("show isis hostname")
    );
    // Cisco IOS names neighbours.
    let ios = "IS-IS Level-2 Link State Database:\nLSPID                 LSP Seq Num  LSP Checksum  LSP Holdtime      ATT/P/OL\n\
               R1.00-00            * 0x00000007   0x9D6B        899               0/0/0\n  Metric: 10         IS-Extended R2.00\n\
               R2.00-00              0x00000007   0x9D6B        899               0/0/0\n  Metric: 20         IS-Extended R1.00\n";
    let topology = import("isis.txt", ios, Format::Isis);
    assert_eq!(
        links(&topology),
        [("R1--R2".to_owned(), None, Some(10.0), Some(20.0))]
    );
}
