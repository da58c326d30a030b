//! Unavailability of links, nodes and shared-risk groups.

use netflow_network::{LinkId, Network};
use netflow_scenario::{CompiledScenario, from_str, load, parse};

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

fn error(parts: &[&str], options: &[&str]) -> String {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let text = [START, &parts.concat(), CONNECTION].concat();
    let read = from_str("test.toml", &text, "".as_ref(), &options);
    read.expect_err("a problem").to_string()
}

fn link_of(network: &Network, name: &str) -> LinkId {
    network.link_by_name(name).unwrap()
}

#[test]
fn times_and_fractions_give_the_unavailability() {
    let parts = [
        link(
            "A",
            "B",
            "mtbf = \"199 d\"\nmttr = \"24 h\"\nsrlg = \"conduit\"",
        ),
        link("B", "C", "unavailability = \"0.4 %\""),
        link("C", "A", "duplex = false"),
        "[[node]]\nname = \"A\"\nunavailability = 0.01\n".to_owned(),
        "[[srlg]]\nname = \"conduit\"\nmtbf = \"10 h\"\nmttr = \"30 h\"\n".to_owned(),
    ];
    let prepared = read(&[&parts.concat()], &[]);
    assert!(prepared.warnings.is_empty());
    let check = |network: &Network| {
        let of = |name: &str| network.link_unavailability(link_of(network, name));
        assert_eq!(["A->B", "B->A"].map(of), [1.0 / 200.0; 2]);
        assert_eq!(["B->C", "C->B"].map(of), [0.004; 2]);
        assert_eq!(of("C->A"), 0.0);
        let nodes: Vec<f64> = network
            .nodes()
            .map(|id| network.node_unavailability(id))
            .collect();
        assert_eq!(nodes, [0.01, 0.0, 0.0]);
        assert_eq!(network.group_unavailability("conduit"), 0.75);
        assert_eq!(network.group_unavailability("river"), 0.0);
    };
    check(&prepared.network);
    // A rebuilt network keeps them.
    check(&prepared.network.to_builder().build().unwrap());
    // A written scenario keeps them.
    let text = [START, &parts.concat(), CONNECTION].concat();
    let written = parse("test.toml", &text).unwrap().to_toml().unwrap();
    let again = from_str("test.toml", &written, "".as_ref(), &[]);
    check(
        &again
            .unwrap_or_else(|problems| panic!("{problems}"))
            .network,
    );
}

#[test]
fn tables_have_the_same_columns() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let include = "[include]\nlinks = \"links.csv\"\nnodes = \"nodes.csv\"\n";
    write("topology.toml", &format!("{START}{include}{CONNECTION}"));
    write(
        "links.csv",
        "from,to,bandwidth,mtbf,mttr,unavailability\nA,B,8 Mbit/s,99 h,1 h,\nB,C,8 Mbit/s,,,2 %\nC,A,8 Mbit/s,,,\n",
    );
    write("nodes.csv", "name,unavailability\nA,\nB,0.5 %\n");
    let prepared = load(&folder.path().join("topology.toml"), &[]);
    let network = prepared
        .unwrap_or_else(|problems| panic!("{problems}"))
        .network;
    let of = |name: &str| network.link_unavailability(link_of(&network, name));
    assert_eq!(["A->B", "B->C", "C->A"].map(of), [0.01, 0.02, 0.0]);
    let nodes = network.nodes().map(|id| network.node_unavailability(id));
    assert_eq!(nodes.collect::<Vec<_>>(), [0.0, 0.005, 0.0]);
}

#[test]
fn options_set_both_directions_together() {
    let links = [
        link("A", "B", ""),
        link("B", "C", "mtbf = \"1 d\"\nmttr = \"1 h\""),
    ];
    let links = links.concat();
    for name in ["A->B", "A<->B", "*"] {
        let option = format!("link.{name}.unavailability=10%");
        if name == "*" {
            let found = error(&[&links], &[&option]);
            assert!(found.contains("`unavailability` conflicts"), "{found}");
            continue;
        }
        let network = read(&[&links], &[&option]).network;
        let of = |name: &str| network.link_unavailability(link_of(&network, name));
        assert_eq!(["A->B", "B->A"].map(of), [0.1; 2]);
    }
    let found = error(&[&links], &["link.B->A.unavailability=10%"]);
    let message = "both directions of a duplex link fail together and have one unavailability";
    assert!(found.contains(message), "{found}");
}
