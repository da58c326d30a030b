//! Several files as one network: names of nodes, units, directions and demands.

use netflow_document::Problems;
use netflow_import::scenario::{Choices, Origin, Written, write};
use netflow_import::{Reading, Topology, read};

/// Files by their names and texts, read as one network.
fn joined(files: &[(&str, &str)]) -> Result<Topology, Problems> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let paths: Vec<_> = paths.iter().map(AsRef::as_ref).collect();
    read(&paths, &Reading::default())
}

/// The same, where the files are right.
fn network(files: &[(&str, &str)]) -> Topology {
    joined(files).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What is wrong with the files.
fn wrong(files: &[(&str, &str)]) -> String {
    joined(files).expect_err("they are wrong").to_string()
}

fn written(topology: &Topology) -> Written {
    write(topology, &Choices::default(), &Origin::default())
}

/// The links, as `FROM->TO BANDWIDTH`, that carry the first demand by the shortest path: here the link at its sender.
fn first_link(topology: &Topology) -> (String, f64) {
    let from = topology.demands[0].from;
    let link = topology.links.iter().find(|link| link.from == from);
    let link = link.expect("the sender has a link");
    let label = topology.nodes[from].label.clone();
    let name = label.unwrap_or_else(|| topology.nodes[from].name.clone());
    (name, link.bandwidth_bps.unwrap())
}

/// `POP 1` and `POP-1` are one name without what names of scenarios cannot have. The demand of one was that of the other.
#[test]
fn demands_stay_at_their_nodes_where_names_are_nearly_equal() {
    let there = "from,to,capacity_gbps,delay_ms\nPOP-1,core,10,1\nPOP 1,core,1,1\n";
    let back = "from,to,capacity_gbps,delay_ms\nPOP 1,core,1,1\nPOP-1,core,10,1\n";
    for links in [there, back] {
        for (name, bps) in [("POP 1", 1e9), ("POP-1", 10e9)] {
            let demands = format!("from,to,rate_mbps\n{name},core,800\n");
            let topology = network(&[("links.csv", links), ("demands.csv", &demands)]);
            assert_eq!(first_link(&topology), (name.to_owned(), bps), "{links}");
            let text = written(&topology).text;
            assert!(
                text.contains("name  = \"POP-1-2\"\nlabel = \"POP 1\""),
                "{text}"
            );
            assert!(text.contains("node `POP 1` is named `POP-1-2`"), "{text}");
        }
    }
    let links = "from,to,capacity_gbps\nSao Paulo,core,1\nSão-Paulo,core,1\n";
    for name in ["Sao Paulo", "São-Paulo"] {
        let demands = format!("from,to,rate_mbps\n{name},core,800\n");
        let topology = network(&[("links.csv", links), ("demands.csv", &demands)]);
        assert_eq!(first_link(&topology).0, name);
    }
    // A name that is nearly that of a node is none.
    for name in ["Sao-Paulo-2", "São Paulo"] {
        let demands = format!("from,to,rate_mbps\n{name},core,800\n");
        let said = wrong(&[("links.csv", links), ("demands.csv", &demands)]);
        assert!(said.contains("has no node"), "{said}");
    }
    let text = written(&network(&[("links.csv", links)])).text;
    assert!(text.contains("label = \"Sao Paulo\""), "{text}");
}

/// `0` is the identifier of one node and the name of another: no demand can mean one of them.
#[test]
fn an_identifier_that_is_the_name_of_another_node_is_rejected() {
    let nodes =
        r#""nodes": [{"id": 0, "name": "1"}, {"id": 1, "name": "0"}, {"id": 2, "name": "x"}]"#;
    let links = r#""links": [{"source": 0, "target": 2, "bandwidth": "10 Gbit/s"}, {"source": 1, "target": 2, "bandwidth": "1 Gbit/s"}]"#;
    let json = format!(r#"{{"directed": false, "multigraph": false, {nodes}, {links}}}"#);
    let said = wrong(&[("g.json", &json), ("d.csv", "from,to,rate_mbps\n0,x,800\n")]);
    assert!(said.contains("`0` is the name of several nodes"), "{said}");
    assert!(
        said.contains("the nodes are `1` and `0` in the scenario"),
        "{said}"
    );
    // Identifiers and names of one node are both known.
    for name in ["2", "x"] {
        let demands = format!("from,to,rate_mbps\n{name},{name},8\n");
        network(&[("g.json", &json), ("d.csv", &demands)]);
    }
}
