//! Tests of edges of Batfish.

use netflow_import::Format;

use crate::{import, names, refused};

/// An answer of `layer3Edges`: each edge in both directions, and a LAN of three routers.
const CSV: &str = include_str!("samples/edges.csv");

#[test]
fn connected_interfaces_are_links_or_lans() {
    let expected = [
        "r1--r2",
        "r1--lan-r1-Gi0-1",
        "r2--lan-r1-Gi0-1",
        "r3--lan-r1-Gi0-1",
    ];
    let topology = import("edges.csv", CSV, Format::Batfish);
    assert_eq!(names(&topology), expected);
    let rows = CSV.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let end = |cell: &str| {
            let (node, interface) = cell.trim_end_matches(']').split_once('[').unwrap();
            format!("{{\"hostname\": \"{node}\", \"interface\": \"{interface}\"}}")
        };
        format!(
            "{{\"Interface\": {}, \"Remote_Interface\": {}}}",
            end(cells[1]),
            end(cells[3])
        )
    });
    let json = format!("[{}]", rows.collect::<Vec<_>>().join(",\n"));
    let topology = import("edges.json", &json, Format::Batfish);
    assert_eq!(names(&topology), expected);
    let (problem, line) = refused(
        "edges.json",
        &json.replace("\"hostname\": \"r3\"", "\"host\": \"r3\""),
    );
    assert_eq!(
        (problem.message.as_str(), line),
        ("invalid edge: missing field `hostname`", 4)
    );
    let (problem, line) = refused("edges.csv", &CSV.replace("r3[Gi0/1]", "r3 Gi0/1"));
    assert_eq!(
        (problem.message.as_str(), line),
        ("`r3 Gi0/1` is not an interface", 5)
    );
}
