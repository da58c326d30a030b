//! Tests of the tables of NetBox.

use netflow_import::Format;

use crate::{assert_assumed, import, import_all, links, refused};

/// Cables as exported from their list, and interfaces as accepted by the bulk import.
const CABLES: &str = include_str!("samples/cables.csv");
const INTERFACES: &str = include_str!("samples/interfaces.csv");
/// Cables as accepted by the bulk import.
const BULK: &str = include_str!("samples/cables-import.csv");

#[test]
fn speeds_of_interfaces_are_bandwidths() {
    let topology = import_all(&[("cables.csv", CABLES), ("interfaces.csv", INTERFACES)]).unwrap();
    let found: Vec<_> = links(&topology)
        .into_iter()
        .map(|(name, mbps, ..)| (name, mbps))
        .collect();
    let expected = [
        ("leaf1--spine1", 40e3),
        ("leaf2--spine1", 100e3),
        ("leaf1--leaf2", 1e3),
    ];
    let expected: Vec<_> = expected
        .map(|(name, mbps)| (name.to_owned(), Some(mbps)))
        .into();
    assert_eq!(found, expected);
    assert_eq!(topology.links[0].length_km, Some(0.025));
    assert_assumed(
        &topology,
        "a cable that does not connect two known interfaces is ignored: leaf1--pdu1",
    );
    assert_assumed(
        &topology,
        "a cable without a device at one end is ignored: leaf2--",
    );
    assert_assumed(
        &topology,
        "bandwidth 1 Gbit/s by the label \"1000base-t\": leaf1--leaf2",
    );
    assert_assumed(&topology, "both ends of a cable have different rates");
    assert_assumed(
        &topology,
        "a link with the status \"Planned\" is imported: leaf2--spine1",
    );
}

#[test]
fn cables_of_the_bulk_import_have_types() {
    let topology = import("cables.csv", BULK, Format::NetBox);
    assert_eq!(
        links(&topology),
        [("leaf1--spine1".to_owned(), None, None, None)]
    );
    assert_assumed(
        &topology,
        "every cable between two devices is read as a link",
    );
    let (problem, line) = refused("cables.csv", &BULK.replace("25,m", "25,ell"));
    assert_eq!(
        (problem.message.as_str(), line),
        ("`ell` is not a unit of lengths", 2)
    );
    let files = [
        ("cables.csv", CABLES),
        ("interfaces.csv", &INTERFACES.replace("40000000", "fast")),
    ];
    let wrong = import_all(&files).unwrap_err().to_string();
    assert!(wrong.contains("`fast` is not a speed"), "{wrong}");
}
