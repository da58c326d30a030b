//! Tests of the files of Net2Plan.

use netflow_import::Format;

use crate::{assert_assumed, import, names, refused};

/// Two layers: fibres without demands, and IP links with demands.
const SAMPLE: &str = include_str!("samples/spain.n2p");

#[test]
fn layer_with_links_and_demands_is_read() {
    let topology = import("spain.n2p", SAMPLE, Format::Net2Plan);
    assert_eq!(topology.name.as_deref(), Some("Three cities"));
    assert_eq!(names(&topology), ["Madrid--Valencia", "Madrid->Sevilla"]);
    let [first, second] = &topology.links[..] else {
        panic!()
    };
    assert_eq!(
        (first.bandwidth_bps, first.delay_s),
        (Some(10e9), Some(302.0 / 200_000.0))
    );
    assert_eq!(
        (second.bandwidth_bps, second.length_km),
        (Some(40e9), Some(390.0))
    );
    let rates: Vec<f64> = topology.demands.iter().map(|it| it.rate_bps).collect();
    assert_eq!(rates, [2.5e9, 1.5e9]);
    assert_eq!(topology.nodes[2].population, Some(703_021.0));
    assert_assumed(
        &topology,
        "only layer `IP` of 2 layers is imported, because it is the only one with links and demands",
    );
    assert_assumed(
        &topology,
        "a link with the status \"down\" is out of service: ignored",
    );
}

#[test]
fn unknown_units_are_listed() {
    let text = SAMPLE.replace("<demand ", "<ignored ");
    let topology = import("spain.n2p", &text, Format::Net2Plan);
    assert_assumed(
        &topology,
        "only layer `WDM` of 2 layers is imported, because it is the default layer",
    );
    assert_assumed(
        &topology,
        "the unit \"Frequency slots\" (`linkCapacityUnitsName`) is not a rate",
    );
    assert_assumed(&topology, "bandwidths without a unit are read in Mbit/s");
    let topology = import(
        "spain.n2p",
        &SAMPLE.replace("\"Gbps\"", "\"\""),
        Format::Net2Plan,
    );
    assert_eq!(topology.links[0].bandwidth_bps, Some(10e6));
    assert_assumed(&topology, "demands without a unit are read in Mbit/s");
}

#[test]
fn errors_have_places() {
    let (problem, line) = refused(
        "a.n2p",
        &SAMPLE.replace("destinationNodeId=\"9\"", "destinationNodeId=\"8\""),
    );
    assert_eq!((problem.message.as_str(), line), ("unknown node `8`", 15));
    let text = SAMPLE
        .replace("isDefaultLayer=\"true\"", "")
        .replace("<demand ", "<ignored ");
    let (problem, _) = refused("a.n2p", &text);
    assert!(
        problem
            .message
            .contains("none of them is the default layer"),
        "{}",
        problem.message
    );
    let (problem, _) = refused(
        "a.n2p",
        "<network name=\"old\"><physicalTopology/></network>",
    );
    assert!(
        problem.message.contains("version 1 or 2"),
        "{}",
        problem.message
    );
}
