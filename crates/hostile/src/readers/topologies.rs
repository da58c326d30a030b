//! Topologies in the formats of other programs.

use std::path::Path;

use netflow_import::scenario::{Defaults, Origin};
use netflow_import::{Format, Reading, Topology, from_text, graphml, scenario};

pub(super) const DICTIONARY: &[&str] = &[
    "<graphml>",
    "<graph edgedefault=\"directed\">",
    "<node id=\"a\"/>",
    "<edge source=\"a\" target=\"b\"/>",
    "<hyperedge>",
    "<endpoint node=\"a\"/>",
    "<data key=\"d1\">",
    "</data>",
    "<!DOCTYPE",
    "&#10;",
    "<![CDATA[",
    "graph [",
    "node [ id 0 ]",
    "edge [ source 0 target 1 ]",
    "NODES (",
    "LINKS (",
    "DEMANDS (",
    "NODES 2",
    "EDGES 1",
    "UNLIMITED",
    "\"links\"",
    "\"pos\": [1e9, -1]",
    "\"demands\"",
    "$ns duplex-link $a $b 10Mb 5ms DropTail",
    "qdisc netem 1: root limit 1000 delay 50ms  10ms loss 1%",
    "qdisc tbf 2: parent 1:1 rate 1Mbit burst 15Kb lat 50ms",
    "qdisc htb 1: root r2q 10 default 0x10",
    "class htb 1:10 root prio 0 rate 1Mbit ceil 2Mbit burst 15Kb cburst 15Kb",
    "tc qdisc add dev eth0 root cake bandwidth 1mbit",
    "filter egress matchall police rate 1Mbit burst 10Kb action drop",
    "<layer id=\"0\">",
    "to_node from_node capacity",
    "0 1\n1 0\n",
    "topology:",
    "nodes:",
    "links:",
    "- endpoints: [\"a:e1\", \"b:e1\"]",
    "&a",
    "*a",
    "<<: *a",
    "- r1-r2",
    "tc: {rate: 10}",
    "Device A,Device B",
    "\"lldp\"",
    "Router Link States (Area 0.0.0.0)",
    "Link connected to: a Transit Network",
    "TOS 0 Metric: 10",
    "IS-IS Level-2 link-state database:",
    "Extended Reachability: 0000.0000.0001.00 (Metric: 10)",
    "Maximum Bandwidth: 1.25e+08 (Bytes/sec)",
    "\"Remote_Interface\"",
    "from,to,label",
    "OC-48",
    "2x10Gbps",
    "10-34 Mb/s",
    "1e308",
    "-0",
    "NaN",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\\",
    "\"",
    ",",
    "\n",
];

/// Reads any text as a topology. Errors must have positions inside the text. A valid topology must
/// become a valid scenario, and GraphML with the same nodes and links.
///
/// # Panics
/// On an error in netflow.
pub fn topology(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // Formats without a signature are tried if the format is not recognized.
    let formats = match Format::of(Path::new("hostile"), text) {
        Some(format) => vec![format],
        None => vec![Format::EdgeList, Format::Ns2, Format::Gml, Format::Tc],
    };
    for format in formats {
        let reading = Reading {
            format: Some(format),
            ..Reading::default()
        };
        match from_text("hostile", text, &reading) {
            Ok(topology) => write(&topology),
            Err(problems) => {
                assert!(problems.iter().count() > 0);
                for problem in &problems {
                    let span = problem.span.as_ref();
                    let inside = span.is_none_or(|it| text.get(it.clone()).is_some());
                    assert!(inside, "{problem}");
                }
            }
        }
    }
}

fn write(topology: &Topology) {
    let graph = graphml::write(topology);
    let again = from_text("again.graphml", &graph, &Reading::default()).expect("our own GraphML");
    assert_eq!(again.nodes.len(), topology.nodes.len());
    assert_eq!(again.links.len(), topology.links.len());
    let written = scenario::write(topology, &Defaults::default(), &Origin::default());
    for assumption in &written.assumptions {
        assert!(!assumption.full_text(&written.topology).is_empty());
    }
    let text = &written.text;
    // Without any pair of connected nodes there are no connections.
    if !text.contains("[[connection]]") {
        return;
    }
    let folder = Path::new("/nonexistent");
    let scenario = netflow_scenario::from_str("written.toml", text, folder, &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(count_paths(&Topology::of(&scenario)), count_paths(topology));
}

/// Returns the number of link directions.
fn count_paths(topology: &Topology) -> usize {
    let ways = topology
        .links
        .iter()
        .map(|link| if link.directed { 1 } else { 2 });
    ways.sum()
}
