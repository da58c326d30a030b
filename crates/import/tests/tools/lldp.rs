//! Tests of neighbours of LLDP.

use netflow_import::Format;

use crate::{assert_assumed, import, links, refused};

/// Two hosts: lldpd names the port of a Linux host by its address and describes it by its name.
const HOSTS: &str = include_str!("samples/lldp.json");

#[test]
fn link_that_both_hosts_report_exists_once() {
    let topology = import("lldp.json", HOSTS, Format::Lldp);
    let expected = [("leaf1--spine1", Some(10e3)), ("leaf1--server9", None)];
    let found = links(&topology);
    let found: Vec<_> = found
        .iter()
        .map(|(name, mbps, ..)| (name.as_str(), *mbps))
        .collect();
    assert_eq!(found, expected);
    assert_assumed(
        &topology,
        "neighbour `spine1.example.net` is read as host `spine1`",
    );
    let topology = import("lldp.json", &HOSTS.replace("swp2", "swp1"), Format::Lldp);
    assert_assumed(
        &topology,
        "an interface has several neighbours: each is read as a link of its own: leaf1--server9",
    );
    // Names of interfaces that do not match.
    let topology = import(
        "lldp.json",
        &HOSTS.replace("\"swp7\", \"ttl\"", "\"port 7\", \"ttl\""),
        Format::Lldp,
    );
    assert_eq!(topology.links.len(), 2);
    assert_assumed(
        &topology,
        "interface names of both ends differ: their neighbours are paired in order",
    );
}

#[test]
fn single_host_is_named_as_its_file() {
    let one = r#"{"lldp": [{"interface": [{"name": "eth0", "via": "LLDP",
        "chassis": [{"id": [{"type": "mac", "value": "02:00:00:00:00:01"}], "name": [{"value": "spine1"}]}],
        "port": [{"id": [{"type": "ifname", "value": "swp3"}]}]}]}]}"#;
    let topology = import("server4.json", one, Format::Lldp);
    assert_eq!(links(&topology)[0].0, "server4--spine1");
    assert_assumed(&topology, "the host is named `server4`, as the file");
    let (problem, _) = refused("-", one);
    assert_eq!(
        problem.message,
        "the file does not contain the name of the host"
    );
    let (problem, line) = refused(
        "lldp.json",
        &HOSTS.replace("\"spine1\": {\"lldp\"", "\"spine1\": {\"cdp\""),
    );
    assert_eq!(
        (problem.message.as_str(), line),
        ("host `spine1` has no `lldp`", 8)
    );
}
