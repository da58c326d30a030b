//! What fails together: duplex links, nodes, shared-risk groups.

use netflow_network::{Change, LinkId, Network};
use netflow_scenario::{Prepared, from_str, load};

const START: &str = "[simulation]\nduration = \"10 s\"\n";
const CONNECTION: &str =
    "[[connection]]\nfrom = \"A\"\nto = \"B\"\nsource = { constant = \"1 Mbit/s\" }\n";

fn link(from: &str, to: &str, more: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nbandwidth = \"8 Mbit/s\"\n{more}\n")
}

fn read(parts: &[&str], options: &[&str]) -> Prepared {
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
fn both_directions_of_a_link_are_in_its_groups() {
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
    let other = |name: &str| network.other_way(network.link_by_name(name).unwrap());
    assert_eq!(other("A->B"), network.link_by_name("B->A"));
    assert_eq!(other("B->A"), network.link_by_name("A->B"));
    // Two links of one direction each are two.
    assert_eq!((other("A->C"), other("C->A")), (None, None));
    // What is built again keeps what fails together.
    let again = network.to_builder().build().unwrap();
    assert_eq!(groups(&again), groups(&network));
    assert_eq!(
        again.other_way(again.link_by_name("A->B").unwrap()),
        again.link_by_name("B->A")
    );
}

#[test]
fn options_put_one_direction_into_groups_of_its_own() {
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
fn tables_have_groups_and_events_of_nodes_and_groups() {
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

/// A failure of which a part has failed before has an effect; one of which all has, has none.
#[test]
fn events_without_effect_are_named_by_what_they_happen_to() {
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
            "this event has no effect: shared-risk group `conduit` has failed already",
            "this event has no effect: node `A` has failed already",
            "this event has no effect: link `A->B` works already",
            "this event has no effect: link `B->A` works already",
        ]
    );
}
