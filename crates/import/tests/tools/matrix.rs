//! Tests of TeaVaR's files, of node-link JSON as in Teal and NCFlow, and of matrices without names.

use netflow_import::{Format, Topology};

use crate::{assert_assumed, import, import_all, names, refused};

/// A `topology.txt` of TeaVaR. Node 3 is listed before node 2.
const TEAVAR: &str = include_str!("samples/topology.txt");
/// Node-link JSON of NetworkX, as Teal and NCFlow store topologies.
const TEAL: &str = include_str!("samples/teal.json");

fn demands(topology: &Topology) -> Vec<(&str, &str, f64)> {
    let name = |node: usize| topology.nodes[node].name.as_str();
    let demands = topology.demands.iter();
    demands
        .map(|it| (name(it.from), name(it.to), it.rate_bps))
        .collect()
}

#[test]
fn teavar_numbers_nodes() {
    let topology = import("topology.txt", TEAVAR, Format::TeaVar);
    assert_eq!(names(&topology), ["1--3", "1--2"]);
    assert_eq!(topology.links[1].bandwidth_bps, Some(20e6));
    assert_assumed(&topology, "ignoring column `prob_failure`");
    assert_assumed(
        &topology,
        "the first column (`to_node`) is read as the sender",
    );
    // Two matrices of 3 x 3, one a row.
    let flat = "0 5 0 0 0 2 1 0 0 \n0 9 9 9 0 9 9 9 0\n";
    let topology = import_all(&[("topology.txt", TEAVAR), ("demand.txt", flat)]).unwrap();
    assert_eq!(
        demands(&topology),
        [("1", "2", 5e6), ("2", "3", 2e6), ("3", "1", 1e6)]
    );
    assert_assumed(&topology, "only the first of 2 demand matrices is imported");
    assert_assumed(
        &topology,
        "rows and columns of the demand matrix are in the order of the nodes' numbers",
    );
}

#[test]
fn matrices_of_numbers_follow_the_nodes() {
    // As written by `numpy.savetxt`, and symmetric.
    for matrix in [
        "# 3 nodes\n0.0e+00 1.0e+00 2.0e+00\n1.0e+00 0 3\n2 3 0\n",
        "0,1,2.0\n1,0,3\n2,3,0\n",
    ] {
        let topology = import_all(&[("b4.json", TEAL), ("tm.csv", matrix)]).unwrap();
        assert_eq!(topology.links.len(), 2);
        let rates: Vec<f64> = topology.demands.iter().map(|it| it.rate_bps).collect();
        assert_eq!(rates, [1e6, 2e6, 1e6, 3e6, 2e6, 3e6]);
    }
    // Names that are numbers remain names.
    let named = "0,2,1\n2,0,7\n1,5,0\n";
    assert_eq!(Format::of("tm.csv".as_ref(), named), Some(Format::Matrix));
    let named = "0,1,2\n1,0,7\n2,5,0\n";
    assert_eq!(Format::of("tm.csv".as_ref(), named), Some(Format::EdgeList));
    // Names that are no numbers: order of the file.
    let links = "from,to,capacity_gbps\nB,A,1\nA,C,1\n";
    let topology =
        import_all(&[("links.csv", links), ("tm.txt", "0 1 0\n0 0 0\n0 0 0\n")]).unwrap();
    assert_eq!(demands(&topology), [("B", "A", 1e6)]);
    assert_assumed(
        &topology,
        "rows and columns of the demand matrix are in the order of the nodes in their file",
    );
}

#[test]
fn matrices_of_other_networks_are_rejected() {
    let wrong = import_all(&[("a.json", TEAL), ("tm.txt", "0 1\n1 0\n")])
        .unwrap_err()
        .to_string();
    assert!(
        wrong.contains("the demand matrix has 2 nodes, but the network has 3"),
        "{wrong}"
    );
    let (problem, line) = refused("tm.txt", "0 1 2\n3 0 4\n5 6\n");
    assert_eq!(line, 3);
    assert_eq!(
        problem.message,
        "this row has 2 numbers, but the first row has 3"
    );
    let (problem, _) = refused("tm.txt", "0 1 2\n3 0 4\n");
    assert_eq!(problem.message, "2 rows of 3 numbers are not a matrix");
    let (problem, line) = refused(
        "topology.txt",
        &TEAVAR.replace("    2        1", "    x        1"),
    );
    assert_eq!(
        (problem.message.as_str(), line),
        ("`x` is not the number of a node", 5)
    );
}

/// Reading a pickle would execute it.
#[test]
fn pickles_are_rejected_with_a_conversion() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("tm.pkl", &b"\x80\x04\x95\x00numpy"[..]),
        ("tm.npy", b"\x93NUMPY\x01\x00v\x00"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let wrong = netflow_import::read(&[&path], &Default::default()).unwrap_err();
        let problem = wrong.into_vec().remove(0);
        let help = problem.help.unwrap_or_default();
        assert!(
            help.contains("python3 -c") && help.contains("numpy.savetxt"),
            "{help}"
        );
    }
}
